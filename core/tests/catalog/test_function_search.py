"""Searches: only what policy allows, answers to act on, several questions at once, and nobody waits for the index."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from doorward.model.functions import Function

from ..conftest import CONFIG, Weather

pytestmark = pytest.mark.anyio

ALICE = '[principals.alice]\nservers = ["*"]\ndeny = ["weather.get_forecast"]\n'
BOB = '[principals.bob]\nservers = ["*"]\nallow = ["weather.raw"]\n'


def names(found: Any) -> list[str]:
    return [hit["function"] for hit in found["functions"]]


async def test_what_policy_denies_is_not_found(doorward_host: Any) -> None:
    """Neither as a hit nor in the count, by the operator's policy or the table of a principal. CONTRACT: DIS-08."""
    async with doorward_host.gateway('policy = { deny = ["weather.fail"] }\n' + CONFIG + ALICE + BOB) as gate:
        everything = await gate.search_functions("", limit=50)
        assert "weather.fail" not in names(everything)
        assert everything["total"] == len(everything["functions"]) == 7
        assert "weather.get_forecast" in names(await gate.search_functions("forecast of a city"))
        assert "weather.get_forecast" not in names(await gate.search_functions("forecast of a city", principal="alice"))
        theirs = await gate.search_functions("", principal="bob", limit=50)
        assert (names(theirs), theirs["total"]) == (["weather.raw"], 1)
        nothing = await gate.search_functions("add a station", principal="bob")
        assert (nothing["functions"], nothing["total"]) == ([], 0)
        assert "add_station" not in str(nothing)


async def test_a_policy_of_upstreams_counts_as_well(doorward_host: Any) -> None:
    """What a principal finds is what it may call, where patterns name upstreams, too."""

    class Apart(Weather):
        @staticmethod
        def upstreams(settings: Any, function: Function | None) -> list[str]:
            read = function is not None and function.read_only
            return ["https://read.example.com" if read else "https://write.example.com"]

    doorward_host.install("source", "apart", Apart)
    config = CONFIG.replace('source = "fake"', 'source = "apart"')
    carol = '[principals.carol]\nservers = ["*"]\nallow = ["https://read.example.com"]\n'
    async with doorward_host.gateway(config + carol) as gate:
        everything = names(await gate.search_functions("", limit=50))
        found = names(await gate.search_functions("", principal="carol", limit=50))
        cards = [await gate.get_functions([name], principal="carol") for name in everything]
        assert found == [card["function"] for (card,) in cards if "text" in card]
        assert 0 < len(found) < len(everything)


async def test_who_is_not_compiled_yet_is_counted(doorward_host: Any) -> None:
    """A search that does not wait any longer says how many servers it could not look at."""
    async with doorward_host.gateway(CONFIG, compile=False) as gate:
        gate.readiness.compiled = SimpleNamespace(is_set=lambda: False, wait=no_wait)
        assert (await gate.search_functions("forecast"))["compiling"] == 1


async def no_wait() -> None:
    """Who waits no longer."""


async def test_lists_and_cards_of_what_may_be_called(doorward_host: Any) -> None:
    """What policy denies is neither counted nor named; who asks for it by name gets the error of a call."""
    async with doorward_host.gateway(CONFIG + ALICE + BOB) as gate:
        for who, count, first in (("local", 8, "get_forecast"), ("alice", 7, "add_station"), ("bob", 1, "raw")):
            (server,) = (await gate.list_servers(principal=who))["servers"]
            assert (server["functions"], server["first"][0]) == (count, first)
            (about,) = await gate.get_functions(["weather"], principal=who)
            assert f"{count} functions: {first}" in about["text"]
        for name in ("weather.get_forecast", "weather.get_forecast#parameters", "weather.getForecast"):
            (card,) = await gate.get_functions([name], principal="alice")
            assert "text" not in card
            told = (await gate.answer("weather.get_forecast", {"city": "Oslo"}, principal="alice")).error
            assert card["error"].startswith(told.message)
            assert "weather.get_forecast is not allowed for 'alice'" in told.message


async def test_a_list_decodes_nothing_where_no_policy_has_patterns(
    doorward_host: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first names are a few rows, however many functions there are."""
    async with doorward_host.gateway(CONFIG + ALICE) as gate:
        await gate.ready()
        monkeypatch.setattr(gate.catalog, "stored_functions", lambda server: pytest.fail("it is decoded"))
        assert (await gate.list_servers())["servers"][0]["functions"] == 8
