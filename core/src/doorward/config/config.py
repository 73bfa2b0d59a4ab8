"""Reads and checks `doorward.toml` and the environment; `settings` has the models.

Order, weakest first: core's `defaults.toml`, what manages this environment, the file, `DOORWARD_*`. An error in one
server is kept in `Loaded.broken`, and the other servers still serve.
"""

from __future__ import annotations

import hashlib
import keyword
import os
import re
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from doorward.config.settings import Config, ServerSettings
from doorward.config.validation import validate
from doorward.host import files
from doorward.host.cached_file import stamp
from doorward.model.errors import ConfigError
from doorward.secrets.store import Secrets

if TYPE_CHECKING:
    from doorward.config.installed_plugins import Entry, Index
    from doorward.config.layers import Lists, Managed

DEFAULT_FILE = "doorward.toml"
RESERVED_NAMES = {
    "doorward",
    "asyncio",
    "json",
    "re",
    "math",
    "datetime",
    "sys",
    "os",
    "typing",
    "time",
    "random",
    "builtins",
}
"""Names that no server may have, because it would hide a module that programs need."""


@dataclass(frozen=True, slots=True)
class Server:
    """A server that can be used: core's settings for it, and the options of its source, not validated yet."""

    name: str
    settings: ServerSettings
    options: Mapping[str, Any]
    place: str
    owned: Mapping[str, Any] = field(default_factory=dict)
    """What its keys say that belong to plugins."""
    account: str = ""
    """The account whose credentials it has here, if that is not the default."""

    @property
    def key(self) -> str:
        """The name under which its credentials are stored."""
        return f"{self.name}@{self.account}" if self.account else self.name


@dataclass(frozen=True)
class Loaded:
    """A configuration that was read: the model, its usable servers, the errors of the others, and its secrets."""

    config: Config
    folder: Path
    file: str
    secrets: Secrets
    servers: Mapping[str, Server]
    broken: dict[str, ConfigError] = field(default_factory=dict)
    named: frozenset[str] = frozenset()
    """Top-level keys that somebody set. A plugin that only a default names may be missing."""
    path: Path = Path()
    """The path of the file, whose tokens are read again when it changes."""
    principals: Any = None
    """`[principals]` of the file, to be compared with later versions."""
    rest: Mapping[str, Any] = field(default_factory=dict)
    """Everything in the file but servers and tokens: what is read only at the start."""
    stamp: tuple[int, ...] = ()
    """The `cached_file.stamp` of the file when it was read."""
    managed: Managed | None = None
    """What managed the configuration at the start."""
    required: frozenset[str] = frozenset()
    """The hook plugins that must be loaded, or nothing starts."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """What options of the command line set."""
    tables: frozenset[tuple[str, str]] = frozenset()
    """The tables that the file or the environment has, as `("hooks", NAME)`: not those of what manages it."""
    index: Index | None = None
    """The plugins among which the owners of tables are found; `None`: those that are installed."""
    owned: frozenset[str] = frozenset()
    """The tables, and keys of tables, that belong to plugins."""
    owners: tuple[Entry, ...] = ()
    """The plugins that are in use because the configuration has a table or a key of theirs."""

    @property
    def policies(self) -> dict[str, Lists]:
        """The tables `[policy]` that hold, by whose each is: that of what manages the configuration, if it has one; and
        "", the configuration's own."""
        managed = self.managed
        return {**({managed.given_by: managed.policy} if managed and managed.policy else {}), "": self.config.policy}

    def state_folder(self) -> Path:
        """The folder of the catalog, cached programs and the audit log: the configured `state`, else a folder for this
        configuration in the user's state directory."""
        if self.config.state != Path():
            return Path(os.path.abspath(self.folder / self.config.state.expanduser()))
        own = hashlib.sha256(f"{self.folder}/{self.file}".encode()).hexdigest()[:8]
        return _user_state() / f"{self.folder.name}-{own}"

    def make_state_folder(self) -> Path:
        """The state folder, which is there now and belongs to this user. Raises: ConfigError."""
        folder = self.state_folder()
        try:
            files.own_folder(folder)
        except OSError as error:
            why = f"cannot be made the state folder: {error.strerror}"
            raise ConfigError(why, place=str(folder), hint="Set DOORWARD_STATE_DIR.") from None
        return folder


def _user_state() -> Path:
    """Doorward's folder in the state directory of this user."""
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData/Local") / "doorward" / "doorward"
    if sys.platform == "darwin":
        return Path.home() / "Library/Application Support/doorward"
    return Path(os.environ.get("XDG_STATE_HOME", "").strip() or Path.home() / ".local/state") / "doorward"


def load(
    path: Path | str | None = None,
    *,
    env_file: Path | str | None = None,
    environ: Mapping[str, str] | None = None,
    options: Mapping[str, Any] | None = None,
    text: str | None = None,
    index: Index | None = None,
) -> Loaded:
    """Read the configuration. `options` of a command line are stronger than the file and the environment. `text` stands
    for what the file has: whether it may be written. `index` replaces the installed plugins.

    Raises: ConfigError if the file is missing or unreadable, or if something outside `[servers]` is wrong.
    """
    from doorward.config.layers import find_managed

    file = Path(path or DEFAULT_FILE)
    now = _read_now(file, text)
    dotenv = Path(env_file) if env_file else file.parent / ".env"
    if env_file and not os.path.lexists(dotenv):
        raise ConfigError("there is no such file", place=str(dotenv), hint="Check --env-file.")
    if os.path.lexists(dotenv) and not dotenv.is_file():
        what = (
            "a folder" if dotenv.is_dir() else "not a regular file" if dotenv.exists() else "a link that leads nowhere"
        )
        raise ConfigError(
            f"is {what}, so it cannot hold variables", place=str(dotenv), hint="Remove it, or write lines NAME=value."
        )
    written = file if text is None else None
    secrets = Secrets(dotenv, folder=file.resolve().parent, environ=environ, file=written)
    return _loaded(file, now, secrets, find_managed(), options or {}, index)


def reloaded(loaded: Loaded) -> Loaded:
    """The configuration as it is in the file now, with the same secrets, options, and what manages it. Raises:
    ConfigError."""
    now = _read_now(loaded.path)
    return _loaded(loaded.path, now, loaded.secrets, loaded.managed, loaded.options, loaded.index)


_Read = tuple[tuple[int, ...], dict[str, Any], dict[str, ConfigError]]
"""The stamp of a file, and what `read` gives."""


def _read_now(file: Path, text: str | None = None) -> _Read:
    """Raises: ConfigError."""
    found = stamp(file.stat()) if file.exists() else ()  # before it is read: a change meanwhile is seen the next time
    return found, *read(file, text)


def _loaded(
    file: Path,
    now: _Read,
    secrets: Secrets,
    managed: Managed | None,
    options: Mapping[str, Any],
    given: Index | None,
) -> Loaded:
    from doorward.config.environment import from_environment, require_settings
    from doorward.config.layers import find_index, layers
    from doorward.config.owned import model_for, owner, owners, tables_in

    index = given or find_index()
    tables_of_plugins = [entry.name for entry in index.of("table")]
    require_settings(secrets, [*Config.model_fields, *(name for name in tables_of_plugins if "." not in name)])
    found, text, repeated = now
    data, named, required = layers(text, secrets, options, managed=managed)
    config = validate(model_for(tables_in(data), index), data, secrets=secrets, place=file.name, also=tables_of_plugins)
    servers: dict[str, Server] = {}
    broken: dict[str, ConfigError] = dict(repeated)
    modules: dict[str, str] = {}
    for name, table in config.servers.items():
        twin = modules.setdefault(module_name(name), name)  # the name stays its own even if it is broken
        if name in broken:
            continue
        try:
            server = _server(name, table, file, secrets, index)
            if twin != name:
                whose = f" of {managed.given_by}" if managed and twin in managed.servers else ""
                raise ConfigError(
                    f"is imported as `{module_name(name)}`, and so is server {twin!r}{whose}",
                    place=server.place,
                    hint="Rename it." if whose else "Rename one of the two.",
                )
            servers[name] = server
        except ConfigError as error:
            broken[name] = error
    folder, principals = file.resolve().parent, data.get("principals")
    tables = frozenset(
        (table, name)
        for given in (text, from_environment(secrets, text))
        for table, named_tables in given.items()
        for name in (named_tables if isinstance(named_tables, Mapping) else ())
    )
    owned = {name for name in tables_in(data) if owner("table", name, index) is not None}
    keys = {key for server in servers.values() for key in server.owned}
    used = owners(owned.union(managed.owned if managed else ()), keys, index)
    return Loaded(
        config, folder, file.name, secrets, servers, broken, named, file.absolute(), principals, _rest(data), found,
        managed, required, options, tables, given, frozenset(owned), tuple(used),
    )  # fmt: skip


def _rest(data: Mapping[str, Any]) -> dict[str, Any]:
    """Everything but servers, and tokens, which a front end reads."""
    found = {key: value for key, value in data.items() if key not in ("servers", "principals")}
    tables = data.get("principals")
    for name, table in tables.items() if isinstance(tables, Mapping) else ():
        if own := {key: value for key, value in table.items() if key != "tokens"}:
            found[f"principals.{name}"] = own
    return found


def module_name(server: str) -> str:
    """The Python name of a server: `my-api` is imported as `my_api`."""
    return re.sub(r"\W", "_", server)


def _server(name: str, table: Mapping[str, Any], file: Path, secrets: Secrets, index: Index) -> Server:
    from doorward.config.owned import keys_of_server

    place = f"{file.name} [servers.{name}]"
    module = module_name(name)
    if not module.isidentifier() or not name.isascii() or keyword.iskeyword(module) or module in RESERVED_NAMES:
        hint = "Use letters, digits, - and _, and no name of a standard module"
        raise ConfigError(
            f"{name!r} cannot name a server",
            place=place,
            hint=f"{hint}: {name}-mcp, for example." if module in RESERVED_NAMES else f"{hint}.",
        )
    known = {k: v for k, v in table.items() if k in ServerSettings.model_fields}
    owned = keys_of_server(table, index, secrets, place)
    options = {k: v for k, v in table.items() if k not in known and k not in owned}
    settings = validate(ServerSettings, known, secrets=secrets, place=place)
    if "${principal:" in repr([settings.auth, settings.accounts, options]):
        settings = settings.model_copy(update={"per_principal": True})
    if settings.local_auth is not None and not settings.per_principal:
        raise ConfigError(
            "local_auth is for a server that is per_principal",
            place=place,
            hint="Set per_principal = true, or auth alone.",
        )
    return Server(name, settings, options, place, owned)


def read(file: Path, text: str | None = None) -> tuple[dict[str, Any], dict[str, ConfigError]]:
    """The file, or a `text` for it, as a dictionary, and the errors of servers given twice: TOML forbids them, but the
    others can serve."""
    try:
        text = file.read_text(encoding="utf-8-sig") if text is None else text.removeprefix("\ufeff")
        lines = text.split("\n")
    except FileNotFoundError:
        hint = (
            "Run `doorward init`, or `doorward import` (it takes over what MCP clients have), "
            "or name the file with --config."
        )
        raise ConfigError("there is no such file", place=str(file), hint=hint) from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"cannot be read: {error}", place=str(file), hint="It must be a text in UTF-8.") from None
    repeated: dict[str, ConfigError] = {}
    while True:
        try:
            return tomllib.loads("\n".join(lines)), repeated
        except tomllib.TOMLDecodeError as error:
            found = re.search(r"Cannot declare \('servers', '([^']+)'.*twice \(at line (\d+)", str(error))
            if not found:
                raise ConfigError(str(error), place=file.name, hint="Fix the TOML.") from None
            name, line = found[1], int(found[2])
            repeated[name] = ConfigError(
                f"[servers.{name}] is given twice, again in line {line}", place=file.name, hint="Rename or remove one."
            )
            end = next((i for i in range(line, len(lines)) if lines[i].lstrip().startswith("[")), len(lines))
            lines[line - 1 : end] = [""] * (end - line + 1)
