"""What authors of plugins do without a bad thought: nothing fails open, and whoever did it is named, and nobody else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import pytest
import structlog
from doorward import (
    Call,
    Decision,
    Finding,
    Function,
    Outcome,
    Program,
    Refused,
    ServerError,
    hookimpl,
)
from doorward.calls.broker import check_decided

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
    # Refusals say whose they are
    Odd("guard_call", answers("too late"), f"too late ({WHO})"),
    Odd("guard_result", answers("too much"), f"too much ({WHO})"),
    Odd("guard_program", answers([Finding("too long")]), f"({WHO})"),
    Odd("decide", answers(Decision("deny")), WHO),
]  # fmt: skip


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
