"""`doorward show --graph`: who gives what others need, for operators who wonder about a hint."""

from __future__ import annotations

from typing import Any

import pytest
from doorward import Function, hookimpl
from doorward_testing import Cli
from doorward_testing.samples import CONFIG

STATION = {"type": "object", "properties": {"id": {"type": "integer"}, "name": {"type": "string"}}}
GIVEN = {"type": "object", "properties": {"station_id": {"type": "integer"}}, "required": ["station_id"]}


class Stations:
    @hookimpl
    def source_compiled(self, server: str, functions: list[Function]) -> None:
        functions += [
            Function(server, "list_stations", "listStations", "Stations", route="GET /stations", read_only=True,
                     returns={"type": "array", "items": STATION}),
            Function(server, "get_station", "getStation", "A station", route="GET /stations/{station_id}",
                     parameters=GIVEN, read_only=True, returns=STATION),
        ]  # fmt: skip


@pytest.fixture
def stations(cli: Cli, doorward_host: Any) -> Cli:
    doorward_host.install("plugin", "stations", Stations())
    doorward_host.write(CONFIG.replace("plugins = []", 'plugins = ["stations"]'))
    return cli


def test_search_explains_itself(project: Cli) -> None:
    """In a line: which questions found a function, and why."""
    both = project("search", "station", "--also", "forecast of a city", "--explain").out.splitlines()
    assert both[0] == "weather.add_station\tAdd a station (for 1, 2; matched: station (name, summary), city (text))"
    forecast = "weather.get_forecast\tThe forecast for a city (gives {high}; for 2; matched: "
    assert any(line.startswith(forecast) for line in both)


@pytest.mark.slow
def test_the_graph_of_servers_and_functions(stations: Cli) -> None:
    """Of all servers, of one, of whoever needs something, and of who gives it: the same lines."""
    edge = stations("show", "--graph", "--json").json["graph"][0]
    assert 0.5 <= edge.pop("confidence") <= 1
    assert edge == {
        "function": "weather.get_station",
        "parameter": "station_id",
        "producer": "weather.list_stations",
        "field": "id",
    }
    text = stations("show", "--graph", "weather").out
    assert "weather.get_station" in text
    for name in ("weather.get_station", "weather.list_stations"):
        assert stations("show", "--graph", name).out == text
    assert "needs station_id" not in stations("show", "--graph", "weather.big").out


def test_a_search_says_who_gives_what_is_needed(stations: Cli) -> None:
    """By name, behind the summary."""
    assert "(gives {id, name}; needs station_id from list_stations)" in stations("search", "a station").out


def test_nothing_in_the_graph(project: Cli) -> None:
    """That nothing is known is no error; a name that means nothing is one."""
    assert "no function is known" in project("show", "--graph").err
    ended = project("show", "--graph", "weather.nope", "nope")
    assert (ended.code, ended.out) == (1, "")
    assert ended.err.count("error:") == 2
    assert project("show").code == 2
