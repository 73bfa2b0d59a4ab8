"""The keys of `[servers.NAME]` with `source = "grpc"`."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import urlsplit

from doorward import Settings, Template
from doorward.values import is_loopback
from pydantic import Field, PositiveFloat, PositiveInt, field_validator, model_validator

_KEY = re.compile(r"(?!grpc-)[0-9a-z_.-]+")


class GRPCSettings(Settings):
    """Where a server is, and what is read of it."""

    url: str = Field(description="grpcs://HOST:PORT, or grpc://HOST:PORT without TLS")
    plaintext: bool = Field(False, description="Allow grpc:// to another machine: whoever is between reads all of it")
    descriptors: Path | None = Field(
        None,
        description="A file that protoc has written (--descriptor_set_out --include_imports); reflection without it",
        json_schema_extra={"format": "path"},
    )
    services: list[str] = Field(["*"], description="Patterns of the services that are read, by their full names")
    metadata: dict[str, Template] = Field({}, description="Metadata of every call, its credentials among them")
    messages: PositiveInt = Field(1000, description="The most messages that are read of a stream")
    timeout: PositiveFloat = Field(30.0, description="Seconds that one call may take")

    @field_validator("url")
    @classmethod
    def _address(cls, value: str) -> str:
        parts = urlsplit(value)
        if parts.scheme not in ("grpc", "grpcs") or not parts.hostname or not parts.port or parts.path.strip("/"):
            raise ValueError("must be grpcs://HOST:PORT or grpc://HOST:PORT")
        if "@" in parts.netloc or parts.query or parts.fragment:
            raise ValueError("must be an address alone: credentials stand in `metadata`")
        return value

    @field_validator("metadata")
    @classmethod
    def _keys(cls, value: dict[str, Template]) -> dict[str, Template]:
        for name in value:
            if not _KEY.fullmatch(name) or name.endswith("-bin"):
                raise ValueError(f"{name!r} is not a name of metadata: small letters, digits, - and _")
        return value

    @model_validator(mode="after")
    def _private(self) -> GRPCSettings:
        parts = urlsplit(self.url)
        if parts.scheme == "grpc" and not self.plaintext and not is_loopback(parts.hostname or ""):
            raise ValueError("url: grpc:// is not encrypted; take grpcs://, or set plaintext = true")
        return self
