"""Calls what may never return."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from contextvars import copy_context
from threading import Thread
from typing import Any


def within(seconds: float, run: Callable[..., Any]) -> Callable[..., Any]:
    """`run`, called in a thread that the end of this process does not wait for. It raises TimeoutError if that takes
    longer."""

    def limited(*given: Any, **named: Any) -> Any:
        context, done = copy_context(), Future[Any]()

        def work() -> None:
            try:
                done.set_result(context.run(run, *given, **named))
            except BaseException as error:
                done.set_exception(error)

        Thread(target=work, daemon=True).start()
        return done.result(seconds)

    return limited
