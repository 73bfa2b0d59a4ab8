"""A `server.json`, the format in which MCP servers are published: read as what a stranger wrote."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from doorward import ConfigError
from doorward.administration import json_digest
from doorward.values import clean_text
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

MAX_BYTES = 2**20
"""Largest document."""
_MAX_TEXT = 2_000
_MAX_ITEMS = 50
_SCHEMAS = re.compile(r"https://[\w./-]+/schemas/\d{4}-\d\d-\d\d/server\.schema\.json")


class _Part(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, str_max_length=_MAX_TEXT)


class Input(_Part):
    """A value that the document has, or that a person is asked for."""

    description: str = ""
    is_required: bool = False
    is_secret: bool = False
    format: str = "string"
    value: str | None = None
    default: str | None = None
    choices: list[str] = Field(default=[], max_length=_MAX_ITEMS)
    variables: dict[str, Input] = Field(default={}, max_length=_MAX_ITEMS)
    name: str = ""
    type: str = ""
    value_hint: str = ""


class Transport(_Part):
    """How a server is reached."""

    type: str
    url: str = ""
    headers: list[Input] = Field(default=[], max_length=_MAX_ITEMS)
    variables: dict[str, Input] = Field(default={}, max_length=_MAX_ITEMS)


class Package(_Part):
    """A package that is started."""

    registry_type: str
    identifier: str
    version: str = ""
    registry_base_url: str = ""
    file_sha256: str = ""
    runtime_hint: str = ""
    transport: Transport
    runtime_arguments: list[Input] = Field(default=[], max_length=_MAX_ITEMS)
    package_arguments: list[Input] = Field(default=[], max_length=_MAX_ITEMS)
    environment_variables: list[Input] = Field(default=[], max_length=_MAX_ITEMS)


class Document(_Part):
    """A server, with the packages and remote addresses of which one is used."""

    name: str = Field(pattern=r"^[A-Za-z0-9.-]{1,150}/[A-Za-z0-9._-]{1,100}$")
    description: str = ""
    version: str = Field(pattern=r"^[0-9A-Za-z][\w.+-]{0,100}$")
    packages: list[Package] = Field(default=[], max_length=_MAX_ITEMS)
    remotes: list[Transport] = Field(default=[], max_length=_MAX_ITEMS)


def parse(data: Any, place: str) -> tuple[Document, str]:
    """A document, and its hash. Raises: ConfigError, which says what is wrong with it."""
    if not isinstance(data, Mapping):
        raise ConfigError("is no server.json: it is no object", place=place)
    if odd := next((text for text in _texts(data) if clean_text(text) != text and "\t" not in text), None):
        raise ConfigError(f"holds characters that cannot be seen: {odd[:60]!r}", place=place)
    try:
        document = Document.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise ConfigError(f"is no server.json: {where}: {first['msg']}", place=place, hint="Tell its author.") from None
    if (schema := data.get("$schema")) and not (isinstance(schema, str) and _SCHEMAS.fullmatch(schema)):
        raise ConfigError(f"has the schema {str(schema)[:100]!r}, which is none of a server.json", place=place)
    return document, json_digest(dict(data))


def _texts(value: Any) -> Iterator[str]:
    todo = [value]
    while todo:
        match todo.pop():
            case str() as text:
                yield text
            case Mapping() as table:
                todo += [*table.keys(), *table.values()]
            case list() as values:
                todo += values
