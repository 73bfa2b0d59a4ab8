"""Tells variables that a program fills as it runs from its parameters."""

from __future__ import annotations

import ast

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
