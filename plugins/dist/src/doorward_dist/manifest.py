"""The manifest of a distribution: the model of `distro.toml`.

Nothing in it is passed over: whoever writes `[lockd]` means a lock, so every key is known, or the start is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any, Self, TypeVar

from doorward import ConfigError
from doorward.administration import in_place_of
from doorward.configuration import (
    Config,
    Index,
    Pattern,
    explain,
    has_references,
    is_plain,
    keys_of_plugins,
    known_keys,
    model_for,
    tables_in,
    tables_of,
)
from doorward.values import clean_text
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    ValidationInfo,
    create_model,
    field_validator,
    model_validator,
)

PACKAGE = "${distribution}"
"""In a value: the folder of the distribution's package."""

ANY = "*"
"""In a path: whatever the key."""

_TABLES = {
    "plugins": "hooks",
    "capabilities": "hooks",
    "executor": "executors",
    "store": "stores",
    "cache": "caches",
    "observer": "observers",
    "search_view": "search_views",
}
"""The table that holds the settings of the plugins which a key names."""

_CREDENTIALS = {"auth", "local_auth", "headers", "env", "secrets", "vault_key", "vault_key_before"}
"""Keys for credentials, which users bring even to what is locked."""

_PART = re.compile(r'"(?P<quoted>[^"]+)"|(?P<bare>[A-Za-z0-9_*-]+)')

Hash = Annotated[str, StringConstraints(pattern=r"^sha256:[0-9a-f]{64}$")]
"""The hash of a distribution's installed files."""

M = TypeVar("M", bound="Manifest")

Path = tuple[str, ...]
"""The keys that lead to a table or a value: `hooks.audit_jsonl.path`."""


class _Table(BaseModel):
    """A table of the manifest. Values are of their types as they stand: `plugins = "x"` is no list."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, hide_input_in_errors=True)


class Required(_Table):
    """`[required]`: what is loaded whatever the user's configuration says."""

    plugins: list[str] = Field([], description="Hook plugins, loaded first, in this order; their tables are locked")


class ManifestPolicy(_Table):
    """`[policy]`: what programs may call, enforced beside the user's own. Patterns name functions, or upstreams by
    their origin or command; `deny` wins."""

    allow: list[Pattern] = Field([ANY], description="What may be called, if the user's policy allows it as well")
    deny: list[Pattern] = Field([], description="What may not be called, whatever the user's policy says")


class Branding(_Table):
    """`[branding]`: what the product is called where people and agents see it."""

    name: str = Field(
        "",
        pattern=r"^([A-Za-z0-9][A-Za-z0-9._-]{0,63})?$",
        description="The name of the MCP server, `doorward` if not given",
    )
    title: str = Field("", max_length=100, description="The name that people see")
    instructions: str = Field("", max_length=1000, description="What agents are told, before Doorward's own text")

    @field_validator("title", "instructions")
    @classmethod
    def _clean(cls, text: str, info: ValidationInfo) -> str:
        lines = [" ".join(line.split()) for line in clean_text(text).strip().split("\n")]
        return (" " if info.field_name == "title" else "\n").join(lines)


class Manifest(_Table):
    """The whole of `distro.toml`."""

    defaults: dict[str, Any] = Field({}, description="Keys of doorward.toml that apply where nobody sets them")
    locked: dict[str, Any] = Field(
        {},
        description="Keys of doorward.toml that nobody may set to another value. A table of a server, an executor, a "
        "store, a cache or a hook plugin is locked as a whole",
    )
    lock: list[str] = Field(
        [], description='Whole tables in which nobody may set anything: "http", "hooks.audit_jsonl", "servers.*.auth"'
    )
    open: list[str] = Field([], description="Keys or tables that users may set, though they lie in a locked table")
    allow_extra: list[str] = Field(
        [], alias="allow-extra", description="Packages whose plugins may be used though they are not pinned"
    )
    required: Required = Required()
    policy: ManifestPolicy = ManifestPolicy()
    branding: Branding = Branding()
    files: dict[str, Hash] = Field({}, description="The hash of the installed files of each package that is pinned")

    @model_validator(mode="before")
    @classmethod
    def _at_the_top(cls, data: Any) -> Any:
        """A key of the top that stands below a table belongs to that table: nobody means that."""
        tops = {field.alias or name for name, field in Manifest.model_fields.items()} - {"policy"}
        for table, keys in data.items() if isinstance(data, Mapping) else ():
            for key in set(keys) & tops if isinstance(keys, Mapping) and table != "files" else ():
                raise ValueError(f"{key!r} stands below [{table}]: write it above the first table")
        return data

    @model_validator(mode="after")
    def _opened(self) -> Self:
        for path in map(path_of, self.open):
            if not any(begins(path, table) for table in self.locked_tables()):
                raise ValueError(f"open: {dotted(path)} lies in no locked table")
        return self

    @model_validator(mode="after")
    def _without_variables(self) -> Self:
        """Users set the variables to which a value refers, so it would not be locked. They do bring credentials."""
        locked, opened = self.locked_tables(), [path_of(text) for text in self.open]
        inside = [(path, value) for path, value in leaves(self.defaults) if any(begins(path, each) for each in locked)]
        for path, value in (*leaves(self.locked), *inside):
            free = _CREDENTIALS & {*path} or any(begins(path, each) for each in opened)
            if not free and not is_plain(repr(value).replace(PACKAGE, "")):
                raise ValueError(f"{dotted(path)} is locked, and refers to a variable that users set: write a value")
        return self

    def locked_tables(self) -> list[Path]:
        """The tables that are locked as a whole: those in `lock`, the tables of servers and plugins in `[locked]`, and
        those of the plugins that the distribution requires or locks by name."""
        tables = [path_of(text) for text in self.lock]
        tables += [(kind,) for key, kind in _TABLES.items() if (key,) in tables]  # no other plugin can be named
        tables += [(kind, name) for kind in ("servers", *_TABLES.values()) for name in self.locked.get(kind, {})]
        for key, kind in _TABLES.items():
            named = self.locked.get(key, [])
            tables += [(kind, name) for name in ([named] if isinstance(named, str) else named)]
        return [*dict.fromkeys([*tables, *(("hooks", name) for name in self.required.plugins)])]

    @field_validator("defaults", "locked")
    @classmethod
    def _of_configuration(cls, table: dict[str, Any], info: ValidationInfo) -> dict[str, Any]:
        for kind in ("servers", *_TABLES.values()):
            if ANY in table.get(kind, ()):
                raise ValueError(f'[{kind}."*"] is for one that is called so; only in [principals] it is everyone')
        model = _model_for(tables_in(table), info)
        try:
            model.model_validate(table)
        except ValidationError as error:
            if wrong := [explain(model, each) for each in error.errors() if not _given_elsewhere(each)]:
                raise ValueError("; ".join(wrong)) from None
        return table

    @field_validator("lock", "open")
    @classmethod
    def _paths(cls, texts: list[str], info: ValidationInfo) -> list[str]:
        owned = [entry.name for entry in _index(info).of("table") if "." not in entry.name]
        for text in texts:
            path = path_of(text)
            for depth, key in enumerate(path):
                known = known_keys(_model_for(tables_of(path, _index(info)), info), path[:depth])
                if known and key not in (*known, ANY):
                    raise ValueError(
                        f"{text!r}: unknown key {key!r}{in_place_of(key, known if depth else [*known, *owned])}"
                    )
        return texts


def _model_for(names: Iterable[str], info: ValidationInfo) -> type[Config]:
    """The model of a configuration that has these tables, of core and of the plugins that are known. Raises:
    ConfigError."""
    return model_for(names, _index(info))


def _index(info: ValidationInfo) -> Index:
    return (info.context or {}).get("index") or Index([])


def manifest_for(base: type[M], data: Mapping[str, Any], index: Index) -> type[M]:
    """The model of a manifest whose `[policy]` has these keys, some of which may belong to plugins. Raises:
    ConfigError."""
    policy = keys_of_plugins(ManifestPolicy, "policy", tables_in({"policy": data.get("policy")}), index)
    given: Any = {} if policy is ManifestPolicy else {"policy": (policy, policy())}
    return create_model(base.__name__, __base__=base, **given) if given else base


def validated(model: type[M], data: Any, place: str, index: Index) -> M:
    """Validate a manifest, whose tables may belong to plugins in `index`. Raises: ConfigError."""
    try:
        return model.model_validate(data, context={"index": index})
    except ValidationError as error:
        wrong = "; ".join(explain(model, each) for each in error.errors())
        raise ConfigError(wrong, place=place) from None


def begins(path: Path, start: Path) -> bool:
    """Whether a path leads to what `start` leads to, or to something in it."""
    return len(path) >= len(start) and all(wanted in (ANY, key) for key, wanted in zip(path, start, strict=False))


def leaves(table: Mapping[str, Any], path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """The values in a table and in its tables, each with its path; an empty table is a value."""
    for key, value in table.items():
        if isinstance(value, Mapping) and value:
            yield from leaves(value, (*path, key))
        else:
            yield (*path, key), value


def dotted(path: Path) -> str:
    """A path as it is written."""
    return ".".join(key if _PART.fullmatch(key) else f'"{key}"' for key in path)


def path_of(text: str) -> Path:
    """The keys of a dotted path; a key with dots in it stands in quotation marks. Raises: ValueError."""
    parts, at = [], 0
    while found := _PART.match(text, at):
        parts.append(found["quoted"] or found["bare"])
        if (at := found.end()) == len(text):
            return tuple(parts)
        if text[at] != ".":
            break
        at += 1
    raise ValueError(f"{text!r} is no path of keys, such as hooks.audit_jsonl.path")


def _given_elsewhere(error: Mapping[str, Any]) -> bool:
    """Whether an error may vanish with what users and their environment give beside it."""
    value = error["input"]
    incomplete = error["type"] == "missing" or (error["type"] == "value_error" and isinstance(value, dict))
    return incomplete or (isinstance(value, str) and has_references(value))
