"""What conformance classes of hook plugins share: how the plugin is made and loaded, and what it is asked."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any, ClassVar

import pytest
from doorward import Call, CallRecord, DoorwardError, Failure, Function, Outcome, Program, Settings
from doorward.abilities import HasSettings
from doorward.administration import Plugins
from doorward.configuration import Index

from doorward_testing.conformance.base import Conformance, fail, require

NAME = "under_test"
"""The name of the plugin under test."""


class HookConformance(Conformance):
    """For hook plugins that implement some of `hooks`. Say `plugin`, a module or a class; `settings`, and `owned`,
    where it needs any."""

    hooks: ClassVar[tuple[str, ...]]
    may_wait: ClassVar[tuple[str, ...]] = ()
    """Those of them that may be `async def`."""
    hookspecs: ClassVar[tuple[type, ...]] = ()
    """The classes that declare those of them that are no hooks of core."""
    plugin: Any = None
    """The module or the class under test."""

    def settings(self, host: Any) -> dict[str, Any]:
        """What an operator writes in `[hooks.NAME]`."""
        return {}

    def owned(self) -> Mapping[str, tuple[Any, Any]]:
        """What stands in the tables that it owns, by their names: the type that the entry point gives, and a value as
        it is written."""
        return {}

    def more(self, host: Any) -> dict[str, Any]:
        """Further parts of its context: the tables that it owns."""
        from pydantic import TypeAdapter

        given = {"secrets": host.secrets()}
        return {
            "tables": {
                name: TypeAdapter(kind).validate_python(value, context=given)
                for name, (kind, value) in self.owned().items()
            }
        }

    def made(self, host: Any) -> Any:
        """The module, or a fresh instance of the class."""
        if not isinstance(self.plugin, type):
            return self.plugin
        model = self.plugin.Settings if isinstance(self.plugin, HasSettings) else Settings
        return self.plugin(host.context(model, self.settings(host), name=NAME, **self.more(host)))

    @contextlib.asynccontextmanager
    async def opened(self, host: Any) -> AsyncIterator[Any]:
        """The same, opened and closed as a gateway does, if it has these methods."""
        made = self.made(host)
        methods = {name: getattr(made, name, None) for name in ("open", "close") if isinstance(self.plugin, type)}
        if inspect.iscoroutinefunction(method := methods.get("open")):
            await method()
        yield made
        if inspect.iscoroutinefunction(method := methods.get("close")):
            await method()

    @pytest.fixture(autouse=True)
    def _complete(self, host: Any) -> None:
        """All tests of a plugin that cannot be loaded fail with the same sentence."""
        if self.plugin is None:
            self.say("plugin = your_module  # or YourClass")
        self.implemented = tuple(name for name in self.hooks if name in hooks_of(self.plugin))
        require(
            self.implemented,
            f"{self.plugin!r} implements none of the hooks {', '.join(self.hooks)}: mark a function of this name with "
            "@doorward.hookimpl",
        )

    def test_it_loads(self, host: Any) -> None:
        """It is loaded as core loads it: each hook exists, has these arguments, and is `async def` only where it may
        be."""
        hooks = hooks_of(self.plugin)
        must_not = [name for name in self.implemented if name not in self.may_wait]
        waits = [name for name in must_not if inspect.iscoroutinefunction(hooks[name])]
        require(not waits, f"asynchronous hooks: {waits}. Core does not await these: write `def`")
        self.loaded(host)

    def loaded(self, host: Any) -> Plugins:
        """The plugins of a gateway that has this one alone."""
        host.install("plugin", NAME, self.plugin)
        plugins = Plugins(Index(host.entries))
        for specs in self.hookspecs:
            plugins.manager.add_hookspecs(specs)
        try:
            plugins.load_hooks([NAME], lambda name, plugin: self.made(host))
        except DoorwardError as error:
            fail(str(error))
        return plugins


def hooks_of(plugin: Any) -> dict[str, Callable[..., Any]]:
    """The functions of a module, a class or its instance that are marked as hooks, by the name of the hook."""
    found = {}
    for name in dir(plugin):
        function = inspect.getattr_static(plugin, name)
        marked = getattr(function, "doorward_impl", None)
        if isinstance(marked, dict):
            found[marked.get("specname") or name] = getattr(plugin, name)
    return found


def ask(plugin: Any, hook: str, **given: Any) -> Any:
    """The answer of one hook, which gets the arguments that it takes; to be awaited if it is `async def`. Whatever it
    raises is raised."""
    function = hooks_of(plugin)[hook]
    taken = inspect.signature(function).parameters
    return function(**{name: value for name, value in given.items() if name in taken})


def call_of(function: str = "notes.find", /, read_only: bool = True, **arguments: Any) -> Call:
    """A call of a function, by its qualified name, with these arguments."""
    server, _, name = function.partition(".")
    return Call(Function(server, name, id=name, read_only=read_only), arguments, run="run", principal="alice")


ODD_TEXTS: Sequence[str] = (
    "",
    " \n\t",
    "\0",
    "x = = 1",
    "((((",
    "(" * 5_000 + ")" * 5_000,
    "x = " + "-" * 5_000 + "1",
    "'''",
    "\ufeffx = 1",
    "x = '\ud800'",
    "ünï = '🎉' ",
    "x = 1\r\ny = 2\r",
    "if x:\n\ty\n        z",
    "# " + "x" * 100_000,
    "\n" * 100_000,
    "x = 1\n" * 15_000,
    "a" + ".a" * 1_000,
    "await x",
    "return 1",
    "{0.__class__}",
    "\u202eabc",
)
"""Programs, and texts in arguments and answers, that agents and upstreams may send."""

ODD_VALUES: Sequence[Any] = (
    None,
    True,
    -1,
    1.5,
    float("inf"),
    2**70,
    [],
    {},
    b"",
    bytes(range(256)),
    {"": {"": [None]}},
    {"__class__": "x", "a b": "🎉"},
    ["x"] * 10_000,
    *ODD_TEXTS,
)
"""Arguments and answers of calls."""


def odd_programs() -> list[Program]:
    """Programs of all kinds."""
    with_params = Program("x = 1", params={"x": ODD_VALUES[-5]}, functions=(), principal="", run="")
    return [*(Program(text, run="run") for text in ODD_TEXTS), with_params]


def odd_calls() -> list[Call]:
    """Calls of all kinds."""
    bare = Call(Function("", ""), {})
    return [bare, *(call_of(value=value) for value in ODD_VALUES), call_of(read_only=False)]


def odd_outcomes() -> list[Outcome]:
    """Ends of runs of all kinds."""
    failures = [Failure("program", "ValueError", text, line=1) for text in ODD_TEXTS] + [
        Failure("guard", "", ""),
        Failure("limit", "Cancelled", "the client is gone"),
    ]
    values = [Outcome(True, value, printed=str(value)[:100]) for value in ODD_VALUES if not isinstance(value, bytes)]
    return [*values, *(Outcome(False, error=failure) for failure in failures)]


def odd_records() -> list[CallRecord]:
    """Ends of calls of all kinds."""
    return [
        CallRecord(True, 0.0),
        CallRecord(False, 1e9, 2**40, 0, "Ünï🎉"),
        CallRecord(False, 0.1, error="x" * 10_000),
    ]
