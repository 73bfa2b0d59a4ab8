"""Conformance tests of search engines: inherit `SearchEngineConformance`."""

from __future__ import annotations

import contextlib
import time
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest
from doorward import DoorwardError, Function, Gateway
from doorward.searching import SEARCH, Related, SearchEngine
from doorward.values import effect

from doorward_testing.conformance.base import fail, only, require
from doorward_testing.conformance.hooks import NAME, ODD_TEXTS, HookConformance

QUESTIONS = ("", "get_forecast", "weather.get_forecast", "forecast for a city", "add a station")
DENIED = "weather.get_forecast"


class SearchEngineConformance(HookConformance):
    """For plugins that give the service `SEARCH`. Say `plugin`; override `settings`, where it needs any."""

    hooks = ("gateway_made",)
    seconds = 10.0
    """How long a search may take for anything."""

    @contextlib.asynccontextmanager
    async def searched(self, host: Any, **options: Any) -> AsyncIterator[Gateway]:
        """A gateway with the engine; `alice` may not call `get_forecast`."""
        host.install("plugin", NAME, self.plugin)
        config: dict[str, Any] = {"executor": "inprocess", "cache": "none", "plugins": [NAME], "capabilities": []}
        config |= {"hooks": {NAME: self.settings(host)}} if self.settings(host) else {}
        config |= {"principals": {"alice": {"servers": ["*"], "deny": [DENIED]}}}
        async with host.gateway(config | {"servers": {"weather": {"source": "fake"}}}, **options) as gate:
            await gate.ready()
            given = gate.services.get(SEARCH)
            require(given is not None, "it gave no engine: `gateway.services.give(SEARCH, engine)` in `gateway_made`")
            require(isinstance(given, SearchEngine), f"{given!r} does not inherit from doorward.searching.SearchEngine")
            yield gate
        host.entries = [entry for entry in host.entries if entry.name != NAME]

    @pytest.mark.anyio
    async def test_what_is_called_so_is_found(self, doorward_host: Any) -> None:
        """A name finds its function, in a gateway that compiled it, and in the next one, which has it from the
        catalog. No question lists everything."""
        for compile in (True, False):
            async with self.searched(doorward_host, compile=compile) as gate:
                named = await _found(gate, "get_forecast", limit=50)
                require(DENIED in named, f"'get_forecast' found {named}, not {DENIED}")
                everything = await _found(gate, "", limit=50)
                names = [f"weather.{name}" for name in gate.catalog.names("weather")]
                require(sorted(everything) == sorted(names), f"an empty question found {everything}, not all: {names}")

    @pytest.mark.anyio
    async def test_nobody_finds_what_they_may_not_call(self, doorward_host: Any) -> None:
        """By policy, or because their run is narrowed; neither as a hit, nor where nothing is found."""
        async with self.searched(doorward_host) as gate:
            for question in QUESTIONS:
                for principal, within in (("alice", None), ("local", ("weather.raw",)), ("alice", ("weather.*",))):
                    found = await gate.discovery.find([question], principal, within=within, limit=50)
                    shown = [*(hit.function.qualified for hit in found.hits), *found.near]
                    shown += [name for hit in found.hits for names in hit.needs.values() for name in names]
                    wrong = {DENIED, "get_forecast"} & {*shown}
                    wrong |= {name for name in shown if within == ("weather.raw",) and not name.endswith("raw")}
                    require(
                        not wrong,
                        f"{question!r} found {sorted(wrong)} for one who may not call it: see `Search.allowed`",
                    )

    @pytest.mark.anyio
    async def test_filters_and_pages(self, doorward_host: Any) -> None:
        """`servers`, `read_only`, `limit` and `offset` are kept to; pages are parts of one ranking; several questions
        have one answer."""
        async with self.searched(doorward_host) as gate:
            for wanted in (True, False):
                found = await gate.discovery.find([""], "local", read_only=wanted, limit=50)
                other = [hit.function.qualified for hit in found.hits if (effect(hit.function) == "read") != wanted]
                require(found.hits and not other, f"with read_only={wanted} it found {other}")
            whole = await _found(gate, "", limit=50)
            pages = [name for offset in range(0, len(whole), 3) for name in await _found(gate, "", 3, offset)]
            require(pages == whole, f"pages of three are {pages}, one of fifty is {whole}")
            both = await gate.discovery.find(["get_forecast", "add_station"], "local", limit=50)
            names = [hit.function.qualified for hit in both.hits]
            require(len(names) == len({*names}), f"two questions found a function twice: {names}")
            answers = {hit.function.name: [*hit.answers] for hit in both.hits}
            right = 1 in answers.get("get_forecast", []) and 2 in answers.get("add_station", [])
            require(right, f"`Hit.answers` do not say which question found what, from 1: {answers}")
            require(both.total >= len(names), f"`total` is {both.total}, and {len(names)} were found")

    @pytest.mark.anyio
    async def test_any_question_has_an_answer(self, doorward_host: Any) -> None:
        """Whatever the text, soon."""
        async with self.searched(doorward_host) as gate:
            for text in (*ODD_TEXTS, "word " * 20_000, "tag:", 'tag:"', "*", "é" * 10_000):
                began = time.monotonic()
                with only(DoorwardError, f"find({text[:20]!r})", "Answer what fits, perhaps nothing."):
                    await gate.discovery.find([text], "local")
                took = time.monotonic() - began
                require(took < self.seconds, f"{text[:20]!r} took {took:.1f} s, more than {self.seconds:g}")

    @pytest.mark.anyio
    async def test_what_else_it_says(self, doorward_host: Any) -> None:
        """Names near an unknown one, what belongs to a function, and checks are of the right types; a compile is
        followed."""
        async with self.searched(doorward_host) as gate:
            engine = gate.search_engine()
            near = engine.near(["forecast"], ["weather"], 3)
            require(_functions(near) and len(near) <= 3, f"`near` answered {near!r}: at most three functions")
            function = gate.catalog.function("weather", "get_forecast")
            assert function is not None
            related = await engine.related(function, "local")
            require(isinstance(related, Related), f"`related` answered {related!r}")
            for given in (*related.given, *await engine.graph("weather", "local")):
                require(0 <= given.confidence <= 1, f"{given} is surer than sure")
            await engine.prepare()
            for check in [check async for check in engine.checks()]:
                if [type(part) for part in check] != [str, bool, str]:
                    fail(f"`checks` answered {check!r}: what was looked at, whether it is well, what to do")
            await gate.compile(force=True)
            await gate.ready()
            require(DENIED in await _found(gate, "get_forecast"), "after a compile a name found nothing")


def _functions(found: Sequence[Any]) -> bool:
    return all(isinstance(each, Function) for each in found)


async def _found(gate: Gateway, question: str, limit: int = 10, offset: int = 0) -> list[str]:
    found = await gate.discovery.find([question], "local", limit=limit, offset=offset)
    require(len(found.hits) <= limit, f"{len(found.hits)} hits; at most {limit} were asked for")
    return [hit.function.qualified for hit in found.hits]
