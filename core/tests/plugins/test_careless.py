"""What authors of plugins do without a bad thought: nothing fails open, and whoever did it is named, and nobody else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple

import pytest
import structlog
from doorward import (
    ApiError,
    Call,
    Capabilities,
    Compiled,
    Decision,
    DoorwardError,
    Failure,
    Finding,
    Function,
    InvalidArguments,
    Outcome,
    Program,
    ProgramResult,
    Refused,
    Reply,
    ServerError,
    ToolError,
    hookimpl,
)
from doorward.calls.broker import check_decided
from doorward.plugins.function_checks import drop_unusable
from doorward.plugins.hook_answers import Unfit, expected
from doorward.sandboxing import CachedProgram, Frame

from ..conftest import CONFIG, InProcess, Weather

pytestmark = pytest.mark.anyio

WHO = "plugin 'mine' of acme 2.1"
WRITE = "n = 1\nawait weather.add_station(city='Oslo')"
ANSWER = {"city": "Oslo", "high": [20.5, {"unit": "C"}]}


class Recorder(Weather):
    """A source that notes what reaches it."""

    went_out: ClassVar[list[tuple[str, Any]]] = []

    async def call(self, call: Call) -> Any:
        self.went_out.append((call.function.id, dict(call.arguments)))
        return {"city": call.arguments["city"], "high": [20.5, {"unit": "C"}]}


class Box(InProcess):
    """An executor that notes which program reaches it, and makes one call."""

    ran: ClassVar[list[Program]] = []

    async def open(self, program: Program, *, session: bool = False) -> Any:
        self.ran.append(program)
        return await super().open(program, session=session)


class Careless:
    """A plugin whose hooks do what a test says."""

    def __init__(self) -> None:
        self.does: dict[str, Callable[..., Any]] = {}

    def _do(self, hook: str, *given: Any) -> Any:
        return self.does[hook](*given) if hook in self.does else None

    @hookimpl
    def guard_program(self, program: Program) -> Any:
        return self._do("guard_program", program)

    @hookimpl
    def run_started(self, program: Program) -> Any:
        return self._do("run_started", program)

    @hookimpl
    def run_finished(self, program: Program, outcome: Outcome) -> Any:
        return self._do("run_finished", program, outcome)

    @hookimpl
    def decide(self, call: Call) -> Any:
        return self._do("decide", call)

    @hookimpl
    def guard_call(self, call: Call) -> Any:
        return self._do("guard_call", call)

    @hookimpl
    def trace_call(self, call: Call) -> Any:
        return self._do("trace_call", call)

    @hookimpl
    def change_result(self, call: Call, result: Any) -> Any:
        return self._do("change_result", call, result)

    @hookimpl
    def guard_result(self, call: Call, result: Any) -> Any:
        return self._do("guard_result", call, result)

    @hookimpl
    def call_finished(self, call: Call, record: Any) -> Any:
        return self._do("call_finished", call, record)


class Strict:
    """A good guard that is asked after the careless one, and refuses what it is made for."""

    @hookimpl(trylast=True)
    def guard_call(self, call: Call) -> str | None:
        return None if call.arguments == {"city": "Oslo"} else "only Oslo"

    @hookimpl(trylast=True)
    def guard_result(self, call: Call, result: Any) -> str | None:
        return None if isinstance(result, dict) and "high" in result else "it lacks high"


def configured(host: Any, careless: Any, config: str = CONFIG) -> Any:
    host.entries = [each for each in host.entries if each.name not in ("fake", "inprocess")]
    host.install("source", "fake", Recorder)
    host.install("executor", "inprocess", Box)
    host.install("plugin", "mine", careless, distribution="acme", version="2.1")
    host.install("plugin", "strict", Strict())
    Recorder.went_out.clear()
    Box.ran.clear()
    return host.gateway(config.replace("plugins = []", 'plugins = ["mine", "strict"]'))


class Odd(NamedTuple):
    """What a hook does, and what is said of it. `passes`: the call is made all the same, as it was decided."""

    hook: str
    does: Callable[..., Any]
    says: str
    passes: bool = False

    def __str__(self) -> str:
        return f"{self.hook}: {self.says}"


def setting(thing: str, key: Any, value: Any) -> Callable[..., Any]:
    """Writes into what a hook is given: `arguments`, `function.data`."""

    def sets(*given: Any) -> None:
        found = given[0]
        for name in thing.split("."):
            found = getattr(found, name)
        found[key] = value

    return sets


def instead(name: str, value: Any) -> Callable[..., Any]:
    """Writes over a field of what a hook is given, frozen or not."""
    return lambda *given: object.__setattr__(given[0], name, value)


def answers(value: Any) -> Callable[..., Any]:
    return lambda *given: value


def raises(error: Exception) -> Callable[..., Any]:
    def fails(*given: Any) -> None:
        raise error

    return fails


class Trace:
    """A trace that fails as soon as it is used."""

    def __init__(self, context: Any) -> None:
        self.context = context

    def request(self, method: str, url: str) -> Any:
        raise KeyError(url)


FAILED = f"{WHO} failed in"
ROME = {"city": "Rome"}
HOOKS = [
    # What was decided is what goes out
    Odd("guard_call", setting("arguments", "city", "Rome"), f"{FAILED} guard_call: TypeError"),
    Odd("guard_call", lambda call: call.arguments.update(ROME), f"{FAILED} guard_call: TypeError"),
    Odd("guard_call", lambda call: call.arguments.pop("city") and None, f"{FAILED} guard_call: TypeError"),
    Odd("guard_call", setting("function.data", "path", "/x"), f"{FAILED} guard_call: TypeError"),
    Odd("guard_call", setting("function.parameters", "required", []), f"{FAILED} guard_call: TypeError"),
    Odd("guard_call", setting("details", "who", "me"), f"{FAILED} guard_call: TypeError"),
    Odd("guard_call", setting("trace", "traceparent", "x"), f"{FAILED} guard_call: TypeError"),
    Odd("decide", setting("arguments", "city", "Rome"), f"{FAILED} decide: TypeError"),
    Odd("trace_call", setting("arguments", "city", "Rome"), "observer_failed", passes=True),
    Odd("change_result", setting("arguments", "city", "Rome"), f"{FAILED} change_result: TypeError"),
    Odd("guard_result", lambda call, result: result.pop("high") and None, f"{FAILED} guard_result: TypeError"),
    Odd("guard_result", lambda call, result: result["high"].append(1), f"{FAILED} guard_result: TypeError"),
    Odd("guard_result", lambda call, result: result["high"][1].clear(), f"{FAILED} guard_result: TypeError"),
    Odd("call_finished", setting("arguments", "city", "Rome"), "observer_failed", passes=True),
    Odd("call_finished", lambda call, record: record.details.update(a=1), "observer_failed", passes=True),
    Odd("guard_program", setting("params", "n", 2), f"{FAILED} guard_program: TypeError"),
    Odd("guard_program", instead("code", "2"), "", passes=True),
    Odd("run_started", instead("code", "await weather.add_station(city='Rome')"), "", passes=True),
    Odd("run_started", setting("params", "n", 2), "observer_failed", passes=True),
    Odd("run_finished", lambda program, outcome: outcome.value.clear(), "observer_failed", passes=True),
    Odd("run_finished", lambda program, outcome: outcome.calls[0].update(ok=False), "observer_failed", passes=True),
    # Answers that are none
    Odd("guard_call", answers(""), f"{FAILED} guard_call: it refuses without a reason"),
    Odd("guard_call", answers(" \n"), f"{FAILED} guard_call: it refuses without a reason"),
    Odd("guard_result", answers(""), f"{FAILED} guard_result: it refuses without a reason"),
    Odd("guard_program", answers([Finding("")]), f"{FAILED} guard_program: it refuses without a reason"),
    Odd("guard_program", answers([Finding("no", line="1")]), f"{FAILED} guard_program: it answered list[Finding]"),  # type: ignore[arg-type]
    Odd("decide", answers(Decision("denny")), "decide: it answered Decision whose then is none of 'allow', 'confirm'"),  # type: ignore[arg-type]
    Odd("decide", answers(Decision("deny", None)), "decide: it answered Decision whose rule is NoneType"),  # type: ignore[arg-type]
    Odd("decide", answers("deny"), f"{FAILED} decide: it answered str, not Decision | None"),
    Odd("decide", answers(True), f"{FAILED} decide: it answered bool, not Decision | None"),
    Odd("decide", answers(Decision), f"{FAILED} decide: it answered the class Decision"),
    Odd("trace_call", answers("a span"), "it answered str, not CallTrace | None", passes=True),
    Odd("trace_call", answers(5), "it answered int, not CallTrace | None", passes=True),
    Odd("trace_call", answers({}), "it answered dict, not CallTrace | None", passes=True),
    Odd("trace_call", answers(Trace), "it answered the class Trace, not CallTrace | None", passes=True),
    Odd("trace_call", answers(Trace(None)), "it answered Trace, not CallTrace | None", passes=True),
    Odd("trace_call", answers(Trace({"traceparent": 5})), "it answered Trace, not CallTrace | None", passes=True),
    Odd("trace_call", answers(Trace({})), "", passes=True),
    # An API that a hook asks is not that of the call
    Odd("guard_call", raises(ApiError("it is down", status=503)), f"{FAILED} guard_call: ApiError"),
    Odd("guard_result", raises(ApiError("it is down", status=503)), f"{FAILED} guard_result: ApiError"),
    Odd("change_result", raises(ApiError("it is down", status=503)), f"{FAILED} change_result: ApiError"),
    Odd("guard_program", raises(ToolError("it is down")), f"{FAILED} guard_program: ToolError"),
    # Refusals say whose they are
    Odd("guard_call", answers("too late"), f"too late ({WHO})"),
    Odd("guard_result", answers("too much"), f"too much ({WHO})"),
    Odd("guard_program", answers([Finding("too long")]), f"({WHO})"),
    Odd("decide", answers(Decision("deny")), WHO),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("odd", HOOKS, ids=str)
async def test_a_careless_hook(doorward_host: Any, odd: Odd) -> None:
    """The call goes out as it was decided, or not at all; what is said names the plugin, and no other and no source."""
    careless = Careless()
    careless.does[odd.hook] = odd.does
    with structlog.testing.capture_logs() as logs:
        async with configured(doorward_host, careless) as gate:
            outcome = await gate.execute(WRITE, params={"n": 1})
    heard = f"{outcome.error} {[line for line in logs if 'defect' in line['event'] or 'failed' in line['event']]}"
    assert odd.says in heard.replace("\\'", "'").replace('\\"', '"')
    if odd.says:
        assert "acme 2.1" in heard
    assert "inside Doorward" not in heard
    assert "strict" not in heard
    assert "'fake'" not in heard
    assert Recorder.went_out in ([], [("addStation", {"city": "Oslo"})])
    assert [(program.code, program.params) for program in Box.ran] in ([], [(WRITE, {"n": 1})])
    assert (outcome.value == ANSWER) == odd.passes


@pytest.mark.parametrize("hook", ["guard_call", "guard_result"])
@pytest.mark.parametrize("catches", [False, True])
async def test_a_wrapper_that_forgets_lifts_no_refusal(doorward_host: Any, hook: str, catches: bool) -> None:
    """One that returns nothing, or catches what a guard raises, has failed; in the old style it may force None."""

    def forgets(self: Any) -> Any:
        try:
            yield
        except Exception:
            if not catches:
                raise

    def refuses(self: Any) -> Any:
        if catches:
            raise ServerError("closed")
        return "closed"

    forgets.__name__ = refuses.__name__ = hook
    doorward_host.install("plugin", "first", type("Refuses", (), {hook: hookimpl(refuses)})())
    wraps = type("Forgets", (), {hook: hookimpl(wrapper=True)(forgets)})()
    async with configured(doorward_host, wraps, CONFIG.replace("[]", '["mine", "first"]')) as gate:
        outcome = await gate.execute(WRITE)
    assert f"{FAILED} {hook}: it answered None in place of a refusal" in outcome.error.message


async def test_a_source_that_changes_its_arguments_is_not_asked_again(doorward_host: Any) -> None:
    """What goes out a second time, once a person has logged in, is compared with what was decided."""
    with pytest.raises(Refused, match="its arguments have been changed"):
        check_decided(Call(Function("s", "f"), {"a": 2}), b'{"a":2}', b'{"a":1}')
    check_decided(Call(Function("s", "f"), {"a": 1}), b'{"a":1}', b'{"a":1}')


SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}
GOOD = Function("weather", "good", parameters=SCHEMA)
SOURCE = "source 'mine' of acme 2.1"


class Delivers(Weather):
    """A source that compiles what a test says."""

    compiled: ClassVar[Any] = None

    async def compile(self) -> Compiled:
        return self.compiled  # type: ignore[no-any-return]

    async def call(self, call: Call) -> Any:
        return dict(call.arguments)


def _with_parameters(*names: str) -> Function:
    return replace(GOOD, parameters={"type": "object", "properties": {name: {"type": "string"} for name in names}})


@pytest.mark.parametrize(
    ("function", "says"),
    [
        (replace(GOOD, name="get-forecast"), "its name is no Python identifier"),
        (replace(GOOD, name="class"), "its name is no Python identifier"),
        (replace(GOOD, name="__class__"), "its name is no Python identifier"),
        (replace(GOOD, name="f(): import os #"), "its name is no Python identifier"),
        (replace(GOOD, name=""), "its name is no Python identifier"),
        (replace(GOOD, name=5), "it is one whose name is int"),  # type: ignore[arg-type]
        (replace(GOOD, server="bank"), "it is one of another server: 'bank'"),
        (replace(GOOD, read_only="false"), "it is one whose read_only is str"),  # type: ignore[arg-type]
        (replace(GOOD, tags="admin"), "it is one whose tags is str"),  # type: ignore[arg-type]
        (replace(GOOD, description=None), "it is one whose description is NoneType"),  # type: ignore[arg-type]
        (replace(GOOD, parameters=None), "it is one whose parameters is NoneType"),  # type: ignore[arg-type]
        (replace(GOOD, parameters=[]), "it is one whose parameters is list"),  # type: ignore[arg-type]
        (replace(GOOD, parameters={}), "no JSON Schema of an object"),
        (replace(GOOD, parameters={"type": "string"}), "no JSON Schema of an object"),
        (replace(GOOD, parameters={"type": "object", "properties": ["city"]}), "no JSON Schema of an object"),
        (replace(GOOD, parameters={"type": "object", "properties": {"city": "string"}}), "no JSON Schema"),
        (replace(GOOD, parameters={"type": "object", "properties": {"n": {"type": "int"}}}), "no JSON Schema"),
        (replace(GOOD, parameters={"type": "object", "required": "city"}), "no JSON Schema"),
        (_with_parameters("X-Id", "from"), "its parameter 'X-Id' is no Python identifier, and 1 more"),
        (_with_parameters("from"), "its parameter 'from' is no Python identifier: name it otherwise, and say so in"),
    ],
)
def test_a_function_that_cannot_be_used_is_skipped(function: Function, says: str) -> None:
    """The report says what is wrong with it and whose it is; the others are not lost with it."""
    found = drop_unusable(Compiled([function, GOOD]), "weather", SOURCE)
    assert found.functions == [GOOD]
    assert says in found.skipped[0].why
    assert SOURCE in found.skipped[0].why


def test_a_dialect_is_not_fetched() -> None:
    """A schema may name any address as its dialect: it is held against that of `Function`."""
    named = replace(GOOD, parameters={**SCHEMA, "$schema": "http://127.0.0.1:9/dialect"})
    assert drop_unusable(Compiled([named]), "weather", SOURCE).functions == [named]


async def test_what_a_source_delivers_is_checked_before_it_is_stored(doorward_host: Any) -> None:
    """What is of use can be called; nothing fits a definition that is no schema; and what is skipped is not there."""
    refers = {"type": "object", "properties": {"n": {"$ref": "#/$defs/Thing"}}}
    functions = [GOOD, replace(GOOD, name="not-good"), Function("weather", "refers", parameters=refers)]
    Delivers.compiled = Compiled(functions, {"Thing": {"type": "thing"}})
    doorward_host.install("source", "mine", Delivers, distribution="acme", version="2.1")
    async with doorward_host.gateway(CONFIG.replace('"fake"', '"mine"')) as gate:
        assert await gate.call("weather.good", {"city": "Oslo"}) == {"city": "Oslo"}
        with pytest.raises(InvalidArguments):
            await gate.call("weather.refers", {"n": 1})
        with pytest.raises(DoorwardError):
            await gate.call("weather.not-good", {})
        report = gate.catalog.report("weather")
    assert [each["where"] for each in report.skipped] == ["not-good"]
    assert f"{SOURCE} delivered a definition that is no JSON Schema" in report.warnings[0]


@pytest.mark.parametrize(
    "compiled",
    [
        Compiled(["get_forecast"]),  # type: ignore[list-item]
        Compiled(None),  # type: ignore[arg-type]
        Compiled([GOOD], definitions=[]),  # type: ignore[arg-type]
        Compiled([GOOD], skipped=["one"]),  # type: ignore[list-item]
        Compiled([GOOD], description=None),  # type: ignore[arg-type]
        Compiled([GOOD], warnings=[5]),  # type: ignore[list-item]
    ],
)
async def test_a_compile_of_no_use_is_named(doorward_host: Any, compiled: Any) -> None:
    """One message, with whose it is; nothing of it is stored."""
    Delivers.compiled = compiled
    doorward_host.install("source", "mine", Delivers, distribution="acme", version="2.1")
    async with doorward_host.gateway(CONFIG.replace('"fake"', '"mine"')) as gate:
        await gate.ready()
        assert "source 'mine' of acme 2.1" in str(gate.servers.broken["weather"])
        assert gate.catalog.report("weather") is None


def renames(functions: list[Function]) -> None:
    functions[0] = replace(functions[0], name="get-forecast")


def moves(functions: list[Function]) -> None:
    functions[0] = replace(functions[0], server="bank")


def spoils(functions: list[Function]) -> None:
    functions[0].parameters["properties"]["city"]["type"] = "strig"


@pytest.mark.parametrize(
    ("does", "says"),
    [(renames, "no Python identifier"), (moves, "of another server"), (spoils, "its parameters are no JSON Schema")],
)
async def test_a_hook_that_spoils_functions_is_named_and_no_other(doorward_host: Any, does: Any, says: str) -> None:
    """They are looked at after each implementation, and not stored."""

    class Spoils:
        @hookimpl
        def source_compiled(self, functions: list[Function]) -> None:
            does(functions)

    class Looks:
        @hookimpl(trylast=True)
        def source_compiled(self, functions: list[Function]) -> None: ...

    doorward_host.install("plugin", "looks", Looks())
    async with configured(doorward_host, Spoils(), CONFIG.replace("[]", '["mine", "looks"]')) as gate:
        await gate.ready()
        broken = str(gate.servers.broken["weather"])
    assert f"{FAILED} source_compiled: of the function" in broken
    assert says in broken
    assert "looks" not in broken


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (Reply(1, next=5), "it answered Reply whose next is int"),  # type: ignore[arg-type]
        (Reply(1, link=5), "it answered Reply whose link is int"),  # type: ignore[arg-type]
        (Reply(1, left=5), "it answered Reply whose left is int"),  # type: ignore[arg-type]
        (Reply([], items="abc"), "it answered Reply whose items is str"),
        (Reply(1, headers=5), "it answered Reply whose headers is int"),  # type: ignore[arg-type]
        (Reply(1, status="200"), "it answered Reply whose status is str"),  # type: ignore[arg-type]
        (Reply(b"x", type=5), "it answered Reply whose type is int"),  # type: ignore[arg-type]
        (Reply(b"x", name=5), "it answered Reply whose name is int"),  # type: ignore[arg-type]
        (Reply(Reply(1)), "it answered Reply, not JSON"),
        (Reply, "it answered the class Reply, not JSON"),
        (ValueError("s3cret"), "it answered ValueError, not JSON"),
        (print, "it answered builtin_function_or_method, not JSON"),
        (iter([1]), "it answered list_iterator, not JSON"),
        (ApiError(5, status=404), "it raised ApiError with a message that is no text"),  # type: ignore[arg-type]
    ],
)
async def test_an_answer_that_no_program_could_use_is_a_defect_of_its_source(
    doorward_host: Any, answer: Any, says: str
) -> None:
    """It is named, and nobody else is."""

    async def call(self: Any, call: Call) -> Any:
        if isinstance(answer, ApiError):
            raise answer
        return answer

    doorward_host.install("plugin", "good", Strict())
    doorward_host.install(
        "source", "mine", type("Mine", (Weather,), {"call": call}), distribution="acme", version="2.1"
    )
    async with doorward_host.gateway(CONFIG.replace('"fake"', '"mine"').replace("[]", '["good"]')) as gate:
        message = (await gate.execute("await weather.get_forecast(city='Oslo')")).error.message
    assert says in message
    assert "failed in source 'mine' of acme 2.1: " in message
    assert "s3cret" not in message
    assert "good" not in message


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (Capabilities("Python", "none", repeats="no"), "whose repeats is str"),  # type: ignore[arg-type]
        (Capabilities("Python", "none", languages=5), "whose languages is int"),  # type: ignore[arg-type]
        (ProgramResult(error="it failed"), "whose error is str"),  # type: ignore[arg-type]
        (ProgramResult(1, suspended="no"), "whose suspended is str"),  # type: ignore[arg-type]
        (CachedProgram("x", "local", None, "", {}, None, {}, "d", 0.0), "whose code is NoneType"),  # type: ignore[arg-type]
        (CachedProgram("x", "local", "1", "", {}, "all", {}, "d", 0.0), "whose functions is str"),  # type: ignore[arg-type]
        (CachedProgram("x", "local", "1", "", {}, None, {"s.f": 5}, "d", 0.0), "whose uses is dict"),  # type: ignore[dict-item]
    ],
)
def test_parts_of_what_drivers_answer_are_checked(answer: Any, says: str) -> None:
    """A "no" in the place of False would be taken for a yes."""
    with pytest.raises(Unfit, match=says):
        expected(type(answer), answer)


def test_what_drivers_answer_passes() -> None:
    """What is right is the same object."""
    for good in (
        Capabilities("Python", "none", packages=["numpy"], limits={"memory": "cgroup"}, languages=["python"]),
        ProgramResult({"a": 1}, Failure("program", "ValueError", "no", 1, (Frame(1, "f"),))),
        CachedProgram("x", "local", "1", "", {"n": 1}, ("s.*",), {"s.f": "h"}, "d", 0),
    ):
        assert expected(type(good), good) is good
