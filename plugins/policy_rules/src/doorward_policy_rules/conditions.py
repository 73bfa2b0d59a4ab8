"""The conditions of rules, in CEL: compiled and checked when the configuration is read, bounded in what they cost.

The library of the CEL project is used: it checks the types of an expression, gives up after 10,000 steps of its loops,
and matches regular expressions in linear time.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

from doorward import Call, ConfigError
from doorward.administration import dump_json
from doorward.recording import planned
from doorward.texts import exceeds, visible

MAX_ARGUMENT_BYTES = 256 * 2**10
"""Bytes of arguments that a condition looks at: what its loops cost grows with them."""

MAX_BYTES_IN_LOOPS, MAX_PARTS_IN_LOOPS = 16 * 2**10, 2000
"""The same where `args` stands within a loop, and values in them: each turn of it reads them anew, and nothing else
happens in this process meanwhile."""

_LOOP = re.compile(r"\.\s*(?:all|exists|exists_one|existsOne|map|filter)\s*\(")
_TEXT = re.compile(r"""'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*\"""")


class Unanswerable(Exception):
    """A condition has no answer for this call. Its text says why."""


class Asked(NamedTuple):
    """What a condition may ask of a call. `name` is that of its function, `server.function`; `calls` are those that its
    run has begun before."""

    args: Mapping[str, Any]
    principal: str
    groups: list[str]
    attributes: Mapping[str, Any]
    name: str
    server: str
    calls: int
    argument_bytes: int


def asked_of(call: Call) -> Asked:
    """What conditions may ask of a call."""
    who, function, size = call.caller, call.function, call.size or len(dump_json(call.arguments))
    arguments = copy.deepcopy(call.arguments) if size <= MAX_ARGUMENT_BYTES else {}  # the library wants plain values
    attributes = copy.deepcopy(dict(who.attributes))
    return Asked(
        *(arguments, str(who), [*who.groups], attributes, function.qualified, function.server),
        *(call.earlier, size),
    )


class Condition:
    """One condition. Raises: ConfigError, with its `place`, if it cannot be compiled, or does not answer yes or no."""

    def __init__(self, text: str, place: str) -> None:
        self.text = text
        try:
            compiled = _compiled(text)
        except RuntimeError as error:
            raise ConfigError(f"`when`: {_said(error)}", place=place, hint=_HINT) from None
        if (kind := compiled.return_type().name()) not in ("BOOL", "DYN"):
            raise ConfigError(f"`when` answers {kind}, and not yes or no: {text}", place=place, hint=_HINT)
        self._compiled = compiled
        self._reads_arguments = "args" in text
        self._loops = _reads_in_loops(text)

    def holds(self, asked: Asked) -> bool:
        """Whether it holds for a call. Raises: Unanswerable."""
        known = asked._asdict()
        most = MAX_BYTES_IN_LOOPS if self._loops else MAX_ARGUMENT_BYTES
        if known.pop("argument_bytes") > most and self._reads_arguments:
            raise Unanswerable(f"the arguments have more than {most // 1024} KiB")
        if self._loops and exceeds([asked.args, asked.attributes], MAX_PARTS_IN_LOOPS):
            raise Unanswerable(f"the arguments have more than {MAX_PARTS_IN_LOOPS} parts")
        if not self._reads_arguments:
            known["args"] = {}
        if _has_nul(known):
            raise Unanswerable("a text has the character U+0000")
        try:
            answer = self._compiled.eval(data=known).value()
        except RuntimeError as error:
            raise Unanswerable(_said(error)) from None
        if not isinstance(answer, bool):
            raise Unanswerable(_said(answer))
        return answer


_HINT = (
    "For example when = \"args.amount > 100 && principal != 'alice'\"; has(args.amount) asks whether there is one. "
    "There are args, principal, groups, attributes, name, server and calls."
)


def _reads_in_loops(text: str) -> bool:
    """Whether `args` stands within the parentheses of a loop."""
    text = _TEXT.sub("''", text)
    for loop in _LOOP.finditer(text):
        end, depth = loop.end(), 1
        while end < len(text) and depth:
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            end += 1
        if "args" in text[loop.end() : end]:
            return True
    return False


def _has_nul(value: Any) -> bool:
    """Whether a text or a key in a value has a NUL: for the library it ends there, so `prod` and `prod\\0x` are the
    same. The key of what a plan does not know yet is ours."""
    todo = [value]
    while todo:
        match todo.pop():
            case str() as text:
                if "\0" in text:
                    return True
            case Mapping() as found:
                if planned(found) is None:
                    todo.extend(found)
                    todo.extend(found.values())
            case list() | tuple() as found:
                todo.extend(found)
    return False


def _said(error: object) -> str:
    """What the library says, in a line. It quotes arguments, and a person reads it who is asked about them."""
    return visible(" ".join(str(error).split()))[:300]


@cache
def _compiled(text: str) -> Any:
    """An expression over the names that conditions know. Raises: RuntimeError."""
    return _environment().compile(text)


@cache
def _environment() -> Any:
    from cel_expr_python import cel  # late: it takes long to import, and few rules have a condition

    text = cel.Type.STRING
    return cel.NewEnv(
        variables={
            "args": cel.Type.Map(text, cel.Type.DYN),
            "principal": text,
            "groups": cel.Type.List(text),
            "attributes": cel.Type.Map(text, cel.Type.DYN),
            "name": text,
            "server": text,
            "calls": cel.Type.INT,
        }
    )
