"""The first process of a jail: it loads the packages of programs, and starts a process with its own walls for each
sandbox.

It runs no code of agents. Its channel to the host is its standard input and output. When that closes it ends, and with
the first process of the namespace everything in the jail ends.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]
import array
import contextlib
import gc
import importlib
import os
import selectors
import signal
import socket
import sys
from typing import Any

from doorward_jail.inside import relay, runner, walls
from doorward_jail.inside.chance import Chance
from doorward_jail.inside.clocks import Clocks
from doorward_jail.inside.protocol import Frames, encode

_CHUNK_BYTES = 2**16

_CHANNEL = 3
"""The descriptor of a sandbox's channel."""

_ALL_DESCRIPTORS = 65536

_SIGCHLD, _SIGINT, _SIG_DFL = int(signal.SIGCHLD), int(signal.SIGINT), int(signal.SIG_DFL)
"""As numbers, for `_signal`: the functions of `signal` touch, and so copy, many pages more in each new process."""


class Zygote:
    """Starts and ends sandboxes as the host says. It reads no data of sandboxes, which would be in the memory of all
    that it forks later."""

    def __init__(
        self, config: dict[str, Any], runner: runner.Runner, link: socket.socket, selector: selectors.BaseSelector
    ) -> None:
        self._config = config
        self._runner = runner
        self._filter = walls.filter_of(config["bpf"][os.uname().machine])
        self._link = link
        self._frames = Frames(2**16)
        self._children: dict[int, int] = {}
        self._passed: list[int] = []
        self._ended, wakes = socket.socketpair()
        for end in (self._ended, wakes):
            end.setblocking(False)
        self._wakes = wakes
        signal.set_wakeup_fd(wakes.fileno(), warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        selector.register(self._ended, selectors.EVENT_READ, self._reap)
        selector.register(link, selectors.EVENT_READ, self._obey)

    def _obey(self, events: int) -> bool:
        data, fds = self._receive()
        self._passed += fds
        for message, _ in self._frames.feed(data):
            if "fork" in message:
                self._fork(message["fork"])
            elif "kill" in message and (pid := self._children.get(message["kill"])):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        return bool(data)

    def _receive(self) -> tuple[bytes, list[int]]:
        room = socket.CMSG_SPACE(8 * 4)
        try:
            data, parts, _, _ = self._link.recvmsg(_CHUNK_BYTES, room)
        except OSError:
            return b"", []
        found = array.array("i")
        for level, kind, content in parts:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                found.frombytes(content[: len(content) - len(content) % found.itemsize])
        return data, list(found)

    def _tell(self, message: dict[str, Any]) -> None:
        self._link.sendall(encode(message))

    def _fork(self, number: int) -> None:
        link, out = self._passed.pop(0), self._passed.pop(0)
        uid, gid = os.getuid(), os.getgid()
        try:
            pid = walls.start(fresh=self._config["fresh"], network=self._config["network"])
            if pid == 0:
                self._become_sandbox(link, out, uid, gid)
            self._children[number] = pid
        except OSError as error:
            self._tell({"failed": number, "why": str(error)})
        os.close(out)
        os.close(link)

    def _become_sandbox(self, link: int, out: int, uid: int, gid: int) -> None:
        """In the new process: put up its walls, and run the programs that the host sends. Never returns."""
        config = self._config
        try:
            signal.set_wakeup_fd(-1)
            _signal.signal(_SIGCHLD, _SIG_DFL)
            if config["fresh"]:
                walls.hide()
                if pid := os.fork():  # at once: what this process writes to its memory is copied for both
                    self._wait(pid)
                walls.hide(False)
            self._take_channel(link, out)
            os.setsid()
            walls.first_to_die()
            if config["fresh"]:
                walls.settle(uid, gid)
                walls.mount(config["mounts"])
            os.umask(0o022)
            walls.limit(config["limits"])
            if config["fresh"]:
                walls.unlist_mounts()
            os.chdir(walls.WORK)
            walls.privileges(self._filter)
            if program := config["program"]:
                os.execve(walls.PROGRAM, program["words"], program["env"])  # noqa: S606
            self._runner.serve(socket.socket(fileno=_CHANNEL))
        except BaseException as error:
            with contextlib.suppress(OSError):
                os.write(2, f"{type(error).__name__}: {error}\n".encode())
        finally:
            os._exit(1)

    def _take_channel(self, link: int, out: int) -> None:
        """Keep the channel and the output, and no other descriptor."""
        program = self._config["program"]
        channel = walls.PROGRAM if program else _CHANNEL
        os.dup2(link if program else out, 1)
        os.dup2(out, 2)
        os.dup2(link if program else os.open("/dev/null", os.O_RDONLY), 0)
        os.dup2(os.open(program["path"], os.O_RDONLY) if program else link, channel, inheritable=False)
        os.closerange(3, channel)
        os.closerange(channel + 1, _ALL_DESCRIPTORS)

    def _wait(self, pid: int) -> None:
        """As the first process of a sandbox, wait for the second one, which runs the programs. Never returns.

        The second one is made by libc's own fork and has another process id than the zygote. By these, libraries notice
        that they are in a new process, and draw other random numbers and keys. The first one keeps their mounts.
        """
        walls.privileges(self._filter)
        os.closerange(0, _ALL_DESCRIPTORS)
        _signal.signal(_SIGINT, _SIG_DFL)
        while (ended := os.wait())[0] != pid:
            pass
        code = os.waitstatus_to_exitcode(ended[1])
        os._exit(code if code >= 0 else 128 - code)

    def _reap(self, events: int) -> bool:
        """Tell the host of each sandbox whose first process has ended. The kernel ends the others with it."""
        self._ended.recv(4096)
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return True
            if pid == 0:
                return True
            for number, child in list(self._children.items()):
                if child == pid:
                    del self._children[number]
                    code = os.waitstatus_to_exitcode(status)
                    if self._config["fresh"] and 128 < code < 193:  # the first process reports a signal so, see `_wait`
                        code = 128 - code
                    self._tell({"gone": number, "code": code})


def main(config: dict[str, Any]) -> None:
    """Load packages, find out whether sandboxes can have their own namespaces here, and start sandboxes."""
    ends = os.dup(0), os.dup(1)
    os.dup2(2, 1)  # packages may print while they load, which is no frame
    os.dup2(os.open("/dev/null", os.O_RDONLY), 0)
    os.environ.clear()
    os.environ.update(config["env"])
    if "uid" in config:
        walls.become(config["uid"], config["gid"])
    sys.path[:0] = config["path"]
    clocks, chance = Clocks(), Chance()
    clocks.install()
    chance.install()
    problems = {}
    for name in config["preload"]:
        try:
            importlib.import_module(name)
        except BaseException as error:
            problems[name] = f"{type(error).__name__}: {error}"
    config["mounts"] = walls.mounts(config["scratch"], config["inodes"])
    why = ""
    if config["fresh"]:
        why = _refused(config)
        config["fresh"] = not why
    first = runner.Runner(clocks, chance)
    config["limits"] = walls.limits(config)
    if not config["fresh"]:
        walls.hide()
    gc.collect()
    gc.freeze()  # else a collection in a sandbox would touch, and so copy, all of our memory
    for name in [name for name in sys.modules if name.startswith("doorward")]:
        del sys.modules[name]  # programs import a `doorward` of their own
    selector = selectors.DefaultSelector()
    if config["relayed"]:
        link = relay.start(*ends, None if config["fresh"] else selector)
    else:
        link = socket.socket(fileno=ends[0])
    python = ".".join(map(str, sys.version_info[:3]))
    hello = {"python": python, "fresh": config["fresh"], "why": why, "problems": problems}
    link.sendall(encode({"hello": hello}))
    Zygote(config, first, link, selector)
    relay.serve(selector)


def _refused(config: dict[str, Any]) -> str:
    """The reason why a sandbox cannot have its own namespaces here; empty if it can."""
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
            walls.mount(config["mounts"])
            walls.unlist_mounts()
        except OSError as error:
            os.write(writes, str(error).encode())
        finally:
            os._exit(0)
    os.close(writes)
    os.waitpid(pid, 0)
    with open(reads) as answer:
        return answer.read()
