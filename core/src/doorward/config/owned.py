"""The tables of the configuration, and the keys of servers, that belong to plugins: `[[budgets]]`, `price`.

An entry point in `doorward.table` or `doorward.server_key` is called like the table or the key, and gives the type of
what stands there: a `Settings`, a list of such, or any other type that pydantic knows. It is imported when a
configuration has the table or the key, and then the plugin of its distribution is in use, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from pydantic import Field, TypeAdapter, ValidationError, WrapValidator, create_model

from doorward.config.settings import Config, ServerSettings
from doorward.model.errors import ConfigError, DoorwardError

if TYPE_CHECKING:
    from doorward.packages.index import Entry, Index

M = TypeVar("M", Config, ServerSettings)


def model_for(names: Iterable[str], index: Index) -> type[Config]:
    """The model of a configuration that has these tables. Raises: ConfigError for one whose owner cannot be used."""
    return _with(Config, "table", names, index)


def server_model_for(keys: Iterable[str], index: Index) -> type[ServerSettings]:
    """The model of a server that has these keys. Raises: ConfigError."""
    return _with(ServerSettings, "server_key", keys, index)


def _with(base: type[M], kind: str, names: Iterable[str], index: Index) -> type[M]:
    fields: Any = {}
    for name in names:
        if (entry := owner(kind, name, index)) is not None:
            about: Any = Field(default_factory=dict, description=f"Of {entry.distribution}")
            fields[name] = type_of(entry, index), about
    return create_model(base.__name__, __base__=base, __doc__=base.__doc__, **fields) if fields else base


def owner(kind: str, name: str, index: Index) -> Entry | None:
    """The entry point that gives a table or a key of servers; `None` if nobody does, or if it is core's.

    Raises: ConfigError if several do, or one that is not allowed here.
    """
    if name in (Config if kind == "table" else ServerSettings).model_fields:
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
    """The plugins that own these tables and keys of servers, in the order of their names.

    Raises: ConfigError for an owner in whose distribution no plugin is, or several of which none is called so.
    """
    given = [owner("table", name, index) for name in names] + [owner("server_key", key, index) for key in keys]
    found = {}
    for entry in filter(None, given):
        plugins = index.of_owner(entry)
        if len(plugins) != 1:
            raise ConfigError(
                f"{entry.id} belongs to {len(plugins)} plugins of {entry.given_by}",
                hint="Tell its author: it is for one.",
            )
        found[plugins[0].name] = plugins[0]
    return [found[name] for name in sorted(found)]
