"""The settings of `auth = { type = "keycloak", … }`."""

from __future__ import annotations

from typing import Literal
from urllib.parse import quote

from doorward import Secret, Settings, Template
from doorward_auth_oauth2 import OAuth2Settings
from pydantic import Field, model_validator


class _RealmSettings(OAuth2Settings):
    """Those of `oauth2` for a realm: its endpoints are where every realm has them, if it does not tell them."""

    def usual_urls(self, why: str) -> dict[str, str]:
        """See `OAuth2Settings`; none if Keycloak says that there is no such realm."""
        if "realm does not exist" in why.lower():
            return {}
        at = f"{self.issuer}/protocol/openid-connect"
        return {
            "authorization_endpoint": f"{at}/auth",
            "token_endpoint": f"{at}/token",
            "revocation_endpoint": f"{at}/revoke",
            "device_authorization_endpoint": f"{at}/auth/device",
        }


class KeycloakSettings(Settings):
    """`auth = { type = "keycloak", base_url = "https://sso.example.com", realm = "main", client_id = "me",
    client_secret = "${X}" }`"""

    base_url: str = Field(
        pattern=r"^https?://[^\s/?#@]+(/[^\s?#]*)?$", description="Where Keycloak is; before version 17 with /auth"
    )
    realm: str = Field(min_length=1, description="The realm's name, as it stands in addresses")
    client_id: str = Field(min_length=1, description="The client of that realm")
    client_secret: Secret | None = Field(None, description="Its secret, if client authentication is on")
    client_auth: Literal["basic", "post", "private_key_jwt"] = Field(
        "basic", description="How the client proves itself"
    )
    private_key: Secret | None = Field(
        None, description="The PEM key of a client with signed JWTs, in place of a secret"
    )
    key_id: str = Field("", description="The kid of the key, where the client has several")
    signing_algorithm: str = Field("RS256", pattern=r"^(RS|PS|ES)(256|384|512)$|^EdDSA$", description="How it signs")
    scope: str | list[str] = Field(
        "", description="Scopes, as a text with spaces or a list; without it the client's default ones"
    )
    flow: Literal["client_credentials", "password", "authorization_code", "device_code", "token_exchange"] | None = (
        Field(
            None,
            description="How tokens are got: client_credentials, or password if there is a username; or another one",
        )
    )
    username: Template | None = Field(None, description="For password: whose account it is")
    password: Secret | None = Field(None, description="For password: its password")
    redirect_port: int = Field(
        0, ge=0, le=65535, description="For authorization_code: the port of http://127.0.0.1:PORT/callback"
    )
    store: Literal["auto", "keyring", "file"] = Field(
        "auto", description="Where logins are kept; auto: the keyring, else a file"
    )
    audience: str = Field("", description="For token_exchange: the client for which the token is")
    subject_token: Secret | None = Field(
        None, description="For token_exchange: what is exchanged; else what the principal brought"
    )
    params: dict[str, Template] = Field({}, description="More fields of the requests for tokens")

    @model_validator(mode="after")
    def _fits(self) -> KeycloakSettings:
        if (self.username is None) != (self.password is None):
            raise ValueError("username and password belong together")
        self.oauth2.require_fit()
        return self

    @property
    def oauth2(self) -> OAuth2Settings:
        """The same settings for `oauth2`, made from validated values, whose `${…}` references stay unresolved."""
        given = {key: getattr(self, key) for key in self.model_fields_set & OAuth2Settings.model_fields.keys()}
        flow = self.flow or ("password" if self.username else "client_credentials")
        issuer = f"{self.base_url.rstrip('/')}/realms/{quote(self.realm, safe='')}"
        return _RealmSettings.model_construct(**{**given, "flow": flow, "issuer": issuer})
