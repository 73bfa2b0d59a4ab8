"""Processes that run programs, as the tests of killed runs ask them to: `victims` is one that forks a process for each
program, which takes milliseconds and dies of a real `kill -9`; `survivor` is one that stays, and resumes them.

A victim kills itself where the upstream cannot see that it stands: in the middle of writing to a journal, and after it.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import importlib
import json
import os
import signal
import sys
import time
import types
from collections.abc import Mapping, Sequence
from typing import Any

import doorward.runs.admission as admission
from doorward import Gateway, Outcome
from doorward.engines import Append, Change
from doorward.model.principals import LOCAL
from doorward_durable_runs import STORED_RUNS
from doorward_store_sqlite import SqliteStore, statements

COMMIT = SqliteStore.commit


class Writes:
    """Counts the commits of journals, and kills this process at one of them: `torn`, so that part of it is made, or
    `after` it."""

    def __init__(self, number: int = 0, when: str = "") -> None:
        self.made, self.number, self.when = 0, number, when
        writes = self

        async def commit(store: SqliteStore, *changes: Change, **more: Any) -> int:
            return await writes.commit(store, changes, more)

        SqliteStore.commit = commit  # type: ignore[method-assign]

    async def commit(self, store: SqliteStore, changes: Sequence[Change], more: Mapping[str, Any]) -> int:
        if not any(isinstance(change, Append) for change in changes):
            return await COMMIT(store, *changes, **more)
        self.made += 1
        is_it, make = self.made == self.number, statements.make
        if is_it and self.when == "torn":
            statements.make = lambda *given: (make(*given), os.kill(os.getpid(), signal.SIGKILL))  # type: ignore
        version = await COMMIT(store, *changes, **more)
        if is_it:
            os.kill(os.getpid(), signal.SIGKILL)
        return version


def _like(module: Any, **changed: Any) -> Any:
    """A module's names, some of them changed, for one other module."""
    return types.SimpleNamespace(**{**vars(module), **changed})


def opened(config: str) -> Any:
    return Gateway.open(config, environ={"CALLER": str(os.getpid())})


async def run(gate: Gateway, asked: dict[str, Any]) -> dict[str, Any]:
    """Do what is asked, with the random numbers that a program of this seed has without the kill."""
    seed = asked.get("seed", 0).to_bytes(32, "big")
    admission.secrets = _like(importlib.import_module("secrets"), token_bytes=lambda size: seed)  # type: ignore[attr-defined]
    writes = Writes(*asked.get("victim", ()))
    for place, how in asked.get("said", ()):  # whether it is sent again, or the answer of one that was made
        said = {"made": tuple(how)} if isinstance(how, list) else {"again": how}
        await gate.services[STORED_RUNS].journals.answer(asked["resume"], place=place, **said)
    if "replay" in asked:
        outcome = await gate.services[STORED_RUNS].replay(asked["replay"])
    elif "resume" in asked:
        outcome = await gate.services[STORED_RUNS].resume(asked["resume"], principal=asked.get("principal", LOCAL))
    else:
        options = {name: asked[name] for name in ("principal", "timeout", "params") if name in asked}
        outcome = await gate.execute(asked["code"], **options)
    return {**told(outcome), "writes": writes.made}


def told(outcome: Outcome) -> dict[str, Any]:
    error, waiting = outcome.error, outcome.waiting
    return {
        "ok": outcome.ok,
        "value": outcome.value,
        "printed": outcome.printed,
        "error": error and [error.type, error.message],
        "hint": error and error.hint,
        "waiting": waiting and waiting.for_,
        "what": waiting and waiting.what,
        "calls": [[c["function"], c["ok"], c["count"]] for c in outcome.calls],
        "files": [[file.type, file.bytes, file.name] for file in outcome.artefacts],
    }


def answer(said: dict[str, Any]) -> None:
    os.write(1, json.dumps(said).encode() + b"\n")


async def survivor(config: str) -> None:
    async with opened(config) as gate:
        answer({})
        while line := await asyncio.to_thread(sys.stdin.readline):
            answer(await run(gate, json.loads(line)))


async def victim(config: str, asked: dict[str, Any]) -> None:
    async with opened(config) as gate:
        answer(await run(gate, asked))
        os._exit(0)


async def warm(config: str) -> None:
    """Import and compile everything, and make calls; but open no sandbox, whose threads would not be forked."""
    async with opened(config) as gate:
        (executor,) = gate.config.executor
        for server in ("api", "keyed"):
            await gate.call(f"{server}.get_item", {"n": 1})
    for name in (
        f"doorward_sandbox_{executor}.sandbox",
        "doorward_durable_runs.journal.journals",
        "doorward.runs.runner",
    ):
        with contextlib.suppress(ImportError):
            importlib.import_module(name)


def victims(config: str) -> None:
    asyncio.run(warm(config))
    for _ in range(500):  # threads that were stopped are gone soon
        if (threads := len(os.listdir("/proc/self/task"))) == 1:
            break
        time.sleep(0.01)
    assert threads == 1, "a process with threads must not be forked"
    gc.collect()
    gc.freeze()
    answer({})
    for line in sys.stdin:
        if not (forked := os.fork()):
            try:
                asyncio.run(victim(config, json.loads(line)))
            finally:
                os._exit(1)
        _, status = os.waitpid(forked, 0)
        if status:
            answer({"killed": os.waitstatus_to_exitcode(status)})


if __name__ == "__main__":
    role, config = sys.argv[1:]
    if role == "victims":
        victims(config)
    else:
        asyncio.run(survivor(config))
