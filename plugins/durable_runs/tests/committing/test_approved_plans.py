"""Plans of which a person has to approve, once, as a whole."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import anyio
import pytest
from doorward_approvals.conformance import answer_in
from doorward_approvals.shown import as_text
from doorward_durable_runs import STORED_RUNS
from doorward_durable_runs.plans import PLANS
from doorward_testing.asked import Person, says
from doorward_text import outcome_as_text

from .conftest import CONFIG, READ, WORLD, Stations, gate_requests, requests
from .test_commits import CODE, WRITTEN, planned

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

RULE = '[[policy.rules]]\nmatch = "{match}"\nthen = "{then}"\nreason = "a person reads it"\n'
ASKS = CONFIG + RULE.format(match="weather.tag", then="confirm")
OTHER = "made = await weather.add_station(city='Rome')\nawait weather.tag(id=made['id'], tag='cold')"


def say(gate: Any, request: Any, approve: bool = True) -> None:
    answer_in(gate.state, request.id, approve, said="" if approve else "no")


async def test_one_yes_is_one_to_all_writes(doorward_host: Any, writes: Any) -> None:
    """It is asked for when the plan is committed, shows all of it, and covers each call of which a rule says
    `confirm`."""
    async with doorward_host.gateway(ASKS) as gate:
        outcome = await gate.execute(CODE, mode="plan")
        assert outcome.parts["plan"].changes[1].rule == "[[policy.rules]] 1: a person reads it"
        plan = outcome.parts["plan"].id
        waiting = (await gate.services[PLANS].commit(plan)).waiting
        assert (waiting.for_, waiting.run, waiting.next) == ("approval", plan, f'commit_plan("{plan}")')
        (request,) = requests(gate)
        assert (request.kind, request.effect, request.scopes, request.always) == ("plan", "write", ("once",), {})
        told = as_text(request)
        assert "wants to make all calls of a plan, at once" in told
        assert "Its calls: weather.add_station ×2, weather.tag ×2" in told
        assert '"id": "answer of 1: .id" (not known yet)' in told
        assert (await gate.services[PLANS].commit(plan)).waiting
        assert requests(gate) == [request]
    async with doorward_host.gateway(ASKS) as gate:
        say(gate, request)
        WORLD["forecast"] = {"high": 21}
        assert (await gate.services[PLANS].commit(plan)).error.type == "PlanOutdated"
        WORLD["forecast"] = {"high": 20}
        done = await gate.services[PLANS].commit(plan)
        assert (done.value, done.waiting) == ([101, 103], None)
        assert requests(gate) == []
    assert writes() == WRITTEN


async def test_a_person_reads_all_calls_of_a_plan(doorward_host: Any, writes: Any) -> None:
    """As the agent was shown them, in a line each, whatever their number: in the question and by `show`."""
    code = "for n in range({}):\n    await weather.tag(id=n, tag='{}' + str(n))"
    async with doorward_host.gateway(ASKS) as gate:
        outcome = await gate.execute(code.format(40, "t"), mode="plan")
        await gate.services[PLANS].commit(outcome.parts["plan"].id, client=(person := says("deny")))
        many = await gate.execute(code.format(60, "x" * 1000), mode="plan")
        await gate.services[PLANS].commit(many.parts["plan"].id, client=(other := says("deny")))
        (request,) = [each for each in gate_requests(gate) if each.run == many.parts["plan"].id]
    (told,), lines = [each["message"] for each in person.asked], outcome_as_text(outcome).splitlines()
    shown = [line for line in lines if line.startswith("  ")]
    assert len(shown) == 40
    assert "\n".join(f"    {line}" for line in shown) in told
    assert len(told) < 2200
    (told,) = [each["message"] for each in other.asked]
    assert all(f'  {n}. {{"id": {n - 1}, "tag": "xxx' in told for n in range(1, 61))
    assert "what is long is NOT shown whole here: `doorward approvals show" in told
    assert len(told) < 25_000
    whole = as_text(request)
    assert all(f'"{"x" * 1000}{n}"' in whole for n in range(60))


async def test_what_a_document_marks_as_secret_is_not_shown_of_a_plan(
    doorward_host: Any, writes: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor is it for a single call; everything else is, whatever it is called."""
    compile = Stations.compile

    async def marked(self: Stations) -> Any:
        compiled = await compile(self)
        fields = {"id": {"type": "integer"}, "tag": {"type": "string", "format": "password"}, "key": {"type": "string"}}
        given = {"type": "object", "properties": fields}
        changed = [replace(each, parameters=given) if each.name == "tag" else each for each in compiled.functions]
        return replace(compiled, functions=changed)

    monkeypatch.setattr(Stations, "compile", marked)
    async with doorward_host.gateway(ASKS) as gate:
        plan = await planned(gate, "await weather.tag(id=1, tag='hunter', key='PROJ-8')")
        await gate.services[PLANS].commit(plan)
        (request,) = requests(gate)
    assert '  1. {"id": 1, "tag": "[secret]", "key": "PROJ-8"}' in as_text(request)
    assert "hunter" not in request.arguments


async def test_a_person_may_take_longer_than_a_run(doorward_host: Any, writes: Any, later: Any) -> None:
    """The time of the run that commits begins once they have answered."""

    async def says(question: Any) -> Any:
        later(30)
        await anyio.sleep(0.01)  # whose time was over, would be told now
        return {"action": "accept", "content": {"answer": "approve once"}}

    async with doorward_host.gateway(f"{ASKS}\n[limits]\ntimeout = 20\n") as gate:
        plan = await planned(gate, CODE)
        done = await gate.services[PLANS].commit(plan, client=Person(says))
        assert (done.error, done.value) == (None, [101, 103])
    assert writes() == WRITTEN


async def test_a_yes_is_worth_nothing_for_another_plan(doorward_host: Any, writes: Any) -> None:
    """Not even for the same program, planned again; nor is a no one to another plan."""
    async with doorward_host.gateway(ASKS) as gate:
        first, second, third = [await planned(gate, code) for code in (CODE, CODE, OTHER)]
        await gate.services[PLANS].commit(first)
        (request,) = requests(gate)
        say(gate, request)
        for other in (second, third):
            assert (await gate.services[PLANS].commit(other)).waiting
        say(gate, next(each for each in requests(gate) if each.run == second), approve=False)
        denied = await gate.services[PLANS].commit(second)
        assert denied.error.message == "doorward.commit_plan was denied by ops: no"
        assert (await gate.services[PLANS].commit(second)).error.message == denied.error.message
        assert writes() == []
        assert (await gate.services[PLANS].commit(first)).ok
        assert (await gate.services[PLANS].commit(third)).waiting
    assert writes() == WRITTEN


async def test_what_is_denied_is_refused_in_the_plan_and_again_at_the_commit(doorward_host: Any, writes: Any) -> None:
    denies = CONFIG + RULE.format(match="weather.tag", then="deny") + "when = \"args.tag == 'warm'\"\n"
    async with doorward_host.gateway(denies) as gate:
        refused = await gate.execute(CODE, mode="plan")
        assert "weather.tag is not allowed by the operator's policy" in refused.error.message
        assert refused.parts["plan"].counts == {"weather.add_station": 1}
    async with doorward_host.gateway(CONFIG) as gate:
        plan = await planned(gate)
    async with doorward_host.gateway(denies) as gate:
        assert (await gate.services[PLANS].commit(plan)).error is not None
    async with doorward_host.gateway(ASKS) as gate:  # a rule of today counts, too
        assert (await gate.services[PLANS].commit(plan)).waiting
    assert writes() == []


async def test_an_operator_may_have_every_plan_approved(doorward_host: Any, writes: Any) -> None:
    async with doorward_host.gateway(CONFIG + '[plans]\napprove = "always"\n') as gate:
        plan = await planned(gate)
        waiting = (await gate.services[PLANS].commit(plan)).waiting
        assert "every plan needs a person" in waiting.what[0]
        say(gate, *requests(gate))
        assert (await gate.services[PLANS].commit(plan)).ok
    assert writes() == WRITTEN


async def test_a_read_that_needs_a_yes_asks_while_it_is_planned(doorward_host: Any, writes: Any) -> None:
    """The plan is suspended, and goes on as a plan: it writes nothing either. Its commit reads again without asking."""
    async with doorward_host.gateway(CONFIG + RULE.format(match="weather.get_forecast", then="confirm")) as gate:
        outcome = await gate.execute(CODE.replace('"Oslo", "Rome"', '"Oslo"'), mode="plan")
        assert (outcome.waiting.for_, outcome.parts.get("plan")) == ("approval", None)
        assert "is not complete" in (await gate.services[PLANS].commit(outcome.waiting.run)).error.message
        say(gate, *requests(gate))
        resumed = await gate.services[STORED_RUNS].resume(outcome.waiting.run)
        assert resumed.parts["plan"].counts == {"weather.add_station": 1, "weather.tag": 1}
        assert writes() == []
        assert (await gate.services[PLANS].commit(resumed.parts["plan"].id)).value == [101]
    assert writes() == WRITTEN[:2]


READS = CONFIG + RULE.format(match="weather.get_forecast", then="confirm")
LOOKS = "seen = await weather.get_forecast(city='Oslo')\nawait weather.add_station(city='Oslo')"


async def test_a_rule_for_a_read_that_came_after_the_plan_asks_at_the_commit(doorward_host: Any, writes: Any) -> None:
    """Once, with the writes; until then it is not read again. The yes is one to this read, as this rule wants it."""
    async with doorward_host.gateway(CONFIG) as gate:
        plan = await planned(gate, LOOKS)
    READ.clear()
    async with doorward_host.gateway(READS) as gate:
        assert (await gate.services[PLANS].commit(plan)).waiting.for_ == "approval"
        assert READ == []
        (request,) = requests(gate)
        told = as_text(request)
        assert '- weather.get_forecast (read; a person is asked: "[[policy.rules]] 1: a person reads it")' in told
        assert '  read again. {"city": "Oslo"}' in told
        say(gate, request)
        WORLD["forecast"] = {"high": 21}
        assert (await gate.services[PLANS].commit(plan)).error.type == "PlanOutdated"
        WORLD["forecast"] = {"high": 20}
        again = await gate.services[PLANS].commit(plan)
        assert "the one to this plan let it be read again once" in again.parts["plan"].differs[0]
        assert len(READ) == 1
        plan = await planned_with_a_yes(gate)
    async with doorward_host.gateway(READS.replace("a person reads it", "another reason")) as gate:
        assert (await gate.services[PLANS].commit(plan)).waiting
        say(gate, *requests(gate))
        assert (await gate.services[PLANS].commit(plan)).ok
        assert requests(gate) == []
    assert writes() == [("add_station", {"city": "Oslo"})]


async def planned_with_a_yes(gate: Any) -> str:
    outcome = await gate.execute(LOOKS, mode="plan")
    say(gate, *requests(gate))
    return str((await gate.services[STORED_RUNS].resume(outcome.waiting.run)).parts["plan"].id)


async def test_one_of_two_reads_that_a_person_let_through(doorward_host: Any, writes: Any) -> None:
    """The yes to one is none to the other, whose rule came later; it outlives a plan that is suspended twice."""
    code = "await weather.get_forecast(city='Oslo')\nawait weather.get_forecast(city='Rome')\nawait weather.add_station(city='Oslo')"
    when = "when = \"args.city == 'Oslo'\"\n"
    async with doorward_host.gateway(READS + when) as gate:
        outcome = await gate.execute(code, mode="plan")
        say(gate, *requests(gate))
        plan = (await gate.services[STORED_RUNS].resume(outcome.waiting.run)).parts["plan"].id
    async with doorward_host.gateway(READS) as gate:
        assert (await gate.services[PLANS].commit(plan)).waiting
        (request,) = requests(gate)
        (read,) = [each for each in json.loads(request.arguments)["changes"] if each["effect"] == "read"]
        assert [call["arguments"] for call in read["calls"]] == [{"city": "Rome"}]
        outcome = await gate.execute(code, mode="plan")
        for _ in range(2):
            say(gate, *[each for each in requests(gate) if each.kind == "call"])
            outcome = await gate.services[STORED_RUNS].resume(outcome.waiting.run)
        assert (await gate.services[PLANS].commit(outcome.parts["plan"].id)).ok


async def test_a_read_that_a_person_denied_is_not_made_by_the_commit(doorward_host: Any, writes: Any) -> None:
    code = LOOKS.replace("seen = ", "try:\n    ").replace(
        "\nawait weather.add", "\nexcept Exception:\n    pass\nawait weather.add"
    )
    async with doorward_host.gateway(READS) as gate:
        outcome = await gate.execute(code, mode="plan")
        say(gate, *requests(gate), approve=False)
        plan = (await gate.services[STORED_RUNS].resume(outcome.waiting.run)).parts["plan"].id
        done = await gate.services[PLANS].commit(plan)
        assert (done.error, done.waiting) == (None, None)
    assert READ == []
    assert writes() == [("add_station", {"city": "Oslo"})]


async def test_a_rule_for_what_was_not_known_asks_at_the_commit(doorward_host: Any, writes: Any) -> None:
    """Nobody approved of the plan, for no rule asked; the run waits at that call, and goes on as any run does."""
    rule = RULE.format(match="weather.tag", then="confirm") + 'when = "args.id == 101"\n'
    async with doorward_host.gateway(CONFIG + rule) as gate:
        plan = await planned(gate)
        done = await gate.services[PLANS].commit(plan)
        assert (done.waiting.for_, done.waiting.next) == ("approval", f'resume_run("{plan}")')
        assert writes() == WRITTEN[:1]
        assert "is committed in part" in (await gate.services[PLANS].commit(plan)).error.message
        say(gate, *requests(gate))
    async with doorward_host.gateway(CONFIG + rule) as gate:
        resumed = await gate.services[STORED_RUNS].resume(plan)
        assert (resumed.error, resumed.ok) == (None, True)
    assert [name for name, _ in writes()] == ["add_station", "tag", "add_station", "tag"]
