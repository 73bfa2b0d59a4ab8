"""The keys of `[servers.NAME]` with `source = "mcp"`."""

from __future__ import annotations

import re
import shlex
from typing import Any, Literal
from urllib.parse import urlsplit

from doorward import Settings, Template
from pydantic import Field, NonNegativeFloat, PositiveFloat, field_validator, model_validator

from doorward_mcp_upstream.connections.container_settings import MAX_PLACES, ContainerSettings, place

_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
"""The name of a header (RFC 9110 section 5.6.2)."""
_ORIGIN = re.compile(r"(?:https|wss)://(?:\*\.)?[a-z0-9-]+(?:\.[a-z0-9-]+)+(?::[0-9]{1,5})?")
"""Where a page may be allowed to reach to. It becomes part of a Content-Security-Policy."""
_PROTOCOL_HEADERS = {
    "accept",
    "connection",
    "content-length",
    "content-type",
    "host",
    "last-event-id",
    "transfer-encoding",
}

_IMAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/:@-]*")
_ONLY = {
    "headers": {"url"},
    "args": {"command", "image"},
    "env": {"command", "image"},
    "cwd": {"command"},
    **{key: {"image"} for key in ("egress", "egress_private", "pull", "container")},
}
"""The keys that have a meaning for some servers only: those with `command`, `image` or `url`."""


class SessionSettings(Settings):
    """How long a server may take, and what it may ask, however it is reached."""

    start_timeout: PositiveFloat = Field(
        30.0, description="Seconds until the server must have started and said what it can do"
    )
    timeout: PositiveFloat = Field(
        60.0, description="Seconds that one call may take, without the time in which a person is asked"
    )
    idle: NonNegativeFloat = Field(
        300.0, description="Seconds without a call after which the server is disconnected; 0: never"
    )
    sampling: bool = Field(False, description="Pass requests of the server to use the client's model on to the client")
    apps: bool = Field(
        False, description="Pass the interfaces of its exposed tools on to clients that show such (MCP Apps)"
    )
    app_domains: list[str] = Field(
        [], description="Origins that these pages may reach, of those that they ask for: `https://cdn.example.com`"
    )
    allow_self: bool = Field(False, description="Allow an entry that starts or reaches Doorward itself")

    @field_validator("app_domains")
    @classmethod
    def _origins(cls, value: list[str]) -> list[str]:
        for origin in value:
            if not _ORIGIN.fullmatch(origin):
                raise ValueError(f"{origin!r} is no origin such as https://cdn.example.com or https://*.example.com")
        return value


class MCPSettings(SessionSettings):
    """How one MCP server is started or reached, and how long it may take."""

    command: list[str] = Field(
        [],
        description="What starts the server: a list, or one string that is split as a shell would; with `image`, in "
        "place of what the image starts",
        json_schema_extra={"format": "command"},
    )
    args: list[str] = Field([], description="More arguments of `command`")
    env: dict[str, Template] = Field(
        {}, description="Environment of the server; it gets none of ours but PATH, HOME, LANG and the like"
    )
    image: str | None = Field(
        None,
        min_length=1,
        max_length=500,
        description="The image of a container in which the server runs, best by its digest; a tag is what it was when "
        "it was first used",
    )
    egress: list[str] = Field(
        [],
        max_length=MAX_PLACES,
        description="Where the container may connect to, as HOST:PORT; else it has no network",
    )
    egress_private: bool = Field(False, description="Whether these hosts may have addresses that are not public")
    pull: bool = Field(False, description="Pull images that the engine does not have")
    container: ContainerSettings = Field(
        default_factory=ContainerSettings, description="The engine, and limits of the container"
    )
    cwd: str | None = Field(
        None,
        description="Folder in which it is started; relative to the configuration file, whose folder is the default",
    )
    url: str | None = Field(None, description="Where the server is, for one that is reached by HTTP")
    headers: dict[str, Template] = Field({}, description="Headers of every request")
    transport: Literal["stdio", "http", "sse"] | None = Field(
        None,
        description="`http` is streamable HTTP, `sse` the older HTTP with server-sent events; found out if it is not "
        "set",
    )

    @field_validator("command", mode="before")
    @classmethod
    def _split(cls, value: Any) -> Any:
        if not isinstance(value, str):
            return [] if value is None else value
        try:
            return shlex.split(value)
        except ValueError as error:
            raise ValueError(f"cannot be split as a shell would: {error}; write a list") from None

    @field_validator("env")
    @classmethod
    def _variables(cls, value: dict[str, Template]) -> dict[str, Template]:
        for name in value:
            if not name or "=" in name or "\0" in name:
                raise ValueError(f"{name!r} is not a name of an environment variable")
        return value

    @field_validator("headers")
    @classmethod
    def _headers(cls, value: dict[str, Template]) -> dict[str, Template]:
        for name in value:
            if not _HEADER_NAME.fullmatch(name):
                raise ValueError(f"{name!r} is not a name of a header")
            if name.lower() in _PROTOCOL_HEADERS or name.lower().startswith("mcp-"):
                raise ValueError(f"{name!r} is set by the protocol")
        return value

    @field_validator("egress")
    @classmethod
    def _egress(cls, value: list[str]) -> list[str]:
        for text in value:
            place(text)
        return list(dict.fromkeys(value))

    @field_validator("image")
    @classmethod
    def _image(cls, value: str | None) -> str | None:
        if value is not None and not _IMAGE.fullmatch(value):
            raise ValueError("is no name of an image")
        return value

    @field_validator("url")
    @classmethod
    def _http(cls, value: str | None) -> str | None:
        if value is None:
            return None
        try:
            parts = urlsplit(value)
            host, _ = parts.hostname, parts.port
        except ValueError:
            raise ValueError("must be an http or https URL") from None
        if parts.scheme not in ("http", "https") or not host or re.search(r"[\x00-\x20\x7f\\]", value):
            raise ValueError("must be an http or https URL")
        if "@" in parts.netloc:
            raise ValueError("must not hold a user or a password; use `auth` or `headers`")
        return value.partition("#")[0]

    @model_validator(mode="after")
    def _one_way(self) -> MCPSettings:
        kind = "image" if self.image else "command" if self.command else "url"
        if bool(self.url) == self.is_started:
            raise ValueError(
                "needs `command` (a server that is started), `image` (one in a container) or `url` (one that is "
                "reached by HTTP), and not both"
            )
        if self.command and not self.command[0].strip():
            raise ValueError("command: must begin with a program")
        no_meaning = [name for name, kinds in _ONLY.items() if kind not in kinds and name in self.model_fields_set]
        if wrong := [name for name in no_meaning if getattr(self, name)]:
            raise ValueError(f"{wrong[0]}: has no meaning with `{kind}`")
        if self.transport and (self.transport == "stdio") != self.is_started:
            raise ValueError(f"transport: {self.transport!r} does not go with `{kind}`")
        return self

    @property
    def is_started(self) -> bool:
        """Whether the server is started here, and ends with us."""
        return bool(self.command or self.image)

    @property
    def places(self) -> list[tuple[str, int]]:
        """Where its container may connect to."""
        return [place(text) for text in self.egress]
