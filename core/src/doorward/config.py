"""`doorward.toml` and the environment as pydantic models.

Order, weakest first: core's `defaults.toml`, an installed curated distribution, the file, `DOORWARD_*`. What
is wrong with one server is kept in `Config.broken`, and the other servers still serve.
"""

from __future__ import annotations

import difflib
import hashlib
import keyword
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args

from pydantic import BaseModel, ByteSize, ConfigDict, Field, NonNegativeFloat, PositiveFloat, PositiveInt, ValidationError, field_validator
from pydantic_core import PydanticCustomError

from doorward import types
from doorward.errors import ConfigError, MissingSecret
from doorward.secrets import Secrets, Template

T = TypeVar("T", bound="Settings")

DEFAULT_FILE = "doorward.toml"
RESERVED = {"doorward", "asyncio", "json", "re", "math", "datetime", "sys", "os", "typing", "time", "random", "builtins"}
"""Server names that would hide a module that programs need."""


class Settings(BaseModel):
    """The base of every part of the configuration, plugins' `Settings` included.

    Unknown keys are refused. `${…}` in strings is expanded while reading, but for fields of type `Template` and
    `Secret`, which are resolved when used.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True, arbitrary_types_allowed=True)

    @field_validator("*", mode="before")
    @classmethod
    def _expand(cls, value: Any, info: Any) -> Any:
        secrets = (info.context or {}).get("secrets")
        if secrets is None or _resolved_later(cls.model_fields[info.field_name].annotation):
            return value
        try:
            return expand(value, secrets)
        except MissingSecret as error:
            raise PydanticCustomError("missing_variable", "{why}. {hint}", {"why": str(error), "hint": error.hint}) from None


def expand(value: Any, secrets: Secrets) -> Any:
    """A value of the file with its references replaced. Raises: MissingSecret."""
    match value:
        case str():
            return secrets.expand(value)
        case list():
            return [expand(v, secrets) for v in value]
        case dict():
            return {k: expand(v, secrets) for k, v in value.items()}
        case _:
            return value


def _resolved_later(annotation: Any) -> bool:
    """Whether a field's strings are somebody else's to expand: templates, nested settings, plugins' parts."""
    if annotation is Any or (isinstance(annotation, type) and issubclass(annotation, (Template, Settings))):
        return True
    return any(_resolved_later(part) for part in get_args(annotation))


class LimitSettings(Settings):
    """`[limits]`: what one run may use, and what the gateway keeps."""

    timeout: PositiveFloat = Field(30.0, description="Seconds a run may take, if the caller does not say")
    max_timeout: PositiveFloat = Field(300.0, description="The most seconds that a caller may ask for")
    memory: ByteSize = Field(ByteSize(512 * 2**20), description="Memory of one run")
    output: ByteSize = Field(ByteSize(2**20), description="Printed output of one run")
    code: ByteSize = Field(ByteSize(64 * 2**10), description="Source text of a program")
    calls: PositiveInt = Field(1000, description="Calls of one run")
    processes: PositiveInt = Field(128, description="Processes of one run, where the executor has processes")
    rate: PositiveInt = Field(60, description="Runs a minute for one principal")
    result: ByteSize = Field(ByteSize(50 * 2**20), description="One result of a call")
    inline: ByteSize = Field(ByteSize(16 * 2**10), description="A value shown whole; larger ones are cut, with a handle to the rest")
    asking: PositiveFloat = Field(600.0, description="Seconds that a run may wait, in all, for answers of its client")
    kept: ByteSize = Field(ByteSize(256 * 2**20), description="All artefacts kept together")
    kept_seconds: PositiveFloat = Field(3600.0, description="How long an artefact is kept")
    sessions: PositiveInt = Field(8, description="Open sessions of one principal")
    session_idle: PositiveFloat = Field(600.0, description="Seconds after which an unused session ends")

    def of_run(self) -> types.Limits:
        """The part that concerns one run."""
        return types.Limits(**{f: getattr(self, f) for f in types.Limits.__dataclass_fields__})


class PolicySettings(Settings):
    """`[policy]`: what programs may call, as patterns of `server.function`; `deny` wins."""

    allow: list[str] = ["*"]
    deny: list[str] = []


class HttpSettings(Settings):
    """`[http]`: where `serve --transport http` listens."""

    host: str = "127.0.0.1"
    port: int = Field(8000, ge=0, le=65535)
    path: str = "/mcp"


class ServerSettings(Settings):
    """The keys of `[servers.NAME]` that core understands, whatever the source."""

    source: str
    auth: dict[str, Any] | None = Field(None, description="Credentials: a table with the key `type`")
    read_only: bool = Field(False, description="Leave out every function that may change something")
    include: list[str] | None = Field(None, description='Names, original ids, "tag:…" or "GET /path/**"; wildcards work')
    exclude: list[str] = Field([], description="What to leave out, in the same words")
    expose: list[str] = Field([], description="Functions that are MCP tools of their own as well; each costs every client tokens")
    skills: str | None = Field(None, description="A Markdown guide for agents: a path, relative to the configuration file, or a URL")
    disabled: bool = False


class Config(Settings):
    """The whole file."""

    surface: Literal["standard", "minimal"] = "standard"
    executor: list[str] = []
    cache: str | None = None
    plugins: list[str] = []
    state: Path = Path()
    log_level: Literal["debug", "info", "warning", "error"] = "warning"
    refresh: NonNegativeFloat = Field(86400.0, description="Seconds after which a gateway that is open compiles what has changed; 0: never")
    limits: LimitSettings = LimitSettings()
    policy: PolicySettings = PolicySettings()
    http: HttpSettings = HttpSettings()
    servers: dict[str, dict[str, Any]] = {}
    executors: dict[str, dict[str, Any]] = {}
    caches: dict[str, dict[str, Any]] = {}
    hooks: dict[str, dict[str, Any]] = {}

    @field_validator("executor", mode="before")
    @classmethod
    def _one_executor(cls, value: Any) -> Any:
        return [value] if isinstance(value, str) else value


@dataclass(frozen=True, slots=True)
class Server:
    """A server that can be used: core's settings, and the source's part as it stands in the file."""

    name: str
    settings: ServerSettings
    options: Mapping[str, Any]
    place: str


@dataclass(frozen=True)
class Loaded:
    """A configuration as read: the model, its servers, what is wrong with the others, and its secrets."""

    config: Config
    folder: Path
    file: str
    secrets: Secrets
    servers: Mapping[str, Server]
    broken: dict[str, ConfigError] = field(default_factory=dict)
    named: frozenset[str] = frozenset()
    """Top-level keys that somebody set: what is only a default may be missing."""

    def state_folder(self) -> Path:
        """Where the catalog, kept programs and the audit log lie: the configured `state`, else a folder of this
        configuration's own below the user's state directory."""
        if self.config.state != Path():
            return (self.folder / self.config.state.expanduser()).resolve()
        from platformdirs import user_state_path

        own = hashlib.sha256(f"{self.folder}/{self.file}".encode()).hexdigest()[:8]
        return user_state_path("doorward") / f"{self.folder.name}-{own}"


def load(path: Path | str | None = None, *, env_file: Path | str | None = None, environ: Mapping[str, str] | None = None) -> Loaded:
    """Read the configuration.

    Raises: ConfigError if the file is missing or unreadable, or if something outside `[servers]` is wrong.
    """
    from doorward.distribution import layers

    file = Path(path or DEFAULT_FILE)
    text, repeated = _read(file)
    dotenv = Path(env_file) if env_file else file.parent / ".env"
    if env_file and not dotenv.is_file():
        raise ConfigError("there is no such file", place=str(dotenv), hint="Check --env-file.")
    secrets = Secrets(dotenv, environ=environ)
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
    return Loaded(config, file.resolve().parent, file.name, secrets, servers, broken, named)


def module_name(server: str) -> str:
    """The Python name of a server: `my-api` is imported as `my_api`."""
    return re.sub(r"\W", "_", server)


def _server(name: str, table: Mapping[str, Any], file: Path, secrets: Secrets) -> Server:
    place = f"{file.name} [servers.{name}]"
    module = module_name(name)
    if not module.isidentifier() or not name.isascii() or keyword.iskeyword(module) or module in RESERVED:
        hint = "Use letters, digits, - and _, and no name of a standard module"
        raise ConfigError(
            f"{name!r} cannot name a server", place=place, hint=f"{hint}: {name}-mcp, for example." if module in RESERVED else f"{hint}."
        )
    known = {k: v for k, v in table.items() if k in ServerSettings.model_fields}
    options = {k: v for k, v in table.items() if k not in known}
    return Server(name, validate(ServerSettings, known, secrets=secrets, place=place), options, place)


def _read(file: Path) -> tuple[dict[str, Any], dict[str, ConfigError]]:
    """The file as a dictionary, and servers given twice (which TOML forbids, but need not stop the others)."""
    try:
        lines = file.read_text(encoding="utf-8-sig").split("\n")
    except FileNotFoundError:
        hint = "Run `doorward init`, or `doorward import` (it takes over what MCP clients have), or name the file with --config."
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
    """`data` as `model`; pydantic's findings become one ConfigError with the place, the key and near names, those that
    may stand beside `data` (`also`) included.

    Raises: ConfigError.
    """
    try:
        return model.model_validate(data, context={"secrets": secrets, "place": place})
    except ValidationError as error:
        raise ConfigError("; ".join(_explain(model, e, also) for e in error.errors()), place=place) from None


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
    """The keys that are allowed at a path of a model."""
    for part in path:
        fields = getattr(model, "model_fields", {})
        model = fields[part].annotation if part in fields else None
    return sorted(field.alias or name for name, field in getattr(model, "model_fields", {}).items())
