"""A plugin as its author's type checker sees it; mypy reads this file (`make lint`), and nothing imports it."""

from __future__ import annotations

from typing import ClassVar, assert_type

import httpx2
from doorward import PluginContext, ServerContext, Settings
from doorward.abilities import HasSlots, SupportsBuild, SupportsClose, SupportsLogin, TellsChanges
from doorward.model.drivers import Auth, Cache, Observer, SearchView, Source
from doorward.model.executors import Executor
from doorward.plugins.manager import Plugins


class PigeonSettings(Settings):
    loft: str
    birds: int = 3


class Bases(Settings):
    perch: float = 1.0


class PigeonAuth:
    Settings: ClassVar[type[Settings]] = PigeonSettings

    def __init__(self, context: PluginContext[PigeonSettings]) -> None:
        self._settings = context.settings
        assert_type(self._settings, PigeonSettings)
        assert_type(context.settings.birds, int)
        context.settings.feathers()  # type: ignore[attr-defined]
        assert_type(context.with_settings(Bases()), PluginContext[Bases])

    def create_auth(self) -> httpx2.Auth:
        return httpx2.Auth()

    async def close(self) -> None: ...


def reads(server: ServerContext[PigeonSettings], untyped: ServerContext) -> None:
    assert_type(server.settings.loft, str)
    untyped.settings.whatever()  # without a type it is anything, as before
    both: ServerContext[Settings] = server
    other: ServerContext[Bases] = server  # type: ignore[assignment]
    del both, other


def finds(plugins: Plugins, name: str) -> None:
    assert_type(plugins.driver("source", name), type[Source])
    assert_type(plugins.driver("auth", name), type[Auth])
    assert_type(plugins.driver("cache", name), type[Cache])
    assert_type(plugins.driver("observer", name), type[Observer])
    assert_type(plugins.driver("search_view", name), type[SearchView])
    assert_type(plugins.driver("executor", name), type[Executor])


async def asks(auth: Auth, source: Source, executor: Executor) -> None:
    auth.login()  # type: ignore[attr-defined]
    if isinstance(auth, SupportsLogin):
        await auth.login("me")  # type: ignore[arg-type]
    if isinstance(source, TellsChanges):
        assert_type(source.tells_changes, bool)
    if isinstance(executor, HasSlots):
        assert_type(executor.slots, int)
    if isinstance(executor, SupportsBuild):
        assert_type(await executor.build(print), str)


driver: type[Auth] = PigeonAuth
closable: type[SupportsClose] = PigeonAuth
loggable: type[SupportsLogin] = PigeonAuth  # type: ignore[assignment]
