"""What a plugin is told when it is made: a source of its server, all others of their settings and for whom they work."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from doorward.model.types import LOCAL, Schema

if TYPE_CHECKING:
    import httpx2


@dataclass(frozen=True, slots=True)
class ServerContext:
    """What a source is told about its server.

    `settings` is an instance of the driver's own `Settings`. `folder` is where the configuration file lies:
    relative paths start there. `auth` makes the configured `httpx2.Auth` (`None`: no credentials); it is
    called late, because that is what imports the auth plugin. `state` is a folder of the server's own that the
    source may create. `changed` is for a source that learns of it that its functions are others now: they are compiled
    anew in the background, and clients are told. `scrub` takes secrets out of a text that the source keeps. `suggest` is the
    hint for a call that lacks credentials, if no auth is configured, else empty. `definition` gives one of the last compile, by its
    name.
    """

    name: str
    settings: Any
    folder: Path
    state: Path
    auth: Callable[[], httpx2.Auth | None] = lambda: None
    changed: Callable[[], None] = lambda: None
    scrub: Callable[[str], str] = str
    suggest: Callable[[], str] = str
    definition: Callable[[str], Schema | None] = lambda name: None


@dataclass(frozen=True, slots=True)
class PluginContext:
    """What auth, cache, executor and hook plugins are told: their validated settings, the state folder, and
    for whom they work (`name`: the server for auth, else the plugin's own name). `url` is where that server is, as its
    source's settings say (`url`, else `base_url`), and `source` the type of that; empty where they do not. `origins`: URLs of what
    else belongs to that server, as its source's settings say (`origins`). `conceal` has a value that was
    fetched (a token) scrubbed from every output; tell it every time that one comes or goes, for only the latest are kept in mind.

    `principal` is whose credentials an auth is for: `local`, unless the server is `per_principal`; `presented` is the access token that
    they brought last over HTTP, to be exchanged (RFC 8693), if they brought one; `per_principal` is what the server's setting says.
    `vault_key` is for an auth that keeps what it has fetched in the state folder: it reveals what encrypts it there, if the configuration
    says so.
    """

    name: str
    settings: Any
    state: Path
    url: str = ""
    source: str = ""
    conceal: Callable[[str], None] = lambda value: None
    principal: str = LOCAL
    presented: Callable[[], str | None] = lambda: None
    vault_key: Callable[[], str] | None = None
    origins: Sequence[str] = ()
    per_principal: bool = False
