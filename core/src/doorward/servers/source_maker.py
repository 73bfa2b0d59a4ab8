"""Makes the source of a server: its driver with the server's validated settings and a context."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache, partial
from hashlib import sha256
from pathlib import Path
from typing import Any

from doorward.access import policy
from doorward.access.principals import Principals
from doorward.catalog.catalog import Catalog
from doorward.catalog.function_codec import Report
from doorward.config.config import Loaded, Server, module_name
from doorward.config.settings import ServerSettings
from doorward.config.upstream_patterns import Upstream, upstreams
from doorward.model.contexts import ServerContext
from doorward.model.drivers import (
    HasBaseUrl,
    HasOrigins,
    HasUrl,
    HasWorkingFolder,
    OffersFunctions,
    Source,
    TellsUpstreams,
)
from doorward.model.errors import ConfigError
from doorward.model.functions import Function
from doorward.model.principals import LOCAL
from doorward.model.storage import Store
from doorward.plugins.manager import Plugins
from doorward.secrets.scrubber import answers_of
from doorward.servers.auths import Auths


def auth_hint(server: Server, report: Report | None) -> str:
    """The hint for a call that failed for want of credentials: which types of auth the server may want. It says no
    more, since agents read it. Empty if there is an `auth`."""
    if server.settings.auth:
        return ""
    kinds = dict.fromkeys(
        " and ".join(str(table.get("type")) for table in each["auth"]) for each in (report.auth if report else ())
    )
    of = f" of the type {' or '.join(kinds)}; `doorward doctor` shows what to write" if kinds else ""
    return f"[servers.{server.name}] has no credentials: the operator gives it an `auth`{of}."


class SourceMaker:
    """Makes the sources of all servers. The settings of the principal `local`, which are everyone's unless a server is
    `per_principal`, are validated once."""

    def __init__(
        self,
        loaded: Loaded,
        plugins: Plugins,
        principals: Principals,
        auths: Auths,
        catalog: Catalog,
        state: Path,
        store: Store | None = None,
    ) -> None:
        self._loaded, self._plugins, self._principals = loaded, plugins, principals
        self._auths, self._catalog, self._state, self._store = auths, catalog, state, store
        self._options: dict[str, Any] = {}
        self._policies = policy.tables(loaded)

    def driver(self, server: Server) -> type[Source]:
        """The driver class. Raises: PluginError."""
        return self._plugins.driver("source", server.settings.source)

    def offers(self, server: Server) -> Sequence[Function]:
        """The functions that every server of a source has without any compile. Raises: PluginError."""
        driver: object = self.driver(server)
        return driver.offers if isinstance(driver, OffersFunctions) else ()

    def settings(self, server: Server, principal: str = LOCAL) -> Any:
        """The settings of a server's source. Raises: ConfigError, PluginError."""
        if principal == LOCAL and server.name in self._options:
            return self._options[server.name]
        secrets = self._principals.secrets_of(server, principal)
        found = self._plugins.validated(
            "source",
            server.settings.source,
            server.options,
            secrets=secrets,
            place=server.place,
            also=[*ServerSettings.model_fields, *(entry.name for entry in self._plugins.index.of("server_key"))],
        )
        if principal == LOCAL:
            self._options[server.name] = found
        return found

    def cwd(self, server: Server, principal: str) -> str:
        """See `Servers.cwd`."""
        with suppress(ConfigError):  # a call will report it
            settings = self.settings(server, principal)
            if isinstance(settings, HasWorkingFolder) and settings.cwd:
                return str(self._loaded.folder / Path(settings.cwd).expanduser())
        return ""

    def upstreams(self, server: Server, principal: str, function: Function | None) -> list[Upstream]:
        """Where calls of a function may go, or of any (`None`): what the driver tells, else what its settings name.

        Raises: ConfigError, PluginError.
        """
        driver: object = self.driver(server)
        settings = self.settings(server, principal)
        if isinstance(driver, TellsUpstreams):
            with self._plugins.blamed("source", server.settings.source, "upstreams", server=server.name):
                return upstreams(driver.upstreams(settings, function), self._loaded.folder)
        url = settings.url if isinstance(settings, HasUrl) else None
        base = settings.base_url if isinstance(settings, HasBaseUrl) else None
        origins = settings.origins if isinstance(settings, HasOrigins) else ()
        return upstreams(each for each in (url, base, *origins) if each)

    def _check_policy(self, server: Server, whose: str) -> None:
        """Refuse a server of which no function may be called: it is not even connected to. Raises: ConfigError."""
        reached = self.upstreams(server, whose, None)
        for by, rules in self._policies.items():
            if reached and (key := rules.excludes(module_name(server.name), reached)):
                raise ConfigError(f"its upstream is not allowed by {by}: [policy] {key}", place=server.place)

    def forget(self, name: str) -> None:
        """Validate the settings of a server again the next time: they have changed."""
        self._options.pop(name, None)

    def make(self, server: Server, whose: str, changed: Callable[[], None]) -> Source:
        """A new source, which calls `changed` when its server reports a change. Imports the plugin, opens nothing.

        Raises: ConfigError, PluginError.
        """
        name, settings = server.name, self.settings(server, whose)
        self._check_policy(server, whose)
        module, state = module_name(name), self._state / "servers" / name
        state = state / "accounts" / server.account if server.account else state
        context = ServerContext(
            module,
            settings,
            self._loaded.folder,
            state
            if whose == LOCAL
            else state / "principals" / sha256(whose.encode(errors="surrogatepass")).hexdigest()[:16],
            cache(lambda: self._auths.open(server, settings, whose)),
            changed,
            partial(self._loaded.secrets.scrub, scope=answers_of(module)),
            lambda: auth_hint(server, self._catalog.report(module)),
            lambda definition: self._catalog.definition(module, definition),
            self._loaded.secrets.holds.of_connection,
            self.outgoing(module),
            whose,
            self._store,
            lambda: self._auths.filled(server, settings, whose),
        )
        made: Source = self._plugins.constructed("source", server.settings.source, context, server=name)
        return made

    def outgoing(self, module: str, *, looks: bool = True) -> Callable[[str], str]:
        """See `ServerContext.outgoing`. Nothing is read before the first text. Without `looks`
        only the values that are known are cleared."""

        @cache
        def clear() -> Callable[[str], str]:
            from doorward.secrets.outgoing import Outgoing

            loaded = self._loaded
            tables = {"servers": loaded.config.servers, "principals": loaded.principals, "rest": loaded.rest}
            found = Outgoing(loaded.secrets, lambda: tables, answers_of(module))
            return found if looks else found.without_known

        return lambda text: clear()(text)
