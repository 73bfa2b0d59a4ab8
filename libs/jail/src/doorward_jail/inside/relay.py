"""A process between the sandboxes of a jail and a host that cannot pass file descriptors: it holds the ends of their
channels and outputs, and passes bytes on unread.

No sandbox is forked from it: bytes that it passed on may still be in its memory, and the next client's program would
have them too.
"""

from __future__ import annotations

import contextlib
import os
import resource
import selectors
import socket
from functools import partial
from typing import Any

from doorward_jail.inside.protocol import MAX_UNREAD_BYTES, Frames, encode

_CHUNK_BYTES = 2**16

_READS_AT_ONCE = 16
"""More than a socket or a pipe holds, but bounded: a process that a sandbox left behind may write without end."""


class Child:
    """The relay's ends of a sandbox's channel and of its output."""

    def __init__(self, link: socket.socket, printed: int) -> None:
        self.link = link
        self.printed = printed
        self.waiting = bytearray()


class Relay:
    """Passes messages between the host on one side, and the zygote and its sandboxes on the other."""

    def __init__(self, reads: int, writes: int, zygote: socket.socket, selector: selectors.BaseSelector) -> None:
        self._reads, self._writes, self._zygote = reads, writes, zygote
        self._orders, self._news = Frames(2**31), Frames(2**31)
        self._children: dict[int, Child] = {}
        self._selector = selector
        selector.register(reads, selectors.EVENT_READ, self._hear_host)
        selector.register(zygote, selectors.EVENT_READ, self._hear_zygote)

    def _hear_host(self, events: int) -> bool:
        data = os.read(self._reads, _CHUNK_BYTES)
        for message, blob in self._orders.feed(data):
            self._obey(message, blob)
        return bool(data)

    def _hear_zygote(self, events: int) -> bool:
        data = self._zygote.recv(_CHUNK_BYTES)
        for message, _ in self._news.feed(data):
            self._forget(message.get("gone") or message.get("failed") or 0)
            self._tell(message)
        return bool(data)

    def _tell(self, message: dict[str, Any], blob: bytes = b"") -> None:
        data = encode(message, blob)
        while data:
            data = data[os.write(self._writes, data) :]

    def _obey(self, message: dict[str, Any], blob: bytes) -> None:
        if "fork" in message:
            self._fork(message)
        elif "kill" in message:
            self._zygote.sendall(encode(message))
        elif (child := self._children.get(message["to"])) is not None:
            child.waiting += blob
            self._flush(message["to"], child)
            if len(child.waiting) > MAX_UNREAD_BYTES:
                self._zygote.sendall(encode({"kill": message["to"]}))

    def _fork(self, message: dict[str, Any]) -> None:
        ours, link = socket.socketpair()
        printed, out = os.pipe()
        try:
            socket.send_fds(self._zygote, [encode(message)], (link.fileno(), out))
        except OSError as error:
            self._tell({"failed": message["fork"], "why": str(error)})
            ours.close()
            os.close(printed)
        else:
            ours.setblocking(False)
            os.set_blocking(printed, False)
            self._selector.register(ours, selectors.EVENT_READ, partial(self._pass, "link", message["fork"]))
            self._selector.register(printed, selectors.EVENT_READ, partial(self._pass, "printed", message["fork"]))
            self._children[message["fork"]] = Child(ours, printed)
        finally:
            link.close()
            os.close(out)

    def _pass(self, what: str, number: int, events: int) -> bool:
        if (child := self._children.get(number)) is None:
            return True
        if events & selectors.EVENT_WRITE:
            self._flush(number, child)
        if events & selectors.EVENT_READ:
            for _ in range(_READS_AT_ONCE if what == "link" else 0):  # output printed before a frame goes before it
                if not self._pass_on("printed", number, child):
                    break
            self._pass_on(what, number, child)
        return True

    def _pass_on(self, what: str, number: int, child: Child) -> bool:
        source = child.printed if what == "printed" else child.link.fileno()
        try:
            data = os.read(source, _CHUNK_BYTES)
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
        with contextlib.suppress(BlockingIOError):
            while child.waiting:
                try:
                    sent = child.link.send(child.waiting)
                except BrokenPipeError:
                    sent = len(child.waiting)
                del child.waiting[:sent]
        wanted = selectors.EVENT_READ | (selectors.EVENT_WRITE if child.waiting else 0)
        with contextlib.suppress(KeyError):
            self._selector.modify(child.link, wanted, partial(self._pass, "link", number))

    def _forget(self, number: int) -> None:
        if (child := self._children.get(number)) is None:
            return
        for what in ("link", "printed"):
            for _ in range(_READS_AT_ONCE):
                if not self._pass_on(what, number, child):
                    break
        for source in (child.link, child.printed):
            with contextlib.suppress(KeyError, ValueError):
                self._selector.unregister(source)
        child.link.close()
        os.close(child.printed)
        del self._children[number]


def serve(selector: selectors.BaseSelector) -> None:
    """Handle events until the other side of a channel is gone."""
    while True:
        for key, events in selector.select():
            if not key.data(events):
                return


def start(reads: int, writes: int, selector: selectors.BaseSelector | None) -> socket.socket:
    """Start the relay, with the file descriptors of its host. It runs in this process if there is a selector, which is
    for a zygote that starts only one sandbox; else in a process of its own. Returns: the zygote's channel to the
    relay."""
    ours, its = socket.socketpair()
    if selector is not None:
        Relay(reads, writes, its, selector)
        return ours
    if os.fork() == 0:
        ours.close()
        # The limit of open files bounds the descriptors in flight of this user: have a higher one than programs.
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        try:
            selector = selectors.DefaultSelector()
            Relay(reads, writes, its, selector)
            serve(selector)
        finally:
            os._exit(0)
    for number in (reads, writes, its.detach()):
        os.close(number)
    return ours
