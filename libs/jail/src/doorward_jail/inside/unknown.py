"""Answers of calls that a plan withholds: a program may hand them and their parts on, and nothing else.

What is not known yet can decide nothing. Whatever would look at it (a branch, a calculation, a text) ends the program
with `PlanStopped`, which `except Exception` does not catch.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any, NoReturn

PLANNED_KEY = "\0planned"
"""The only key of an object that stands for an unknown answer in JSON: the number of its call, and the keys that lead
to the part."""

PLANNED_TEXT = ", known once the plan is committed>"
"""The end of the `repr` of an unknown value. The host knows it, and lets it into no call."""

KNOWN = "__doorward_known__"
"""A name that wraps, in a program's text, what is looked at in ways that no object notices."""


_METHODS = frozenset({"clear", "copy", "items", "keys", "pop", "popitem", "setdefault", "update", "values"})
"""What an attribute of an answer is a method of, even if there is a field of that name."""

Lacks = Callable[[list[Any]], str]
"""Why an answer has no such part; "" if it may have one."""


class PlanStopped(BaseException):
    """The program needs an answer that is known only once its plan is committed."""


class NoSuchField(PlanStopped):
    """The program reads a part that the answer will not have."""


class Unknown:
    """An answer, or a part of one, that is not known yet."""

    __slots__ = ("_lacks", "_place")

    def __init__(self, place: list[Any], lacks: Lacks) -> None:
        object.__setattr__(self, "_place", place)
        object.__setattr__(self, "_lacks", lacks)

    def __getitem__(self, key: Any) -> Unknown:
        if type(key) not in (str, int):
            _stop(self)
        return _part(self, [*_place(self), key])

    def __getattr__(self, name: str) -> Unknown:
        if name.startswith("__") or name in _METHODS:
            _stop(self)
        place = [*_place(self), name]
        return Unknown(place, _lacks(self)) if name == "get" else _part(self, place)

    def __call__(self, *args: Any, **kwargs: Any) -> Unknown:
        """`value.get("name")` is `value["name"]`; no other method is known."""
        *before, method = _place(self)
        if method != "get" or len(before) == 0 or not args or type(args[0]) is not str:
            _stop(self)
        return _part(self, [*before, args[0]])

    def __await__(self) -> Any:
        return self
        yield

    __class__ = property(lambda self: _stop(self))  # what `isinstance` looks at

    def __repr__(self) -> str:
        return f"<{_named(self)}{PLANNED_TEXT}"


def sent(value: Unknown) -> dict[str, Any]:
    """An unknown value as an argument of a call, or as a part of the program's value."""
    return {PLANNED_KEY: _place(value)}


def known(value: Any) -> Any:
    """The value, if it may be looked at."""
    if type(value) is Unknown:
        _stop(value)
    return value


class Looks(ast.NodeTransformer):
    """Has a program's text ask before it looks at a value in ways that no object notices: `is`, `type()`, `match`."""

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        if any(isinstance(how, (ast.Is, ast.IsNot)) for how in node.ops):
            node.left = _asked(node.left)
            node.comparators = [_asked(each) for each in node.comparators]
        return node

    def visit_Match(self, node: Any) -> ast.AST:
        self.generic_visit(node)
        node.subject = _asked(node.subject)
        return node  # type: ignore[no-any-return]

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id in ("type", "id", "callable") and len(node.args) == 1:
            node.args = [_asked(node.args[0])]
        return node


def _asked(value: ast.expr) -> ast.expr:
    if isinstance(value, ast.Constant):
        return value
    return ast.copy_location(ast.Call(ast.Name(KNOWN, ast.Load()), [value], []), value)


def _place(value: Unknown) -> list[Any]:
    return object.__getattribute__(value, "_place")  # type: ignore[no-any-return]


def _lacks(value: Unknown) -> Lacks:
    return object.__getattribute__(value, "_lacks")  # type: ignore[no-any-return]


def _part(of: Unknown, place: list[Any]) -> Unknown:
    """The part of an answer at a place. Raises: NoSuchField."""
    lacks = _lacks(of)
    if why := lacks(place):
        raise NoSuchField(f"the program reads {_named(Unknown(place, lacks))} of a call that the plan withholds: {why}")
    return Unknown(place, lacks)


def _named(value: Unknown) -> str:
    number, *path = _place(value)
    return f"answer {number}" + "".join(f"[{key!r}]" for key in path)


def _stop(value: Unknown) -> NoReturn:
    raise PlanStopped(
        f"the program looks at {_named(value)} of a call that the plan withholds: it is known only once that is "
        "committed. It may be handed on to other calls, or be a part of the result"
    )


def _stopping(name: str) -> Callable[..., Any]:
    def method(self: Unknown, *args: Any, **kwargs: Any) -> NoReturn:
        _stop(self)

    method.__name__ = name
    return method


_COMPARED = "lt le eq ne gt ge"
_COMPUTED = "add sub mul truediv floordiv mod divmod pow lshift rshift and xor or matmul"
_OTHERS = (
    "bool hash str format bytes len iter next reversed contains int float complex index round trunc floor ceil neg pos "
    "abs invert enter exit aiter anext aenter aexit setitem delitem setattr delattr dir sizeof reduce_ex reduce fspath"
)
for _word in f"{_COMPARED} {_COMPUTED} {_OTHERS}".split():
    setattr(Unknown, f"__{_word}__", _stopping(f"__{_word}__"))
for _word in _COMPUTED.split():
    setattr(Unknown, f"__r{_word}__", _stopping(f"__r{_word}__"))
    setattr(Unknown, f"__i{_word}__", _stopping(f"__i{_word}__"))
