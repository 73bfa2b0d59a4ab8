"""The sandbox's end of its channel: sends questions of threads and tasks to the host, and hands out the answers."""

from __future__ import annotations

import asyncio
import os
import re
import select
import socket
import threading
from typing import Any

from doorward_jail.inside.clocks import Clocks
from doorward_jail.inside.protocol import HEADER, Frames, Message, encode

_PROGRAM_NUMBER = 0
"""The number of messages that are no answer: programs."""

_READ_BYTES = 2**16
"""At once: for more, each small answer would cost a new mapping of memory."""

_MANY_PARTS = 1_000_000
_ESCAPES = str.maketrans({",": "\\u002c", "[": "\\u005b", "{": "\\u007b"})


def sparing(frame: bytes) -> bytes:
    """The frame, with commas and brackets in its texts escaped if there are very many: the host counts them to bound
    the number of values."""
    if frame.count(b",") + frame.count(b"[") + frame.count(b"{") < _MANY_PARTS:
        return frame
    line, end, blob = frame[HEADER.size :].partition(b"\n")
    body = (
        re.sub(r'"[^"\\]*(?:\\.[^"\\]*)*"', lambda text: text[0].translate(_ESCAPES), line.decode()).encode()
        + end
        + blob
    )
    return HEADER.pack(len(body)) + body


class Channel:
    """A connected socket to the host. It has no thread of its own: a caller that waits reads for all others."""

    _link: socket.socket

    def __init__(self, link: socket.socket | None = None, clocks: Clocks | None = None) -> None:
        """What the program has read from `clocks` goes along with each message."""
        self._clocks = clocks or Clocks()
        if link is not None:
            self.open(link)
        self._sending = threading.Lock()
        self._state = threading.Condition()
        self._reading = False
        self._frames = Frames(2**32)
        self.most = 2**31
        self._last = 0
        self._answers: dict[int, Message | None] = {}
        self._futures: dict[int, asyncio.Future[Message]] = {}

    def open(self, link: socket.socket) -> None:
        """Use this socket, for the process that runs programs."""
        self._link, self._pid = link, os.getpid()

    def send(self, message: dict[str, Any], blob: bytes = b"", default: Any = None) -> None:
        """Send a message. Raises: ValueError if it has more than `most` bytes; TypeError, ValueError, RecursionError
        for values that JSON cannot express."""
        if seen := self._clocks.untold():
            message = {"seen": seen, **message}
        try:
            frame = sparing(encode(message, blob, default))
            if len(frame) > self.most:  # for which the host would end the sandbox
                raise ValueError(f"{len(frame)} bytes are more than can be sent at once ({self.most}): send less")
        except BaseException:
            self._clocks.not_told(seen)
            raise
        self.send_frame(frame)

    def send_frame(self, frame: bytes) -> None:
        """Send a complete frame. Raises: RuntimeError in a process that the program has forked."""
        if os.getpid() != self._pid:
            raise RuntimeError("only the program's first process can call functions, not one that it has forked")
        with self._sending:
            self._link.sendall(frame)

    def send_if_free(self, message: dict[str, Any]) -> None:
        """Send a message unless another is on its way: for handlers of signals, which stop a thread that sends."""
        if os.getpid() == self._pid and self._sending.acquire(blocking=False):
            try:
                self._link.sendall(encode(message))
            finally:
                self._sending.release()

    def ask(self, message: dict[str, Any], default: Any = None) -> Message:
        """Send a question, and wait for its answer."""
        with self._state:
            number = self._number()
            self._answers[number] = None
        try:
            self.send({"id": number, **message}, default=default)
            return self._wait(number)
        finally:
            self._answers.pop(number, None)

    def next(self) -> Message:
        """Wait for the next program."""
        with self._state:
            self._answers.setdefault(_PROGRAM_NUMBER, None)
        try:
            return self._wait(_PROGRAM_NUMBER)
        finally:
            self._answers.pop(_PROGRAM_NUMBER, None)

    def _wait(self, number: int) -> Message:
        with self._state:
            while (answer := self._answers[number]) is None:
                if self._reading:
                    self._state.wait()
                else:
                    self._read()
        return answer

    async def ask_later(self, message: dict[str, Any], default: Any = None) -> Message:
        """Send a question, and await its answer while other tasks go on."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Message] = loop.create_future()
        with self._state:
            number = self._number()
            self._futures[number] = future
        try:
            self.send({"id": number, **message}, default=default)
            loop.add_reader(self._link, self._readable)
            return await future
        finally:
            self._futures.pop(number, None)
            if not self._futures:
                loop.remove_reader(self._link)

    def _number(self) -> int:
        self._last += 1
        return self._last

    def _readable(self) -> None:
        with self._state:
            # A thread that waits for its own answer may be reading this one too, or have read it already.
            if not self._reading and select.select([self._link], [], [], 0)[0]:
                self._read()

    def _read(self) -> None:
        """Read until an answer is there, and hand out all that came. Called with the lock held, which it releases while
        it reads."""
        self._reading = True
        self._state.release()
        answers: list[Message] = []
        try:
            while not answers:
                data = self._link.recv(_READ_BYTES)
                if not data:
                    raise EOFError("the host is gone")
                answers = list(self._frames.feed(data))
        finally:
            self._state.acquire()
            self._reading = False
            self._state.notify_all()
        for answer in answers:
            number = answer[0].get("id", _PROGRAM_NUMBER)
            if number in self._answers or number == _PROGRAM_NUMBER:
                self._answers[number] = answer
            elif (future := self._futures.get(number)) is not None:
                future.get_loop().call_soon_threadsafe(_settle, future, answer)


def _settle(future: asyncio.Future[Message], answer: Message) -> None:
    if not future.done():
        future.set_result(answer)
