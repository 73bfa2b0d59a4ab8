"""The key `registry` of servers: where an entry came from."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class Origin(BaseModel):
    """Which document an entry was made of. `doorward add registry` writes it, and `doorward outdated` reads it."""

    model_config = ConfigDict(extra="forbid")

    name: str = Field(description="The name that the document gives the server")
    version: str = Field(description="The version that is pinned")
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$", description="The hash of the document, as canonical JSON")
    source: str = Field(description="The address of the registry, or the URL or file of the document")
    package: str = Field("", description="The package of the document that runs; empty for a remote server")
