"""Trials of limits: memory, processes, files, the deadline."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from doorward_jail.probes import in_javascript
from doorward_jail.probes.trial import TRIAL_SECONDS, Asked, Trial

DEADLINE_SECONDS = 0.4
"""The time of the program of the probe `deadline`."""

GONE_SECONDS = 10.0
"""What a program has started must be gone so long after its end: a busy engine takes seconds to remove a container."""

MAX_SCRATCH_BYTES = 2**30
"""Where a sandbox may have more files than this, nobody tries whether it may have still more."""

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
def memory(asked: Asked) -> Iterator[Trial]:
    mib = asked.limits.memory_bytes // 2**20

    def judge(value: Any, error: Any) -> str:
        return f"a program took {value} MiB, and its limit is {mib} MiB" if error is None else ""

    yield Trial(
        asked.written(_MEMORY, in_javascript.MEMORY),
        {"MIB": mib * 5 // 4 + 16},
        judge,
        f"a program ends at its limit of {mib} MiB",
        "memory",
    )


_PROCESSES = """
import os, time
MOST = 0
NAME = ""
SECONDS = 0.0
started = 0
try:
    import ctypes
    ctypes.CDLL(None).prctl(15, NAME.encode(), 0, 0, 0)  # the host knows it, and its children, by this name
except Exception:
    pass
try:
    while started < MOST:
        if os.fork() == 0:
            time.sleep(SECONDS)
            os._exit(0)
        started += 1
except OSError:
    pass
result = started
"""


@contextlib.contextmanager
def processes(asked: Asked) -> Iterator[Trial]:
    """Its children sleep, and end by themselves, wherever nothing ends them."""
    most, name = asked.limits.processes, f"dp-{asked.token[-10:]}"

    def judge(value: Any, error: Any) -> str:
        left = _ended(name)
        if isinstance(value, int) and value > most:
            return f"a program started {value} processes, and its limit is {most}"
        return f"{left} processes of a program lived on after its end" if left else ""

    given = {"MOST": most + 16, "NAME": name, "SECONDS": 2 * TRIAL_SECONDS}
    yield Trial(
        asked.written(_PROCESSES, in_javascript.PROCESSES),
        given,
        judge,
        f"a program gets no more than {most} processes",
        "processes",
    )


_SCRATCH = """
import os
MIB = 0
taken = 0
made = []
try:
    while taken < MIB:
        file = open("probe-" + str(taken), "wb")
        made.append(file)
        os.posix_fallocate(file.fileno(), 0, 8 * 2**20)
        taken += 8
except OSError:
    pass
for file in made:
    file.close()
    os.unlink(file.name)
result = taken
"""


@contextlib.contextmanager
def scratch(asked: Asked) -> Iterator[Trial]:
    """Room for files is reserved, and given back at once."""
    most = asked.scratch // 2**20

    def judge(value: Any, error: Any) -> str:
        is_over = isinstance(value, int) and value > most
        return f"a program made files of {value} MiB, and its limit is {most} MiB" if is_over else ""

    if asked.scratch > MAX_SCRATCH_BYTES:
        many = f"a sandbox may have {most} MiB of files"
        code = asked.written(f"raise NotImplementedError('{many}')", f"throw new TypeError('{many}')")
        yield Trial(code, {}, judge, "")
    else:
        yield Trial(
            asked.written(_SCRATCH, in_javascript.SCRATCH),
            {"MIB": most + 64},
            judge,
            f"a program gets no more than {most} MiB of files",
            "memory",
        )


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
def deadline(asked: Asked) -> Iterator[Trial]:
    name = f"dw-{asked.token[-10:]}"  # Linux keeps 15 characters
    end = time.monotonic() + DEADLINE_SECONDS

    def judge(value: Any, error: Any) -> str:
        late = time.monotonic() - end
        if left := _ended(name):
            return f"{left} processes of a program lived on after its deadline"
        return f"a program ended {late:.1f} s late" if late > GONE_SECONDS else ""

    yield Trial(
        asked.written(_DEADLINE, in_javascript.DEADLINE),
        {"NAME": name},
        judge,
        "a program that swallows every error is gone, with its children",
        "",
        DEADLINE_SECONDS,
    )


def _ended(name: str) -> int:
    """End the running processes of the host with this name. Returns: how many there were."""
    end = time.monotonic() + GONE_SECONDS
    while (left := _named(name)) and time.monotonic() < end:  # those that are being killed need a moment
        time.sleep(0.02)
    for pid in left:
        with contextlib.suppress(OSError):
            os.kill(pid, 9)
    return len(left)


def _named(name: str) -> list[int]:
    """The running processes of the host with this name."""
    found = []
    for status in Path("/proc").glob("[0-9]*/status"):
        with contextlib.suppress(OSError):
            text = status.read_text()
            if text.startswith(f"Name:\t{name}\n") and "State:\tZ" not in text:
                found.append(int(status.parent.name))
    return found
