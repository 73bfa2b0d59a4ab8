"""What `auth = { type = "oauth2", … }` may say."""

from __future__ import annotations

import re
from typing import Literal

from doorward import Secret, Settings
from pydantic import Field, field_validator, model_validator

FLOWS = Literal["authorization_code", "client_credentials"]


class OAuth2Settings(Settings):
    """`auth = { type = "oauth2" }` is enough for a server that says where to log in."""

    flow: FLOWS = Field("authorization_code", description="A person logs in once (doorward login), or the client by itself")
    client_id: str = Field("", description="The client that is registered at the provider; without it one is registered at the login")
    client_secret: Secret | None = Field(None, description="Its secret, if it has one")
    client_auth: Literal["basic", "post"] = Field("basic", description="Where the secret goes: an Authorization header, or the body")
    private_key: Secret | None = Field(None, description="In place of a secret: the PEM key that signs assertions (private_key_jwt)")
    signing_algorithm: str = Field("RS256", pattern=r"^(RS|PS|ES)(256|384|512)$|^EdDSA$", description="How it signs")
    client_metadata_url: str = Field("", pattern=r"^(https://[^/]+/.+)?$", description="The URL of a client id metadata document")
    scope: str | list[str] = Field("", description="Scopes, as a text with spaces or a list; without it those that the server asks for")
    issuer: str = Field("", description="The provider, where the server does not say, or must not choose, which one it is")
    authorization_url: str = Field("", description="Where a person logs in, at a provider that does not tell")
    token_url: str = Field("", description="Where tokens come from, at a provider that does not tell")
    redirect_port: int = Field(0, ge=0, le=65535, description="The port of http://127.0.0.1:PORT/callback; 0 is any free one")
    store: Literal["auto", "keyring", "file"] = Field("auto", description="Where tokens are kept; auto: the keyring, else a file")

    @field_validator("issuer", "authorization_url", "token_url")
    @classmethod
    def _web(cls, value: str) -> str:
        if value and not re.fullmatch(r"https?://[^\s/?#@]+([/?][^\s#]*)?", value):
            raise ValueError("must be an https URL")
        return value

    @model_validator(mode="after")
    def _fits(self) -> OAuth2Settings:
        secret = self.client_secret is not None or self.private_key is not None
        if secret and not self.client_id:
            raise ValueError("client_secret and private_key belong to a client_id")
        if self.client_secret is not None and self.private_key is not None:
            raise ValueError("client_secret and private_key cannot both be given")
        if self.token_url and self.issuer:
            raise ValueError("token_url and issuer cannot both be given: an issuer tells its token_url")
        if self.flow == "client_credentials":
            if not secret:
                raise ValueError("the flow client_credentials needs a client_id, and a client_secret or a private_key")
            if self.private_key is not None and self.token_url:
                raise ValueError("private_key needs an issuer, for whom its assertions are; not a token_url")
        elif self.private_key is not None:
            raise ValueError("private_key is for the flow client_credentials only")
        elif bool(self.token_url) != bool(self.authorization_url):
            raise ValueError("authorization_url and token_url belong together")
        elif self.token_url and not self.client_id:
            raise ValueError("a provider that is given by its URLs needs a client_id")
        return self

    @property
    def scopes(self) -> list[str]:
        return self.scope.split() if isinstance(self.scope, str) else self.scope

    def urls(self, server: str) -> list[str]:
        """The URLs that the operator named, the server's own among them."""
        return [url for url in (server, self.issuer, self.authorization_url, self.token_url) if url]
