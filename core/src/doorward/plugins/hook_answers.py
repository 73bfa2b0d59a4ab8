"""Holds the answers of hooks against the types that `hookspecs` declares for them."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Generator, Iterable, Mapping, Sequence
from functools import cache
from types import NoneType, UnionType
from typing import Any, Protocol, TypeVar, Union, get_args, get_origin, get_type_hints

from doorward.model.programs import Finding
from doorward.plugins.checks import instance_faults
from doorward.plugins.hookspecs import OBSERVERS, SPECS

T = TypeVar("T")

DECLARED = {name: hook for spec in SPECS for name, hook in vars(spec).items() if inspect.isfunction(hook)}
"""The declaration of each hook, by name."""


class Unfit(Exception):
    """A plugin answered something that nobody can use. Its text says of which type that is, and never what."""


def fitting(hook: str, answer: Any) -> Any:
    """The answer of one implementation: read to its end, if there may be several things in it. Raises: Unfit."""
    if answer is None:
        return None
    declared = _declared(hook)
    if hook in OBSERVERS:  # what one answers is not used, but what it has not awaited has not happened
        fits = not isinstance(answer, (Awaitable, Generator))
    else:
        if answers_many(hook) and isinstance(answer, Iterable) and not isinstance(answer, (str, bytes, Mapping)):
            answer = [*answer]
        fits = _fits(answer, declared)
    if fits:
        return answer
    raise unfit(answer, str(DECLARED[hook].__annotations__["return"]))


@cache
def answers_many(hook: str) -> bool:
    """Whether the answer of a hook is a sequence."""
    return any(get_origin(part) is Sequence for part in get_args(_declared(hook)))


def expected(kind: type[T], answer: Any) -> T:
    """An answer that has to be of this type. Raises: Unfit."""
    if not isinstance(answer, kind):
        raise unfit(answer, kind.__name__)
    return answer


def conforming(protocol: Any, answer: T) -> T:
    """An answer that has to be what a protocol says. Raises: Unfit."""
    made: Any = type(answer)
    if faults := instance_faults(protocol, made):
        raise Unfit(f"it answered {_type(answer)}, which {'; '.join(faults)}")
    return answer


def unfit(answer: Any, wanted: str) -> Unfit:
    """The error for an answer of another type than is wanted."""
    if inspect.iscoroutine(answer):
        answer.close()  # or Python complains that nobody has awaited it
    return Unfit(f"it answered {_type(answer)}, not {wanted}")


@cache
def _declared(hook: str) -> Any:
    return get_type_hints(DECLARED[hook])["return"]


def _fits(value: Any, declared: Any) -> bool:
    origin, parts = get_origin(declared), get_args(declared)
    is_protocol = type(declared) is type(Protocol)
    if declared is Any:
        return True
    if origin in (Union, UnionType):
        return any(_fits(value, part) for part in parts)
    if origin is tuple:
        return isinstance(value, tuple) and len(value) == len(parts) and all(map(_fits, value, parts))
    if origin is Sequence:
        return isinstance(value, list) and all(_fits(each, parts[0]) for each in value)
    if declared is Finding:
        return isinstance(value, Finding) and all(
            _fits(getattr(value, name), part) for name, part in get_type_hints(Finding).items()
        )
    if is_protocol:
        made: Any = type(value)
        return not instance_faults(declared, made)
    return isinstance(value, declared or NoneType)


def _type(value: Any) -> str:
    """The type of a value, with those of its parts."""
    if not isinstance(value, (list, tuple)):
        return f"the class {value.__name__}" if isinstance(value, type) else type(value).__name__
    kinds = [_type(each) for each in value[:20]]
    return f"{type(value).__name__}[{', '.join(kinds if isinstance(value, tuple) else sorted({*kinds}))}]"
