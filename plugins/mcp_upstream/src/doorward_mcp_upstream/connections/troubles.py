"""What goes wrong between us and a server, before it is told to anybody."""

from __future__ import annotations

import secrets
from dataclasses import asdict, dataclass
from typing import Any

_TROUBLE_KEY = f"doorward-{secrets.token_hex(8)}"
"""The key under which our transports say in a JSON-RPC error what happened. No server can know it."""
TROUBLE_CODE = -32099
"""The code of such an error (JSON-RPC 2.0 section 5.1: of the implementation)."""


@dataclass
class Trouble(Exception):
    """Something went wrong on the way.

    `sent`: the server may have had the request, and done what it asks for. `passing`: it may be over with the next
    attempt. `gone`: the connection, or its session, is of no more use. `status` is that of an HTTP answer, 0 if there
    was none. `limit`: a limit of ours ended it. `oauth`: it wants a login, and says where (RFC 9728).
    """

    message: str
    hint: str = ""
    sent: bool = True
    passing: bool = False
    gone: bool = False
    status: int = 0
    limit: bool = False
    oauth: bool = False

    def __str__(self) -> str:
        return self.message

    def as_error(self, code: int = TROUBLE_CODE, said: str = "", data: Any = None) -> dict[str, Any]:
        """As the error of a JSON-RPC answer, which the SDK hands on to who asked. `said` and `data` are what the
        server's own error had."""
        rest = data if isinstance(data, dict) else {"detail": data} if data else {}
        return {"code": code, "message": said or self.message, "data": {**rest, _TROUBLE_KEY: asdict(self)}}


@dataclass
class Refusal(Exception):
    """A server answered with a JSON-RPC error."""

    code: int
    message: str
    data: Any = None


def trouble_in(data: Any) -> Trouble | None:
    """What `as_error` has put into an error's data."""
    marked = data.get(_TROUBLE_KEY) if isinstance(data, dict) else None
    return Trouble(**marked) if marked else None


def own_data(data: Any) -> Any:
    """What a server itself has put into an error's data."""
    return {key: value for key, value in data.items() if key != _TROUBLE_KEY} if isinstance(data, dict) else data


def root(error: BaseException) -> BaseException:
    """What lies at the bottom of nested exception groups: the first that is no cancellation."""
    while isinstance(error, BaseExceptionGroup):
        error = next((e for e in error.exceptions if isinstance(e, Exception)), error.exceptions[0])
    return error
