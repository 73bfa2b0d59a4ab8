"""Connection failures as errors that say which host could not be reached and what to do, without any credentials."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

import httpx2
from doorward import ServerError

_WORDS: tuple[tuple[type[Exception], str], ...] = (
    (httpx2.ProxyError, "the proxy does not let it through"),
    (httpx2.WriteError, "the connection was lost before the request was sent"),
    (httpx2.NetworkError, "the connection was lost before the answer was there"),
    (httpx2.RemoteProtocolError, "the connection ended before the answer was there, or what came is no HTTP"),
    (httpx2.DecodingError, "the answer cannot be unpacked"),
)
"""What the HTTP client's errors mean; their own texts may quote the server."""

_MAY_BE_MADE = "It may have been made all the same: look at what is there before you make it again."


@contextmanager
def explained(
    server: str, what: str, url: str, timeout: float, socket: str | None = None, *, changes: bool = False
) -> Iterator[None]:
    """Raises: ServerError for whatever goes wrong in the block. `socket` is the path of the Unix socket in use;
    `changes` says that making the request twice is not the same as making it once."""
    try:
        yield
    except (TimeoutError, httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError) as error:
        place = f"{urlsplit(url).scheme}://{urlsplit(url).netloc.rpartition('@')[2]}"
        place = f"{place} (by the socket {socket})" if socket else place
        why, hint = _reason(error, server, place, timeout, socket, lost=changes and _may_have_been_made(error))
        raise ServerError(f"{what}: {why}", hint=hint) from None


def _reason(
    error: Exception, server: str, place: str, timeout: float, socket: str | None, *, lost: bool
) -> tuple[str, str]:
    """What is wrong, and what to do. `lost`: it may have been made, and its answer lost."""
    if isinstance(error, (TimeoutError, httpx2.TimeoutException)):
        return f"{place} did not answer within {timeout:.3g} seconds", (
            _MAY_BE_MADE if lost else "Try again, or raise `timeout` of the server."
        )
    if isinstance(error, httpx2.ConnectError):
        text = str(error)
        if untrusted(text):
            hint = "Install the certificate authority (SSL_CERT_FILE); verification is never turned off."
            return f"the TLS certificate of {place} cannot be trusted: {text[:200]}", hint
        hint = f"Check `socket` of {server}: is it there, and may Doorward's user open it?" if socket else ""
        hint = hint or f"Check `base_url` (or `spec`, of a document) of [servers.{server}], the network and the proxy."
        return f"{place} cannot be reached: {text[:200]}", hint
    words = next((words for kind, words in _WORDS if isinstance(error, kind)), "the request cannot be made")
    return f"the exchange with {place} failed: {words}", (
        _MAY_BE_MADE if lost else "Try again; if it stays, tell the operator."
    )


def _may_have_been_made(error: Exception) -> bool:
    """Whether the request may have reached the API."""
    return not isinstance(
        error, (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout, httpx2.ProxyError, httpx2.InvalidURL)
    )


def untrusted(text: str) -> bool:
    """Whether the text of a ConnectError is about a certificate."""
    return "SSL" in text or "certificate" in text.lower()
