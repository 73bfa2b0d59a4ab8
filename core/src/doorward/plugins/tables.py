"""Tables with the settings of plugins that nobody would read: a name is misspelt, or the plugin is not in use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doorward.config.install_hints import to_install
from doorward.config.installed_plugins import Index
from doorward.data.words import in_place_of
from doorward.model.errors import ConfigError

if TYPE_CHECKING:
    from doorward.config.config import Loaded

TABLES = {
    "hooks": ("plugin", "plugins"),  # and `capabilities`
    "executors": ("executor", "executor"),
    "stores": ("store", "store"),
    "caches": ("cache", "cache"),
    "observers": ("observer", "observer"),
    "search_views": ("search_view", "search_view"),
}
"""The tables of plugins by their names, each with the kind of the plugins and the key that chooses among them."""

TABLE_OF = {kind: table for table, (kind, _) in TABLES.items()}
"""The table of each kind."""


def require_tables(loaded: Loaded, index: Index) -> None:
    """Check that each table of the file and the environment is that of a plugin. A driver may have one while another is
    chosen; a hook plugin may not: a guard with settings is meant to guard.

    Raises: ConfigError, which names the table or its variable, and the plugin that was meant.
    """
    for table, name in sorted(loaded.tables):
        if table not in TABLES:
            continue
        kind, key = TABLES[table]
        value = getattr(loaded.config, key, [])  # which may be a plugin's own
        chosen = [*value] if isinstance(value, list) else [value] if value else []
        chosen += loaded.config.capabilities if kind == "plugin" else []
        installed = [entry.name for entry in index.of(kind)]
        if name in chosen or (name in installed and kind != "plugin"):
            continue
        raise _unknown(loaded, table, name, installed, chosen)


def _unknown(loaded: Loaded, table: str, name: str, installed: list[str], chosen: list[str]) -> ConfigError:
    kind, key = TABLES[table]
    variables = loaded.secrets.variables(f"DOORWARD_{table.upper()}__{name.upper()}__")
    place = next(iter(sorted(variables)), f"{loaded.file} [{table}.{name}]")
    if kind == "plugin" and name in installed:
        return ConfigError(
            f"the plugin {name!r} is installed and not in use", place=place, hint=f'Add it: {key} = [..., "{name}"]'
        )
    known = sorted({*chosen, *installed})
    told = in_place_of(name, known)
    what = f"named in `{key}`" if kind == "plugin" else f"installed or named in `{key}`"
    hint = None if "did you mean" in told else to_install(kind, name, ())
    return ConfigError(f"no {kind} {name!r} is {what}{told}", place=place, hint=hint)
