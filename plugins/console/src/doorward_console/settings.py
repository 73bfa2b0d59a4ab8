"""The model of `[console]` in `doorward.toml`."""

from __future__ import annotations

from doorward import Secret, Settings
from pydantic import Field, PositiveFloat


class ConsoleOAuthSettings(Settings):
    """`[console.oauth]`: people sign in at the authorization server of `[http.oauth]`."""

    client_id: str = Field(description="The client that is registered there, with the redirect URL …/console/callback")
    client_secret: Secret | None = Field(None, description="Its secret, a reference: ${NAME}; a public client has none")
    scopes: list[str] = Field(["openid"], description="What is asked for; without openid there is no ID token to check")
    resource: str = Field("", description="The resource of the token (RFC 8707), where that decides `aud`")


class ConsoleSettings(Settings):
    """`[console]`: pages for people, below `/console` of the HTTP endpoint."""

    operators: list[str] = Field(
        [],
        description="Principals who see what is everybody's and answer every request; wildcards work, "
        '"@ops" is a group of [groups]. Others see what is theirs',
    )
    self_approval: bool = Field(
        False,
        description="Other principals answer their own requests, too; an agent that has its principal's token could "
        "answer its own",
    )
    link: bool = Field(False, description="Print a link for an operator, which works once; as `serve --console` does")
    hours: PositiveFloat = Field(12.0, description="Hours after which one signs in again")
    oauth: ConsoleOAuthSettings | None = Field(None, description="People sign in at the authorization server, too")
