"""Faults of a card, for tests of sources: it names a type that it does not show, or tells something twice."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator

_TYPING = {"Any", "Literal", "Required", "TypedDict"}
_NAMED = re.compile(r"keys of (\w+):")


def faults(card: str) -> list[str]:
    """Sentences about the faults of a card; none for a good one. Raises: SyntaxError if it is not Python."""
    tree, lines = ast.parse(card), card.splitlines()
    asked = [name for line in lines if line.startswith("# In full: ") for name in re.findall(r"#(\w+)", line)]
    classes = [name for node in tree.body if (name := _class(node))]
    told = _NAMED.findall(card)
    named = {
        n.id for node in tree.body for part in _annotations(node) for n in ast.walk(part) if isinstance(n, ast.Name)
    } - _TYPING
    named = {name for name in named if name[:1].isupper()} | set(told)
    found = [f"{name} is named, but not shown" for name in sorted(named - {*classes, *asked})]
    found += [f"{name} is cut, but cannot be asked for" for name in _cut(lines) if name not in asked]
    again = [
        name
        for line in lines
        if line.endswith("as received")
        for name in classes
        if re.match(rf"(class )?{name}\b", line)
    ]
    once = Counter(classes) - Counter(again)
    return found + [
        f"{name} is told twice"
        for names in (asked, once.elements(), told)
        for name, times in Counter(names).items()
        if times > 1
    ]


def _class(node: ast.stmt) -> str:
    match node:
        case (
            ast.ClassDef(name=name)
            | ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=ast.Name(id="TypedDict")))
        ):
            return name
    return ""


def _annotations(node: ast.stmt) -> Iterator[ast.AST]:
    match node:
        case ast.FunctionDef(args=args, returns=returns):
            yield from (arg.annotation for arg in args.args if arg.annotation)
            yield from [returns] if returns else []
        case ast.ClassDef(body=body):
            yield from (field.annotation for field in body if isinstance(field, ast.AnnAssign))
        case ast.Assign(value=ast.Call(func=ast.Name(id="TypedDict"), args=[_, ast.Dict(values=values)])):
            yield from values


def _cut(lines: list[str]) -> Iterator[str]:
    """The names of classes whose fields are not all shown."""
    name = ""
    for line in lines:
        if match := re.match(r"class (\w+)\(|(\w+) = TypedDict\(", line):
            name = match[1] or match[2]
        elif re.match(r"    # … \d+ more field", line):
            yield name
