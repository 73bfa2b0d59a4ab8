"""`doorward habits`: what is proposed of programs that came again and again."""

from __future__ import annotations

from typing import Any

import pytest
from doorward_cache_sqlite.alike import shape_of, with_parameters
from doorward_testing import Cli
from doorward_testing.samples import CONFIG

ASKS = '"""Weather"""\nfound = await weather.get_forecast(city="{}", days={})  # of {}\nresult = found["city"]\n'
ALWAYS = CONFIG.replace('"none"', '"sqlite"') + '\n[runs]\ndurable = "always"\n'


@pytest.fixture
def came(cli: Cli, doorward_host: Any) -> Any:
    """A host where one program came three times with other literals, and another one once."""
    doorward_host.install_real("doorward-cache-sqlite", "doorward-store-sqlite", "text", "runs")
    doorward_host.write(ALWAYS)
    program = doorward_host.folder / "program.py"
    for code in (*(ASKS.format(*each) for each in (("Oslo", 2, 1), ("Rome", 2, 2), ("Lima", 3, 3))), "result = 1\n"):
        program.write_text(code)
        assert cli("run", str(program)).code == 0
    return doorward_host


def test_a_habit_becomes_a_saved_program_with_a_test(cli: Cli, came: Any) -> None:
    """It has the newest literals as defaults, each with a type, runs with others, and is proposed no more; what came
    less often is not proposed."""
    (found,) = cli("habits", "--json").json["habits"]
    assert (found["name"], found["times"], found["parameters"]) == ("get_forecast", 3, ["city", "days"])
    assert (
        "city: str = 'Lima'\ndays: int = 3\nfound = await weather.get_forecast(city=city, days=days)" in found["code"]
    )
    assert cli("habits", "--least", "4", "--json").json == {"habits": []}
    assert not (came.folder / "programs").exists()
    assert "there is no habit 'none'" in cli("habits", "--save", "none").err
    assert "there is nobody to ask" in cli("habits", "--save", "get_forecast").err
    saved = cli("habits", "--save", "get_forecast", "--as", "town", "--yes")
    assert "get_forecast(city='Lima', days=3)" in saved.err
    assert cli("programs", "test").out.strip() == "town: passes"
    assert cli("programs", "run", "town", "--city", "Bonn", "--json").json["value"] == "Bonn"
    assert cli("habits", "--json").json == {"habits": []}


@pytest.mark.parametrize(
    ("codes", "made"),
    [
        (['a(x="p", y="p")', 'a(x="q", y="q")'], "x = 'p'\na(x=x, y=x)"),
        (['import w\nfor i in w.a("p"):\n    print(i)', 'import w\nfor i in w.a("q"):\n    print(i)'],
         "import w\ntext = 'p'\nfor i in w.a(text):\n    print(i)"),
        (['t = "p"\na(t, 1)', 't = "q"\na(t, 2)'], "number = 1\nt = \"p\"\na(t, number)"),
        (['é = f(1)if g["state"] == "a" else h("""\nx""")', 'é = f(1)if g["state"] == "b" else h("y")'],
         "state = 'a'\ntext = '\\nx'\né = f(1)if g[\"state\"] == state else h(text)"),
        (["def x(x): return x + 1\na(x=1)", "def x(x): return x + 1\na(x=2)"],
         "x_2 = 1\ndef x(x): return x + 1\na(x=x_2)"),
        (['g(0)if"p"else 2', 'g(0)if"q"else 2'], "text = 'p'\ng(0)if text else 2"),
    ],
)  # fmt: skip
def test_what_changes_is_a_parameter(codes: list[str], made: str) -> None:
    """What changes together is one; it is called after its argument, key or variable, by no name that is taken; a
    parameter stays one."""
    assert with_parameters(codes) == made
    compile(made, "", "exec")


def test_what_is_not_alike() -> None:
    """Other calls, other types, other texts in an f-string; comments, layout and docstrings do not matter."""
    shapes = ["a(1)", "b(1)", 'a("1")', 'f"{a} b"', 'f"{a} c"', "a(-1)"]
    assert len({shape_of(code).text for code in shapes}) == len(shapes)
    assert len({shape_of(code).text for code in ('"""x"""\na( 1 )', "a(2) # x", "'y'\na(3)")}) == 1
    assert shape_of("p: int = 1").text == shape_of("p = 2").text
