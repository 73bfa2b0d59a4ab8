"""A program as a script: a first line that starts it, a docstring, and the types of its parameters."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from typing import Any

from doorward import InvalidProgram
from doorward.sandboxing import json_type

FIRST_LINE = "#!/usr/bin/env -S doorward programs run"

_TYPES = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "array": "list", "object": "dict"}


def script(name: str, code: str, description: str, params: Mapping[str, Any]) -> str:
    """A program in Python as a script. A docstring that it has stays, unless there is a description; of `params`, those
    that are assigned without a type get the type of their value.

    Raises: InvalidProgram if it cannot be parsed.
    """
    tree = parse_program(code)
    lines = code.encode().split(b"\n")
    for statement in reversed(tree.body):  # of several in a line the last one first: the places of others stay
        match statement:
            case ast.Assign(targets=[ast.Name(id=parameter, lineno=line, end_col_offset=end)]) if parameter in params:
                if python := _TYPES.get(json_type(params[parameter])):
                    lines[line - 1] = lines[line - 1][:end] + f": {python}".encode() + lines[line - 1][end:]
    has = ast.get_docstring(tree)
    first, last = (tree.body[0].lineno - 1, tree.body[0].end_lineno or 0) if has is not None else (0, 0)
    if not any(statement.lineno <= last for statement in tree.body[1:]):  # none shares a line with the docstring
        lines = [*lines[:first], *lines[last:]]
    lines = lines[lines[:1] == [FIRST_LINE.encode()] :]
    told = description.strip() or (has or "").strip() or name.replace("_", " ").capitalize()
    return "\n".join([FIRST_LINE, *_docstring(told), "", b"\n".join(lines).decode().strip("\n"), ""])


def about(code: str) -> str:
    """The first paragraph of a program's docstring in one line; "" if it has none or cannot be read."""
    try:
        told = ast.get_docstring(parse_program(code)) or ""
    except InvalidProgram:
        return ""
    return " ".join(told.partition("\n\n")[0].split())


def parse_program(code: str) -> ast.Module:
    """Raises: InvalidProgram."""
    try:
        return ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise InvalidProgram(f"the program cannot be parsed: {error}") from None


def _docstring(text: str) -> list[str]:
    """A docstring with any text: what would end it, or be read as an escape, is not."""
    text = text.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    text = re.sub(r"[\x00-\x08\x0b-\x1f\x7f]", " ", text)
    return f'"""{text}{" " if text.endswith(chr(34)) else ""}"""'.split("\n")
