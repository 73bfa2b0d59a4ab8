"""The first process of a jail: it has loaded what programs need, and starts a process with walls of its own for each.

It runs no code of an agent's. Its channel to the host is its standard input and output; when that closes it ends, and with
it, as the first process of its namespace, everything in the jail.
"""

from __future__ import annotations

import array
import contextlib
import gc
import importlib
import os
import selectors
import signal
import socket
import stat
import sys
from typing import Any

from doorward.sandbox.inside import runner, walls
from doorward.sandbox.inside.protocol import MOST_UNREAD, Frames, encode

_CHUNK = 2**16

_LAST = 16
"""Reads of what a sandbox has left: more than its socket and pipe hold, and an end where a process that it left behind writes on."""


class Child:
    """A sandbox's first process, and our ends of its channel and its output where its host cannot hold them."""

    def __init__(self, pid: int, link: socket.socket | None, printed: int) -> None:
        self.pid = pid
        self.link = link
        self.printed = printed
        self.waiting = bytearray()


class Pipes:
    """Standard input and output as one link, where they are no socket."""

    def __init__(self) -> None:
        self._reads, self._writes = os.dup(0), os.dup(1)

    def fileno(self) -> int:
        return self._reads

    def recvmsg(self, size: int, room: int) -> tuple[bytes, list[Any], int, None]:
        return os.read(self._reads, size), [], 0, None

    def sendall(self, data: bytes) -> None:
        while data:
            data = data[os.write(self._writes, data) :]


class Zygote:
    """Starts and ends sandboxes as the host says."""

    def __init__(self, config: dict[str, Any], link: socket.socket | Pipes) -> None:
        self._config = config
        self._link = link
        self._frames = Frames(2**31)
        self._children: dict[int, Child] = {}
        self._passed: list[int] = []
        self._selector = selectors.DefaultSelector()

    def serve(self) -> None:
        """Do what the host says until it is gone."""
        ended, wakes = socket.socketpair()
        for end in (ended, wakes):
            end.setblocking(False)
        signal.set_wakeup_fd(wakes.fileno(), warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self._selector.register(ended, selectors.EVENT_READ, ("ended", 0))
        self._selector.register(self._link, selectors.EVENT_READ, ("host", 0))
        while True:
            for key, events in self._selector.select():
                what, number = key.data
                if what == "host":
                    if not self._obey():
                        return
                elif what == "ended":
                    ended.recv(4096)
                    self._reap()
                elif number in self._children:
                    self._relay(what, number, events)

    def _obey(self) -> bool:
        data, fds = self._receive()
        self._passed += fds
        for message, blob in self._frames.feed(data):
            if "fork" in message:
                self._fork(message["fork"], message.get("passed", False))
            elif "kill" in message and (child := self._children.get(message["kill"])):
                os.kill(child.pid, signal.SIGKILL)  # it is not reaped yet, and so there
            elif "to" in message and (child := self._children.get(message["to"])):
                child.waiting += blob
                self._flush(message["to"], child)
                if len(child.waiting) > MOST_UNREAD:
                    os.kill(child.pid, signal.SIGKILL)
        return bool(data)

    def _receive(self) -> tuple[bytes, list[int]]:
        room = socket.CMSG_SPACE(8 * 4)
        try:
            data, parts, _, _ = self._link.recvmsg(_CHUNK, room)
        except OSError:
            return b"", []
        found = array.array("i")
        for level, kind, content in parts:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                found.frombytes(content[: len(content) - len(content) % found.itemsize])
        return data, list(found)

    def _tell(self, message: dict[str, Any], blob: bytes = b"") -> None:
        self._link.sendall(encode(message, blob))

    def _fork(self, number: int, passed: bool) -> None:
        ours: socket.socket | None = None
        printed = -1
        if passed:
            link, out = socket.socket(fileno=self._passed.pop(0)), self._passed.pop(0)
        else:
            ours, link = socket.socketpair()
            printed, out = os.pipe()
        uid, gid = os.getuid(), os.getgid()
        try:
            pid = walls.start(fresh=self._config["fresh"], network=self._config["network"])
            if pid == 0:
                self._become_sandbox(link, out, uid, gid)
        except OSError as error:
            self._tell({"failed": number, "why": str(error)})
            pid = -1
        os.close(out)
        link.close()
        if ours is not None:
            ours.setblocking(False)
            os.set_blocking(printed, False)
            self._selector.register(ours, selectors.EVENT_READ, ("link", number))
            self._selector.register(printed, selectors.EVENT_READ, ("printed", number))
        child = self._children[number] = Child(pid, ours, printed)
        if pid < 0:
            self._forget(number, child)

    def _become_sandbox(self, link: socket.socket, out: int, uid: int, gid: int) -> None:
        """In the new process: put up its walls, and run what its host sends. Never returns."""
        config = self._config
        try:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            os.dup2(out, 1)
            os.dup2(out, 2)
            os.dup2(os.open("/dev/null", os.O_RDONLY), 0)
            channel = os.dup2(link.fileno(), 3, inheritable=False)
            link.detach()
            os.closerange(channel + 1, 65536)
            os.setsid()
            walls.first_to_die()
            if config["fresh"]:
                walls.settle(uid, gid)
                walls.mounts(config["scratch"], config["inodes"])
            os.chdir(walls.WORK)
            os.umask(0o022)
            walls.limits(config)
            walls.privileges(config["bpf"][os.uname().machine])
            runner.serve(socket.socket(fileno=channel))
        except BaseException as error:
            with contextlib.suppress(OSError):
                os.write(2, f"{type(error).__name__}: {error}\n".encode())
        finally:
            os._exit(1)

    def _relay(self, what: str, number: int, events: int) -> None:
        """Pass on what a sandbox sends, and what is meant for it, unread."""
        child = self._children[number]
        assert child.link is not None
        if events & selectors.EVENT_WRITE:
            self._flush(number, child)
        if events & selectors.EVENT_READ:
            for _ in range(_LAST if what == "link" else 0):  # what was printed before a frame goes before it
                if not self._pass_on("printed", number, child):
                    break
            self._pass_on(what, number, child)

    def _pass_on(self, what: str, number: int, child: Child) -> bool:
        source = child.printed if what == "printed" else child.link.fileno()  # type: ignore[union-attr]
        try:
            data = os.read(source, _CHUNK)
        except BlockingIOError:
            return False
        except OSError:
            data = b""
        if data:
            self._tell({"printed" if what == "printed" else "from": number}, data)
        else:
            with contextlib.suppress(KeyError, ValueError):
                self._selector.unregister(source)
        return bool(data)

    def _flush(self, number: int, child: Child) -> None:
        assert child.link is not None
        with contextlib.suppress(BlockingIOError):
            while child.waiting:
                try:
                    sent = child.link.send(child.waiting)
                except BrokenPipeError:
                    sent = len(child.waiting)
                del child.waiting[:sent]
        wanted = selectors.EVENT_READ | (selectors.EVENT_WRITE if child.waiting else 0)
        with contextlib.suppress(KeyError):
            self._selector.modify(child.link, wanted, ("link", number))

    def _reap(self) -> None:
        """Tell of each sandbox whose first process has ended, and that is all of it: the kernel ends what it had started."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            for number, child in list(self._children.items()):
                if child.pid == pid:
                    self._forget(number, child)
                    self._tell({"gone": number, "code": os.waitstatus_to_exitcode(status)})

    def _forget(self, number: int, child: Child) -> None:
        if child.link is not None:
            for what in ("link", "printed"):
                for _ in range(_LAST):
                    if not self._pass_on(what, number, child):
                        break
            for source in (child.link, child.printed):
                with contextlib.suppress(KeyError, ValueError):
                    self._selector.unregister(source)
            child.link.close()
            os.close(child.printed)
        del self._children[number]


def main(config: dict[str, Any]) -> None:
    """Load what programs need, see whether sandboxes can have namespaces of their own here, and serve."""
    link = socket.socket(fileno=os.dup(0)) if stat.S_ISSOCK(os.fstat(0).st_mode) else Pipes()
    os.dup2(2, 1)  # what packages print while they load is no frame
    os.dup2(os.open("/dev/null", os.O_RDONLY), 0)
    os.environ.clear()
    os.environ.update(config["env"])
    if "uid" in config:
        walls.become(config["uid"], config["gid"])
    sys.path[:0] = config["path"]
    problems = {}
    for name in config["preload"]:
        try:
            importlib.import_module(name)
        except BaseException as error:
            problems[name] = f"{type(error).__name__}: {error}"
    config["reserved"] = walls.reserved()
    why = ""
    if config["fresh"]:
        why = _refused(config)
        config["fresh"] = not why
    if not config["fresh"]:
        walls.hide()
    gc.collect()
    gc.freeze()  # that no collection in a sandbox touches, and so copies, all of our memory
    for name in [name for name in sys.modules if name.startswith("doorward")]:
        del sys.modules[name]  # programs import a `doorward` of their own
    hello = {"python": ".".join(map(str, sys.version_info[:3])), "fresh": config["fresh"], "why": why, "problems": problems}
    link.sendall(encode({"hello": hello}))
    Zygote(config, link).serve()


def _refused(config: dict[str, Any]) -> str:
    """Why a process cannot have namespaces of its own here; empty if it can."""
    if os.getpid() != 1:
        return "the zygote is not the first process of its namespace"
    uid, gid = os.getuid(), os.getgid()
    reads, writes = os.pipe()
    try:
        pid = walls.start(fresh=True, network=config["network"])
    except OSError as error:
        return str(error)
    if pid == 0:
        try:
            walls.settle(uid, gid)
            walls.mounts(config["scratch"], config["inodes"])
        except OSError as error:
            os.write(writes, str(error).encode())
        finally:
            os._exit(0)
    os.close(writes)
    os.waitpid(pid, 0)
    with open(reads) as answer:
        return answer.read()
