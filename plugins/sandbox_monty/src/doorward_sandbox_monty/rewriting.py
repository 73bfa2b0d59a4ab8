"""Rewrites a program so that Monty can run it after `api_errors.PRELUDE`.

The text is edited at places that its syntax tree gives, and only within lines, so that line
numbers in errors stay right.
"""

from __future__ import annotations

import ast
import builtins
import re
import sys
from collections import Counter
from collections.abc import Callable, Container, Iterator, Sequence

from doorward_sandbox_monty import command_words
from doorward_sandbox_monty.api_errors import (
    CLASS,
    CLASSES,
    DOC,
    FIELDS,
    GATHERED,
    GET,
    HAS,
    KIND,
    MADE,
    NAME,
    OF_REPLIES,
    OURS,
    SHOWN,
)

_MENTIONED = re.compile(
    r"ApiError|ToolError|\.\s*(?:status|body|retry_after)\b|\b(?:get|has)attr\b|__doc__|\bimport[\s\\]*\(?[\s\\]*\*|\b(?:server|next)\b"
    r"|\btype[\s\\]*\(|\breturn_exceptions\b|\breply\b|\basync[\s\\]+for\b|__class__|__name__|\brepr\b|\b(?:exit|quit)\b"
    r"|(?:Error|Exception|Exit|Interrupt|Iteration|Warning)[\s\\]*\("
)
_REPLY = re.compile(r"\breply\b")
_ASYNC = re.compile(rb"async[\s\\]+(?=for\b)")
_ASYNC_BEFORE = re.compile(rb"(async[\s\\]+)for[\s\\(]*\Z")
_READ = re.compile(rb"([\s)\\]*)\.([\s\\]*)(\w+)")
_OPENS = re.compile(rb"[\s\\]*\(")
_EXCEPTIONS = frozenset(
    name for name, kind in vars(builtins).items() if isinstance(kind, type) and issubclass(kind, BaseException)
)
_OF_ALL = (DOC, CLASS, NAME)
"""Attributes that are read of anything."""

_OF_DOORWARD = (*CLASSES, "server")
"""Names in `doorward` that stand for names in `PRELUDE`."""

_FIELD = f"{OURS}field_"
"""The prefix of names that hold the names of fields: an f-string before Python 3.12 has no room for a text."""

Edit = tuple[int, int, bytes]
Members = Callable[[str], Sequence[str]]


def rewritten(code: str, members: Members, *, attributes: bool = False) -> str:
    """The program in a form that Monty can run; the same text if nothing has to change. `members` returns the names
    that the program mentions of one of our modules. `attributes`: it may read fields of answers as attributes, as
    programs of other systems do."""
    if not attributes and not _MENTIONED.search(code) and not command_words.MENTIONED.search(code):
        return code
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return code  # Monty reports the syntax error
    text = code.encode()
    places = Places(text)
    fields = (*FIELDS, *OF_REPLIES) if _REPLY.search(code) else FIELDS
    read = _fields_of_answers(tree) if attributes else set()
    edits = [*_edits(tree, places, members, fields, read)]
    if command_words.MENTIONED.search(code):
        for node, text_ in command_words.replacements(tree, code):
            start, end = places.of(node)
            edits.append((start, end, text_.encode() + _lines(text[start:end])))
    for start, end, new in sorted(edits, reverse=True):
        text = text[:start] + new + text[end:]
    return text.decode()


def fields_read(code: str) -> str:
    """Code that names the fields of answers which a rewritten program reads."""
    return "\n".join(f'{_FIELD}{name} = "{name}"' for name in sorted(set(re.findall(rf"\b{_FIELD}(\w+)", code))))


def needed(code: str) -> bool:
    """Whether a rewritten program uses `PRELUDE`."""
    return OURS in code


class Places:
    """The positions of nodes in the text, in bytes."""

    def __init__(self, text: bytes) -> None:
        self.text = text
        self._starts = [0]
        for line in text.split(b"\n"):
            self._starts.append(self._starts[-1] + len(line) + 1)

    def of(self, node: ast.expr | ast.stmt | ast.alias | ast.keyword) -> tuple[int, int]:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self._starts[node.lineno - 1] + node.col_offset, self._starts[node.end_lineno - 1] + node.end_col_offset


def _edits(tree: ast.Module, places: Places, members: Members, fields: Sequence[str], read: set[int]) -> Iterator[Edit]:
    imported = [alias for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    modules = {"doorward", *(alias.asname for alias in imported if alias.name == "doorward" and alias.asname)}
    others = {alias.asname or alias.name for alias in imported}
    own = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    own |= {node.name for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    catches = b"except" in places.text or b"return_exceptions" in places.text
    todo: list[ast.AST] = [tree]
    while todo:
        node = todo.pop()
        match node:
            case ast.JoinedStr() if sys.version_info < (3, 12):
                yield from _in_text(node, modules, others, places, fields, read)
                continue
            case ast.ImportFrom(module=str(module), level=0, names=[ast.alias(name="*") as star]) if names := members(
                module
            ):
                yield *places.of(star), ", ".join(names).encode()
            case ast.ImportFrom(module="doorward", level=0, names=names):
                end = places.of(node)[1]
                for alias in names:
                    if alias.name in _OF_DOORWARD:  # a separate name, for a name may not change its type
                        yield *places.of(alias), f"{alias.name} as {OURS}{alias.name}_".encode()
                        yield end, end, f"; {alias.asname or alias.name} = {OURS}{alias.name}".encode()
            case ast.Attribute(value=ast.Name(id=name), attr=attr) if name in modules and attr in _OF_DOORWARD:
                start, end = places.of(node)
                lines = "\n" * places.text[start:end].count(b"\n")
                yield start, end, (f"({OURS}{attr}{lines})" if lines else f"{OURS}{attr}").encode()
            case ast.Attribute(value=ast.Name(id=name), attr=attr) if name in others and attr != DOC:
                pass  # a function of that name
            case ast.Attribute(attr=attr, ctx=ast.Load()) if attr in (*fields, *_OF_ALL):
                yield from _read(node, places)
            case ast.Attribute() if id(node) in read:
                yield from _read(node, places, _FIELD)
            case ast.Expr(value=ast.Call(func=function, args=args) as call) if ends(call, own):
                start, end = places.of(function)
                found = _OPENS.match(places.text, end)
                if args and found:
                    yield start, found.end(), f"raise {MADE}(SystemExit, ".encode() + _lines(found[0])
                else:
                    yield start, end, b"raise SystemExit"
            case ast.Call(func=ast.Name(id="repr") as function) if "repr" not in own:
                yield *places.of(function), SHOWN.encode()
            case ast.Call(func=ast.Name(id="type") as function, args=[_]) if catches and "type" not in own:
                yield *places.of(function), KIND.encode()
            case ast.Call(
                func=(ast.Attribute(value=ast.Name(id="asyncio"), attr="gather") | ast.Name(id="gather")) as function,
                keywords=[ast.keyword(arg="return_exceptions", value=ast.Constant(value=bool(keeps))) as keyword],
            ):
                yield *places.of(keyword), b"*[]"
                if keeps:
                    start, end = places.of(function)
                    yield start, end, GATHERED.encode() + _lines(places.text[start:end])
            case ast.Call(func=ast.Name(id=name) as function, args=args, keywords=[]) if (
                name in _EXCEPTIONS - own and args and not (len(args) == 1 and _is_text(args[0]))
            ):
                start, end = places.of(function)
                if found := _OPENS.match(places.text, end):
                    yield start, found.end(), f"{MADE}({name}, ".encode() + _lines(found[0])
            case ast.Call(func=ast.Name(id="next"), args=[ast.GeneratorExp() as inner, *_]):
                yield from _iterated(inner, places, within=places.of(node)[1])
            case ast.Assign(value=ast.GeneratorExp() as inner):
                yield from _iterated(inner, places)
            case ast.Call(func=ast.Name(id="getattr") as function, args=[_, ast.Constant(value=name), *_]) if name in (
                *fields,
                DOC,
            ):
                yield *places.of(function), GET.encode()
            case ast.Call(func=ast.Name(id="hasattr") as function, args=[_, ast.Constant(value=name)]) if (
                name in fields
            ):
                yield *places.of(function), HAS.encode()
            case ast.AsyncFor() if found := _ASYNC.match(places.text, start := places.of(node)[0]):
                yield start, found.end(), _lines(found[0])
            case ast.comprehension(is_async=1, target=target):
                yield from _plain_loop(places.text, places.of(target)[0])
        todo += ast.iter_child_nodes(node)


def _fields_of_answers(tree: ast.Module) -> set[int]:
    """The ids of nodes that may read a field of an answer: attributes that are not called, and not of what is
    imported."""
    nodes = [*ast.walk(tree)]
    imports = (alias for node in nodes if isinstance(node, (ast.Import, ast.ImportFrom)) for alias in node.names)
    imported = {alias.asname or alias.name.partition(".")[0] for alias in imports}
    called = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
    return {
        id(node)
        for node in nodes
        if isinstance(node, ast.Attribute)
        and isinstance(node.ctx, ast.Load)
        and id(node) not in called
        and not (isinstance(root := _root(node), ast.Name) and (root.id in imported or root.id.startswith("mcp_")))
    }


def _root(node: ast.expr) -> ast.expr:
    """What the first of a row of attributes is read of."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return node


def ends(node: ast.expr, own: Container[str] = ()) -> bool:
    """Whether an expression ends the program, whose own names are these."""
    match node:
        case ast.Call(func=ast.Name(id="exit" | "quit" as name)):
            return name not in own
        case ast.Call(func=ast.Attribute(value=ast.Name(id="sys"), attr="exit")):
            return True
    return False


def _lines(text: bytes) -> bytes:
    """The ends of lines in a text that another takes the place of: lines stay where they are."""
    return b"\n" * text.count(b"\n")


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _iterated(node: ast.GeneratorExp, places: Places, within: int = -1) -> Iterator[Edit]:
    """Make a generator expression, which is a list in Monty, an iterator for `next`. If it is a call's only argument,
    the call's brackets are its own."""
    start, end = places.of(node)
    yield start, start, b"(iter" if end == within else b"iter"
    if end == within:
        yield end, end, b")"


def _read(node: ast.Attribute, places: Places, prefix: str = OURS) -> Iterator[Edit]:
    """Turn `X.status` into a call with X and the name, on the same lines."""
    (start, end), behind = places.of(node), places.of(node.value)[1]
    if match := _READ.fullmatch(places.text[behind:end]):
        yield start, start, f"{GET}(".encode()
        yield behind, end, match[1] + f", {prefix}{node.attr}".encode() + match[2] + b")"


def _plain_loop(text: bytes, target: int) -> Iterator[Edit]:
    """Turn `async for` in a comprehension into `for`: what it iterates over is a list already."""
    if found := _ASYNC_BEFORE.search(text, max(0, target - 200), target):
        yield found.start(1), found.end(1), _lines(found[1])


def _in_text(
    node: ast.JoinedStr, modules: set[str], others: set[str], places: Places, fields: Sequence[str], read: set[int]
) -> Iterator[Edit]:
    """Attributes read within an f-string: Python before 3.12 does not know the positions of such nodes. They are found
    by their text, unless the literal part of the string contains it too."""
    start, end = places.of(node)
    wanted: Counter[tuple[str, str]] = Counter()
    todo: list[ast.AST] = [node]
    while todo:
        match todo.pop():
            case ast.Attribute(
                value=ast.Call(func=ast.Name(id="type"), args=[ast.Name(id=name)])
                | ast.Attribute(attr="__class__", value=ast.Name(id=name)) as kind,
                attr="__name__",
            ):
                written = rf"type\(\s*{name}\s*\)" if isinstance(kind, ast.Call) else rf"{name}\.{CLASS}"
                wanted[rf"{written}\.{NAME}", f"{GET}(type({name}), {OURS}{NAME})"] += 1
            case ast.Call(func=ast.Name(id="type"), args=[ast.Name(id=name)]):
                wanted[rf"type\(\s*{name}\s*\)(?!\.{NAME})", f"{KIND}({name})"] += 1
            case ast.Attribute(attr=attr) as field if (
                id(field) in read and attr not in (*fields, *_OF_ALL) and isinstance(_root(field), ast.Name)
            ):
                names, new = ast.unparse(field), ""
                for name in names.split("."):
                    new = f"{GET}({new}, {_FIELD}{name})" if new else name
                wanted[re.escape(names), new] += 1
            case ast.Attribute(value=ast.Name(id=name), attr=attr, ctx=ast.Load()):
                if attr in (*fields, *_OF_ALL) and (name not in others or attr == DOC):
                    # Python before 3.12 allows no quotes there.
                    wanted[rf"{name}\.{attr}(?!\.{NAME})", f"{GET}({name}, {OURS}{attr})"] += 1
                elif attr in _OF_DOORWARD and name in modules:
                    wanted[rf"{name}\.{attr}", f"{OURS}{attr}"] += 1
            case other:
                todo += ast.iter_child_nodes(other)
    for (written, new), count in wanted.items():
        found = list(re.finditer(rf"(?<![\w.]){written}(?!\w|\s*=[^=])".encode(), places.text[start:end]))
        if len(found) == count:
            yield from ((start + m.start(), start + m.end(), new.encode()) for m in found)
