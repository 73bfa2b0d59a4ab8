"""Searches: only what policy allows, answers to act on, several questions at once, and nobody waits for the index."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from doorward import Compiled, Function, InvalidArguments
from doorward_search.explanation import MAX_REASONS
from doorward_search.index import Index
from doorward_testing.samples import CONFIG, Weather

from .conftest import Searched

pytestmark = pytest.mark.anyio

ALICE = '[principals.alice]\nservers = ["*"]\ndeny = ["weather.get_forecast"]\n'
BOB = '[principals.bob]\nservers = ["*"]\nallow = ["weather.raw"]\n'


def names(found: Any) -> list[str]:
    return [hit["function"] for hit in found["functions"]]


async def test_masks_are_kept_until_the_next_compile(doorward_host: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Principals under the same rules share one; a compile makes it anew; without patterns there is none."""
    async with doorward_host.gateway(CONFIG + '[principals."*"]\nservers = ["*"]\ndeny = ["weather.raw"]\n') as gate:
        judged: list[str] = []
        read = gate.catalog.stored_functions
        monkeypatch.setattr(gate.catalog, "stored_functions", lambda server: judged.append(server) or read(server))
        await gate.search_functions("forecast")
        assert not judged
        for who in ("dave", "eve", "dave"):
            assert "weather.raw" not in names(await gate.search_functions("", principal=who))
        assert judged == ["weather"]
        await gate.compile(force=True)
        assert "weather.raw" not in names(await gate.search_functions("", principal="eve"))
        assert judged == ["weather"] * 2


async def test_hits_say_what_they_give(doorward_host: Any) -> None:
    """What is declared is told, what is not is left out."""
    async with doorward_host.gateway(CONFIG) as gate:
        first = (await gate.search_functions("forecast"))["functions"][0]
        assert (first["gives"], first["read_only"]) == ("{high}", True)
        station = (await gate.search_functions("station"))["functions"][0]
        assert "gives" not in station
        assert "matched" not in station


async def test_a_search_explains_itself(doorward_host: Any) -> None:
    """On demand each hit says which words it has, and where; meanings and typos as well."""
    async with doorward_host.gateway(CONFIG) as gate:
        first = (await gate.search_functions("forcast of a city", explain=True))["functions"][0]
        assert first["matched"] == ["city (summary)", "forcast as forecast (name, summary)"]
        same = (await gate.search_functions("getForecast", explain=True))["functions"][0]
        assert same["matched"][0] == "its own words"


async def test_several_questions_in_one_search(doorward_host: Any) -> None:
    """Each function once, by its best place, with the questions that found it; pages go on. CONTRACT: DIS-08."""
    async with doorward_host.gateway(CONFIG) as gate:
        asked = ["add a station", "forecast for a city"]
        found = await gate.search_functions(queries=asked)
        assert names(found)[:2] == ["weather.add_station", "weather.get_forecast"]
        assert 2 in found["functions"][1]["answers"]
        assert len(set(names(found))) == len(found["functions"]) == found["total"]
        alone = [await gate.search_functions(each, limit=50) for each in asked]
        assert set(names(found)) == {name for each in alone for name in names(each)}
        page = await gate.search_functions(asked[1], limit=1)
        rest = await gate.search_functions(asked[1], cursor=page["cursor"])
        assert [*names(page), *names(rest)] == names(await gate.search_functions(asked[1]))
        starved = await gate.search_functions(queries=asked, limit=1)
        assert names(starved) == names(found)[:2]  # each question has its best one, whatever the limit
        with pytest.raises(InvalidArguments, match="at most 10"):
            await gate.search_functions(queries=[str(n) for n in range(11)])


async def test_how_many_fit_well_is_told(doorward_host: Any) -> None:
    """Functions that have but a word or two of a question do not fit it well, though they are shown."""
    async with doorward_host.gateway(CONFIG) as gate:
        good = await gate.search_functions("forecast for a city")
        assert 0 < good["well"] < good["total"]
        poor = await gate.search_functions("annul the notarised mortgage of a tenant, then evict him from the city")
        assert (poor["well"], poor["total"] > 0) == (0, True)
        everything = await gate.search_functions("")
        assert everything["well"] == everything["total"]
        assert "compiling" not in good


async def test_nobody_is_sent_to_what_policy_denies(doorward_host: Any) -> None:
    """`needs` of a hit and the last lines of a card name the next best who may be asked, or none."""

    class Films(Weather):
        async def compile(self) -> Any:
            film = {"type": "object", "properties": {"film_id": {"type": "string"}}, "required": ["film_id"]}
            films = {"type": "array", "items": {"type": "object", "properties": {"filmId": {"type": "string"}}}}
            asked = {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}
            return Compiled(
                [
                    Function("films", "search_films", returns=films, parameters=asked, read_only=True),
                    Function("films", "list_films", returns=films, read_only=True),
                    Function("films", "get_credits", summary="Credits", parameters=film, read_only=True),
                ]
            )

    doorward_host.install("source", "films", Films)
    config = CONFIG + '[servers.films]\nsource = "films"\n'
    for who, deny in (("ann", "search_films"), ("ben", "list_films"), ("cat", "*_films")):
        config += f'[principals.{who}]\nservers = ["*"]\ndeny = ["films.{deny}"]\n'
    async with doorward_host.gateway(config) as gate:
        seen = {}
        for who in ("local", "ann", "ben", "cat"):
            hit = (await gate.search_functions("credits", principal=who))["functions"][0]
            (card,) = await gate.get_functions(["films.get_credits"], principal=who)
            seen[who] = hit.get("needs", {}).get("film_id", []), card["text"]
        assert sorted(seen["local"][0]) == ["list_films", "search_films"]
        assert [seen[who][0] for who in ("ann", "ben", "cat")] == [["list_films"], ["search_films"], []]
        assert "search_films" not in seen["ann"][1]
        assert "list_films" not in seen["ben"][1]
        assert ["# film_id: " in seen[who][1] for who in ("local", "cat")] == [True, False]


async def test_near_misses_when_nothing_is_found(doorward_host: Any) -> None:
    """What fits the words but not the narrowing; never what policy denies."""
    async with doorward_host.gateway(CONFIG + ALICE) as gate:
        found = await gate.search_functions("add station", read_only=True)
        assert found["near"] == ["weather.add_station"]
        denied = await gate.search_functions("tag:nosuch forecast", principal="alice")
        assert "weather.get_forecast" not in denied.get("near", [])
        assert "weather.get_forecast" in (await gate.search_functions("gt_frecst"))["near"]
        assert "near" not in await gate.search_functions("gt_frecst", principal="alice")
        assert "near" not in await gate.search_functions("qqqqq")


async def test_nobody_waits_for_the_join(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The index is joined once, in a thread; an index forgotten meanwhile is not kept."""
    catalog = Searched(tmp_path / "catalog.db")
    threads = []

    def store(name: str) -> None:
        catalog.store("s", Compiled([Function("s", name, name)]), fingerprint="f", settings="c", ms=1)

    class Slow(Index):
        def __init__(self, *given: Any) -> None:
            threads.append(threading.current_thread())
            super().__init__(*given)

    monkeypatch.setattr("doorward_search.index.Index", Slow)
    store("one")
    catalog.refresh()
    indexes = []

    async def wait() -> None:
        indexes.append(await catalog.index.wait())

    async with anyio.create_task_group() as group:
        for _ in range(5):
            group.start_soon(wait)
    assert len(threads) == len({*map(id, indexes)}) == 1
    assert threads[0] is not threading.main_thread()
    async with anyio.create_task_group() as group:
        catalog.index.cache_clear()
        group.start_soon(wait)
        await anyio.lowlevel.checkpoint()
        store("two")
        catalog.refresh()
    assert [f.name for f in catalog.search("two", servers=["s"])[0]] == ["two"]
    assert (await catalog.index.wait()).names == ["two"]


async def test_an_index_of_another_version_is_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A catalog that an older Doorward compiled is searched all the same, by whoever asks first."""
    monkeypatch.setattr("doorward_search.segment.VERSION", -1)
    catalog = Searched(tmp_path / "catalog.db")
    person = {"type": "object", "properties": {"birthday": {"type": "string"}}}
    one = Function("s", "one", "one", returns={"$ref": "#/$defs/Person"})
    catalog.store("s", Compiled([one], {"Person": person}), fingerprint="f", settings="c", ms=1)
    catalog.refresh()
    monkeypatch.undo()
    assert (await catalog.index.wait()).names == ["one"]
    assert [f.name for f in catalog.search("birthday", servers=["s"])[0]] == ["one"]
    catalog.index.cache_clear()
    assert catalog.index().names == ["one"]


@pytest.mark.slow
async def test_long_questions_let_others_have_their_turn(doorward_host: Any) -> None:
    """Ten questions of two hundred words take as long as hundreds of usual ones, and as many reasons are told as of
    one."""
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            await anyio.lowlevel.checkpoint()
            turns += 1

    queries = [" ".join(f"forecast city w{n}x{each}" for each in range(70)) for n in range(10)]
    async with doorward_host.gateway(CONFIG) as gate:
        await gate.search_functions("forecast")
        async with anyio.create_task_group() as group:
            group.start_soon(others)
            found = await gate.search_functions(queries=queries, explain=True)
            told = turns
            group.cancel_scope.cancel()
    assert told >= 20
    assert all(len(hit["matched"]) <= MAX_REASONS for hit in found["functions"])
