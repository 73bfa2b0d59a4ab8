"""The base class of all settings, those of plugins included."""

from __future__ import annotations

from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, Self, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict, GetJsonSchemaHandler, field_validator, model_validator
from pydantic_core import PydanticCustomError

from doorward.model.errors import MissingSecret
from doorward.model.references import ResolvedLater, Resolver


class Settings(BaseModel):
    """The base of every part of the configuration, plugins' `Settings` included.

    Unknown keys are refused. `${…}` in a string is expanded when the configuration is read. Only fields of type
    `Template` and `Secret` are resolved when they are used. Where a list of texts or numbers is taken, one is, too.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True, arbitrary_types_allowed=True)

    @model_validator(mode="after")
    def _call(self) -> Self:
        """Tell each text in a table its key."""
        for table in vars(self).values():
            for key, value in table.items() if isinstance(table, dict) else ():
                if isinstance(value, ResolvedLater):
                    value.called = str(key)
        return self

    @field_validator("*", mode="before")
    @classmethod
    def _expand(cls, value: Any, info: Any) -> Any:
        secrets, annotation = (info.context or {}).get("secrets"), cls.model_fields[info.field_name].annotation
        value = _listed(value, annotation)
        if secrets is None or _resolved_later(annotation):
            return value
        try:
            return expand(value, secrets)
        except MissingSecret as error:
            raise PydanticCustomError(
                "missing_variable", "{why}. {hint}", {"why": str(error), "hint": error.hint}
            ) from None

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: Any, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        schema = handler.resolve_ref_schema(handler(core_schema))
        for name, field in cls.model_fields.items():
            properties, key = schema.get("properties", {}), field.alias or name
            if key in properties:
                properties[key] = _or_one(properties[key], field.annotation)
        return schema


def _takes_list(annotation: Any) -> bool:
    """Whether this is a list of texts or numbers, and not one of these as well."""
    parts = get_args(annotation) if get_origin(annotation) in (Union, UnionType) else (annotation,)
    return not any(map(_is_scalar, parts)) and any(
        get_origin(part) in (list, tuple) and _is_scalar(get_args(part)[0]) for part in parts
    )


def _is_scalar(annotation: Any) -> bool:
    if get_origin(annotation) is Annotated:
        return _is_scalar(get_args(annotation)[0])
    if get_origin(annotation) is Literal:
        return all(isinstance(value, str) for value in get_args(annotation))
    return annotation in (str, int, Path)


def _table_of(annotation: Any) -> Any:
    """The type of the values in a table; `None` if it is none."""
    return get_args(annotation)[1] if get_origin(annotation) is dict else None


def _listed(value: Any, annotation: Any) -> Any:
    """One text or number as a list where a list of them is wanted, also as a value in a table."""
    if isinstance(value, str | int) and not isinstance(value, bool) and _takes_list(annotation):
        return [value]
    if isinstance(value, dict) and (inner := _table_of(annotation)) is not None:
        return {key: _listed(each, inner) for key, each in value.items()}
    return value


def _or_one(schema: dict[str, Any], annotation: Any) -> dict[str, Any]:
    """The JSON Schema of a key as `_listed` takes it."""
    if (inner := _table_of(annotation)) is not None and isinstance(schema.get("additionalProperties"), dict):
        return {**schema, "additionalProperties": _or_one(schema["additionalProperties"], inner)}
    if not _takes_list(annotation):
        return schema
    about: dict[str, Any] = {key: schema[key] for key in ("title", "description", "default") if key in schema}
    choices = schema.get("anyOf") or [{key: value for key, value in schema.items() if key not in about}]
    one = next(choice["items"] for choice in choices if choice.get("type") == "array")
    return {**about, "anyOf": [one, *choices]}


def expand(value: Any, secrets: Resolver) -> Any:
    """A value of the configuration with its references replaced. Raises: MissingSecret."""
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
    """Whether something else expands the strings of a field: templates, nested settings, the tables of plugins."""
    if annotation is Any or (isinstance(annotation, type) and issubclass(annotation, (ResolvedLater, Settings))):
        return True
    return any(_resolved_later(part) for part in get_args(annotation))
