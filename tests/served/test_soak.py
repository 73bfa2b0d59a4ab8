"""Thousands of executions by eight clients, while everything that can fail does: no write is made twice or lost, nothing
is left behind, memory stays flat, and every execution is in the audit log. `DOORWARD_SOAK_RUNS` says how many."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import anyio
import pytest
import tomli_w

from .conftest import LIMITS, SHELF
from .product import PATIENCE, Api, needs_proc, until
from .soak import Soak, Soaked, audited
from .test_faults import held
from .test_http_auth import token

RUNS = int(os.environ.get("DOORWARD_SOAK_RUNS", "120"))
CLIENTS = 8
CYCLES = 3 if RUNS < 2000 else 10
"""How often each fault comes; in the first half the gateway is restarted after each cycle."""

MORE = 32
"""Descriptors, threads, tasks and processes by which the end may differ from the middle: a worker that a pool has then,
and had not, is three descriptors."""

MORE_OBJECTS = 100
"""The same for objects of one type: the last request of each client may be there still, with all that its run was made
of, some of it eight times. What each answer leaves behind shows all the same."""

STEP = max(4, RUNS // CYCLES // 12)
"""Answers for which a fault lasts, and the calm after it."""

RESTARTS = [
    (signal.SIGKILL, {"durable": "always", "fail": "closed", "full": "docker"}),
    (signal.SIGKILL, {"durable": "waits", "fail": "open", "full": "nsjail"}),
    (signal.SIGTERM, {"durable": "always", "fail": "open", "full": "docker"}),
    (signal.SIGTERM, {"durable": "always", "fail": "closed", "full": "nsjail"}),
    (signal.SIGKILL, {"durable": "waits", "fail": "open", "full": "nsjail"}),
]
"""How a gateway ends, and the settings of the next one."""

KEPT = 'kept = "1MiB"\n'
"""Results that are kept take no more, so that memory can be flat."""

REFUSED = "guard:GuardRefused"
"""What `fail = "closed"` does while the audit log cannot be written."""

EXPLAINED = {
    "executor:SandboxDied",
    "limit:TimeoutError",
    "server:ServerError",
    "config:StateError",
    REFUSED,
    "guard:RefusedForNow",
}
"""Errors that a fault may be the cause of."""

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="makes a disk, and counts what Linux tells"),
    needs_proc,
    pytest.mark.anyio,
    pytest.mark.slow,
    pytest.mark.timeout(600 + RUNS),
]


async def faults(soak: Soak, api: Api, disk: Any) -> None:
    """Each fault once, with calm behind it."""
    async with soak.fault():
        await soak.kill_sandboxes(STEP)
    await soak.progress(STEP)
    async with soak.fault():
        api.kill()
        await soak.progress(STEP)
        api.start()
    await soak.progress(STEP)
    async with soak.fault():
        refused = soak.book.errors[REFUSED]
        with disk.full():
            await soak.progress(STEP)
            while soak.closed and soak.book.errors[REFUSED] == refused:  # the last page of the log still had room
                await soak.progress(1)
        assert soak.closed or soak.book.errors[REFUSED] == refused, "while it is open, nothing waits for the log"
    await soak.progress(STEP)
    async with soak.fault():
        with disk.full(left=nearly(soak)):
            await soak.progress(STEP)
    await soak.progress(STEP)
    with held(soak.project.state / "catalog.db"):  # nobody waits for it, and nothing fails
        await soak.progress(STEP)
    async with soak.fault() if soak.durable else contextlib.nullcontext():  # journals lie there
        with held(soak.project.state / "store.db"):
            await soak.progress(STEP)
    await soak.progress(STEP)


def nearly(soak: Soak) -> int:
    """How much is left of a disk on which no large answer fits, and small ones do."""
    return soak.chance.randint(1, 16) * 4096


async def restart(soak: Soak, disk: Any, how: int, settings: dict[str, str]) -> None:
    """End the gateway, one by `kill -9` while the disk is nearly full, and start the next one."""
    async with soak.fault():
        is_full = how == signal.SIGKILL and not soak.closed  # closed, it would do nothing
        before = {*soak.book.answered}
        with disk.full(left=nearly(soak)) if is_full else contextlib.nullcontext():
            await soak.progress(CLIENTS)
            ended = await anyio.to_thread.run_sync(soak.stop, how)
        if is_full:
            soak.book.unaudited |= soak.book.answered.keys() - before
        assert ended == (0 if how == signal.SIGTERM else -how)
        await anyio.to_thread.run_sync(lambda: soak.start(**settings))
        await anyio.to_thread.run_sync(soak.resume_died)
        await soak.progress(CLIENTS)


@pytest.mark.parametrize("small_disk", [100], indirect=True)
async def test_a_soak(
    tmp_path: Path, small_disk: Any, request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each answer is right, or a fault explains it; afterwards nothing is left, memory is flat, and the chain of the
    audit log is whole and has every run."""
    try:
        engine = request.getfixturevalue("engine")
        engine = (
            engine if engine.own else None
        )  # in one of others, containers of other tests would be killed and counted
    except pytest.skip.Exception:  # there is none here: the other executors are soaked
        engine = None
    with Api(tmp_path / "created") as api:
        executors = {"nsjail": {"pool": 2, "most": 6}} | ({"docker": engine.settings(pool=2)} if engine else {})
        config = f"{LIMITS}{KEPT}{SHELF.format(url=api.url)}\n{tomli_w.dumps({'executors': executors})}"
        project = Soaked(tmp_path / "project", config)
        project.change('state = "state"', f'state = "{small_disk.folder}/state"')
        project.state = small_disk.folder / "state"
        tokens = [token(project, name)["token"] for name in ("alice", "bob", "carol", "dave")]
        soak = Soak(project, tokens, engine, tmp_path / "created")
        soak.start(durable="always", fail="open", full="nsjail")
        began = time.monotonic()
        async with anyio.create_task_group() as group:
            for number in range(CLIENTS):
                group.start_soon(soak.client, number)
            before = await worked(soak, api, small_disk)
        after = await idle(soak, before)
        seconds = time.monotonic() - began
        soak.stop(signal.SIGTERM)
        soak.clients_left()
        soak.resume_died()
    with capsys.disabled():
        print(f"\n{json.dumps(report(soak, before, after, seconds), indent=1)}")
    check(soak, before, after)


async def worked(soak: Soak, api: Api, disk: Any) -> dict[str, int]:
    """All runs, with restarts in the first half. Returns: what the last gateway holds when it is warm."""
    restarts = iter(RESTARTS * CYCLES)
    for cycle in range(CYCLES):
        await soak.progress(STEP)
        await faults(soak, api, disk)
        if cycle < CYCLES // 2:
            await restart(soak, disk, *next(restarts))
        elif cycle == CYCLES // 2:
            before = await idle(soak)
    await soak.progress(max(STEP, RUNS - len(soak.book.answered)))
    soak.over = True
    return before


async def idle(soak: Soak, before: dict[str, int] | None = None) -> dict[str, int]:
    """What the gateway holds when no client is there. Its pools end what they had kept ahead, for which a busy engine
    takes a while: what is more than `before` may still go."""
    async with soak.quiet():
        patience = time.monotonic() + PATIENCE
        while True:
            await anyio.sleep(1.5)
            soak.sample()
            held = await anyio.to_thread.run_sync(soak.held)
            if before is None or not grown(before, held) or time.monotonic() > patience:
                return held


def grown(before: dict[str, int], after: dict[str, int]) -> dict[str, int]:
    """By how much more there is of what there should not be."""
    more = {what: count - before.get(what, 0) for what, count in after.items()}
    return {what: n for what, n in more.items() if n > (MORE_OBJECTS if "." in what else MORE)}


def report(soak: Soak, before: dict[str, int], after: dict[str, int], seconds: float) -> dict[str, Any]:
    last = [each for each in soak.memory if each[0] == len(soak.gateways)]
    shown = last[:: max(1, len(last) // 12)]
    return {
        "answered": len(soak.book.answered), "refused": len(soak.book.refused), "lost": len(soak.book.lost), "seconds": round(seconds, 1),
        "writes": compared(soak), "resumed by the operator": dict(soak.book.resumed),
        "gateways": len(soak.gateways), "sandboxes killed": soak.killed, "in docker": soak.docked, "errors of faults": dict(soak.book.errors),
        "memory of the last gateway, KiB by answers": {str(answers): kib for _, answers, kib in shown},
        "held when warm": before, "held at the end": after,
    }  # fmt: skip


def compared(soak: Soak) -> dict[str, int]:
    """The writes, after the API's own log: how many there are, were made twice, are lost, though a client was told that
    their program succeeded, and were shown to the operator as not made; and how many durable runs ended half done."""
    written, book = soak.written(), soak.book
    succeeded = [book.programs[code] for code, outcome in book.answered.items() if outcome["ok"]]
    lost = [name for kind, number in succeeded for name in kind.names(number) if name not in written]
    twice = [name for name, count in written.items() if count > 1]
    return {"all": len(written), "twice": len(twice), "lost": len(lost), "shown as not made": len(book.hidden),
            "ended half done": len(book.half)}  # fmt: skip


def check(soak: Soak, before: dict[str, int], after: dict[str, int]) -> None:
    book = soak.book
    assert not book.wrong, book.wrong[:5]
    assert {name: n for name, n in compared(soak).items() if name != "all" and n} == {}, (
        book.hidden[:3],
        book.half[:3],
    )
    assert {*book.errors} <= EXPLAINED, book.errors
    assert soak.runs_in("nsjail")
    assert until(lambda: not any(soak.leftovers().values()), 20), soak.leftovers()
    assert soak.engine is None or (soak.runs_in("docker") and soak.engine.empty())
    said = soak.project.said()
    failed = [line for line in said.splitlines() if "Traceback" in line and "ClosedResourceError" not in line]
    assert not failed, failed[0][-3000:]  # the SDK has one where a session ends in the middle of a notification
    assert grown(before, after) == {}, (before, after)
    last = [kib for generation, _, kib in soak.memory if generation == len(soak.gateways)]
    warm, end = (statistics.median(part) for part in (last[len(last) // 4 :][:5], last[-5:]))
    assert end <= 1.15 * warm + 8 * 1024, last
    check_audit(soak)


def check_audit(soak: Soak) -> None:
    """The chain is whole, and has each execution: what was answered as it was answered, and what was lost at most as
    begun."""
    verified = soak.project.run("audit", "verify", "--json")
    assert verified.returncode == 0, verified.stdout
    under_way: dict[str, str] = {}
    outcomes: dict[str, bool] = {}
    for line in audited(soak.project.state):
        assert "lost" not in line, line
        if line["event"] == "run_started":
            under_way[line["run"]] = line["code_sha256"]
        elif line["event"] == "run_finished":
            outcomes[line["code_sha256"]] = line["ok"]
            under_way.pop(line["run"], None)
    assert soak.book.refused <= outcomes.keys(), "those that were refused"
    later = soak.book.unaudited | soak.book.resumed_programs
    audited_answers = {code: soak.book.answered[code] for code in soak.book.answered.keys() - later}
    missing = [code for code, outcome in audited_answers.items() if outcomes.get(code) is not outcome["ok"]]
    assert not missing, (len(missing), [soak.book.answered[code] for code in missing[:3]])
    cut_off = soak.book.lost.keys() | soak.book.unaudited
    odd = {run: soak.book.answered.get(code, code) for run, code in under_way.items() if code not in cut_off}
    assert not odd, ("only what died with a gateway has no end", [*odd.items()][:3])
    assert len(under_way) <= CLIENTS * len(soak.gateways) + len(soak.book.unaudited)
    told = [note for note in json.loads(verified.stdout)["notes"] if "have no end" in note]
    assert [note.split()[0] for note in told] == [str(len(under_way))] * bool(under_way)
