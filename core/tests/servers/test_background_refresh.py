"""What a source says by itself: that its functions are others now, and what it offers besides them."""

from __future__ import annotations

import errno
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest
import structlog
from doorward import (
    Call,
    Client,
    Compiled,
    DoorwardError,
    Function,
    ServerContext,
    ServerError,
    UnknownName,
    hookimpl,
)
from doorward.servers import background_refresh
from doorward_testing import Host

from ..conftest import Weather

pytestmark = pytest.mark.anyio

CONFIG = '[servers.weather]\nsource = "telling"\n'


class Telling(Weather):
    """It says when its functions are others, and is not asked."""

    tells_changes = True
    asked = 0
    renamed = False
    absent = False
    open: Telling | None = None
    offers = (Function("", "read_notes", "notes/read", read_only=True), Function("", "write_notes", "notes/write"))

    def __init__(self, server: ServerContext) -> None:
        super().__init__(server)
        self.server = server
        type(self).open = self

    async def fingerprint(self) -> str:
        type(self).asked += 1
        if self.absent:
            raise ServerError("weather is not there yet")
        return f"renamed: {self.renamed}"

    async def compile(self) -> Compiled:
        compiled = await super().compile()
        if self.renamed:
            first, *others = compiled.functions
            return replace(compiled, functions=[replace(first, name="forecast", id="forecast"), *others])
        return compiled

    async def call(self, call: Call) -> Any:
        if call.client is not None:
            return dict(await call.client.ask("elicitation/create", {"message": "Which city?"}))
        return call.function.qualified if call.function.id.startswith("notes/") else await super().call(call)


@pytest.fixture
def telling(host: Host) -> type[Telling]:
    class Fresh(Telling):
        pass

    host.install("source", "telling", Fresh)
    return Fresh


async def test_a_source_that_tells_is_not_asked_at_the_start(host: Host, telling: type[Telling]) -> None:
    """Compiled once, its server is opened by nothing but a call: a start connects to no upstream. CONTRACT: EXE-12."""
    async with host.gateway(CONFIG) as gate:
        await gate.ready()
    assert telling.asked == 1
    async with host.gateway(CONFIG) as gate:
        await gate.ready()
        assert [s["functions"] for s in (await gate.list_servers())["servers"]] == [8]
    assert telling.asked == 1


@pytest.mark.slow
async def test_what_it_tells_is_compiled(host: Host, telling: type[Telling]) -> None:
    """Its new functions are there a moment after it said so."""
    async with host.gateway(CONFIG) as gate:
        await gate.ready()
        assert telling.open is not None
        telling.renamed = True
        telling.open.server.changed()
        while "forecast" not in gate.catalog.names("weather"):
            await anyio.sleep(0.01)
            gate.catalog.refresh()
        assert "get_forecast" not in gate.catalog.names("weather")


@pytest.mark.slow
async def test_who_tells_without_end_is_not_compiled_without_end(
    host: Host, telling: type[Telling], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Changes that come together are one."""
    monkeypatch.setattr("doorward.servers.background_refresh.ROUND_SECONDS", 3600)
    async with host.gateway(CONFIG) as gate:
        await gate.ready()
        assert telling.open is not None
        for _ in range(50):
            telling.open.server.changed()
            await anyio.sleep(0.01)
    assert telling.asked == 2


@pytest.mark.slow
async def test_a_server_that_comes_late_is_compiled(
    host: Host, telling: type[Telling], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that could not be reached when we started is tried again, though nobody restarts us."""
    monkeypatch.setattr("doorward.servers.background_refresh.MIN_PAUSE_SECONDS", 0.05)
    telling.absent = True
    async with host.gateway(CONFIG) as gate:
        assert "not there yet" in (await gate.list_servers())["servers"][0]["broken"]
        telling.absent = False
        while "broken" in (await gate.list_servers())["servers"][0]:
            await anyio.sleep(0.01)
        assert await gate.call("weather.get_forecast", {"city": "Oslo"})


async def test_what_another_process_compiled_is_used(host: Host, telling: type[Telling]) -> None:
    """After `doorward compile` beside it, a gateway that had given a server up uses it at once."""
    telling.absent = True
    async with host.gateway(CONFIG) as gate:
        assert "broken" in (await gate.list_servers())["servers"][0]
        telling.absent = False
        async with host.gateway(CONFIG) as other:
            assert "broken" not in (await other.list_servers())["servers"][0]
        assert [s["functions"] for s in (await gate.list_servers())["servers"]] == [8]


async def test_what_only_the_operator_can_mend_is_not_tried_again(host: Host, telling: type[Telling]) -> None:
    """A wrong configuration stays broken, even if there is a compile of before."""
    async with host.gateway(CONFIG) as gate:
        await gate.ready()
    host.entries.clear()
    async with host.gateway(CONFIG) as gate:
        for _ in range(2):
            assert "no source named" in (await gate.list_servers())["servers"][0]["broken"]


async def test_servers_are_compiled_side_by_side(host: Host) -> None:
    """The time that each takes to answer does not add up: these two wait for each other."""
    both = anyio.Event()
    here: list[str] = []

    class Waiting(Weather):
        async def fingerprint(self) -> str:
            here.append(self.name)
            if len(here) == 2:
                both.set()
            await both.wait()
            return "it"

    host.install("source", "waiting", Waiting)
    async with host.gateway(
        '[servers.a]\nsource = "waiting"\n[servers.b]\nsource = "waiting"\n', compile=False
    ) as gate:
        assert list(await gate.compile()) == ["a", "b"]


async def test_what_is_offered_is_called_and_not_listed(host: Host, telling: type[Telling]) -> None:
    """By name and by id, within what the server's configuration leaves."""
    async with host.gateway(CONFIG + "read_only = true\n") as gate:
        for name in ("weather.read_notes", "weather.notes/read"):
            assert await gate.call(name) == "weather.read_notes"
        with pytest.raises(UnknownName):
            await gate.call("weather.write_notes")
        assert "read_notes" not in gate.catalog.names("weather")
        found = await gate.search_functions("read notes", server="weather")
        assert not any("notes" in hit["function"] for hit in found["functions"])
    async with host.gateway(CONFIG + 'exclude = ["*_notes"]\n') as gate:
        with pytest.raises(UnknownName):
            await gate.call("weather.read_notes")


async def test_policy_holds_for_what_is_offered(host: Host, telling: type[Telling]) -> None:
    """It takes the road of every call."""
    async with host.gateway(CONFIG + '[policy]\ndeny = ["*.read_notes"]\n') as gate:
        with pytest.raises(DoorwardError, match="policy"):
            await gate.call("weather.notes/read")


class _Person:
    async def progress(self, done: float, total: float | None = None, message: str = "") -> None:
        """Nobody looks."""

    async def ask(self, method: str, params: Any) -> Any:
        return {"action": "accept", "content": {"city": "Oslo"}, "method": method, **params}


async def test_a_source_may_ask_who_asked(host: Host, telling: type[Telling]) -> None:
    """The client of a run reaches the source with each of its calls."""
    person: Client = _Person()
    async with host.gateway(CONFIG) as gate:
        answer = await gate.answer("weather.add_station", {"city": "?"}, client=person)
        assert answer.value["content"] == {"city": "Oslo"}
        assert answer.value["method"] == "elicitation/create"


@pytest.mark.slow
async def test_what_fails_in_the_background_is_done_the_next_time(
    host: Host, telling: type[Telling], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where no file can be opened, the first import of a module fails, and much else: the gateway serves on."""
    rounds = []

    async def fail_at_first(self: Any) -> None:
        rounds.append(1)
        if len(rounds) < 3:
            raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr("doorward.sandboxes.sessions.Sessions.sweep", fail_at_first)
    monkeypatch.setattr("doorward.servers.background_refresh.SWEEP_SECONDS", 0.01)
    with structlog.testing.capture_logs() as logs:
        async with host.gateway(CONFIG) as gate:
            with anyio.fail_after(60):
                while len(rounds) < 5:
                    await anyio.sleep(0.01)
            assert (await gate.list_servers())["servers"][0]["name"] == "weather"
    assert [e["why"] for e in logs if e["event"] == "sweep_failed"] == ["OSError: [Errno 24] Too many open files"] * 2


async def test_what_fails_while_servers_are_kept_up_ends_nobodys_server(
    host: Host, telling: type[Telling], monkeypatch: pytest.MonkeyPatch, until: Any
) -> None:
    """As when no file can be opened any more: the gateway answers, and looks after its servers again when it can."""
    rounds: list[str] = []
    real = background_refresh.BackgroundRefresh._try_again

    async def failing(self: Any) -> None:
        rounds.append("tried")
        if len(rounds) < 3:
            raise OSError(24, "Too many open files")
        await real(self)

    monkeypatch.setattr(background_refresh.BackgroundRefresh, "_try_again", failing)
    monkeypatch.setattr(background_refresh, "MIN_PAUSE_SECONDS", 0.01)
    async with host.gateway(CONFIG) as gate:
        await until(lambda: len(rounds) == 3)
        assert (await gate.list_servers())["servers"][0]["name"] == "weather"


async def test_a_plugin_brings_the_configuration_up_to_date(
    host: Host, telling: type[Telling], monkeypatch: pytest.MonkeyPatch, until: Any
) -> None:
    """At the start and every `refresh` seconds: what it writes is served, and its failure changes nothing. CONTRACT:
    SRC-21."""
    seen: list[tuple[Path, Path]] = []

    class Finds:
        @hookimpl
        def refresh_due(self, config: Path, env_file: Path) -> None:
            seen.append((config, env_file))
            if len(seen) == 1:
                raise OSError(24, "Too many open files")
            if len(seen) == 2:
                config.write_text(f'{config.read_text()}[servers.found]\nsource = "telling"\n')

    host.install("plugin", "finds", Finds())
    for name in ("START_SECONDS", "ROUND_SECONDS"):
        monkeypatch.setattr(background_refresh, name, 0.01)
    async with host.gateway(f'plugins = ["finds"]\nrefresh = 0.01\n{CONFIG}') as gate:
        await until(lambda: "found" in gate.servers.configured)
    assert set(seen) == {(host.folder / "doorward.toml", host.folder / ".env")}
