"""A thread for the steps of one worker, each of which waits until the worker has a question or its result.

Monty's own asynchronous steps pass through a runtime with threads of its own; one thread that does nothing but wait
takes half of that.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import gc
import threading
import time
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, TypeVar

T = TypeVar("T")

_ASK_SECONDS = 0.0001
"""The processor's time for one question from within a step, and more than that."""


class _Collected(threading.local):
    """The processor's time in seconds that this thread spent on the garbage of the whole process, which is collected in
    whatever thread makes an object, and takes longer the larger the catalogs are."""

    seconds, began = 0.0, 0.0

    def __call__(self, phase: str, _: object) -> None:
        if phase == "start":
            self.began = time.thread_time()
        else:
            self.seconds += time.thread_time() - self.began


_collected = _Collected()
gc.callbacks.append(_collected)


def _worked() -> float:
    return time.thread_time() - _collected.seconds


class Steps:
    """Takes steps one after the other, in a thread that ends with `stop`, or with the process."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self.worked = 0.0
        """The processor's time in seconds that the last step took here, most of it for reading what the worker said."""
        self.read = 0.0
        """The same since `again`, without the questions from within: for reading what the worker asks now."""
        self._began, self._asked = 0.0, 0
        self._wanted: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        threading.Thread(target=self._take, name="doorward-monty", daemon=True).start()

    def take(self, step: Callable[[], T]) -> asyncio.Future[T]:
        """Take a step. Returns: what it will return or raise."""
        future: asyncio.Future[T] = self._loop.create_future()
        self._wanted.put(lambda: self._taken(future, step))
        return future

    def ask(self, question: Callable[[], T]) -> T:
        """From within a step: call a function in the loop, where everything else runs. Returns: its answer."""
        self._asked += 1
        answer: concurrent.futures.Future[T] = concurrent.futures.Future()
        self._loop.call_soon_threadsafe(_answer, answer, question)
        return answer.result()

    def again(self) -> None:
        """From within a step: go on with the worker, whose question was answered there."""
        self._began, self._asked = _worked(), 0

    def stop(self) -> None:
        """End the thread after the steps that were asked for."""
        self._wanted.put(None)

    def _take(self) -> None:
        while (step := self._wanted.get()) is not None:
            step()
            del step  # what it holds must not live until the next

    def _taken(self, future: asyncio.Future[T], step: Callable[[], T]) -> None:
        self.again()
        result, error, began = None, None, self._began
        try:
            result = step()
        except BaseException as raised:
            error = raised
        ended = _worked()
        self.worked, self.read = ended - began, ended - self._began - self._asked * _ASK_SECONDS
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits
            self._loop.call_soon_threadsafe(_settle, future, result, error)


def _settle(future: asyncio.Future[Any], result: Any, error: BaseException | None) -> None:
    if future.done():
        return
    if error is None:
        future.set_result(result)
    else:
        future.set_exception(error)


def _answer(answer: concurrent.futures.Future[T], question: Callable[[], T]) -> None:
    try:
        answer.set_result(question())
    except Exception as error:
        answer.set_exception(error)
