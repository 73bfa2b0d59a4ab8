"""Validates tables of the configuration by their models, and explains what is wrong in words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, get_args, get_origin

from pydantic import BaseModel, ValidationError

from doorward.config.install_hints import owner_brought
from doorward.data.words import in_place_of
from doorward.model.errors import ConfigError, MissingSecret

if TYPE_CHECKING:
    from doorward.model.references import Resolver

T = TypeVar("T", bound=BaseModel)


def validate(
    model: type[T],
    data: Any,
    *,
    secrets: Resolver | None,
    place: str,
    also: Iterable[str] = (),
    of: str = "",
) -> T:
    """Validate `data` by `model`. All errors of pydantic become one ConfigError with the place, the keys, their lines
    and similar names, which may come from `also`: keys that are allowed beside those of the model. `of` is the plugin
    whose model it is.

    Raises: ConfigError; MissingSecret if the only errors are missing variables.
    """
    from doorward.config.environment import variable_of
    from doorward.config.lines import line_of
    from doorward.secrets.store import Secrets

    try:
        return model.model_validate(data, context={"secrets": secrets, "place": place})
    except ValidationError as error:
        variables = [
            variable_of(place, e["loc"], secrets) if isinstance(secrets, Secrets) else "" for e in error.errors()
        ]
        file = secrets.file if isinstance(secrets, Secrets) else None
        wrong = []
        for variable, e in zip(variables, error.errors(), strict=True):
            line = line_of(file, place, e["loc"], missing=e["type"] == "missing") if file and not variable else 0
            said = f"{variable}: " * bool(variable) + explain(model, e, also)
            wrong.append(f"{said} (line {line})" if line else said)
        place = "the environment" if all(variables) else place
        kind = MissingSecret if {e["type"] for e in error.errors()} == {"missing_variable"} else ConfigError
        hint = f"These are settings of {of}." if of and kind is ConfigError else None
        raise kind("; ".join(wrong), place=place, hint=hint) from None


def explain(model: type[BaseModel], error: Mapping[str, Any], also: Iterable[str] = ()) -> str:
    """An error of pydantic in one line: the key, what is wrong with it, and a similar name."""
    from doorward.config.settings import Config

    path = error["loc"]
    key = ".".join(str(part) for part in path)
    if error["type"] != "extra_forbidden":
        why = str(error["msg"]).removeprefix("Value error, ")
        if error["type"] == "dict_type":
            why = 'Input should be a table, for example { name = "value" }'
        return f"{key}: {why}{_of_owner(model, path)}" if key else why
    if path[-1] in Config.model_fields and not (issubclass(model, Config) and len(path) == 1):
        return f"unknown key {key!r}: {path[-1]} is a key of the top, and stands above the first [table] of the file"
    known = sorted({*known_keys(model, path[:-1]), *(also if len(path) == 1 else ())})
    kind = "table" if len(path) > 1 or issubclass(model, Config) else "server_key" if also else ""
    if kind and (brings := owner_brought(kind, key)):
        return f"unknown key {key!r}: {brings}"
    return f"unknown key {key!r}{in_place_of(str(path[-1]), known)}{_of_owner(model, path)}"


def _of_owner(model: type[BaseModel], path: Sequence[Any]) -> str:
    """Whose a table of the configuration is, or a key of one, that belongs to a plugin, in brackets."""
    from doorward.config.settings import Config

    if not issubclass(model, Config):
        return ""
    own: Any = Config
    for key in path[:2]:
        if key not in getattr(own, "model_fields", {}):
            found = getattr(model, "model_fields", {}).get(key)
            return f" ({found.description})" if found else ""
        own, model = own.model_fields[key].annotation, model.model_fields[key].annotation  # type: ignore[assignment]
    return ""


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
