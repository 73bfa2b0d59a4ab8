"""What a plugin is told when it is made: a source of its server, all others of their settings and for whom they
work."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, cast

from doorward.model.types import LOCAL, Schema

if TYPE_CHECKING:
    import httpx2
    from typing_extensions import TypeVar

    SettingsT = TypeVar("SettingsT", covariant=True, default=Any)
else:
    from typing import TypeVar

    SettingsT = TypeVar("SettingsT")  # Python has the default from 3.13 on

Other = TypeVar("Other")


@dataclass(frozen=True)  # with slots, Python 3.11 could not make a `ServerContext[…](…)`
class ServerContext(Generic[SettingsT]):
    """What a source is told about its server.

    `settings` is an instance of the driver's own `Settings`, as `ServerContext[MySettings]` says. `folder` is where the
    configuration file lies: relative paths start there. `auth` makes the configured `httpx2.Auth` (`None`: no
    credentials); it is called late, because that is what imports the auth plugin. `state` is a folder of the server's
    own that the source may create. `changed` is for a source that learns of it that its functions are others now: they
    are compiled anew in the background, and clients are told. `scrub` takes secrets out of a text that the source
    keeps. `suggest` is the hint for a call that lacks credentials, if no auth is configured, else empty. `definition`
    gives one of the last compile, by its name.
    """

    name: str
    settings: SettingsT
    folder: Path
    state: Path
    auth: Callable[[], httpx2.Auth | None] = lambda: None
    changed: Callable[[], None] = lambda: None
    scrub: Callable[[str], str] = str
    suggest: Callable[[], str] = str
    definition: Callable[[str], Schema | None] = lambda name: None


@dataclass(frozen=True)
class PluginContext(Generic[SettingsT]):
    """What auth, cache, executor and hook plugins are told: their validated settings (`PluginContext[MySettings]`), the
    state folder, and for whom they work (`name`: the server for auth, else the plugin's own name). `url` is where that
    server is, as its source's settings say (`url`, else `base_url`), and `source` the type of that; empty where they do
    not. `origins`: URLs of what else belongs to that server, as its source's settings say (`origins`). `redact` has a
    value that was fetched (a token) scrubbed from every output; tell it every time that one comes or goes, for only the
    latest are kept in mind.

    `principal` is whose credentials an auth is for: `local`, unless the server is `per_principal`; `presented` is the
    access token that they brought last over HTTP, to be exchanged (RFC 8693), if they brought one; `per_principal` is
    what the server's setting says. `vault_key` is for an auth that keeps what it has fetched in the state folder: it
    reveals what encrypts it there, if the configuration says so.
    """

    name: str
    settings: SettingsT
    state: Path
    url: str = ""
    source: str = ""
    redact: Callable[[str], None] = lambda value: None
    principal: str = LOCAL
    presented: Callable[[], str | None] = lambda: None
    vault_key: Callable[[], str] | None = None
    origins: Sequence[str] = ()
    per_principal: bool = False

    def with_settings(self, settings: Other) -> PluginContext[Other]:
        """The same for a driver that has these settings: one that builds on another driver gives it what that one
        knows."""
        return replace(cast("PluginContext[Any]", self), settings=settings)
