"""The configuration of a server with `source = "openapi"`."""

from __future__ import annotations

from typing import Annotated, Any
from urllib.parse import urlsplit

from doorward import Settings, Template
from doorward_http import named_headers
from pydantic import AfterValidator, Field, JsonValue, PositiveFloat, field_validator

from doorward_openapi.document import servers

_PATH: dict[str, JsonValue] = {"format": "path"}


def is_url(place: str) -> bool:
    return place.startswith(("http:", "https:"))


class OpenAPISettings(Settings):
    """The keys of `[servers.NAME]` with `source = "openapi"`."""

    spec: str = Field(min_length=1, description="The document: a path, relative to the configuration file, or a URL")
    spec_auth: bool = Field(
        False,
        description="Whether the document has more with credentials: else they are sent for it only where it is "
        "refused without them, or says by `Vary` that it depends on them",
    )
    overlay: list[str] = Field(
        [],
        description="OpenAPI Overlay documents that correct it, in this order: paths or URLs",
        json_schema_extra=_PATH,
    )
    base_url: str | None = Field(None, description="Where the API is; the document's first server if it is not set")
    headers: Annotated[dict[str, Template], AfterValidator(named_headers)] = Field(
        {}, description="Headers of every request"
    )
    origins: list[str] = Field(
        [], description="Other origins that belong to this API, for example https://uploads.example.com"
    )
    variables: dict[str, str] = Field({}, description="Values of server variables, for example { region = 'eu' }")
    socket: str | None = Field(
        None, description="The path of a Unix socket that carries the requests", json_schema_extra=_PATH
    )
    idempotency_key: str = Field(
        "",
        pattern=r"^[A-Za-z0-9-]*$",
        description="The header by which the API knows a request that is made again, often Idempotency-Key: calls that "
        "change something are then repeated where their answer was lost",
    )
    retries: int = Field(2, ge=0, le=5, description="How often a request may be repeated that failed for the moment")
    timeout: PositiveFloat = Field(30.0, description="Seconds that one request may take")

    @field_validator("base_url", "spec", "overlay")
    @classmethod
    def _urls(cls, value: Any) -> Any:
        for url in value if isinstance(value, list) else [value]:
            if url and is_url(url):
                servers.origin(url)
                if "@" in urlsplit(url).netloc:
                    raise ValueError("must not hold a user or a password; use `auth`")
        return value

    @field_validator("base_url")
    @classmethod
    def _base(cls, value: str | None) -> str | None:
        if value is None:
            return None
        base = servers.clean(value, "")
        if base is None or "?" in value or "#" in value:
            meant = servers.with_scheme(value)
            example = f", for example {meant}" if meant != value else ""
            raise ValueError(f"must be an http or https URL without query and fragment{example}")
        return base

    @field_validator("origins")
    @classmethod
    def _origins(cls, value: list[str]) -> list[str]:
        for each in value:
            cleaned = servers.clean(each, "")
            if cleaned is None or urlsplit(cleaned).path or "?" in each or "#" in each:
                raise ValueError(
                    f"{each[:200]!r} is no origin: scheme, host and perhaps a port, for example "
                    f"https://uploads.example.com"
                )
        return [each.rstrip("/").lower() for each in value]
