"""Plans in Monty, whose interpreter has no value that could only be handed on.

So a plan runs as long as its text uses no answer of a call that is withheld: such a call is a statement of its own, one
of a gather that is, or its answer is given to a name that nothing reads. Any other withheld call ends the program.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from doorward.sandboxing import PLANNED_KEY, Planned

from doorward_sandbox_monty.rewriting import Places

_READS_NAMES = frozenset({"exec", "eval", "globals", "locals", "vars", "dir"})
"""With these a name may be read that the text does not show."""


class PlanStopped(Exception):
    """The program needs an answer that is known only once its plan is committed. `line` is where it asked for it."""

    def __init__(self, function: str, line: int | None) -> None:
        super().__init__(
            f"the program uses the answer of {function}, which the plan withholds: it is known only once that is "
            "committed. Monty can plan programs that use no answer of a call that writes"
        )
        self.line = line


@dataclass(frozen=True, slots=True)
class Unread:
    """The places of calls in a text whose answers nothing uses, as (start, end) in bytes; and that of the `last` one,
    whose answer is the value of the program. `file` is how Monty calls the text."""

    file: str = ""
    text: bytes = b""
    places: frozenset[tuple[int, int]] = frozenset()
    last: tuple[int, int] | None = None

    @classmethod
    def of(cls, code: str, file: str) -> Unread:
        try:
            tree = ast.parse(code)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return cls(file, code.encode())  # Monty reports the syntax error
        places = Places(code.encode())
        gathers = _gathers(tree)
        found = {places.of(call) for value in _dropped(tree) for call in _calls(value, gathers)}
        last = tree.body[-1] if tree.body else None
        ends = _call(last.value) if isinstance(last, ast.Expr) else None
        return cls(file, places.text, frozenset(found), places.of(ends) if ends else None)

    def has(self, place: Any) -> bool:
        return place.filename == self.file and (place.start, place.end) in self.places

    def is_last(self, place: Any) -> bool:
        return (place.start, place.end) == self.last

    def line(self, place: Any) -> int | None:
        return self.text.count(b"\n", 0, place.start) + 1 if place.filename == self.file else None


def holds_unknown(answer: Any) -> bool:
    """Whether an answer is not known yet, or a part of it."""
    match answer:
        case Planned():
            return True
        case dict():
            return any(map(holds_unknown, answer.values()))
        case list() | tuple():
            return any(map(holds_unknown, answer))
    return False


def sent(answer: Planned) -> dict[str, Any]:
    """An unknown answer as the value of the program."""
    return {PLANNED_KEY: [answer.call, *answer.path]}


def _dropped(tree: ast.Module) -> Iterator[ast.expr]:
    """The expressions whose values nothing reads."""
    nodes = [*ast.walk(tree)]
    read = {node.id for node in nodes if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Store)}
    read |= {node.target.id for node in nodes if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name)}
    shows_all = not read & _READS_NAMES and not any(isinstance(node, ast.ClassDef) for node in nodes)
    for node in nodes:
        match node:
            case ast.Expr(value=value):
                yield value
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if shows_all and name not in {*read, "result"}:
                yield value


def _calls(value: ast.expr, gathers: frozenset[str]) -> Iterator[ast.Call]:
    """The calls whose answers are unread if this value is."""
    match value:
        case ast.Await(value=inner) | ast.Starred(value=inner):
            yield from _calls(inner, gathers)
        case ast.ListComp(elt=inner) | ast.GeneratorExp(elt=inner):
            yield from _calls(inner, gathers)
        case ast.List(elts=parts) | ast.Tuple(elts=parts):
            for part in parts:
                yield from _calls(part, gathers)
        case ast.Call(func=function, args=parts) if ast.unparse(function) in gathers:
            for part in parts:
                yield from _calls(part, gathers)
        case ast.Call():
            yield value


def _call(value: ast.expr) -> ast.Call | None:
    value = value.value if isinstance(value, ast.Await) else value
    return value if isinstance(value, ast.Call) else None


def _gathers(tree: ast.Module) -> frozenset[str]:
    """How the program writes `asyncio.gather`, if these names mean nothing else anywhere."""
    found: set[str] = set()
    taken: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                for alias in names:
                    bound = alias.asname or alias.name
                    (found if alias.name == "asyncio" else taken).add(bound)
            case ast.ImportFrom(module=module, names=names):
                for alias in names:
                    ours = (module, alias.name) == ("asyncio", "gather")
                    (found if ours else taken).add(alias.asname or alias.name)
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()) | ast.arg(arg=name):
                taken.add(name)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                taken.add(name)
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                taken.add(name)
            case ast.Attribute(attr="gather", ctx=ast.Store()):
                return frozenset()
    return frozenset(name for each in found - taken for name in (each, f"{each}.gather"))
