"""Finds programs that are alike except for their literals, and makes one program with parameters of them."""

from __future__ import annotations

import ast
import builtins
import keyword
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from doorward_cache_sqlite.scripts import parse_program

_BY_TYPE = {str: "text", int: "number", float: "number", bool: "flag"}


@dataclass(frozen=True, slots=True)
class Shape:
    """A program without what its literals say: two programs are alike if their `text` is the same. Each of `literals`
    has what its program calls it."""

    text: str
    literals: Sequence[tuple[ast.Constant, str]]
    names: frozenset[str]


def shape_of(code: str) -> Shape:
    """The shape of a program in Python. Raises: InvalidProgram if it cannot be parsed."""
    tree = parse_program(code)
    literals: list[tuple[ast.Constant, str]] = []
    statements = tree.body[ast.get_docstring(tree) is not None :]
    text = "\n".join(_parameter(each) or "".join(_written(each, literals, "")) for each in statements)
    return Shape(text, literals, frozenset(_names(tree)))


def _names(tree: ast.Module) -> Iterator[str]:
    """The names that a program gives a meaning, or uses."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) | ast.arg(arg=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield name
            case ast.alias(name=name, asname=other):
                yield other or name.partition(".")[0]


def _parameter(statement: ast.stmt) -> str:
    """A statement that gives a parameter its default as text, whatever that is; "" for any other."""
    match statement:
        case (
            ast.Assign(targets=[ast.Name(id=name)], value=value)
            | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
        ):
            with suppress(ValueError, TypeError):
                return f"{name} = <{type(ast.literal_eval(value)).__name__}>"
    return ""


def _written(node: ast.AST, literals: list[tuple[ast.Constant, str]], called: str) -> Iterator[str]:
    """A node as text. A literal is written as its type, and noted with what the nodes around it call it."""
    match node:
        case ast.Constant(value=str() | int() | float()):
            literals.append((node, called if called.isidentifier() else _BY_TYPE[type(node.value)]))
            yield f"<{type(node.value).__name__}>"
        case ast.JoinedStr() | ast.Match():  # where it stands is unknown to Python 3.11, or no name may stand there
            yield ast.dump(node)
        case _:
            yield type(node).__name__
            inner = called if isinstance(node, ast.List | ast.Tuple | ast.Set | ast.BinOp) else ""
            for field, value in ast.iter_fields(node):
                yield f"({field}="
                for place, each in enumerate(value if isinstance(value, list) else [value]):
                    if isinstance(each, ast.AST):
                        yield from _written(each, literals, _called(node, field, place) or inner)
                    else:
                        yield repr(each)
                    yield ","
                yield ")"


def _called(node: ast.AST, field: str, place: int) -> str:
    """What a node calls what it holds: an argument, a variable or a key."""
    match node:
        case ast.keyword(arg=str(name)):
            return name
        case ast.Assign(targets=[ast.Name(id=name)]) if field == "value":
            return name
        case ast.Dict(keys=keys) if field == "values":
            return _text(keys[place])
        case ast.Compare(left=ast.Subscript(slice=key)) if field == "comparators":
            return _text(key)
    return ""


def _text(node: ast.AST | None) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def with_parameters(codes: Sequence[str]) -> str:
    """One program of several that are alike: the first, with a parameter for each literal that is not the same in all.
    Literals that change together are one parameter. Raises: InvalidProgram if one cannot be parsed."""
    shapes = [shape_of(code) for code in codes]
    taken = {*shapes[0].names, *dir(builtins), *keyword.kwlist, "result"}
    names: dict[tuple[str, ...], str] = {}
    lines = codes[0].encode().split(b"\n")
    changes = []
    for place, (node, called) in enumerate(shapes[0].literals):
        values = tuple(repr(shape.literals[place][0].value) for shape in shapes)
        if len({*values}) > 1:
            if values not in names:
                names[values] = next(name for name in (called, *(f"{called}_{n}" for n in range(2, 10**6)))
                                     if name not in taken)  # fmt: skip
                taken.add(names[values])
            changes.append((node, names[values]))
    for node, name in reversed(changes):  # the last one first: the places of others stay
        _replace(lines, node, name)
    at = _beginning(codes[0])
    given = [f"{name} = {values[0]}".encode() for values, name in names.items()]
    return b"\n".join([*lines[:at], *given, *lines[at:]]).decode()


def _replace(lines: list[bytes], node: ast.Constant, name: str) -> None:
    """Put a name in the place of a literal, apart from the words beside it."""
    first, last = node.lineno - 1, (node.end_lineno or node.lineno) - 1
    before, after = lines[first][: node.col_offset], lines[last][node.end_col_offset :]
    apart = [b" " * bool(re.match(rb"\w", each)) for each in (before[-1:], after[:1])]
    lines[first : last + 1] = [before + apart[0] + name.encode() + apart[1] + after]


def _beginning(code: str) -> int:
    """The line before which parameters stand: behind the docstring and what is imported at first."""
    at = 0
    for statement in parse_program(code).body:
        is_text = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        if not isinstance(statement, ast.Import | ast.ImportFrom) and not is_text:
            return at if at < statement.lineno else statement.lineno - 1
        at = statement.end_lineno or at
    return at
