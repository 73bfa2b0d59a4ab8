"""What keeps a plugin from working, found when it is loaded: a method that is missing, takes other arguments or is
`async` where none may be, a hook that would never fire. Nothing of the plugin is called."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from types import MethodType
from typing import Any

from doorward.data.words import in_place_of
from doorward.model.drivers import (
    Auth,
    Cache,
    HasSettings,
    Observer,
    SearchView,
    Source,
    SupportsBuild,
    SupportsClose,
    SupportsFilledParameters,
    SupportsLogin,
    SupportsLoginCheck,
    SupportsLogout,
    SupportsMachineCheck,
    SupportsServerCheck,
    TellsLogin,
)
from doorward.model.executors import Executor
from doorward.model.storage import Store
from doorward.plugins.hookspecs import MAY_WAIT, hookimpl

PROTOCOLS: Mapping[str, tuple[Any, ...]] = {
    "source": (Source, SupportsServerCheck),
    "auth": (
        Auth,
        SupportsLogin,
        SupportsLogout,
        SupportsLoginCheck,
        TellsLogin,
        SupportsFilledParameters,
        SupportsClose,
    ),
    "store": (Store,),
    "cache": (Cache,),
    "executor": (Executor, SupportsBuild, SupportsMachineCheck),
    "observer": (Observer,),
    "search_view": (SearchView,),
}
"""The protocol of each kind of driver, and the abilities whose methods it may have."""

_MARK = f"{hookimpl.project_name}_impl"
"""The attribute by which `hookimpl` marks a function."""


def driver_faults(kind: str, driver: Any) -> list[str]:
    """What is wrong with a driver, as ends of a sentence that begins with its name."""
    if kind == "command":
        bases = (f"{base.__module__}.{base.__qualname__}" for base in type(driver).__mro__)
        return [] if "click.core.Command" in bases else [f"is {_a(driver)} and no click command"]
    if kind == "plugin":
        return settings_faults(driver)
    if kind not in PROTOCOLS:
        return []
    protocol, *abilities = PROTOCOLS[kind]
    if not isinstance(driver, type):
        return [f"is {_a(driver)} and no class"]
    if missing := _missing(protocol, driver):
        none = ": write `Settings = doorward.Settings` if it has none" if missing == ["Settings"] else ""
        return [f"lacks {', '.join(missing)}{none}"]
    return [*settings_faults(driver), *_class_faults(driver, protocol, *abilities)]


@cache
def _class_faults(driver: type, *protocols: Any) -> list[str]:
    """What is wrong with the constructor and the methods of a class, however many gateways are opened with it."""
    return [*_made_with_context(driver), *method_faults(protocols, driver)]


def settings_faults(driver: Any) -> list[str]:
    """What is wrong with the `Settings` of a class, which may have none."""
    from doorward.model.settings import Settings  # pydantic is there when somebody has a class of settings

    found: object = driver.Settings if isinstance(driver, HasSettings) else Settings
    if isinstance(found, type) and issubclass(found, Settings):
        return []
    return [f"has {_a(found)} as Settings, which is no doorward.Settings"]


@cache
def instance_faults(protocol: Any, made: type) -> list[str]:
    """What keeps objects of a class from being what a protocol says."""
    missing = _missing(protocol, made)
    return [f"lacks {', '.join(missing)}"] if missing else method_faults((protocol,), made)


def method_faults(protocols: tuple[Any, ...], driver: type) -> list[str]:
    """What is wrong with those methods of protocols that a class has."""
    return [
        fault
        for protocol in protocols
        for name, wanted in vars(protocol).items()
        if inspect.isfunction(wanted) and not name.startswith("_") and hasattr(driver, name)
        for fault in _method_faults(driver, name, wanted)
    ]


def hook_faults(plugin: Any, hooks: Mapping[str, Callable[..., Any]], many: Callable[[str], bool]) -> list[str]:
    """What is wrong with a module of hooks, or an instance of a class of hooks. `hooks` are the declarations of all
    that exist, by name; `many` says whether one answers several things."""
    faults: list[str] = []
    marked = 0
    for name in dir(plugin):
        if name.startswith("__"):  # see `Hooks`
            continue
        held = inspect.getattr_static(plugin, name, None)
        function = held.__func__ if isinstance(held, (staticmethod, classmethod, MethodType)) else held
        marks = getattr(held, _MARK, None) or getattr(function, _MARK, None)
        if isinstance(marks, dict):
            marked += 1
            called = getattr(plugin, name) if inspect.isfunction(function) else function
            faults += _hook_faults(name, called, marks, hooks, many)
        elif name in hooks and inspect.isfunction(function) and _is_own(function, plugin):
            faults.append(f"{name} is not marked with @doorward.hookimpl")
    if not (marked or faults):
        faults.append(f"{_a(plugin)} has no function marked with @doorward.hookimpl")
    return faults


def _hook_faults(
    name: str, function: Any, marks: Mapping[str, Any], hooks: Mapping[str, Any], many: Callable[[str], bool]
) -> Iterator[str]:
    hook = marks.get("specname") or name
    if not inspect.isroutine(function):
        yield f"{name} is {_a(function)} and no function"
    elif hook not in hooks and marks.get("optionalhook"):
        return
    elif hook not in hooks:
        yield f"there is no hook {hook}{in_place_of(hook, hooks)}"
    elif is_async(function) and not (hook in MAY_WAIT and inspect.iscoroutinefunction(function)):
        yield f"{hook} is async; hooks are synchronous, and input and output belong in drivers"
    elif inspect.isgeneratorfunction(function) and not (marks.get("wrapper") or marks.get("hookwrapper") or many(hook)):
        yield f"{hook} has a yield, so that calling it runs nothing"
    else:
        _, *has = inspect.signature(hooks[hook]).parameters
        for each in inspect.signature(function).parameters.values():
            if each.default is not each.empty:
                continue
            if each.kind is each.KEYWORD_ONLY or each.name not in has:
                yield f"{hook} has no argument {each.name}; it has {', '.join(has) or 'none'}"


def is_async(function: Any) -> bool:
    """Whether a call of a function only makes something that has to be awaited."""
    return inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function)


def _missing(protocol: Any, driver: Any) -> list[str]:
    """The members of a protocol that a driver lacks. What it only inherits from the protocol does nothing."""
    members = [name for name in (*protocol.__annotations__, *vars(protocol)) if not name.startswith("_")]
    return [
        name
        for name in members
        if (found := getattr(driver, name, None)) is None or found is getattr(protocol, name, None)
    ]


def _made_with_context(driver: type) -> Iterator[str]:
    if is_async(driver.__init__):  # type: ignore[misc]
        yield "has an async constructor"
        return
    try:
        signature = inspect.signature(driver)
    except (TypeError, ValueError):  # of a class that is not written in Python
        return
    try:
        signature.bind(None)
    except TypeError as error:
        yield f"is made with one argument, its context: {error}"


def _method_faults(driver: type, name: str, wanted: Any) -> Iterator[str]:
    held, method = inspect.getattr_static(driver, name), getattr(driver, name)
    if not callable(method):
        yield f"has {_a(method)} as {name}, and no method"
    if not inspect.isroutine(method):  # what is callable in another way may be anything
        return
    signature = inspect.signature(method)
    if inspect.isasyncgenfunction(method):
        yield f"has a yield in {name}, so that it cannot be awaited"
    elif not inspect.iscoroutinefunction(wanted):
        if is_async(method):
            yield f"has an async {name}, which is not awaited"
    elif not (is_async(inspect.unwrap(method)) or _may_be_async(signature)):
        yield f"has no async {name}: write `async def {name}`"
    _, *asked = inspect.signature(wanted).parameters.values()
    given = [None] * sum(each.kind is each.POSITIONAL_OR_KEYWORD for each in asked)
    has_self = not isinstance(held, (staticmethod, classmethod))
    try:
        signature.bind(*[None] * has_self, *given, **{p.name: None for p in asked if p.kind is p.KEYWORD_ONLY})
    except TypeError as error:
        yield f"cannot be called as {name}({', '.join(each.name for each in asked)}): {error}"


def _may_be_async(signature: inspect.Signature) -> bool:
    """Whether a function that is not `async` may give something to await: a decorator's, or one that says so."""
    says = str(signature.return_annotation)
    passes = any(each.kind is each.VAR_POSITIONAL for each in signature.parameters.values())
    return passes or any(word in says for word in ("Awaitable", "Coroutine", "Future", "Task"))


def _is_own(function: Any, plugin: Any) -> bool:
    """Whether a function is not just imported by a module of hooks."""
    return not inspect.ismodule(plugin) or function.__module__ == plugin.__name__


def _a(thing: Any) -> str:
    """What something is, in words."""
    if inspect.ismodule(thing):
        return f"the module {thing.__name__}"
    if isinstance(thing, type):
        return f"the class {thing.__name__}"
    if inspect.isfunction(thing):
        return f"the function {thing.__name__}"
    return f"an object of type {type(thing).__name__}"
