"""`doorward refresh`: what changed upstream."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from doorward import Compiled

from .conftest import CONFIG, Cli, Weather


@pytest.fixture
def changed(project: Cli, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """The command line after the document of a compiled server has changed."""
    assert project("compile").code == 0
    compile_before = Weather.compile

    async def compile_now(source: Weather) -> Compiled:
        compiled = await compile_before(source)
        forecast, *others = compiled.functions
        only_city = {**forecast.parameters, "properties": {"city": {"type": "string"}}}
        return replace(compiled, functions=[replace(forecast, parameters=only_city), *others[1:]])

    async def fingerprint(source: Weather) -> str:
        return "v2"

    monkeypatch.setattr(Weather, "compile", compile_now)
    monkeypatch.setattr(Weather, "fingerprint", fingerprint)
    return project


def test_a_check_tells_and_writes_nothing(changed: Cli) -> None:
    """It ends with 1 as long as what changed upstream is not compiled, and leaves the catalog as it is."""
    for _ in range(2):
        told = changed("refresh", "--check")
        assert told.code == 1
        assert told.out.splitlines() == [
            "weather: 7 functions",
            "removed weather.add_station: is gone",
            "narrowed weather.get_forecast: days is gone",
        ]
    assert "weather.add_station" in changed("list", "weather").out


def test_a_refresh_compiles_and_tells(changed: Cli) -> None:
    """Once: then nothing has changed any more."""
    told = changed("refresh", "--json")
    assert told.code == 0
    assert [(each["kind"], each["function"]) for each in told.json["changes"]] == [
        ("removed", "weather.add_station"), ("narrowed", "weather.get_forecast"),
    ]  # fmt: skip
    assert "add_station" not in changed("list", "weather").out
    again = changed("refresh", "--check")
    assert (again.code, again.out.splitlines()) == (0, ["weather: 7 functions", "no function has changed"])


def test_a_first_compile_is_no_change(project: Cli) -> None:
    told = project("refresh")
    assert (told.code, told.out.splitlines()[-1]) == (0, "no function has changed")


def test_a_server_that_is_broken_has_no_changes(changed: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """What cannot be read is an error, and no function of it is said to be gone."""

    async def crash(source: Weather) -> Compiled:
        raise OSError("no document")

    monkeypatch.setattr(Weather, "compile", crash)
    for options in ([], ["--check"]):
        told = changed("refresh", *options, "--json")
        assert (told.code, told.json["changes"], [*told.json["errors"]]) == (1, [], ["weather"])


def test_only_a_server_that_there_is(project: Cli, doorward_host: Any) -> None:
    doorward_host.write(CONFIG)
    assert "there is no server 'nowhere'" in project("refresh", "nowhere").err
