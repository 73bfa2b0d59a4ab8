"""The layers of the configuration: core's defaults, the user's own, and what a manager of this environment gives below
and above it.

A manager is the only entry point in `doorward.configuration`. It is asked before any plugin is imported: which plugins
may be used, which keys have which values, and what no user may set.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from doorward.config.install_hints import owned
from doorward.config.installed_plugins import Entry, Index, installed
from doorward.model.errors import ConfigError

if TYPE_CHECKING:
    from doorward.model.integrity import Integrity
    from doorward.secrets.store import Secrets


class Branding(NamedTuple):
    """What the product is called where people and agents see it; "" is Doorward's own word."""

    name: str = ""
    """Of the MCP server."""
    title: str = ""
    instructions: str = ""
    """What agents are told, before Doorward's own text."""


class Lists(Protocol):
    """A table `[policy]`, with the keys of plugins in it as attributes (`rules`)."""

    @property
    def allow(self) -> Sequence[str]:
        """Patterns of what may be called."""

    @property
    def deny(self) -> Sequence[str]:
        """Patterns of what may not be called; wins."""


class Managed(NamedTuple):
    """What a manager says of the configuration. `check` gets each layer of the user, the configuration without any
    user, and a hint where to remove what it refuses. It raises ConfigError for a value that no user may set."""

    given_by: str
    """Its distribution and version, for messages."""
    title: str
    """What people are shown, with the version."""
    check: Callable[[Mapping[str, Any], Mapping[str, Any], str], None]
    may_set: Callable[[str], bool] = lambda key: True
    """Whether a user may set a key of the top to another value."""
    below: Mapping[str, Any] = {}
    """What applies where nobody sets a key."""
    above: Mapping[str, Any] = {}
    """What is stronger than all layers of the user."""
    required: Sequence[str] = ()
    """Hook plugins that are loaded first, whatever the user says, or nothing starts."""
    policy: Lists | None = None
    """Holds beside the user's."""
    owned: Collection[str] = ()
    """The keys of `policy` that belong to plugins: `policy.rules`."""
    branding: Branding = Branding()
    about: str = ""
    """What it allows, for operators, in a line."""
    integrity: Callable[[], Integrity] | None = None
    """Makes what vouches for the functions in the catalog of a gateway, if what others store there is not used."""

    @property
    def servers(self) -> list[str]:
        """The servers that it brings."""
        return [*dict.fromkeys(name for table in (self.below, self.above) for name in table.get("servers", {}))]


class Manager(Protocol):
    """What the entry point in `doorward.configuration`, called with all that is installed, answers; or it answers
    `None`, where nothing is managed. Every command asks for `title` and `index`, `--help` too, so they are quick. All
    raise ConfigError: then nothing starts."""

    @property
    def title(self) -> str:
        """What people are shown, with the version."""

    def index(self) -> Index:
        """The plugins that may be used. Its `check` is called before any of them is imported."""

    def managed(self) -> Managed:
        """What it says of the configuration."""


class Layers(NamedTuple):
    """The merged configuration, the top-level keys that somebody set, and the hook plugins that must be there."""

    data: dict[str, Any]
    named: frozenset[str]
    required: frozenset[str]


def find_index() -> Index:
    """The plugins of this environment that may be used. Raises: ConfigError."""
    entries = installed()
    manager = _manager(entries)
    return Index(entries) if manager is None else manager.index()


def find_managed() -> Managed | None:
    """What a manager says of the configuration; `None` if nothing is managed. Raises: ConfigError."""
    manager = _manager(installed())
    return None if manager is None else manager.managed()


def managed_title() -> str | None:
    """What a manager has people shown; `None` if nothing is managed. Raises: ConfigError."""
    manager = _manager(installed())
    return None if manager is None else manager.title


def _manager(entries: list[Entry]) -> Manager | None:
    """The manager of this environment. Raises: ConfigError if there are several, if it does not import, or if what is
    installed here needs one that is not."""
    found = [entry for entry in entries if entry.kind == "configuration"]
    if len(found) > 1:
        several = ", ".join(f"{entry.given_by} in {entry.place}" for entry in found)
        raise ConfigError(f"the configuration is managed by several: {several}", hint="Uninstall all but one.")
    here = {entry.kind: entry.given_by for entry in entries} | {name: name for name in os.environ if os.environ[name]}
    for what, package in owned()["managed"].items():
        if what in here and package not in {entry.distribution for entry in found}:
            why = f"{here[what]} means nothing without {package}, which is not installed"
            raise ConfigError(why, hint=f"pip install {package}")
    if not found:
        return None
    (entry,) = found
    try:
        make = entry.point.load()
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # it may fail in any way, and nothing starts without it
        why = f"{entry.id} does not import: {type(error).__name__}: {error}".splitlines()[0]
        raise ConfigError(why, hint=f"Reinstall or upgrade {entry.distribution}.") from error
    manager: Manager | None = make(entries)
    return manager


def layers(
    file: Mapping[str, Any],
    secrets: Secrets,
    options: Mapping[str, Any] | None = None,
    *,
    managed: Managed | None,
) -> Layers:
    """The merged configuration, from the weakest to the strongest layer: core, what is managed below, the file, the
    environment, `options` of the command line, what is managed above.

    Raises: ConfigError if a layer of the user sets what it may not.
    """
    from doorward.config.environment import from_environment

    below, above = (managed.below, managed.above) if managed else ({}, {})
    environ = from_environment(secrets, merge(merge(below, file), above))
    own = {
        "Remove it from the configuration file.": file,
        "Remove it from the environment, or from .env.": environ,
        "Leave out the option.": options or {},
    }
    chosen = below
    for hint, layer in own.items():
        if managed:
            managed.check(layer, _with_required(managed, merge(_core(), merge(below, above))), hint)
        chosen = merge(chosen, layer)
    chosen = merge(chosen, above)
    named, data = frozenset(chosen), merge(_core(), chosen)
    if managed is None:
        return Layers(data, named, frozenset())
    if isinstance(servers := data.get("servers"), Mapping):  # its own come first, and so have their import names
        data["servers"] = {name: servers[name] for name in (*managed.servers, *servers) if name in servers}
    return Layers(_with_required(managed, data), named, frozenset(managed.required))


def merge(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """`above` over `below`; tables are merged, everything else is replaced."""
    merged = dict(below)
    for key, value in above.items():
        old = merged.get(key)
        merged[key] = merge(old, value) if isinstance(old, Mapping) and isinstance(value, Mapping) else value
    return merged


def _with_required(managed: Managed, data: dict[str, Any]) -> dict[str, Any]:
    """The configuration with the required plugins, first and once."""
    required, plugins = managed.required, data["plugins"]
    plugins = [plugins] if isinstance(plugins, str) else plugins  # as `Config` takes it
    if not required or not isinstance(plugins, list):
        return data
    return {**data, "plugins": [*required, *(name for name in plugins if name not in required)]}


def _core() -> dict[str, Any]:
    """Core's own defaults."""
    import tomllib

    with open(os.path.join(os.path.dirname(__file__), "..", "defaults.toml"), encoding="utf-8") as opened:
        defaults: dict[str, Any] = tomllib.loads(opened.read())["defaults"]
    return defaults
