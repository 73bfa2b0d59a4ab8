"""Search views: found by meaning, within policy; kept; and never in the way of a search."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from dataclasses import replace
from typing import Any

import anyio
import anyio.lowlevel
import numpy as np
import pytest
import structlog
from doorward import ConfigError, PluginError, ServerError
from doorward.engines import MemoryStore
from doorward_search.views import search_views, view
from doorward_search.views.stored_vectors import StoredVectors
from doorward_testing.samples import CONFIG, Weather

from .conftest import views
from .meanings import VIEWED, Meanings, built, names

pytestmark = pytest.mark.anyio

ALICE = '[principals.alice]\nservers = ["*"]\ndeny = ["weather.get_forecast"]\n'


async def test_a_question_without_a_shared_word_finds_by_meaning(doorward_host: Any, meanings: type[Meanings]) -> None:
    """And says so; without the view nothing is found."""
    async with doorward_host.gateway(CONFIG) as gate:
        assert (await gate.search_functions("umbrella"))["functions"] == []
    async with doorward_host.gateway(VIEWED) as gate:
        await built(gate)
        found = await gate.search_functions("umbrella", explain=True)
        assert names(found)[0] == "weather.get_forecast"
        assert found["functions"][0]["matched"] == ["like: means"]
        assert found["total"] == len(found["functions"])
        outcome = await gate.execute("result = str(await doorward.search('umbrella'))")
        assert "get_forecast" in outcome.value
    (made,) = meanings.made
    assert made.closed == 1


async def test_what_the_words_find_stays(doorward_host: Any, meanings: type[Meanings]) -> None:
    """A function that is called what the question says is first, whatever a view says; words and meanings are told."""
    meanings.answer = lambda texts, question: [[1.0, 0.0] if question or "station" in t else [0.0, 1.0] for t in texts]
    async with doorward_host.gateway(VIEWED) as gate:
        await built(gate)
        for asked in ("get_forecast", "weather.get_forecast", "The forecast for a city"):
            assert names(await gate.search_functions(asked))[0] == "weather.get_forecast"
        found = await gate.search_functions("forecast station", explain=True)
        matched = {hit["function"]: hit["matched"] for hit in found["functions"]}
        assert matched["weather.add_station"] == ["station (name, summary)", "like: means"]
        assert "weather.get_forecast" in matched


@pytest.mark.slow
async def test_filters_and_policy_hold(doorward_host: Any, meanings: type[Meanings]) -> None:
    """Tags, servers, `read_only` and policy: a view shows nobody what words would not."""
    async with doorward_host.gateway(VIEWED + ALICE) as gate:
        await built(gate)
        assert "weather.get_forecast" in names(await gate.search_functions("umbrella"))
        denied = await gate.search_functions("umbrella", principal="alice")
        assert "get_forecast" not in str(denied)
        assert denied["total"] == len(denied["functions"])
        assert "weather.get_forecast" not in names(await gate.search_functions("tag:admin umbrella"))
        assert "weather.get_forecast" not in names(await gate.search_functions("umbrella", read_only=False))
        assert names(await gate.search_functions("umbrella tag:weather", read_only=True)) == ["weather.get_forecast"]
        (made,) = meanings.made
        assert set(made.questions) == {"umbrella"}, "tags are no part of what is embedded, and it is asked once"
        both = await gate.search_functions(queries=["umbrella", "observatory"])
        assert names(both)[:2] == ["weather.get_forecast", "weather.add_station"]
        assert [hit["answers"] for hit in both["functions"][:2]] == [[1], [2]]


async def test_all_functions_are_listed_without_a_question(doorward_host: Any, meanings: type[Meanings]) -> None:
    """No view is asked."""
    async with doorward_host.gateway(VIEWED) as gate:
        await built(gate)
        assert (await gate.search_functions(""))["total"] == 8
        assert not meanings.made[0].questions


async def test_pages_are_parts_of_one_ranking(doorward_host: Any, meanings: type[Meanings]) -> None:
    """A question is embedded once, so that the next page goes on where the last one ended."""
    async with doorward_host.gateway(VIEWED) as gate:
        await built(gate)
        whole = names(await gate.search_functions("takes a station umbrella", limit=8))
        found, cursor = [], None
        while True:
            part = await gate.search_functions("takes a station umbrella", limit=1, cursor=cursor)
            found += names(part)
            if not (cursor := part.get("cursor")):
                break
        assert found == whole
        assert len(found) > 2


@pytest.mark.slow
async def test_a_restart_embeds_nothing_again(doorward_host: Any, meanings: type[Meanings]) -> None:
    """Nor does another compile of the same; another model does, and finds what it made before."""
    for model, expected in (("one", 8), ("one", 0), ("two", 8), ("one", 0)):
        meanings.model = model
        async with doorward_host.gateway(VIEWED) as gate:
            await built(gate)
            assert names(await gate.search_functions("umbrella")) == ["weather.get_forecast"]
            await gate.compile(force=True)
            await built(gate)
        assert len(meanings.made[-1].asked) == expected, model


@pytest.mark.slow
async def test_a_changed_function_alone_is_embedded(doorward_host: Any, meanings: type[Meanings], monkeypatch) -> None:
    """Those that stayed as they were, or are gone, are not."""
    compile_before = Weather.compile

    async def compiled(self: Any) -> Any:
        found = await compile_before(self)
        functions = [replace(f, summary="Binary blob") if f.name == "big" else f for f in found.functions[:-1]]
        return replace(found, functions=functions)

    async with doorward_host.gateway(VIEWED) as gate:
        await built(gate)
        (made,) = meanings.made
        made.asked.clear()
        monkeypatch.setattr(Weather, "compile", compiled)
        await gate.compile(force=True)
        await built(gate)
        assert made.asked == ["weather: big\nBinary blob"]
        assert "weather.big" in names(await gate.search_functions("raw"))


@pytest.mark.slow
async def test_it_is_embedded_in_the_background(doorward_host: Any, meanings: type[Meanings]) -> None:
    """Nobody asks for it: a gateway that compiles embeds, and searches meanwhile have words."""
    async with doorward_host.gateway(VIEWED) as gate:
        await gate.ready()
        async with asyncio.timeout(30):
            while not names(await gate.search_functions("umbrella")):
                await asyncio.sleep(0.01)
        assert meanings.made[0].asked


@pytest.mark.parametrize(
    ("failure", "log"),
    [
        (ServerError("no such model"), "no such model"),
        (KeyError("canary"), "failed in embed: KeyError"),
        (SystemExit("canary"), "SystemExit"),
    ],
)
async def test_a_view_that_fails_leaves_the_words(
    doorward_host: Any, meanings: type[Meanings], failure: BaseException, log: str
) -> None:
    """Once in the log, and not asked again for a while; `doctor` tells."""
    async with doorward_host.gateway(VIEWED) as gate:
        await built(gate)
        (made,) = meanings.made
        meanings.fails = failure
        with structlog.testing.capture_logs() as logs:
            for asked in ("umbrella forecast", "forecast city", "forecast town"):
                assert names(await gate.search_functions(asked))[0] == "weather.get_forecast"
        assert made.questions == ["umbrella forecast"]
        assert [entry["event"] for entry in logs if "view" in entry["event"]] == ["search_view_failed"]
        checks = [check async for check in views(gate).checks()]
        assert [(ok, log in what) for what, ok, _ in checks] == [(False, True)]
        assert "canary" not in checks[0][0]
        meanings.fails = None
        assert [ok for _, ok, _ in [check async for check in views(gate).checks()]] == [True]


@pytest.mark.slow
async def test_a_slow_view_delays_nobody(doorward_host: Any, meanings: type[Meanings], monkeypatch: Any) -> None:
    """It is waited for once, and then not for a while."""
    monkeypatch.setattr(view, "ANSWER_SECONDS", 0.05)
    async with doorward_host.gateway(VIEWED) as gate:
        await built(gate)
        meanings.held = asyncio.Event()
        for _ in range(20):
            assert names(await gate.search_functions("forecast"))[0] == "weather.get_forecast"
        assert len(meanings.made[0].questions) == 1
        monkeypatch.setattr(view, "PAUSE_SECONDS", 0.0)
        views(gate)._views[0]._rest_until = 0.0
        meanings.held.set()
        assert names(await gate.search_functions("umbrella"))


async def test_what_could_not_be_embedded_is_tried_again(doorward_host: Any, meanings: type[Meanings]) -> None:
    """Words are searched meanwhile."""
    meanings.fails = ServerError("down")
    async with doorward_host.gateway(VIEWED) as gate:
        await gate.ready()
        assert names(await gate.search_functions("forecast")) == ["weather.get_forecast"]
        assert not await views(gate).build()
        meanings.fails = None
        await built(gate)
        assert names(await gate.search_functions("umbrella")) == ["weather.get_forecast"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (None, "an array of"),
        ("vectors", "an array of"),
        ([[1.0]], "1 vectors for 8 texts"),
        ([[1.0]] * 7 + [[1.0, 2.0]], "different lengths"),
        ([[float("nan")]] * 8, "not finite"),
        ([[float("inf")]] * 8, "not finite"),
        ([["1"]] * 8, "vectors with str in them"),
        ([[True]] * 8, "vectors with bool in them"),
        (lambda: [["x" * 1_000_000, *[0.0] * 3000]] * 8, "vectors with str in them"),
        (lambda: ["x" * 100_000_000] * 8, "a list of str"),
        (lambda: [[0] * 5_000_000] * 8, "vectors of 5000000 numbers"),
        ([[]] * 8, "vectors of 0 numbers"),
        ([[2**70]] * 8, "an array of object"),
        (np.zeros((8, 8193)), "vectors of 8193 numbers"),
        (np.zeros((8, 2, 2)), "3 axes"),
        ({"a": 1}, "an array of object"),
    ],
)
async def test_hostile_vectors_are_refused(doorward_host: Any, meanings: type[Meanings], answer: Any, why: str) -> None:
    """What is no array of finite numbers of one length says so; words are searched."""
    meanings.answer = lambda texts, question: answer() if callable(answer) else answer
    async with doorward_host.gateway(VIEWED) as gate:
        await gate.ready()
        assert not await views(gate).build()
        checks = [check async for check in views(gate).checks()]
        assert [(ok, why in what) for what, ok, _ in checks] == [(False, True)], checks
        assert names(await gate.search_functions("forecast")) == ["weather.get_forecast"]


async def test_odd_numbers_are_no_harm(doorward_host: Any, meanings: type[Meanings]) -> None:
    """Huge and tiny numbers have a direction, and zeros have none: what has no vector is never found by one."""
    scale = {"umbrella": 1e300, "forecast": 1e-300}
    meanings.answer = lambda texts, question: [
        next(([n, 0.0] for word, n in scale.items() if word in text), [0.0, 0.0]) for text in texts
    ]
    async with doorward_host.gateway(VIEWED) as gate:
        await built(gate)
        assert names(await gate.search_functions("umbrella")) == ["weather.get_forecast"]
        assert names(await gate.search_functions("nothing at all like it")) == []


async def test_a_question_of_another_length_is_refused(doorward_host: Any, meanings: type[Meanings]) -> None:
    """A model that changes under the same fingerprint is told."""
    async with doorward_host.gateway(VIEWED) as gate:
        await built(gate)
        meanings.answer = lambda texts, question: [[1.0] * 5 for _ in texts]
        assert names(await gate.search_functions("forecast")) == ["weather.get_forecast"]
        ((what, ok, _),) = [check async for check in views(gate).checks()]
        assert not ok
        assert "vectors of 5 numbers, and of 4 before" in what


async def test_credentials_do_not_reach_a_view(doorward_host: Any, meanings: type[Meanings]) -> None:
    """Those of the configuration, and what looks like one, in a question."""
    config = VIEWED + 'token = "${CANARY}"\n'
    async with doorward_host.gateway(config, environ={"CANARY": "canary-8d0f2c-11aa"}) as gate:
        await built(gate)
        await gate.search_functions("umbrella canary-8d0f2c-11aa and password=hunter2secret9")
        (question,) = meanings.made[0].questions
        assert "canary" not in question
        assert "hunter2" not in question
        assert question.startswith("umbrella")


@pytest.mark.slow
async def test_a_file_that_is_of_no_use_is_made_anew(doorward_host: Any, meanings: type[Meanings]) -> None:
    """Or done without, where it cannot be made: the log says so once."""
    async with doorward_host.gateway(VIEWED) as gate:
        await built(gate)
    file = doorward_host.folder / "state" / "store.db"
    assert file.stat().st_mode & 0o077 == 0
    file.write_bytes(b"no database" * 1000)
    async with doorward_host.gateway(VIEWED) as gate:
        await built(gate)
        assert names(await gate.search_functions("umbrella")) == ["weather.get_forecast"]
    file.unlink()
    file.mkdir()
    with structlog.testing.capture_logs() as logs:
        async with doorward_host.gateway(VIEWED) as gate:
            await built(gate)
            assert names(await gate.search_functions("umbrella")) == ["weather.get_forecast"]
    assert [entry["event"] for entry in logs].count("search_vectors_not_kept") == 1


async def test_several_views_are_asked_at_once(doorward_host: Any, meanings: type[Meanings]) -> None:
    """Each says what it found."""
    other = type("Other", (Meanings,), {"made": []})
    doorward_host.install("search_view", "other", other)
    other.answer = lambda texts, question: [[1.0, 0.0] if question or "raw" in t else [0.0, 1.0] for t in texts]
    async with doorward_host.gateway('search_view = ["means", "other"]\n' + CONFIG) as gate:
        await built(gate)
        found = await gate.search_functions("umbrella", explain=True)
        why = {hit["function"]: hit["matched"] for hit in found["functions"]}
        assert why == {"weather.get_forecast": ["like: means"], "weather.raw": ["like: other"]}


async def test_nothing_is_there_without_a_view(doorward_host: Any) -> None:
    """No vectors, no check, no work."""
    async with doorward_host.gateway(CONFIG) as gate:
        await gate.search_functions("forecast")
        assert await views(gate).build()
        assert [check async for check in views(gate).checks()] == []
        assert not await gate.store.scan("vectors")


async def test_a_view_that_is_missing_or_wrong_stops_the_start(doorward_host: Any) -> None:
    """A name that is not installed, a class that is no view, a table that nobody reads."""
    with pytest.raises(PluginError, match="no search_view named 'means'"):
        async with doorward_host.gateway(VIEWED):
            pass
    doorward_host.install("search_view", "means", type("Half", (), {"Settings": Meanings.Settings}))
    with pytest.raises(PluginError, match="lacks fingerprint, embed, close"):
        async with doorward_host.gateway(VIEWED):
            pass
    with pytest.raises(ConfigError, match="no search_view 'mean' is installed or named in `search_view`"):
        async with doorward_host.gateway(CONFIG + "[search_views.mean]\nx = 1\n"):
            pass


async def test_what_nobody_uses_is_removed_later(monkeypatch: pytest.MonkeyPatch) -> None:
    """After thirty days, whosever it is; until then it comes back with its function."""
    now = [1_800_000_000.0]
    monkeypatch.setattr("doorward_search.views.stored_vectors.time.time", lambda: now[0])
    stored = StoredVectors(MemoryStore(clock=lambda: now[0]))
    await stored.keep("means", "one", {b"used": b"ab", b"gone": b"cd"})
    await stored.keep("other", "two", {b"text": b"ef"})
    for days in (1, 29):
        now[0] += days * 86400 - 1
        await stored.used("means", "one", {b"used": b"ab"})
        assert await stored.read("means", "one") == {b"used": b"ab", b"gone": b"cd"}
    now[0] += 2
    assert await stored.read("means", "one") == {b"used": b"ab"}
    assert await stored.read("other", "two") == {}
    assert (await stored.clear(), await stored.clear()) == (1, 0)


async def test_vectors_of_different_lengths_are_nobody_s() -> None:
    """Somebody else has written there: all is embedded again."""
    stored = StoredVectors(MemoryStore())
    await stored.keep("means", "one", {b"a": b"ab", b"b": b"abcd"})
    assert await stored.read("means", "one") == {}


async def test_what_an_earlier_version_embedded_is_taken_over(tmp_path: Any) -> None:
    """To embed may cost money."""
    file = tmp_path / "search_views.db"
    with contextlib.closing(sqlite3.connect(file)) as db, db:
        db.execute("CREATE TABLE vectors (view TEXT, model TEXT, text BLOB, vector BLOB, used INTEGER)")
        db.executemany("INSERT INTO vectors VALUES ('means', ?, ?, ?, 1)", [("one", b"a", b"ab"), ("two", b"b", b"cd")])
    store = MemoryStore()
    assert await StoredVectors(store, file).read("means", "one") == {b"a": b"ab"}
    await StoredVectors(store).clear()
    assert await StoredVectors(store, file).read("means", "two") == {}


async def test_pauses_grow_and_are_bounded(doorward_host: Any, meanings: type[Meanings], monkeypatch: Any) -> None:
    """A view that is down for long is asked again, but less and less often."""
    pauses: list[float] = []

    class Sleepless:
        def __getattr__(self, name: str) -> Any:
            return getattr(anyio, name)

        async def sleep(self, seconds: float) -> None:
            pauses.append(seconds)
            if len(pauses) == 5:
                raise TimeoutError

    monkeypatch.setattr(search_views, "anyio", Sleepless())
    monkeypatch.setattr(search_views, "MAX_PAUSE_SECONDS", 0.05)
    meanings.fails = ServerError("down")
    async with doorward_host.gateway(VIEWED, compile=False) as gate:
        await gate.compiler.compile()
        monkeypatch.setattr(views(gate), "_quiet", anyio.lowlevel.checkpoint)
        with pytest.raises(TimeoutError):
            await views(gate).run(embed=True)
    assert pauses == [0.01, 0.02, 0.04, 0.05, 0.05]


@pytest.mark.slow
async def test_a_catalog_that_changes_all_the_time_is_embedded(
    doorward_host: Any, meanings: type[Meanings], monkeypatch: Any
) -> None:
    """In the background, and not with each change; but in the end without waiting for quiet."""
    async with doorward_host.gateway(VIEWED, compile=False) as gate:
        await gate.compiler.compile()
        versions = iter(range(10_000))
        monkeypatch.setattr(gate.catalog, "version", lambda: (next(versions),))
        async with asyncio.timeout(30):
            await views(gate)._quiet()
        assert search_views.MAX_LOOKS < next(versions) <= 2 * search_views.MAX_LOOKS


async def test_more_questions_than_are_remembered(
    doorward_host: Any, meanings: type[Meanings], monkeypatch: Any
) -> None:
    """Those that were asked longest ago are asked again, also where many ask at once."""
    monkeypatch.setattr(view, "MAX_QUESTIONS", 2)
    async with doorward_host.gateway(VIEWED) as gate:
        await built(gate)
        asked = [f"umbrella {word}" for word in ("zebra", "yak", "emu", "zebra")]
        for found in await asyncio.gather(*(gate.search_functions(each) for each in asked)):
            assert names(found) == ["weather.get_forecast"]
        for each in asked:
            assert names(await gate.search_functions(each)) == ["weather.get_forecast"]
        assert len(views(gate)._views[0]._questions) == 2
        assert [ok for _, ok, _ in [check async for check in views(gate).checks()]] == [True]
