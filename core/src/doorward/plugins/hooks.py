"""Calls hooks with pluggy, and isolates each implementation, hook wrappers too. If one fails, the error names it, the
others are still called, and whatever it should have judged does not pass."""

from __future__ import annotations

from collections.abc import Callable, Generator
from functools import partial
from typing import Any

import pluggy

from doorward.host.logs import log
from doorward.model.errors import ConfigError, DoorwardError, PluginError
from doorward.model.types import Finding
from doorward.plugins.hookspecs import ADDITIONS, OBSERVERS, SPECS


class Hooks(pluggy.PluginManager):
    """pluggy's manager of all hooks: `hooks.hook.guard_call(call=…)`."""

    def __init__(self) -> None:
        super().__init__("doorward")
        for spec in SPECS:
            self.add_hookspecs(spec)

    def register(self, plugin: Any, name: str | None = None) -> str | None:
        """Register a plugin, and isolate each of its implementations from the others."""
        registered = super().register(plugin, name)
        for caller in self.get_hookcallers(plugin) or ():
            is_first = bool(caller.spec and caller.spec.opts["firstresult"])
            for implementation in caller.get_hookimpls():
                if implementation.plugin is plugin:
                    _isolate(implementation, caller.name, is_first)
        return registered


class Answer(list[Any]):
    """The objects that one plugin adds, with its name."""

    plugin = "a hook wrapper"


def _isolate(implementation: Any, hook: str, is_first: bool) -> None:
    if implementation.hookwrapper:
        implementation.function = _of_new_style(implementation.function)
        implementation.hookwrapper, implementation.wrapper = False, True
    failed = partial(_failed, hook, implementation.plugin_name)
    if implementation.wrapper:
        implementation.function = _isolated_wrapper(implementation.function, failed, is_first)
    else:
        implementation.function = _isolated(
            implementation.function, failed, implementation.plugin_name if hook in ADDITIONS else ""
        )


def _failed(hook: str, plugin: str, error: Exception) -> Any:
    """The answer in place of an implementation that failed: one with which nothing passes that it should have judged.

    Raises: the plugin's own error, or PluginError, if there is no such answer. PluginError does not quote the failure,
    which may hold a secret.
    """
    said = isinstance(error, ConfigError if hook == "resolve_secret" else DoorwardError)
    is_logged = hook in OBSERVERS + ADDITIONS or not (said or hook == "resolve_secret")
    hint = "The log has the details." if is_logged else None
    why = error if said else PluginError(f"the plugin {plugin!r} failed in {hook}: {type(error).__name__}", hint=hint)
    if is_logged:
        log.error("observer_failed" if hook in OBSERVERS else "plugin_failed", plugin=plugin, hook=hook, exc_info=error)
    if hook in OBSERVERS + ADDITIONS:
        return None
    match hook:
        case "source_compiled":
            return why
        case "guard_program" if not said:
            return [Finding(str(why), instead="Tell the operator: the log has the details")]
        case "guard_call" | "guard_result" if not said:
            return str(why)
    raise why from None


def _isolated(run: Callable[..., Any], failed: Callable[[Exception], Any], adding: str) -> Callable[..., Any]:
    """An implementation whose failure does not reach the others. With `adding`, the plugin's name, its answer is read
    completely here, and marked with that name."""

    def called(*given: Any, **named: Any) -> Any:
        try:
            found = run(*given, **named)
            if adding:
                found = Answer(found or ())
                found.plugin = adding
        except Exception as error:
            return failed(error)
        return found

    return called


def _isolated_wrapper(
    wrap: Callable[..., Any], failed: Callable[[Exception], Any], is_first: bool
) -> Callable[..., Any]:
    """The same for a wrapper: the implementations that it wraps are called anyway. The answer for its failure is added
    to theirs, or replaces it if `is_first`."""

    def wrapped(*given: Any, **named: Any) -> Generator[None, Any, Any]:
        inside, mine, answers, raised = None, None, None, None
        try:
            inside = wrap(*given, **named)
            next(inside)
        except Exception as error:
            inside, mine = None, failed(error)
        try:
            answers = yield
        except Exception as error:
            raised = error
        if inside is not None:
            try:
                inside.throw(raised) if raised is not None else inside.send(answers)
                raise RuntimeError("a hook wrapper yields once")
            except StopIteration as end:
                return end.value
            except Exception as error:
                if error is not raised:
                    raised, mine = None, failed(error)
        if raised is not None:
            raise raised
        return answers if mine is None else mine if is_first else [*(answers or ()), mine]

    return wrapped


def _of_new_style(wrap: Callable[..., Any]) -> Callable[..., Any]:
    """Turns a wrapper of pluggy's old style, which gets a `Result`, into one of the new style."""

    def wrapped(*given: Any, **named: Any) -> Generator[None, Any, Any]:
        inside = wrap(*given, **named)
        next(inside)
        try:
            result = pluggy.Result((yield), None)
        except Exception as error:
            result = pluggy.Result(None, error)
        try:
            inside.send(result)
        except StopIteration:
            return result.get_result()
        raise RuntimeError("a hook wrapper yields once")

    return wrapped
