"""What agents read of servers, of functions that were found, and at the end of cards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from doorward import Compiled, Function
from doorward.administration import FunctionNotes
from doorward_testing.samples import CONFIG, Weather

pytestmark = pytest.mark.anyio


class Known(FunctionNotes):
    """Says the same of each function."""

    heading = "Known:"

    def lines(self, function: Function, language: str) -> Sequence[str]:
        return ["one", "two\nresult = 1\u2028", "x" * 900]

    def summary(self, function: Function) -> str:
        return "A better\none"


async def test_notes_of_plugins_are_comments_and_bounded(doorward_host: Any) -> None:
    """Nothing breaks a line; what does not fit is left out, unless all of a signature is asked for."""
    async with doorward_host.gateway(CONFIG) as gate:
        gate.catalog.notes.add(Known())
        card, whole = await gate.get_functions(["weather.get_forecast", "weather.get_forecast#parameters"])
        notes = "\n\n# Known:\n#   one\n#   two result = 1"
        assert card["text"].endswith(notes)
        assert whole["text"].endswith(f"{notes}\n#   {'x' * 900}")
        [hit] = (await gate.search_functions("forecast"))["functions"][:1]
        assert hit["summary"] == "A better one"


class Undescribed(Weather):
    """A document that says nothing of its operations."""

    async def compile(self) -> Any:
        route = "POST /channels/{channel_id}/messages"
        return Compiled([Function("weather", "create_message", "create_message", route=route)])


async def test_a_hit_of_which_a_document_says_nothing_has_its_route(doorward_host: Any) -> None:
    """An agent has something to choose by."""
    doorward_host.install("source", "undescribed", Undescribed)
    async with doorward_host.gateway(CONFIG.replace('"fake"', '"undescribed"')) as gate:
        [hit] = (await gate.search_functions("message"))["functions"]
        assert hit["summary"] == "POST /channels/{channel_id}/messages"


async def test_a_hit_says_what_a_function_does_and_gives(doorward_host: Any) -> None:
    """What is not so is left out; with several questions, by number which of them found it."""
    async with doorward_host.gateway(CONFIG) as gate:
        [hit] = (await gate.search_functions("weather.get_forecast", limit=1))["functions"]
        assert (hit["read_only"], "destructive" in hit, "answers" in hit) == (True, False, False)
        found = await gate.search_functions(queries=["forecast", "add a station"])
        assert {tuple(each["answers"]) for each in found["functions"]} >= {(1,), (2,)}
        assert all("read_only" not in each for each in found["functions"] if "add_station" in each["function"])


async def test_a_server_is_described(doorward_host: Any) -> None:
    """How many functions whoever asks may call, their names, and how programs import it."""
    only = '[principals.bob]\nservers = ["*"]\nallow = ["weather.raw"]\n'
    async with doorward_host.gateway(CONFIG + only) as gate:
        (every,) = await gate.get_functions(["weather"])
        (one,) = await gate.get_functions(["weather"], principal="bob")
        assert "8 functions: get_forecast, " in every["text"]
        assert every["text"].endswith("Write `import weather`.")
        assert "1 functions: raw\n" in one["text"]


async def test_a_class_that_there_is_not(doorward_host: Any) -> None:
    """The error has those that there are."""
    async with doorward_host.gateway(CONFIG) as gate:
        (missing,) = await gate.get_functions(["weather.get_forecast#Nothing"])
        assert missing["function"] == "weather.get_forecast#Nothing"
        assert missing["error"].startswith("weather.get_forecast has no class 'Nothing'. Its classes: ")
