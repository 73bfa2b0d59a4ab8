"""The texts that expressions of the code may be, found without running it.

A text holds the words that stand in the code, and `…` (a hole) for what is put in at run time.
"""

from __future__ import annotations

import ast
import functools
import itertools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ["core", *sorted(str(file.parent.relative_to(ROOT)) for file in ROOT.glob("[lp]*/*/pyproject.toml"))]
HOLE = "…"
FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)
_MOST_WAYS = 6
"""More ways to put a text together are not listed: its parts that vary become holes."""
_MOST_STEPS = 8
"""From a name to what was assigned to it, from a call to what it returns, and so on."""


class Module:
    """A module and what its names stand for."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.tree = ast.parse(file.read_text(encoding="utf-8"))
        self.nodes = [*ast.walk(self.tree)]
        self.parents = {child: node for node in self.nodes for child in ast.iter_child_nodes(node)}
        self.named: dict[str, Any] = {}
        """Functions (methods too), classes, and assigned values of the module."""
        self.imported: dict[str, tuple[str, str]] = {}
        for node in self.nodes:
            if isinstance(node, (*FUNCTION, ast.ClassDef)):
                self.named.setdefault(node.name, node)
            elif isinstance(node, ast.ImportFrom) and node.module:
                self.imported |= {each.asname or each.name: (node.module, each.name) for each in node.names}
        for node in self.tree.body:
            for target, value in assigned(node):
                self.named.setdefault(target, value)

    def texts(self, node: ast.AST | None, at: ast.AST, steps: int = 0) -> list[str]:
        """Each text that an expression may be where `at` is; none if it is no text of the code."""
        if node is None or steps > _MOST_STEPS:
            return []
        go = functools.partial(self.texts, at=at, steps=steps + 1)
        match node:
            case ast.Constant(value=str(text)):
                return [text]
            case ast.JoinedStr(values=parts):
                return _together([self._part(part, at, steps) for part in parts])
            case ast.IfExp(body=body, orelse=orelse):
                return _either(body, go(body), orelse, go(orelse))
            case ast.BoolOp(op=ast.Or(), values=[first, second]):
                return _either(first, go(first), second, go(second))
            case ast.BoolOp(op=ast.And(), values=[*_, last]):
                return go(last)
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return _together([go(left) or [HOLE], go(right) or [HOLE]])
            case ast.NamedExpr(value=value):
                return go(value)
            case ast.Name(id=name):
                return self._named(name, at, steps)
            case ast.Call(func=ast.Attribute(value=ast.Constant(value=str(joint)), attr="join"), args=[rows]):
                listed = rows.args[1] if isinstance(rows, ast.Call) and len(rows.args) == 2 else rows
                each = [go(one) or [HOLE] for one in listed.elts] if isinstance(listed, (ast.List, ast.Tuple)) else []
                return _together([part for one in each for part in (one, [joint])][:-1]) if each else []
            case ast.Call(func=ast.Attribute(value=value, attr="strip" | "rstrip" | "format")):
                return [re.sub(r"\{\w*\}", HOLE, text).replace("{{", "{").replace("}}", "}") for text in go(value)]
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(value=ast.Name(id="self"), attr=name)):
                return self._answered(name, at, steps)
        return []

    def _part(self, part: ast.expr, at: ast.AST, steps: int) -> list[str]:
        """A part of an f-string."""
        if isinstance(part, ast.Constant):
            return [str(part.value)]
        assert isinstance(part, ast.FormattedValue)
        known = self.texts(part.value, at, steps + 1)
        if known and HOLE not in known and part.conversion == -1:
            return known
        return [f"'{HOLE}'" if part.conversion == ord("r") else HOLE]

    def _answered(self, name: str, at: ast.AST, steps: int) -> list[str]:
        """What a function returns."""
        found = self.look_up(name)
        if not found or not isinstance(found[1], FUNCTION):
            return []
        module, function = found
        if module.function_of(at) is function:  # it calls itself
            return [HOLE]
        return [text for each in returned(function) for text in module.texts(each, each, steps + 1)]

    def _named(self, name: str, at: ast.AST, steps: int) -> list[str]:
        """What is assigned to a name before it is used, else in the module, else in the one from which it comes."""
        function = self.function_of(at)
        while function is not None:
            if found := self._before(name, at, function):
                return [text for value in found for text in self.texts(value, value, steps + 1)]
            if name in parameters(function):
                return []
            at, function = function, self.function_of(self.parents[function])
        if (there := self.look_up(name)) and isinstance(there[1], ast.expr):
            return there[0].texts(there[1], there[1], steps + 1)
        return []

    def _before(self, name: str, at: ast.AST, function: ast.AST) -> list[ast.expr]:
        """What a name may hold there: the assignments before it, back to one that is made in any case."""
        found: list[ast.expr] = []
        while at is not function:
            above = self.parents[at]
            for _, block in ast.iter_fields(above):
                if not isinstance(block, list) or at not in block:
                    continue
                for node in reversed(block[: block.index(at)]):
                    found += [value for each in ast.walk(node) for target, value in assigned(each) if target == name]
                    if found and (isinstance(node, (ast.Assign, ast.AnnAssign)) or getattr(node, "orelse", [])):
                        return found
            if isinstance(above, ast.If):
                found += [value for target, value in assigned(above.test) if target == name]
            at = above
        return found

    def function_of(self, node: ast.AST | None) -> Any:
        """The function in which a node stands."""
        while node is not None and not isinstance(node, FUNCTION):
            node = self.parents.get(node)
        return node

    def look_up(self, name: str) -> tuple[Module, Any] | None:
        """What a name of the module stands for, and the module where that is."""
        if name in self.named:
            return self, self.named[name]
        place, original = self.imported.get(name, ("", ""))
        there = _place(place)
        return there.look_up(original) if there is not None and there is not self else None


def _either(one: ast.expr, first: list[str], other: ast.expr, second: list[str]) -> list[str]:
    """The texts of two expressions, of which one is used; what is no text of the code is a hole beside one that is."""
    nothing = [HOLE] if first or second else []
    parts = ((one, first), (other, second))
    return [text for node, texts in parts for text in texts or (nothing if not isinstance(node, ast.Constant) else [])]


def _together(parts: list[list[str]]) -> list[str]:
    """All ways to put one text of each part together; parts with several become holes if these are too many."""
    ways = functools.reduce(lambda count, part: count * len(part), parts, 1)
    if ways > _MOST_WAYS:
        parts = [part if len(part) == 1 else [HOLE] for part in parts]
    return ["".join(way) for way in itertools.product(*parts)]


def assigned(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """The names to which a statement assigns, with what."""
    match node:
        case ast.Assign(targets=targets, value=value):
            yield from ((target.id, value) for target in targets if isinstance(target, ast.Name))
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
            yield name, value
        case (
            ast.AugAssign(target=ast.Name(id=name), value=value) | ast.NamedExpr(target=ast.Name(id=name), value=value)
        ):
            yield name, value


def returned(function: Any) -> Iterator[ast.expr]:
    """What a function returns, each time."""
    for node in ast.walk(function):
        if isinstance(node, ast.Return) and node.value is not None:
            yield node.value


def parameters(node: Any) -> list[str]:
    """The names of what is given to a function or to the constructor of a class, in their order."""
    if isinstance(node, ast.ClassDef):
        made = next((each for each in node.body if isinstance(each, FUNCTION) and each.name == "__init__"), None)
        if made is None:
            return [ast.unparse(each.target) for each in node.body if isinstance(each, ast.AnnAssign)]
        return parameters(made)[1:]
    if not isinstance(node, FUNCTION):
        return []
    return [each.arg for each in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]


@functools.cache
def module_of(file: Path) -> Module:
    return Module(file)


@functools.cache
def _place(dotted: str) -> Module | None:
    """The module of that name, if it is one of ours."""
    for folder in FOLDERS:
        path = ROOT / folder / "src" / dotted.replace(".", "/")
        for file in (path.with_suffix(".py"), path / "__init__.py"):
            if dotted.startswith("doorward") and file.is_file():
                return module_of(file)
    return None
