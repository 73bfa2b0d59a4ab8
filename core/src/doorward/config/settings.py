"""The models of `doorward.toml`: the names, meanings and types of its keys."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import (
    ByteSize,
    Field,
    NonNegativeFloat,
    PositiveFloat,
    PositiveInt,
    ValidationInfo,
    create_model,
    field_validator,
    model_validator,
)

from doorward.config import limit_keys
from doorward.config.upstream_patterns import Pattern
from doorward.model.calls import Effect
from doorward.model.principals import LOCAL, person_of
from doorward.model.programs import Limits
from doorward.model.settings import Settings
from doorward.secrets.store import Secret

if TYPE_CHECKING:
    from collections.abc import Callable

    _RunLimits = Settings  # the limits of a run are typed as `Limits`
else:
    _RunLimits = create_model("_RunLimits", __base__=Settings, __doc__="What one run may use.", **limit_keys.FIELDS)


class LimitSettings(_RunLimits):
    """`[limits]`: what one run may use (see `Limits`), and how much the gateway keeps."""

    kept: ByteSize = Field(ByteSize(256 * 2**20), description="All artefacts kept together")
    kept_seconds: PositiveFloat = Field(3600.0, description="How long an artefact is kept")
    sessions: PositiveInt = Field(8, description="Open sessions of one principal")
    session_idle: PositiveFloat = Field(600.0, description="Seconds after which an unused session ends")

    def of_run(self) -> Limits:
        """The limits of one run."""
        return Limits(**{name: getattr(self, key) for name, key in limit_keys.KEYS.items()})


class PolicySettings(Settings):
    """`[policy]`: what programs may call, as patterns of `server.function` or of upstreams; `deny` wins."""

    allow: list[Pattern] = Field(["*"], description="What programs may call")
    deny: list[Pattern] = Field([], description="What they may not call; wins")
    classes: dict[Effect, list[Pattern]] = Field(
        {}, description="What functions do, where their document is wrong or cannot be trusted: patterns by class"
    )


class TokenSettings(Settings):
    """`[[principals.NAME.tokens]]`: one bearer token of a principal, as `doorward token new` writes it."""

    id: str = Field(description="What `doorward token list` and `revoke` call it")
    hash: str = Field(
        pattern=r"^sha256:[0-9a-f]{64}$", description="The hash of the token, which itself is nowhere kept"
    )
    expires: datetime | None = Field(None, description="When it ends; never, if not given")
    endpoint: str | None = Field(None, description="The only endpoint that it opens, of `[endpoints]`")

    @field_validator("expires")
    @classmethod
    def _in_utc(cls, value: datetime | None) -> datetime | None:
        return value if value is None or value.tzinfo else value.replace(tzinfo=UTC)


EVERYONE = "*"
"""The name of the table for principals without one of their own."""


class PrincipalSettings(Settings):
    """`[principals.NAME]`: a principal on the HTTP transport, or `local`, who uses stdio and the command line.

    `[principals."*"]` is for all principals but `local` without a table of their own. Its keys are also the defaults of
    all other tables, except secrets and tokens.
    """

    servers: list[str] = Field(["*"], description="The servers that they see and may use; wildcards work")
    allow: list[Pattern] = Field(["*"], description="What they may call, as in [policy], within what that allows")
    deny: list[Pattern] = Field([], description="What they may not call; wins")
    secrets: dict[str, Secret] = Field(
        {}, description="Their own credentials: `${principal:KEY}` in the settings of servers"
    )
    tokens: list[TokenSettings] = Field([], description="Their bearer tokens, which `doorward token new` writes")
    attributes: dict[str, Any] = Field(
        {}, description='What rules may ask of them: team = "payments". It stands over the claims of their tokens'
    )


Surface = Literal["standard", "minimal", "calls"]
"""Which tools agents have."""


class EndpointSettings(Settings):
    """`[endpoints.NAME]`: a part of this gateway for one agent or team, at `/mcp/NAME` or by `serve --endpoint NAME`.
    Whoever comes by it knows of nothing else, and may do no more than they may anyway."""

    principals: list[str] = Field(["*"], description='Who may come by it: names, wildcards, "@GROUP"')
    servers: list[str] = Field(["*"], description="The servers that are there; wildcards work")
    include: list[str] = Field(["*"], description='The functions that are there: "github.issues_*", "tag:NAME"')
    exclude: list[str] = Field([], description="The functions that are left out; the same patterns")
    read_only: bool = Field(False, description="Leave out every function that may change something")
    surface: Surface | None = Field(None, description="The MCP tools, in place of `surface` at the top")
    limits: _RunLimits = Field(_RunLimits(), description="Limits of a run, in place of those in `[limits]`")

    def limits_of(self, limits: Limits) -> Limits:
        """The limits of a run that has these elsewhere."""
        given = {name: key for name, key in limit_keys.KEYS.items() if key in self.limits.model_fields_set}
        return replace(limits, **{name: getattr(self.limits, key) for name, key in given.items()})


def can_come_in(principal: Any) -> bool:
    """Whether a principal on the HTTP transport may have this name: never `local` or `*`, which mean something else,
    nor one that says by which endpoint somebody came."""
    return (
        isinstance(principal, str)
        and 0 < len(principal) <= 200
        and principal.isprintable()
        and principal not in (LOCAL, EVERYONE)
        and person_of(principal) == principal
    )


class AccountSettings(Settings):
    """`[servers.NAME.accounts.ACCOUNT]`: credentials of one of several accounts, and which calls use it."""

    auth: dict[str, Any] | list[dict[str, Any]] | None = Field(None, description="Its credentials, as `auth` has them")
    default: bool = Field(False, description="It is used where nothing says which")
    principals: list[str] = Field(["*"], description='Who may use it: names, wildcards, "@GROUP"')
    when: dict[str, str | list[str]] = Field(
        {}, description='It is used where all these arguments fit: owner = "acme-*"; wildcards work'
    )

    @property
    def is_chosen(self) -> bool:
        """Whether anything says which calls use it."""
        return bool(self.when) or EVERYONE not in self.principals


class ServerSettings(Settings):
    """The keys of `[servers.NAME]` that core understands, whatever its source."""

    source: str = Field(description="The plugin that makes the functions of the server")
    auth: dict[str, Any] | list[dict[str, Any]] | None = Field(
        None, description="Credentials: a table with the key `type`, or a list of such tables, all of which are used"
    )
    local_auth: dict[str, Any] | list[dict[str, Any]] | None = Field(
        None,
        description="What `local` has in place of `auth`, where the server is per_principal: who compiles it, and "
        "asks over stdio",
    )
    accounts: dict[str, AccountSettings] = Field(
        {}, description="Several accounts, by name, each with an `auth`, in its place"
    )
    per_principal: bool = Field(
        False,
        description="Each principal has credentials of their own here: their own login, their own token exchanged, "
        "`${principal:…}`",
    )
    read_only: bool = Field(
        False, description="Leave out every function that may change something; reads by a guess stay"
    )
    include: list[str] | None = Field(
        None, description='Names, original ids, "tag:…" or "GET /path/**"; wildcards work'
    )
    exclude: list[str] = Field([], description="What to leave out, in the same words")
    expose: list[str] = Field(
        [], description="Functions that are MCP tools of their own as well; each costs every client tokens"
    )
    on_request: bool = Field(
        False, description="Only programs may call it whose run names it in `functions`, or a model by `sampling`"
    )
    disabled: bool = Field(False, description="Leave the server out")

    @model_validator(mode="after")
    def _one_default(self) -> ServerSettings:
        defaults = [name for name, account in self.accounts.items() if account.default]
        if len(defaults) > 1:
            raise ValueError(f"the accounts {' and '.join(map(repr, defaults))} are both the default")
        if self.accounts and (self.auth is not None or self.local_auth is not None):
            raise ValueError("`accounts` stands in the place of `auth` and `local_auth`: give each account its own")
        if wrong := next((name for name in self.accounts if not re.fullmatch(r"[A-Za-z0-9][\w-]{0,63}", name)), None):
            raise ValueError(f"{wrong[:100]!r} cannot name an account: use letters, digits, - and _")
        return self

    @field_validator("auth", "local_auth", mode="before")
    @classmethod
    def _tables(cls, value: Any) -> Any:
        tables = value if isinstance(value, list) else [value]
        if value is not None and not all(isinstance(each, dict) for each in tables):
            raise ValueError(
                'Input should be a table, for example { type = "jwt", token = "${TOKEN}" }, or a list of such'
            )
        return value

    def auths(self, principal: str) -> list[dict[str, Any]]:
        """The tables of `auth` that apply to a principal."""
        if self.accounts:  # who compiles it, or asks what it needs, does so by the default account
            found = next((account.auth for account in self.accounts.values() if account.default), None)
            return found if isinstance(found, list) else [found] if found else []
        found = self.local_auth if principal == LOCAL and self.local_auth is not None else self.auth
        return found if isinstance(found, list) else [found] if found else []


class Config(Settings):
    """The whole file."""

    surface: Surface = Field(
        "standard", description="The MCP tools: all, `execute_code` alone, or those for calls without code"
    )
    executor: list[str] = Field([], description="Where programs run: the first that can run one")
    store: str | None = Field(
        None, description="What stores all that is remembered; memory: nothing outlasts the process"
    )
    cache: str | None = Field(None, description="What keeps programs for run_cached_code; none: nothing")
    plugins: list[str] = Field([], description="Guards and other hook plugins, called in this order")
    capabilities: list[str] = Field(
        [], description="Hook plugins beside those: what is around calls and runs that the door can do without"
    )
    state: Path = Field(Path(), description="The folder of all that is kept, relative to this file")
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        "warning", description="What `serve` logs to standard error"
    )
    refresh: NonNegativeFloat = Field(
        86400.0, description="Seconds after which a gateway that is open compiles what has changed; 0: never"
    )
    limits: LimitSettings = LimitSettings()
    policy: PolicySettings = PolicySettings()
    principals: dict[str, PrincipalSettings] = Field({}, description="Who may use what, by name")
    endpoints: dict[str, EndpointSettings] = Field(
        {}, description="Parts of this gateway, by name, each at `/mcp/NAME`"
    )
    groups: dict[str, list[str]] = Field({}, description='Principals that rules name together, as "@NAME"')
    vault_key: Secret | None = Field(
        None, description="Encrypts what is secret in the state folder; without it tokens stay in memory"
    )
    vault_key_before: Secret | None = Field(
        None, description="Opens what `vault_key` does not, while that is changed; what is written anew has the new one"
    )
    servers: dict[str, dict[str, Any]] = Field({}, description="APIs and MCP servers, by the name programs import")
    executors: dict[str, dict[str, Any]] = Field({}, description="Settings of executors, by name")
    stores: dict[str, dict[str, Any]] = Field({}, description="Settings of stores, by name")
    caches: dict[str, dict[str, Any]] = Field({}, description="Settings of caches, by name")
    hooks: dict[str, dict[str, Any]] = Field({}, description="Settings of hook plugins, by name")

    @property
    def vault_keys(self) -> tuple[Callable[[], str] | None, Callable[[], str] | None]:
        """What reveals `vault_key`, and what reveals the one before; `None` for one that is not set."""
        return (
            self.vault_key.reveal if self.vault_key else None,
            self.vault_key_before.reveal if self.vault_key_before else None,
        )

    @field_validator("vault_key_before")
    @classmethod
    def _beside_a_key(cls, before: Secret | None, info: ValidationInfo) -> Secret | None:
        if before is not None and info.data.get("vault_key") is None:
            raise ValueError("it is for what `vault_key` does not open, and there is none: set vault_key to this key")
        return before

    @field_validator("endpoints")
    @classmethod
    def _in_paths(cls, endpoints: dict[str, EndpointSettings]) -> dict[str, EndpointSettings]:
        if wrong := next((name for name in endpoints if not re.fullmatch(r"[a-z0-9][a-z0-9_-]{0,63}", name)), None):
            raise ValueError(f"{wrong[:100]!r} cannot name an endpoint: use a to z, digits, - and _, at most 64")
        return endpoints

    @field_validator("principals")
    @classmethod
    def _nameable(cls, principals: dict[str, PrincipalSettings]) -> dict[str, PrincipalSettings]:
        for name, table in principals.items():
            if name == EVERYONE and (table.secrets or table.tokens or table.attributes):
                raise ValueError(
                    '"*" is everyone: it has no secrets, tokens or attributes. Give them to principals by their names'
                )
            if table.tokens and not can_come_in(name):
                raise ValueError(f"{name[:100]!r} cannot have tokens: nobody who comes over HTTP is called so")
            if person_of(name) != name or (
                name != EVERYONE
                and (not 0 < len(name) <= 255 or not name.isprintable() or re.search(r"[*?\[\]]", name))
            ):
                raise ValueError(
                    f'{name[:100]!r} cannot name a principal: give one name, without wildcards, or "*" for everyone'
                )
            if "name" in table.secrets:
                raise ValueError(
                    f"{name}.secrets: ${{principal:name}} is always the principal's name; call the secret otherwise"
                )
        return principals
