"""`doorward runs undo`: the writes of a run are undone by the inverses that the configuration declares, each once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import anyio
import pytest
from doorward import ApiError, Call, Compiled, Function, Gateway, ServerError
from doorward.model.errors import StateError
from doorward_durable_runs import STORED_RUNS
from doorward_durable_runs.undo.steps import Steps
from doorward_durable_runs.undo.undoing import Undoing
from doorward_testing import Cli
from doorward_testing.samples import CONFIG, Weather

UNDO = """
[servers.weather.undo.add]
call = "remove"
arguments = { id = "answer.item.id" }
[servers.weather.undo.rename]
before = "read"
call = "rename"
arguments = { id = "args.id", name = "before.name", note = "before.note?" }
[servers.weather.undo.remove]
before = "read"
call = "add"
arguments = { name = "before.name" }
"""
ALWAYS = CONFIG.replace("plugins = []", 'plugins = []\nruns.durable = "always"')
CODE = """
one = (await weather.add(name="one"))["item"]["id"]
two = (await weather.add(name="two"))["item"]["id"]
await weather.rename(id=one, name="eins")
await weather.rename(id=one, name="uno", note="!")
await weather.remove(id=two)
await weather.send(name="mail")
result = (await weather.read(id=one))["name"]
"""


@pytest.fixture(autouse=True)
def _rules(doorward_host: Any) -> None:
    doorward_host.install_real("doorward-approvals", "doorward-policy-rules")


class Shelf:
    """Things, and the calls that came."""

    def __init__(self) -> None:
        self.things: dict[int, dict[str, Any]] = {}
        self.calls: list[str] = []
        self.fails: dict[str, BaseException] = {}
        self.last = 2**70  # no number that fits into 64 bits: it comes back as it was answered

    async def compile(self) -> Compiled:
        text, number = {"type": "string"}, {"type": "integer"}

        def made(name: str, *required: str, **more: Any) -> Function:
            properties = {"id": number, "name": text, "note": text}
            taken = {key: properties[key] for key in (*required, *more.pop("optional", ()))}
            parameters = {"type": "object", "properties": taken, "required": [*required], "additionalProperties": False}
            return Function("weather", name, parameters=parameters, **more)

        return Compiled([
            made("add", "name"), made("read", "id", read_only=True), made("send", "name"),
            made("rename", "id", "name", optional=("note",), idempotent=True),
            made("remove", "id", idempotent=True, destructive=True),
        ])  # fmt: skip

    async def call(self, call: Call) -> Any:
        name, given = call.function.name, call.arguments
        self.calls.append(f"{name} {given.get('name', '')}".strip())
        if error := self.fails.get(name):
            raise error
        if name == "add":
            self.last += 1
            self.things[self.last] = {"name": given["name"]}
            return {"item": {"id": self.last}}
        if name == "send":
            return {}
        if given["id"] not in self.things:
            raise ApiError("404: it is gone", status=404)
        if name == "read":
            return {**self.things[given["id"]]}
        if name == "rename":
            self.things[given["id"]] = {key: value for key, value in given.items() if key != "id"}
        if name == "remove":
            del self.things[given["id"]]
        return {}


@pytest.fixture
def shelf(monkeypatch: pytest.MonkeyPatch) -> Shelf:
    found = Shelf()

    async def compile(source: Weather) -> Compiled:
        return await found.compile()

    async def call(source: Weather, call: Call) -> Any:
        return await found.call(call)

    monkeypatch.setattr(Weather, "compile", compile)
    monkeypatch.setattr(Weather, "call", call)
    return found


@pytest.fixture
def ran(cli: Cli, doorward_host: Any, shelf: Shelf) -> str:
    """The id of a run that did what `CODE` says."""
    return run(cli, doorward_host, CODE)


def run(cli: Cli, host: Any, code: str, more: str = "") -> str:
    async def execute() -> None:
        async with host.gateway(ALWAYS + UNDO + more) as gate:
            outcome = await gate.execute(code)
            assert outcome.error is None

    anyio.run(execute)
    found = cli("runs", "list", "--json").json["runs"][0]["run"]
    assert isinstance(found, str)
    return found


@pytest.mark.slow
def test_what_would_be_undone_is_shown(cli: Cli, ran: str, shelf: Shelf) -> None:
    """The last write first, each with its call; what cannot be undone says why; nothing is called."""
    before = [*shelf.calls]
    told = cli("runs", "undo", ran, "--dry-run", "--json").json
    one, two = 2**70 + 1, 2**70 + 2
    assert [(each["by"], each["arguments"]) for each in told["undo"]] == [
        ("weather.add", {"name": "two"}),
        ("weather.rename", {"id": one, "name": "eins"}),
        ("weather.rename", {"id": one, "name": "one"}),
        ("weather.remove", {"id": two}),
        ("weather.remove", {"id": one}),
    ]
    assert [(each["call"], each["why"]) for each in told["kept"]] == [
        (5, "no inverse of weather.send was declared when it was made")
    ]
    shown = cli("runs", "undo", ran, "--dry-run").out
    assert "Not undone:" in shown
    assert shelf.calls == before


@pytest.mark.slow
def test_writes_are_undone_once_and_the_last_one_first(cli: Cli, ran: str, shelf: Shelf) -> None:
    """What was removed is not there under its old id, so the undo stops there, and says what is left."""
    del shelf.calls[:]
    failed = cli("runs", "undo", ran, "--yes", "--json")
    assert shelf.calls == ["add two", "rename eins", "rename one", "remove"]
    assert [each["name"] for each in shelf.things.values()] == ["one", "two"]
    assert (failed.code, failed.json["done"], failed.json["left"]) == (1, [4, 3, 2], [1, 0])
    assert [each["stands"] for each in failed.json["undo"]] == ["undone"] * 3 + ["open"] * 2
    assert "404: it is gone" in failed.json["failed"]["error"]["message"]
    shown = {call["call"]: call["ended"] for call in cli("runs", "show", ran, "--json").json["calls"]}
    assert [place for place, ended in shown.items() if ended.endswith("; undone")] == [2, 3, 4]
    again = cli("runs", "undo", ran, "--yes", "--done", "1", "--json")
    assert (again.code, again.json["done"]) == (0, [0])
    assert [each["name"] for each in shelf.things.values()] == ["two"]
    del shelf.calls[:]
    last = cli("runs", "undo", ran, "--yes", "--json")
    assert (last.code, last.json["done"], shelf.calls) == (0, [], [])
    assert {each["stands"] for each in last.json["undo"]} == {"undone"}


def test_nothing_is_undone_without_a_yes(cli: Cli, ran: str, shelf: Shelf) -> None:
    del shelf.calls[:]
    assert cli("runs", "undo", ran).code == 1
    assert cli("runs", "undo", ran, "--json").code == 2
    assert cli("runs", "undo", ran, "--dry-run", "--done", "1").code == 2
    assert shelf.calls == []


def test_an_undo_obeys_policy(cli: Cli, doorward_host: Any, shelf: Shelf) -> None:
    """Its calls are those of the run's principal; the operator may make them as another."""
    denied = '[principals.local]\ndeny = ["weather.remove"]\n[principals.ops]\n'
    ran = run(cli, doorward_host, 'await weather.add(name="one")', denied)
    refused = cli("runs", "undo", ran, "--yes", "--json")
    assert (refused.code, shelf.calls) == (3, ["add one"])
    assert cli("runs", "undo", ran, "--yes", "--principal", "ops").code == 0
    assert shelf.things == {}


@pytest.mark.slow
def test_an_undo_whose_outcome_is_unknown_is_not_made_again(cli: Cli, ran: str, shelf: Shelf) -> None:
    """A person looks, and says whether it was made; one that may be repeated is repeated."""
    shelf.fails["add"] = ServerError("the connection broke")
    assert cli("runs", "undo", ran, "--yes", "--json").json["left"] == [4, 3, 2, 1, 0]
    del shelf.fails["add"], shelf.calls[:]
    unknown = cli("runs", "undo", ran, "--yes", "--json").json["failed"]
    assert "whether weather.add was called is unknown" in unknown["error"]["message"]
    assert "--done 4" in unknown["error"]["hint"]
    assert shelf.calls == []
    shelf.fails["rename"] = ServerError("the connection broke")
    assert cli("runs", "undo", ran, "--yes", "--again", "4", "--json").json["done"] == [4]
    del shelf.fails["rename"]
    assert cli("runs", "undo", ran, "--yes", "--json").json["done"] == [3, 2]
    wrong = cli("runs", "undo", ran, "--yes", "--done", "9", "--json")
    assert "no call 9 that can be undone" in str(wrong.json)


class Killed(BaseException):
    """The end of the process."""


@pytest.mark.slow
@pytest.mark.parametrize(("victim", "left"), [("add", []), ("rename", [3, 2, 1, 0]), ("remove", [1, 0])])
def test_an_undo_that_was_killed_is_not_made_twice(
    cli: Cli, doorward_host: Any, ran: str, shelf: Shelf, victim: str, left: list[int]
) -> None:
    """It dies after a call was made and before that is stored: the call is made again only if that changes nothing."""
    made: list[str] = []

    async def dies(gate: Gateway) -> None:
        async def call(name: str, given: Mapping[str, Any]) -> None:
            made.append(name)
            await gate.call(name, given)
            if name.endswith(victim):
                raise Killed

        undoing = await Undoing.of(
            gate.services[STORED_RUNS].journals.store, ran, lambda name: gate.broker.functions.find(name, "local")
        )
        try:
            await undoing.undo(call)
        finally:
            await undoing.close()

    async def killed() -> None:
        async with doorward_host.gateway(ALWAYS + UNDO) as gate:
            shelf.things[2**70 + 2] = {"name": "here again"}
            with pytest.raises(Killed):
                await dies(gate)

    anyio.run(killed)
    del shelf.calls[:]
    again = cli("runs", "undo", ran, "--yes", "--json").json
    assert made.count(f"weather.{victim}") == 1
    assert again["done"] == left
    assert ("failed" in again) == (victim == "add")
    assert "add two" not in shelf.calls


@pytest.mark.slow
@pytest.mark.parametrize("when", range(20))
def test_wherever_an_undo_dies_each_write_is_undone_once(
    cli: Cli, doorward_host: Any, ran: str, shelf: Shelf, when: int
) -> None:
    """Before or after something is stored, before or after a call is made."""
    left = [when]

    def lives() -> None:
        left[0] -= 1
        if left[0] == -1:
            raise Killed

    async def undo(gate: Gateway) -> bool:
        async def call(name: str, given: Mapping[str, Any]) -> None:
            lives()
            await gate.call(name, given)
            lives()

        async def append(frames: Any) -> int:
            lives()
            return await store(frames)

        undoing = await Undoing.of(
            gate.services[STORED_RUNS].journals.store, ran, lambda name: gate.broker.functions.find(name, "local")
        )
        store, undoing._file.append = undoing._file.append, append  # type: ignore[method-assign]
        try:
            for step in undoing.all.steps:
                if step.stands == "unknown" and step.call == "weather.add":
                    await undoing.answer(step.place, made=shelf.calls.count("add two") == 2)
            return (await undoing.undo(call)).error is None
        except Killed:
            return False
        finally:
            await undoing.close()

    async def all_of_it() -> None:
        async with doorward_host.gateway(ALWAYS + UNDO) as gate:
            shelf.things[2**70 + 2] = {"name": "here again"}
            del shelf.calls[:]
            shelf.calls.append("add two")  # by the run
            assert await undo(gate) or await undo(gate)
            assert await undo(gate)

    anyio.run(all_of_it)
    assert set(shelf.things) == {2**70 + 3}
    assert shelf.calls.count("add two") == 2


def test_what_was_not_declared_or_could_not_be_read_is_told(cli: Cli, doorward_host: Any, shelf: Shelf) -> None:
    """A call whose state before cannot be read is made all the same; so is one whose answer lacks what is needed."""
    shelf.fails["read"] = ServerError("it cannot be read now")
    code = """
one = (await weather.add(name="one"))["item"]["id"]
await weather.rename(id=one, name="eins")
try:
    await weather.send(name="mail")
except Exception:
    pass
"""
    shelf.fails["send"] = ServerError("the connection broke")
    ran = run(cli, doorward_host, code)
    told = cli("runs", "undo", ran, "--dry-run", "--json").json
    assert [each["why"] for each in told["kept"]] == [
        "it failed, and may have been made all the same: the connection broke",
        "what was there before could not be read: it cannot be read now",
    ]
    assert shelf.calls == ["add one", "read", "rename eins", "send mail"]


def test_a_read_has_no_inverse(cli: Cli, doorward_host: Any, shelf: Shelf) -> None:
    """It is not read before it is read, whatever is declared."""
    declared = '[servers.weather.undo.read]\nbefore = "read"\ncall = "read"\n'
    shelf.things[1] = {"name": "one"}
    ran = run(cli, doorward_host, "await weather.read(id=1)", declared)
    assert shelf.calls == ["read"]
    assert cli("runs", "undo", ran, "--dry-run", "--json").json == {"run": ran, "undo": [], "kept": []}


def test_a_before_that_writes_is_never_called(cli: Cli, doorward_host: Any, shelf: Shelf) -> None:
    declared = '[servers.weather.undo.send]\nbefore = "add"\ncall = "remove"\narguments = { id = "before.item.id" }\n'
    ran = run(cli, doorward_host, 'await weather.send(name="x")', declared)
    assert shelf.calls == ["send x"]
    (kept,) = cli("runs", "undo", ran, "--dry-run", "--json").json["kept"]
    assert kept["why"] == "what was there before could not be read: weather.add does not only read"


def test_wrong_inverses_are_told_when_they_are_compiled(cli: Cli, doorward_host: Any, shelf: Shelf) -> None:
    """With their place: a name that no function has, an argument that is missing or not taken."""
    wrong = """
[servers.weather.undo.ad]
call = "remove"
[servers.weather.undo.add]
call = "remov"
[servers.weather.undo.send]
before = "add"
call = "remove"
arguments = { idd = "args.nam" }
[servers.weather.undo.read]
call = "read"
arguments = { id = 1 }
"""
    doorward_host.write(CONFIG + wrong)
    compiled = cli("compile", "--json").json["servers"]["weather"]
    assert compiled["warnings"] == [
        "undo.ad: there is no function 'ad' that may be called; did you mean 'add'?",
        "undo.add.call: there is no function 'remov' that may be called; did you mean 'remove'?",
        "undo.send.arguments: remove needs 'id'",
        "undo.send.arguments.idd: remove takes no such argument; did you mean 'id'?",
        "undo.send.arguments.idd: send has no argument 'nam'; did you mean 'name'?",
        "undo.send.before: add does not only read, so it is not called",
        "undo.read: read only reads: there is nothing to undo",
        "undo.read.call: read only reads, and undoes nothing",
    ]
    doctor = cli("doctor")
    assert doctor.code == 1
    assert "[servers.weather] undo.send.arguments: remove needs 'id'" in doctor.out
    assert "only runs that had to wait are stored" in doctor.out


@pytest.mark.parametrize(
    ("declared", "said"),
    [
        ('arguments = { id = "id" }', "'id' is no path"),
        ('arguments = { id = "before.id" }', "nothing is read before"),
        ('argument = { id = "answer.id" }', "argument"),
    ],
)
def test_an_inverse_that_cannot_be_read_is_refused(cli: Cli, doorward_host: Any, declared: str, said: str) -> None:
    """With its place in the configuration."""
    doorward_host.write(CONFIG + f'[servers.weather.undo.add]\ncall = "remove"\n{declared}\n')
    told = cli("doctor").out
    assert "[servers.weather]: " in told
    assert "undo.add" in told
    assert said in told


@pytest.mark.anyio
async def test_what_was_there_before_is_read_once(
    doorward_host: Any, shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A call may have been made although its process died: then what is there now is not what was there before."""
    code = """
one = (await weather.add(name="one"))["item"]["id"]
await weather.rename(id=one, name="eins")
"""
    call = shelf.call

    async def dies(asked: Call) -> Any:
        answer = await call(asked)
        if asked.function.name == "rename":
            scope.cancel()
            await anyio.sleep(0)
        return answer

    async with doorward_host.gateway(ALWAYS + UNDO) as gate:
        with anyio.CancelScope() as scope, monkeypatch.context() as patch:
            patch.setattr(shelf, "call", dies)
            await gate.execute(code)
        (died,) = await gate.services[STORED_RUNS].journals.store.all()
        assert died.state == "interrupted"
        assert (await gate.services[STORED_RUNS].resume(died.given.run)).ok
        stored = await gate.services[STORED_RUNS].journals.store.show(died.given.run)
        steps = Steps.of(stored, lambda name: gate.broker.functions.find(name, "local")).steps
        assert [step.arguments.get("name") for step in steps] == ["one", None]
    assert shelf.calls == ["add one", "read", "rename eins", "rename eins"]


def test_nobody_agrees_to_what_they_cannot_see(cli: Cli, doorward_host: Any, shelf: Shelf) -> None:
    """Direction marks of an answer are written out in the calls that a person is asked about."""
    shelf.things[1] = {"name": "one\u202e\u200b"}
    ran = run(cli, doorward_host, 'await weather.rename(id=1, name="uno")')
    shown = cli("runs", "undo", ran, "--dry-run").out
    assert r"one\u202e\u200b" in shown
    assert not {"\u202e", "\u200b"} & set(shown)


@pytest.mark.slow
def test_a_run_is_undone_by_one_at_a_time(cli: Cli, doorward_host: Any, shelf: Shelf) -> None:
    """The other one is told to ask again; nobody resumes it meanwhile."""
    ran = run(cli, doorward_host, 'await weather.add(name="one")')

    async def at_once() -> list[Any]:
        async with doorward_host.gateway(ALWAYS + UNDO) as gate:
            known = gate.broker.functions.find
            undoing = await Undoing.of(
                gate.services[STORED_RUNS].journals.store, ran, lambda name: known(name, "local")
            )
            with pytest.raises(StateError, match="is running"):
                await Undoing.of(gate.services[STORED_RUNS].journals.store, ran, lambda name: known(name, "local"))
            try:
                done = await undoing.undo(gate.call)
            finally:
                await undoing.close()
            return done.done

    assert len(anyio.run(at_once)) == 1
    assert shelf.things == {}
    assert cli("runs", "undo", ran, "--yes", "--json").json["done"] == []


def test_an_undo_is_not_repeated_because_its_function_is_said_to_be_another(
    cli: Cli, doorward_host: Any, ran: str, shelf: Shelf
) -> None:
    """It was sent as a call that may not be repeated."""
    shelf.fails["add"] = ServerError("the connection broke")
    assert "failed" in cli("runs", "undo", ran, "--yes", "--json").json
    del shelf.fails["add"], shelf.calls[:]

    async def again() -> Any:
        async with doorward_host.gateway(ALWAYS + UNDO) as gate:
            find = gate.broker.functions.find
            store = gate.services[STORED_RUNS].journals.store
            undoing = await Undoing.of(store, ran, lambda name: replace(find(name, "local"), idempotent=True))
            try:
                return (await undoing.undo(gate.call)).error
            finally:
                await undoing.close()

    assert "whether weather.add was called is unknown" in str(anyio.run(again))
    assert shelf.calls == []
