"""Whether the tables of a distribution fit the plugins that read them, as they are installed where it is built."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from doorward import ConfigError, PluginError
from doorward.abilities import HasSettings
from doorward.administration import Plugins
from doorward.configuration import Entry, Index, ServerSettings, explain, installed, is_plain
from packaging.utils import canonicalize_name
from pydantic import BaseModel, ValidationError

from doorward_dist.source import FILE, PLACE, Source
from doorward_dist.wheels import Wheel

_TABLES = {
    "hooks": ("plugin", "plugins", "doorward.plugins"),
    "executors": ("executor", "executor", "doorward.executor"),
    "stores": ("store", "store", "doorward.store"),
    "caches": ("cache", "cache", "doorward.cache"),
    "observers": ("observer", "observer", "doorward.observer"),
    "search_views": ("search_view", "search_view", "doorward.search_view"),
}
"""The tables of plugins that a configuration names: their kind, the key that names them, and their group of entry
points."""


def check_names(source: Source, pinned: Iterable[Wheel]) -> None:
    """Refuse a plugin that no pinned package gives: a lock of `hooks.audit_jsnl` would lock nothing. Raises:
    ConfigError."""
    wheels = list(pinned)
    for table, (_, key, group) in _TABLES.items():
        known = [name for wheel in wheels for name in wheel.plugins(group)]
        known += source.distribution.hooks if table == "hooks" else ()
        chosen = source.defaults.get(key, [])
        named = [path[1] for path in source.locked_tables() if path[0] == table and len(path) > 1 and path[1] != "*"]
        named += [*source.defaults.get(table, {}), *([chosen] if isinstance(chosen, str) else chosen)]
        named += source.defaults.get("capabilities", []) if table == "hooks" else []
        for name in named:
            elsewhere = source.allow_extra and not (table == "hooks" and name in source.required.plugins)
            if name not in known and not elsewhere:  # of what is not pinned nobody knows what it gives
                close = get_close_matches(name, known, n=1)
                why = f"did you mean {close[0]!r}?" if close else f"they give {', '.join(sorted(known)) or 'none'}"
                raise ConfigError(
                    f"{name!r} is given by no pinned package; {why}",
                    place=f"{FILE} {key} or {table}",
                    hint="Pin its package.",
                )


def check_paths(source: Source, folder: Path) -> None:
    """Refuse a relative path to a file of the distribution: it would start at the user's configuration, and lead to a
    file of the user's. Raises: ConfigError."""
    for layer, table in (("defaults", source.defaults), ("locked", source.locked)):
        for text in _texts(table):
            if text and not os.path.isabs(text) and "\0" not in text and (folder / "src" / text).is_file():
                why = (
                    f"{text!r} is a file of this distribution, but would be looked for beside the user's configuration"
                )
                raise ConfigError(why, place=f"{FILE} [{layer}]", hint=f'Write "{PLACE}/{text}".')


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list):
        for each in value.values() if isinstance(value, Mapping) else value:
            yield from _texts(each)


def check_tables(source: Source) -> list[str]:
    """Check `[defaults]` and `[locked]` by the settings of plugins. Returns: what could not be checked, and why.

    Raises: ConfigError for what does not fit.
    """
    pins = {pin.name: pin for pin in source.distribution.pins}
    entries = [e for e in installed() if canonicalize_name(e.distribution) in pins]
    plugins, unchecked = Plugins(Index(entries)), []
    for layer, tables in (("defaults", source.defaults), ("locked", source.locked)):
        for server, table in tables.get("servers", {}).items():
            own = {key: value for key, value in table.items() if key in ServerSettings.model_fields}
            _fits(ServerSettings, own, f"{FILE} [{layer}.servers.{server}]")
        for path, kind, name, options in _plugin_tables(tables):
            place = f"{FILE} [{layer}.{path}]"
            entry = next((e for e in entries if (e.kind, e.name) == (kind, name)), None)
            if name in source.distribution.hooks and kind == "plugin":
                unchecked.append(f"{place}: its plugin is part of this distribution")
            elif entry is None:
                unchecked.append(f"{place}: no pinned package that is installed here gives {kind} {name!r}")
            else:
                if entry.version not in pins[canonicalize_name(entry.distribution)].specifier:
                    unchecked.append(f"{place}: checked by {entry.given_by}, which is installed here")
                _check(plugins, entry, options, place)
    return unchecked


def _plugin_tables(tables: Mapping[str, Any]) -> Iterator[tuple[str, str, str, Mapping[str, Any]]]:
    """The tables that plugins read: where they stand, the kind and name of the plugin, the options."""
    for table, (kind, *_) in _TABLES.items():
        for name, options in tables.get(table, {}).items():
            yield f"{table}.{name}", kind, name, options
    for server, options in tables.get("servers", {}).items():
        if "source" in options:
            own = {key: value for key, value in options.items() if key not in ServerSettings.model_fields}
            yield f"servers.{server}", "source", options["source"], own
        auths = options.get("auth", [])
        for auth in auths if isinstance(auths, list) else [auths]:
            if "type" in auth:
                own = {key: value for key, value in auth.items() if key != "type"}
                yield f"servers.{server}.auth", "auth", auth["type"], own


def _check(plugins: Plugins, entry: Entry, options: Mapping[str, Any], place: str) -> None:
    try:
        driver = plugins.driver(entry.kind, entry.name)
    except PluginError as error:
        raise ConfigError(str(error), place=place, hint=error.hint) from None
    if isinstance(driver, HasSettings):
        _fits(driver.Settings, options, place)
    elif options:
        raise ConfigError(f"{entry.kind} {entry.name!r} of {entry.given_by} has no settings", place=place)


def _fits(model: type[BaseModel], options: Mapping[str, Any], place: str) -> None:
    try:
        model.model_validate(options, context={"secrets": None, "place": place})
    except ValidationError as error:
        if wrong := [explain(model, each) for each in error.errors() if not _given_elsewhere(each)]:
            raise ConfigError("; ".join(wrong), place=place) from None


def _given_elsewhere(error: Mapping[str, Any]) -> bool:
    """Whether an error may vanish with what users give beside it, or with the value of a variable."""
    return error["type"] == "missing" or (isinstance(error["input"], str) and not is_plain(error["input"]))
