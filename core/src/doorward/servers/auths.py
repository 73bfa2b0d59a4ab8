"""The auths of the configured servers: found by type, validated, made when first needed, closed at the end."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Collection
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from doorward.access.principals import Principals
from doorward.config.config import Loaded, Server, module_name
from doorward.model.contexts import PluginContext
from doorward.model.drivers import Auth, HasBaseUrl, HasOrigins, HasUrl, SupportsClose, SupportsFilledParameters
from doorward.model.errors import ConfigError, DoorwardError, MissingSecret
from doorward.model.principals import LOCAL
from doorward.model.settings import Settings
from doorward.plugins.hook_answers import expected
from doorward.plugins.manager import Plugins
from doorward.secrets.owners import Owner, Redact
from doorward.secrets.scrubber import MAX_FETCHED_VALUES, MAX_SHARED_VALUES

if TYPE_CHECKING:
    import httpx2

    from doorward.model.storage import Store


class Auths:
    """Makes the auths of servers: one for each principal where the server is `per_principal`."""

    def __init__(
        self, loaded: Loaded, plugins: Plugins, principals: Principals, state: Path, store: Store | None = None
    ) -> None:
        self._loaded = loaded
        self._plugins = plugins
        self._principals = principals
        self._state, self._store = state, store
        self._redactions: dict[str, Redact] = {}
        self._opened: dict[tuple[str, str], list[tuple[str, Auth]]] = {}

    def drivers(self, server: Server, principal: str = LOCAL) -> list[tuple[type[Auth], Settings]]:
        """The driver classes and their settings, in the order of the configuration; none for a public server.

        Raises: ConfigError, PluginError.
        """
        tables = server.settings.auths(principal)
        found = []
        for number, table in enumerate(tables, 1):
            options = dict(table)
            place = f"{server.place} auth" + (f" {number}" if len(tables) > 1 else "")
            kind = options.pop("type", None)
            if not isinstance(kind, str):
                raise ConfigError(
                    "has no type", place=place, hint='For example: auth = { type = "jwt", token = "${TOKEN}" }'
                )
            driver = self._plugins.driver("auth", kind)
            secrets = self._principals.secrets_of(server, principal)
            found.append((driver, self._plugins.validated("auth", kind, options, secrets=secrets, place=place)))
        return found

    def make(self, server: Server, source: Any, principal: str = LOCAL) -> list[Auth]:
        """New auths of a server, whose source has the validated settings `source`. Raises: ConfigError, PluginError."""
        key, before = self._loaded.config.vault_keys
        # One for all principals, who come and go: it keeps what it was told as long as the scrubber lives.
        if server.name not in self._redactions:
            self._redactions[server.name] = self._loaded.secrets.redaction(
                MAX_SHARED_VALUES if server.settings.per_principal else MAX_FETCHED_VALUES
            )
        whose = principal if server.settings.per_principal else ""
        context = PluginContext(
            server.key,
            None,
            self._state,
            url_of(source),
            server.settings.source,
            redact=partial(self._redactions[server.name], whose=Owner(module_name(server.name), whose)),
            principal=principal,
            presented=lambda: self._principals.presented(principal),
            vault_key=key,
            vault_key_before=before,
            origins=tuple(source.origins) if isinstance(source, HasOrigins) else (),
            per_principal=server.settings.per_principal,
            store=self._store,
            folder=self._loaded.folder,
        )
        made = []
        for kind, (_, settings) in zip(self.kinds(server, principal), self.drivers(server, principal), strict=True):
            made.append(self._plugins.constructed("auth", kind, context.with_settings(settings), server=server.name))
        return made

    def kinds(self, server: Server, principal: str = LOCAL) -> list[str]:
        """The types of the auths of a server, in the same order."""
        return [str(table.get("type")) for table in server.settings.auths(principal)]

    def open(self, server: Server, source: Any, principal: str = LOCAL) -> httpx2.Auth | None:
        """What adds the credentials of a server to its requests; `None` for a public server.

        Raises: ConfigError, PluginError.
        """
        auths = self.make(server, source, principal)
        if not auths:
            return None
        kinds = self.kinds(server, principal)
        self._opened.setdefault((server.key, principal), []).extend(zip(kinds, auths, strict=True))
        import httpx2

        for kind in kinds:
            self._plugins.hook.auth_chosen(server=server.name, auth=kind)
        made = []
        for kind, auth in zip(kinds, auths, strict=True):
            with self._plugins.blamed("auth", kind, "create_auth", server=server.name):
                made.append(expected(httpx2.Auth, auth.create_auth()))
        return made[0] if len(made) == 1 else _all(made)

    def filled(self, server: Server, source: Any, principal: str = LOCAL) -> Collection[tuple[str, str]]:
        """What the auths of a server send, as the places and names of parameters; nothing of those that do not say."""
        with suppress(DoorwardError):  # whoever opens them is told
            auths = self.make(server, source, principal)
            return {
                place
                for auth in auths
                if isinstance(auth, SupportsFilledParameters)
                for place in auth.filled_parameters()
            }
        return ()

    def close(self, name: str, principal: str) -> Awaitable[None]:
        """Close the auths that are open now for one server and one principal. One that is opened before the result is
        awaited stays open."""
        return self._close(self._opened.pop((name, principal), []))

    async def _close(self, auths: list[tuple[str, Auth]]) -> None:
        for kind, auth in auths:
            if isinstance(auth, SupportsClose):
                await self._plugins.failures.closed(self._plugins.id("auth", kind), auth)


def check_auth(loaded: Loaded, plugins: Plugins, name: str) -> None:
    """That the types and the keys of a server's `auth` are right: in one that is unknown nobody can tell which keys
    hold a secret. Variables may get their values later. Raises: ConfigError, PluginError."""
    with suppress(MissingSecret):
        Auths(loaded, plugins, Principals(loaded), Path()).drivers(loaded.servers[name])


def url_of(source: Any) -> str:
    """The URL of a server in the settings of its source; empty if they have none."""
    url = source.url if isinstance(source, HasUrl) else None
    return str(url or (source.base_url if isinstance(source, HasBaseUrl) else None) or "")


def _all(auths: list[httpx2.Auth]) -> httpx2.Auth:
    """An `httpx2.Auth` that applies all of these, one around the other."""
    import httpx2

    class All(httpx2.Auth):
        def async_auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
            return _around(auths, request)

    return All()


async def _around(auths: list[httpx2.Auth], request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
    """The requests of the first auth, each passed through the others. Its own requests, for a token, are not passed
    through: they go elsewhere."""
    first, *others = auths
    flow = first.async_auth_flow(request)
    response: httpx2.Response | None = None
    try:
        while True:
            outgoing = await flow.asend(response)  # type: ignore[arg-type]
            if outgoing is not request or not others:
                response = yield outgoing
                continue
            inner = _around(others, outgoing)
            try:
                response = None
                while True:
                    response = yield await inner.asend(response)  # type: ignore[arg-type]
            except StopAsyncIteration:
                pass
            finally:
                await inner.aclose()
    except StopAsyncIteration:
        return
    finally:
        await flow.aclose()
