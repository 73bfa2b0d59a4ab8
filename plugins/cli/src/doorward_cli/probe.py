"""`doorward compile --probe`: learns what results look like, by calls that can do no harm."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import anyio
from doorward import DoorwardError, InvalidArguments
from doorward.administration import bind_arguments
from doorward_text import response_type

if TYPE_CHECKING:
    from doorward import Function, Gateway

_PARALLEL_CALLS = 4


async def probe(gate: Gateway, servers: Collection[str]) -> dict[str, dict[str, str]]:
    """Call each function of these servers that declares to be read-only, and has results of unknown shape: without
    arguments, or with those of a plugin's notes. Policy, guards and limits hold for these calls as for any other.

    Returns: by function, `{"result": ANNOTATION}` or `{"failed": WHY}`.
    """
    told: dict[str, dict[str, str]] = {}
    slots = anyio.CapacityLimiter(_PARALLEL_CALLS)

    async def ask(function: Function, given: Mapping[str, Any]) -> None:
        async with slots:
            try:
                await gate.call(function.qualified, given)
            except DoorwardError as error:
                told[function.qualified] = {"failed": str(error)[:500]}
                return
        if seen := gate.catalog.notes.result(function):
            known = replace(function, returns=seen.schema)
            told[function.qualified] = {"result": response_type(known, lambda name: None, depth=0)[0]}

    async with anyio.create_task_group() as calls:
        for function in [function for server in servers for function in gate.catalog.functions(server)]:
            if (given := _arguments(gate, function)) is not None:
                calls.start_soon(ask, function, given)
    return dict(sorted(told.items()))


def _arguments(gate: Gateway, function: Function) -> Mapping[str, Any] | None:
    """Arguments to call a function with; `None` if it is not to be called."""
    if not function.read_only or function.returns is not None or gate.catalog.notes.result(function) is not None:
        return None
    for given in ({}, *gate.catalog.notes.arguments(function)):
        with suppress(InvalidArguments):
            return bind_arguments(function, (), given, gate.catalog)
    return None
