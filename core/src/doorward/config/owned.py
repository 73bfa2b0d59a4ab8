"""The tables of the configuration, the keys of its tables and those of servers, that belong to plugins.

An entry point in `doorward.table` or `doorward.server_key` is called like the table or the key (`budgets`, `price`; a
key of a table of core's is `policy.rules`), and gives the type of what stands there: a `Settings`, a list of such, or
any other type that pydantic knows, perhaps with a default (`Annotated[…, Field("allow")]`). It is imported when a
configuration has the table or the key, and then the plugin of its distribution is in use, too, if it has one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_args

from pydantic import BaseModel, Field, TypeAdapter, ValidationError, WrapValidator, create_model
from pydantic.fields import FieldInfo

from doorward.config.settings import Config, ServerSettings
from doorward.model.errors import ConfigError, DoorwardError

if TYPE_CHECKING:
    from doorward.config.installed_plugins import Entry, Index

T = TypeVar("T", bound=BaseModel)


def tables_in(data: Mapping[str, Any]) -> Iterator[str]:
    """The tables of a configuration, and the keys in those of core: `policy`, `policy.rules`."""
    for name, table in data.items():
        yield name
        if isinstance(table, Mapping) and _table_of_core(name) is not None:
            yield from (f"{name}.{key}" for key in table)


def tables_of(path: Sequence[str], index: Index) -> list[str]:
    """The table that a path of keys begins with, and all the keys of plugins in it."""
    below = f"{path[0]}."
    return [path[0], *(entry.name for entry in index.of("table") if entry.name.startswith(below))]


def model_for(names: Iterable[str], index: Index) -> type[Config]:
    """The model of a configuration that has these tables, and keys of tables (see `tables_in`). Raises: ConfigError for
    one whose owner cannot be used."""
    names = [*names]
    tables: Any = _fields("table", (name for name in names if "." not in name), index)
    for table in dict.fromkeys(name.partition(".")[0] for name in names if "." in name):
        base = _table_of_core(table)
        if base is not None and (model := with_keys(base, table, names, index)) is not base:
            about = Config.model_fields[table].description
            tables[table] = model, Field(default_factory=model, description=about)
    return create_model("Config", __base__=Config, __doc__=Config.__doc__, **tables) if tables else Config


def with_keys(base: type[T], table: str, names: Iterable[str], index: Index) -> type[T]:
    """The model of a table of core, with those of the named keys that belong to plugins. Raises: ConfigError."""
    found = _fields("table", (name for name in names if name.startswith(f"{table}.")), index)
    keys: Any = {name.partition(".")[2]: field for name, field in found.items()}
    return create_model(base.__name__, __base__=base, __doc__=base.__doc__, **keys) if keys else base


def server_model_for(keys: Iterable[str], index: Index) -> type[ServerSettings]:
    """The model of a server that has these keys. Raises: ConfigError."""
    fields: Any = _fields("server_key", keys, index)
    if not fields:
        return ServerSettings
    return create_model("ServerSettings", __base__=ServerSettings, __doc__=ServerSettings.__doc__, **fields)


def _fields(kind: str, names: Iterable[str], index: Index) -> dict[str, Any]:
    """The fields of those that belong to plugins. Raises: ConfigError."""
    found: dict[str, Any] = {}
    for name in names:
        if (entry := owner(kind, name, index)) is not None:
            given = type_of(entry, index)
            default = TypeAdapter(given).get_default_value()
            about: Any = {"default_factory": dict} if default is None else {"default": default.value}
            said = next((each.description for each in get_args(given) if isinstance(each, FieldInfo)), None)
            found[name] = given, Field(**about, description=said or f"Of {entry.distribution}")
    return found


def _table_of_core(name: str) -> type[BaseModel] | None:
    """The model of a table of core."""
    model = Config.model_fields[name].annotation if name in Config.model_fields else None
    return model if isinstance(model, type) and issubclass(model, BaseModel) else None


def _is_of_core(kind: str, name: str) -> bool:
    table, dot, key = name.partition(".")
    if kind == "table" and dot:
        model = _table_of_core(table)
        return model is None or key in model.model_fields
    return name in (Config if kind == "table" else ServerSettings).model_fields


def owner(kind: str, name: str, index: Index) -> Entry | None:
    """The entry point that gives a table or a key of servers; `None` if nobody does, or if it is core's.

    Raises: ConfigError if several do, or one that is not allowed here.
    """
    if _is_of_core(kind, name):
        return None
    found = index.named(kind, name)
    if len(found) > 1:
        both = " and by ".join(entry.given_by for entry in found)
        raise ConfigError(f"{name!r} is given by {both}", hint="Uninstall one of them.")
    if found:
        return found[0]
    for entry in index.refused:
        if (entry.kind, entry.name) == (kind, name):
            raise ConfigError(f"{name!r} of {entry.given_by} is not allowed by {index.why(entry)}")
    return None


def type_of(entry: Entry, index: Index) -> Any:
    """The type that an owner gives; whatever checks a value of it is blamed on the owner. Raises: ConfigError."""
    index.check()

    def blamed(value: Any, check: Any) -> Any:
        try:
            return check(value)
        except (ValidationError, ValueError, AssertionError, DoorwardError):
            raise
        except Exception as error:  # it may fail in any way, and what it says may hold a value
            raise ValueError(f"{entry.id} failed: {type(error).__name__}") from error

    try:
        given: Any = entry.point.load()
        found: Any = Annotated[given, WrapValidator(blamed)]
        TypeAdapter(found)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a plugin may fail in any way, and the message names it
        why = f"{entry.id} gives no type: {type(error).__name__}: {error}".splitlines()[0]
        raise ConfigError(why, hint=f"Reinstall or upgrade {entry.distribution}.") from error
    return found


def keys_of_server(table: Mapping[str, Any], index: Index, secrets: Any, place: str) -> dict[str, Any]:
    """The values of those keys of a server's table that plugins own. Raises: ConfigError."""
    found = {}
    for name, value in table.items():
        if (entry := owner("server_key", name, index)) is None:
            continue
        try:
            found[name] = TypeAdapter(type_of(entry, index)).validate_python(value, context={"secrets": secrets})
        except ValidationError as error:
            wrong = "; ".join(
                f"{'.'.join([name, *map(str, each['loc'])])}: {str(each['msg']).removeprefix('Value error, ')}"
                for each in error.errors()
            )
            raise ConfigError(wrong, place=place, hint=f"This key is of {entry.given_by}.") from None
    return found


def owners(names: Iterable[str], keys: Iterable[str], index: Index) -> list[Entry]:
    """The plugins that own these tables and keys of servers, in the order of their names. What a distribution of
    commands owns, these read.

    Raises: ConfigError for an owner in whose distribution neither plugin nor command is, or several plugins of which
    none is called so.
    """
    given = [owner("table", name, index) for name in names] + [owner("server_key", key, index) for key in keys]
    found = {}
    for entry in filter(None, given):
        plugins = index.of_owner(entry)
        if not plugins and any(each.distribution == entry.distribution for each in index.of("command")):
            continue
        if len(plugins) != 1:
            raise ConfigError(
                f"{entry.id} belongs to {len(plugins)} plugins of {entry.given_by}",
                hint="Tell its author: it is for one.",
            )
        found[plugins[0].name] = plugins[0]
    return [found[name] for name in sorted(found)]
