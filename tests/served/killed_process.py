"""Processes that run, resume and replay one program each, as the tests of killed runs ask them to. They are forked from
one that has done all that once: a process takes milliseconds, and dies of a real `kill -9`.

It kills itself where the upstream cannot see that it stands: in the middle of writing to a journal, and after that.
"""

from __future__ import annotations

import asyncio
import gc
import importlib
import json
import os
import random
import signal
import sys
import time
import types
from typing import Any

import doorward.journal.store as store
import doorward.runs.admission as admission
from doorward import Gateway, Outcome


class Writes:
    """Counts what is written to journals, and kills this process at one of them: `torn`, so that half of it is written,
    or `after` it."""

    def __init__(self, number: int = 0, when: str = "") -> None:
        self.made, self.number, self.when = 0, number, when

    def write(self, number: int, content: bytes) -> int:
        self.made += 1
        if self.made == self.number and self.when == "torn":
            os.write(number, content[: random.Random(len(content)).randrange(len(content))])
            os.kill(os.getpid(), signal.SIGKILL)
        written = os.write(number, content)
        if self.made == self.number:
            os.kill(os.getpid(), signal.SIGKILL)
        return written


def _like(module: Any, **changed: Any) -> Any:
    """A module's names, some of them changed, for one other module."""
    return types.SimpleNamespace(**{**vars(module), **changed})


async def run(asked: dict[str, Any], writes: Writes) -> dict[str, Any]:
    async with Gateway.open(asked["config"], environ={"CALLER": str(os.getpid())}) as gate:
        for place, again in asked.get("said", ()):
            gate.runs.journals.answer(asked["resume"], again=again, place=place)
        if "replay" in asked:
            outcome = await gate.runs.replay(asked["replay"])
        elif "resume" in asked:
            outcome = await gate.runs.resume(asked["resume"])
        else:
            outcome = await gate.execute(asked["code"])
        return {**told(outcome), "writes": writes.made}


async def warm(config: str) -> None:
    """Import and compile everything, and make calls; but open no sandbox, whose threads would not be forked."""
    async with Gateway.open(config, environ={"CALLER": str(os.getpid())}) as gate:
        for server in ("api", "keyed"):
            await gate.call(f"{server}.get_item", {"n": 1})
    for name in ("doorward_sandbox_monty.sandbox", "doorward.journal.journals", "doorward.runs.runner"):
        importlib.import_module(name)


def told(outcome: Outcome) -> dict[str, Any]:
    error, waiting = outcome.error, outcome.waiting
    return {
        "ok": outcome.ok,
        "value": outcome.value,
        "printed": outcome.printed,
        "error": error and [error.type, error.message],
        "waiting": waiting and waiting.for_,
        "calls": [[c["function"], c["ok"], c["count"]] for c in outcome.calls],
        "files": [[file.type, file.bytes, file.name] for file in outcome.artefacts],
    }


def child(asked: dict[str, Any]) -> None:
    writes = Writes(*asked.get("victim", ()))
    store.os = _like(os, write=writes.write)  # type: ignore[attr-defined]
    seed = asked.get("seed", 0).to_bytes(32, "big")  # the same random numbers as without the kill
    admission.secrets = _like(admission.secrets, token_bytes=lambda size: seed)  # type: ignore[attr-defined]
    answer = json.dumps(asyncio.run(run(asked, writes)))
    os.write(1, answer.encode() + b"\n")
    os._exit(0)


def main() -> None:
    asyncio.run(warm(json.loads(sys.stdin.readline())["config"]))
    for _ in range(500):  # threads that were stopped are gone soon
        if (threads := len(os.listdir("/proc/self/task"))) == 1:
            break
        time.sleep(0.01)
    assert threads == 1, "a process with threads must not be forked"
    gc.collect()
    gc.freeze()
    os.write(1, b"{}\n")
    for line in sys.stdin:
        if not (forked := os.fork()):
            try:
                child(json.loads(line))
            finally:
                os._exit(1)
        _, status = os.waitpid(forked, 0)
        if status:
            os.write(1, json.dumps({"killed": os.waitstatus_to_exitcode(status)}).encode() + b"\n")


if __name__ == "__main__":
    main()
