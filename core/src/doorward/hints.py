"""What an agent should do about a failure: near names, the right signature, another executor."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from doorward.types import Failure, Frame, Program

if TYPE_CHECKING:
    from doorward.door import RunDoor

_NO_ATTRIBUTE = re.compile(r"module '(\w+)' has no attribute '(\w+)'")
_NO_IMPORT = re.compile(r"cannot import name '(\w+)' from '(\w+)'")
_NO_MODULE = re.compile(r"(?:No module named|has no module) '(\w+)")


def complete(error: Failure, door: RunDoor, program: Program) -> Failure:
    """The failure with the source of its frames, whose fault it was, and a hint if it has none."""
    lines = program.code.splitlines()
    frames = tuple(f if f.source else Frame(f.line, f.function, _source(lines, f.line)) for f in error.frames)
    error = replace(error, frames=frames)
    cause = next((e for m, e in door.failures.items() if m and error.message.startswith(m)), None)
    if cause is not None and error.kind == "program":
        error = replace(error, kind=cause.kind, type=type(cause).__name__, hint=error.hint or cause.hint)
    return error if error.hint else replace(error, hint=_hint(error, door))


def _source(lines: list[str], number: int) -> str:
    return lines[number - 1].strip()[:200] if 0 < number <= len(lines) else ""


def _hint(error: Failure, door: RunDoor) -> str | None:
    text = error.message
    if match := _NO_ATTRIBUTE.search(text):
        return _near(door, match[1], match[2])
    if match := _NO_IMPORT.search(text):
        return _near(door, match[2], match[1])
    if hint := no_server(text, door):
        return hint
    if error.type == "AttributeError" and "'dict' object has no attribute" in text:
        return 'Answers are plain dictionaries here: write value["name"].'
    if "'ApiError' object has no attribute" in text:
        return "It has `status`, `body` and `retry_after`; str(error) is its message."
    if error.type == "NameError" and (match := re.search(r"name '(\w+)' is not defined", text)) and door.members(match[1]) is not None:
        return f"Write `import {match[1]}` first."
    if "can't be awaited" in text or "can't be used in 'await'" in text:
        return "The call was made and its value is there already: leave out `await`."
    return None


def no_server(text: str, door: RunDoor) -> str | None:
    """What to say of a module that is not there: whether a server of that name is broken, or which there are."""
    import difflib

    if not (match := _NO_MODULE.search(text)):
        return None
    servers = {server["name"]: server for server in door.servers()}
    if why := servers.get(match[1], {}).get("broken"):
        return f"The server {match[1]!r} is broken: {why.rstrip('.')}."
    if near := difflib.get_close_matches(match[1], servers, n=3):
        return f"Near: {', '.join(near)}."
    return f"There is no server {match[1]!r} either; see list_servers (or doorward.servers())."


def _near(door: RunDoor, server: str, name: str) -> str | None:
    import difflib

    members = door.members(server)
    if members is None:
        return None
    near = difflib.get_close_matches(name, members, n=5) or [m for m in members if name in m][:5]
    return f"Near: {', '.join(f'{server}.{n}' for n in near)}." if near else f"See search_functions(…, server={server!r})."
