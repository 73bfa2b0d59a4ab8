"""The text of a TypeScript or JavaScript program, read by tree-sitter: what it imports, and whether it sets `result`.

It is parsed and edited here, never run.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node, Parser, Tree

_MAX_SECONDS = 0.5
"""A text that takes longer is not read: the engine will say what is wrong with it."""

_IMPORT = "__doorward__.import"
"""What takes the place of `import` in `import("module")`."""

_NAME = re.compile(r"[^\W\d][\w$]*|[$][\w$]*")


@dataclass(frozen=True, slots=True)
class Import:
    """One import of a program: the text that names the module, its line, and what is taken of it, each with the name
    that the program gives it. `None` is the module itself."""

    module: str
    line: int
    names: tuple[tuple[str | None, str], ...] = ()


@dataclass(frozen=True, slots=True)
class ProgramText:
    """A program as its sandbox gets it: `code` imports and exports nothing any more. Its lines are those of the
    program."""

    code: str
    imports: tuple[Import, ...] = ()
    sets_result: bool = False


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


def read(code: str) -> ProgramText:
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
        edits += [(node.children[0], _IMPORT) for node in calls if node.children[0].type == "import"]
    is_named = any(word in text for word in (b"result", b"default"))
    sets = is_named and any(_sets_result(node) for node in _all(tree.root_node))
    return ProgramText(_edited(text, edits), tuple(imports), sets)


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
    if source is None or node.has_error or (module := _quoted(source)) is None:
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
                    specified = [each for each in child.named_children if each.type == "import_specifier"]
                    names += [_specified(each) for each in specified if not _is_of_types(each)]
    if not all(_NAME.fullmatch(local) for _, local in names):
        return None
    return Import(module, node.start_point.row + 1, tuple(names))


def _is_of_types(node: Node) -> bool:
    return any(child.type in ("type", "typeof") for child in node.children)


def _specified(node: Node) -> tuple[str, str]:
    name, alias = node.child_by_field_name("name"), node.child_by_field_name("alias")
    taken = _quoted(name) if name is not None and name.type == "string" else _text(name)
    return taken or "", _text(alias if alias is not None else name)


def _quoted(node: Node) -> str | None:
    """The text of a string, if it is written without escapes."""
    return None if any(part.type == "escape_sequence" for part in node.named_children) else _text(node)[1:-1]


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
