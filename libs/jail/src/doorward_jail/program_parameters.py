"""Finds the parameters of a program in Python in its source, and binds new values for them.

A new value never becomes source text; see `bind`.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping
from itertools import accumulate
from typing import Any

from doorward_jail.program_text import parse

_CHANGING_METHODS = {
    "append", "appendleft", "add", "extend", "insert", "update", "setdefault", "pop", "popitem", "remove", "discard",
    "clear",
}  # fmt: skip
"""Methods of lists, sets and dictionaries that change them."""


def changed(tree: ast.Module) -> set[str]:
    """Top-level names that the program changes: in place, with an operator, or by assigning to them again in a loop or,
    after `global`, in a function."""
    found: set[str] = set()
    todo: list[tuple[ast.AST, bool, frozenset[str] | None]] = [(node, False, None) for node in tree.body]
    while todo:
        node, is_loop, only = todo.pop()
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
                only = frozenset(name for each in ast.walk(node) if isinstance(each, ast.Global) for name in each.names)
                is_loop = True
            case ast.For() | ast.AsyncFor() | ast.While():
                is_loop = True
            case ast.Call(func=ast.Attribute(value=value, attr=method)) if method in _CHANGING_METHODS:
                found |= _root(value)
            case ast.Subscript(value=value, ctx=ast.Store() | ast.Del()):
                found |= _root(value)
            case ast.AugAssign(target=ast.Name(id=name)) if only is None or name in only:
                found.add(name)
            case ast.Name(id=name, ctx=ast.Store()) if is_loop and (only is None or name in only):
                found.add(name)
        todo += [(child, is_loop, only) for child in ast.iter_child_nodes(node)]
    return found


def _root(value: ast.expr) -> set[str]:
    """The variable in `out`, `out["a"]` or `out.setdefault("a", [])`."""
    while True:
        match value:
            case ast.Subscript(value=inner) | ast.Attribute(value=inner) | ast.Call(func=inner):
                value = inner
            case ast.Name(id=name):
                return {name}
            case _:
                return set()


PARAMETER_PREFIX = "__param_"
"""In the text that `bind` returns, the name in the place of a replaced literal begins so; executors bind the value to
that name."""


def parameters(code: str) -> dict[str, Any]:
    """The parameters of a program with their defaults: top-level assignments of JSON literals, plain or annotated, to
    names that get no other literal at the top level. A variable that begins empty and is changed later is no
    parameter: the program fills it.

    Raises: InvalidProgram.
    """
    tree = parse(code)
    gathered = changed(tree)
    return {name: value for name, (_, value) in _literals(tree).items() if value or name not in gathered}


def _literals(tree: ast.Module) -> dict[str, tuple[ast.expr, Any]]:
    found: dict[str, tuple[ast.expr, Any]] = {}
    again: set[str] = set()
    for statement in tree.body:
        match statement:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=node)
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as node)
            ):
                pass
            case _:
                continue
        try:
            value = ast.literal_eval(node)
            if json.loads(json.dumps(value, allow_nan=False)) != value:
                continue  # a tuple, or a key that is not text, would come back as something else
        except (ValueError, TypeError, RecursionError, MemoryError, SyntaxError):
            continue
        again |= {name} & found.keys()
        found[name] = (node, value)
    return {name: literal for name, literal in found.items() if name not in again and name != "result"}


def bind(code: str, params: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """For executors that take only text: the program with a reserved name in the place of each replaced literal, and
    the values to bind before it starts. Line numbers stay the same. Parameters that the program does not assign are
    bound under their own names.
    """
    known = _literals(parse(code)) if params else {}
    text, names = code.encode(), {}
    starts = [0, *accumulate(len(line) + 1 for line in text.split(b"\n"))]
    spans = []
    for name, value in params.items():
        if name in known:
            node = known[name][0]
            start, end = starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset  # type: ignore[operator]
            spans.append((start, end, name))
        names[PARAMETER_PREFIX + name if name in known else name] = value
    for start, end, name in sorted(spans, reverse=True):
        lines = text[start:end].count(b"\n")
        text = text[:start] + f"({PARAMETER_PREFIX}{name}{chr(10) * lines})".encode() + text[end:]
    return text.decode(), names
