"""The text of a program in Python as data: parsed by the host, never run."""

from __future__ import annotations

import ast
import re
from functools import lru_cache

from doorward import InvalidProgram

_CHAIN = re.compile(r"(?:\.\s*\w+\s*){500}")
"""CPython's parser takes time quadratic in the length of a dotted name."""


_MAX_KEPT_CHARACTERS = 20_000
"""Characters of a program whose tree is kept for the next who asks: trees are a hundred times as large."""


def parse(code: str) -> ast.Module:
    """The syntax tree, which nobody changes.

    Raises: InvalidProgram with line and source if it is not Python, or nested too deeply to be parsed.
    """
    return _kept(code) if len(code) <= _MAX_KEPT_CHARACTERS else _parsed(code)


@lru_cache(4)
def _kept(code: str) -> ast.Module:
    return _parsed(code)


def _parsed(code: str) -> ast.Module:
    if _CHAIN.search(code):
        raise InvalidProgram("the program has a dotted name of more than 500 parts")
    try:
        return ast.parse(code)
    except SyntaxError as error:
        source = (error.text or "").strip()
        message = f"{error.msg}: {source}" if source else error.msg
        raise InvalidProgram(message, line=error.lineno, type=type(error).__name__) from None
    except (RecursionError, MemoryError, ValueError) as error:
        raise InvalidProgram(f"the program cannot be parsed: {error or 'it is nested too deeply'}") from None


def sets_result(code: str) -> bool:
    """Whether any statement of the program may set the global `result`; false if the program does not parse."""
    try:
        nodes: list[ast.AST] = [parse(code)]
    except InvalidProgram:
        return False  # an executor may know more Python than we do
    while nodes:
        match nodes.pop():
            case (
                ast.Name(id="result", ctx=ast.Store())
                | ast.alias(name="result", asname=None)
                | ast.alias(asname="result")
            ):
                return True
            case ast.FunctionDef(name="result") | ast.AsyncFunctionDef(name="result"):
                return True
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() as inner:
                if any(isinstance(node, ast.Global) and "result" in node.names for node in ast.walk(inner)):
                    return True
            case ast.ExceptHandler(body=body):
                nodes += body  # its name is gone at its end
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp() | ast.Lambda():
                pass
            case node:
                nodes += ast.iter_child_nodes(node)
    return False


def has_value(code: str) -> bool:
    """Whether a program may have a value: it sets `result`, or ends with an expression."""
    try:
        body = parse(code).body
    except InvalidProgram:
        return True
    return isinstance(body[-1] if body else None, ast.Expr) or sets_result(code)
