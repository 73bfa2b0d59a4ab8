"""The base class of all settings, those of plugins included."""

from __future__ import annotations

from typing import Any, Self, get_args

from pydantic import BaseModel, ConfigDict, field_validator, model_validator
from pydantic_core import PydanticCustomError

from doorward.model.errors import MissingSecret
from doorward.model.references import ResolvedLater, Resolver


class Settings(BaseModel):
    """The base of every part of the configuration, plugins' `Settings` included.

    Unknown keys are refused. `${…}` in a string is expanded when the configuration is read. Only fields of type
    `Template` and `Secret` are resolved when they are used.
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
        secrets = (info.context or {}).get("secrets")
        if secrets is None or _resolved_later(cls.model_fields[info.field_name].annotation):
            return value
        try:
            return expand(value, secrets)
        except MissingSecret as error:
            raise PydanticCustomError(
                "missing_variable", "{why}. {hint}", {"why": str(error), "hint": error.hint}
            ) from None


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
