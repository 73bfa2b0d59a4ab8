"""Errors between us and a server, as they are before they become errors for callers."""

from __future__ import annotations

import secrets
from dataclasses import asdict, dataclass
from typing import Any

_TROUBLE_KEY = f"doorward-{secrets.token_hex(8)}"
"""The key of a Trouble in the data of a JSON-RPC error. Servers cannot know it."""
TROUBLE_CODE = -32099
"""The code of such an error (JSON-RPC 2.0, section 5.1: defined by the implementation)."""


@dataclass
class Trouble(Exception):
    """Something went wrong on the way to a server or back.

    `sent`: the server may have got the request, and carried it out. `passing`: the next attempt may succeed. `gone`:
    the connection, or its session, cannot be used any more. `status` is that of an HTTP answer, 0 if there was none.
    `limit`: one of our limits has ended the request. `oauth`: the server wants a login, and says where (RFC 9728).
    `retry_after`: the seconds after which it will take requests again, if it says so.
    """

    message: str
    hint: str = ""
    sent: bool = True
    passing: bool = False
    gone: bool = False
    status: int = 0
    limit: bool = False
    oauth: bool = False
    retry_after: float | None = None

    def __str__(self) -> str:
        return self.message

    def as_error(self, code: int = TROUBLE_CODE, said: str = "", data: Any = None) -> dict[str, Any]:
        """The error for a JSON-RPC answer. The SDK hands it on. `said` and `data` are from the server's own error."""
        rest = data if isinstance(data, dict) else {"detail": data} if data else {}
        return {"code": code, "message": said or self.message, "data": {**rest, _TROUBLE_KEY: asdict(self)}}


@dataclass
class Refusal(Exception):
    """A server answered with a JSON-RPC error."""

    code: int
    message: str
    data: Any = None


def trouble_in(data: Any) -> Trouble | None:
    """The Trouble that `as_error` has put into the data of an error, if it has."""
    marked = data.get(_TROUBLE_KEY) if isinstance(data, dict) else None
    return Trouble(**marked) if marked else None


def own_data(data: Any) -> Any:
    """The data of an error without what `as_error` has added."""
    return {key: value for key, value in data.items() if key != _TROUBLE_KEY} if isinstance(data, dict) else data


def root(error: BaseException) -> BaseException:
    """The cause within nested exception groups: the first exception that is no cancellation."""
    while isinstance(error, BaseExceptionGroup):
        error = next((e for e in error.exceptions if isinstance(e, Exception)), error.exceptions[0])
    return error
