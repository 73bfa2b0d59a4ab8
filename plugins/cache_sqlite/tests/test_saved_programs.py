"""Saved programs: what `doorward save` makes of a kept program, who finds and runs it, and what its test holds."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest
from doorward import Compiled, Program
from doorward_cache_sqlite.scripts import about, script
from doorward_testing import Cli
from doorward_testing.samples import CONFIG as WITHOUT
from doorward_testing.samples import Weather

CONFIG = WITHOUT.replace('"none"', '"sqlite"')
CODE = 'city = "Oslo"\ndays = 2\nresult = await weather.get_forecast(city=city, days=days)\n'


@pytest.fixture
def keeping(doorward_host: Any) -> Any:
    doorward_host.install_real("doorward-cache-sqlite", "doorward-store-sqlite", "text", "runs")
    doorward_host.write(CONFIG)
    return doorward_host


@pytest.fixture
def kept(cli: Cli, keeping: Any) -> str:
    """The id of a kept program."""
    (keeping.folder / "program.py").write_text(CODE)
    return str(cli("run", str(keeping.folder / "program.py"), "--json").json["cache_id"])


@pytest.fixture
def saved(cli: Cli, kept: str) -> str:
    """The name of a saved program."""
    told = cli("save", kept, "forecast", "--description", "Forecast of a town", "--record", "--yes", "--json")
    assert (told.code, told.json["recorded"]) == (0, True)
    assert told.json["calls"] == ["weather.get_forecast(city='Oslo', days=2)"]
    return "forecast"


def test_kept_programs_are_listed_shown_and_forgotten(cli: Cli, kept: str) -> None:
    """An operator sees what agents may run again, and removes it."""
    (listed,) = cli("cache", "list", "--json").json["programs"]
    assert (listed["cache_id"], listed["principal"], listed["calls"]) == (kept, "local", ["weather.get_forecast"])
    assert kept in cli("cache", "list").out
    assert "parameter city: string" in cli("cache", "show", kept).out
    assert cli("cache", "show", kept, "--json").json["code"] == CODE
    assert cli("cache", "forget").code == 2
    assert cli("cache", "forget", kept).out.strip() == f"{kept} is forgotten"
    assert "there is no kept program" in cli("cache", "show", kept).err
    assert cli("cache", "list", "--json").json == {"programs": []}


def test_a_program_becomes_a_script(cli: Cli, saved: str, keeping: Any) -> None:
    """With a docstring, typed parameters and a help of its own; it runs by its name, with other values.
    CONTRACT: CAC-06, DIS-19."""
    file = keeping.folder / "programs" / "forecast.py"
    assert file.read_text() == f'#!/usr/bin/env -S doorward programs run\n"""Forecast of a town"""\n\n{TYPED}'
    assert os.access(file, os.X_OK)
    for beside in (".json", ".recording.json"):
        assert file.with_suffix(beside).stat().st_mode & 0o077 == 0
    shown = cli("programs", "run", saved, "--help").out
    assert "Forecast of a town" in shown
    assert '--city STRING   [default: "Oslo"]' in shown
    assert cli("programs", "run", saved, "--city", "Rome", "--json").json["value"]["city"] == "Rome"
    assert "is not a valid integer" in cli("programs", "run", saved, "--days", "many").err
    assert cli("programs", "list", "--json").json["programs"][0]["state"] == "ready"
    again = cli("save", "--yes", "unknown", saved)
    assert "there is no kept program 'unknown'" in again.err
    assert cli("programs", "forget", saved).code == 0
    assert not file.exists()


TYPED = CODE.replace("city =", "city: str =").replace("days =", "days: int =", 1)


def test_a_saved_program_is_not_replaced_unasked(cli: Cli, kept: str, saved: str, keeping: Any) -> None:
    """Somebody may have edited it; nor is anything saved where nobody can see it first."""
    again = cli("save", kept, saved, "--yes")
    assert "there is a saved program 'forecast'" in again.err
    assert cli("save", kept, saved, "--yes", "--force").code == 0
    assert "there is nobody to ask" in cli("save", kept, "other").err
    assert "cannot be the name of a program" in cli("save", kept, "../other", "--yes").err


def test_the_test_of_a_program_sends_nothing(cli: Cli, saved: str, keeping: Any) -> None:
    """It runs on the answers of the recorded run; a change of the script that changes its value or calls is seen."""
    assert cli("programs", "test").out.strip() == "forecast: passes"
    file: Path = keeping.folder / "programs" / "forecast.py"
    whole = file.read_text()
    file.write_text(whole + "result = 1\n")
    assert "another value" in (told := cli("programs", "test", saved)).out
    assert told.code == 1
    file.write_text(whole.replace("days=days", "days=days + 1"))
    assert "has no answer to this call" in cli("programs", "test", saved).out


def test_a_script_runs_wherever_it_lies(cli: Cli, saved: str, keeping: Any) -> None:
    """By the configuration beside its folder `programs`, else by that of the command; one that lies elsewhere is not
    mistaken for the saved program of its name."""
    script = keeping.folder / "programs" / "forecast.py"
    other = keeping.folder / "elsewhere" / "programs"
    other.mkdir(parents=True)
    (other / "forecast.py").write_text(script.read_text().replace("Oslo", "Lima"))
    assert cli("programs", "run", str(other / "forecast.py"), "--json").json["value"]["city"] == "Lima"
    assert cli("programs", "run", str(script), "--city", "Rome", "--json").json["cache_id"] == saved
    (other.parent / "doorward.toml").write_text("")
    assert "no executor is configured" in cli("programs", "run", str(other / "forecast.py")).out
    named = cli(
        "programs", "run", str(other / "forecast.py"), "--config", str(keeping.folder / "doorward.toml"), "--json"
    )
    assert named.json["value"]["city"] == "Lima"
    assert "cannot be read" in cli("programs", "run", "none.py").err


def test_what_has_no_test_gets_one(cli: Cli, saved: str, keeping: Any) -> None:
    """A script that was copied or edited is run, and tested on these answers from then on."""
    for file in ("forecast.json", "forecast.recording.json"):
        (keeping.folder / "programs" / file).unlink()
    told = cli("programs", "test")
    assert (told.code, told.out.strip()) == (
        1, "forecast: no run of it is recorded: doorward programs test forecast --record makes and records one",
    )  # fmt: skip
    assert cli("programs", "test", saved, "--record").out.strip() == "forecast: passes"
    assert cli("programs", "test").code == 0
    (keeping.folder / "programs" / "forecast.py").write_text("result = 1 / 0\n")
    assert "division by zero" in cli("programs", "test", "--record").out


def test_agents_find_and_run_it(saved: str, keeping: Any) -> None:
    """The search names it with the call that runs it, for those who may call what it calls, whoever they are. CONTRACT:
    OBS-04."""

    async def at_work() -> None:
        async with keeping.gateway(CONFIG + '[principals.ada]\n[principals.bob]\ndeny = ["weather.*"]\n') as gate:
            await gate.compile()
            (found,) = (await gate.search_functions("forecast town"))["programs"]
            assert (await gate.search_functions("forecast town", principal="ada"))["programs"] == [found]
            assert (await gate.run_cached(saved, {"city": "Rome"}, principal="ada")).value["city"] == "Rome"
            assert "programs" not in await gate.search_functions("forecast town", principal="bob")
            assert found == {"cache_id": saved, "summary": "Forecast of a town", "params": {"city": "Oslo", "days": 2}}
            assert "programs" not in await gate.search_functions("delete every station there was")
            outcome = await gate.run_cached(saved, {"city": "Rome"})
            assert (outcome.value["city"], outcome.cache_id) == ("Rome", saved)
            assert "is of type string" in (await gate.run_cached(saved, {"city": 1})).error.message
            gate.catalog.drop(["weather"])
            assert "not there any more" in (await gate.run_cached(saved)).error.message
            assert "programs" not in await gate.search_functions("forecast town")

    anyio.run(at_work)


def test_an_endpoint_has_no_program_of_what_lies_beyond_it(saved: str, keeping: Any) -> None:
    """Neither found, nor run, nor told of: its text and its errors name functions."""
    config = CONFIG + '[endpoints.whole]\n[endpoints.part]\nexclude = ["weather.get_forecast"]\n'

    async def seen(gate: Any, who: str) -> tuple[bool, str]:
        found = await gate.search_functions("forecast of a town", principal=who)
        return bool(found.get("programs")), str(await gate.run_cached(saved, principal=who))

    async def work() -> None:
        async with keeping.gateway(config) as gate:
            whole, part = await seen(gate, "local via whole"), await seen(gate, "local via part")
            nobody = str(await gate.run_cached("forecqst", principal="local via part"))
        assert whole[0]
        assert "'Oslo'" in whole[1]
        assert part == (False, nobody.replace("forecqst", saved))

    anyio.run(work)


def test_a_program_waits_for_a_look_when_its_functions_change(cli: Cli, saved: str, keeping: Any) -> None:
    """The list says so, it does not run, and a passing test may accept what is new."""
    record = keeping.folder / "programs" / "forecast.json"
    said = json.loads(record.read_text())
    record.write_text(json.dumps(said | {"uses": {"weather.get_forecast": "older"}}))
    assert cli("programs", "list", "--json").json["programs"][0]["state"] == "weather.get_forecast changed"
    refused = cli("programs", "run", saved)
    assert "changed since" in refused.out + refused.err
    assert "doorward programs test forecast --record" in refused.out + refused.err
    assert cli("programs", "test", "--accept").code == 0
    assert cli("programs", "run", saved).code == 0
    record.write_text("{}")
    assert "no record of a saved program" in cli("programs", "run", saved).err


def test_what_does_not_fit_the_functions_is_not_accepted(
    cli: Cli, saved: str, keeping: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its recorded call lacks a parameter that is required now, or its answer one that is promised now."""
    real = Weather.compile

    async def changed(self: Weather, what: str) -> Compiled:
        compiled = await real(self)
        forecast = next(each for each in compiled.functions if each.name == "get_forecast")
        schema = dict(getattr(forecast, what))
        wants = {**schema, "properties": {**schema.get("properties", {}), "unit": {"type": "string"}}}
        wants["required"] = [*schema.get("required", ()), "unit"]
        others = [each for each in compiled.functions if each is not forecast]
        return replace(compiled, functions=[*others, replace(forecast, **{what: wants})])

    record = keeping.folder / "programs" / "forecast.json"
    before = record.read_text()
    for what, told in (("parameters", "unit"), ("returns", "gives something else now")):
        monkeypatch.setattr(Weather, "compile", lambda self, what=what: changed(self, what))
        assert cli("compile", "--force").code == 0
        assert cli("programs", "test").code == 0
        refused = cli("programs", "test", "--accept")
        assert (refused.code, told in refused.out, record.read_text()) == (1, True, before)


def test_one_that_cannot_be_read_is_told_and_removed(cli: Cli, saved: str, keeping: Any) -> None:
    """Beside the others, which are there."""
    (keeping.folder / "programs/torn.py").write_text(CODE)
    (keeping.folder / "programs/torn.json").write_text("{")
    states = {each["name"]: each["state"] for each in cli("programs", "list", "--json").json["programs"]}
    assert states[saved] == "ready"
    assert "this is no record of a saved program; Save it again." in states["torn"]
    tested = cli("programs", "test", "--json")
    assert (tested.code, tested.json["programs"][saved]) == (1, "")
    assert "no record" in tested.json["programs"]["torn"]
    assert cli("programs", "forget", "torn").code == 0
    assert [each["name"] for each in cli("programs", "list", "--json").json["programs"]] == [saved]


def test_a_refresh_names_the_programs_that_it_breaks(
    cli: Cli, kept: str, saved: str, keeping: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Saved ones, and those in the cache; none of a change that leaves what it uses as it is. One that cannot be read
    hides no other."""
    compile_before = Weather.compile

    async def compile_now(source: Weather) -> Compiled:
        compiled = await compile_before(source)
        forecast, *others = compiled.functions
        properties = {**forecast.parameters["properties"], "unit": {"type": "string"}}
        return replace(
            compiled,
            functions=[replace(forecast, parameters={**forecast.parameters, "properties": properties}), *others],
        )

    async def fingerprint(source: Weather) -> str:
        return "v2"

    (keeping.folder / "programs/torn.py").write_text(CODE)
    (keeping.folder / "programs/torn.json").write_text("{")
    assert cli("refresh", "--check", "--json").json["programs"] == []
    monkeypatch.setattr(Weather, "compile", compile_now)
    monkeypatch.setattr(Weather, "fingerprint", fingerprint)
    told = cli("refresh", "--check", "--json")
    assert [(each["kind"], each["what"]) for each in told.json["changes"]] == [("widened", "unit is new")]
    assert {(each["program"], each["principal"]) for each in told.json["programs"]} == {(saved, ""), (kept, "local")}
    assert told.code == 1
    assert cli("programs", "list", "--json").json["programs"][0]["state"] == "ready"
    assert "breaks forecast, which calls weather.get_forecast" in cli("refresh").out
    assert cli("programs", "test", saved, "--record").code == 0
    assert cli("programs", "list", "--json").json["programs"][0]["state"] == "ready"


def test_a_program_is_exported_as_a_skill(cli: Cli, saved: str, keeping: Any) -> None:
    """A folder as the specification of Agent Skills has it, with the call that runs the program. CONTRACT: SKL-06."""
    assert cli("export", "skill", saved, str(keeping.folder / "skills")).code == 0
    text = (keeping.folder / "skills" / "forecast" / "SKILL.md").read_text()
    assert text.startswith('---\nname: forecast\ndescription: "Forecast of a town"\n---\n')
    assert 'run_cached_code("forecast", {"city": "Oslo", "days": 2})' in text
    assert (keeping.folder / "skills" / "forecast" / "scripts" / "forecast.py").is_file()


@pytest.mark.parametrize(
    ("code", "params", "made"),
    [
        ("a = 1; b = 'x'", {"a": 1, "b": "x"}, '"""T"""\n\na: int = 1; b: str = \'x\'\n'),
        ('"""Old"""\na = 1', {"a": 1}, '"""T"""\n\na: int = 1\n'),
        ('"""Old"""; a = 1', {"a": 1}, '"""T"""\n\n"""Old"""; a: int = 1\n'),
        ("ä = 'ö'; a = None", {"a": None}, '"""T"""\n\nä = \'ö\'; a = None\n'),
    ],
)
def test_what_a_script_says(code: str, params: dict[str, Any], made: str) -> None:
    """Its parameters keep their places and values, whatever stands beside them."""
    text = script("name", code, "T", params)
    assert text.partition("\n")[2] == made
    assert script("name", text, "T", params) == text


@pytest.mark.parametrize("odd", ['ends with "', 'has """ in it', "a \\ and \\n", "two\n\nparagraphs", "\x07bell"])
def test_no_description_is_code(odd: str) -> None:
    """Whatever a description says, the script has it as its docstring alone."""
    text = script("name", "result = 1", odd, {})
    assert about(text) == " ".join(odd.partition("\n\n")[0].replace("\x07", " ").split())
    assert Program(text).code.endswith("result = 1\n")
