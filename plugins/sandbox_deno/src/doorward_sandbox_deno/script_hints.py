"""Hints for failures of programs in TypeScript and JavaScript, whose words are those of V8."""

from __future__ import annotations

import re

from doorward import Failure
from doorward.abilities import KnownNames

_NO_FUNCTION = re.compile(r"\b([\w$]+)\.([\w$]+) is not a function")
_NO_EXPORT = re.compile(r"module '([^']+)' does not provide an export named '([\w$]+)'")
_NO_MODULE = re.compile(r"Cannot find module ['\"]([^'\"]+)['\"]")
_NO_NAME = re.compile(r"([\w$]+) is not defined")
_PROMISE_LACKS = {
    "at", "concat", "every", "filter", "find", "flat", "flatMap", "forEach", "includes", "indexOf", "join", "map",
    "reduce", "slice", "some", "sort", "split", "toSorted", "trim",
}  # fmt: skip
"""Methods of arrays and texts, which a call that was not awaited does not have."""


def script_hint(error: Failure, code: str, names: KnownNames) -> str | None:
    """A hint for an error of a program: similar names, a missing import or `await`, what an answer really was."""
    text = error.message
    if match := _NO_EXPORT.search(text):
        return names.near(match[1], match[2])
    if match := _NO_MODULE.search(text):
        return names.no_module(match[1])
    if error.type == "ReferenceError" and (match := _NO_NAME.search(text)):
        name = match[1]
        if names.members(name) is None:
            return names.unknown(name) or None
        return f'Write `import * as {name} from "{name}"` first.'
    if match := _NO_FUNCTION.search(text):
        server = _imported_as(code, match[1])
        if names.members(server) is not None:
            return names.near(server, match[2])
        advice = "Each call is awaited: `await server.function({ … })`. " if match[2] in _PROMISE_LACKS else ""
        return f"{advice}{names.answered() or ''}".strip() or None
    return names.answered()


def _imported_as(code: str, name: str) -> str:
    """The module that a program imports under a name; the name itself if it imports none."""
    found = re.search(rf"""\bimport\s*\*\s*as\s+{re.escape(name)}\s+from\s*["']([\w-]+)["']""", code)
    return found[1] if found else name
