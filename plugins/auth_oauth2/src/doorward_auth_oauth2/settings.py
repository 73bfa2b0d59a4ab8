"""The settings of `auth = { type = "oauth2", … }`."""

from __future__ import annotations

import json
import re
from typing import Any, Literal

from doorward import Secret, Settings, Template
from pydantic import Field, field_validator, model_validator

Flow = Literal[
    "authorization_code", "device_code",
    "client_credentials", "password", "refresh_token", "jwt_bearer", "token_exchange", "identity_assertion",
]  # fmt: skip
PEOPLE = ("authorization_code", "device_code")
"""The flows with which a person logs in."""
EXCHANGES = ("token_exchange", "identity_assertion")
"""The flows that exchange what a principal brought."""
ACCESS_TOKEN = "urn:ietf:params:oauth:token-type:access_token"  # noqa: S105 - a name of RFC 8693

_NEEDS: dict[str, tuple[str, ...]] = {
    "device_code": ("client_id",),
    "client_credentials": ("client_id",),
    "password": ("username", "password"),
    "refresh_token": ("refresh_token",),
    "jwt_bearer": ("private_key",),
    "identity_assertion": ("client_id", "identity_token_url"),
}
_BELONGS: dict[str, tuple[str, ...]] = {
    "authorization_url": ("authorization_code",),
    "client_metadata_url": ("authorization_code",),
    "redirect_port": ("authorization_code",),
    "device_authorization_url": ("device_code",),
    "username": ("password",),
    "password": ("password",),
    "refresh_token": ("refresh_token",),
    "assertion_issuer": ("jwt_bearer",),
    "subject": ("jwt_bearer",),
    "claims": ("jwt_bearer",),
    "audience": ("jwt_bearer", "token_exchange", "identity_assertion"),
    "subject_token": EXCHANGES,
    "subject_token_type": EXCHANGES,
    "requested_token_type": ("token_exchange",),
    "delegation": ("token_exchange",),
    "identity_token_url": ("identity_assertion",),
    "identity_client_id": ("identity_assertion",),
    "identity_client_secret": ("identity_assertion",),
}


class OAuth2Settings(Settings):
    """Settings; `auth = { type = "oauth2" }` is enough for a server that says where to log in."""

    flow: Flow = Field(
        "authorization_code", description="How tokens are got: by a person (doorward login), or by Doorward itself"
    )
    client_id: str = Field(
        "", description="The client that is registered at the provider; without it one is registered at the login"
    )
    client_secret: Secret | None = Field(None, description="Its secret, if it has one")
    client_auth: Literal["basic", "post", "none", "private_key_jwt"] = Field(
        "basic", description="How the client proves itself"
    )
    private_key: Secret | None = Field(
        None, description="The PEM key that signs assertions, in place of a secret (private_key_jwt)"
    )
    key_id: str = Field("", description="The kid of the key, where the provider has several")
    signing_algorithm: str = Field("RS256", pattern=r"^(RS|PS|ES)(256|384|512)$|^EdDSA$", description="How it signs")
    client_metadata_url: str = Field(
        "", pattern=r"^(https://[^/]+/.+)?$", description="The URL of a client id metadata document"
    )
    scope: str | list[str] = Field(
        "", description="Scopes, as a text with spaces or a list; without it those that the server asks for"
    )
    resource: str | list[str] = Field(
        "", description="The resources that tokens are for (RFC 8707); without it what the server says it is"
    )
    params: dict[str, Template] = Field(
        {}, description="More fields of the requests for tokens, and of the login page's address"
    )
    issuer: str = Field(
        "", description="The provider, where the server does not say, or must not choose, which one it is"
    )
    authorization_url: str = Field("", description="Where a person logs in, at a provider that does not tell")
    device_authorization_url: str = Field(
        "", description="Where a device_code login begins, at a provider that does not tell"
    )
    token_url: str = Field("", description="Where tokens come from, at a provider that does not tell")
    redirect_port: int = Field(
        0, ge=0, le=65535, description="The port of http://127.0.0.1:PORT/callback; 0 is any free one"
    )
    store: Literal["auto", "keyring", "file"] = Field(
        "auto", description="Where logins are kept; auto: the keyring, else a file"
    )
    username: Template | None = Field(None, description="For password: whose account it is")
    password: Secret | None = Field(None, description="For password: its password")
    refresh_token: Secret | None = Field(None, description="For refresh_token: the first one; its successors are kept")
    assertion_issuer: str = Field("", description="For jwt_bearer: the iss of the assertion; else client_id")
    subject: str = Field("", description="For jwt_bearer: its sub; else its iss")
    audience: str = Field(
        "", description="For jwt_bearer: its aud, else the provider; for token_exchange: whom the token is for"
    )
    claims: dict[str, Any] = Field({}, description="For jwt_bearer: further claims")
    subject_token: Secret | None = Field(
        None, description="For the exchanges: what is exchanged; else what the principal brought"
    )
    subject_token_type: str = Field(ACCESS_TOKEN, description="For the exchanges: what that is (RFC 8693 section 3)")
    requested_token_type: str = Field("", description="For token_exchange: what it should become")
    delegation: bool = Field(
        False, description="For token_exchange: the client's own token goes with it, so that the new one names who acts"
    )
    identity_token_url: str = Field("", description="For identity_assertion: where the identity provider has tokens")
    identity_client_id: str = Field("", description="For identity_assertion: the client there; else client_id")
    identity_client_secret: Secret | None = Field(None, description="For identity_assertion: its secret there")

    @field_validator("issuer", "authorization_url", "device_authorization_url", "token_url", "identity_token_url")
    @classmethod
    def _web(cls, value: str) -> str:
        if value and not re.fullmatch(r"https?://[^\s/?#@]+([/?][^\s#]*)?", value):
            raise ValueError("must be an https URL")
        return value

    @model_validator(mode="after")
    def _fits(self) -> OAuth2Settings:
        self.require_fit()
        return self

    def require_fit(self) -> None:
        """Check that the settings fit together; also for a caller that built them without
        validation. Raises: ValueError."""
        for key in _NEEDS.get(self.flow, ()):
            if not getattr(self, key):
                raise ValueError(f"the flow {self.flow} needs {key}")
        for key in self.model_fields_set & _BELONGS.keys():
            if self.flow not in _BELONGS[key] and getattr(self, key):
                hint = "; a provider's own field of that name goes into params" if key == "audience" else ""
                raise ValueError(f"{key} is for the flow {' and '.join(_BELONGS[key])} only{hint}")
        if (
            (self.client_secret is not None or self.private_key is not None)
            and not self.client_id
            and self.flow != "jwt_bearer"
        ):
            raise ValueError("client_secret and private_key belong to a client_id")
        if self.client_secret is not None and self.private_key is not None and self.flow != "jwt_bearer":
            raise ValueError("client_secret and private_key cannot both be given")
        if self.flow == "client_credentials" and self.method == "none":
            raise ValueError("the flow client_credentials needs a client_secret or a private_key")
        if self.flow == "jwt_bearer" and not (self.assertion_issuer or self.client_id):
            raise ValueError("the flow jwt_bearer needs an assertion_issuer, or a client_id")
        if self.delegation and self.method == "none":
            raise ValueError("delegation needs a client_secret or a private_key: the client gets a token of its own")
        if self.flow == "identity_assertion" and not (self.issuer or (self.token_url and self.audience)):
            raise ValueError("the flow identity_assertion needs an issuer, or a token_url and an audience")
        if self.client_auth == "private_key_jwt" and not (self.private_key and self.client_id):
            raise ValueError('client_auth = "private_key_jwt" needs a private_key and a client_id')
        if self.token_url and self.issuer:
            raise ValueError("token_url and issuer cannot both be given: an issuer tells its token_url")
        page = {"authorization_code": "authorization_url", "device_code": "device_authorization_url"}.get(self.flow)
        if page and bool(self.token_url) != bool(getattr(self, page)):
            raise ValueError(f"{page} and token_url belong together")
        if self.flow == "authorization_code" and self.token_url and not self.client_id:
            raise ValueError("a provider that is given by its URLs needs a client_id")

    @property
    def scopes(self) -> list[str]:
        return self.scope.split() if isinstance(self.scope, str) else self.scope

    @property
    def resources(self) -> list[str]:
        return self.resource.split() if isinstance(self.resource, str) else self.resource

    @property
    def method(self) -> str:
        """How the client authenticates at the token endpoint, by the names of RFC 7591."""
        if self.client_auth == "private_key_jwt" or (self.private_key is not None and self.flow != "jwt_bearer"):
            return "private_key_jwt"
        if self.client_secret is None or self.client_auth == "none":
            return "none"
        return f"client_secret_{self.client_auth}"

    @property
    def asks_for(self) -> str:
        """Whose token it is and for whom, as far as the configuration says."""
        whose: list[Any] = [
            self.assertion_issuer,
            self.subject,
            self.audience,
            self.claims,
            self.subject_token_type,
            self.requested_token_type,
        ]
        if self.delegation or self.identity_token_url:
            whose += [self.delegation, self.identity_token_url, self.identity_client_id]
        return json.dumps(whose, default=str)

    async def secrets(self) -> list[str]:
        """The secret values on which a login depends. Raises: MissingSecret."""
        found = [
            self.client_secret,
            self.private_key,
            self.username,
            self.password,
            self.refresh_token,
            self.subject_token,
        ]
        found += [self.identity_client_secret] if self.identity_client_secret else []
        return [await value.get() if value else "" for value in (*found, *self.params.values())]

    async def more_fields(self) -> dict[str, Any]:
        """The fields that `params` adds to requests. Raises: MissingSecret."""
        return {name: await value.get() for name, value in self.params.items()}

    def usual_urls(self, why: str) -> dict[str, str]:
        """The endpoints of an issuer that has no metadata for us, by their names there, where all providers of its kind
        have the same ones: of an issuer of any kind, none. `why` is what it said instead."""
        return {}

    def urls(self, server: str) -> list[str]:
        """The URLs that the operator named, including the server's own."""
        named = [server, self.issuer, self.authorization_url, self.device_authorization_url, self.token_url]
        return [url for url in (*named, self.identity_token_url) if url]
