"""What an `HttpEngine` gives back for a request."""

from __future__ import annotations

from abc import ABC, abstractmethod

Headers = list[tuple[bytes, bytes]]


class HttpAnswer(ABC):
    """The answer to a request. `status` and `headers` are there; the content comes when it is read, as it was sent (a
    content coding stays). `aclose` has to be called where it is not read to its end."""

    def __init__(self, status: int, reason: bytes, headers: Headers, version: bytes) -> None:
        self.status, self.reason, self.headers, self.version = status, reason, headers, version

    @abstractmethod
    async def read(self) -> bytes:
        """What has come of the content, once there is something; b"" at its end. Raises: httpx2.TransportError."""

    @abstractmethod
    async def aclose(self) -> None:
        """Drop the rest."""
