"""Loads plugins with stevedore: drivers by name when they are needed, hook plugins in the configured order."""

from __future__ import annotations

import inspect
import sys
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cache
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

import anyio
import pluggy
from stevedore import DriverManager

from doorward.config.install_hints import brought, to_install
from doorward.config.installed_plugins import GROUPS, Entry, Index, PluginId, near_group
from doorward.host.logs import log
from doorward.model.contexts import PluginContext
from doorward.model.drivers import Auth, Cache, HasHookspecs, HasSettings, Observer, SearchView, Source
from doorward.model.errors import ConfigError, DoorwardError, MissingSecret, PluginError
from doorward.model.executors import Executor
from doorward.model.functions import Function
from doorward.model.storage import Store
from doorward.model.version import PLUGIN_API
from doorward.plugins import hookspecs
from doorward.plugins.block_watch import BlockWatch
from doorward.plugins.checks import PROTOCOLS, driver_faults, hook_faults
from doorward.plugins.failures import Failures, contained, said
from doorward.plugins.hook_answers import Answer, answers_many, conforming
from doorward.plugins.hooks import AwaitedAnswer, Hooks
from doorward.plugins.lifetimes import HookPlugin, Lifetimes
from doorward.plugins.tables import TABLE_OF, require_tables

if TYPE_CHECKING:
    from doorward.config.config import Loaded
    from doorward.model.settings import Settings


class _FromIndex:
    """Makes a stevedore manager read our index instead of its cache file."""

    index: Index

    def list_entry_points(self) -> list[Any]:
        return [e.point for e in self.index.entries if GROUPS[e.kind] == self.namespace]  # type: ignore[attr-defined]


class Plugins:
    """The plugins of one gateway: drivers by kind and name, and the hooks of the configured hook plugins."""

    def __init__(self, index: Index) -> None:
        self.index = index
        self._drivers, self._ids = cache(self._driver), cache(self._id)
        self.failures, self.watch = Failures(), BlockWatch()
        self.manager = Hooks(self.failures, self.watch)
        self._hook_plugins: list[HookPlugin] = []
        self.lifetimes = Lifetimes(self._hook_plugins, self.failures)

    @property
    def hook(self) -> Any:
        """pluggy's relay, through which every hook is called: `plugins.hook.guard_call(call=…)`."""
        return self.manager.hook

    @overload
    def driver(self, kind: Literal["source"], name: str) -> type[Source]: ...
    @overload
    def driver(self, kind: Literal["auth"], name: str) -> type[Auth]: ...
    @overload
    def driver(self, kind: Literal["store"], name: str) -> type[Store]: ...
    @overload
    def driver(self, kind: Literal["cache"], name: str) -> type[Cache]: ...
    @overload
    def driver(self, kind: Literal["executor"], name: str) -> type[Executor]: ...
    @overload
    def driver(self, kind: Literal["observer"], name: str) -> type[Observer]: ...
    @overload
    def driver(self, kind: Literal["search_view"], name: str) -> type[SearchView]: ...
    @overload
    def driver(self, kind: str, name: str) -> Any: ...
    def driver(self, kind: str, name: str) -> Any:
        """The driver class of a kind by its name in the configuration. Imports no other plugin.

        Raises: PluginError if it is missing, installed twice, does not import, is for another plugin API, or is none.
        """
        return self._drivers(kind, name)

    def _driver(self, kind: str, name: str) -> Any:
        entry = self._entry(kind, name)
        manager = type("Drivers", (_FromIndex, DriverManager), {"index": Index([entry])})
        loaded = self._load(entry, lambda: manager(GROUPS[kind], name, on_load_failure_callback=_reraise).driver)
        with self.blamed(kind, name, "its class"):
            faults = driver_faults(kind, loaded)
        if faults:
            raise PluginError(f"{entry.id} {'; '.join(faults)}", hint=f"Upgrade {entry.distribution}.")
        self.watch.add_plugin(entry.id, loaded, entry.point.module)
        return loaded

    def id(self, kind: str, name: str) -> PluginId:
        """What messages call a plugin."""
        return self._ids(kind, name)

    def _id(self, kind: str, name: str) -> PluginId:
        found = self.index.named(kind, name)
        return found[0].id if len(found) == 1 else PluginId(kind, name)

    def settings(self, kind: str, name: str, loaded: Loaded) -> Settings:
        """The settings of a plugin, from its table in the configuration. Raises: PluginError, ConfigError."""
        table = TABLE_OF[kind]
        options, place = getattr(loaded.config, table, {}).get(name, {}), f"{loaded.file} [{table}.{name}]"
        return self.validated(kind, name, options, secrets=loaded.secrets, place=place)

    def validated(self, kind: str, name: str, options: Mapping[str, Any], **given: Any) -> Settings:
        """Options of a plugin as its `Settings`; `given` are other arguments of `validate`.

        Raises: PluginError, ConfigError.
        """
        from doorward.config.validation import validate
        from doorward.model.settings import Settings

        driver = self.driver(kind, name)
        model = driver.Settings if isinstance(driver, HasSettings) else Settings
        with self.blamed(kind, name, "its Settings"):
            return validate(model, dict(options), of=str(self.id(kind, name)), **given)

    def made(
        self,
        kind: str,
        name: str,
        loaded: Loaded,
        state: Path,
        raising: type[DoorwardError] = PluginError,
        **more: Any,
    ) -> Any:
        """A plugin that the configuration names, made with its settings; `more` are further parts of its context.

        Raises: `raising`; what `settings` raises.
        """
        context = PluginContext(name, self.settings(kind, name, loaded), state, folder=loaded.folder, **more)
        return self.constructed(kind, name, context, raising)

    def constructed(
        self, kind: str, name: str, context: Any, raising: type[DoorwardError] = PluginError, **about: str
    ) -> Any:
        """A plugin, made with its context. Raises: `raising`."""
        driver, id, began = self.driver(kind, name), self.id(kind, name), time.monotonic()
        with self.blamed(kind, name, "its constructor", raising, **about):
            try:
                made = driver(context)
            except DoorwardError as error:
                if kind == "plugin" and id.given_by not in f"{error} {error.hint}":
                    error.add_note(f"The {id} says so.")
                raise
            self.watch.log_if_slow(id, "its constructor", began)
            return conforming(PROTOCOLS[kind][0], made) if kind in PROTOCOLS else made

    def blamed(
        self, kind: str, name: str, method: str, raising: type[DoorwardError] = PluginError, **about: str
    ) -> AbstractContextManager[None]:
        """See `Failures.blamed`."""
        return self.failures.blamed(self.id(kind, name), method, raising, **about)

    def load_hooks(self, names: Sequence[str], make: Callable[[str, Any], Any]) -> None:
        """Load hook plugins, to be called in this order; `make(name, loaded)` turns a class into its instance. Hooks
        that they declare themselves are there for all of them.

        Raises: PluginError at the first one that cannot be used, because a configured guard must guard.
        """
        for name in reversed(names):
            plugin = self.driver("plugin", name)
            for specs in plugin.hookspecs if isinstance(plugin, HasHookspecs) else ():
                with self.blamed("plugin", name, "its hookspecs"):
                    self.manager.add_hookspecs(specs)
        for name in reversed(names):  # pluggy calls the plugin first that was registered last
            entry = self._entry("plugin", name)
            plugin = make(name, self.driver("plugin", name))
            with self.blamed("plugin", name, "its class"):
                faults = hook_faults(plugin, self.manager.declared, answers_many)
            if faults:
                raise PluginError(
                    f"{entry.id} does not fit its hooks: {'; '.join(faults)}",
                    hint=f"Upgrade {entry.distribution}, or leave it out of `plugins`.",
                )
            try:
                self.manager.register(plugin, name, entry.given_by)
                self.manager.check_pending()
            except (pluggy.PluginValidationError, ValueError) as error:
                hint = f"Upgrade {entry.distribution}, or leave it out of `plugins`."
                raise PluginError(f"{entry.id} does not fit its hooks: {error}", hint=hint) from None
            self._hook_plugins.insert(0, HookPlugin(entry.id, plugin))

    def load_configured(self, loaded: Loaded, state: Path, **more: Any) -> None:
        """Load the hook plugins of a configuration: those that it names, its capabilities, then those that own a table
        or a key in it. One that only a default names may be missing, unless somebody has given it settings. `more` are
        further parts of their contexts.

        Raises: PluginError, ConfigError.
        """
        tables = {name: attrgetter(name)(loaded.config) for name in loaded.owned}
        more["vault_key"], more["vault_key_before"] = loaded.config.vault_keys

        def made(name: str, plugin: Any) -> Any:
            if isinstance(plugin, type):
                return self.made("plugin", name, loaded, state, tables=tables, policies=loaded.policies, **more)
            if name in loaded.config.hooks:
                place = f"{loaded.file} [hooks.{name}]"
                raise ConfigError(f"{self.id('plugin', name)} is no class, and takes no settings", place=place)
            return plugin

        self.failures.scrub = loaded.secrets.scrub
        require_tables(loaded, self.index)
        for stray in self.index.stray:
            about = {"name": stray.name, "distribution": stray.given_by, "near": near_group(stray.kind)}
            log.warning("plugin_in_unknown_group", group=stray.kind, **about)
        required = {*loaded.required, *(name for table, name in loaded.tables if table == "hooks")}
        chosen, further = (
            [
                name
                for name in getattr(loaded.config, key)
                if key in loaded.named or name in required or self.index.named("plugin", name)
            ]
            for key in ("plugins", "capabilities")
        )
        in_use = dict.fromkeys([*further, *(entry.name for entry in loaded.owners)])
        self.load_hooks([*chosen, *(name for name in in_use if name not in chosen)], made)

    def each(self, hook: str, use: Callable[[Any], Any], **given: Any) -> list[Any]:
        """The additions of all plugins by a hook, each converted by `use`. One that fails is logged and left out."""
        found = []
        for answer in getattr(self.hook, hook)(**given):
            try:
                with contained():
                    found.append(use(answer))
            except Exception as error:
                who = answer.plugin if isinstance(answer, Answer) else PluginId("plugin", "a hook wrapper")
                self.failures.told(who, hook, error)
        return found

    async def lines(self, hook: str, **given: Any) -> list[str]:
        """The lines that all plugins answer to a hook that may wait. One that takes too long has failed."""
        found: list[str] = []
        for answer in getattr(self.hook, hook)(**given):
            if isinstance(answer, AwaitedAnswer):
                with anyio.move_on_after(hookspecs.WAIT_SECONDS) as scope:
                    found += await answer or ()
                if scope.cancelled_caught:
                    late = TimeoutError(f"it took more than {hookspecs.WAIT_SECONDS:g} s")
                    self.failures.told(answer.plugin, hook, late)
            else:
                found += answer or ()
        return found

    def change(self, server: str, functions: list[Function], definitions: dict[str, Any]) -> None:
        """Let plugins change the functions of a server, and what their schemas refer to.

        Raises: DoorwardError if one has failed, after all were called: functions that it should have removed must not
        be stored.
        """
        for failure in self.hook.source_compiled(server=server, functions=functions, definitions=definitions):
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
                why = self.index.why(entry)
                raise PluginError(f"{kind} {name!r} of {entry.given_by} is not allowed by {why}")
        have = [e.name for e in self.index.of(kind)]
        why = f"no {kind} named {name!r}; installed: {', '.join(have) or 'none'}"
        elsewhere = [e for e in [*self.index.stray, *self.index.entries] if e.name == name]
        if not elsewhere or brought(name):
            raise PluginError(why, hint=to_install(kind, name, have))
        group, giver = GROUPS.get(elsewhere[0].kind, elsewhere[0].kind), elsewhere[0].given_by
        raise PluginError(
            f"{why}. {giver} gives that name in the entry-point group {group!r}, not in {GROUPS[kind]!r}",
            hint="Name it where that group is named, or tell its author.",
        )

    def _load(self, entry: Entry, load: Callable[[], Any]) -> Any:
        self.index.check()
        try:
            with contained():
                loaded = load()
                wanted = _api(entry, loaded)
        except Exception as error:  # a plugin may fail in any way, and the message names the plugin
            raise PluginError(
                f"{entry.id} does not import: {said(error)}",
                hint=f"Reinstall or upgrade {entry.distribution}.",
            ) from error
        if wanted != PLUGIN_API:
            raise PluginError(
                f"{entry.id} is for plugin API {wanted!r}, this is {PLUGIN_API}",
                hint=f"Upgrade {entry.distribution} or doorward.",
            )
        return loaded


def _api(entry: Entry, loaded: Any) -> Any:
    """The interface that a plugin was made for, as it says itself, or its module; ours, if nobody says."""
    places: tuple[Any, ...] = (loaded, sys.modules.get(entry.point.module), inspect.getmodule(loaded))
    return next((place.PLUGIN_API for place in places if hasattr(place, "PLUGIN_API")), PLUGIN_API)


def _reraise(manager: Any, point: Any, error: BaseException) -> None:
    raise error


warnings.filterwarnings("ignore", module="stevedore")
