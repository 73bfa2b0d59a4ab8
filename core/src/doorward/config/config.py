"""Reads and checks `doorward.toml` and the environment; `settings` has the models.

Order, weakest first: core's `defaults.toml`, an installed curated distribution, the file, `DOORWARD_*`. An error in one
server is kept in `Loaded.broken`, and the other servers still serve.
"""

from __future__ import annotations

import difflib
import hashlib
import keyword
import os
import re
import sys
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar, get_args, get_origin

from pydantic import BaseModel, ValidationError

from doorward.config.settings import Config, ServerSettings
from doorward.host import files
from doorward.host.cached_file import stamp
from doorward.model.errors import ConfigError, MissingSecret
from doorward.model.settings import Settings
from doorward.secrets.store import Secrets

T = TypeVar("T", bound="Settings")

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
    path: Path | str | None = None, *, env_file: Path | str | None = None, environ: Mapping[str, str] | None = None
) -> Loaded:
    """Read the configuration.

    Raises: ConfigError if the file is missing or unreadable, or if something outside `[servers]` is wrong.
    """
    file = Path(path or DEFAULT_FILE)
    read(file)
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
    return _loaded(file, Secrets(dotenv, folder=file.resolve().parent, environ=environ))


def reloaded(loaded: Loaded) -> Loaded:
    """The configuration as it is in the file now, with the same secrets. Raises: ConfigError."""
    return _loaded(loaded.path, loaded.secrets)


def _loaded(file: Path, secrets: Secrets) -> Loaded:
    from doorward.config.distribution import layers
    from doorward.config.environment import require_settings

    require_settings(secrets, Config.model_fields)
    found = stamp(file.stat())  # before the file is read, so that a change meanwhile is seen the next time
    text, repeated = read(file)
    data, named = layers(text, secrets)
    config = validate(Config, data, secrets=secrets, place=file.name)
    servers: dict[str, Server] = {}
    broken: dict[str, ConfigError] = dict(repeated)
    modules: dict[str, str] = {}
    for name, table in config.servers.items():
        if name in broken:
            continue
        try:
            server = _server(name, table, file, secrets)
            twin = modules.setdefault(module_name(name), name)
            if twin != name:
                raise ConfigError(
                    f"is imported as `{module_name(name)}`, and so is server {twin!r}",
                    place=server.place,
                    hint="Rename one of the two.",
                )
            servers[name] = server
        except ConfigError as error:
            broken[name] = error
    folder, principals = file.resolve().parent, data.get("principals")
    return Loaded(
        config, folder, file.name, secrets, servers, broken, named, file.absolute(), principals, _rest(data), found
    )


def _rest(data: Mapping[str, Any]) -> dict[str, Any]:
    """Everything but servers, and tokens, which `TokenFile` reads."""
    found = {key: value for key, value in data.items() if key not in ("servers", "principals")}
    tables = data.get("principals")
    for name, table in tables.items() if isinstance(tables, Mapping) else ():
        if own := {key: value for key, value in table.items() if key != "tokens"}:
            found[f"principals.{name}"] = own
    return found


def module_name(server: str) -> str:
    """The Python name of a server: `my-api` is imported as `my_api`."""
    return re.sub(r"\W", "_", server)


def _server(name: str, table: Mapping[str, Any], file: Path, secrets: Secrets) -> Server:
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
    options = {k: v for k, v in table.items() if k not in known}
    settings = validate(ServerSettings, known, secrets=secrets, place=place)
    if "${principal:" in repr([settings.auth, options]):
        settings = settings.model_copy(update={"per_principal": True})
    if settings.local_auth is not None and not settings.per_principal:
        raise ConfigError(
            "local_auth is for a server that is per_principal",
            place=place,
            hint="Set per_principal = true, or auth alone.",
        )
    return Server(name, settings, options, place)


def read(file: Path) -> tuple[dict[str, Any], dict[str, ConfigError]]:
    """The file as a dictionary, and the errors of servers given twice: TOML forbids them, but the others can serve."""
    try:
        lines = file.read_text(encoding="utf-8-sig").split("\n")
    except FileNotFoundError:
        hint = (
            "Run `doorward init`, or `doorward import` (it takes over what MCP clients have), "
            "or name the file with --config."
        )
        raise ConfigError("there is no such file", place=str(file), hint=hint) from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"cannot be read: {error}", place=str(file)) from None
    repeated: dict[str, ConfigError] = {}
    while True:
        try:
            return tomllib.loads("\n".join(lines)), repeated
        except tomllib.TOMLDecodeError as error:
            found = re.search(r"Cannot declare \('servers', '([^']+)'.*twice \(at line (\d+)", str(error))
            if not found:
                raise ConfigError(str(error), place=file.name, hint="Mend the TOML.") from None
            name, line = found[1], int(found[2])
            repeated[name] = ConfigError(
                f"[servers.{name}] is given twice, again in line {line}", place=file.name, hint="Rename or remove one."
            )
            end = next((i for i in range(line, len(lines)) if lines[i].lstrip().startswith("[")), len(lines))
            lines[line - 1 : end] = [""] * (end - line + 1)


def validate(model: type[T], data: Any, *, secrets: Secrets, place: str, also: Iterable[str] = ()) -> T:
    """Validate `data` by `model`. All errors of pydantic become one ConfigError with the place, the keys and similar
    names, which may come from `also`: keys that are allowed beside those of the model.

    Raises: ConfigError; MissingSecret if the only errors are missing variables.
    """
    try:
        return model.model_validate(data, context={"secrets": secrets, "place": place})
    except ValidationError as error:
        kind = MissingSecret if {e["type"] for e in error.errors()} == {"missing_variable"} else ConfigError
        raise kind("; ".join(_explain(model, e, also) for e in error.errors()), place=place) from None


def _explain(model: type[BaseModel], error: Mapping[str, Any], also: Iterable[str]) -> str:
    path = error["loc"]
    key = ".".join(str(part) for part in path)
    if error["type"] != "extra_forbidden":
        why = str(error["msg"]).removeprefix("Value error, ")
        if error["type"] == "dict_type":
            why = 'Input should be a table, for example { name = "value" }'
        return f"{key}: {why}" if key else why
    known = sorted({*known_keys(model, path[:-1]), *(also if len(path) == 1 else ())})
    near = difflib.get_close_matches(str(path[-1]), known, n=1)
    return f"unknown key {key!r}" + (f"; did you mean {near[0]!r}?" if near else f"; known: {', '.join(known)}")


def known_keys(model: Any, path: Sequence[Any]) -> list[str]:
    """The keys that a model allows at a path."""
    for part in path:
        if get_origin(model) in (dict, list):
            model = get_args(model)[-1]
        else:
            fields = getattr(model, "model_fields", {})
            model = fields[part].annotation if part in fields else None
        model = next((a for a in get_args(model) if type(None) in get_args(model) and a is not type(None)), model)
    return sorted(field.alias or name for name, field in getattr(model, "model_fields", {}).items())
