"""Loads plugins with stevedore: drivers by name when they are needed, hook plugins in the configured order."""

from __future__ import annotations

import difflib
import inspect
import re
import warnings
from collections.abc import Callable, Sequence
from functools import cache
from importlib.metadata import requires
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

import pluggy
from stevedore import DriverManager, NamedExtensionManager

from doorward.config.index import GROUPS, Entry, Index
from doorward.host.logs import log
from doorward.model.abilities import HasSettings
from doorward.model.contexts import PluginContext
from doorward.model.drivers import Auth, Cache, Executor, Source
from doorward.model.errors import DoorwardError, MissingSecret, PluginError
from doorward.model.version import PLUGIN_API
from doorward.plugins.hooks import Answer, Hooks

if TYPE_CHECKING:
    from doorward.config.config import Loaded
    from doorward.model.types import Function


class _FromIndex:
    """Makes a stevedore manager read our index instead of its cache file."""

    index: Index

    def list_entry_points(self) -> list[Any]:
        return [e.point for e in self.index.entries if GROUPS[e.kind] == self.namespace]  # type: ignore[attr-defined]


class Plugins:
    """The plugins of one gateway: drivers by kind and name, and the hooks of the configured hook plugins."""

    def __init__(self, index: Index) -> None:
        self.index = index
        self._drivers = cache(self._driver)
        self.manager = Hooks()

    @property
    def hook(self) -> Any:
        """pluggy's relay, through which every hook is called: `plugins.hook.guard_call(call=…)`."""
        return self.manager.hook

    @overload
    def driver(self, kind: Literal["source"], name: str) -> type[Source]: ...
    @overload
    def driver(self, kind: Literal["auth"], name: str) -> type[Auth]: ...
    @overload
    def driver(self, kind: Literal["cache"], name: str) -> type[Cache]: ...
    @overload
    def driver(self, kind: Literal["executor"], name: str) -> type[Executor]: ...
    @overload
    def driver(self, kind: str, name: str) -> Any: ...
    def driver(self, kind: str, name: str) -> Any:
        """The driver class of a kind by its name in the configuration. Imports no other plugin.

        Raises: PluginError if it is missing, installed twice, does not import or is for another plugin API.
        """
        return self._drivers(kind, name)

    def _driver(self, kind: str, name: str) -> Any:
        entry = self._entry(kind, name)
        manager = type("Drivers", (_FromIndex, DriverManager), {"index": Index([entry])})
        loaded = self._load(entry, lambda: manager(GROUPS[kind], name, on_load_failure_callback=_reraise).driver)
        missing = [m for m in _members(kind) if not hasattr(loaded, m)]
        if missing:
            raise PluginError(f"{kind} {name!r} of {entry.given_by} lacks {', '.join(missing)}")
        return loaded

    def load_hooks(self, names: Sequence[str], make: Callable[[str, Any], Any]) -> None:
        """Load hook plugins, to be called in this order; `make(name, loaded)` turns a class into its instance.

        Raises: PluginError at the first one that cannot be used, because a configured guard must guard.
        """
        for name in reversed(names):  # pluggy calls the plugin first that was registered last
            entry = self._entry("plugin", name)
            kind = type("Hooks", (_FromIndex, NamedExtensionManager), {"index": Index([entry])})
            loaded = self._load(
                entry,
                lambda kind=kind, name=name: (
                    kind(GROUPS["plugin"], [name], on_load_failure_callback=_reraise)[name].plugin
                ),  # type: ignore[misc]
            )
            try:
                self.manager.register(make(name, loaded), name)
                self.manager.check_pending()
            except pluggy.PluginValidationError as error:
                raise PluginError(f"plugin {name!r} of {entry.given_by} does not fit its hook: {error}") from None

    def load_configured(self, loaded: Loaded, state: Path) -> None:
        """Load the hook plugins of a configuration. One that only a default names may be missing.

        Raises: PluginError, ConfigError.
        """
        from doorward.config.config import validate
        from doorward.model.settings import Settings

        def made(name: str, plugin: Any) -> Any:
            if not isinstance(plugin, type):
                return plugin
            place, model = (
                f"{loaded.file} [hooks.{name}]",
                plugin.Settings if isinstance(plugin, HasSettings) else Settings,
            )
            settings = validate(model, loaded.config.hooks.get(name, {}), secrets=loaded.secrets, place=place)
            return plugin(PluginContext(name, settings, state))

        chosen = "plugins" in loaded.named
        self.load_hooks([n for n in loaded.config.plugins if chosen or self.index.named("plugin", n)], made)

    def each(self, hook: str, use: Callable[[Any], Any], **given: Any) -> list[Any]:
        """The additions of all plugins by a hook, each converted by `use`. One that fails is logged and left out."""
        found = []
        for answer in getattr(self.hook, hook)(**given):
            try:
                found.append(use(answer))
            except Exception:
                log.exception(
                    "plugin_failed", plugin=answer.plugin if isinstance(answer, Answer) else Answer.plugin, hook=hook
                )
        return found

    def change(self, server: str, functions: list[Function]) -> None:
        """Let plugins change the functions of a server.

        Raises: DoorwardError if one has failed, after all were called: functions that it should have removed must not
        be stored.
        """
        for failure in self.hook.source_compiled(server=server, functions=functions):
            if isinstance(failure, DoorwardError):
                raise failure

    def resolve_secret(self, scheme: str, name: str) -> str | None:
        """The answer of a plugin for `${scheme:name}`.

        Raises: ConfigError of the plugin; PluginError, which does not quote it, if it fails in another way;
        MissingSecret if no plugin of this scheme is loaded.
        """
        found: str | None = self.hook.resolve_secret(scheme=scheme, name=name)
        if found is None and not self.manager.has_plugin(scheme):
            enable = f'name it in the configuration: plugins = [..., "{scheme}"]'
            installed = self.index.named("plugin", scheme)
            hint = f"To use it, {enable}." if installed else f"{to_install('plugin', scheme, ())} Then {enable}."
            raise MissingSecret(f"no plugin that is loaded knows ${{{scheme}:…}}", hint=hint)
        return found

    def _entry(self, kind: str, name: str) -> Entry:
        found = self.index.named(kind, name)
        if len(found) == 1:
            return found[0]
        if found:
            both = " and by ".join(e.given_by for e in found)
            raise PluginError(f"{kind} {name!r} is given by {both}", hint="Uninstall one of them.")
        for entry in self.index.refused:
            if (entry.kind, entry.name) == (kind, name):
                raise PluginError(f"{kind} {name!r} of {entry.given_by} is not allowed by the installed distribution")
        have = [e.name for e in self.index.of(kind)]
        raise PluginError(
            f"no {kind} named {name!r}; installed: {', '.join(have) or 'none'}", hint=to_install(kind, name, have)
        )

    def _load(self, entry: Entry, load: Callable[[], Any]) -> Any:
        what = f"{entry.kind} {entry.name!r} of {entry.given_by}"
        try:
            loaded = load()
        except Exception as error:  # a plugin may fail in any way, and the message names the plugin
            raise PluginError(
                f"{what} does not import: {type(error).__name__}: {error}",
                hint=f"Reinstall or upgrade {entry.distribution}.",
            ) from error
        wanted = getattr(loaded, "PLUGIN_API", getattr(inspect.getmodule(loaded), "PLUGIN_API", PLUGIN_API))
        if wanted != PLUGIN_API:
            raise PluginError(
                f"{what} is for plugin API {wanted}, this is {PLUGIN_API}",
                hint=f"Upgrade {entry.distribution} or doorward.",
            )
        return loaded


_PROTOCOLS = {"source": Source, "auth": Auth, "cache": Cache, "executor": Executor}


def _members(kind: str) -> list[str]:
    """The members that a driver of a kind must have: those of its protocol."""
    protocol = _PROTOCOLS.get(kind)
    members = (*protocol.__annotations__, *vars(protocol)) if protocol else ()
    return [name for name in members if not name.startswith("_")]


_NAME_PREFIXES = {"executor": "sandbox", "auth": "auth", "cache": "cache", "plugin": "guard"}
"""By our naming rule, the word before the plugin's name in the name of its distribution. Sources have none."""


def to_install(kind: str, name: str, installed: Sequence[str]) -> str:
    """A hint: what to install, or which name was meant. It names only distributions that are extras of core, because a
    guessed name could belong to anybody."""
    packages = [re.split(r"[^\w-]", requirement)[0] for requirement in requires("doorward") or ()]
    called = f"doorward-{_NAME_PREFIXES[kind]}-" if kind in _NAME_PREFIXES else "doorward-"
    for package in (f"{called}{name.replace('_', '-')}", f"doorward-{name.replace('_', '-')}"):
        if package in packages:
            return f"`pip install {package}` brings it."
    if any(
        re.search(rf"extra == [\"']{re.escape(name)}[\"']", requirement) for requirement in requires("doorward") or ()
    ):
        return f"`pip install doorward[{name}]` brings it."
    ours = [
        package.removeprefix(called) for package in packages if kind in _NAME_PREFIXES and package.startswith(called)
    ]
    if near := difflib.get_close_matches(name, [*installed, *ours], n=1, cutoff=0.7):
        return f"Did you mean {near[0]!r}?" + ("" if near[0] in installed else f" {to_install(kind, near[0], ())}")
    return "Install the distribution that brings it; `pip install doorward[standard]` brings the usual ones."


def _reraise(manager: Any, point: Any, error: BaseException) -> None:
    raise error


warnings.filterwarnings("ignore", module="stevedore")
