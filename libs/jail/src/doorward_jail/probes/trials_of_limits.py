"""Trials of limits: memory, processes, the deadline."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from doorward_jail.probes.trial import Trial

if TYPE_CHECKING:
    from doorward import Limits

DEADLINE_SECONDS = 0.4
"""The time of the program of the probe `deadline`, which must be gone a second later."""

_MEMORY = """
MIB = 0
taken = 0
held = []
while taken < MIB:
    held.append(str(taken % 10) * 4194304)
    taken += 4
result = taken
"""


@contextlib.contextmanager
def memory(token: str, limits: Limits) -> Iterator[Trial]:
    mib = limits.memory_bytes // 2**20

    def judge(value: Any, error: Any) -> str:
        return f"a program took {value} MiB, and its limit is {mib} MiB" if error is None else ""

    yield Trial(_MEMORY, {"MIB": mib * 5 // 4 + 16}, judge, f"a program ends at its limit of {mib} MiB", "memory")


_PROCESSES = """
import os, time
MOST = 0
started = 0
try:
    while started < MOST:
        if os.fork() == 0:
            time.sleep(60)
            os._exit(0)
        started += 1
except OSError:
    pass
result = started
"""


@contextlib.contextmanager
def processes(token: str, limits: Limits) -> Iterator[Trial]:
    most = limits.processes

    def judge(value: Any, error: Any) -> str:
        is_over = isinstance(value, int) and value > most
        return f"a program started {value} processes, and its limit is {most}" if is_over else ""

    yield Trial(_PROCESSES, {"MOST": most + 16}, judge, f"a program gets no more than {most} processes", "processes")


_DEADLINE = """
NAME = ""
try:
    import ctypes, os, signal
    signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
    ctypes.CDLL(None).prctl(15, NAME.encode(), 0, 0, 0)  # the host knows it, and its children, by this name
    if os.fork() == 0:
        os.setsid()
        os.fork()
except Exception:
    pass
while True:
    try:
        while True:
            pass
    except BaseException:
        pass
"""


@contextlib.contextmanager
def deadline(token: str, limits: Limits) -> Iterator[Trial]:
    name = f"dw-{token[-10:]}"  # Linux keeps 15 characters
    end = time.monotonic() + DEADLINE_SECONDS

    def judge(value: Any, error: Any) -> str:
        late = time.monotonic() - end
        time.sleep(0.02)  # those that were killed need a moment
        for pid in (left := _named(name)):
            with contextlib.suppress(OSError):
                os.kill(pid, 9)
        if left:
            return f"{len(left)} processes of a program lived on after its deadline"
        return f"a program ended {late:.1f} s late" if late > 1 else ""

    yield Trial(
        _DEADLINE,
        {"NAME": name},
        judge,
        "a program that swallows every error is gone, with its children",
        "",
        DEADLINE_SECONDS,
    )


def _named(name: str) -> list[int]:
    """The running processes of the host with this name."""
    found = []
    for status in Path("/proc").glob("[0-9]*/status"):
        with contextlib.suppress(OSError):
            text = status.read_text()
            if text.startswith(f"Name:\t{name}\n") and "State:\tZ" not in text:
                found.append(int(status.parent.name))
    return found
