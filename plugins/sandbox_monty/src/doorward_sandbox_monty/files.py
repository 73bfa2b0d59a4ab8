"""Whether a program uses files, which Monty does not have. Its text tells, so that another executor can take over
before it has made a call."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

_MENTIONED = re.compile(r"\bopen\b|\bpath\b|\b(?:read|write)_(?:text|bytes)\b|\b(?:listdir|makedirs|mkdir)\b")
_OF_OS = {"listdir", "makedirs", "mkdir"}
_OF_PATHS = {"read_text", "read_bytes", "write_text", "write_bytes"}


def wanted(code: str) -> int | None:
    """The first line that opens a file or uses a path; `None` if there is none."""
    if not _MENTIONED.search(code):
        return None
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None  # Monty reports the syntax error
    return min(_lines(list(_nodes(tree))), default=None)


def _nodes(tree: ast.Module) -> Iterator[ast.AST]:
    """All nodes outside lambdas: a lambda is passed to something that may catch its failure."""
    todo: list[ast.AST] = [tree]
    while todo:
        yield (node := todo.pop())
        todo += (child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.Lambda))


def _lines(nodes: list[ast.AST]) -> Iterator[int]:
    imported = [alias for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    ours = {alias.asname or alias.name for alias in imported if alias.name == "doorward"}
    has_paths = "pathlib" in {alias.name for alias in imported} | {
        node.module for node in nodes if isinstance(node, ast.ImportFrom)
    }
    opens = not any(_is_own_open(node) for node in nodes)
    asked = {id(part) for node in nodes for part in _asked(node)}
    for node in nodes:
        match node:
            case ast.ImportFrom(module="doorward", names=names) if any(alias.name == "path" for alias in names):
                yield node.lineno
            case ast.Attribute(value=ast.Name(id=name), attr="path") if name in ours and id(node) not in asked:
                yield node.lineno
            case ast.Attribute(value=ast.Name(id="os"), attr=attr) if attr in _OF_OS:
                yield node.lineno
            case ast.Name(id="open") if opens:
                yield node.lineno
            case ast.Call(func=ast.Attribute(attr=attr)) if attr in _OF_PATHS and has_paths:
                yield node.lineno


def _is_own_open(node: ast.AST) -> bool:
    """Whether the program itself defines something called `open`."""
    match node:
        case (
            ast.Name(id="open", ctx=ast.Store())
            | ast.arg(arg="open")
            | ast.FunctionDef(name="open")
            | ast.AsyncFunctionDef(name="open")
        ):
            return True
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            return any((alias.asname or alias.name) in ("open", "*") for alias in names)
    return False


def _asked(node: ast.AST) -> list[ast.expr]:
    """Expressions that are only asked about: `help(x)`, `x.__doc__`."""
    match node:
        case ast.Call(func=ast.Name(id="help"), args=args):
            return args
        case ast.Attribute(value=value, attr="__doc__"):
            return [value]
    return []
