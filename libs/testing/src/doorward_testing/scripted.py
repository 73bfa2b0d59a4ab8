"""An executor for a few statements of TypeScript and JavaScript, for tests of what core does for such programs."""

from __future__ import annotations

import json
import re
from typing import Any

from doorward import Capabilities, Door, DoorwardError, Failure, PluginContext, Program, ProgramResult, Settings
from doorward.abilities import KnownNames

_CALL = re.compile(r"await (\w+)\.(\w+)\((.*)\)")
_MISSING = re.compile(r"(\w+)\.(\w+) is not a function")
_SET = re.compile(r"(?:const|let) (\w+)(?:: \w+)? = (.*?);?")


class Scripted:
    """Runs a program line by line: `const name = VALUE`, where a value is JSON, a name or `await server.f(VALUES)`, and
    `throw ["Type", "message"]`. The last value is that of the program. It isolates nothing."""

    Settings = Settings

    def __init__(self, context: PluginContext) -> None:
        pass

    def capabilities(self) -> Capabilities:
        """See `doorward.Executor.capabilities`."""
        return Capabilities("a few statements", "none", sessions=True, languages=("typescript", "javascript"))

    def parameters_of(self, code: str) -> dict[str, Any]:
        """See `doorward.abilities.ReadsPrograms`."""
        found = [match for line in code.splitlines() if (match := _SET.fullmatch(line)) and _is_json(match[2])]
        return {match[1]: json.loads(match[2]) for match in found}

    def has_value(self, code: str) -> bool:
        """See `doorward.abilities.ReadsPrograms`."""
        return _SET.fullmatch(code.splitlines()[-1]) is None

    def hint_for(self, error: Failure, code: str, names: KnownNames) -> str | None:
        """See `doorward.abilities.ReadsPrograms`."""
        missing = _MISSING.search(error.message)
        return names.near(missing[1], missing[2]) if missing else names.answered()

    async def open(self, program: Program, *, session: bool = False) -> _Running:
        """See `doorward.Executor.open`."""
        return _Running()

    async def close(self) -> None:
        """See `doorward.Executor.close`."""


class _Running:
    def __init__(self) -> None:
        self._names: dict[str, Any] = {}

    async def run(self, program: Program, door: Door) -> ProgramResult:
        names, value = self._names, None
        names |= program.params
        for number, line in enumerate(program.code.splitlines(), 1):
            try:
                found = _SET.fullmatch(line)
                if found and found[1] in program.params:
                    continue
                value = await self._value(found[2] if found else line, door)
                names[found[1] if found else ""] = value
            except DoorwardError as error:
                return ProgramResult(error=Failure("program", "Error", error.message, number))
            except _Wrong as error:
                kind, message = error.args
                return ProgramResult(error=Failure("program", kind, message, number))
        return ProgramResult(names.get("result", value))

    async def _value(self, text: str, door: Door) -> Any:
        if call := _CALL.fullmatch(text):
            if call[2] not in (door.members(call[1]) or ()):
                raise _Wrong("TypeError", f"{call[1]}.{call[2]} is not a function")
            return await door.call(f"{call[1]}.{call[2]}", json.loads(f"[{call[3]}]"), {})
        if text.startswith("throw "):
            raise _Wrong(*json.loads(text.removeprefix("throw ")))
        text = text.strip("()")
        return self._names[text] if text in self._names else json.loads(text) if text else None

    async def close(self) -> None:
        pass


class _Wrong(Exception):
    """An error of the program: its type, and what it says."""


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True
