"""The configured servers: which of them a principal can use, and their sources, made when first needed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import replace
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import Any

from pydantic_core import to_jsonable_python

from doorward.access.effects import Effects
from doorward.access.policy import wanted
from doorward.access.principals import Principals
from doorward.catalog.catalog import Catalog
from doorward.config.config import Loaded, Server, module_name
from doorward.config.installed_plugins import PluginId
from doorward.config.settings import ServerSettings
from doorward.config.upstream_patterns import Upstream
from doorward.data.json_writing import digest
from doorward.host.logs import log
from doorward.model.drivers import Auth, HasIdempotencyKey, Source
from doorward.model.errors import ConfigError, DoorwardError, MissingSecret, UnknownName
from doorward.model.functions import Function
from doorward.model.names import some
from doorward.model.principals import LOCAL, person_of
from doorward.model.storage import Store
from doorward.plugins.manager import Plugins
from doorward.secrets.scrubber import answers_of
from doorward.servers.accounts import MARK, Accounts, of_account
from doorward.servers.auths import Auths
from doorward.servers.source_maker import SourceMaker
from doorward.servers.source_pool import SourcePool


class Servers:
    """The servers that are configured under `[servers]`. `broken` says what is wrong with those that cannot be used,
    `outdated` why others go on with their last compile. `changed` is called with the name of a server whose source
    reports a change."""

    def __init__(
        self,
        loaded: Loaded,
        plugins: Plugins,
        catalog: Catalog,
        principals: Principals,
        state: Path,
        store: Store | None = None,
    ) -> None:
        self._loaded = loaded
        self._plugins = plugins
        self._principals = principals
        self._auths = Auths(loaded, plugins, principals, state, store)
        self._makers = SourceMaker(loaded, plugins, principals, self._auths, catalog, state, store)
        self._sources = SourcePool(self._make, self._auths.close, self._closing)
        self.changed: Callable[[str], None] = lambda name: None
        self.broken: dict[str, DoorwardError] = {}
        self.outdated: dict[str, DoorwardError] = {}
        self.revision = 0
        self.use(loaded)

    def use(self, loaded: Loaded) -> None:
        """Use the servers of a configuration, at the start or when it was read again; `revision` changes each time."""
        self.broken |= loaded.broken
        self.effect_of = Effects(loaded.config.policy.classes).of
        self.configured: dict[str, Server] = {n: s for n, s in loaded.servers.items() if not s.settings.disabled}
        self.modules = {module_name(n): n for n in self.configured}
        self.accounts = {
            module: Accounts(self.configured[n], self._principals.members)
            for module, n in self.modules.items()
            if self.configured[n].settings.accounts
        }
        self._exposing = {module_name(n): s.settings for n, s in self.configured.items() if s.settings.expose}
        self.revision += 1

    async def renew(self, name: str) -> None:
        """Forget what was made of a server's configuration, which has changed or is gone. Running calls may end."""
        self._makers.forget(name)
        self.outdated.pop(name, None)
        await self._sources.retire(name)

    def usable_by(self, principal: str) -> Mapping[str, str]:
        """The servers that a principal can use: their configured names by their module names, in the order of the
        configuration."""
        theirs = self._principals.rights(principal).modules
        return {module: name for module, name in theirs.items() if name not in self.broken} if self.broken else theirs

    def names(self, principal: str) -> tuple[str, ...]:
        """The module names of the servers that a principal can use."""
        return tuple(self.usable_by(principal))

    def usable(self, module: str, principal: str) -> bool:
        """Whether a principal can use the server of this module name: it is one of theirs, and not broken."""
        return (name := self._principals.rights(principal).modules.get(module)) is not None and name not in self.broken

    def meant(self, asked: str, principal: str) -> str | None:
        """The module name of the server that a principal means by this name, written exactly or in lower case."""
        module = self._principals.rights(principal).by_name.get(module_name(asked), "")
        return module if self.usable(module, principal) else None

    def wrong(self, principal: str) -> dict[str, DoorwardError]:
        """The `broken` servers of a principal, and why they are broken."""
        return {name: self.broken[name] for name in self._principals.theirs(principal, self.broken)}

    def exposing(self) -> Iterator[tuple[str, ServerSettings]]:
        """The module name and the settings of each server that exposes functions and is not broken."""
        return (
            (module, settings) for module, settings in self._exposing.items() if self.modules[module] not in self.broken
        )

    def per_principal(self, module: str) -> bool:
        """Whether each principal has credentials of their own at a server. A server that is no longer configured counts
        as such: that is the safe side."""
        return (name := self.modules.get(module)) is None or self.configured[name].settings.per_principal

    def drop(self, name: str, error: DoorwardError) -> None:
        """Take a server out of use, and remember why."""
        self._loaded.secrets.scrub_error(error, answers_of(module_name(name)))
        self.broken[name] = error
        log.warning("server_broken", server=name, why=str(error), hint=error.hint)

    def keep_last(self, name: str, error: DoorwardError) -> None:
        """Let a server go on with its last compile, and remember why it has no newer one."""
        self._loaded.secrets.scrub_error(error, answers_of(module_name(name)))
        self.outdated[name] = error
        log.warning("compile_failed", server=name, why=str(error), serving="the last compile")

    def check_auth(self, name: str) -> None:
        """Validate the auth of a server before any call; a secret that is missing is reported by the calls.

        Raises: ConfigError, PluginError.
        """
        with suppress(MissingSecret):
            self._auths.drivers(server := self.configured[name])
            for account in server.settings.accounts:
                self._auths.drivers(of_account(server, account))

    def source(self, module: str) -> Source:
        """The source that compiles a server, made now if there is none. Imports the plugin, opens nothing.

        Raises: PluginError, ConfigError.
        """
        return self._sources.get(self.modules[module], LOCAL)

    def using(self, module: str, principal: str, account: str = "") -> AbstractAsyncContextManager[Source]:
        """The source of a server for one call: the same for all principals, or one each if they have credentials of
        their own; and one for each account: what it remembers, and what its limits are, is that account's.

        Raises: UnknownName for a server that is no longer configured; LimitExceeded, PluginError, ConfigError.
        """
        if module not in self.modules:
            raise UnknownName(f"the server {module!r} is not there any more", hint="See list_servers.")
        name = self.modules[module] + (f"{MARK}{account}" if account else "")
        return self._sources.using(name, person_of(principal) if self.per_principal(module) else LOCAL)

    def _make(self, name: str, whose: str) -> Source:
        server = self._as_account(name)
        return self._makers.make(server, whose, lambda: self.changed(server.name))

    def _as_account(self, name: str) -> Server:
        """The server of a name like `github` or `github@work`. Raises: UnknownName for an account that it has not."""
        bare, _, account = name.partition(MARK)
        server = self.configured[bare]
        own = server.settings.accounts.get(account)
        if account and own is None:
            there = some(server.settings.accounts) or "none"
            raise UnknownName(f"{bare} has no account {account[:100]!r}", hint=f"There are: {there}.")
        return of_account(server, "" if own is None or own.default else account)

    def _closing(self, name: str, source: Source) -> Callable[[], Awaitable[None]]:
        plugin = self._plugins.id("source", self.configured[name.partition(MARK)[0]].settings.source)
        return partial(self._plugins.failures.closed, plugin, source)

    async def sweep(self) -> None:
        """Close principals' own sources that have not been used for a while."""
        await self._sources.sweep()

    def offered(self, module: str, name: str) -> Function | None:
        """The function of this name or id, if it is one that every server of the source has, and the configuration of
        this server allows it."""
        server = self.configured[self.modules[module]]
        for function in self._makers.offers(server):
            if name in (function.name, function.id) and wanted(function, server.settings, self.effect_of):
                return replace(function, server=module)
        return None

    def source_id(self, module: str) -> PluginId | None:
        """The plugin that is the source of a server; `None` if the server is gone."""
        name = self.modules.get(module)
        return self._plugins.id("source", self.configured[name].settings.source) if name else None

    def called(self, module: str) -> str:
        """What messages call the source of a server."""
        return str(self.source_id(module) or "its source")

    def outgoing(self, module: str) -> Callable[[str], str]:
        """What clears a text that leaves for the upstream of a server; see `ServerContext.outgoing`."""
        return self._makers.outgoing(module)

    def without_known(self, module: str) -> Callable[[str], str]:
        """What takes the secrets that Doorward knows, or could reveal, out of a text about a server."""
        return self._makers.outgoing(module, looks=False)

    def cwd(self, module: str, principal: str) -> str:
        """The working folder of a server's process, if its source's settings name one (`cwd`); else ""."""
        server = self.configured[self.modules[module]]
        return self._makers.cwd(server, _whose(server, principal))

    def repeats_by(self, module: str, principal: str) -> str:
        """The header with a key by which a server knows calls that are made again; "" if it has none. Raises:
        ConfigError, PluginError."""
        server = self.configured[self.modules[module]]
        settings = self._makers.settings(server, _whose(server, principal))
        return settings.idempotency_key if isinstance(settings, HasIdempotencyKey) else ""

    def upstreams(self, function: Function, principal: str) -> Sequence[Upstream]:
        """Where a call of a function may go. Raises: ConfigError, PluginError."""
        if (name := self.modules.get(function.server)) is None:
            return ()
        server = self.configured[name]
        return self._makers.upstreams(server, _whose(server, principal), function)

    def settings(self, name: str, principal: str = LOCAL) -> list[Any]:
        """The validated settings of a server's source and its auths, for `doctor`. Raises: ConfigError, PluginError."""
        server = self.configured[name]
        return [
            self._makers.settings(server, principal),
            *(settings for _, settings in self._auths.drivers(server, principal)),
        ]

    def auths_of(self, name: str, principal: str = LOCAL) -> list[Auth]:
        """New auths of a server, by its name or its module name, for logging in. Never empty.

        Raises: UnknownName; ConfigError if it has none, or cannot be used; PluginError.
        """
        bare, mark, account = name.partition(MARK)
        name = self.modules.get(bare, bare)
        if name not in self.configured:
            if name in self.broken:
                raise self.broken[name]
            near = get_close_matches(name, self.configured)
            hint = f"Did you mean {' or '.join(near)}?" if near else f"Servers: {some(self.configured)}."
            raise UnknownName(f"there is no server {name!r}", hint=hint)
        server = self._as_account(f"{name}{mark}{account}")
        principal = person_of(principal)
        made = self._auths.make(server, self._makers.settings(server, principal), principal)
        if not made:
            raise ConfigError(
                "has no auth",
                place=server.place,
                hint='A server with a login has, for example: auth = { type = "oauth2" }',
            )
        return made

    def fingerprint(self, name: str) -> str:
        """A hash of a server's configuration, without secrets, and of the plugin that compiles it."""
        server = self.configured[name]
        given = [entry.given_by for entry in self._plugins.index.named("source", server.settings.source)]
        classes = self._loaded.config.policy.classes if server.settings.read_only else {}
        said = server.settings.model_dump(mode="json"), dict(server.options), str(self._loaded.folder), given
        owned = to_jsonable_python(server.owned, fallback=str)
        return digest(*said, *(each for each in (classes, owned) if each))

    def key_of(self, server: str, key: str) -> Any:
        """What a key that belongs to a plugin says of a server, by the name of its module; `None` if it is absent."""
        name = self.modules.get(server)
        return self.configured[name].owned.get(key) if name in self.configured else None

    async def close(self) -> None:
        """Close every source that was opened."""
        await self._sources.close()


def _whose(server: Server, principal: str) -> str:
    """The principal whose credentials a call to a server uses."""
    return person_of(principal) if server.settings.per_principal else LOCAL
