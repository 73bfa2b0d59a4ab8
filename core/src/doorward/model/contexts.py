"""What a plugin is given when it is made: a source learns about its server, other plugins about their settings."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, cast

from doorward.model.functions import Schema
from doorward.model.principals import LOCAL

if TYPE_CHECKING:
    import httpx2
    from typing_extensions import TypeVar

    from doorward.model.storage import Store

    SettingsT = TypeVar("SettingsT", covariant=True, default=Any)
else:
    from typing import TypeVar

    SettingsT = TypeVar("SettingsT")  # Python has the default from 3.13 on

Other = TypeVar("Other")


def _by_name(names: Iterable[str], place: str) -> Callable[[str], bool]:
    meant = tuple(names)
    return lambda principal: any(fnmatchcase(principal, name) for name in meant)


@dataclass(frozen=True)  # with slots, Python 3.11 could not make a `ServerContext[…](…)`
class ServerContext(Generic[SettingsT]):
    """What a source is told about its server.

    `settings` is an instance of the driver's own `Settings`, as `ServerContext[MySettings]` says. `folder` is where the
    configuration file lies: relative paths start there. `auth` makes the configured `httpx2.Auth` (`None`: no
    credentials); call it late, because it imports the auth plugin. `state` is a folder for this server alone, which the
    source may create. A source calls `changed` when it learns that its functions have changed: they are compiled anew
    in the background, and clients are told. `scrub` takes secrets out of a text that the source keeps. `suggest` is the
    hint for a call that lacks credentials; it is empty if an auth is configured. `definition` gives a definition of the
    last compile by its name. `outgoing` clears a text that leaves for somebody who may have no credential at all of
    whatever is one, or looks like one. `holding()` is a block for a connection that outlives the call which opens it:
    credentials that are revealed in it stay scrubbed until it ends, and not only until that call has ended. `principal`
    is whose source this is. That of `local` is everyone's, unless the server is `per_principal`: an error of a call of
    another principal quotes nothing that somebody else may have sent. `store` is where a source stores what it must
    remember beyond its functions; `None` where no engine is installed and the configuration names none. `filled` are
    the parameters that the configured auth sends, as their places (`header`, `query`, `cookie`) and names: they belong
    to no function.
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
    holding: Callable[[], AbstractContextManager[None]] = nullcontext
    outgoing: Callable[[str], str] = str
    principal: str = LOCAL
    store: Store | None = None
    filled: Callable[[], Collection[tuple[str, str]]] = tuple


@dataclass(frozen=True)
class PluginContext(Generic[SettingsT]):
    """What auth, cache, executor and hook plugins are told.

    `settings` are their validated settings (`PluginContext[MySettings]`), `state` is the state folder, `name` the name
    of the server for an auth, else the plugin's own. `url` is where that server is (the `url`, else the `base_url` of
    its source's settings), `source` the type of its source, `origins` are further URLs that belong to it; each is empty
    where the settings do not say. `redact` has a fetched value (a token) scrubbed from every output. Call it each time
    that one comes or goes: it is scrubbed until the call for which that happens has ended, and afterwards as long as it
    is one of the latest. It raises LimitExceeded, so that the request is not made, if calls in progress carry too many.
    `folder` is where the configuration lies: relative paths in settings start there, `folder / path.expanduser()`.

    A plugin that owns tables of the configuration, or keys of servers, finds what they say in `tables`, by name, and by
    `server_key(SERVER, KEY)`: the value, or `None`; servers may change while a gateway is open. `members(NAMES, PLACE)`
    is for a setting that names principals: it returns whether one is meant by names, wildcards and `@GROUP`, and raises
    ConfigError for an unknown group. One that owns keys of `[policy]` finds in `policies` the tables that hold, by
    whose each is, what manages the configuration first; "" is the configuration's own.

    `store` is where a hook plugin, an auth or a cache stores what it must remember; `None` where no engine is installed
    and the configuration names none: what must not be forgotten with the process then refuses.

    `principal` says whose credentials an auth is for: `local`, unless the server is `per_principal` (the server's
    setting). `presented` is the access token that the principal brought last over HTTP, if any, to be exchanged
    (RFC 8693). `vault_key` is for what keeps values in the state folder: it reveals the key that encrypts them, if
    one is configured. While an operator changes it, `vault_key_before` reveals the one that still opens what that does
    not; nothing is written with it.
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
    vault_key_before: Callable[[], str] | None = None
    origins: Sequence[str] = ()
    per_principal: bool = False
    tables: Mapping[str, Any] = field(default_factory=dict)
    server_key: Callable[[str, str], Any] = lambda server, key: None
    members: Callable[[Iterable[str], str], Callable[[str], bool]] = _by_name
    policies: Mapping[str, Any] = field(default_factory=dict)
    store: Store | None = None
    folder: Path = Path()

    def with_settings(self, settings: Other) -> PluginContext[Other]:
        """This context with other settings, for a driver that builds on another one and hands its context on."""
        return replace(cast("PluginContext[Any]", self), settings=settings)
