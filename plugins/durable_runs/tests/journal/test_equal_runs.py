"""A program that was cut off is not begun again unnoticed: its agent is told of the run, and decides."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
import structlog
from doorward import Call
from doorward_durable_runs import STORED_RUNS
from doorward_testing.samples import CONFIG, Weather

pytestmark = pytest.mark.anyio

ALWAYS = CONFIG.replace("plugins = []", 'plugins = []\nruns.durable = "always"')
WRITES = """
place = "Oslo"
done = [(await weather.get_forecast(city=place))["city"]]
for city in [place, "Bergen", "Rome"]:
    done.append((await weather.add_station(city=city))["city"])
result = done
"""
READS = 'result = [(await weather.get_forecast(city="Rome"))["city"]]'
DONE = ["Oslo", "Oslo", "Bergen", "Rome"]


class Api:
    """Notes the writes; a call for Rome holds its caller for as long as `holds` says."""

    def __init__(self) -> None:
        self.made: list[str] = []
        self.held, self.holds = asyncio.Event(), True

    async def cut_off(self, gate: Any, code: str = WRITES, **more: Any) -> str:
        """Let the client of a run leave in the middle of a call. Returns: the id of the run."""
        self.held.clear()
        run = asyncio.ensure_future(gate.execute(code, **more))
        await self.held.wait()
        run.cancel()
        await asyncio.wait([run])
        return str((await gate.services[STORED_RUNS].journals.store.all())[0].given.run)


@pytest.fixture
async def api(monkeypatch: pytest.MonkeyPatch) -> Api:
    made, call = Api(), Weather.call

    async def noted(self: Weather, asked: Call) -> Any:
        if asked.arguments.get("city") == "Rome" and made.holds:
            made.held.set()
            await asyncio.Event().wait()
        if asked.function.name == "add_station":
            made.made.append(asked.arguments["city"])
        return await call(self, asked)

    monkeypatch.setattr(Weather, "call", noted)
    return made


@pytest.mark.slow
@pytest.mark.parametrize("key", ["", 'vault_key = "a key of at least thirty-two characters"\n'])
async def test_an_equal_program_is_stopped_before_it_writes(doorward_host: Any, api: Api, key: str) -> None:
    """Its error names the run, what that has sent, and how it goes on, also in another gateway. Once the run has gone on,
    the program runs again as any does."""
    async with doorward_host.gateway(key + ALWAYS) as gate:
        run = await api.cut_off(gate)
    api.holds = False
    async with doorward_host.gateway(key + ALWAYS) as gate:
        again = await gate.execute(WRITES)
        assert again.error.type == "RunInterrupted"
        assert f"{run} of this same program has sent weather.add_station ×3 (1 of them" in again.error.message
        assert f'resume_run("{run}")' in again.error.hint
        assert api.made == ["Oslo", "Bergen"]
        assert (await gate.execute(WRITES)).error.type == "RunInterrupted"
        assert (await gate.services[STORED_RUNS].journals.answer(run, again=True)) == 1
        assert (await gate.services[STORED_RUNS].resume(run)).value == DONE
        assert api.made == ["Oslo", "Bergen", "Rome"]
        assert (await gate.execute(WRITES)).value == DONE


@pytest.mark.slow
async def test_an_equal_program_is_known_after_the_key_was_changed(doorward_host: Any, api: Api) -> None:
    """The run that was cut off can be listed, shown and gone on with; then all that is new is of the new key. Who has not
    given the one before is told at the start that nobody knows."""
    old, new = "the old key, of many characters", "the new key, of many characters"
    async with doorward_host.gateway(f'vault_key = "{old}"\n{ALWAYS}') as gate:
        run = await api.cut_off(gate)
    api.holds = False
    with structlog.testing.capture_logs() as logged:
        async with doorward_host.gateway(f'vault_key = "{new}"\n{ALWAYS}') as gate:
            await gate.services[STORED_RUNS].journals.store.sweep()
        assert [each["runs"] for each in logged if each["event"] == "stored_runs_unread"] == [1]
    async with doorward_host.gateway(f'vault_key = "{new}"\nvault_key_before = "{old}"\n{ALWAYS}') as gate:
        stored = gate.services[STORED_RUNS]
        assert (await gate.execute(WRITES)).error.type == "RunInterrupted"
        assert run in [each.given.run for each in await stored.journals.store.all()]
        assert (await stored.journals.answer(run, again=True)) == 1
        assert (await stored.resume(run)).value == DONE
        assert api.made == ["Oslo", "Bergen", "Rome"]
        assert (await gate.execute(READS)).ok
        assert await stored.journals.store.unread() == 0
    async with doorward_host.gateway(f'vault_key = "{old}"\n{ALWAYS}') as gate:
        assert await gate.services[STORED_RUNS].journals.store.unread() > 1


async def test_a_program_may_not_catch_that(doorward_host: Any, api: Api) -> None:
    """It ends there, and has written nothing; calls that it makes at once do not either."""
    code = """
import asyncio
made = []
for city in ["Oslo", "Rome"]:
    try:
        made += await asyncio.gather(*(weather.add_station(city=city) for _ in range(3)))
    except Exception:
        pass
result = made
"""
    async with doorward_host.gateway(ALWAYS) as gate:
        await api.cut_off(gate, code)
        api.holds, before = False, [*api.made]
        assert (await gate.execute(code)).error.type == "RunInterrupted"
        assert api.made == before


@pytest.mark.parametrize("other", [
    {"principal": "eve"}, {"params": {"place": "Paris"}}, {"code": WRITES + "# again"}
])  # fmt: skip
async def test_any_other_program_runs(doorward_host: Any, api: Api, other: dict[str, Any]) -> None:
    """One of another principal, with other parameters, or with other code."""
    async with doorward_host.gateway(ALWAYS) as gate:
        await api.cut_off(gate)
        api.holds = False
        assert (await gate.execute(**({"code": WRITES} | other))).ok


async def test_an_interrupted_run_that_sent_nothing_blocks_nothing(doorward_host: Any, api: Api) -> None:
    """Whether it has only read, or came to its first write."""
    code = READS + '\nresult += [(await weather.add_station(city="Oslo"))["city"]]'
    async with doorward_host.gateway(ALWAYS) as gate:
        await api.cut_off(gate, code)
        api.holds = False
        assert (await gate.execute(code)).value == ["Rome", "Oslo"]


async def test_a_run_that_is_given_up_blocks_nothing(doorward_host: Any, api: Api) -> None:
    """It is over, and cannot be resumed; what it did stays stored. Nobody else can give it up."""
    async with doorward_host.gateway(ALWAYS) as gate:
        run = await api.cut_off(gate)
        api.holds = False
        assert (await gate.services[STORED_RUNS].give_up(run, principal="eve")).error.type == "UnknownName"
        assert not (await gate.execute(WRITES)).ok
        assert (await gate.services[STORED_RUNS].give_up(run)).ok
        assert (await gate.execute(WRITES)).value == DONE
        assert api.made == ["Oslo", "Bergen", *DONE[1:]]
        told = await gate.services[STORED_RUNS].resume(run)
        assert (told.ok, told.error.type) == (False, "GivenUp")
        assert (await gate.services[STORED_RUNS].give_up(run)).error.message == f"the run {run} is over"


async def test_an_agent_finds_its_open_runs(doorward_host: Any, api: Api) -> None:
    """With what they have sent and what they are about; not those of others, nor those that are over."""
    async with doorward_host.gateway(ALWAYS) as gate:
        run = await api.cut_off(gate, description="stations")
        read = await api.cut_off(gate, READS)
        await api.cut_off(gate, principal="eve")
        assert (await gate.execute("await weather.get_forecast(city='Oslo')")).ok
        listed = (await gate.services[STORED_RUNS].open()).value
        assert [(each["run"], each.get("sent"), each["program"]) for each in listed] == [
            (read, None, READS[:80]),
            (run, "weather.add_station ×3 (1 of them with an answer that is lost)", "stations"),
        ]
        assert "it was interrupted" in listed[0]["state"]


async def test_a_client_learns_the_id_before_the_first_call(doorward_host: Any, api: Api) -> None:
    """Once; and not where nothing is stored. A client that does not want to know is not told."""
    told: list[tuple[str, int]] = []

    class Client:
        async def run_stored(self, run: str) -> None:
            told.append((run, len(api.made)))

    api.holds = False
    for config, count in ((ALWAYS, 1), (CONFIG, 1)):
        async with doorward_host.gateway(config) as gate:
            assert (await gate.execute(WRITES, client=Client())).ok
            assert (await gate.execute(WRITES, client=object())).ok
        assert len(told) == count
    assert told[0][1] == 0
