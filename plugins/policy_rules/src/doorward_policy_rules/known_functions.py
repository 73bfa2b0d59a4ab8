"""The functions that an operator has looked at: what `doorward policy accept` stored. Others are new."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from doorward import Function, log
from doorward.administration import dump_json
from doorward.deciding import Effects
from doorward.files import CachedFile, write_own

from doorward_policy_rules.settings import Effect

FILE = "accepted-functions.json"
"""In the state folder."""

_MAX_BYTES = 64 * 2**20


class KnownFunctions:
    """The accepted functions by their class, read again when somebody accepts more."""

    def __init__(self, state: Path, effects: Effects) -> None:
        self._file = CachedFile(state / FILE, self._parse, _MAX_BYTES)
        self._effects = effects
        self._read = 0

    def accepted(self) -> Mapping[str, Effect] | None:
        """The class of each accepted function, by its name; `None` if nothing was ever accepted."""
        try:
            return self._file.get()
        except FileNotFoundError:
            return None
        except OSError as error:
            log.warning("accepted_functions_unreadable", file=str(self._file.file), why=str(error))
            return {}

    def version(self) -> int:
        """A number that changes when somebody accepts functions."""
        self.accepted()
        return self._read

    def is_new(self, function: Function) -> bool:
        """Whether it was added after functions were last accepted, or is of another class now: an upstream that says of
        what it called a write that it only reads would get past the rules for writes."""
        known = self.accepted()
        if known is None:
            return False
        return known.get(function.qualified) != self._effects.of(function)

    def accept(self, functions: Iterable[Function], *, keep: bool = False) -> list[str]:
        """Store functions as accepted, in place of those before, or beside them (`keep`). Returns: those that were new.
        Raises: ConfigError, OSError."""
        given = {function.qualified: function for function in functions}
        before = self.accepted() or {}
        new = [name for name, function in given.items() if name not in before or self.is_new(function)]
        now = {name: self._effects.of(function) for name, function in given.items()}
        write_own(self._file.file, dump_json({"functions": ({**before} if keep else {}) | now}))
        return new

    def _parse(self, content: bytes) -> Mapping[str, Effect]:
        self._read += 1
        return _parsed(content)


def _parsed(content: bytes) -> Mapping[str, Effect]:
    """What a file says. Nothing of one that is damaged: then all functions are new."""
    try:
        found = json.loads(content)["functions"]
        return {str(name): each for name, each in found.items() if each in ("read", "write", "destructive")}
    except (ValueError, TypeError, KeyError, AttributeError):
        log.warning("accepted_functions_damaged", hint="Run `doorward policy accept` again.")
        return {}
