"""What conformance classes share: a fresh failure message for an author, without our own frames."""

from __future__ import annotations

import contextlib
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import pytest

_KIT = str(Path(__file__).parents[1])


class Conformance:
    """The base of conformance classes. Their tests are asynchronous by anyio's plugin, whatever plugins and modes the
    author's own tests use."""

    @pytest.fixture
    def anyio_backend(self) -> str:
        return "asyncio"

    def say(self, what: str) -> NoReturn:
        """Fail: the author's class lacks something. `what` is the line to write."""
        fail(f"{type(self).__name__} does not say what is under test. Write in it: {what}")


def fail(message: str) -> NoReturn:
    """Fail with this message alone: without a traceback, and without the error that was handled."""
    raise pytest.fail.Exception(message, pytrace=False) from None


def require(holds: object, message: str) -> None:
    """Fail with this message if something does not hold."""
    if not holds:
        fail(message)


@contextlib.contextmanager
def only(allowed: type[Exception] | tuple[type[Exception], ...], doing: str, instead: str) -> Iterator[None]:
    """What is done here succeeds or raises one of these; anything else is a failure that shows where in the plugin it
    came from. `instead` says what the plugin should do."""
    try:
        yield
    except allowed:
        pass
    except Exception as error:
        fail(f"{doing} raised {type(error).__name__}: {error}. {instead}{origin(error)}")


def origin(error: BaseException) -> str:
    """The lines of a traceback that are not ours, to stand below a message."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not frame.filename.startswith(_KIT)]
    return "\n" + "".join(traceback.format_list(frames[-5:])).rstrip() if frames else ""
