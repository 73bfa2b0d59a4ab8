"""One request of a login, and its answer: over TLS, of bounded size and time, never redirected."""

from __future__ import annotations

import contextlib
import re
from typing import Any

import anyio
import httpx2
from doorward import LoginRefused, ServerError
from doorward.values import known_proxy, not_by_proxy

from doorward_auth_kit.credential_home import place

EXCHANGE_SECONDS = 15.0
"""An exchange that takes longer fails."""
MAX_ANSWER_BYTES = 256 * 2**10
"""A longer answer is refused."""
UNREACHABLE_HINT = "Is it up, and is its address right?"
"""The hint of a provider that cannot be reached."""
_CODINGS = ("gzip", "deflate")
"""Those that take no longer than what is read of them."""
_TEXT = re.compile(r"(?i)utf-?(8|16|32)|(us-)?ascii|iso-8859-\d+|windows-\d+|shift_jis|euc-(jp|kr)|gb\w+|big5|koi8-\w")
"""Charsets that are decoded. Some of Python's other codecs take quadratic time, and some are not for text."""


def plain_client(*urls: str, **more: Any) -> httpx2.AsyncClient:
    """A client for exchanges with these places, by the proxies of the environment, but for those on this machine.
    `more` is for the client. Raises: ConfigError if the environment names a proxy that is none."""
    with known_proxy():
        return httpx2.AsyncClient(mounts=not_by_proxy(*urls), headers={"Accept-Encoding": ", ".join(_CODINGS)}, **more)


async def exchange(client: httpx2.AsyncClient, request: httpx2.Request) -> httpx2.Response:
    """Send a request. Returns: the answer, read to its end. A redirect is an answer too; its `next_request` is the
    request that it asks for.

    Raises: ServerError with the place; LoginRefused if the answer is too long, or packed in an odd way.
    """
    where = place(str(request.url))
    body = b""
    try:
        with anyio.fail_after(EXCHANGE_SECONDS):
            response = await client.send(request, stream=True, follow_redirects=False)
            async with contextlib.aclosing(response):
                if response.headers.get("content-encoding", "identity").strip().lower() not in ("identity", *_CODINGS):
                    raise LoginRefused(f"{where} packed its answer more than once, or as nobody asked for")
                async for part in response.aiter_bytes():
                    body += part
                    if len(body) > MAX_ANSWER_BYTES:
                        # LoginRefused, so that we ask less often: the page may say that a password was wrong.
                        raise LoginRefused(f"{where} answered with more than {MAX_ANSWER_BYTES // 1024} KiB")
    except TimeoutError:
        raise ServerError(
            f"{where} cannot be reached: no answer within {EXCHANGE_SECONDS:.0f} seconds", hint=UNREACHABLE_HINT
        ) from None
    except httpx2.HTTPError as error:
        raise ServerError(
            f"{where} cannot be reached: {str(error) or 'the connection was lost'}", hint=UNREACHABLE_HINT
        ) from None
    headers = [
        (name, value)
        for name, value in response.headers.multi_items()
        if name not in ("content-encoding", "content-length")
    ]
    whole = httpx2.Response(response.status_code, headers=headers, content=body, request=request)
    if not _TEXT.fullmatch(whole.charset_encoding or "utf-8"):
        whole.encoding = "utf-8"
    whole.next_request = response.next_request
    return whole
