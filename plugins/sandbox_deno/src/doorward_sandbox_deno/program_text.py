"""The text of a TypeScript or JavaScript program, read by tree-sitter: what it imports, its parameters, whether it sets
`result`. It is parsed and edited here, never run."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

from doorward_sandbox_deno.literals import NO_LITERAL, literal

if TYPE_CHECKING:
    from tree_sitter import Node, Parser, Tree

OURS = "__doorward__"
"""The one name that edited texts use of the runner."""

_MAX_SECONDS = 0.5
"""A text that takes longer is not read: the engine will say what is wrong with it."""

_NAME = re.compile(r"[^\W\d][\w$]*|[$][\w$]*")


@dataclass(frozen=True, slots=True)
class Import:
    """One import of a program: the text that names the module, its line, and what is taken of it, each with the name that
    the program gives it. `None` is the module itself."""

    module: str
    line: int
    names: tuple[tuple[str | None, str], ...] = ()


@dataclass(frozen=True, slots=True)
class ProgramText:
    """A program as its sandbox gets it. `code` has no import and export any more, and values of `params` in the place of
    literals; its lines are those of the program."""

    code: str
    imports: tuple[Import, ...] = ()
    sets_result: bool = False
    bound: frozenset[str] = frozenset()
    """The parameters that have taken the place of a literal."""


@cache
def _parser() -> Parser:
    import tree_sitter
    import tree_sitter_typescript

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_typescript.language_typescript()))


def _tree(text: bytes) -> Tree | None:
    """The syntax tree; `None` if it takes too long."""
    from tree_sitter import Parser

    end = time.monotonic() + _MAX_SECONDS
    parser = Parser(_parser().language)

    def read(at: int, _point: object) -> bytes:
        return text[at : at + 2**16]

    try:
        return parser.parse(read, encoding="utf8", progress_callback=lambda *_: time.monotonic() > end)
    except ValueError:
        return None


def parameters(code: str) -> dict[str, Any]:
    """The parameters of a program with their defaults: top-level declarations whose value is a JSON literal. A variable
    that begins empty and is changed later is no parameter: the program fills it."""
    tree = _tree(code.encode())
    if tree is None:
        return {}
    changed = _changed(tree.root_node)
    return {name: value for name, (_, value) in _literals(tree).items() if value or name not in changed}


def read(code: str, params: Mapping[str, Any]) -> ProgramText:
    """Read a program, and edit it for its sandbox."""
    text = code.encode(errors="replace")
    tree = _tree(text)
    if tree is None:
        return ProgramText(code)
    edits: list[tuple[Node, str]] = []
    imports: list[Import] = []
    for node in tree.root_node.children:
        if node.type == "import_statement" and (found := _import(node)) is not None:
            imports.append(found)
            edits.append((node, ""))
        elif node.type == "export_statement":
            edits += _exported(node)
    if text.count(b"import") > len(imports):
        calls = (node for node in _all(tree.root_node) if node.type == "call_expression" and node.child_count)
        edits += [(node.children[0], f"{OURS}.import") for node in calls if node.children[0].type == "import"]
    literals = _literals(tree) if params else {}
    bound = params.keys() & literals.keys()
    edits += [(literals[name][0], f"({OURS}.params.{name})") for name in bound]
    sets = b"result" in text and any(_sets_result(node) for node in _all(tree.root_node))
    return ProgramText(_edited(text, edits), tuple(imports), sets, frozenset(bound))


def _edited(text: bytes, edits: Iterable[tuple[Node, str]]) -> str:
    """The text with others in the place of these nodes; lines stay where they are."""
    for node, other in sorted(edits, key=lambda edit: edit[0].start_byte, reverse=True):
        lines = text[node.start_byte : node.end_byte].count(b"\n")
        text = text[: node.start_byte] + other.encode() + b"\n" * lines + text[node.end_byte :]
    return text.decode()


def _all(root: Node) -> Iterator[Node]:
    todo = [root]
    while todo:
        node = todo.pop()
        yield node
        todo += node.named_children


def _text(node: Node | None) -> str:
    return (node.text or b"").decode() if node is not None else ""


# Imports and exports


def _import(node: Node) -> Import | None:
    """An import; `None` for one that is no ES module's. One of types alone takes nothing."""
    source = node.child_by_field_name("source")
    if source is None or node.has_error or not isinstance(module := literal(source), str):
        return None
    clause = next((child for child in node.children if child.type == "import_clause"), None)
    names: list[tuple[str | None, str]] = []
    if clause is not None and not _is_of_types(node):
        for child in clause.named_children:
            match child.type:
                case "identifier":
                    names.append(("default", _text(child)))
                case "namespace_import":
                    names.append((None, _text(child.named_children[-1])))
                case "named_imports":
                    names += [_specified(each) for each in child.named_children if not _is_of_types(each)]
    if not all(_NAME.fullmatch(local) for _, local in names):
        return None
    return Import(module, node.start_point.row + 1, tuple(names))


def _is_of_types(node: Node) -> bool:
    return any(child.type in ("type", "typeof") for child in node.children)


def _specified(node: Node) -> tuple[str, str]:
    name, alias = node.child_by_field_name("name"), node.child_by_field_name("alias")
    taken = literal(name) if name is not None and name.type == "string" else _text(name)
    return str(taken), _text(alias if alias is not None else name)


def _exported(node: Node) -> list[tuple[Node, str]]:
    """The edits that leave what an export declares. A default value becomes `result`."""
    value = node.child_by_field_name("value")
    declaration = node.child_by_field_name("declaration")
    if value is None and declaration is None:
        return [(node, "")]  # a list of names, or what another module has
    words = [child for child in node.children if child.type in ("export", "default")]
    return [(word, "result =" if value is not None and word.type == "default" else "") for word in words]


# `result`


def _sets_result(node: Node) -> bool:
    match node.type:
        case "assignment_expression" | "augmented_assignment_expression":
            return _text(node.child_by_field_name("left")) in ("result", "globalThis.result")
        case "variable_declarator" | "function_declaration":
            name = node.child_by_field_name("name")
            return _is_at_top(node) and name is not None and re.search(r"\bresult\b", _text(name)) is not None
        case "export_statement":
            return node.child_by_field_name("value") is not None
    return False


def _is_at_top(node: Node) -> bool:
    while (node := node.parent) is not None and node.type in (  # type: ignore[assignment]
        "lexical_declaration", "variable_declaration", "export_statement",
    ):  # fmt: skip
        pass
    return node is not None and node.type == "program"


# Parameters


def _literals(tree: Tree) -> dict[str, tuple[Node, Any]]:
    """The top-level variables that get one JSON literal: its node, and its value."""
    found: dict[str, tuple[Node, Any]] = {}
    again: set[str] = {"result"}
    for node in tree.root_node.children:
        declared = node.child_by_field_name("declaration") or node
        if declared.type in ("lexical_declaration", "variable_declaration"):
            pairs = [
                (each.child_by_field_name("name"), each.child_by_field_name("value"))
                for each in declared.named_children
                if each.type == "variable_declarator"
            ]
        elif node.type == "expression_statement" and node.named_children[0].type == "assignment_expression":
            assigned = node.named_children[0]
            pairs = [(assigned.child_by_field_name("left"), assigned.child_by_field_name("right"))]
        else:
            continue
        for name, value in pairs:
            if name is None or value is None or name.type != "identifier":
                continue
            if (meant := literal(value)) is not NO_LITERAL:
                again |= {_text(name)} & found.keys()
                found[_text(name)] = value, meant
    return {name: at for name, at in found.items() if name not in again and name.isascii()}


def _changed(root: Node) -> set[str]:
    """The names of variables that the program changes, or whose methods it calls."""
    fields = {
        "assignment_expression": "left", "augmented_assignment_expression": "left", "update_expression": "argument",
        "call_expression": "function",
    }  # fmt: skip
    found = set()
    for node in _all(root):
        target = node.child_by_field_name(fields[node.type]) if node.type in fields else None
        while target is not None and target.type in ("member_expression", "subscript_expression"):
            target = target.child_by_field_name("object")
        found.add(_text(target))
    return found
