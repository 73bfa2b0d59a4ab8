"""Calls that a person must approve of: asked for, answered, denied, suspended, and let through once."""

from __future__ import annotations

import contextlib
import re
import sqlite3
import time
from functools import partial
from typing import Any, ClassVar

import anyio
import anyio.lowlevel
import pytest
import structlog
from doorward.model.errors import CannotAsk, InvalidArguments, LoginRefused, Refused, StateError, UnknownName
from doorward.plugins.hookspecs import hookimpl
from doorward_approvals.answering import answer_in_words
from doorward_approvals.conformance import answer_in, requests_in
from doorward_approvals.logins import Logins
from doorward_approvals.request import ApprovalRequest
from doorward_approvals.stored_approvals import StoredApprovals
from doorward_approvals.turns import Turns
from doorward_durable_runs import STORED_RUNS
from doorward_durable_runs.journal import suspension
from doorward_testing.asked import Person, says
from doorward_testing.samples import CONFIG, Weather

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("confirming")]

ADD = "result = await weather.add_station(city='Oslo')"
TWICE = "a = await weather.add_station(city='Oslo')\nb = await weather.add_station(city='Rome')\nresult = [a['city'], b['city']]"
ONCE, RUN, SESSION = (
    "approve once",
    "approve every call of this function in this run",
    "approve every call of this function in this session",
)


def requests(gate: Any) -> list[ApprovalRequest]:
    return requests_in(gate.state)


async def one_open(gate: Any) -> ApprovalRequest:
    while not (found := [each for each in requests(gate) if each.state == "open"]):
        await anyio.sleep(0.01)
    return found[0]


async def test_what_needs_nobody_asks_nobody(doorward_host: Any) -> None:
    """A run without such a call stores nothing."""
    async with doorward_host.gateway(CONFIG) as gate:
        assert (await gate.execute("result = await weather.get_forecast(city='Oslo')")).ok
        assert not [*await gate.store.scan("approvals"), *await gate.store.scan("approval turns")]


async def test_a_run_waits_for_a_person(doorward_host: Any) -> None:
    """Nobody is there to be asked: the run is suspended, and says for what it waits. Nothing was sent."""
    async with doorward_host.gateway(CONFIG) as gate:
        outcome = await gate.execute(f"print('so far')\n{ADD}")
        (request,) = requests(gate)
    assert (outcome.ok, outcome.error, outcome.printed) == (False, None, "so far\n")
    waiting = outcome.waiting
    assert (waiting.for_, waiting.next) == ("approval", f'resume_run("{waiting.run}")')
    assert waiting.what == (
        "weather.add_station waits for a person's approval (writes need a person). "
        f"Only a person decides, by `doorward approvals approve {request.id}`",
    )
    assert (request.function, request.effect, request.run) == ("weather.add_station", "write", waiting.run)
    assert (request.rule, request.reason) == ("[[policy.rules]] 1", "writes need a person")
    assert request.arguments == '{\n  "city": "Oslo"\n}'
    assert request.lines == ("   2 | result = await weather.add_station(city='Oslo')",)


@pytest.mark.slow
@pytest.mark.parametrize(("said", "asked"), [(ONCE, 2), (RUN, 1)])
async def test_the_person_at_the_client_approves(doorward_host: Any, said: str, asked: int) -> None:
    """Once is for one call; for the run, no further call of the function is asked about."""
    async with doorward_host.gateway(CONFIG) as gate:
        outcome = await gate.execute(TWICE, client=(person := says(said)))
        again = await gate.execute(TWICE, client=(another := says(said)))
    assert outcome.value == again.value == ["Oslo", "Rome"]
    assert len(person.asked) == len(another.asked) == asked
    question = person.asked[0]
    assert question["message"].startswith(
        "Doorward asks for your approval: local wants to call weather.add_station (write)"
    )
    assert '    {\n      "city": "Oslo"\n    }' in question["message"]
    assert question["requestedSchema"]["properties"]["answer"]["enum"] == [ONCE, RUN, "deny"]


@pytest.mark.slow
async def test_a_yes_for_a_session_reaches_its_later_runs(doorward_host: Any) -> None:
    """Only those of the session for which it was given."""
    async with doorward_host.gateway(CONFIG) as gate:
        first = await gate.execute(ADD, session_id="new", client=says(SESSION))
        later = await gate.execute(ADD, session_id=first.session_id)
        other = await gate.execute(ADD, session_id="new", client=(person := says("deny")))
    assert (first.ok, later.ok, other.ok, len(person.asked)) == (True, True, False, 1)


async def test_the_program_can_catch_a_no(doorward_host: Any) -> None:
    """A no is an exception that says who said it; the program goes on, and the same call is not asked about again."""
    code = "said = []\nfor _ in range(3):\n  try:\n    await weather.add_station(city='Oslo')\n  except Exception as error:\n    said.append(str(error))\nresult = said"
    async with doorward_host.gateway(CONFIG) as gate:
        outcome = await gate.execute(code, client=(person := says("deny")))
    assert outcome.value == ["weather.add_station was denied by local (at the client)"] * 3
    assert len(person.asked) == 1


LIES: list[Any] = [
    {"action": "accept"},
    {"action": "accept", "content": None},
    {"action": "accept", "content": {}},
    {"action": "accept", "content": {"answer": True}},
    {"action": "accept", "content": {"answer": "approve"}},
    {"action": "accept", "content": {"answer": ["approve once"]}},
    {"action": "accept", "content": {"answer": SESSION}},
    {"action": "accept", "content": {"answer": "always"}},
    {"action": "accept", "content": ["approve once"]},
    {"action": "ACCEPT", "content": {"answer": ONCE}},
    {"action": "cancel", "content": {"answer": ONCE}},
    {"content": {"answer": ONCE}},
    {},
    None,
    "approve once",
]


@pytest.mark.slow
@pytest.mark.parametrize("lie", LIES)
async def test_what_was_not_offered_is_no_yes(doorward_host: Any, lie: Any) -> None:
    """A client that answers anything else has not approved; others may still answer."""
    async with doorward_host.gateway(CONFIG) as gate:
        outcome = await gate.execute(ADD, client=Person(lambda question: lie))
        (request,) = requests(gate)
    assert outcome.waiting.for_ == "approval"
    assert request.state == "open"


@pytest.mark.parametrize("error", [CannotAsk("it cannot"), RuntimeError("a defect")])
async def test_a_client_that_cannot_be_asked_is_no_yes(doorward_host: Any, error: Exception) -> None:
    def fail(question: Any) -> Any:
        raise error

    async with doorward_host.gateway(CONFIG) as gate:
        assert (await gate.execute(ADD, client=Person(fail))).waiting


async def test_a_client_that_declines_says_no(doorward_host: Any) -> None:
    async with doorward_host.gateway(CONFIG) as gate:
        outcome = await gate.execute(ADD, client=Person(lambda question: {"action": "decline"}))
    assert "denied by local" in outcome.error.message


async def test_the_operator_can_keep_the_client_out(doorward_host: Any) -> None:
    """`client = false`: whoever runs the agent is not asked."""
    async with doorward_host.gateway(CONFIG + "[approvals]\nclient = false\n") as gate:
        assert (await gate.execute(ADD, client=(person := says(ONCE)))).waiting
    assert person.asked == []


@pytest.mark.slow
async def test_a_person_who_takes_too_long_loses_nothing(doorward_host: Any) -> None:
    """After `patience` the run is suspended; its request stays open. Its time has stood still meanwhile."""
    config = CONFIG + "[limits]\ntimeout = 2.0\n[approvals]\npatience = 2.5\n"
    async with doorward_host.gateway(config) as gate:
        outcome = await gate.execute(TWICE, client=(person := Person(lambda question: anyio.sleep_forever())))
        (request,) = requests(gate)
    assert outcome.waiting.for_ == "approval"
    assert (len(person.asked), request.state) == (1, "open")


async def test_another_way_answers_first(doorward_host: Any) -> None:
    """Another process answers while the client's person thinks: the run goes on, and the question is withdrawn."""
    async with doorward_host.gateway(CONFIG) as gate, anyio.create_task_group() as group:
        found: list[Any] = []

        async def run() -> None:
            found.append(await gate.execute(ADD, client=Person(lambda question: anyio.sleep_forever())))

        group.start_soon(run)
        request = await one_open(gate)
        await anyio.to_thread.run_sync(lambda: answer_in(gate.state, request.id, True))
    assert found[0].value == {"city": "Oslo", "high": 20.5}


async def test_a_plugin_is_told_and_may_answer(doorward_host: Any) -> None:
    """By a chat or a webhook, from any thread; the first answer counts, and a plugin that fails changes nothing."""
    seen: list[Any] = []
    late: list[Any] = []

    class Plugin:
        def __init__(self, context: Any) -> None:
            pass

    class Chat(Plugin):
        @hookimpl
        def approval_wanted(self, request: ApprovalRequest, answer: Any) -> None:
            seen.append(request)
            with pytest.raises(InvalidArguments, match="an answer is True or False"):
                answer("yes", by="ann")
            answer(request.arguments.count("Oslo") > 0, by="ann", said="no trains there")
            late.append(answer(True, by="bob"))

    class Broken(Plugin):
        @hookimpl
        def approval_wanted(self, request: ApprovalRequest) -> None:
            raise RuntimeError("no")

    doorward_host.install("plugin", "chat", Chat)
    doorward_host.install("plugin", "broken", Broken)
    async with doorward_host.gateway(CONFIG.replace("plugins = []", 'plugins = ["broken", "chat"]')) as gate:
        yes = await gate.execute(ADD)
        no = await gate.execute(ADD.replace("Oslo", "Rome"))
    assert yes.ok
    assert no.error.message == "weather.add_station was denied by ann: no trains there"
    assert len(seen) == len(late) == 2
    for each in late:
        with pytest.raises(InvalidArguments, match=r"answered already: .* by ann"):
            each.result(0)


@pytest.mark.slow
async def test_a_call_without_a_program_waits_in_its_place(doorward_host: Any) -> None:
    """It cannot be suspended: it waits within its time, and fails then. A yes that comes later is for the same call
    made again, once."""
    config = CONFIG + "[limits]\nasking = 0.3\n"
    async with doorward_host.gateway(config) as gate:
        with pytest.raises(Refused, match="nobody has answered in time") as refused:
            await gate.call("weather.add_station", {"city": "Oslo"})
        (request,) = requests(gate)
        assert f"doorward approvals approve {request.id}" in refused.value.hint
        assert request.scopes == ("once",)
        answer_in(gate.state, request.id, True)
        with pytest.raises(Refused, match="nobody has answered"):
            await gate.call("weather.add_station", {"city": "Rome"})
        with pytest.raises(Refused, match="nobody has answered"):
            await gate.call("weather.add_station", {"city": "Oslo"}, principal="ann")
        assert (await gate.call("weather.add_station", {"city": "Oslo"}))["city"] == "Oslo"
        with pytest.raises(Refused, match="nobody has answered"):
            await gate.call("weather.add_station", {"city": "Oslo"})


@pytest.mark.slow
async def test_a_no_to_a_call_without_a_program_is_told_once(doorward_host: Any) -> None:
    """To the call that is made again; a later one is asked about anew, and the no stays on the list as one."""
    config = CONFIG + "[limits]\nasking = 0.2\n"
    async with doorward_host.gateway(config) as gate:
        for told in ("nobody has answered", "denied by ops", "nobody has answered"):
            with pytest.raises(Refused, match=told):
                await gate.call("weather.add_station", {"city": "Oslo"})
            for request in requests(gate):
                if request.state == "open" and "denied" not in told and len(requests(gate)) == 1:
                    answer_in(gate.state, request.id, False)
        assert [answer_in_words(each) for each in requests(gate)] == ["denied by ops", "open"]


ABC = "import asyncio\nfound = await asyncio.gather(*[weather.add_station(city=c) for c in 'abc'])\nresult = [f['city'] for f in found]"


@pytest.mark.slow
@pytest.mark.parametrize("said", ["approve these 3 calls, each once", RUN])
async def test_calls_at_once_are_asked_about_at_once(doorward_host: Any, said: str) -> None:
    """The person sees all of them in one question; each has a request, and its yes, of its own."""
    async with doorward_host.gateway(CONFIG) as gate:
        outcome = await gate.execute(ABC, client=(person := says(said)))
        states = [each.state for each in requests(gate)]
    assert (outcome.value, len(person.asked)) == (["a", "b", "c"], 1)
    assert states == ["approved" if said == RUN else "used"] * 3
    message = person.asked[0]["message"]
    assert message.startswith("Doorward asks for your approval of 3 calls at once: local wants to make 3 × weather.add")
    listed = re.findall(r'(\d)\. weather.add_station \(write\):\n    \{\n      "city": "(.)"', message)
    assert [number for number, _ in listed] == ["1", "2", "3"]
    assert {city for _, city in listed} == {*"abc"}


async def test_a_no_to_calls_at_once_is_one_to_each(doorward_host: Any) -> None:
    async with doorward_host.gateway(CONFIG) as gate:
        code = (
            ABC.replace("gather(", "gather(return_exceptions=True, *").replace("f['city']", "str(f)").replace("**", "*")
        )
        outcome = await gate.execute(code, client=(person := says("deny these 3 calls")))
    assert outcome.value == ["weather.add_station was denied by local (at the client)"] * 3
    assert len(person.asked) == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    "lie", [ONCE, "deny", "approve these 2 calls, each once", "neither: each is answered by `doorward approvals`", True]
)
async def test_what_was_not_offered_of_calls_at_once_is_no_yes(doorward_host: Any, lie: Any) -> None:
    """Nor a no; the run waits, and nobody is asked about each of them."""
    async with doorward_host.gateway(CONFIG) as gate:
        outcome = await gate.execute(ABC, client=(person := says(lie)))
        assert [each.state for each in requests(gate)] == ["open"] * 3
    assert (outcome.waiting.for_, len(person.asked)) == ("approval", 1)


@pytest.mark.slow
async def test_calls_of_several_functions_have_no_yes_for_the_run(doorward_host: Any) -> None:
    """It would reach calls of functions of which the person has seen one."""
    code = "import asyncio\nawait asyncio.gather(weather.add_station(city='a'), weather.fail(), weather.add_station(city='b'))"
    async with doorward_host.gateway(CONFIG) as gate:
        await gate.execute(code, client=(person := says("?")))
    assert [len(each["requestedSchema"]["properties"]["answer"]["enum"]) for each in person.asked] == [3]


@pytest.mark.slow
async def test_who_answers_elsewhere_leaves_the_rest_to_the_client(doorward_host: Any) -> None:
    """The call that was asked about first goes on; the person is asked anew about those that are left."""
    asked = 0

    async def think() -> Any:
        nonlocal asked
        asked += 1
        if asked > 1:
            return {"action": "accept", "content": {"answer": "approve these 2 calls, each once"}}
        answer_in(gate.state, requests(gate)[0].id, True)
        return await anyio.sleep_forever()

    async with doorward_host.gateway(CONFIG) as gate:
        outcome = await gate.execute(ABC, client=(person := Person(lambda question: think())))
        assert [each.by for each in requests(gate)].count("ops") == 1
    assert (outcome.value, len(person.asked)) == (["a", "b", "c"], 2)


@pytest.mark.slow
async def test_no_question_is_longer_than_people_read(doorward_host: Any) -> None:
    """Thirty calls are two questions; a no to the second is none to the first."""
    code = (
        ABC.replace("'abc'", "map(str, range(30))")
        .replace(")\n", ", return_exceptions=True)\n")
        .replace("f['city']", "type(f).__name__")
    )
    told = []

    def reply(question: Any) -> Any:
        words = question["requestedSchema"]["properties"]["answer"]["enum"]
        told.append(words[0] if not told else words[-2])
        return {"action": "accept", "content": {"answer": told[-1]}}

    async with doorward_host.gateway(CONFIG) as gate:
        outcome = await gate.execute(code, client=Person(reply))
    assert told == ["approve these 25 calls, each once", "deny these 5 calls"]
    assert sorted(outcome.value) == ["Refused"] * 5 + ["dict"] * 25


async def test_a_store_that_cannot_be_read_is_no_yes(doorward_host: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The call fails as it does without a client: nothing is made, and nothing breaks."""

    async def locked(*given: Any) -> Any:
        raise StateError("it is locked")

    async with doorward_host.gateway(CONFIG) as gate:
        with monkeypatch.context() as patch:
            patch.setattr("doorward_approvals.stored_approvals.StoredApprovals.all", locked)
            patch.setattr("doorward_approvals.stored_approvals.StoredApprovals.answered", locked)
            outcome = await gate.execute(ADD, client=(person := says(ONCE)))
        assert (outcome.waiting.for_, len(person.asked)) == ("approval", 1)
        assert [each.state for each in requests(gate)] == ["open"]


STAGGERED = """import asyncio
async def one(n):
    await asyncio.sleep(n)
    return (await weather.add_station(city=str(n)))["city"]
result = await asyncio.gather(*[one(n / 2) for n in range(6)])"""


@pytest.mark.slow
async def test_a_run_waits_once_for_who_does_not_answer(doorward_host: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many calls it makes one after the other while its clock stands still."""
    monkeypatch.setattr(suspension, "GATHER_SECONDS", 2.5)  # on a busy machine, calls come later
    async with doorward_host.gateway(CONFIG + "[approvals]\npatience = 0.3\n") as gate:
        outcome = await gate.execute(STAGGERED, client=(person := Person(lambda question: anyio.sleep_forever())))
    assert (len(outcome.waiting.what), len(person.asked)) == (7, 1)


async def test_time_in_vain_counts_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever of the calls that waited together is the first to give up."""
    now = [0.0]
    monkeypatch.setattr("doorward_approvals.turns.time.monotonic", lambda: now[0])
    turns = Turns(anyio.Lock(), anyio.Lock())
    for now[0], since, counted in ((10, 9, 1), (11, 2, 9), (12, 11.5, 9.5), (20, 19, 10.5), (20, 19, 10.5)):
        turns.nobody_answered(since)
        assert turns.in_vain == counted


async def test_a_question_waits_for_calls_that_are_being_stored(
    doorward_host: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However long that takes: a person is asked once about what a program calls at once."""
    monkeypatch.setattr("doorward_approvals.turns.GATHER_SECONDS", 0)
    code = "import asyncio\nmade = await asyncio.gather(*[weather.add_station(city=c) for c in 'ab'])\nresult = [m['city'] for m in made]"
    settled, calls = StoredApprovals.settled, []

    async def slow(store: StoredApprovals, binding: Any, **more: Any) -> Any:
        calls.append(binding)
        if len(calls) == 2:  # the first one waits already, and its question for others
            while not requests(gate):
                await anyio.lowlevel.checkpoint()
            for _ in range(300):
                await anyio.lowlevel.checkpoint()
        return await settled(store, binding, **more)

    monkeypatch.setattr(StoredApprovals, "settled", slow)
    async with doorward_host.gateway(CONFIG) as gate:
        outcome = await gate.execute(code, client=(person := says("approve these 2 calls, each once")))
    assert (outcome.value, len(person.asked)) == (["a", "b"], 1)


@pytest.mark.slow
async def test_questions_that_are_answered_use_up_no_patience(doorward_host: Any) -> None:
    """A person who answers each in time is asked about each."""

    async def think() -> Any:
        await anyio.sleep(0.8)
        return {"action": "accept", "content": {"answer": ONCE}}

    async with doorward_host.gateway(CONFIG + "[approvals]\npatience = 3.0\n") as gate:
        code = "result = [(await weather.add_station(city=c))['city'] for c in 'abcd']"
        outcome = await gate.execute(code, client=(person := Person(lambda question: think())))
    assert (outcome.value, len(person.asked)) == ([*"abcd"], 4)


GATHERED = """import asyncio
async def one(n):
    await asyncio.sleep(n / 25)
    await weather.get_forecast(city=str(n))
    return (await weather.add_station(city=str(n)))["city"]
result = await asyncio.gather(*[one(n) for n in range(20)])"""


@pytest.mark.slow
async def test_gathered_calls_lead_to_one_suspension(doorward_host: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls that come one after the other, each after an answer of its own: all are asked about before the run is
    suspended, and one resume makes all of them."""
    monkeypatch.setattr(suspension, "GATHER_SECONDS", 1.0)  # on a busy machine, calls come later
    async with doorward_host.gateway(CONFIG) as gate:
        waiting = (await gate.execute(GATHERED)).waiting
        open_ = requests(gate)
        assert waiting.what[-1] == f"For all of them: `doorward approvals approve --run {waiting.run}`"
        assert (len(open_), len(waiting.what)) == (20, 21)
        for request in open_:
            answer_in(gate.state, request.id, True)
        assert (await gate.services[STORED_RUNS].resume(waiting.run)).value == [str(n) for n in range(20)]


async def test_the_same_call_twice_at_once_needs_two_answers(doorward_host: Any) -> None:
    code = (
        "import asyncio\nawait asyncio.gather(weather.add_station(city='a'), weather.add_station(city='a'))\nresult = 1"
    )
    async with doorward_host.gateway(CONFIG) as gate:
        outcome = await gate.execute(code, client=(person := says("approve these 2 calls, each once")))
        states = [each.state for each in requests(gate)]
    assert (outcome.ok, len(person.asked), states) == (True, 1, ["used", "used"])


@pytest.mark.slow
async def test_no_more_requests_than_people_can_read(doorward_host: Any) -> None:
    """A program that asks for more is refused, and so is another of its principal."""
    async with doorward_host.gateway(CONFIG + "[approvals]\nopen = 2\n") as gate:
        for city in "ab":
            assert (await gate.execute(ADD.replace("Oslo", city))).waiting
        refused = await gate.execute(ADD)
        other = await gate.execute(ADD, principal="ann")
    assert "2 requests of yours wait already" in refused.error.message
    assert other.waiting


async def test_what_changed_while_a_person_thought_is_checked_again(doorward_host: Any) -> None:
    """A function that is another one by then is not called."""
    async with doorward_host.gateway(CONFIG) as gate:

        def think(question: Any) -> Any:
            gate.broker._check_unchanged = refuse
            return {"action": "accept", "content": {"answer": ONCE}}

        def refuse(function: Any, run: Any) -> None:
            raise Refused("it has changed")

        outcome = await gate.execute(ADD, client=Person(think))
    assert outcome.error.message == "it has changed"


@pytest.mark.slow
async def test_where_nothing_stores_runs_the_same_call_is_made_again(doorward_host: Any) -> None:
    """No run can wait then: the call is refused, with who has to answer; and let through once somebody has."""
    config = f'capabilities = ["approvals"]\n{CONFIG}[limits]\nasking = 0.5\n'
    async with doorward_host.gateway(config) as gate:
        outcome = await gate.execute(ADD)
        (request,) = requests(gate)
        assert outcome.waiting is None
        assert "nobody has answered in time" in outcome.error.message
        assert f"doorward approvals approve {request.id}" in outcome.error.hint
        answer_in(gate.state, request.id, True)
        assert [(await gate.execute(ADD)).ok, (await gate.execute(ADD)).ok] == [True, False]


async def test_out_of_use_every_such_call_is_refused(doorward_host: Any) -> None:
    """With what to do about it. What was asked before stays stored."""
    async with doorward_host.gateway(CONFIG) as gate:
        assert (await gate.execute(ADD)).waiting
        before = requests(gate)
    async with doorward_host.gateway(f"capabilities = []\n{CONFIG}") as gate:
        error = (await gate.execute(ADD, client=(person := says(ONCE)))).error
        why = "[[policy.rules]] 1: writes need a person"
        assert error.message == f"weather.add_station needs a person's approval ({why}), and nothing here asks for one"
        assert "`pip install doorward-approvals` brings it. `capabilities` of the configuration" in error.hint
        assert (person.asked, requests(gate)) == ([], before)


async def test_what_is_asked_is_a_line_in_the_log(doorward_host: Any) -> None:
    """With names, and no content."""
    with structlog.testing.capture_logs() as lines:
        async with doorward_host.gateway(f'log_level = "info"\n{CONFIG}') as gate:
            assert (await gate.execute(ADD.replace("Oslo", "Oslo-of-the-fjord"))).waiting
            [request] = requests(gate)
    [asked] = [line for line in lines if line["event"] == "approval_wanted"]
    named = {"id": request.id, "function": "weather.add_station", "run": request.run, "principal": "local"}
    assert asked == {"event": "approval_wanted", "log_level": "info", "rule": "[[policy.rules]] 1", **named}
    [run] = [line for line in lines if line["event"] == "run"]
    assert run["waits_for"] == "approval"
    assert "fjord" not in str(lines)


@pytest.mark.parametrize("damage", ["no database at all", ""])
async def test_a_broken_file_is_no_yes(doorward_host: Any, damage: str) -> None:
    """People are asked anew."""
    async with doorward_host.gateway(CONFIG) as gate:
        (gate.state / "store.db").write_text(damage)
        (gate.state / "store.db").chmod(0o600)
        assert (await gate.execute(ADD)).waiting
        assert len(requests(gate)) == 1


@pytest.mark.slow
async def test_with_a_key_nothing_readable_lies_in_the_file(doorward_host: Any) -> None:
    """Neither the arguments nor the lines of the program; and nobody who guesses them finds out by the hashes. A yes
    counts as ever; with another key, or without any, there is none."""
    config = f'vault_key = "{KEY}"\n' + CONFIG
    secret = ADD.replace("Oslo", "Hidden-Place")
    async with doorward_host.gateway(config) as gate:
        waiting = (await gate.execute(secret)).waiting
        assert waiting.for_ == "approval"
        for file in gate.state.glob("store.db*"):
            assert not any(word in file.read_bytes() for word in (b"Hidden", b"city", b"add_station", b"policy.rules"))
        (request,) = requests_in(gate.state, lambda: KEY)
        assert "Hidden-Place" in request.arguments
        for other in (None, lambda: f"another {KEY}"):
            assert not requests_in(gate.state, other)
        answer_in(gate.state, request.id, True, key=lambda: KEY)
    async with doorward_host.gateway(config) as gate:
        assert (await gate.services[STORED_RUNS].resume(waiting.run)).value["city"] == "Hidden-Place"
    async with doorward_host.gateway(CONFIG) as gate:
        assert (await gate.execute(secret)).waiting


KEY = "a key of many characters"


def changed(state: Any, change: str) -> None:
    with contextlib.closing(sqlite3.connect(state / "store.db")) as db, db:
        db.executescript(change)


@pytest.mark.slow
@pytest.mark.parametrize(
    "forged",
    [
        "UPDATE records SET value = CAST(substr(value, 1, length(value) - 1) || x'00' AS BLOB) WHERE kind = 'approvals'",
        """UPDATE records SET key = '"somebody"' || substr(key, 8) WHERE kind = 'approvals'""",
        "UPDATE records SET key = key || '0' WHERE kind = 'approvals'",
        "CREATE TEMP TABLE was AS SELECT * FROM records WHERE kind = 'approvals'; UPDATE records SET value = "
        "(SELECT value FROM was WHERE was.key != records.key) WHERE kind = 'approvals'",
        """UPDATE records SET value = CAST('{"state": "approved"}' AS BLOB) WHERE kind = 'approvals'""",
    ],
)
async def test_with_a_key_nobody_without_it_answers(doorward_host: Any, forged: str) -> None:
    """Who can write the file puts another call under what a person reads, or writes a yes: such records are no
    requests, and people are asked anew."""
    async with doorward_host.gateway(f'vault_key = "{KEY}"\n' + CONFIG) as gate:
        runs = [(await gate.execute(ADD.replace("Oslo", city))).waiting.run for city in ("Oslo", "Rome")]
        before = requests_in(gate.state, lambda: KEY)
        changed(gate.state, forged)
        assert requests_in(gate.state, lambda: KEY) == []
        for each in before:
            with pytest.raises(UnknownName):
                answer_in(gate.state, each.id, True, key=lambda: KEY)
        assert all([(await gate.services[STORED_RUNS].resume(run)).waiting for run in runs])


@pytest.mark.slow
async def test_who_can_write_the_file_has_no_yes_last_longer(doorward_host: Any) -> None:
    """A request says itself until when it is valid, under the key."""
    async with doorward_host.gateway(f'vault_key = "{KEY}"\n' + CONFIG) as gate:
        assert (await gate.execute(ADD)).waiting
        (request,) = requests_in(gate.state, lambda: KEY)
        answer_in(gate.state, request.id, True, key=lambda: KEY)
        changed(gate.state, "UPDATE records SET expires = expires + 1000000 WHERE kind = 'approvals'")
        for hours, valid in ((23, 1), (25, 0)):
            clock = partial(time.time().__add__, hours * 3600)
            assert len(await StoredApprovals(gate.store, gate.state, lambda: KEY, clock).all()) == valid


@pytest.mark.slow
async def test_requests_of_another_key_take_no_place(doorward_host: Any) -> None:
    """Nobody can see or answer them: they do not count as waiting."""
    few = CONFIG + "[approvals]\nopen = 1\n"
    for key in (KEY, f"another {KEY}"):
        async with doorward_host.gateway(f'vault_key = "{key}"\n' + few) as gate:
            assert (await gate.execute(ADD)).waiting
            assert "1 requests of yours wait already" in str((await gate.execute(ADD.replace("Oslo", "Rome"))).error)


@pytest.mark.slow
async def test_with_a_key_a_used_yes_stays_used(doorward_host: Any) -> None:
    async with doorward_host.gateway(f'vault_key = "{KEY}"\n' + CONFIG) as gate:
        waiting = (await gate.execute(ADD + "\n" + ADD)).waiting
        (request,) = requests_in(gate.state, lambda: KEY)
        answer_in(gate.state, request.id, True, key=lambda: KEY)
        again = await gate.services[STORED_RUNS].resume(waiting.run)
        assert again.waiting
        assert sorted(each.state for each in requests_in(gate.state, lambda: KEY)) == ["open", "used"]
        assert (await gate.services[STORED_RUNS].resume(waiting.run)).waiting


@pytest.mark.slow
@pytest.mark.parametrize("durable", ["waits", "always"])
async def test_an_older_copy_of_the_file_makes_no_used_yes_fresh(doorward_host: Any, durable: str) -> None:
    """Not for the run that used it, also after a restart: its journal knows."""
    code = ADD + "\nawait weather.add_station(city='Rome')\n" + ADD
    text = CONFIG.replace("plugins = []", f'plugins = []\nruns.durable = "{durable}"')
    async with doorward_host.gateway(text) as gate:
        run = (await gate.execute(code)).waiting.run
        answer_in(gate.state, (await one_open(gate)).id, True)
        older = backup(gate)
        assert (await gate.services[STORED_RUNS].resume(run)).waiting  # for Rome
    async with doorward_host.gateway(text) as gate:
        answer_in(gate.state, (await one_open(gate)).id, True)
        changed(gate.state, "DELETE FROM records WHERE kind = 'approvals'")
        with contextlib.closing(sqlite3.connect(gate.state / "store.db")) as db, db:
            db.executemany("INSERT INTO records VALUES (?, ?, ?, ?, ?)", older)
        assert (await gate.services[STORED_RUNS].resume(run)).waiting  # for Rome, whose yes was not in the copy
        answer_in(gate.state, (await one_open(gate)).id, True)
        outcome = await gate.services[STORED_RUNS].resume(run)
    assert outcome.error.type == "Refused"
    assert (
        "the yes to weather.add_station has been used in this run: the store is an older copy" in outcome.error.message
    )


def backup(gate: Any) -> list[Any]:
    """The requests as they are stored now."""
    with contextlib.closing(sqlite3.connect(gate.state / "store.db")) as db:
        return db.execute("SELECT * FROM records WHERE kind = 'approvals'").fetchall()


async def test_a_file_that_is_locked_is_no_yes(doorward_host: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("doorward_store_sqlite.WAIT_SECONDS", 0.05)
    async with doorward_host.gateway(CONFIG) as gate:
        await gate.execute(ADD)
        holder = sqlite3.connect(gate.state / "store.db", isolation_level=None)
        holder.execute("BEGIN IMMEDIATE")
        outcome = await gate.execute(ADD, client=says(ONCE))
        holder.execute("ROLLBACK")
        holder.close()
    assert "locked" in outcome.error.message


async def test_a_store_that_forgets_asks_nobody(doorward_host: Any) -> None:
    """Unless the configuration names it: a call that needs a yes is refused with what to install."""
    doorward_host.entries = [entry for entry in doorward_host.entries if entry.kind != "store"]
    async with doorward_host.gateway(CONFIG) as gate:
        error = (await gate.execute(ADD)).error
        assert "approvals need a store" in error.message
        assert "pip install doorward-store-sqlite" in error.hint
    async with doorward_host.gateway(f'store = "memory"\n{CONFIG}') as gate:
        assert (await gate.execute(ADD, client=says(ONCE))).ok


@pytest.mark.slow
async def test_a_write_in_flight_when_time_is_up_is_not_made_again(
    doorward_host: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another call waits for a person just then, so that the run is suspended: whether the write was made nobody knows,
    and a person is asked before it is sent again."""
    sent: list[str] = []
    made = Weather.call

    async def slow(self: Weather, call: Any) -> Any:
        sent.append(call.arguments["city"])
        await anyio.sleep(30 if call.arguments["city"] == "Rome" else 0)
        return await made(self, call)

    monkeypatch.setattr(Weather, "call", slow)
    code = "import asyncio\nresult = await asyncio.gather(weather.add_station(city='Rome'), weather.add_station(city='Oslo'))"
    async with doorward_host.gateway(CONFIG + "[limits]\ntimeout = 1\n") as gate:
        outcome, rounds = await gate.execute(code), 0
        while outcome.waiting.for_ == "approval":  # first for both, then for Oslo, when time is up for Rome
            for request in requests(gate):
                if request.state == "open" and ("Rome" in request.arguments or rounds):
                    answer_in(gate.state, request.id, True)
            rounds += 1
            outcome = await gate.services[STORED_RUNS].resume(outcome.waiting.run)
    assert outcome.waiting.for_ == "unknown", outcome
    assert sorted(sent) == ["Oslo", "Rome"]


async def test_rules_know_a_call_with_a_file_as_it_was_written(doorward_host: Any) -> None:
    """Before and after the yes, by its handle: conditions have no word for the file itself, and would all count."""
    rules = "[[policy.rules]]\nwhen = \"has(args.days) && args.days > 3\"\nthen = 'deny'\n"
    add = "result = await weather.echo_token(file=file)"
    async with doorward_host.gateway(CONFIG + rules) as gate:
        made = (await gate.execute("result = await weather.raw()")).artefacts[0]
        file = {"artefact": made.uri}
        outcome = await gate.execute(f"file = {file!r}\n{add}", client=(person := says(ONCE)))
        assert outcome.ok, outcome.error
        assert "a file of" in person.asked[0]["message"]
        denied = await gate.execute(f"file = {file!r}\n{add.replace('(', '(days=4, ')}", client=says(ONCE))
        assert "[[policy.rules]] 1" in denied.error.message


class Closing:
    """A guard that lets no call through once it is `closed`, as one by the time of day does. `asked` are its calls."""

    closed = False
    asked: ClassVar[list[str]] = []

    def __init__(self, context: Any) -> None:
        Closing.closed = False
        Closing.asked.clear()

    @hookimpl
    def guard_call(self, call: Any) -> str | None:
        Closing.asked.append(call.function.qualified)
        return "the office is closed" if Closing.closed else None


GUARDED = CONFIG.replace("plugins = []", 'plugins = ["closing"]')


@pytest.mark.parametrize("closes", [False, True])
async def test_guards_are_asked_again_after_a_yes(doorward_host: Any, closes: bool) -> None:
    """Whatever happened while the person thought: all is decided again, and the call is recorded as what came of it."""
    doorward_host.install("plugin", "closing", Closing)
    records: list[Any] = []

    class Records:
        @hookimpl
        def call_finished(self, call: Any, record: Any) -> None:
            records.append((record.decision.then, record.error))

    async def says(question: Any) -> Any:
        Closing.closed = closes
        return {"action": "accept", "content": {"answer": ONCE}}

    async with doorward_host.gateway(GUARDED) as gate:
        gate.plugins.manager.register(Records())
        outcome = await gate.execute(ADD, client=Person(says))
    assert Closing.asked == ["weather.add_station"] * 2
    if closes:
        assert (
            outcome.error.message == "weather.add_station: the office is closed (plugin 'closing' of test-plugin 1.0)"
        )
    assert (outcome.ok, records) == (not closes, [("deny", "GuardRefused") if closes else ("confirm", "")])


async def test_guards_are_asked_again_after_a_login(doorward_host: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A person took their time for that, too."""
    sent: list[str] = []

    class Locked(Weather):
        async def call(self, call: Any) -> Any:
            sent.append(call.function.name)
            raise LoginRefused("log in first")

    doorward_host.install("plugin", "closing", Closing)
    doorward_host.install("source", "locked", Locked)

    async def came(*of: Any) -> None:
        Closing.closed = True

    monkeypatch.setattr(Logins, "_came", came)
    text = GUARDED.replace("fake", "locked") + "[approvals]\nlogin = true\n"
    async with doorward_host.gateway(text) as gate:
        outcome = await gate.execute("result = await weather.get_forecast(city='Oslo')")
    assert outcome.error.message == "weather.get_forecast: the office is closed (plugin 'closing' of test-plugin 1.0)"
    assert sent == ["get_forecast"]


async def test_calls_that_began_meanwhile_do_not_use_up_the_limit_of_one_that_waited(doorward_host: Any) -> None:
    """Which call of its run it is, was settled when it came."""
    code = """
import asyncio
async def add():
    return await weather.add_station(city='Oslo')
async def more():
    try:
        return [await weather.get_forecast(city='Rome') for _ in range(3)]
    except Exception as error:
        return str(error)
result = await asyncio.gather(add(), more())
"""

    async def says(question: Any) -> Any:
        return {"action": "accept", "content": {"answer": ONCE}}

    async with doorward_host.gateway(CONFIG + "[limits]\ncalls = 2\n") as gate:
        outcome = await gate.execute(code, client=Person(says))
    assert (outcome.value[0]["city"], outcome.value[1]) == ("Oslo", "a run may make 2 calls")
