"""The language of a run: who decides it, and where it goes."""

from __future__ import annotations

from typing import Any

import pytest
from doorward import Outcome, Program, hookimpl
from doorward_testing.samples import MemoryCache
from doorward_testing.scripted import Scripted

from ..conftest import CONFIG

pytestmark = pytest.mark.anyio

BOTH = CONFIG.replace('"inprocess"', '["inprocess", "scripted"]').replace('cache = "none"', 'cache = "memory"')
ALONE = CONFIG.replace('"inprocess"', '"scripted"')


@pytest.fixture
def host(doorward_host: Any) -> Any:
    doorward_host.install("executor", "scripted", Scripted)
    doorward_host.install("cache", "memory", MemoryCache)
    return doorward_host


async def test_the_caller_names_a_language(host: Any) -> None:
    """The first executor that runs it gets the program, and short names work. CONTRACT: EXE-02."""
    async with host.gateway(BOTH) as gate:
        for language, executor in (("", "inprocess"), ("python", "inprocess"), ("TS", "scripted"), ("js", "scripted")):
            outcome = await gate.execute("1", language=language)
            assert (outcome.value, outcome.executor) == (1, executor)


async def test_a_language_that_nobody_runs(host: Any) -> None:
    """The error says which are served, what was meant, and what to install; nothing has run."""
    async with host.gateway(CONFIG) as gate:
        error = (await gate.execute("1", language="typescript")).error
        assert error is not None
        assert (error.kind, error.message) == (
            "executor",
            "no executor here runs 'typescript'; what they run: python",
        )
        assert error.hint == "The operator can `pip install doorward-sandbox-deno`, and add 'deno' to `executor`."
        other = (await gate.execute("1", language="pythn")).error
        assert other is not None
        assert "did you mean 'python'?" in other.message
        for odd in ("(", "\ud800", "x" * 10**6, "standard", "\u202e"):
            said = (await gate.execute("1", language=odd)).error
            assert said is not None
            assert (said.type, said.hint) == ("Unsupported", None)
            assert len(said.message) < 200
            said.message.encode()
    host.install("executor", "deno", Scripted)
    async with host.gateway(CONFIG) as gate:
        error = (await gate.execute("1", language="typescript")).error
        assert error is not None
        assert error.hint == "The executor 'deno' is installed: the operator can add it to `executor`."


async def test_without_python_the_first_language_is_meant(host: Any) -> None:
    """Where no executor runs Python, a program about which nothing is said is of the first language that is run."""
    async with host.gateway(ALONE) as gate:
        assert gate.languages.default == "typescript"
        outcome = await gate.execute("const days = 3\ndays", params={"days": 4})
        assert outcome.value == 4
        refused = (await gate.execute("1", language="python")).error
        assert refused is not None
        assert "what they run: typescript, javascript" in refused.message


async def test_no_executor_is_loaded_for_its_languages(host: Any) -> None:
    """A Python program that the first executor runs imports no other one."""
    host.install("executor", "broken", ImportError("never imported"))
    config = CONFIG.replace('"inprocess"', '["inprocess", "broken"]')
    async with host.gateway(config) as gate:
        assert (await gate.execute("1", language="python")).ok
        assert list(gate.executors._made) == ["inprocess"]
        error = (await gate.execute("1", language="typescript")).error
        assert error is not None
        assert "never imported" in error.message


async def test_an_executor_of_python_alone_is_not_imported(host: Any) -> None:
    """Core's metadata says so of its own extras: nothing is imported to list tools."""
    host.install("executor", "nsjail", ImportError("never imported"), distribution="doorward-sandbox-nsjail")
    async with host.gateway(CONFIG.replace('"inprocess"', '"nsjail"')) as gate:
        assert (gate.languages.served, gate.languages.default) == (["python"], "python")


async def test_a_session_has_one_language(host: Any) -> None:
    """It is that of its first program, also for programs about which nothing is said; another is refused."""
    async with host.gateway(BOTH) as gate:
        first = await gate.execute("const a = 1", language="typescript", session_id="new")
        assert (await gate.execute("a", session_id=first.session_id)).value == 1
        for language in ("python", "javascript"):
            refused = await gate.execute("a", language=language, session_id=first.session_id)
            assert refused.error is not None
            assert refused.error.message == f"this session runs typescript, not {language}"
        assert (await gate.execute("a", session_id=first.session_id)).value == 1
        python = await gate.execute("a = 2", session_id="new")
        assert (await gate.execute("a", session_id=python.session_id)).value == 2


async def test_a_kept_program_whose_language_is_gone(host: Any) -> None:
    """The error is that of any program in a language that nobody runs."""
    async with host.gateway(BOTH) as gate:
        kept = await gate.execute("1", language="typescript")
        gate.executors.names = ["inprocess"]
        error = (await gate.run_cached(kept.cache_id)).error
        assert error is not None
        assert "no executor here runs 'typescript'" in error.message


async def test_guards_and_observers_know_the_language(host: Any) -> None:
    """It is in the program that guards and observers see; refused runs name it, too."""
    seen: list[str] = []

    class Spy:
        @hookimpl
        def guard_program(self, program: Program) -> None:
            seen.append(program.language)

        @hookimpl
        def run_started(self, program: Program) -> None:
            seen.append(f"{program.language} starts")

        @hookimpl
        def run_finished(self, program: Program, outcome: Outcome) -> None:
            seen.append(f"{program.language} {outcome.ok}")

    host.install("plugin", "spy", Spy())
    config = BOTH.replace("plugins = []", 'plugins = ["spy"]')
    async with host.gateway(config) as gate:
        await gate.execute("1", language="javascript")
        await gate.execute("1")
        await gate.execute("1", language="ts", params={"a b": 1})
    assert seen == [
        *("javascript", "javascript starts", "javascript True"),
        *("python", "python starts", "python True", "typescript False"),
    ]


CALLS = [
    ('await weather.get_forecast({"city": "Oslo", "days": 3})', None),
    ('await weather.get_forecast("Oslo", 3)', None),
    ('await weather.get_forecast("Oslo", {"days": 3})', None),
    ('await weather.get_forecast({"city": 5})', 'argument city: 5 is not of type "string"'),
    ('await weather.get_forecast({"town": "Oslo"})', "'town' was unexpected"),
    ('await weather.get_forecast({"city": null})', 'argument city: null is not of type "string"'),
    ('await weather.get_forecast({"city": {"a": [1]}})', 'is not of type "string"'),
]


@pytest.mark.parametrize(("code", "wrong"), CALLS)
async def test_arguments_are_an_object(host: Any, code: str, wrong: str | None) -> None:
    """One object names them; places work, too. What is wrong is told with the line."""
    async with host.gateway(BOTH) as gate:
        outcome = await gate.execute(f"\n{code}", language="typescript")
        assert outcome.ok is (wrong is None), outcome.error
        if outcome.error:
            assert wrong is not None
            assert wrong in outcome.error.message
            assert outcome.error.line == 2
            assert "city: string" in (outcome.error.hint or "")


async def test_helpers_take_options_as_an_object(host: Any) -> None:
    """An object at the end has what Python writes as keywords; one that is a value of its own stays one."""
    async with host.gateway(BOTH) as gate:
        for code, value in (
            ('await doorward.call("weather.get_forecast", {"city": "Oslo"})', {"city": "Oslo", "high": 20.5}),
            ('await doorward.call({"function": "weather.get_forecast", "arguments": {"city": "Oslo"}})', {"city": "Oslo", "high": 20.5}),
        ):  # fmt: skip
            outcome = await gate.execute(code, language="typescript")
            assert outcome.value == value, outcome.error


async def test_programs_read_declarations_of_their_language(host: Any) -> None:
    """Stubs are in the language of the program that asks."""
    async with host.gateway(BOTH) as gate:
        await gate.ready()
        assert gate.modules.stub("weather", ["get_forecast", "getForecast"], "local", "typescript") == (
            "export function get_forecast(...args: any[]): Promise<any>;\n"
            "export function getForecast(...args: any[]): Promise<any>;\n"
        )
        assert "export class ApiError extends Error {" in gate.modules.stub("doorward", [], "local", "javascript")


async def test_a_program_without_a_value_is_noted(host: Any) -> None:
    """In a language that its executor reads."""
    async with host.gateway(BOTH) as gate:
        noted = [(await gate.execute(code, language="ts")).notes for code in ("const a = null", "const a = 1\nnull")]
        assert [any("has no value" in note for note in notes) for notes in noted] == [True, False]


class Failing(Scripted):
    """An executor with a defect."""

    def parameters_of(self, code: str) -> dict[str, Any]:
        raise RuntimeError("a defect")


class Blind:
    """An executor that reads no programs."""

    Settings = Scripted.Settings

    def __init__(self, context: Any) -> None:
        self._made = Scripted(context)

    def capabilities(self) -> Any:
        return self._made.capabilities()

    async def open(self, program: Program, *, session: bool = False) -> Any:
        return await self._made.open(program, session=session)

    async def close(self) -> None: ...


@pytest.mark.parametrize("driver", [Failing, Blind])
async def test_what_nobody_reads_has_no_parameters(host: Any, driver: type) -> None:
    """Values are set by their names, and the program runs."""
    host.install("executor", "other", driver)
    async with host.gateway(BOTH.replace('"scripted"', '"other"')) as gate:
        assert gate.languages.parameters("const days = 3", "typescript") == {}
        assert (await gate.execute("const days = 3\ndays", language="ts", params={"days": 5})).value == 5
