"""Which executors `init` writes: the default, which is quick, and behind it one that runs every program and is shown to
isolate on this machine."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import anyio
from doorward import DoorwardError

from doorward_cli import logs
from doorward_cli.doctor import PROBE_COMMAND
from doorward_cli.shared import CheckProvider, Project

if TYPE_CHECKING:
    from doorward import Gateway

_TRY_SECONDS = 60.0
"""Seconds for what shows whether executors work."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The executors to write, none if the defaults do, and why others are not among them."""

    names: list[str] = field(default_factory=list)
    broken: Mapping[str, str] = field(default_factory=dict)


async def choose(project: Project) -> Choice:
    """Try the executors of core's extras that the defaults lack; the quickest that holds is chosen. Where somebody else
    has chosen, a distribution or the environment, nothing is tried."""
    from doorward.configuration import Secrets, config_layers, executors_of, find_index, find_managed

    given = config_layers({}, Secrets(project.env_file), managed=find_managed())
    if "executor" in given.named:
        return Choice()
    installed, defaults = [entry.name for entry in find_index().of("executor")], given.data["executor"]
    others = {*defaults, *executors_of("typescript"), *executors_of("javascript")}
    names = [name for name in executors_of() if name in installed and name not in others]
    broken: dict[str, str] = {}
    found = await _found(project, names, broken) if names else ""
    usable = [name for name in defaults if name in installed]
    return Choice([*usable, found] if found else [], {} if found else broken)


async def _found(project: Project, names: list[str], broken: dict[str, str]) -> str:
    """The quickest of these executors that runs a program and holds against what probes it; "" if there is none.
    `broken` gets why others are of no use."""
    from doorward import Gateway
    from doorward.configuration import load_config

    quick: dict[str, float] = {}
    with tempfile.TemporaryDirectory(prefix="doorward-") as state, anyio.move_on_after(_TRY_SECONDS):
        alone = f'executor = {json.dumps(names)}\nstate = {json.dumps(state)}\ncache = "none"\nplugins = []\n'
        try:
            loaded = load_config(project.config, env_file=project.env_file, text=alone)
            logs.configure(loaded.secrets, "debug" if logs.debugging() else "critical")
            async with Gateway.open(loaded, compile=False) as gate:
                for name in names:
                    gate.executors.names = [name]
                    outcome = await gate.execute("1 + 1")
                    if outcome.error is None:
                        quick[name] = outcome.ms
                    else:
                        broken[name] = outcome.error.message
                for name in sorted(quick, key=lambda name: quick[name]):
                    gate.executors.names = [name]
                    if not (why := await _unheld(gate)):
                        return name
                    broken[name] = why
        except DoorwardError as error:
            broken |= {name: str(error) for name in names if name not in broken}
    return ""


async def _unheld(gate: Gateway) -> str:
    """What the command that probes executors finds wrong, if it is installed."""
    if gate.plugins.index.named("command", PROBE_COMMAND):
        command = gate.plugins.driver("command", PROBE_COMMAND)
        if isinstance(command, CheckProvider):
            async for what, holds, _ in command.checks(gate):
                if not holds:
                    return what
    return ""
