"""What the probes try: each a program, what the host opens for it, and how the host judges what came of it."""

from __future__ import annotations

import contextlib
import os
import secrets
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from doorward.errors import DoorwardError
    from doorward.types import Failure, Limits

PATIENCE = 5.0
"""Seconds that one probe may take."""

DEADLINE = 0.4
"""Seconds that the program of the probe `deadline` gets; it must be gone a second later."""


@dataclass(frozen=True, slots=True)
class Trial:
    """A program, its parameters, and how the host judges its end: the sentence of what did not hold, or "". `well` says what
    held; `limit` is the word in the message of the limit that should end the program."""

    code: str
    params: Mapping[str, Any]
    judge: Callable[[Any, DoorwardError | Failure | None], str]
    well: str
    limit: str = "-"
    seconds: float = PATIENCE


_NETWORK = """
import socket
PORT = 0
NAME = ""
reached = []
def attempt(what, family, kind, address):
    try:
        with socket.socket(family, kind) as s:
            s.settimeout(1)
            s.connect(address)
            s.send(b"x")
            reached.append(what)
    except (OSError, AttributeError):
        pass
attempt("the host's loopback", socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", PORT))
attempt("an abstract Unix socket", socket.AF_UNIX, socket.SOCK_STREAM, "\\0" + NAME)
attempt("a route to name servers", socket.AF_INET, socket.SOCK_DGRAM, ("192.0.2.1", 53))
attempt("a route to IPv6", socket.AF_INET6, socket.SOCK_DGRAM, ("2001:db8::1", 53))
result = reached
"""


@contextlib.contextmanager
def _network(token: str, limits: Limits) -> Iterator[Trial]:
    with contextlib.ExitStack() as opened:
        listeners = [opened.enter_context(socket.create_server(("127.0.0.1", 0)))]
        if sys.platform == "linux":
            listeners.append(opened.enter_context(socket.socket(socket.AF_UNIX)))
            listeners[1].bind(f"\0{token}")
            listeners[1].listen()

        def judge(value: Any, error: Any) -> str:
            for listener in listeners:
                listener.setblocking(False)
                with contextlib.suppress(BlockingIOError):
                    listener.accept()[0].close()
                    return f"a program reached {'a port' if listener.family == socket.AF_INET else 'an abstract Unix socket'} of the host"
            return f"a program found {', '.join(map(str, value))}" if value else ""

        names = {"PORT": listeners[0].getsockname()[1], "NAME": token}
        yield Trial(_NETWORK, names, judge, "neither a listener of the host nor a route is reached")


_FILE = """
PATH = ""
result = open(PATH).read()
"""


@contextlib.contextmanager
def _file(token: str, limits: Limits) -> Iterator[Trial]:
    with _open_folder() as folder:
        canary = folder / "canary"
        canary.write_text(token)
        canary.chmod(0o644)
        wrong = f"a program read the host's file {canary}"
        yield Trial(_FILE, {"PATH": str(canary)}, lambda value, _: wrong * (token in str(value)), "a file that all may read cannot be read")


_WRITE = """
import os
FOLDERS = []
NAME = ""
for folder in FOLDERS:
    try:
        with open(os.path.join(folder, NAME), "w") as file:
            file.write("x")
    except OSError:
        pass
"""


@contextlib.contextmanager
def _write(token: str, limits: Limits) -> Iterator[Trial]:
    with _open_folder() as folder:
        folders = [str(folder), tempfile.gettempdir(), "/", "/etc", "/usr", "/var/tmp", "/tmp", "/dev/shm", "/home", os.getcwd()]  # noqa: S108

        def judge(value: Any, error: Any) -> str:
            written = [path for name in dict.fromkeys(folders) if (path := Path(name, token)).exists()]
            for path in written:
                path.unlink()
            return f"a program wrote {written[0]} on the host" if written else ""

        yield Trial(_WRITE, {"FOLDERS": folders, "NAME": token}, judge, "nothing of the host can be written")


_PROCESS = """
import os
PID = 0
TOKEN = ""
seen = []
try:
    pids = [name for name in os.listdir("/proc") if name.isdigit()]
except OSError:
    pids = []
for pid in pids:
    for name in ("cmdline", "environ"):
        try:
            if TOKEN.encode() in open("/proc/" + pid + "/" + name, "rb").read():
                seen.append(pid)
        except OSError:
            pass
try:
    os.kill(PID, 9)
except OSError:
    pass
result = seen
"""


@contextlib.contextmanager
def _process(token: str, limits: Limits) -> Iterator[Trial]:
    other = secrets.token_hex(8)  # the program knows it, and so does what runs it
    idle = [sys.executable, "-I", "-S", "-c", "import sys; sys.stdin.read()", f"{other}-{token}"]
    with subprocess.Popen(idle, stdin=subprocess.PIPE, env={"TOKEN": other}) as process:  # noqa: S603

        def judge(value: Any, error: Any) -> str:
            time.sleep(0.02)  # a signal needs a moment
            if process.poll() is not None:
                return "a program killed a process of the host"
            return "a program saw a process of the host" if value else ""

        try:
            yield Trial(_PROCESS, {"PID": process.pid, "TOKEN": other}, judge, "other processes are neither seen nor signalled")
        finally:
            process.kill()


_ENVIRONMENT = """
import os
found = list(os.environ.values())
for pid in ("self", "1", str(os.getppid())):
    try:
        found.append(open("/proc/" + pid + "/environ").read())
    except OSError:
        pass
result = found
"""


@contextlib.contextmanager
def _variables(token: str, limits: Limits) -> Iterator[Trial]:
    wrong = "a program read a variable of the gateway"
    yield Trial(_ENVIRONMENT, {}, lambda value, _: wrong * (token in str(value)), "no variable of the gateway is there")


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
def _memory(token: str, limits: Limits) -> Iterator[Trial]:
    mib = limits.memory // 2**20

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
def _processes(token: str, limits: Limits) -> Iterator[Trial]:
    most = limits.processes

    def judge(value: Any, error: Any) -> str:
        return f"a program started {value} processes, and its limit is {most}" if isinstance(value, int) and value > most else ""

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
def _deadline(token: str, limits: Limits) -> Iterator[Trial]:
    name = f"dw-{token[-10:]}"  # Linux keeps 15 characters
    deadline = time.monotonic() + DEADLINE

    def judge(value: Any, error: Any) -> str:
        late = time.monotonic() - deadline
        time.sleep(0.02)  # those that were killed need a moment
        left = _named(name)
        for pid in left:
            with contextlib.suppress(OSError):
                os.kill(pid, 9)
        if left:
            return f"{len(left)} processes of a program lived on after its deadline"
        return f"a program ended {late:.1f} s late" if late > 1 else ""

    yield Trial(_DEADLINE, {"NAME": name}, judge, "a program that swallows every error is gone, with its children", "", DEADLINE)


def _named(name: str) -> list[int]:
    """The host's processes of this name that live."""
    found = []
    for status in Path("/proc").glob("[0-9]*/status"):
        with contextlib.suppress(OSError):
            text = status.read_text()
            found += [int(status.parent.name)] if text.startswith(f"Name:\t{name}\n") and "State:\tZ" not in text else []
    return found


@contextlib.contextmanager
def _open_folder() -> Iterator[Path]:
    """A folder in which everybody on the host may read and write."""
    with tempfile.TemporaryDirectory(prefix="doorward-probe-", dir="/tmp" if os.path.isdir("/tmp") else None) as name:  # noqa: S108
        os.chmod(name, 0o777)  # noqa: S103
        yield Path(name)


TRIALS: dict[str, Callable[[str, Limits], contextlib.AbstractContextManager[Trial]]] = {
    "network": _network,
    "host files": _file,
    "writing outside": _write,
    "other processes": _process,
    "environment": _variables,
    "memory": _memory,
    "processes": _processes,
    "deadline": _deadline,
}
