"""Trials that reach for other processes, for the environment of the gateway, and for privileges."""

from __future__ import annotations

import contextlib
import secrets
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

from doorward_jail.probes import in_javascript
from doorward_jail.probes.trial import Asked, Trial, listed, told

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
    import ctypes
    if ctypes.CDLL(None).ptrace(16, PID, None, None) == 0:
        seen.append("by ptrace")
except (OSError, ImportError, AttributeError):
    pass
try:
    os.kill(PID, 9)
except OSError:
    pass
result = seen
"""


@contextlib.contextmanager
def others(asked: Asked) -> Iterator[Trial]:
    other = secrets.token_hex(8)  # not the token, which the program must not find elsewhere
    idle = [sys.executable, "-I", "-S", "-c", "import sys; sys.stdin.read()", f"{other}-{asked.token}"]
    with subprocess.Popen(idle, stdin=subprocess.PIPE, env={"TOKEN": other}) as process:  # noqa: S603

        def judge(value: Any, error: Any) -> str:
            time.sleep(0.02)  # a signal needs a moment
            if process.poll() is not None:
                return "a program killed a process of the host"
            return "a program saw a process of the host" if value else ""

        try:
            yield Trial(
                asked.written(_PROCESS, in_javascript.PROCESS),
                {"PID": process.pid, "TOKEN": other},
                judge,
                "other processes are neither seen nor signalled",
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
def variables(asked: Asked) -> Iterator[Trial]:
    def judge(value: Any, error: Any) -> str:
        return "a program read a variable of the gateway" if asked.token in str(value) else ""

    yield Trial(
        asked.written(_ENVIRONMENT, in_javascript.ENVIRONMENT), {}, judge, "no variable of the gateway is there"
    )


_PRIVILEGES = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
gained = []
def attempt(what, work):
    try:
        if work():
            gained.append(what)
    except (OSError, AttributeError, ValueError):
        pass
def capabilities():
    header, sets = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
    return libc.capget(header, sets) == 0 and any(sets)
def mounts():
    ctypes.set_errno(0)
    libc.mount(b"none", b"/", b"doorward-no-such-type", ctypes.c_ulong(0), None)
    return ctypes.get_errno() == 19  # unknown type: it was allowed to ask
name = os.uname().nodename.encode()
attempt("capabilities", capabilities)
attempt("programs that gain privileges", lambda: libc.prctl(39, 0, 0, 0, 0) == 0)
attempt("mounts", mounts)
attempt("the name of the host", lambda: libc.sethostname(name, len(name)) == 0)
attempt("another root folder", lambda: os.chroot("/") is None)
attempt("namespaces of its own", lambda: libc.unshare(0x10000000) == 0)
attempt("another user", lambda: os.setresuid(54321, 54321, 54321) is None)
result = gained
"""


@contextlib.contextmanager
def privileges(asked: Asked) -> Iterator[Trial]:
    """Nothing that these do outlives the process, wherever they work."""

    def judge(value: Any, error: Any) -> str:
        return told("has", listed(value))

    yield Trial(
        asked.written(_PRIVILEGES, in_javascript.PRIVILEGES), {}, judge, "a program has no capability, and gets none"
    )
