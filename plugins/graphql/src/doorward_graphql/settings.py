"""The configuration of a server with `source = "graphql"`."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import urlsplit

from doorward import Settings, Template
from doorward_http import named_headers
from pydantic import AfterValidator, Field, PositiveFloat, field_validator


def is_url(place: str) -> bool:
    return place.startswith(("http:", "https:"))


class GraphQLSettings(Settings):
    """The keys of `[servers.NAME]` with `source = "graphql"`."""

    url: str = Field(description="The endpoint, for example https://api.example.com/graphql")
    schema_: str | None = Field(
        None,
        alias="schema",  # a model of pydantic has an attribute `schema`
        min_length=1,
        description="Where the schema is, if the endpoint does not tell it: SDL or the JSON of an introspection, a "
        "path or a URL",
        json_schema_extra={"format": "path"},
    )
    schema_auth: bool = Field(
        False,
        description="Whether the schema has more with credentials: else they are sent for it only where it is not told "
        "without them",
    )
    headers: Annotated[dict[str, Template], AfterValidator(named_headers)] = Field(
        {}, description="Headers of every request"
    )
    depth: int = Field(2, ge=0, le=5, description="How deeply objects within a result are selected by default")
    select: dict[str, str] = Field(
        {}, description="Selections instead of the default ones, for example { viewer = 'id login' }"
    )
    retries: int = Field(2, ge=0, le=5, description="How often a query may be repeated that failed for the moment")
    timeout: PositiveFloat = Field(30.0, description="Seconds that one request may take")

    @field_validator("url", "schema_")
    @classmethod
    def _url(cls, value: str | None, info: object) -> str | None:
        if value is None or (getattr(info, "field_name", "") == "schema_" and not is_url(value)):
            return value
        parts = urlsplit(value)
        if parts.scheme not in ("http", "https") or not parts.hostname or "#" in value:
            raise ValueError("must be an http or https URL")
        if "@" in parts.netloc:
            raise ValueError("must not hold a user or a password; use `auth`")
        return value
