"""Calls hooks with pluggy, and isolates each implementation, hook wrappers too. If one fails, the error names it, the
others are still called, and whatever it should have judged does not pass."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Generator, Mapping
from concurrent.futures import Future
from contextvars import copy_context
from functools import partial
from threading import Thread
from typing import Any

import pluggy

from doorward.config.installed_plugins import PluginId
from doorward.model.calls import CallTrace, Decision, RequestTrace
from doorward.model.errors import ApiError, ConfigError, DoorwardError, PluginError, ToolError
from doorward.model.programs import Finding
from doorward.plugins.block_watch import BlockWatch
from doorward.plugins.failures import Failures, contained, failed
from doorward.plugins.function_checks import check_changed, check_definitions
from doorward.plugins.hook_answers import Answer, Refusal, Unfit, declare, expected, fitting, sign_answer, unfit
from doorward.plugins.hookspecs import ADDITIONS, OBSERVERS, SECONDS, SPECS
from doorward.plugins.sealing import sealed

Tells = Callable[[Exception], object]
"""Tells of a failure."""


class FollowedCall:
    """What `trace_call` answered, contained."""

    def __init__(self, trace: CallTrace, tells: Tells) -> None:
        self._trace, self._tells = trace, tells
        self.context: Mapping[str, str] = dict(trace.context)

    def request(self, method: str, url: str) -> FollowedRequest:
        """See `doorward.tracing.CallTrace`."""
        try:
            with contained():
                return FollowedRequest(self._trace.request(method, url), self._tells)
        except Exception as error:
            self._tells(error)
        return FollowedRequest(None, self._tells)


class FollowedRequest:
    """What a `CallTrace` answered for one request, contained."""

    def __init__(self, trace: RequestTrace | None, tells: Tells) -> None:
        self._trace, self._tells = trace, tells
        given: Any = trace.headers if trace is not None else {}
        self.headers: Mapping[str, str] = {expected(str, k): expected(str, v) for k, v in dict(given).items()}

    def end(self, status: int | None, error: str) -> None:
        """See `doorward.tracing.RequestTrace`."""
        try:
            with contained():
                if self._trace is not None:
                    self._trace.end(status, error)
        except Exception as raised:
            self._tells(raised)


def within(seconds: float, run: Callable[..., Any]) -> Callable[..., Any]:
    """`run`, called in a thread that the end of this process does not wait for. It raises TimeoutError if that takes
    longer."""

    def limited(*given: Any, **named: Any) -> Any:
        context, done = copy_context(), Future[Any]()

        def work() -> None:
            try:
                done.set_result(context.run(run, *given, **named))
            except BaseException as error:
                done.set_exception(error)

        Thread(target=work, daemon=True).start()
        return done.result(seconds)

    return limited


_GUARDS = ("guard_call", "guard_result")
"""Hooks with one answer, which refuses."""

_REFUSING = (*_GUARDS, "guard_program", "change_result")
"""Hooks whose own errors refuse: they name the plugin, as its answers do."""


class Hooks(pluggy.PluginManager):
    """pluggy's manager of all hooks: `hooks.hook.guard_call(call=…)`."""

    def __init__(self, failures: Failures | None = None, watch: BlockWatch | None = None) -> None:
        super().__init__("doorward")
        self.failures, self._watch = failures or Failures(), watch or BlockWatch()
        self.ids: dict[str, PluginId] = {}
        self.declared: dict[str, Callable[..., Any]] = {}
        for specs in SPECS:
            self.add_hookspecs(specs)

    def add_hookspecs(self, module_or_class: Any) -> None:
        """Add the hooks that a class declares. Raises: PluginError if one of them is somebody else's."""
        for name, declaration in declare(module_or_class).items():
            if self.declared.setdefault(name, declaration) is not declaration:
                raise PluginError(f"the hook {name!r} is declared twice", hint="Use one of the two plugins.")
        super().add_hookspecs(module_or_class)

    def parse_hookspec_opts(self, module_or_class: Any, name: str) -> Any:
        """No hook is called `__init__`: to look at such names, most of a class, would take half of a start."""
        return None if name.startswith("__") else super().parse_hookspec_opts(module_or_class, name)

    def parse_hookimpl_opts(self, plugin: Any, name: str) -> Any:
        """See `parse_hookspec_opts`."""
        return None if name.startswith("__") else super().parse_hookimpl_opts(plugin, name)

    def register(self, plugin: Any, name: str | None = None, given_by: str = "") -> str | None:
        """Register a plugin of a distribution, and isolate each of its implementations from the others."""
        registered = super().register(plugin, name)
        if registered is not None:
            self.ids[registered] = PluginId("plugin", registered, given_by)
        for caller in self.get_hookcallers(plugin) or ():
            is_first = bool(caller.spec and caller.spec.opts["firstresult"])
            for implementation in caller.get_hookimpls():
                if implementation.plugin is plugin:
                    if caller.name == "change_result" and (implementation.wrapper or implementation.hookwrapper):
                        why = "change_result has no wrappers: each implementation gets what the former made"
                        raise pluggy.PluginValidationError(plugin, why)
                    self._isolate(implementation, caller.name, is_first)
        return registered

    def looks_at_calls(self) -> bool:
        """Whether any implementation is given calls."""
        return any(
            hook.spec and "call" in hook.spec.argnames and hook.get_hookimpls() for hook in vars(self.hook).values()
        )

    def _isolate(self, implementation: Any, hook: str, is_first: bool) -> None:
        if explicit := bool(implementation.hookwrapper):  # of pluggy's old style, where a result is forced by its name
            implementation.function = _of_new_style(implementation.function)
            implementation.hookwrapper, implementation.wrapper = False, True
        plugin = self.ids[implementation.plugin_name]
        in_its_place = partial(_in_its_place, self.failures, plugin, hook)
        read = partial(_read, self.failures, plugin, hook)
        self._watch.add_code(plugin, implementation.function, hook)
        if implementation.wrapper:
            implementation.function = _isolated_wrapper(
                implementation.function, in_its_place, hook, read, is_first, lifts=explicit or hook not in _GUARDS
            )
        elif inspect.iscoroutinefunction(implementation.function):
            ends = partial(self.failures.leave_if_stuck, plugin, hook)
            implementation.function = _isolated_later(implementation.function, in_its_place, plugin, read, ends)
        else:
            implementation.function = _isolated(implementation.function, in_its_place, hook, read)
            if hook not in SECONDS:  # those are called in a thread
                implementation.function = self._watch.watched(plugin, hook, implementation.function)


class AwaitedAnswer(Awaitable[Any]):
    """What an implementation that is `async def` will answer. Nothing of it runs before this is awaited."""

    def __init__(self, ask: Callable[[], Awaitable[Any]], plugin: PluginId) -> None:
        self._ask, self.plugin = ask, plugin

    def __await__(self) -> Generator[Any, Any, Any]:
        return self._ask().__await__()


def _in_its_place(failures: Failures, plugin: PluginId, hook: str, error: Exception) -> Any:
    """The answer in place of an implementation that failed, or gave one of another type than the hook declares: one
    with which nothing passes that it should have judged.

    Raises: the plugin's own error, or PluginError, if there is no such answer. PluginError does not quote the failure,
    which may hold a secret.
    """
    if hook == "resolve_secret":  # not even the log has it
        raise error if isinstance(error, ConfigError) else PluginError(failed(plugin, hook, error)) from None
    if isinstance(error, (ApiError, ToolError)):  # of a call that the hook made itself, not of this one
        unfit = Unfit(type(error).__name__)
        unfit.__cause__, error = error, unfit
    is_its_own = isinstance(error, DoorwardError)
    if isinstance(error, DoorwardError) and hook not in OBSERVERS | ADDITIONS:
        why = error
        if hook in _REFUSING:
            why.message = Refusal(why.message, plugin).signed
    else:
        event = "observer_failed" if hook in OBSERVERS else "plugin_failed"
        why = failures.told(plugin, hook, error, event=event)
    if hook == "doctor_checks":
        return Answer([(str(why), False, "The log says why.")], plugin)
    if hook in OBSERVERS | ADDITIONS:
        return None
    match hook:
        case "source_compiled":
            return why
        case "guard_program" if not is_its_own:
            return Answer([Finding(str(why), instead="Tell the operator: the log has the details")], plugin)
        case "decide":
            return Decision("deny", str(plugin), str(why))
        case "guard_call" | "guard_result" if not is_its_own:
            return Refusal(str(why), plugin)
    raise why from None


def _read(failures: Failures, plugin: PluginId, hook: str, answer: Any) -> Any:
    """What an implementation answered, checked, and with its name where that is of use. Raises: Unfit."""
    found = fitting(hook, answer)
    if found is None:
        return None
    if hook == "trace_call":
        return FollowedCall(found, partial(failures.told, plugin, hook, event="observer_failed"))
    return sign_answer(hook, found, plugin)


def _isolated(
    run: Callable[..., Any],
    in_its_place: Callable[[Exception], Any],
    hook: str,
    read: Callable[[Any], Any],
) -> Callable[..., Any]:
    """An implementation whose failure does not reach the others."""

    def ask(*given: Any, **named: Any) -> Any:
        with contained():
            return read(run(*given, **named))

    if hook == "source_compiled":
        ask = _leaving_functions(ask)

    if hook in SECONDS:
        ask = within(SECONDS[hook], ask)

    def called(*given: Any, **named: Any) -> Any:
        try:
            return ask(*map(sealed, given), **{name: sealed(value) for name, value in named.items()})
        except Exception as error:
            return in_its_place(error)

    return called


def _leaving_functions(ask: Callable[..., Any]) -> Callable[..., Any]:
    """The same for a hook that may change a list of functions: others get it, and it is stored."""

    def asked(*given: Any) -> Any:
        functions = next((each for each in given if isinstance(each, list)), [])
        definitions = next((each for each in given if isinstance(each, dict)), {})
        servers, before = {function.server for function in functions}, dict(definitions)
        answer = ask(*given)
        if functions:
            check_changed(functions, servers)
        check_definitions({name: each for name, each in definitions.items() if each is not before.get(name)})
        return answer

    return asked


def _isolated_later(
    run: Callable[..., Awaitable[Any]],
    in_its_place: Callable[[Exception], Any],
    plugin: PluginId,
    read: Callable[[Any], Any],
    ends: Callable[[Awaitable[Any]], Awaitable[Any]],
) -> Callable[..., AwaitedAnswer]:
    """The same for an implementation that is `async def`."""

    def called(*given: Any) -> AwaitedAnswer:
        async def ask() -> Any:
            try:
                with contained():
                    return read(await ends(run(*map(sealed, given))))
            except Exception as error:
                return in_its_place(error)

        return AwaitedAnswer(ask, plugin)

    return called


def _isolated_wrapper(
    wrap: Callable[..., Any],
    in_its_place: Callable[[Exception], Any],
    hook: str,
    read: Callable[[Any], Any],
    is_first: bool,
    *,
    lifts: bool,
) -> Callable[..., Any]:
    """The same for a wrapper: the implementations that it wraps are called anyway. The answer for its failure is added
    to theirs, or replaces it if `is_first`. `lifts`: None from it takes a refusal back; else it has forgotten it."""

    def wrapped(*given: Any) -> Generator[None, Any, Any]:
        inside, mine, answers, raised = None, None, None, None
        try:
            with contained():
                inside = wrap(*map(sealed, given))
                next(inside)
        except Exception as error:
            inside, mine = None, in_its_place(error)
        try:
            answers = yield
        except Exception as error:
            raised = error
        if inside is not None:
            try:
                try:
                    with contained():
                        inside.throw(raised) if raised is not None else inside.send(answers)
                    raise RuntimeError("a hook wrapper yields once")
                except StopIteration as end:
                    if not is_first:
                        return _all_fitting(hook, end.value)
                    if end.value is None and not lifts and (answers is not None or raised is not None):
                        raise Unfit("it answered None in place of a refusal") from None
                    return answers if end.value is answers else read(end.value)
            except Exception as error:
                if error is not raised:
                    raised, mine = None, in_its_place(error)
        if raised is not None:
            raise raised
        return answers if mine is None else mine if is_first else [*(answers or ()), mine]

    return wrapped


def _all_fitting(hook: str, answers: Any) -> Any:
    """The answers that a wrapper gives in place of those of all implementations. Raises: Unfit."""
    if hook in OBSERVERS:
        return answers
    if not isinstance(answers, list):  # it has not returned what it was given
        raise unfit(answers, "the list of all answers")
    return [
        each if isinstance(each, (Answer, DoorwardError, AwaitedAnswer)) else fitting(hook, each) for each in answers
    ]


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
