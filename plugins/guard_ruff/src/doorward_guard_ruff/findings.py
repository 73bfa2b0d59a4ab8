"""What ruff finds in a program, as its author reads it: only what concerns a program, each thing once."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from doorward import Finding, Program

from doorward_guard_ruff.names import Names
from doorward_guard_ruff.rules import RULES, SYNTAX, UNDEFINED, Rule

MAX_FINDINGS = 20
"""Findings that are told of one program; those that refuse it come first."""

MAX_SHOWN_CHARS = 120
"""Length of a source line, or of what ruff says, in a message."""

_NAME = re.compile(r"Undefined name `(.+?)`")
_NEWER = "(syntax was added in Python"
_VALUES = ("B015", "B018")
"""ruff's rules for expressions whose value is lost. That of the last expression is not."""


@dataclass(frozen=True, slots=True)
class Found:
    """One thing that ruff found. `name` is the one that is not defined."""

    line: int
    code: str
    message: str
    refuse: bool
    name: str = ""


def findings(
    program: Program,
    diagnostics: Sequence[Mapping[str, Any]],
    refused: Sequence[str],
    is_alias: Callable[[str], bool],
) -> list[Finding]:
    """The findings, sorted by line. `refused` are the beginnings of the codes that refuse."""
    names = Names(program, is_alias)
    kept: dict[tuple[str, str, str, bool], Found] = {}
    for one in _found(diagnostics, names, tuple(refused)):
        kept.setdefault((one.code, one.message, one.name, one.refuse), one)
    chosen = sorted(kept.values(), key=lambda one: (not one.refuse, one.line))[:MAX_FINDINGS]
    lines = program.code.split("\n")
    return [_told(one, names, lines) for one in sorted(chosen, key=lambda one: one.line)]


def _found(diagnostics: Sequence[Mapping[str, Any]], names: Names, refused: tuple[str, ...]) -> Iterator[Found]:
    """What concerns a program. Nothing if that is no Python, as Python itself will say."""
    if any(map(_is_broken, diagnostics)) and names.tree is None:
        return
    for one in diagnostics:
        code, message, line = str(one["code"]), str(one["message"]), int(one["range"]["start"]["line"]) + 1
        refuse = code.startswith(refused)
        if code == UNDEFINED and (name := _NAME.match(message)):
            if not names.is_free(name[1]):
                yield Found(line, code, "", refuse and names.is_missing(name[1]), name[1])
        elif not (_is_broken(one) or _awaits(code, message) or (code in _VALUES and names.is_value(line))):
            yield Found(line, code, message, refuse)


def _is_broken(one: Mapping[str, Any]) -> bool:
    """Whether it is a syntax error in every Python that there is."""
    return bool(one["code"] == SYNTAX and _NEWER not in one["message"])


def _awaits(code: str, message: str) -> bool:
    """Whether it speaks of `await` outside of a function, where programs may use it."""
    return code == "PLE1142" or (code == "F704" and "`await`" in message)


def _told(one: Found, names: Names, lines: Sequence[str]) -> Finding:
    rule = RULES.get(one.code, Rule("", ""))
    message, _, help_ = one.message.partition("\n\nhelp: ")
    instead = rule.instead or help_
    if one.name:
        message = f"name '{one.name}' {'is not defined' if one.refuse else 'may not be defined here'}"
        instead = names.near(one.name)
    source = lines[one.line - 1].strip()[:MAX_SHOWN_CHARS] if one.line <= len(lines) else ""
    message = f"{message[:MAX_SHOWN_CHARS]} (ruff {one.code}): {source}"
    return Finding(message, one.line, instead[:MAX_SHOWN_CHARS], one.refuse, rule.error if one.refuse else "")
