"""stevedore finds, pluggy calls. Drivers are asked for by name; hook plugins are loaded in the configured order."""

from __future__ import annotations

import difflib
import inspect
import re
import warnings
from collections.abc import Callable, Generator, Sequence
from functools import cache
from importlib.metadata import requires
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pluggy
from stevedore import DriverManager, NamedExtensionManager

from doorward import PLUGIN_API
from doorward.config.index import GROUPS, Entry, Index
from doorward.host.logs import log
from doorward.model.contexts import PluginContext
from doorward.model.errors import ConfigError, MissingSecret, PluginError
from doorward.plugins import hookspecs
from doorward.plugins.hookspecs import OBSERVERS

if TYPE_CHECKING:
    from doorward.config.config import Loaded


class _FromIndex:
    """Makes a stevedore manager read our index in place of its cache file."""

    index: Index

    def list_entry_points(self) -> list[Any]:
        return [e.point for e in self.index.entries if GROUPS[e.kind] == self.namespace]  # type: ignore[attr-defined]


class Plugins:
    """The plugins of one gateway: drivers by kind and name, and the hooks of the configured hook plugins."""

    def __init__(self, index: Index) -> None:
        self.index = index
        self.driver = cache(self._driver)
        self.manager = pluggy.PluginManager("doorward")
        for spec in hookspecs.SPECS:
            self.manager.add_hookspecs(spec)

    @property
    def hook(self) -> Any:
        """pluggy's relay: `plugins.hook.guard_call(call=…)`."""
        return self.manager.hook

    def _driver(self, kind: str, name: str) -> Any:
        """The driver class of a kind by its word in the configuration. Imports it, and nothing else.

        Raises: PluginError if it is missing, given twice, does not import or is for another plugin API.
        """
        entry = self._entry(kind, name)
        manager = type("Drivers", (_FromIndex, DriverManager), {"index": Index([entry])})
        loaded = self._load(entry, lambda: manager(GROUPS[kind], name, on_load_failure_callback=_reraise).driver)
        missing = [m for m in _MEMBERS.get(kind, ()) if not hasattr(loaded, m)]
        if missing:
            raise PluginError(f"{kind} {name!r} of {entry.given_by} lacks {', '.join(missing)}")
        return loaded

    def load_hooks(self, names: Sequence[str], make: Callable[[str, Any], Any]) -> None:
        """Load hook plugins, to be called in this order; `make(name, loaded)` turns a class into its instance.

        Raises: PluginError at the first that cannot be used: a guard that is configured must guard.
        """
        for name in reversed(names):  # pluggy calls what was registered last first
            entry = self._entry("plugin", name)
            kind = type("Hooks", (_FromIndex, NamedExtensionManager), {"index": Index([entry])})
            loaded = self._load(
                entry,
                lambda kind=kind, name=name: kind(GROUPS["plugin"], [name], on_load_failure_callback=_reraise)[name].plugin,  # type: ignore[misc]
            )
            try:
                self.manager.register(make(name, loaded), name)
                self.manager.check_pending()
                self._isolate(name)
            except pluggy.PluginValidationError as error:
                raise PluginError(f"plugin {name!r} of {entry.given_by} does not fit its hook: {error}") from None

    def load_configured(self, loaded: Loaded, state: Path) -> None:
        """Load the hook plugins that a configuration names. One that is only a default may be missing.

        Raises: PluginError, ConfigError.
        """
        from doorward.config.config import validate
        from doorward.config.settings import Settings

        def made(name: str, plugin: Any) -> Any:
            if not isinstance(plugin, type):
                return plugin
            place, model = f"{loaded.file} [hooks.{name}]", getattr(plugin, "Settings", Settings)
            settings = validate(model, loaded.config.hooks.get(name, {}), secrets=loaded.secrets, place=place)
            return plugin(PluginContext(name, settings, state))

        chosen = "plugins" in loaded.named
        self.load_hooks([n for n in loaded.config.plugins if chosen or self.index.named("plugin", n)], made)

    def each(self, hook: str, use: Callable[[Any], Any] = lambda answer: answer, **given: Any) -> list[tuple[str, Any]]:
        """What each plugin answers, as `use` makes it, by the plugin's name. One that fails is logged, and keeps nobody from
        answering: for hooks that only add something."""
        found = []
        for implementation in reversed(getattr(self.manager.hook, hook).get_hookimpls()):
            try:
                answer = implementation.function(*(given[name] for name in implementation.argnames))
                found.append((implementation.plugin_name, use(answer)))
            except Exception:
                log.exception("plugin_failed", plugin=implementation.plugin_name, hook=hook)
        return found

    def resolve_secret(self, scheme: str, name: str) -> str | None:
        """What a plugin answers for `${scheme:name}`.

        Raises: ConfigError, as the plugin says it; PluginError, which does not quote it, if it fails otherwise; MissingSecret if no
        plugin of this scheme is loaded.
        """
        try:
            found: str | None = self.hook.resolve_secret(scheme=scheme, name=name)
        except ConfigError:
            raise
        except Exception as error:
            raise PluginError(f"the plugin for ${{{scheme}:…}} fails with {type(error).__name__}") from None  # its text may hold a secret
        if found is None and not self.manager.has_plugin(scheme):
            enable = f'name it in the configuration: plugins = [..., "{scheme}"]'
            installed = self.index.named("plugin", scheme)
            hint = f"To use it, {enable}." if installed else f"{to_install('plugin', scheme, ())} Then {enable}."
            raise MissingSecret(f"no plugin that is loaded knows ${{{scheme}:…}}", hint=hint)
        return found

    def _isolate(self, name: str) -> None:
        """Make the observers of a plugin fail for themselves: pluggy would leave out all that come after one that raises."""
        for hook in OBSERVERS:
            for found in getattr(self.manager.hook, hook).get_hookimpls():
                if found.plugin_name == name:
                    wraps = found.wrapper or found.hookwrapper
                    found.function = (_isolated_wrapper if wraps else _isolated)(found.function, name, hook)

    def tell(self, hook: str, **told: Any) -> None:
        """Tell observers. One that fails is logged: what has happened has happened, and nobody may take it back."""
        try:
            getattr(self.manager.hook, hook)(**told)
        except Exception:
            log.exception("observer_failed", hook=hook)

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
        raise PluginError(f"no {kind} named {name!r}; installed: {', '.join(have) or 'none'}", hint=to_install(kind, name, have))

    def _load(self, entry: Entry, load: Callable[[], Any]) -> Any:
        what = f"{entry.kind} {entry.name!r} of {entry.given_by}"
        try:
            loaded = load()
        except Exception as error:  # a plugin may fail in any way; the message names it
            raise PluginError(
                f"{what} does not import: {type(error).__name__}: {error}", hint=f"Reinstall or upgrade {entry.distribution}."
            ) from error
        wanted = getattr(loaded, "PLUGIN_API", getattr(inspect.getmodule(loaded), "PLUGIN_API", PLUGIN_API))
        if wanted != PLUGIN_API:
            raise PluginError(f"{what} is for plugin API {wanted}, this is {PLUGIN_API}", hint=f"Upgrade {entry.distribution} or doorward.")
        return loaded


_MEMBERS = {
    "source": ("Settings", "fingerprint", "compile", "call", "close"),
    "auth": ("Settings", "create_auth"),
    "cache": ("Settings", "put", "get", "close"),
    "executor": ("Settings", "capabilities", "open", "close"),
}


_NAMING = {"executor": "sandbox", "auth": "auth", "cache": "cache", "plugin": "guard"}
"""By our naming rule, the word that stands in a distribution's name before that of its driver or hooks; sources have none."""


def _isolated(observe: Callable[..., Any], plugin: str, hook: str) -> Callable[..., Any]:
    """An observer whose failure is logged, and nobody else's."""

    def observed(*told: Any) -> None:
        try:
            observe(*told)
        except Exception:
            log.exception("observer_failed", plugin=plugin, hook=hook)

    return observed


def _isolated_wrapper(wrap: Callable[..., Any], plugin: str, hook: str) -> Callable[..., Any]:
    """The same of a hook wrapper: without it, what it wraps is told all the same."""

    def wrapped(*told: Any) -> Generator[None, Any, Any]:
        inside = None
        try:
            inside = wrap(*told)
            next(inside)
        except Exception:
            log.exception("observer_failed", plugin=plugin, hook=hook)
            inside = None
        answers = yield
        try:
            if inside is not None:
                inside.send(answers)
                raise RuntimeError("a hook wrapper yields once")
        except StopIteration as end:
            return end.value
        except Exception:
            log.exception("observer_failed", plugin=plugin, hook=hook)
        return answers

    return wrapped


def to_install(kind: str, name: str, installed: Sequence[str]) -> str:
    """What to install, or which name was meant. Only distributions that core itself names as extras: a guess could name anybody's."""
    packages = [re.split(r"[^\w-]", requirement)[0] for requirement in requires("doorward") or ()]
    called = f"doorward-{_NAMING[kind]}-" if kind in _NAMING else "doorward-"
    for package in (f"{called}{name.replace('_', '-')}", f"doorward-{name.replace('_', '-')}"):
        if package in packages:
            return f"`pip install {package}` brings it."
    if any(re.search(rf"extra == [\"']{re.escape(name)}[\"']", requirement) for requirement in requires("doorward") or ()):
        return f"`pip install doorward[{name}]` brings it."
    ours = [package.removeprefix(called) for package in packages if kind in _NAMING and package.startswith(called)]
    if near := difflib.get_close_matches(name, [*installed, *ours], n=1, cutoff=0.7):
        return f"Did you mean {near[0]!r}?" + ("" if near[0] in installed else f" {to_install(kind, near[0], ())}")
    return "Install the distribution that brings it; `pip install doorward[standard]` brings the usual ones."


def _reraise(manager: Any, point: Any, error: BaseException) -> None:
    raise error


warnings.filterwarnings("ignore", module="stevedore")
