"""`doorward compile --probe`: learns what results look like, by calls that can do no harm."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import TYPE_CHECKING

import anyio

from doorward.calls import arguments
from doorward.describe import signatures
from doorward.model.errors import DoorwardError, InvalidArguments

if TYPE_CHECKING:
    from doorward.gateway import Gateway
    from doorward.model.functions import Function

_PARALLEL_CALLS = 4


async def probe(gate: Gateway, servers: Collection[str]) -> dict[str, dict[str, str]]:
    """Call each function of these servers that declares to be read-only, needs no arguments, and has results of unknown
    shape. Policy, guards and limits hold for these calls as for any other.

    Returns: by function, `{"result": ANNOTATION}` or `{"failed": WHY}`.
    """
    told: dict[str, dict[str, str]] = {}
    slots = anyio.CapacityLimiter(_PARALLEL_CALLS)

    async def ask(function: Function) -> None:
        async with slots:
            try:
                await gate.call(function.qualified)
            except DoorwardError as error:
                told[function.qualified] = {"failed": str(error)[:500]}
                return
        if seen := gate.broker.observed.of(function):
            known = replace(function, returns=seen.schema)
            told[function.qualified] = {"result": signatures.response(known, lambda name: None, depth=0)[0]}

    async with anyio.create_task_group() as calls:
        for function in [f for server in servers for f in gate.catalog.functions(server) if _wanted(gate, f)]:
            calls.start_soon(ask, function)
    return dict(sorted(told.items()))


def _wanted(gate: Gateway, function: Function) -> bool:
    if not function.read_only or function.returns is not None or gate.broker.observed.of(function) is not None:
        return False
    try:
        return not arguments.bind(function, (), {}, gate.catalog)
    except InvalidArguments:
        return False
