"""Programs that are planned, and plans that are committed."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from doorward import ApiError, ServerError
from doorward_approvals.shown import as_text as request_text
from doorward_durable_runs import STORED_RUNS
from doorward_durable_runs.journal.entries import patience
from doorward_durable_runs.plans import PLANS
from doorward_durable_runs.storage.given import Given
from doorward_text import outcome_as_dict, outcome_as_text

from .conftest import CONFIG, WORLD, PlansInProcess, Stations, requests

pytestmark = pytest.mark.anyio

CODE = """
found = []
for city in ["Oslo", "Rome"]:
    if (await weather.get_forecast(city=city))["high"] > 10:
        made = await weather.add_station(city=city)
        await weather.tag(id=made["id"], tag="warm")
        found.append(made["id"])
result = found
"""
WRITTEN = [
    ("add_station", {"city": "Oslo"}),
    ("tag", {"id": 101, "tag": "warm"}),
    ("add_station", {"city": "Rome"}),
    ("tag", {"id": 103, "tag": "warm"}),
]


async def test_a_plan_writes_nothing_and_its_commit_all(doorward_host: Any, writes: Any) -> None:
    async with doorward_host.gateway(CONFIG) as gate:
        outcome = await gate.execute(CODE, mode="plan")
        assert outcome.ok, outcome.error
        assert writes() == []
        assert outcome.value == ["answer of 1: .id", "answer of 3: .id"]
        assert outcome.parts["plan"].counts == {"weather.add_station": 2, "weather.tag": 2}
        assert [(each.function, each.effect) for each in outcome.parts["plan"].changes] == [
            ("weather.add_station", "write"),
            ("weather.tag", "write"),
        ]
        assert outcome.parts["plan"].changes[1].calls[0] == {
            "n": 2,
            "arguments": {"id": "answer of 1: .id", "tag": "warm"},
            "unknown": ("/id",),
        }
        assert outcome.parts["plan"].next == f'commit_plan("{outcome.parts["plan"].id}")'
        assert [(c["function"], c["count"]) for c in outcome.calls] == [("weather.get_forecast", 2)]
    async with doorward_host.gateway(CONFIG) as gate:
        done = await gate.services[PLANS].commit(outcome.parts["plan"].id)
        assert (done.value, done.error, done.notes) == ([101, 103], None, ())
        again = await gate.services[PLANS].commit(outcome.parts["plan"].id)
        assert "is over: it was committed" in again.error.message
        assert again.error.hint.startswith(f'resume_run("{outcome.parts["plan"].id}") tells what came of it')
    assert writes() == WRITTEN


async def planned(gate: Any, code: str = CODE, **more: Any) -> str:
    outcome = await gate.execute(code, mode="plan", **more)
    assert outcome.ok, outcome.error
    return str(outcome.parts["plan"].id)


@pytest.mark.slow
async def test_what_was_read_has_changed(doorward_host: Any, writes: Any) -> None:
    """Nothing is written, and the difference is shown; once it is as it was, the plan can be committed. Fields that the
    operator ignores do not count, and an ETag says that nothing has changed whatever else the answer says."""
    async with doorward_host.gateway(CONFIG) as gate:
        plan = await planned(gate)
        WORLD["forecast"] = {"high": 30}
        refused = await gate.services[PLANS].commit(plan)
        assert refused.error.type == "PlanOutdated"
        assert len(refused.parts["plan"].differs) == 2
        assert refused.parts["plan"].differs[0].endswith("high was 20 and is 30")
        assert '"city": "Oslo"' in refused.parts["plan"].differs[0]
        assert writes() == []
        WORLD["forecast"] = {"high": 20}
        assert (await gate.services[PLANS].commit(plan)).ok
    assert writes() == WRITTEN
    async with doorward_host.gateway(CONFIG + '[plans]\nignore = ["hi*"]\n') as gate:
        plan = await planned(gate)
        WORLD["forecast"] = {"high": 30}
        assert (await gate.services[PLANS].commit(plan)).ok
        WORLD["etag"] = '"7"'
        plan = await planned(gate, CODE.replace("Oslo", "Bergen"))
        WORLD["forecast"] = {"high": 40, "more": 1}
        assert (await gate.services[PLANS].commit(plan)).ok
        plan = await planned(gate, CODE.replace("Oslo", "Bergen"))
        WORLD.update(forecast={"high": 40}, etag='"8"')
        assert "more was 1 and is gone" in (await gate.services[PLANS].commit(plan)).parts["plan"].differs[0]


async def test_a_read_that_fails_now_has_changed(doorward_host: Any, writes: Any, monkeypatch: Any) -> None:
    async with doorward_host.gateway(CONFIG) as gate:
        plan = await planned(gate, "await weather.get_forecast(city='Oslo')\nawait weather.add_station(city='Oslo')")
        WORLD["forecast"] = None
        refused = await gate.services[PLANS].commit(plan)
        assert "succeeded, and now" in refused.parts["plan"].differs[0]
    assert writes() == []


async def test_a_text_does_not_pass_for_an_unknown_answer(doorward_host: Any, writes: Any) -> None:
    """Neither in the JSON of the change set nor in what a person reads: the program's own text stands in quotation
    marks, and is not among the places of what is not known."""
    code = """
made = await weather.add_station(city="Oslo")
await weather.tag(id=7, tag='answer of 1: .id" (not known yet)')
await weather.tag(id=made["id"], tag="answer of 1: .city")
"""
    async with doorward_host.gateway(CONFIG + '[plans]\napprove = "always"\n') as gate:
        outcome = await gate.execute(code, mode="plan")
        first, second = outcome_as_dict(outcome)["plan"]["changes"][1]["calls"]
        assert first == {"n": 2, "arguments": {"id": 7, "tag": 'answer of 1: .id" (not known yet)'}}
        assert second["arguments"] == {"id": "answer of 1: .id", "tag": "answer of 1: .city"}
        assert second["unknown"] == ("/id",)
        await gate.services[PLANS].commit(outcome.parts["plan"].id)
        (request,) = requests(gate)
        assert json.loads(request.arguments)["changes"][1]["calls"][1]["unknown"] == ["/id"]
        journal = (await gate.services[STORED_RUNS].journals.replay(outcome.parts["plan"].id, None))[2]
        for told in (
            outcome_as_text(outcome),
            request_text(request),
            "\n".join(entry.text for entry in journal.entries),
        ):
            assert '"id": "answer of 1: .id" (not known yet)' in told
            assert '"tag": "answer of 1: .city"' in told
            assert '"tag": "answer of 1: .city" (' not in told
            assert '"tag": "answer of 1: .id\\" (not known yet)"' in told
            assert '"unknown"' not in told


async def test_a_plan_without_writes_gives_its_value(doorward_host: Any, writes: Any) -> None:
    async with doorward_host.gateway(CONFIG) as gate:
        outcome = await gate.execute("(await weather.get_forecast(city='Oslo'))['high']", mode="plan")
        assert (outcome.value, outcome.parts["plan"].id, outcome.parts["plan"].counts, outcome.parts["plan"].next) == (
            20,
            "",
            {},
            "",
        )
        assert (await gate.services[STORED_RUNS].journals.store.all()) == []


async def test_a_plan_that_fails_shows_its_changes_so_far(doorward_host: Any, writes: Any) -> None:
    async with doorward_host.gateway(CONFIG) as gate:
        outcome = await gate.execute(CODE + "1 / 0", mode="plan")
        assert (outcome.ok, outcome.error.type, outcome.parts["plan"].id) == (False, "ZeroDivisionError", "")
        assert outcome.parts["plan"].counts == {"weather.add_station": 2, "weather.tag": 2}
        assert (await gate.services[STORED_RUNS].journals.store.all()) == []
    assert writes() == []


async def test_reads_that_need_unknown_answers_are_made_at_the_commit(doorward_host: Any, writes: Any) -> None:
    code = """
made = await weather.add_station(city="Oslo")
seen = await weather.station(id=made["id"])
await weather.tag(id=seen["seen"], tag="first")
result = seen
"""
    async with doorward_host.gateway(CONFIG) as gate:
        outcome = await gate.execute(code, mode="plan")
        assert outcome.value == "answer of dependent read 1"
        assert outcome.parts["plan"].changes[1].calls[0]["arguments"]["id"] == "answer of dependent read 1: .seen"
        done = await gate.services[PLANS].commit(outcome.parts["plan"].id)
        assert (done.value, done.error) == ({"id": 101, "seen": 1}, None)
    assert writes() == [("add_station", {"city": "Oslo"}), ("tag", {"id": 1, "tag": "first"})]


@pytest.mark.parametrize(("guessed", "classes"), [(True, ""), (False, 'read = ["weather.station"]')])
async def test_what_is_no_documented_read_is_planned_and_committed_as_one(
    doorward_host: Any, writes: Any, monkeypatch: Any, guessed: bool, classes: str
) -> None:
    """A read by a guess, and one by the operator's word: made by the plan, made again to compare, and withheld where
    it needs what is not known."""
    compile_stations = Stations.compile

    async def compile_otherwise(self: Stations) -> Any:
        compiled = await compile_stations(self)
        functions = [
            replace(each, read_only=False, guessed_read=guessed) if each.name == "station" else each
            for each in compiled.functions
        ]
        return replace(compiled, functions=functions)

    monkeypatch.setattr(Stations, "compile", compile_otherwise)
    code = """
first = await weather.station(id=7)
made = await weather.add_station(city="Oslo")
seen = await weather.station(id=made["id"])
result = [first["id"], seen["id"]]
"""
    async with doorward_host.gateway(f'{CONFIG}[plans]\nignore = ["seen"]\n[policy.classes]\n{classes}\n') as gate:
        outcome = await gate.execute(code, mode="plan")
        assert outcome.parts["plan"].counts == {"weather.add_station": 1}
        assert writes() == [("station", {"id": 7})]
        done = await gate.services[PLANS].commit(outcome.parts["plan"].id)
        assert (done.value, done.error) == ([7, 103], None)
    asked = [("station", {"id": 7}), ("station", {"id": 7})]
    assert writes() == [*asked, ("add_station", {"city": "Oslo"}), ("station", {"id": 103})]


@pytest.mark.parametrize(
    ("argument", "why"),
    [
        ('{"\\0planned": [7, "id"]}', "got the answer of 7: .id, and there is no such call in this plan"),
        ('{"\\0planned": [-1]}', "got the answer of dependent read 1, and there is no such call in this plan"),
        ('made["identity"]', "there is no 'identity' in it"),
        ('made["ide"]', "did you mean 'id'?"),
        ('f"{made}, known once the plan is committed>"', "got a text that was made of an answer"),
    ],
)
async def test_no_unknown_answer_is_made_up(doorward_host: Any, writes: Any, argument: str, why: str) -> None:
    """A program forges what stands for an answer, or names a part that the answers of the function do not have."""
    code = f"made = await weather.add_station(city='Oslo')\nawait weather.tag(id=1, tag={argument})"
    async with doorward_host.gateway(CONFIG) as gate:
        outcome = await gate.execute(code, mode="plan")
        assert why in outcome.error.message, outcome.error
        assert outcome.parts["plan"].id == ""


async def test_the_value_of_a_plan_has_no_part_that_there_is_not(doorward_host: Any, writes: Any) -> None:
    """Whatever the executor lets through."""
    async with doorward_host.gateway(CONFIG) as gate:
        outcome = await gate.execute("result = [(await weather.add_station(city='Oslo'))['ide']]", mode="plan")
        assert outcome.error.message == (
            "the value of the program has the answer of 1: .ide, and there is no 'ide' in it; did you mean 'id'?"
        )
        assert outcome.parts["plan"].id == ""


async def test_plans_are_refused_where_there_can_be_none(doorward_host: Any, writes: Any) -> None:
    async with doorward_host.gateway(CONFIG) as gate:
        assert gate.services[PLANS].offered
        told = await gate.execute("1", mode="plan", session_id="new")
        assert "a run in a session cannot be planned" in told.error.message
        assert "there is no mode" in (await gate.execute("1", mode="dry")).error.message
        resumed = await gate.services[STORED_RUNS].resume(plan := await planned(gate))
        assert (resumed.error.type, resumed.error.hint) == ("StateError", f'commit_plan("{plan}") carries it out.')
        assert "there is no plan 'ffff" in (await gate.services[PLANS].commit("f" * 16)).error.message
    for config in ('[runs]\ndurable = "never"\n', "[plans]\nenabled = false\n"):
        async with doorward_host.gateway(CONFIG + config) as gate:
            assert not gate.services[PLANS].offered
            assert (await gate.execute("1", mode="plan")).error.type == "Refused"
    assert writes() == []


async def test_where_a_program_cannot_be_planned_it_is_said_where_one_can(doorward_host: Any, writes: Any) -> None:
    class Scripts(PlansInProcess):
        def capabilities(self) -> Any:
            return replace(super().capabilities(), plans=False, languages=("typescript",))

    doorward_host.install("executor", "scripts", Scripts)
    both = CONFIG.replace('"plans"', '["scripts", "plans"]', 1)
    for config, hint in {
        both: "Here plans are made by plans (python)",
        CONFIG.replace('"plans"', '"scripts"', 1): "nsjail",
    }.items():
        async with doorward_host.gateway(config) as gate:
            refused = (await gate.execute("1", mode="plan", language="typescript")).error
            assert refused.message.startswith("scripts: it cannot plan")
            assert hint in refused.hint


async def test_plans_belong_to_one_principal_and_expire(doorward_host: Any, writes: Any, monkeypatch: Any) -> None:
    async with doorward_host.gateway(CONFIG) as gate:
        plan = await planned(gate, principal="ada")
        eve = await gate.services[PLANS].commit(plan, principal="eve")
        assert eve.error.message == f"there is no plan '{plan}'"
        later = SimpleNamespace(time=lambda: 4e9)  # for who commits, not for the sweep, which would remove it
        monkeypatch.setattr("doorward_durable_runs.journal.journals.time", later)
        assert "older than plans are kept" in (await gate.services[PLANS].commit(plan, principal="ada")).error.message
    assert writes() == []


async def test_a_plan_that_there_is_not_is_answered_with_those_that_there_are(
    doorward_host: Any, writes: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of this principal that can be committed; nothing is said of others."""
    async with doorward_host.gateway(CONFIG) as gate:
        theirs = [await planned(gate, principal=name) for name in ("eve", "ada", "ada")]
        await gate.services[PLANS].commit(theirs[1], principal="ada")
        now = time.time()
        monkeypatch.setattr("doorward_durable_runs.plans.commits.time.time", lambda: now + 3700)
        for asked in ("f" * 16, theirs[0], "../x"):
            told = (await gate.services[PLANS].commit(asked, principal="ada")).error
            assert told.hint == f"Open plans of yours: {theirs[2]} (a plan of 4 writes, made 1 h 1 min ago)."
        assert "You have no open plan" in (await gate.services[PLANS].commit(theirs[2], principal="bob")).error.hint


@pytest.mark.slow
async def test_a_program_that_behaves_otherwise_is_stopped(doorward_host: Any, writes: Any) -> None:
    """Whatever it hangs on that Doorward does not record: another write, other arguments, an answer that was to stand
    in another place, a write too much, a read too much. What came before it was written, and nothing after it."""
    code = """
made = await weather.add_station(city="Oslo")
await weather.tag(id=made["id"], tag="a")
await weather.tag(id=8, tag="b")
"""
    others = {
        'tag="a"': 'tag="A"',
        'id=made["id"], tag="a"': 'id=999, tag="a"',
        'await weather.tag(id=8, tag="b")': 'await weather.remove(id=8, tag="b")',
        'await weather.tag(id=made["id"], tag="a")': "await weather.get_forecast(city='Oslo')",
    }
    for old, new in others.items():
        async with doorward_host.gateway(CONFIG) as gate:
            plan = await planned(gate, code)
            before = len(writes())
            given = gate.services[STORED_RUNS].again

            async def again(*asked: Any, old: str = old, new: str = new, given: Any = given) -> Any:
                from dataclasses import replace

                program = await given(*asked)
                return replace(program, code=program.code.replace(old, new))

            gate.services[STORED_RUNS].again = again
            done = await gate.services[PLANS].commit(plan)
            assert done.error.type == "ProgramDiverged", (old, done.error)
            assert len(writes()) - before == (2 if "remove" in new else 1), (old, writes())
            gate.services[STORED_RUNS].again = given
            assert "is over" in (await gate.services[PLANS].commit(plan)).error.message


async def test_nobody_waits_for_calls_of_a_program_that_makes_one_after_the_other(
    doorward_host: Any, writes: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It diverged: nothing of it is left that could make the call that is missing."""
    monkeypatch.setattr("doorward_durable_runs.journal.entries.PATIENCE_SECONDS", 3600.0)
    lines = [
        "await weather.get_forecast(city='Oslo')",
        "await weather.tag(id=1, tag='a')",
        "await weather.tag(id=2, tag='b')",
    ]
    async with doorward_host.gateway(CONFIG) as gate:
        plan = await planned(gate, "\n".join(lines))
        given = gate.services[STORED_RUNS].again

        async def again(*asked: Any) -> Any:
            return replace(await given(*asked), code="\n".join(reversed(lines)))

        monkeypatch.setattr(gate.services[STORED_RUNS], "again", again)
        done = await gate.services[PLANS].commit(plan)
    assert done.error.type == "ProgramDiverged"
    assert "weather.tag comes before other writes" in done.error.message
    assert writes() == []


@pytest.mark.parametrize(
    ("code", "waits"),
    [
        ("a.b(1)\nawait a.b(c(2))", False),
        ("one = a.b(1)\ntwo = a.b(2)\nawait one\nawait two", True),
        ("import asyncio\nawait asyncio.gather(a.b(1), a.b(2))", True),
        ("from concurrent.futures import ThreadPoolExecutor as T\nlist(T().map(a.b, [1, 2]))", True),
    ],
)
def test_a_call_waits_for_others_where_a_program_makes_calls_at_once(code: str, waits: bool) -> None:
    assert bool(patience(Given("run", "me", code), ())) is waits
    assert patience(Given("run", "me", code, language="typescript"), ())


async def test_two_commits_at_once_write_once(doorward_host: Any, writes: Any) -> None:
    import anyio

    async with doorward_host.gateway(CONFIG) as gate:
        plan = await planned(gate)
        outcomes: list[Any] = []

        async def commit() -> None:
            outcomes.append(await gate.services[PLANS].commit(plan))

        async with anyio.create_task_group() as tasks:
            for _ in range(3):
                tasks.start_soon(commit)
    assert sorted(outcome.ok for outcome in outcomes) == [False, False, True]
    assert writes() == WRITTEN


async def test_calls_made_at_once_are_written_in_the_order_of_the_plan(doorward_host: Any, writes: Any) -> None:
    code = """
import asyncio
async def one(city):
    high = (await weather.get_forecast(city=city))["high"]
    made = await weather.add_station(city=city)
    await asyncio.gather(weather.tag(id=made["id"], tag=city), weather.tag(id=made["id"], tag=f"{city} too"))
    return made["id"]
result = await asyncio.gather(*[one(city) for city in ["Oslo", "Rome", "Lima"]])
"""
    async with doorward_host.gateway(CONFIG) as gate:
        outcome = await gate.execute(code, mode="plan")
        made = [call["n"] for group in outcome.parts["plan"].changes for call in group.calls]
        assert sorted(made) == [*range(1, 10)]
        done = await gate.services[PLANS].commit(outcome.parts["plan"].id)
        assert (done.error, done.notes, len(done.value)) == (None, (), 3)
    shown = {
        call["n"]: (group.function, call["arguments"])
        for group in outcome.parts["plan"].changes
        for call in group.calls
    }
    for number, (name, arguments) in enumerate(writes(), 1):
        function, planned_for = shown[number]
        assert function == f"weather.{name}"
        assert {k: v for k, v in arguments.items() if k != "id"} == {k: v for k, v in planned_for.items() if k != "id"}


@pytest.mark.slow
async def test_a_write_that_fails_ends_the_commit(doorward_host: Any, writes: Any) -> None:
    """The program gets its error; if it goes on otherwise than planned, it is stopped. How much was not made is said."""
    code = """
for n in [1, 2]:
    try:
        made = await weather.fail()
        await weather.tag(id=made["id"], tag=str(n))
    except Exception:
        pass
"""
    async with doorward_host.gateway(CONFIG) as gate:
        plan = await planned(gate, code)
        done = await gate.services[PLANS].commit(plan)
        assert done.error.type == "ProgramDiverged"
        assert "comes before other writes" in done.error.message
        assert [name for name, _ in writes()] == ["fail"]
        plan = await planned(gate, "await weather.fail()\nawait weather.add_station(city='Oslo')")
        done = await gate.services[PLANS].commit(plan)
        assert (done.error.kind, done.error.type) == ("server", "ApiError")
        assert done.notes == (
            "0 of the 2 writes of the plan were made. Failed: 1. weather.fail; not written: 2. weather.add_station",
            "the plan is over and cannot be committed again, and nothing was written: plan its program anew",
        )
        plan = await planned(
            gate, "await weather.tag(id=1, tag='x')\nawait weather.fail()\nawait weather.remove(id=5, tag='x')"
        )
        done = await gate.services[PLANS].commit(plan)
        assert done.notes == (
            "1 of the 3 writes of the plan was made. Written: 1. weather.tag; failed: 2. weather.fail; "
            "not written: 3. weather.remove",
            "the plan is over and cannot be committed again: what is written stays. Look at what is there, and plan a "
            "program for the rest",
        )
        assert (await gate.services[STORED_RUNS].resume(plan)).notes == done.notes
        again = (await gate.services[PLANS].commit(plan)).error
        assert (
            f"the plan {plan} is over: 1 of the 3 writes of the plan was made. Written: 1. weather.tag" in again.message
        )


@pytest.mark.slow
async def test_plans_and_commits_are_played_again(doorward_host: Any, writes: Any) -> None:
    """On what was recorded alone: nothing is sent, and another program gets the same answers. A write that a commit did
    not make has none."""
    async with doorward_host.gateway(CONFIG) as gate:
        plan = await planned(gate)
        again = await gate.services[STORED_RUNS].replay(plan)
        assert (again.value, again.parts.get("plan"), again.error) == (
            ["answer of 1: .id", "answer of 3: .id"],
            None,
            None,
        )
        await gate.services[PLANS].commit(plan)
        assert (await gate.services[STORED_RUNS].replay(plan)).value == [101, 103]
        changed = await gate.services[STORED_RUNS].replay(plan, code=CODE + "result = len(found)")
        assert changed.value == 2
        more = await gate.services[STORED_RUNS].replay(plan, code=CODE + "await weather.add_station(city='Lima')")
        assert "has no answer to this call" in more.error.message
        assert writes() == WRITTEN
        failed = await planned(gate, "await weather.fail()\nawait weather.tag(id=5, tag='x')")
        await gate.services[PLANS].commit(failed)
        other = "try:\n    await weather.fail()\nexcept Exception:\n    pass\nawait weather.tag(id=5, tag='x')"
        assert (
            "has no answer to this call" in (await gate.services[STORED_RUNS].replay(failed, code=other)).error.message
        )
    assert writes() == [*WRITTEN, ("fail", {})]


async def test_the_operator_says_what_only_reads(doorward_host: Any, writes: Any) -> None:
    """`[policy.classes]` counts: such a call is made at once, read again, and no write; or withheld, though it reads."""
    classes = '[policy.classes]\nread = ["weather.tag"]\nwrite = ["weather.get_forecast"]\n'
    code = "await weather.tag(id=1, tag='x')\nawait weather.get_forecast(city='Oslo')\nawait weather.add_station(city='Oslo')"
    async with doorward_host.gateway(CONFIG + classes) as gate:
        outcome = await gate.execute(code, mode="plan")
        assert outcome.parts["plan"].counts == {"weather.get_forecast": 1, "weather.add_station": 1}
        assert writes() == [("tag", {"id": 1, "tag": "x"})]
        assert (await gate.services[PLANS].commit(outcome.parts["plan"].id)).ok
    assert writes() == [("tag", {"id": 1, "tag": "x"})] * 2 + [("add_station", {"city": "Oslo"})]


@pytest.mark.parametrize("error", [ServerError("no answer"), ApiError("answered 502", status=502)])
async def test_a_write_whose_answer_is_lost_may_have_been_made(
    doorward_host: Any, writes: Any, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    """The answer does not say that nothing was written."""

    async def lost(self: Stations, call: Any) -> Any:
        raise error

    async with doorward_host.gateway(CONFIG) as gate:
        plan = await planned(gate, "await weather.add_station(city='Oslo')\nawait weather.tag(id=1, tag='x')")
        monkeypatch.setattr(Stations, "call", lost)
        told = (await gate.services[PLANS].commit(plan)).notes
        assert told[0].endswith("Perhaps written: 1. weather.add_station; not written: 2. weather.tag")
        assert "Look at what is there" in told[1]
