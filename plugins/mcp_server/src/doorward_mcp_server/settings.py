"""What the configuration says of the server: `[http]`, where it listens and who may come in; `output` and `[clients]`,
the form of answers."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal
from urllib.parse import urlsplit

from doorward import Settings
from doorward.values import is_loopback
from pydantic import AfterValidator, Field, NonNegativeFloat, PositiveFloat, PositiveInt, model_validator

if TYPE_CHECKING:
    from doorward.configuration import Config


def _address(url: str) -> str:
    """Check a URL that is given to others. Raises: ValueError."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment or parts.username:
        raise ValueError("must be a URL like https://host/path, without query and fragment")
    return url


def _trusted(url: str) -> str:
    """Check a URL from which keys are fetched: over plain http, somebody on the way could replace the keys, and then
    make tokens. Raises: ValueError."""
    parts = urlsplit(_address(url))
    if parts.scheme != "https" and not is_loopback(parts.hostname or ""):
        raise ValueError("must be https: whoever is on the way could make tokens otherwise")
    return url


def origin_of(url: str) -> str | None:
    """An origin as browsers write it: in lower case, without the default port; `None` if this is not an origin."""
    found = re.fullmatch(r"(https?)://(\[[0-9a-f:.]+\]|[a-z0-9_.-]+)(?::([0-9]{1,5}))?", url.lower())
    if found is None:
        return None
    scheme, host, port = found.groups()
    return f"{scheme}://{host}" + (f":{port}" if port and int(port) != {"http": 80, "https": 443}[scheme] else "")


def _origin(origin: str) -> str:
    if (found := origin_of(origin)) is None:
        raise ValueError(f"{origin!r} is no origin such as https://app.example.com")
    return found


Address = Annotated[str, AfterValidator(_address)]
"""A URL that is given to others."""

TrustedAddress = Annotated[str, AfterValidator(_trusted)]
"""A URL from which keys are fetched."""

Origin = Annotated[str, AfterValidator(_origin)]
"""An origin of web pages."""

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
    endpoint: str = Field(
        "", description="The claim that names the endpoint, or endpoints, which alone a token opens, where it has one"
    )
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
    peer: Address | None = Field(
        None,
        description="The URL of the endpoint by which gateways on other machines reach this one: they send on what is "
        "for a session of it",
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


OutputForm = Literal["auto", "json", "toon", "text"]
"""Forms of the text of answers; structured content is JSON in each."""


class ClientSettings(Settings):
    """`[clients.NAME]`: the MCP clients that call themselves so; wildcards work, the first table that fits counts."""

    output: OutputForm = Field(description="The form of their answers, in place of `output` at the top")


Output = Annotated[OutputForm, Field("auto", description="The form of the text of MCP answers")]
"""The type of `output`."""

Clients = Annotated[
    dict[str, ClientSettings], Field(default={}, description="MCP clients, by the name that they give themselves")
]
"""The type of `[clients]`."""


def http_of(config: Config) -> HttpSettings:
    """What `[http]` says; the defaults if it is absent."""
    found: HttpSettings | None = getattr(config, "http", None)
    return found or HttpSettings()


def output_of(config: Config) -> OutputForm:
    """The form of answers for clients that have none of their own."""
    found: OutputForm = getattr(config, "output", "auto")
    return found


def clients_of(config: Config) -> dict[str, ClientSettings]:
    """What `[clients]` says, in the order of the file."""
    found: dict[str, ClientSettings] = getattr(config, "clients", {})
    return found
