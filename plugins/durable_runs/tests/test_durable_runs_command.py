"""`doorward runs`: an operator sees what is stored of runs, lets one go on, plays it again, or ends it."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import time
from pathlib import Path
from typing import Any

import anyio
import pytest
from doorward import PluginContext
from doorward_durable_runs.settings import RunSettings
from doorward_durable_runs.storage.given import Given
from doorward_durable_runs.storage.store_runs import StoreRuns
from doorward_store_sqlite import SqliteStore
from doorward_testing import Cli
from doorward_testing.samples import CONFIG, Weather

CODE = """
key = "ghp_0123456789abcdefghijABCDEFGHIJ012345"
print("begun")
first = await weather.add_station(city="Oslo")
second = await weather.add_station(city="Rome")
result = [first["city"], second["city"]]
"""


async def store(state: Path, given: Given, made: list[Any]) -> None:
    """Store a run that its process has let go of in the middle."""
    state.mkdir(exist_ok=True)
    engine = SqliteStore(PluginContext("sqlite", SqliteStore.Settings(), state))
    held = await StoreRuns(engine, RunSettings()).create(given, made)
    await held.close()
    await engine.close()


@pytest.fixture
def interrupted(cli: Cli, doorward_host: Any, monkeypatch: pytest.MonkeyPatch) -> tuple[Cli, str]:
    """A run whose client left while it waited for its second answer, and its id."""
    config = CONFIG.replace("plugins = []", 'plugins = []\nruns.durable = "always"')
    call = Weather.call

    async def run_and_leave() -> None:
        async with doorward_host.gateway(config) as gate:
            with anyio.CancelScope() as scope, monkeypatch.context() as patch:

                async def leaves(self: Weather, asked: Any) -> Any:
                    if asked.arguments.get("city") == "Rome":
                        scope.cancel()
                    await anyio.sleep(0)
                    return await call(self, asked)

                patch.setattr(Weather, "call", leaves)
                await gate.execute(CODE)

    anyio.run(run_and_leave)
    (run,) = cli("runs", "list", "--json").json["runs"]
    assert (run["state"], run["principal"]) == ("interrupted", "local")
    return cli, run["run"]


def test_a_run_that_was_killed_says_so(cli: Cli, doorward_host: Any) -> None:
    """Nothing that ran after the kill could write down that it ended."""
    doorward_host.write(CONFIG)
    now = time.time()
    anyio.run(store, doorward_host.folder / "state", Given("f" * 16, "local", "1", created=now, expires=now + 60), [])
    assert f"{'f' * 16}\tlocal\tits process died, or had no room to store the end\t" in cli("runs", "list").out


@pytest.mark.slow
def test_a_run_is_shown_and_resumed(interrupted: tuple[Cli, str]) -> None:
    """A person says what shall become of a call whose answer is lost."""
    cli, run = interrupted
    assert f"{run}\tlocal\tit was interrupted: its client left, or Doorward was stopped" in cli("runs", "list").out
    shown = cli("runs", "show", run, "--json").json
    assert shown["code"] == CODE
    assert [call["ended"] for call in shown["calls"]] == ["ok", "unknown: its answer is lost"]
    waits = cli("runs", "resume", run, "--json")
    assert (waits.code, waits.json["waiting"]["for"]) == (4, "unknown")
    assert waits.err.strip() == f"Then: doorward runs resume {run}"
    assert f"doorward runs resume {run} --call 1 --unknown repeat|fail" in waits.json["waiting"]["what"][0]
    assert "it waits (unknown)" in cli("runs", "list").out
    assert cli("runs", "resume", run, "--call", "0", "--unknown", "fail").code == 2
    done = cli("runs", "resume", run, "--unknown", "repeat", "--json").json
    assert (done["value"], done["printed"]) == (["Oslo", "Rome"], "begun\n")
    assert "it succeeded" in cli("runs", "show", run).out


def test_a_call_is_not_repeated_if_a_person_says_so(interrupted: tuple[Cli, str]) -> None:
    cli, run = interrupted
    failed = cli("runs", "resume", run, "--unknown", "fail", "--json")
    assert failed.code == 1
    assert "whether this call of weather.add_station was made is unknown" in failed.json["error"]["message"]


def test_a_call_was_made_if_a_person_says_so(interrupted: tuple[Cli, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The program gets the answer that the person has, and the call is not sent; it is stored as any other is."""
    cli, run = interrupted
    waits = cli("runs", "resume", run, "--json")
    assert f"doorward runs resume {run} --call 1 --unknown repeat|fail|made" in waits.json["waiting"]["what"][0]
    for wrong in (["--unknown", "fail", "--answer", "1"], ["--answer", "1"], ["--unknown", "made", "--answer", "{"]):
        assert cli("runs", "resume", run, *wrong).code == 2
    with monkeypatch.context() as patch:
        patch.delattr(Weather, "call")
        said = ["--call", "1", "--unknown", "made", "--answer", '{"city": "Roma"}']
        assert cli("runs", "resume", run, *said, "--json").json["value"] == ["Oslo", "Roma"]
    shown = cli("runs", "show", run, "--json").json
    assert [call["ended"] for call in shown["calls"]] == ["ok", "ok"]
    assert cli("runs", "replay", run, "--json").json["value"] == ["Oslo", "Roma"]


def test_a_call_was_made_although_nobody_knows_its_answer(interrupted: tuple[Cli, str]) -> None:
    """Then the program gets nothing in its place, and may do without."""
    cli, run = interrupted
    made = cli("runs", "resume", run, "--unknown", "made", "--json")
    assert "'NoneType' object is not subscriptable" in made.json["error"]["message"]


def test_an_answer_is_that_of_one_call(cli: Cli, doorward_host: Any) -> None:
    """Where the answers of several calls are lost, a person says of which one it is."""
    doorward_host.write(CONFIG)
    now = time.time()
    made: list[Any] = []
    for place in range(2):
        made += [(b"B", {"n": place, "k": str(place), "f": "a.b", "a": "a.b"}), (b"S", {"n": place})]
    anyio.run(store, doorward_host.folder / "state", Given("f" * 16, "local", "1", created=now, expires=now + 60), made)
    refused = cli("runs", "resume", "f" * 16, "--unknown", "made", "--answer", "1")
    assert (refused.code, "Say of which: 0, 1." in refused.err) == (1, True)


@pytest.mark.slow
def test_a_run_is_played_again_without_a_call(interrupted: tuple[Cli, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Also with other code, which gets the recorded answers to the calls that the run made."""
    cli, run = interrupted
    cli("runs", "resume", run, "--unknown", "repeat")
    monkeypatch.delattr(Weather, "call")
    assert cli("runs", "replay", run, "--json").json["value"] == ["Oslo", "Rome"]
    other = Path("other.py")
    other.write_text('result = (await weather.add_station(city="Rome"))["city"]')
    assert cli("runs", "replay", run, "--code", str(other), "--json").json["value"] == "Rome"
    other.write_text('await weather.add_station(city="Paris")')
    missing = cli("runs", "replay", run, "--code", str(other), "--json")
    assert 'the run has no answer to this call: weather.add_station [[], {"city": "Paris"}]' in str(missing.json)


def test_a_bundle_holds_a_run_without_credentials(interrupted: tuple[Cli, str]) -> None:
    cli, run = interrupted
    assert cli("runs", "replay", run, "--bundle", "bundle.json").code == 0
    text = Path("bundle.json").read_text()
    bundle = json.loads(text)
    assert bundle["given"]["run"] == run
    assert [frame["kind"] for frame in bundle["frames"]] == ["B", "D", "S", "E", "B", "S", "I"]
    assert "ghp_" not in text
    assert "local" not in text


def test_a_cancelled_run_is_gone(interrupted: tuple[Cli, str]) -> None:
    cli, run = interrupted
    assert cli("runs", "cancel", run).code == 0
    assert cli("runs", "list", "--json").json == {"runs": []}
    assert "there is no stored run" in cli("runs", "resume", run, "--json").json["error"]["message"]
    assert cli("runs", "cancel", run).code == 1


@pytest.mark.slow
def test_runs_that_cannot_be_read_are_counted(interrupted: tuple[Cli, str], doorward_host: Any) -> None:
    """Where the key is another, nobody is told that there are none."""
    cli, _ = interrupted
    doorward_host.write(CONFIG.replace("plugins = []", 'plugins = []\nvault_key = "another key than they have"'))
    assert "cannot be read: 1, stored with another `vault_key`" in cli("runs", "list").err
    assert cli("runs", "list", "--json").json == {"runs": [], "unread": 1}


def test_upgrade_says_what_is_read_and_changes_nothing(interrupted: tuple[Cli, str], doorward_host: Any) -> None:
    """Stored runs that can be read are kept; one that cannot, files of earlier versions, tables of a newer Doorward and
    an unknown key are told, each as what will become of it. The folder is as it was."""
    cli, _ = interrupted
    state, file = doorward_host.folder / "state", doorward_host.folder / "doorward.toml"
    database, config = state / "store.db", file.read_text()

    def contents() -> dict[Path, bytes]:
        files = [each for each in state.rglob("*") if each.suffix not in (".db-shm", ".db-wal") and each.is_file()]
        return {each: each.read_bytes() for each in files}

    def told(code: int) -> dict[str, str]:
        before = contents()
        ended = cli("upgrade", "--json")
        assert contents() == before
        assert (ended.code, ended.json["ok"]) == (code, code == 0)
        return {each["what"]: each["state"] for each in ended.json["stored"]}

    def change(statement: str) -> None:
        with contextlib.closing(sqlite3.connect(database, isolation_level=None)) as db:
            db.execute(statement)
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    change("SELECT 1")
    whole = ["configuration doorward.toml", "store: its tables are of version 1", "runs: 1 can be read"]
    assert told(0) == dict.fromkeys(whole, "kept")
    (state / "runs").mkdir(exist_ok=True)
    (state / "runs/0-0123456789abcdef.run").write_bytes(b"doorward run 1\n")
    assert "migrated" in told(0).values()
    change("UPDATE entries SET content = x'48ff'")
    assert next(each for each, is_ in told(1).items() if is_ == "refused").startswith("runs: 1 of 1 cannot be read")
    change("PRAGMA user_version = 2")
    assert [each.rpartition(": ")[2] for each, is_ in told(1).items() if is_ == "refused"] == [
        "its tables are of version 2, which needs a newer Doorward"
    ]
    assert "needs a newer Doorward" in cli("runs", "list").err
    assert not (state / "store.db.broken").exists()
    file.write_text(f"unknown_key = 1\n{config}")
    assert list(told(1).values()) == ["refused"]
