"""The rights, secrets and presented tokens of principals, from `[principals]` of the configuration."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property

from doorward.access.effects import Effects
from doorward.access.patterns import Patterns
from doorward.access.rules import Rules, may_be_narrowed_to, narrowed
from doorward.config.config import Loaded, Server, module_name
from doorward.config.settings import EVERYONE, EndpointSettings, PrincipalSettings, Surface
from doorward.config.upstream_patterns import is_upstream
from doorward.data.frozen import frozen
from doorward.data.words import in_place_of
from doorward.host.logs import log
from doorward.model.calls import effect
from doorward.model.errors import ConfigError
from doorward.model.functions import Function
from doorward.model.names import qualified
from doorward.model.principals import LOCAL, Principal, endpoint_of, names_of, person_of, via
from doorward.model.programs import Limits
from doorward.secrets.owned import OwnedSecrets
from doorward.secrets.owners import Owner
from doorward.secrets.scrubber import MAX_SHARED_VALUES
from doorward.secrets.store import Secrets, Template

_MARK = "@"


def members_of(groups: Mapping[str, Iterable[str]]) -> Callable[[Iterable[str], str], Callable[[str], bool]]:
    """See `PluginContext.members`."""
    known = Groups(groups)

    def members(names: Iterable[str], place: str) -> Callable[[str], bool]:
        meant = known.members(names, place)
        return lambda principal: meant.fit(*names_of(principal))

    return members


class Groups:
    """`[groups]` of the configuration."""

    def __init__(self, groups: Mapping[str, Iterable[str]]) -> None:
        self._patterns = {name: Patterns(members) for name, members in groups.items()}

    def of(self, principal: str) -> list[str]:
        """The groups that a principal belongs to."""
        names = names_of(principal)
        return [name for name, members in self._patterns.items() if members.fit(*names)]

    def members(self, names: Iterable[str], place: str) -> Patterns:
        """The principals that names, wildcards and `@GROUP` mean together. Raises: ConfigError for an unknown group."""
        meant: set[str] = set()
        for name in names:
            group = name.removeprefix(_MARK)
            if group == name:
                meant.add(name)
            elif group in self._patterns:
                meant |= self._patterns[group].written
            else:
                near = in_place_of(group, [*self._patterns])
                hint = 'Write [groups] with a line such as ops = ["alice", "bob*"].'
                raise ConfigError(f"principal: there is no group {group!r}{near}", place=place, hint=hint)
        return Patterns(meant)


_MAX_PRESENTED_TOKENS = 10_000
"""Principals whose last token is remembered."""

_OTHER = re.compile(r"(\[[^\]]*\])|[^\w*?]")
"""Characters in a pattern of server names that are underscores in the names of modules."""

_NAMES_NO_SERVER = re.compile(r"[\s/]")
"""A method and a path stand for functions of any server."""

_BARE = re.compile(r"[A-Za-z0-9_-]+")
"""A TOML key that needs no quotes."""


class Endpoint:
    """What is there for whoever comes by one endpoint."""

    def __init__(self, settings: EndpointSettings, effects: Effects) -> None:
        self.settings, self._effects = settings, effects
        self._patterns = (*settings.include, *(f"!{pattern}" for pattern in settings.exclude))
        self.servers = Patterns(map(_of_modules, settings.servers))

    def reaches(self, module: str) -> bool:
        """Whether a server is there: one of which no function can be is not."""
        return self.servers.fit(module) and may_be_narrowed_to(self._patterns, module)

    def has(self, function: Function) -> bool:
        """Whether a function is there."""
        if not self.servers.fit(function.server) or not narrowed(function, self._patterns):
            return False
        return not self.settings.read_only or effect(function) == self._effects.of(function) == "read"


class Rights:
    """The rights that one table of `[principals]` gives, by an `endpoint` if it is not `None`, read when first needed.
    `servers` maps the module names of all servers to their configured names."""

    def __init__(
        self, settings: PrincipalSettings, servers: Mapping[str, str], endpoint: Endpoint | None = None
    ) -> None:
        self._settings = settings
        self._servers = servers
        self.endpoint = endpoint

    @cached_property
    def modules(self) -> Mapping[str, str]:
        """The servers that the principal may use, by their module names."""
        return {module: name for module, name in self._servers.items() if self.reach(module)}

    def reach(self, module: str) -> bool:
        """Whether the principal may use the server of this module name, whether it is there or not."""
        return self._patterns.fit(module) and (self.endpoint is None or self.endpoint.reaches(module))

    @cached_property
    def _patterns(self) -> Patterns:
        return Patterns(map(_of_modules, self._settings.servers))

    @cached_property
    def by_name(self) -> Mapping[str, str]:
        """The same servers by every name that a principal may use: their module names, also in lower case, unless that
        is the name of another."""
        return {module.lower(): module for module in reversed([*self.modules])} | {
            module: module for module in self.modules
        }

    @cached_property
    def rules(self) -> Rules:
        return Rules(self._settings.allow, self._settings.deny)

    def by(self, endpoint: Endpoint) -> Rights:
        """The same by an endpoint."""
        return Rights(self._settings, self._servers, endpoint)


class Principals:
    """The configuration of all principals. A principal without a table may use all servers if there is no
    `[principals."*"]`; that table never applies to `local`, the user of this machine."""

    def __init__(self, loaded: Loaded) -> None:
        self._secrets, self._groups = loaded.secrets, Groups(loaded.config.groups)
        self._presented: OrderedDict[str, str] = OrderedDict()
        self._redact = loaded.secrets.redaction(MAX_SHARED_VALUES)
        self._of_plugins: dict[str, Iterable[str]] = {}
        self.use(loaded)

    def use(self, loaded: Loaded) -> None:
        """Take over the principals and servers of a configuration that was read, perhaps again."""
        self._settings: Mapping[str, PrincipalSettings] = loaded.config.principals
        self._everyone = self._settings.get(EVERYONE, PrincipalSettings())
        tables = {LOCAL: PrincipalSettings()} | {
            name: self._merged(name, table) for name, table in self._settings.items()
        }
        servers = {module_name(name): name for name, server in loaded.servers.items() if not server.settings.disabled}
        self._rights = {name: Rights(table, servers) for name, table in tables.items()}
        self._rights_of_others = Rights(self._everyone, servers)
        self._servers, self._policy = [*loaded.config.servers], loaded.config.policy
        effects = Effects(loaded.config.policy.classes)
        self._endpoints = {name: Endpoint(settings, effects) for name, settings in loaded.config.endpoints.items()}
        self._may_come = {
            name: self._groups.members(settings.principals, f"[endpoints.{name}] principals")
            for name, settings in loaded.config.endpoints.items()
        }
        self._rights_by_endpoint: dict[tuple[Rights, str], Rights] = {}

    def known(self, principal: str) -> Principal:
        """A principal with its groups, and over the claims of its token with what the operator says of it."""
        given = Principal.of(principal)
        if given.is_known:
            return given
        said = self._settings.get(person_of(principal))
        attributes = {**given.attributes, **(said.attributes if said else {})}
        groups = tuple(self._groups.of(principal))
        return Principal(given, attributes=frozen(attributes), groups=groups, is_known=True)

    def rights(self, principal: str) -> Rights:
        """The rights of a principal. Keys that the principal's table does not have come from the table for everyone."""
        own = self._rights.get(person_of(principal), self._rights_of_others)
        if not (name := endpoint_of(principal)):
            return own
        if (found := self._rights_by_endpoint.get((own, name))) is None:
            gone = EndpointSettings(servers=[], include=[])  # from the configuration: nothing is there
            endpoint = self._endpoints.get(name) or Endpoint(gone, Effects({}))
            found = self._rights_by_endpoint[own, name] = own.by(endpoint)
        return found

    def members(self, names: Iterable[str], place: str) -> Callable[[str], bool]:
        """See `PluginContext.members`."""
        meant = self._groups.members(names, place)
        return lambda principal: meant.fit(*names_of(principal))

    def by_endpoint(self, principal: str, name: str) -> Principal | None:
        """Who a principal is by an endpoint; `None` if there is none of this name for them."""
        may_come = self._may_come.get(name)
        return via(principal, name) if may_come is not None and may_come.fit(*names_of(principal)) else None

    @property
    def endpoints(self) -> Mapping[str, Endpoint]:
        """The endpoints by their names."""
        return self._endpoints

    def surface(self, principal: str, elsewhere: Surface) -> Surface:
        """The surface of a principal, if it is this one without an endpoint."""
        endpoint = self.rights(principal).endpoint
        return (endpoint and endpoint.settings.surface) or elsewhere

    def limits(self, principal: str, elsewhere: Limits) -> Limits:
        """The limits of runs of a principal, if they are these without an endpoint."""
        endpoint = self.rights(principal).endpoint
        return elsewhere if endpoint is None else endpoint.settings.limits_of(elsewhere)

    def _merged(self, name: str, own: PrincipalSettings) -> PrincipalSettings:
        if name == LOCAL:
            return own
        return self._everyone.model_copy(update={key: getattr(own, key) for key in own.model_fields_set})

    def place(self, principal: str, key: str) -> str:
        """Where the configuration sets a key for a principal: `[principals.alice] deny`."""
        principal = person_of(principal)
        own = self._settings.get(principal)
        name = principal if own is not None and key in own.model_fields_set else EVERYONE
        return f"[principals.{name}] {key}" if _BARE.fullmatch(name) else f'[principals."{name}"] {key}'

    def may_use(self, principal: str, server: str) -> bool:
        """Whether a principal may use a server, given by its configured name or its module's name."""
        return self.rights(principal).reach(module_name(server))

    def theirs(self, principal: str, servers: Iterable[str]) -> list[str]:
        """Those of the servers that a principal may use."""
        reach = self.rights(principal).reach
        return [server for server in servers if reach(module_name(server))]

    def configured(self) -> list[str]:
        """The principals with a table of their own."""
        return [name for name in self._settings if name != EVERYONE]

    def unknown(self) -> Iterator[str]:
        """A line for each pattern that fits no server: it may be misspelt, and what it denies is allowed."""
        written = [(place, pattern, _server_of(pattern)) for place, patterns in self._lists() for pattern in patterns]
        idle = Patterns(server for _, _, server in written).idle({"doorward", *map(module_name, self._servers)})
        for place, pattern, server in written:
            if server != EVERYONE and server in idle:
                yield f"{place}: {pattern!r} fits no server"

    def expect(self, place: str, patterns: Iterable[str]) -> None:
        """Have `unknown` look at a plugin's patterns of servers or functions, too, which are written at `place`."""
        self._of_plugins[place] = patterns

    def _lists(self) -> Iterator[tuple[str, Iterable[str]]]:
        """Each list of patterns of servers or functions, and where it is written."""
        yield from self._of_plugins.items()
        yield from (("[policy] allow", self._policy.allow), ("[policy] deny", self._policy.deny))
        for name, table in self._settings.items():
            for key in ("servers", "allow", "deny"):
                yield self.place(name, key), getattr(table, key)
        for name, endpoint in self._endpoints.items():
            for key in ("servers", "include", "exclude"):
                yield f"[endpoints.{name}] {key}", getattr(endpoint.settings, key)

    def warn(self) -> None:
        """Log the patterns that fit no server."""
        for wrong in self.unknown():
            log.warning("principals", what=wrong)

    def secrets_of(self, server: Server, principal: str) -> Secrets:
        """The secrets that `${…}` in the settings of a server may name, with the principal's own secrets if the server
        is `per_principal`."""
        if not server.settings.per_principal:
            return OwnedSecrets(self._secrets, Owner(module_name(server.name)))

        def own(key: str) -> Template | str | None:
            if key == "name":
                return principal
            table = self._settings.get(
                principal
            )  # never the table for everyone: a shared credential needs no principal
            return table.secrets.get(key) if table else None

        return OwnedSecrets(self._secrets, Owner(module_name(server.name), principal), own)

    def present(self, principal: str, token: str) -> None:
        """Remember the token of the latest request of a principal."""
        self._presented[principal] = token
        self._presented.move_to_end(principal)
        while len(self._presented) > _MAX_PRESENTED_TOKENS:
            self._presented.popitem(last=False)

    def presented(self, principal: str) -> str | None:
        """The token that a principal brought last. It is scrubbed from now on: the caller sends it on."""
        if (token := self._presented.get(principal)) is not None:
            self._redact(token, Owner(principal=principal))
        return token


def _server_of(pattern: str) -> str:
    """What the servers of a pattern are called; "*" where it names none."""
    if is_upstream(pattern) or pattern.startswith("tag:") or _NAMES_NO_SERVER.search(pattern):
        return EVERYONE
    return _of_modules(qualified(pattern).partition(".")[0])


def _of_modules(pattern: str) -> str:
    """A pattern of server names as a pattern of module names."""
    return _OTHER.sub(lambda found: found[1] or "_", pattern)
