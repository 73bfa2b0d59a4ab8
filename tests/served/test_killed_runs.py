"""A run that is cut off goes on where it stood, and nothing is written twice: its process or its sandbox was killed, its
answers were more than is stored, or the disk was full, of the journal or of an audit log that must be written."""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, Literal

import pytest
import tomli_w
from click.testing import CliRunner
from doorward_containers import Engine, EngineAddress, sweep
from doorward_durable_runs.command import runs as runs_command
from doorward_durable_runs.journal.replay import StoredJournal
from doorward_durable_runs.storage.store_runs import StoreRuns

from .killed_programs import HEAD, Made, made
from .killed_runs import ONCE, Asked, Counting, configured, counting, is_written
from .product import descendants, end, needs_proc
from .stored import of_runs, run_in, runs_in

MANY = {"DOORWARD_KILLED_PROGRAMS", "DOORWARD_KILLED_IN_JAILS"} & {*os.environ}

pytestmark = [needs_proc, pytest.mark.slow, pytest.mark.timeout(0 if MANY else 600)]


def numbers(variable: str, default: str) -> range:
    return range(*map(int, os.environ.get(variable, default).split(":")))


PROGRAMS = numbers("DOORWARD_KILLED_PROGRAMS", "0:4")
"""The numbers of the programs that are killed at each boundary. They were 0:1000 once: see docs/runs.md."""

LARGE_PROGRAMS = numbers("DOORWARD_KILLED_PROGRAMS", "0:1")
"""The same of programs with an answer of 100 kB."""

KEYED = "keyed.add_item"
"""Is made again without a person: its API knows a repeated call by its key."""

IN_JAILS = numbers("DOORWARD_KILLED_IN_JAILS", "0:1")
"""The same for the executors of CPython, which take longer. See docs/runs.md for how many they were once."""

EVERY = int(os.environ.get("DOORWARD_KILLED_EVERY", "1" if MANY else "6"))
"""Of the places of one kind at which a program is cut off, every so many-th, and the last one."""

SMALL = 'max_bytes = "30KiB"'
"""The settings of runs whose large answer is more than is stored."""

AUDITED = """
[hooks.audit_jsonl]
path = "{}/audit.jsonl"
fail = "closed"
max_bytes = 1
keep = 1
"""
"""An audit log that must be written; each line needs a page of its own."""

PAGE = 4096


@dataclass(frozen=True)
class Cut:
    """How a run is cut off: its gateway is killed at a `request` or at a `write` to its journal, its `sandbox` is, or
    the `disk` is full from a request on, up to `left` bytes. Unless that is 0, the same is killed once more at a later
    request `dies`: when the run was resumed, or its gateway while the disk is full."""

    what: Literal["request", "write", "sandbox", "disk"]
    number: int
    when: str
    left: int = 0
    dies: int = 0


Wrong = Literal["twice", "lost", "different", "shown as not made"]
"""What must not be: a write that is made twice, or not at all, a value that is another one, and a write that was sent of
which that is not said."""


class World:
    """A state folder, perhaps on a small disk, an API, and processes that run programs. `may_end`: runs may end because
    they have more to store than they may."""

    def __init__(
        self,
        folder: Path,
        url: str,
        quiet: Callable[[], None],
        executor: str,
        *,
        runs: str = "",
        hooks: str = "",
        disk: Any = None,
        state_on_disk: bool = True,
        may_end: bool = False,
    ) -> None:
        self.config = configured(folder, url, executor=executor, runs=runs)
        self.disk, self.may_end = disk, may_end
        state = folder / "state"
        text = self.config.read_text() + hooks
        if hooks:
            text = f'plugins = ["audit_jsonl"]\n{text}'
        if disk and state_on_disk:
            state = disk.folder / "state"
            text = text.replace('state = "state"', f'state = "{state}"')
        self.config.write_text(text)
        self.victims, self.survivor = Asked("victims", self.config), Asked("survivor", self.config)
        self.state = state
        self._quiet = quiet
        self.outcomes: Counter[str] = Counter()
        self.wrong: list[tuple[Wrong, object]] = []

    def run(self, program: Made, cut: Cut | None = None) -> dict[str, Any]:
        """Run a program to its end, or up to where it is cut off; afterwards there is room on the disk."""
        of_runs(self.state, forget)
        Counting.begin()
        asked = {"code": program.code, "seed": program.number}
        if cut is None:
            return self.again(program)
        match cut.what:
            case "request":
                Counting.victim = cut.number, cut.when
            case "sandbox":  # its gateway lives on
                Counting.faults = {(cut.number, cut.when): kill_sandboxes}
                return self.survivor.ask(**asked)
            case "disk":
                Counting.faults = {(cut.number, cut.when): lambda _: self.disk.fill(cut.left)}
                Counting.victim = cut.dies, "after"
        said = self.victims.ask(**asked, victim=[cut.number, cut.when] if cut.what == "write" else [])
        self.calm()
        return said

    def calm(self) -> None:
        """Nothing fails any more, and all is done that the API was asked for."""
        Counting.victim, Counting.faults = (0, ""), {}
        if self.disk:
            self.disk.free()
        self._quiet()

    def again(self, program: Made) -> dict[str, Any]:
        """The outcome of a program that is run again from its beginning."""
        return self.survivor.ask(code=program.code, seed=program.number)

    def replayed(self) -> dict[str, Any]:
        """The latest run, played again."""
        before = len(Counting.methods)
        again = self.survivor.ask(replay=self.stored())
        assert len(Counting.methods) == before
        return again

    def stored(self) -> str:
        """The run that is there; "" if it was killed before anything of it was stored."""
        return next((each.given.run for each in runs_in(self.state)), "")

    def shown(self, run: str) -> dict[str, Any]:
        """What `doorward runs show` says of a run."""
        words = ["show", run, "--json", "--config", str(self.config)]
        env = {"CALLER": "0", **dict.fromkeys({*MANY, "DOORWARD_KILLED_EVERY"})}
        done = CliRunner().invoke(runs_command, words, env=env, catch_exceptions=False)
        found = json.loads(done.stdout)
        assert isinstance(found, dict)
        return found

    def resumed(self, run: str, cut: Cut) -> tuple[dict[str, Any], bool]:
        """The outcome of a run that another process resumes, however often that takes, after a person has looked what
        became of calls whose outcome is unknown; and whether they could not say of one what it had answered."""
        first, fails = True, False
        said: list[tuple[int, Any]] = []
        while True:
            if first and cut.dies and cut.what != "disk":
                got = self.resumed_and_cut(run, cut)
            else:
                got = self.survivor.ask(resume=run, said=said)
            self.calm()
            cut_again = "killed" in got or (got["error"] or [""])[0] == "SandboxDied"
            if not (first and cut_again) and not got.get("waiting"):
                break
            first = False
            assert cut_again or got["waiting"] == "unknown", got
            stored = run_in(self.state, run)  # cut off again, it may have had more to store than it may
            unknown = [
                each for each in StoredJournal.read(stored).unknown if each.function != KEYED and not stored.lost
            ]
            assert unknown or cut_again
            said = [(call.place, look(call, cut)) for call in unknown]
            fails |= not all(said for _, said in said)
        return got, fails

    def resumed_and_cut(self, run: str, cut: Cut) -> dict[str, Any]:
        """What becomes of a run that is resumed, and cut off once more."""
        if cut.what == "sandbox":
            Counting.faults = {(cut.dies, "after"): kill_sandboxes}
            return self.survivor.ask(resume=run)
        Counting.victim = cut.dies, "after"
        return self.victims.ask(resume=run)


async def forget(runs: StoreRuns) -> None:
    """Remove all runs."""
    for each in await runs.all():
        await runs.remove(each.given.run)


def look(call: Any, cut: Cut) -> bool | list[Any]:
    """What a person says of a call whose outcome is unknown: that it is to be sent again, what it answered, or neither.
    Of every second one that was made they do not know the answer."""
    if not is_written(call.text):
        return True
    name = call.text.partition('"name": "')[2].partition('"')[0]
    if cut.number % 2 and "fail_item" not in call.text:
        return [{"n": name, "value": len(str({"name": name})) * 7}]
    return False


def kill_sandboxes(gateway: int) -> None:
    for sandbox, _ in descendants(gateway):
        with suppress(ProcessLookupError):
            os.kill(sandbox, signal.SIGKILL)


def plain(outcome: dict[str, Any], *, races: bool) -> dict[str, Any]:
    """An outcome without the times in it, and, if calls raced in it, whatever their order."""
    kept = {key: value for key, value in outcome.items() if key != "writes"}
    kept["printed"] = re.sub(r"@\d+", "@", kept["printed"])
    kept["calls"] = sorted(kept["calls"])
    if races:
        kept["value"] = sorted(kept["value"] or ())
        kept["printed"] = sorted(kept["printed"].splitlines())
    return kept


# Where runs are cut off


def kills(requests: list[str], writes: int, program: Made) -> list[Cut]:
    """The gateway is killed at each boundary: before and after a request is done at the API (or, where that is the same,
    either), and in the middle of each write to the journal and after it. The last of them is that of its end."""
    asked: list[Cut] = []
    for n, method in enumerate(requests, 1):
        whens = ("before", "after") if method != "GET" else (("before", "after")[n % 2],)
        asked += [Cut("request", n, when) for when in whens]
    return asked + [Cut("write", n, when) for n in range(1, writes + 1) for when in ("torn", "after")]


def kills_of_two(requests: list[str], writes: int, program: Made) -> list[Cut]:
    """It is killed at each request, and once more when the run has gone on a little."""
    return [Cut("request", n, ("before", "after")[n % 2], dies=n + 2) for n in range(1, len(requests) - 1)]


def killed_sandboxes(requests: list[str], writes: int, program: Made) -> list[Cut]:
    """The sandbox is killed before and after each request is done, and once it is answered; and so is the one in which
    the run goes on."""
    whens = (("before", 0), ("after", 0), ("answered", 0), ("after", 2))
    return [
        Cut("sandbox", n, when, dies=more and n + more) for n in range(1, len(requests) + 1) for when, more in whens
    ]


def full_disks(requests: list[str], writes: int, program: Made) -> list[Cut]:
    """The disk is full, or nearly, from each request on: to the end of the run, and up to a kill of its gateway at the
    next request and at one after that."""
    chance, last = Random(program.number), len(requests)
    cuts = []
    for n in range(1, last + 1):
        for dies in {0, min(n + 1, last), chance.randint(n, last)}:
            cuts.append(Cut("disk", n, "before", chance.choice([0, 0, 1, 3, 26]) * PAGE, dies))
    return cuts


def some(cuts: list[Cut], requests: list[str]) -> list[Cut]:
    """Of all cuts, some of each kind: by what is cut off, when, at a request of which method, and whether it is cut off
    twice or the disk has room for anything."""
    kinds: dict[tuple[Any, ...], list[Cut]] = {}
    for cut in cuts:
        method = "" if cut.what == "write" else requests[cut.number - 1]
        kinds.setdefault((cut.what, cut.when, method, bool(cut.left), bool(cut.dies)), []).append(cut)
    return [cut for kind in kinds.values() for n, cut in enumerate(kind) if n % EVERY == 0 or cut is kind[-1]]


# What is compared


def check_shown(world: World, run: str) -> bool:
    """Nothing that was sent is shown as not made, and all that is shown as made is. Returns: whether a write is shown
    that was sent."""
    calls = world.shown(run)["calls"] if run else []
    sent = [call["made"] for call in calls if "not made" not in call["ended"]]
    for name, method in Counting.received.items():
        said = [call for call in calls if f'"name": "{name}"' in call["made"]]
        is_shown = any(f'"name": "{name}"' in text for text in sent)
        if method not in ONCE:  # it may be repeated, and its beginning is not stored by itself
            is_shown = not any(call["ended"] == "not made" for call in said)
        if not is_shown:
            world.wrong.append(("shown as not made", f"{name} was sent, and shown is {said}; of all {calls}"))
    for call in calls:
        if call["ended"].startswith("ok") and '"name": "' in call["made"] and not is_written(call["made"]):
            world.wrong.append(("lost", f"it is no write of the API: {call}"))
    return any('"name": "' in text for text in sent)


def check_end(world: World, got: dict[str, Any], program: Made, expected: dict[str, Any], once: dict[str, int]) -> None:
    """A run ended as if it had not been cut off."""
    check_once(world)
    if plain(got, races=program.races) != plain(expected, races=program.races):
        world.wrong.append(("different", f"{got}\nand not\n{expected}"))
    if (found := {*Counting.once()}) != {*once}:
        world.wrong.append(("lost" if found < {*once} else "different", f"{found}\nand not\n{once}"))


def check_once(world: World) -> None:
    if set(Counting.once().values()) - {1}:
        world.wrong.append(("twice", Counting.once()))


def check_cut(world: World, program: Made, expected: dict[str, Any], once: dict[str, int], cut: Cut) -> str:
    """Cut off a run, resume it in another process, and compare. An operator whose run cannot be resumed runs its program
    again if `doorward runs show` shows nothing that was sent. Returns: how it ended."""
    said = world.run(program, cut)
    world.calm()
    if cut.what in ("request", "write") and "killed" not in said:
        return "came by"  # calls raced, and there was no such boundary
    if cut.what != "sandbox" and "killed" in said:
        assert said == {"killed": -9}
    run = world.stored()
    is_sent = check_shown(world, run)
    if not run:
        if Counting.written:
            world.wrong.append(("lost", "nothing is stored of it"))
        return "not begun"
    shown = world.shown(run)
    if "killed" not in said and not said["waiting"] and shown["state"] == "ended":
        if said["ok"] or plain(said, races=True) == plain(expected, races=True):
            check_end(world, said, program, expected, once)
            return "came to its end"
        return check_told(world, program, expected, once, said)
    if shown.get("cannot"):
        if said.get("ok"):
            check_end(world, said, program, expected, once)
            world.wrong.append(("different", f"it has succeeded, and is shown as {shown['state']}"))
            return "came to its end"
        if is_sent:
            return check_told(world, program, expected, once, world.survivor.ask(resume=run))
        check_end(world, world.again(program), program, expected, once)
        return "run again"
    got, fails = world.resumed(run, cut)
    check_once(world)
    check_shown(world, run)
    if not got["ok"] and world.shown(run).get("cannot"):
        return check_told(world, program, expected, once, got)
    if fails:
        assert "OutcomeUnknown" in str(got["error"]) or "is unknown" in got["printed"], got
        return "unknown"
    check_end(world, got, program, expected, once)
    return "same"


_AGAIN = re.compile(r"run (the program|it) (anew|again)|can be run again", re.IGNORECASE)
_SENT = re.compile("had sent call|runs show")
_FUNCTIONS = {"POST": r"\.add_item ×", "PUT": r"\.put_item ×", "PATCH": r"\.patch_item ×", "DELETE": r"\.drop_item ×"}
"""What names a write of each method in such a text."""


def check_told(world: World, program: Made, expected: dict[str, Any], once: dict[str, int], got: dict[str, Any]) -> str:
    """A run ended half done. Nobody is told to run it again without being told what it has sent."""
    check_once(world)
    text = f"{got['error']} {got['hint']}"
    if _AGAIN.search(text) and not _SENT.search(text):
        if any(not re.search(_FUNCTIONS[key.partition(" ")[0]], text) for key in Counting.written):
            world.wrong.append(("shown as not made", f"it is to be run again: {text}"))
        check_end(world, world.again(program), program, expected, once)
        return "run again"
    if not world.may_end:
        world.wrong.append(("lost", f"it ended half done: {text}"))
    return "ended half done, and says so"


CUTS = Callable[[list[str], int, Made], list[Cut]]


def check_at_each(world: World, program: Made, cuts: CUTS) -> None:
    """Cut it off at each boundary, as often as it takes."""
    expected = world.run(program)
    assert expected["ok"] or expected["error"][0] == "ApiError", expected
    once, requests = Counting.once(), [*Counting.methods]
    if expected["writes"] and not world.may_end:
        assert plain(world.replayed(), races=False) == plain(expected, races=False)
    for cut in some(cuts(requests, expected["writes"], program), requests):
        world.wrong = []
        try:
            how = check_cut(world, program, expected, once, cut)
        except AssertionError as error:
            world.wrong.append(("different", error))
        if not world.wrong:
            world.outcomes[how] += 1
            continue
        world.outcomes.update({f"WRONG: {what}" for what, _ in world.wrong})
        world.outcomes["WRONG"] += 1
        print(f"program {program.number}, cut off at {cut}:\n{program.code[len(HEAD) :]}")
        print(*(f"{what}: {why}" for what, why in world.wrong), "", sep="\n", flush=True)


def check_programs(
    folder: Path, numbers: range, executor: str = "monty", cuts: CUTS = kills, *, large: bool = False, **settings: Any
) -> None:
    if executor.isidentifier():
        executor = f'executor = "{executor}"'
    with counting() as (url, quiet):
        world = World(folder, url, quiet, executor, **settings)
        try:
            began = time.monotonic()
            for number in numbers:
                check_at_each(world, made(number, large=large), cuts)
                done, took = number + 1 - numbers.start, time.monotonic() - began
                if done % 10 == 0 or done == len(numbers):
                    outcomes = dict(world.outcomes)
                    cut_off = sum(n for what, n in outcomes.items() if not what.startswith("WRONG: "))
                    print(f"{done} programs, {cut_off} cut off, {took:.0f} s: {outcomes}", flush=True)
        finally:
            end(world.victims.process)
            end(world.survivor.process)
    assert not world.outcomes["WRONG"], world.outcomes
    assert world.outcomes["same"]


def test_programs_made_by_chance_survive_a_kill_at_each_boundary(tmp_path: Path) -> None:
    """In another process they have the same value, and print the same. No write that may not be repeated is made twice:
    where the API may have got one, and no answer came, a person is asked."""
    check_programs(tmp_path, PROGRAMS)


def test_they_survive_two_kills(tmp_path: Path) -> None:
    """The second one comes when the run has gone on."""
    check_programs(tmp_path, LARGE_PROGRAMS, cuts=kills_of_two, large=True)


@pytest.mark.parametrize("cuts", [kills, kills_of_two])
def test_those_with_more_answers_than_are_stored_write_nothing_that_is_not_stored(tmp_path: Path, cuts: CUTS) -> None:
    """Whenever they are killed, all that they have sent is shown as sent."""
    check_programs(tmp_path, LARGE_PROGRAMS, cuts=cuts, large=True, runs=SMALL, may_end=True)


@pytest.mark.parametrize("small_disk", [6], indirect=True)
def test_they_survive_a_disk_that_is_full_or_nearly_full(tmp_path: Path, small_disk: Any) -> None:
    """Also where a large answer does not fit any more, and all that is small does."""
    check_programs(tmp_path, LARGE_PROGRAMS, cuts=full_disks, large=True, disk=small_disk)


@pytest.mark.parametrize("small_disk", [6], indirect=True)
@pytest.mark.parametrize("alone", [True, False], ids=["log", "log-and-journal"])
def test_they_survive_an_audit_log_that_cannot_be_written(tmp_path: Path, small_disk: Any, alone: bool) -> None:
    """With `fail = "closed"` no program is answered with the refusal: its run goes on once there is room. So it does
    where its journal cannot be written either."""
    hooks = AUDITED.format(small_disk.folder)
    check_programs(
        tmp_path, LARGE_PROGRAMS, cuts=full_disks, large=True, hooks=hooks, disk=small_disk, state_on_disk=not alone
    )


@pytest.mark.skipif(sys.platform != "linux", reason="nsjail needs Linux")
@pytest.mark.parametrize("cuts", [kills, killed_sandboxes])
def test_so_they_do_in_nsjail(tmp_path: Path, cuts: CUTS) -> None:
    """Also if it is the sandbox that was killed, and of two runs of one program the second one, too."""
    check_programs(tmp_path, IN_JAILS, "nsjail", cuts)


@pytest.mark.skipif(sys.platform != "linux", reason="nsjail needs Linux")
def test_a_killed_sandbox_of_a_run_that_cannot_be_resumed(tmp_path: Path) -> None:
    """What it has sent is shown as sent."""
    check_programs(tmp_path, IN_JAILS, "nsjail", killed_sandboxes, large=True, runs=SMALL, may_end=True)


def test_so_they_do_in_docker(tmp_path: Path, engine: Any) -> None:
    settings = tomli_w.dumps({"executors": {"docker": engine.settings(pool=1)}})
    check_programs(tmp_path, IN_JAILS, f'executor = "docker"\n{settings}')
    if not engine.empty():  # a gateway was killed while the engine still made a container: the next gateway removes it
        assert {container["State"]["Status"] for container in engine.containers()} == {"created"}
        Engine(EngineAddress(engine.host)).wait(lambda client: sweep(client, "sandbox"))
        assert engine.empty(2)
