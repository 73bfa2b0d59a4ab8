"""Finds the calls in a program whose value is awaited, for executors that cannot tell while the program runs."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import accumulate

from doorward import InvalidProgram

from doorward_jail.program_text import parse


def awaited(code: str, *, also: str = "") -> set[tuple[int, int]]:
    """The places of calls whose value is awaited or passed to asyncio, as (start, end) in bytes of UTF-8; none if the
    program cannot be parsed.

    A catalog function is called plainly or with `await`. An executor that cannot return a value for both asks here
    which one a call needs. Followed are `await f()`, the arguments of `asyncio.…(…)`, names and lists that reach
    those, and plain functions that return such a call. `also` names a function of the executor that awaits its
    arguments, as `asyncio.gather` does.
    """
    if "await" not in code and "asyncio" not in code:
        return set()
    try:
        tree = parse(code)
    except InvalidProgram:
        return set()
    starts = [0, *accumulate(len(line) + 1 for line in code.encode().split(b"\n"))]
    found: dict[int, ast.Call] = {}
    wanted: list[ast.expr] = []
    flows: dict[str, list[ast.expr]] = {}
    for node in ast.walk(tree):
        wanted += _awaiting(node, also)
        for name, value in _flows(node):
            flows.setdefault(name, []).append(value)
    names: set[str] = set()
    while wanted:
        node = wanted.pop()
        if isinstance(node, ast.Call):
            if id(node) in found:
                continue
            found[id(node)] = node
            if isinstance(node.func, ast.Name) and (returns := f"{node.func.id}()") not in names:
                names.add(returns)
                wanted += flows.get(returns, ())
        elif isinstance(node, ast.Name):
            if node.id not in names:
                names.add(node.id)
                wanted += flows.get(node.id, ())
        else:
            wanted += _parts(node)
    return {(starts[c.lineno - 1] + c.col_offset, starts[c.end_lineno - 1] + c.end_col_offset) for c in found.values()}  # type: ignore[operator]


def _awaiting(node: ast.AST, also: str) -> list[ast.expr]:
    """The expressions that must be awaitable for this node."""
    match node:
        case ast.Await(value=value):
            return [value]
        case ast.Call(func=ast.Attribute(value=ast.Name(id="asyncio")), args=args):
            return args
        case ast.Call(
            func=ast.Name(id="gather" | "create_task" | "ensure_future" | "wait_for" | "as_completed"), args=args
        ):
            return args
        case ast.Call(func=ast.Attribute(attr="create_task"), args=args):
            return args
        case ast.Call(func=ast.Name(id=name), args=args) if name == also:
            return args
        case _:
            return []


def _parts(node: ast.expr) -> list[ast.expr]:
    """The elements through which an awaitable flows: lists, comprehensions, conditionals, stars."""
    match node:
        case ast.Starred(value=value) | ast.Subscript(value=value) | ast.NamedExpr(value=value):
            return [value]
        case ast.List(elts=elements) | ast.Tuple(elts=elements) | ast.Set(elts=elements):
            return elements
        case ast.ListComp(elt=element) | ast.GeneratorExp(elt=element) | ast.SetComp(elt=element):
            return [element]
        case ast.DictComp(value=value):
            return [value]
        case ast.Dict(values=values):
            return list(values)
        case ast.IfExp(body=body, orelse=other):
            return [body, other]
        case ast.BinOp(left=left, right=right):
            return [left, right]
        case ast.Attribute(value=value):
            return [value]
        case _:
            return []


def _flows(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """Names with the values that flow into them: assigned, appended or looped over. Into the name `f()` flows what the
    plain function `f` returns (an async one awaits for itself)."""
    match node:
        case ast.Assign(targets=targets, value=value):
            for target in targets:
                match target:
                    case ast.Name(id=name) | ast.Subscript(value=ast.Name(id=name)):
                        yield name, value
                        if isinstance(value, ast.Lambda):
                            yield f"{name}()", value.body
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
            yield name, value
        case (
            ast.AugAssign(target=ast.Name(id=name), value=value) | ast.NamedExpr(target=ast.Name(id=name), value=value)
        ):
            yield name, value
        case ast.Call(
            func=ast.Attribute(value=ast.Name(id=name), attr="append" | "add" | "extend" | "insert"), args=args
        ):
            yield from ((name, arg) for arg in args)
        case ast.For(target=target, iter=value) | ast.comprehension(target=target, iter=value):
            yield from ((n.id, value) for n in ast.walk(target) if isinstance(n, ast.Name))
        case ast.FunctionDef(name=name):
            yield from ((f"{name}()", r.value) for r in _own(node) if isinstance(r, ast.Return) and r.value)


def _own(function: ast.FunctionDef) -> Iterator[ast.AST]:
    """The nodes of a function, without those of functions inside it."""
    todo: list[ast.AST] = list(function.body)
    while todo:
        node = todo.pop()
        yield node
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            todo += ast.iter_child_nodes(node)
