"""Makes the source of a server: its driver with the server's validated settings and a context."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache, partial
from hashlib import sha256
from pathlib import Path
from typing import Any

from doorward.access.principals import Principals
from doorward.catalog.catalog import Catalog
from doorward.config.config import Loaded, Server, module_name, validate
from doorward.config.settings import ServerSettings
from doorward.model.abilities import HasWorkingFolder, OffersFunctions
from doorward.model.contexts import ServerContext
from doorward.model.drivers import Source
from doorward.model.errors import ConfigError
from doorward.model.types import LOCAL, Function
from doorward.plugins.manager import Plugins
from doorward.secrets.scrubber import answers_of
from doorward.servers import auth_suggestions
from doorward.servers.auths import Auths


class SourceMaker:
    """Makes the sources of all servers. The settings of the principal `local`, which are everyone's unless a server is
    `per_principal`, are validated once."""

    def __init__(
        self, loaded: Loaded, plugins: Plugins, principals: Principals, auths: Auths, catalog: Catalog, state: Path
    ) -> None:
        self._loaded, self._plugins, self._principals = loaded, plugins, principals
        self._auths, self._catalog, self._state = auths, catalog, state
        self._options: dict[str, Any] = {}

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
        model = self.driver(server).Settings
        found = validate(
            model, dict(server.options), secrets=secrets, place=server.place, also=ServerSettings.model_fields
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

    def forget(self, name: str) -> None:
        """Validate the settings of a server again the next time: they have changed."""
        self._options.pop(name, None)

    def make(self, server: Server, whose: str, changed: Callable[[], None]) -> Source:
        """A new source, which calls `changed` when its server reports a change. Imports the plugin, opens nothing.

        Raises: ConfigError, PluginError.
        """
        name, settings = server.name, self.settings(server, whose)
        module, state = module_name(name), self._state / "servers" / name
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
            lambda: auth_suggestions.hint(server, self._catalog.report(module)),
            lambda definition: self._catalog.definition(module, definition),
        )
        return self.driver(server)(context)
