"""`doorward.ApiError` in Monty, whose programs cannot define or receive exception classes, nor give exceptions attributes.

An API's error is raised as the one exception of Monty that nothing else raises (`csv.Error`); names of `ApiError` in the
program become that class, and what reads `status`, `body` or `retry_after` asks the host. The text is edited by the places
of its syntax tree, within lines: places in errors stay the agent's.
"""

from __future__ import annotations

import ast
import csv
import re
import sys
from collections import Counter, OrderedDict
from collections.abc import Iterator
from typing import Any

from doorward import ApiError

RAISED = "_csv.Error"
"""Monty's word for the class (`ExternalExceptionData`)."""

GET = "doorward__get"
HAS = "doorward__has"
_CLASS = "doorward__ApiError"
MODULE = "__doorward__"
ERROR = f"{MODULE}.error"
STUB = "from typing import Any\ndef error(message: str) -> dict[str, Any]: ...\n"

# Names that begin with an underscore would not be known to Monty's type checker in the next text.
PRELUDE = f"""
from typing import Any
from csv import Error as {_CLASS}
from {MODULE} import error as doorward__error
doorward__status, doorward__body, doorward__retry_after = "status", "body", "retry_after"
def {GET}(value: Any, name: str, *default: Any) -> Any:
    if isinstance(value, {_CLASS}):
        return doorward__error(str(value))[name]
    return getattr(value, name, *default)  # type: ignore
def {HAS}(value: Any, name: str) -> bool:
    return isinstance(value, {_CLASS}) or hasattr(value, name)  # type: ignore
"""

_FIELDS = ("status", "body", "retry_after")
_MENTIONED = re.compile(r"ApiError|\.\s*(?:status|body|retry_after)\b|\b(?:get|has)attr\b")
_READ = re.compile(rb"([\s)\\]*)\.([\s\\]*)(\w+)")
_MOST = 100

Edit = tuple[int, int, bytes]


class Errors:
    """The last errors of APIs in a run, by their message: what the program is told of one that it caught."""

    def __init__(self) -> None:
        self._raised: OrderedDict[str, dict[str, Any]] = OrderedDict()

    def keep(self, error: ApiError) -> str:
        """Keep what an error says. Returns: its message, with spaces behind it where another error has the same one."""
        fields, message = {name: getattr(error, name) for name in _FIELDS}, error.message
        while self._raised.get(message, fields) != fields:
            message += " "
        self._raised[message] = fields
        self._raised.move_to_end(message)
        if len(self._raised) > _MOST:
            self._raised.popitem(last=False)
        return message

    def told(self, message: Any) -> dict[str, Any]:
        return self._raised.get(str(message)) or dict.fromkeys(_FIELDS)


def rewritten(code: str) -> str:
    """The program as Monty can run it with `PRELUDE` before it; the same text if it needs nothing of that."""
    if not _MENTIONED.search(code):
        return code
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return code  # Monty says what is wrong with it
    text = code.encode()
    places = _Places(text)
    for start, end, new in sorted(_edits(tree, places), reverse=True):
        text = text[:start] + new + text[end:]
    return text.decode()


def needed(code: str) -> bool:
    """Whether a rewritten program uses `PRELUDE`."""
    return any(name in code for name in (GET, HAS, _CLASS))


def meant(inner: BaseException, code: str) -> bool:
    """Whether what a program raised is the error of an API: it is, unless the program reads CSV itself."""
    return isinstance(inner, csv.Error) and (needed(code) or "csv" not in code or "from csv import Error as" in code)


class _Places:
    """Where nodes stand in the text, in bytes."""

    def __init__(self, text: bytes) -> None:
        self.text = text
        self._starts = [0]
        for line in text.split(b"\n"):
            self._starts.append(self._starts[-1] + len(line) + 1)

    def of(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self._starts[node.lineno - 1] + node.col_offset, self._starts[node.end_lineno - 1] + node.end_col_offset


def _edits(tree: ast.Module, places: _Places) -> Iterator[Edit]:
    imported = [alias for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    modules = {"doorward", *(alias.asname for alias in imported if alias.name == "doorward" and alias.asname)}
    others = {alias.asname or alias.name for alias in imported}
    todo: list[ast.AST] = [tree]
    while todo:
        node = todo.pop()
        match node:
            case ast.JoinedStr() if sys.version_info < (3, 12):
                yield from _in_text(node, modules, others, places)
                continue
            case ast.ImportFrom(module="doorward", level=0, names=names):
                for alias in names:
                    if alias.name == "ApiError":
                        end = places.of(node)[1]
                        yield end, end, f"; from csv import Error as {alias.asname or alias.name}".encode()
            case ast.Attribute(value=ast.Name(id=name), attr="ApiError") if name in modules:
                start, end = places.of(node)
                lines = "\n" * places.text[start:end].count(b"\n")
                yield start, end, (f"({_CLASS}{lines})" if lines else _CLASS).encode()
            case ast.Attribute(value=ast.Name(id=name), attr=attr) if name in others:
                pass  # a function of that name
            case ast.Attribute(attr=attr, ctx=ast.Load()) if attr in _FIELDS:
                yield from _read(node, places)
            case ast.Call(func=ast.Name(id="getattr") as function, args=[_, ast.Constant(value=name), *_]) if name in _FIELDS:
                yield *places.of(function), GET.encode()
            case ast.Call(func=ast.Name(id="hasattr") as function, args=[_, ast.Constant(value=name)]) if name in _FIELDS:
                yield *places.of(function), HAS.encode()
        todo += ast.iter_child_nodes(node)


def _read(node: ast.Attribute, places: _Places) -> Iterator[Edit]:
    """`X.status` as a call with X and the name, on the same lines."""
    (start, end), behind = places.of(node), places.of(node.value)[1]
    if match := _READ.fullmatch(places.text[behind:end]):
        yield start, start, f"{GET}(".encode()
        yield behind, end, match[1] + f", doorward__{node.attr}".encode() + match[2] + b")"


def _in_text(node: ast.JoinedStr, modules: set[str], others: set[str], places: _Places) -> Iterator[Edit]:
    """Reads within an f-string, where Python before 3.12 does not know the places of nodes: found by their text, unless
    the words of the string hold that too."""
    start, end = places.of(node)
    wanted = Counter(
        f"{inner.value.id}.{inner.attr}"
        for inner in ast.walk(node)
        if isinstance(inner, ast.Attribute) and isinstance(inner.value, ast.Name) and isinstance(inner.ctx, ast.Load)
    )
    for read, count in wanted.items():
        name, _, attr = read.partition(".")
        if attr in _FIELDS and name not in others:
            new = f"{GET}({name}, doorward__{attr})"  # Python before 3.12 reads no quotes in there
        elif attr == "ApiError" and name in modules:
            new = _CLASS
        else:
            continue
        found = list(re.finditer(rf"(?<![\w.]){re.escape(name)}\.{attr}(?!\w|\s*=[^=])".encode(), places.text[start:end]))
        if len(found) == count:
            yield from ((start + m.start(), start + m.end(), new.encode()) for m in found)
