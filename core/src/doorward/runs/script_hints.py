"""Hints for failures of programs in TypeScript and JavaScript, as `hints` has them for Python; V8 words the errors."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from doorward.model.programs import Failure, Program

if TYPE_CHECKING:
    from doorward.runs.run_context import RunContext

_NO_FUNCTION = re.compile(r"\b([\w$]+)\.([\w$]+) is not a function")
_NO_EXPORT = re.compile(r"module '([^']+)' does not provide an export named '([\w$]+)'")
_NO_MODULE = re.compile(r"Cannot find module ['\"]([^'\"]+)['\"]")
_NO_NAME = re.compile(r"([\w$]+) is not defined")
_PROMISE_LACKS = {
    "at", "concat", "every", "filter", "find", "flat", "flatMap", "forEach", "includes", "indexOf", "join", "map",
    "reduce", "slice", "some", "sort", "split", "toSorted", "trim",
}  # fmt: skip
"""Methods of arrays and texts, which a call that was not awaited does not have."""

Near = Callable[["RunContext", str, str], "str | None"]


def script_hint(
    error: Failure, run: RunContext, program: Program, near: Near, no_server: Callable[[str, RunContext], str]
) -> str | None:
    """A hint for an error of a program: similar names, a missing import or `await`, what an answer really was."""
    text = error.message
    if match := _NO_EXPORT.search(text):
        return near(run, match[1], match[2])
    if match := _NO_MODULE.search(text):
        return no_server(match[1], run)
    if error.type == "ReferenceError" and (match := _NO_NAME.search(text)):
        name = match[1]
        if run.members(name) is None:
            return run.names.hint(name) or None
        return f'Write `import * as {name} from "{name}"` first.'
    if match := _NO_FUNCTION.search(text):
        server = _imported_as(program.code, match[1])
        if run.members(server) is not None:
            return near(run, server, match[2])
        advice = "Each call is awaited: `await server.function({ … })`. " if match[2] in _PROMISE_LACKS else ""
        return f"{advice}{run.hint(error) or ''}".strip() or None
    return run.hint(error)


def _imported_as(code: str, name: str) -> str:
    """The module that a program imports under a name; the name itself if it imports none."""
    found = re.search(rf"""\bimport\s*\*\s*as\s+{re.escape(name)}\s+from\s*["']([\w-]+)["']""", code)
    return found[1] if found else name
