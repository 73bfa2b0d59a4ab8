"""What the runner in a sandbox is told of a program, and how the death of its engine is read."""

from __future__ import annotations

import asyncio
import re
import signal
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from doorward import Door, Program
from doorward.sandboxing import Aliases
from doorward.values import python_name
from doorward_jail import Speech

if TYPE_CHECKING:
    from doorward_sandbox_deno.program_text import Import

_SHORT_CHARACTERS = 4000
"""A shorter text is read at once, a longer one in a thread."""

OURS = "__doorward__"
"""The one name of the runner that the texts of programs use."""

_OUT_OF_MEMORY = re.compile(
    rb"out of memory|memory allocation of \d+ bytes failed|Array buffer allocation failed", re.I
)
_CRASHES = {-signal.SIGTRAP, -signal.SIGILL, -signal.SIGABRT, -signal.SIGSEGV}


class DenoSpeech(Speech):
    """For Deno and the runner of `inside/`."""

    async def program(self, program: Program, door: Door) -> tuple[dict[str, Any], bytes]:
        from doorward_sandbox_deno import program_text
        from doorward_sandbox_deno.script_parameters import bound

        code, values = bound(program.code.removeprefix("\ufeff"), program.params)
        work = partial(program_text.read, code)
        text = work() if len(code) < _SHORT_CHARACTERS else await asyncio.to_thread(work)
        aliases = door.aliases(code)
        others = program_text.read(aliases.before)
        imports = [*others.imports, *(one for each in text.imports for one in _parts(each, aliases))]
        taken = [name for each in imports for _, name in each.names]
        constants = [f"const {name} = {OURS}.bound[{at}];" for at, name in enumerate(taken)]
        theirs = sum(len(each.names) for each in others.imports)
        before = ["{", *constants[:theirs], others.code, "}"] if others.code else []
        before += [*constants[theirs:], *(f"let {name} = {OURS}.params.{name};" for name in values)]
        servers = {each.module: _server(each.module, aliases, door) for each in imports}
        about = {
            "code": text.code,
            "types": program.language == "typescript",
            "before": "\n".join(before),
            "imports": [_told(each, servers[each.module], door) for each in imports],
            "servers": {name: server for name, server in servers.items() if server},
            "params": values,
            "sets_result": text.sets_result,
            "most": program.limits.result_bytes,
            "seed": program.seed.hex(),
            "times": [] if program.continues else list(door.times()),
        }
        return {"run": about}, b""

    def died_of_memory(self, code: int, last: bytes) -> bool:
        if code == -signal.SIGABRT and not last:
            return True  # there was no memory left for a word either
        return code in _CRASHES and _OUT_OF_MEMORY.search(last) is not None


def _parts(one: Import, aliases: Aliases) -> list[Import]:
    """An import from a package that only holds servers, as imports of these; any other as it is."""
    if aliases.modules.get(one.module) != "":
        return [one]
    return [
        replace(one, module=f"{one.module}/{name}", names=((None, local),))
        for name, local in one.names
        if name not in (None, "default")
    ]


def _server(name: str, aliases: Aliases, door: Door) -> str:
    """The server that an import means; empty if there is none."""
    meant = (aliases.modules.get(name, name), re.sub(r"\W", "_", name))
    return next((server for server in meant if door.members(server) is not None), "")


def _told(one: Import, server: str, door: Door) -> dict[str, Any]:
    """An import as the runner makes it. It gets the members of a module that the program takes as a whole."""
    names = [name for name, _ in one.names]
    told: dict[str, Any] = {"name": one.module, "line": one.line, "names": names, "server": server}
    if server:
        members = door.members(server) or ()
        absent = (name for name in names if name and name != "default" and not _is_there(name, members))
        told["absent"] = next(absent, None)
        told["members"] = list(members) if {None, "default"} & {*names} else None
    return told


def _is_there(name: str, members: Sequence[str]) -> bool:
    """Whether a module has a name, perhaps with its words joined otherwise. Names of types, which begin with a capital
    letter, are taken as there: they may be imported like values, and are none."""
    return name in members or name[:1].isupper() or python_name(name) in members
