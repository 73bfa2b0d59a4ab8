"""Holds the answers of hooks against the types that `hookspecs` declares for them."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import is_dataclass, replace
from functools import cache
from types import FunctionType, NoneType, SimpleNamespace, UnionType
from typing import Any, Literal, Protocol, TypeVar, Union, get_args, get_origin, get_type_hints, is_typeddict

from doorward.config.installed_plugins import PluginId
from doorward.model.functions import Compiled
from doorward.model.programs import Finding
from doorward.plugins.checks import instance_faults, method_faults
from doorward.plugins.hookspecs import ADDITIONS, OBSERVERS, SPECS

T = TypeVar("T")

_REFUSE = ("guard_program", "guard_call", "guard_result")
"""Hooks whose answers are refusals, or objections."""

DECLARED: dict[str, FunctionType] = {}
"""The declaration of each hook, by name."""


def declare(specs: Any) -> dict[str, FunctionType]:
    """The hooks that a class declares, which are known from then on. It may say which of them are `observers`, and
    which are `additions`: see `hookspecs`."""
    found = {name: hook for name, hook in vars(specs).items() if inspect.isfunction(hook)}
    DECLARED.update(found)
    OBSERVERS.update(vars(specs).get("observers", ()))
    ADDITIONS.update(vars(specs).get("additions", ()))
    return found


class Answer(list[Any]):
    """The objects that one plugin answered."""

    def __init__(self, answer: Iterable[Any], plugin: PluginId) -> None:
        super().__init__(answer)
        self.plugin = plugin


class Refusal(str):
    """Why one plugin refuses something."""

    plugin: PluginId

    def __new__(cls, why: str, plugin: PluginId) -> Refusal:
        made = super().__new__(cls, why)
        made.plugin = plugin
        return made

    @property
    def signed(self) -> str:
        """The reason with the name of the plugin, which an error of the plugin has already."""
        return str(self) if str(self.plugin) in self else f"{self} ({self.plugin})"


class Unfit(Exception):
    """A plugin answered something that nobody can use. Its text says of which type that is, and never what."""


def fitting(hook: str, answer: Any) -> Any:
    """The answer of one implementation: read to its end, if there may be several things in it. Raises: Unfit."""
    if answer is None:
        return None
    declared = _declared(hook)
    if declared is NoneType and hook in OBSERVERS:  # it is not used, but what is not awaited has not happened
        fits = not isinstance(answer, (Awaitable, Generator))
    else:
        if answers_many(hook) and isinstance(answer, Iterable) and not isinstance(answer, (str, bytes, Mapping)):
            answer = [*answer]
        fits = _fits(answer, declared)
    if not fits:
        raise unfit(answer, str(DECLARED[hook].__annotations__["return"]))
    if hook in _REFUSE and any(_is_without_reason(each) for each in (answer if isinstance(answer, list) else [answer])):
        raise Unfit("it refuses without a reason")
    return answer


def sign_answer(hook: str, answer: Any, plugin: PluginId) -> Any:
    """An answer that refuses something, with the plugin that does."""
    if hook in ("guard_call", "guard_result"):
        return Refusal(answer, plugin)
    if hook in ("guard_program", "call_layers", "run_layers", "deciders", *ADDITIONS):
        return Answer(answer, plugin)
    if hook == "decide" and not answer.rule:
        return replace(answer, rule=str(plugin))
    return answer


def _is_without_reason(answer: Any) -> bool:
    said = answer.message if isinstance(answer, Finding) else answer
    return isinstance(said, str) and not said.strip()


@cache
def answers_many(hook: str) -> bool:
    """Whether the answer of a hook is a sequence."""
    return any(get_origin(part) is Sequence for part in get_args(_declared(hook)))


def expected(kind: type[T], answer: Any) -> T:
    """An answer that has to be of this type, and its parts of theirs. Raises: Unfit."""
    if not isinstance(answer, kind) or (kind is not Compiled and odd_part(answer)):  # see `function_checks` for that
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
    return Unfit(f"it answered {_type(answer)}{odd_part(answer)}, not {wanted}")


@cache
def _declared(hook: str) -> Any:
    function = DECLARED[hook]
    answer = SimpleNamespace(__annotations__={"return": function.__annotations__["return"]})
    return get_type_hints(answer, function.__globals__)["return"]  # types of arguments may be there for readers only


def _fits(value: Any, declared: Any) -> bool:
    origin, parts = get_origin(declared), get_args(declared)
    is_protocol = type(declared) is type(Protocol)
    if declared is Any:
        return True
    if origin in (Union, UnionType):
        return any(_fits(value, part) for part in parts)
    if origin is tuple and parts[1:] == (...,):  # as many as there are
        return isinstance(value, (tuple, list)) and all(_fits(each, parts[0]) for each in value)
    if origin is tuple:
        return isinstance(value, tuple) and len(value) == len(parts) and all(map(_fits, value, parts))
    if origin is Sequence:
        return isinstance(value, (list, tuple)) and all(_fits(each, parts[0]) for each in value)
    if is_typeddict(declared):
        return isinstance(value, dict)
    if origin is Mapping:
        return isinstance(value, Mapping) and all(_fits(part, parts[1]) for part in value.values())
    if origin is Callable:
        return callable(value)
    if origin is Literal:
        return isinstance(value, str) and value in parts
    if declared is float:
        return isinstance(value, (int, float))
    if not isinstance(value, declared or NoneType):
        return False
    if is_protocol and (isinstance(value, type) or method_faults((declared,), type(value))):
        return False
    if is_protocol or is_dataclass(declared):
        return all(_fits(getattr(value, name), part) for name, part in _parts(declared).items())
    return True


@cache
def _parts(declared: Any) -> Mapping[str, Any]:
    """The types of what an object has, by name."""
    return get_type_hints(declared)


def odd_part(answer: Any) -> str:
    """Which part of an object of ours is of a wrong type, as the end of a noun."""
    kind: Any = type(answer)
    if not (is_dataclass(answer) and kind.__module__.startswith("doorward.")):
        return ""
    for name, part in _parts(kind).items():
        if not _fits(value := getattr(answer, name), part):
            one_of = get_origin(part) is Literal and f"none of {', '.join(map(repr, get_args(part)))}"
            return f" whose {name} is {one_of or _type(value)}"
    return ""


def _type(value: Any) -> str:
    """The type of a value, with those of its parts."""
    if not isinstance(value, (list, tuple)):
        return f"the class {value.__name__}" if isinstance(value, type) else type(value).__name__
    kinds = [_type(each) for each in value[:20]]
    return f"{type(value).__name__}[{', '.join(kinds if isinstance(value, tuple) else sorted({*kinds}))}]"


for _specs in SPECS:
    declare(_specs)
