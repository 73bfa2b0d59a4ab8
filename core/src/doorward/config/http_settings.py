"""`[http]`: where Doorward is served, and to whom."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field, NonNegativeFloat, PositiveFloat, PositiveInt, model_validator

from doorward.config.urls import Address, Origin, TrustedAddress
from doorward.model.settings import Settings

Algorithm = Literal["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]
"""Signatures with a public key only. A shared key (HS256) could make tokens, not only verify them."""


class OAuthSettings(Settings):
    """`[http.oauth]`: clients bring access tokens (JWT, RFC 9068) of an authorization server."""

    issuer: TrustedAddress = Field(
        description="The authorization server; its metadata (RFC 8414, OpenID Connect Discovery) tells the rest"
    )
    audience: str | list[str] = Field(
        "", description="What `aud` of a token must name; without it the URL of this endpoint"
    )
    scopes: list[str] = Field([], description="Scopes that each token must have")
    principal: str = Field("sub", description="The claim that names the principal")
    jwks_url: TrustedAddress | None = Field(None, description="Where its keys are, if the issuer does not tell")
    algorithms: list[Algorithm] = Field(
        ["RS256", "ES256", "PS256", "EdDSA"],
        min_length=1,
        description="Signatures that are accepted; asymmetric ones only",
    )


class HttpSettings(Settings):
    """`[http]`: where `serve --transport http` listens, and who may use it."""

    host: str = Field("127.0.0.1", description="The address where it listens")
    port: int = Field(8000, ge=0, le=65535, description="The port there; 0: any that is free")
    path: str = Field("/mcp", description="The path of the MCP endpoint")
    url: Address | None = Field(
        None, description="The URL by which clients reach it, where that is another: behind a proxy, or by a name"
    )
    certificate: Path | None = Field(None, description="A PEM file with the certificate chain: serves https")
    key: Path | None = Field(None, description="A PEM file with its private key")
    origins: list[Origin] = Field(
        [], description="Origins of web pages that may use it; none but loopback if not given"
    )
    connections: PositiveInt = Field(
        1000, description="Connections at once; never more than half of the files that may be open"
    )
    connections_per_address: PositiveInt = Field(
        500, description="Those of one address; a proxy is one, and so is a /64 of IPv6"
    )
    requests: PositiveInt = Field(200, description="Requests of one principal at once, open streams included")
    sessions: PositiveInt = Field(
        64, description="Sessions of one principal, of the older protocol versions; eight times as many in all"
    )
    header_timeout: PositiveFloat = Field(
        10.0, description="Seconds in which the header of a request must be here, or TLS be agreed"
    )
    body_timeout: PositiveFloat = Field(60.0, description="Seconds in which its body must be here")
    idle_timeout: PositiveInt = Field(60, description="Seconds for which a connection without a request is kept")
    grace: NonNegativeFloat = Field(
        7.0, description="Seconds for which programs may go on after SIGTERM; Docker kills after ten"
    )
    oauth: OAuthSettings | None = Field(None, description="Clients bring tokens of an authorization server")

    @model_validator(mode="after")
    def _both_files(self) -> HttpSettings:
        if bool(self.certificate) != bool(self.key):
            raise ValueError("certificate and key belong together: give both, or none")
        return self
