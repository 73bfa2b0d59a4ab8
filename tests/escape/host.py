"""The host that attacks aim at: canaries, listeners, victims, and what of them has been touched."""

from __future__ import annotations

import contextlib
import ctypes
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
from doorward import ApiError, Call, Compiled, Function, Outcome, ServerContext, Settings

from .attack import Attack

EVERYBODYS = "/usr/bin/python3"
"""A Python that every user may run."""

VICTIM = "import signal, sys\nsignal.signal(signal.SIGTERM, lambda *a: sys.exit(3))\nprint('up', flush=True)\nsys.stdin.read()"


class Vault:
    """A source with functions that programs may call, and one that policy denies. It keeps what was called."""

    Settings = Settings
    called: list[str] = []  # noqa: RUF012 - the test reads it from the class
    released = threading.Event()
    """Set when calls of `wait` shall answer."""

    def __init__(self, server: ServerContext) -> None:
        pass

    async def fingerprint(self) -> str:
        return "1"

    async def compile(self) -> Compiled:
        return Compiled([Function("vault", name) for name in ("read", "write", "forbidden", "slow", "wait", "fail")])

    async def call(self, call: Call) -> Any:
        Vault.called.append(call.function.name)
        if call.function.name == "fail":
            raise ApiError("gone", status=404)
        if call.function.name == "slow":
            await anyio.sleep(30)
        while call.function.name == "wait" and not Vault.released.is_set():
            await anyio.sleep(0.02)
        return {"name": call.function.name}

    async def close(self) -> None:
        pass


class Host:
    """Everything is readable, writable and reachable for everybody on this machine, so that only isolation keeps a
    program away."""

    def __init__(self) -> None:
        self._opened = contextlib.ExitStack()
        self.token = f"canary-{secrets.token_hex(8)}"
        self.folder = Path(tempfile.mkdtemp(prefix="dw-escape-", dir="/tmp"))
        self._opened.callback(shutil.rmtree, self.folder, ignore_errors=True)
        self.folder.chmod(0o777)
        self.drop = self.folder / "drop"
        self.drop.mkdir()
        self.drop.chmod(0o777)
        self.canaries = [self._file(self.folder / "canary"), self._file(Path(f"/dev/shm/dw-{self.token[-16:]}"))]
        os.environ["DW_ESCAPE"] = self.token
        self._opened.callback(os.environ.pop, "DW_ESCAPE")
        self._inherited = open(self.canaries[0], "rb")  # noqa: SIM115 - an executor that hands on what it has open shows it
        self._opened.enter_context(self._inherited)
        os.set_inheritable(self._inherited.fileno(), True)
        self._listeners: dict[str, socket.socket] = {}
        self._listen("tcp", socket.AF_INET, ("127.0.0.1", 0))
        self._listen("udp", socket.AF_INET, ("127.0.0.1", 0), socket.SOCK_DGRAM)
        self._listen("every", socket.AF_INET, ("0.0.0.0", 0))
        self._listen("tcp6", socket.AF_INET6, ("::1", 0))
        self._listen("abstract", socket.AF_UNIX, f"\0{self.folder.name}")
        self._listen("datagram", socket.AF_UNIX, f"\0{self.folder.name}-d", socket.SOCK_DGRAM)
        self._listen("path", socket.AF_UNIX, str(self.folder / "socket"))
        with contextlib.suppress(OSError, AttributeError):
            self._listen("vsock", socket.AF_VSOCK, (socket.VMADDR_CID_ANY, 47_111))
        others = [65534, 1000] if os.getuid() == 0 and Path(EVERYBODYS).exists() else []
        self.victims = [self._victim(user) for user in (None, *others)]
        self._shared = self._segment()
        self.hostname = socket.gethostname()
        self.survivor, self.nap = f"dw-{secrets.token_hex(5)}", str(10**6 + secrets.randbelow(10**6))
        self.executor = ""

    def close(self) -> None:
        self._opened.close()

    @property
    def facts(self) -> dict[str, Any]:
        """What a program is told of the host: where everything is, not what is in it."""
        return {
            "canaries": [str(path) for path in self.canaries],
            "drop": str(self.drop),
            "folder": str(self.folder),
            "ports": {
                name: s.getsockname()[1]
                for name, s in self._listeners.items()
                if s.family in (socket.AF_INET, socket.AF_INET6)
            },
            "abstract": self.folder.name,
            "pids": [victim.pid for victim in self.victims],
            "gateway": os.getpid(),
            "inherited": self._inherited.fileno(),
            "address": _address(),
            "shared": self._shared,
            "hostname": self.hostname,
            "survivor": self.survivor,
            "nap": self.nap,
        }

    def touched(self, attack: Attack, outcome: Outcome) -> list[str]:
        """What an attack did to the host, in sentences; none, if it is contained."""
        wrong = [f"a connection reached {name}" for name, listener in self._listeners.items() if _reached(listener)]
        wrong += [f"a process of the host ended by {v.poll()}" for v in self.victims if v.poll() is not None]
        wrong += [
            "a process of the host was stopped" for v in self.victims if v.poll() is None and _state(v.pid) in "Tt"
        ]
        wrong += [f"{path} was changed" for path in self.canaries if path.read_text() != self.token]
        wrong += [f"{path} was written" for path in self.drop.iterdir()]
        wrong += [f"{path} was made" for path in self.folder.iterdir() if path.name not in ("canary", "drop", "socket")]
        wrong += ["a function that policy denies was called"] * ("forbidden" in Vault.called)
        wrong += [f"the host is called {socket.gethostname()}"] * (socket.gethostname() != self.hostname)
        wrong += ["a canary of the host is in the outcome"] * (self.token in repr(outcome))
        wrong += [f"the run took {outcome.ms:.0f} ms"] * (outcome.ms > (attack.timeout + 20) * 1000)
        if not gone(lambda: not self.survivors(), 20):
            wrong.append(f"{len(self.survivors())} processes outlived the run")
            for pid in self.survivors():
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
        Vault.called.clear()
        return wrong

    def survivors(self) -> list[int]:
        """The processes on the host that attacks have marked, by name, or by what they wait for if they run another
        program by now; those in sandboxes included. Zombies are none."""
        name, words = f"{self.survivor}\n".encode(), f"sleep\0{self.nap}\0".encode()
        pids = [int(entry) for entry in os.listdir("/proc") if entry.isdigit()]
        marked = [pid for pid in pids if _of(pid, "comm") == name or _of(pid, "cmdline") == words]
        return [pid for pid in marked if _of(pid, "stat").rpartition(b") ")[2][:1] not in (b"", b"Z", b"X")]

    def _file(self, path: Path) -> Path:
        path.write_text(self.token)
        path.chmod(0o666)
        self._opened.callback(path.unlink, missing_ok=True)
        return path

    def _listen(self, name: str, family: int, address: Any, kind: int = socket.SOCK_STREAM) -> None:
        listener = self._opened.enter_context(socket.socket(family, kind))
        try:
            listener.bind(address)
        except OSError:
            if family != socket.AF_INET6:
                raise
            return
        if kind == socket.SOCK_STREAM:
            listener.listen(8)
        listener.setblocking(False)
        if family == socket.AF_UNIX and name == "path":
            os.chmod(address, 0o777)
        self._listeners[name] = listener

    def _victim(self, user: int | None) -> subprocess.Popen[bytes]:
        """A process of the host with canaries in its environment, its arguments and its memory; of the user, else
        ours. It ends with us, even if we are killed: then nothing holds its standard input open."""
        words = [EVERYBODYS if user else sys.executable, "-I", "-S", "-c", VICTIM, self.token]
        victim = subprocess.Popen(
            words, env={"TOKEN": self.token}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, user=user, cwd="/"
        )
        assert victim.stdout
        assert victim.stdout.readline() == b"up\n"
        self._opened.callback(victim.wait)
        self._opened.callback(victim.kill)
        return victim

    def _segment(self) -> int:
        """The key of a System V shared memory segment that everybody may read; 0 if there is none."""
        libc = ctypes.CDLL(None, use_errno=True)
        libc.shmat.restype = ctypes.c_void_p
        key = secrets.randbits(30)
        number = libc.shmget(key, 4096, 0o1666)
        if number < 0:
            return 0
        self._opened.callback(libc.shmctl, number, 0, None)
        place = libc.shmat(number, None, 0)
        ctypes.memmove(place, self.token.encode(), len(self.token))
        libc.shmdt(ctypes.c_void_p(place))
        return key


def gone(done: Callable[[], bool], seconds: float) -> bool:
    patience = time.monotonic() + seconds
    while not done():
        if time.monotonic() > patience:
            return False
        time.sleep(0.02)
    return True


def _reached(listener: socket.socket) -> bool:
    """Whether anything came. All of it is taken, or the next attack would be blamed for it."""
    reached = False
    with contextlib.suppress(BlockingIOError):
        while True:
            if listener.type == socket.SOCK_DGRAM:
                listener.recv(100)
            else:
                listener.accept()[0].close()
            reached = True
    return reached


def _of(pid: int, file: str) -> bytes:
    """The start of a file of a process in /proc; nothing if it is gone. Each attack asks for those of all processes."""
    try:
        opened = os.open(f"/proc/{pid}/{file}", os.O_RDONLY)
    except OSError:
        return b""
    try:
        return os.read(opened, 4096)
    except OSError:
        return b""
    finally:
        os.close(opened)


def _state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0]


def _address() -> str:
    """An address of this machine that is not its loopback."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        try:
            asked.connect(("192.0.2.1", 9))
            return str(asked.getsockname()[0])
        except OSError:
            return "127.0.0.1"
