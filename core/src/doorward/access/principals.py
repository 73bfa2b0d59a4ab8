"""Who asks, and what is theirs: `[principals]` of the configuration, and the tokens that they bring."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property

from doorward.access.patterns import Patterns
from doorward.config.config import Loaded, Server, module_name
from doorward.config.settings import EVERYONE, PrincipalSettings
from doorward.host.logs import log
from doorward.model.names import qualified
from doorward.model.types import LOCAL
from doorward.secrets.owned import OwnedSecrets
from doorward.secrets.scrubber import MAX_SHARED_VALUES, Owner
from doorward.secrets.store import Secrets, Template

_MAX_PRESENTED_TOKENS = 10_000
"""Principals whose last token is kept in mind."""

_OTHER = re.compile(r"(\[[^\]]*\])|[^\w*?]")
"""What stands for an underscore in a pattern of servers: modules have one there."""

_BARE = re.compile(r"[A-Za-z0-9_-]+")
"""A key that TOML takes without quotes."""


class Rights:
    """What one table of `[principals]` gives, read when it is first asked. `servers` are all that there are: their
    configured names by their module names."""

    def __init__(self, settings: PrincipalSettings, servers: Mapping[str, str]) -> None:
        self._settings = settings
        self._servers = servers

    @cached_property
    def modules(self) -> Mapping[str, str]:
        """Those of the servers that are there for the principal."""
        return {module: name for module, name in self._servers.items() if self.servers.fit(module)}

    @cached_property
    def servers(self) -> Patterns:
        return Patterns(map(_of_modules, self._settings.servers))

    @cached_property
    def by_name(self) -> Mapping[str, str]:
        """Them by what a principal may call them: their module names, also in lower case where no other is called
        so."""
        return {module.lower(): module for module in reversed([*self.modules])} | {
            module: module for module in self.modules
        }

    @cached_property
    def allow(self) -> Patterns:
        return Patterns(map(qualified, self._settings.allow))

    @cached_property
    def deny(self) -> Patterns:
        return Patterns(map(qualified, self._settings.deny))


class Principals:
    """What the configuration says of each principal. Without a table, and without `[principals."*"]`, one may use all
    servers; `local` is whoever has this machine, whom that does not mean."""

    def __init__(self, loaded: Loaded) -> None:
        self._secrets = loaded.secrets
        self._presented: OrderedDict[str, str] = OrderedDict()
        self._redact = loaded.secrets.redaction(MAX_SHARED_VALUES)
        self.use(loaded)

    def use(self, loaded: Loaded) -> None:
        """Know the servers of a configuration, which may be read anew."""
        self._settings: Mapping[str, PrincipalSettings] = loaded.config.principals
        self._everyone = self._settings.get(EVERYONE, PrincipalSettings())
        tables = {LOCAL: PrincipalSettings()} | {
            name: self._merged(name, table) for name, table in self._settings.items()
        }
        servers = {module_name(name): name for name, server in loaded.servers.items() if not server.settings.disabled}
        self._rights = {name: Rights(table, servers) for name, table in tables.items()}
        self._rights_of_others = Rights(self._everyone, servers)
        self._servers = [*loaded.config.servers]

    def rights(self, principal: str) -> Rights:
        """What the table of a principal gives. What it does not say is as in that of everyone."""
        return self._rights.get(principal, self._rights_of_others)

    def _merged(self, name: str, own: PrincipalSettings) -> PrincipalSettings:
        return (
            own
            if name == LOCAL
            else self._everyone.model_copy(update={key: getattr(own, key) for key in own.model_fields_set})
        )

    def place(self, principal: str, key: str) -> str:
        """Where the configuration says a key of a principal: `[principals.alice] deny`."""
        own = self._settings.get(principal)
        name = principal if own is not None and key in own.model_fields_set else EVERYONE
        return f"[principals.{name}] {key}" if _BARE.fullmatch(name) else f'[principals."{name}"] {key}'

    def may_use(self, principal: str, server: str) -> bool:
        """Whether a server, by its configured name or its module's, is there for a principal."""
        return self.rights(principal).servers.fit(module_name(server))

    def theirs(self, principal: str, servers: Iterable[str]) -> list[str]:
        """Those of the servers that are there for a principal."""
        patterns = self.rights(principal).servers
        return [server for server in servers if patterns.fit(module_name(server))]

    def configured(self) -> list[str]:
        """The principals that have a table of their own."""
        return [name for name in self._settings if name != EVERYONE]

    def unknown(self) -> Iterator[str]:
        """What is wrong with patterns that fit no server: they may be misspelt."""
        modules = set(map(module_name, self._servers))
        idle = Patterns(_of_modules(p) for table in self._settings.values() for p in table.servers).idle(modules)
        for name, table in self._settings.items():
            for pattern in table.servers:
                if pattern != EVERYONE and _of_modules(pattern) in idle:
                    yield f"{self.place(name, 'servers')}: {pattern!r} fits no server"

    def warn(self) -> None:
        """Log what is wrong with patterns."""
        for wrong in self.unknown():
            log.warning("principals", what=wrong)

    def secrets_of(self, server: Server, principal: str) -> Secrets:
        """What `${…}` in the settings of a server may name; with the principal's own, where each has credentials of
        their own there."""
        if not server.settings.per_principal:
            return OwnedSecrets(self._secrets, Owner(module_name(server.name)))

        def own(key: str) -> Template | str | None:
            if key == "name":
                return principal
            table = self._settings.get(principal)  # never everyone's: a credential that is shared needs no principal
            return table.secrets.get(key) if table else None

        return OwnedSecrets(self._secrets, Owner(module_name(server.name), principal), own)

    def present(self, principal: str, token: str) -> None:
        """Keep the token in mind with which a principal has just asked."""
        self._presented[principal] = token
        self._presented.move_to_end(principal)
        while len(self._presented) > _MAX_PRESENTED_TOKENS:
            self._presented.popitem(last=False)

    def presented(self, principal: str) -> str | None:
        """The token that a principal brought last. It is scrubbed from now on: whoever asks sends it somewhere."""
        if (token := self._presented.get(principal)) is not None:
            self._redact(token, Owner(principal=principal))
        return token


def _of_modules(pattern: str) -> str:
    """A pattern of servers' names as one of their modules'."""
    return _OTHER.sub(lambda found: found[1] or "_", pattern)
