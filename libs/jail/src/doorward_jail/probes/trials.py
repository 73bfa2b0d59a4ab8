"""Trials that reach for the host, with what the host opens for them; and the table of all trials."""

from __future__ import annotations

import contextlib
import os
import secrets
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from doorward_jail.probes.trial import Trial
from doorward_jail.probes.trials_of_limits import deadline, memory, processes

if TYPE_CHECKING:
    from doorward import Limits

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
                    what = "a port" if listener.family == socket.AF_INET else "an abstract Unix socket"
                    return f"a program reached {what} of the host"
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

        def judge(value: Any, error: Any) -> str:
            return wrong if token in str(value) else ""

        yield Trial(_FILE, {"PATH": str(canary)}, judge, "a file that all may read cannot be read")


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
        folders = [
            str(folder),
            tempfile.gettempdir(),
            "/",
            "/etc",
            "/usr",
            "/var/tmp",  # noqa: S108
            "/tmp",  # noqa: S108
            "/dev/shm",  # noqa: S108
            "/home",
            os.getcwd(),
        ]

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
    other = secrets.token_hex(8)  # not the token, which the program must not find elsewhere
    idle = [sys.executable, "-I", "-S", "-c", "import sys; sys.stdin.read()", f"{other}-{token}"]
    with subprocess.Popen(idle, stdin=subprocess.PIPE, env={"TOKEN": other}) as process:  # noqa: S603

        def judge(value: Any, error: Any) -> str:
            time.sleep(0.02)  # a signal needs a moment
            if process.poll() is not None:
                return "a program killed a process of the host"
            return "a program saw a process of the host" if value else ""

        try:
            yield Trial(
                _PROCESS, {"PID": process.pid, "TOKEN": other}, judge, "other processes are neither seen nor signalled"
            )
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
    def judge(value: Any, error: Any) -> str:
        return "a program read a variable of the gateway" if token in str(value) else ""

    yield Trial(_ENVIRONMENT, {}, judge, "no variable of the gateway is there")


@contextlib.contextmanager
def _open_folder() -> Iterator[Path]:
    """A folder in which every user of the host may read and write."""
    with tempfile.TemporaryDirectory(prefix="doorward-probe-", dir="/tmp" if os.path.isdir("/tmp") else None) as name:  # noqa: S108
        os.chmod(name, 0o777)  # noqa: S103
        yield Path(name)


TRIALS: dict[str, Callable[[str, Limits], contextlib.AbstractContextManager[Trial]]] = {
    "network": _network,
    "host files": _file,
    "writing outside": _write,
    "other processes": _process,
    "environment": _variables,
    "memory": memory,
    "processes": processes,
    "deadline": deadline,
}
