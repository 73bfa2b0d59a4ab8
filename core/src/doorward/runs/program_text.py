"""What the host reads in a program's source, without ever running it: parameters, awaited calls.

Source text is data here. A parameter's new value never becomes text; see `bind`.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from doorward.data.near_names import nearest
from doorward.model.errors import GuardRefused, InvalidProgram
from doorward.runs.accumulators import changed

PARAMETER_PREFIX = "__param_"
"""What an overridden literal reads as in `bind`'s text; executors bind the value to this name."""


_CHAIN = re.compile(r"(?:\.\s*\w+\s*){500}")
"""CPython's parser takes time quadratic in the length of a dotted name."""


def parse(code: str) -> ast.Module:
    """The syntax tree.

    Raises: InvalidProgram with line and source if it is no Python, or nested too deeply to be read.
    """
    if _CHAIN.search(code):
        raise InvalidProgram("the program has a dotted name of more than 500 parts")
    try:
        return ast.parse(code)
    except SyntaxError as error:
        source = (error.text or "").strip()
        message = f"{error.msg}: {source}" if source else error.msg
        raise InvalidProgram(message, line=error.lineno, type=type(error).__name__) from None
    except (RecursionError, MemoryError, ValueError) as error:
        raise InvalidProgram(f"the program cannot be parsed: {error or 'it is nested too deeply'}") from None


def parameters(code: str) -> dict[str, Any]:
    """The parameters of a program with their defaults: top-level assignments of JSON literals, plain or annotated, to a
    name that no other top-level literal is assigned to. What begins empty and is changed is none: the program gathers
    it.

    Raises: InvalidProgram.
    """
    tree = parse(code)
    gathered = changed(tree)
    return {name: value for name, (_, value) in _literals(tree).items() if value or name not in gathered}


def received(code: str, most: int) -> str:
    """A program as it came, with lines and places counted alike everywhere. Raises: GuardRefused if it has more than
    `most` bytes."""
    if (size := len(code.encode(errors="surrogatepass"))) > most:
        raise GuardRefused(
            f"the program has {size} bytes, more than {most}", hint="Send less code; pass data as params."
        )
    return code.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def parameters_if_readable(code: str) -> dict[str, Any]:
    """The parameters; none of what cannot be read: guards or the executor say what is wrong with it, and where."""
    try:
        return parameters(code)
    except InvalidProgram:
        return {}


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
                continue  # a tuple or a key that is no text would come back as something else
        except (ValueError, TypeError, RecursionError, MemoryError, SyntaxError):
            continue
        again |= {name} & found.keys()
        found[name] = (node, value)
    return {name: literal for name, literal in found.items() if name not in again and name != "result"}


def check(given: Mapping[str, Any], known: Mapping[str, Any]) -> None:
    """Whether new values fit a program's parameters, by name and by the JSON type of their defaults.

    Raises: InvalidProgram naming the parameter, near names, and what is expected.
    """
    for name, value in given.items():
        if name not in known:
            near = nearest(name, known, 1)
            listing = ", ".join(f"{k}: {json_type(v)}" for k, v in known.items()) or "none"
            raise InvalidProgram(
                f"the program has no parameter {name!r}" + (f"; did you mean {near[0]!r}?" if near else ""),
                hint=f"Its parameters: {listing}.",
            )
        expected, got = json_type(known[name]), json_type(value)
        if expected not in ("null", got) and not (expected == "number" and got == "integer"):
            raise InvalidProgram(
                f"parameter {name!r} is of type {expected}, got {got}",
                hint=f"Its default is {json.dumps(known[name])[:100]}.",
            )


def check_names(params: Mapping[str, Any]) -> None:
    """Raises: InvalidProgram for a parameter that cannot be a variable."""
    for name in params:
        if not (name.isidentifier() and name.isascii()) or name.startswith("__"):
            raise InvalidProgram(f"{name!r} cannot be a parameter", hint="Use a Python variable name.")


def json_type(value: Any) -> str:
    """The JSON Schema name of a value's type."""
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case str():
            return "string"
        case list() | tuple():
            return "array"
        case _:
            return "object"


def bind(code: str, params: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """For executors that take only text: the program with each overridden literal replaced by a reserved name, and
    the values to bind before it starts. Lines stay where they are. Parameters that the program does not assign are
    bound under their own names.
    """
    literals = _literals(parse(code)) if params else {}
    text, names = code.encode(), {}
    starts = _line_starts(text)
    spans = []
    for name, value in params.items():
        if name in literals:
            node = literals[name][0]
            start, end = starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset  # type: ignore[operator]
            spans.append((start, end, name))
        names[PARAMETER_PREFIX + name if name in literals else name] = value
    for start, end, name in sorted(spans, reverse=True):
        lines = text[start:end].count(b"\n")
        text = text[:start] + f"({PARAMETER_PREFIX}{name}{chr(10) * lines})".encode() + text[end:]
    return text.decode(), names


def awaited(code: str) -> set[tuple[int, int]]:
    """Where the calls stand whose value is awaited or handed to asyncio, as (start, end) in bytes of UTF-8.

    A catalog function is called plainly or with `await`; an executor that cannot hand out a value that is both
    asks here which one a call is. Followed are `await f()`, the arguments of `asyncio.…(…)`, names and lists that
    reach those, and plain functions that return such a call.
    """
    if "await" not in code and "asyncio" not in code:
        return set()
    tree, text = parse(code), code.encode()
    starts = _line_starts(text)
    found: dict[int, ast.Call] = {}
    wanted: list[ast.expr] = []
    flows: dict[str, list[ast.expr]] = {}
    for node in ast.walk(tree):
        wanted += _awaiting(node)
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


def _awaiting(node: ast.AST) -> list[ast.expr]:
    """The expressions that this node wants to be awaitable."""
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
    """What flows into a name: assigned, appended or looped; into `f()`: what a plain function returns (an async one
    awaits for itself)."""
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
    """The nodes of a function, without those of the functions in it."""
    todo: list[ast.AST] = list(function.body)
    while todo:
        node = todo.pop()
        yield node
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            todo += ast.iter_child_nodes(node)


def _line_starts(text: bytes) -> list[int]:
    starts, at = [0], 0
    for line in text.split(b"\n"):
        at += len(line) + 1
        starts.append(at)
    return starts


def sets_result(code: str) -> bool:
    """Whether the program may set the global `result`, in whatever statement; false for what does not parse."""
    try:
        nodes: list[ast.AST] = [ast.parse(code)]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False  # an executor may know more of Python than we do
    while nodes:
        match nodes.pop():
            case (
                ast.Name(id="result", ctx=ast.Store())
                | ast.alias(name="result", asname=None)
                | ast.alias(asname="result")
            ):
                return True
            case ast.FunctionDef(name="result") | ast.AsyncFunctionDef(name="result"):
                return True
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() as inner:
                if any(isinstance(node, ast.Global) and "result" in node.names for node in ast.walk(inner)):
                    return True
            case ast.ExceptHandler(body=body):
                nodes += body  # its name is gone at its end
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp() | ast.Lambda():
                pass
            case node:
                nodes += ast.iter_child_nodes(node)
    return False
