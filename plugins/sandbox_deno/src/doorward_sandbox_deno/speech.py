"""What the runner in a sandbox is told of a program, and how the death of its engine is read."""

from __future__ import annotations

import asyncio
import re
import signal
from functools import partial
from typing import TYPE_CHECKING, Any

from doorward import Door, Program, bind
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

        code, values = bind(program.code.removeprefix("\ufeff"), program.params, program.language)
        work = partial(program_text.read, code)
        text = work() if len(code) < _SHORT_CHARACTERS else await asyncio.to_thread(work)
        taken = [name for each in text.imports for _, name in each.names]
        before = [f"const {name} = {OURS}.bound[{at}];" for at, name in enumerate(taken)]
        before += [f"let {name} = {OURS}.params.{name};" for name in values]
        about = {
            "code": text.code,
            "types": program.language == "typescript",
            "before": "\n".join(before),
            "imports": [_told(each, door) for each in text.imports],
            "params": values,
            "sets_result": text.sets_result,
            "most": program.limits.result_bytes,
        }
        return {"run": about}, b""

    def died_of_memory(self, code: int, last: bytes) -> bool:
        return code in _CRASHES and _OUT_OF_MEMORY.search(last) is not None


def _told(one: Import, door: Door) -> dict[str, Any]:
    """An import as the runner makes it: the server that it means, or why there is none."""
    names = [name for name, _ in one.names]
    told: dict[str, Any] = {"name": one.module, "line": one.line, "names": names}
    if one.module.startswith("node:"):
        return told
    for server in dict.fromkeys([one.module, re.sub(r"\W", "_", one.module)]):
        if (members := door.members(server)) is not None:
            absent = [name for name in names if name and name != "default" and not _is_there(name, members)]
            if absent:
                return told | _error("ImportError", f"cannot import name '{absent[0]}' from '{server}'")
            return told | {"server": server, "members": list(members) if {None, "default"} & set(names) else None}
    return told | _error("ModuleNotFoundError", f"No module named '{one.module}'")


def _is_there(name: str, members: Any) -> bool:
    """Whether a module has a name. Names of types, which begin with a capital letter, are taken as there: they may be
    imported like values, and are none."""
    return name in members or name[0].isupper()


def _error(type: str, message: str) -> dict[str, str]:
    return {"error": type, "message": message}
