"""A model behind an OpenAI-compatible endpoint: one request for a batch of texts, to its address and nowhere else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import httpx2
from doorward import ConfigError, ServerError
from doorward.values import aside
from doorward_http import GuardedTransport, NamedHosts, error_text
from doorward_json import read_json, values_in

from doorward_search_embeddings.settings import EmbeddingSettings

MAX_RESPONSE_BYTES = 32 * 2**20
"""Size of one answer. 64 vectors of 8192 numbers take about 10 MiB as JSON."""

_MAX_VALUES_OF_TEXT = 8192 + 50
"""Values of one text: the largest vector that core takes, and what stands beside it."""

MAX_ERROR_BYTES = 100_000
"""Of the body of an error, in which a reason is looked for."""

_USELESS = (400, 401, 403, 404, 413, 422)
"""To ask again does not help: the key, the model, the address or the length of a text is wrong."""


class Endpoint:
    """Asks `url` for embeddings. The connection is opened by the first request, and kept."""

    def __init__(self, settings: EmbeddingSettings) -> None:
        self._settings = settings
        self._client: httpx2.AsyncClient | None = None

    async def fingerprint(self) -> str:
        """Which model answers, as far as it can be known without asking it."""
        return repr([self._settings.url, self._settings.model, self._settings.dimensions])

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Raises: ServerError; ConfigError if the endpoint refuses such requests."""
        body: dict[str, Any] = {"model": self._settings.model, "input": [*texts], "encoding_format": "float"}
        if self._settings.dimensions:
            body["dimensions"] = self._settings.dimensions
        return await _vectors(await self._posted(body), len(texts), self._place)

    async def close(self) -> None:
        if self._client is not None:
            await self._client.aclose()
            self._client = None

    @property
    def _place(self) -> str:
        return f"{self._settings.url}/embeddings"

    async def _posted(self, body: dict[str, Any]) -> bytes:
        """The body of the answer. Raises: ServerError, ConfigError."""
        if self._client is None:
            transport = GuardedTransport(NamedHosts([self._place], "texts"))
            self._client = httpx2.AsyncClient(
                transport=transport, timeout=self._settings.timeout, follow_redirects=False
            )
        key = self._settings.key
        headers = {"Authorization": f"Bearer {(await key.get()).strip()}"} if key else {}
        headers |= {"Accept-Encoding": "identity", "User-Agent": "doorward-search-embeddings/0.1.0"}
        try:
            async with self._client.stream("POST", self._place, json=body, headers=headers) as answer:
                content = await _read(answer)
        except httpx2.TimeoutException:
            what = f"{self._place} did not answer within {self._settings.timeout:g} s"
            raise ServerError(what, hint="Is it reachable from here? See `timeout`.") from None
        except (httpx2.RequestError, OSError) as error:
            what = f"{self._place} cannot be reached: {type(error).__name__}"
            raise ServerError(what, hint="Does it run, and is `url` right?") from None
        if answer.status_code == 200:
            return content
        what = f"{self._place} answered {answer.status_code}{_said(content)}"
        if answer.status_code in _USELESS:
            raise ConfigError(
                what,
                hint="Check `url`, `model`, `key`, `dimensions`; lower `max_characters` for a model of short texts.",
            )
        raise ServerError(what, hint="It is asked again later.")


async def _read(answer: httpx2.Response) -> bytes:
    """The body, bounded. Raises: ServerError."""
    if answer.headers.get("content-encoding", "identity").lower() != "identity":
        raise ServerError("the endpoint packed its answer, which was not asked for")
    parts, size = [], 0
    async for part in answer.aiter_raw():
        size += len(part)
        if size > MAX_RESPONSE_BYTES:
            raise ServerError(f"the endpoint answered with more than {MAX_RESPONSE_BYTES // 2**20} MiB")
        parts.append(part)
    return b"".join(parts)


async def _vectors(content: bytes, texts: int, place: str) -> list[list[float]]:
    """The vectors of an answer, in the order of the texts. Whether they are numbers is for core to see.

    Raises: ServerError.
    """
    most = (texts + 1) * _MAX_VALUES_OF_TEXT

    def read() -> list[list[float]] | None:
        if values_in(content, most) > most:
            return None
        by_place = {each["index"]: each["embedding"] for each in read_json(content)["data"]}
        return [by_place[number] for number in range(texts)]

    try:
        found = await aside(read, len(content))
    except (ValueError, TypeError, LookupError, RecursionError):
        what = f"{place} answered no embeddings of {texts} texts"
        raise ServerError(what, hint="Is it an OpenAI-compatible endpoint, and `model` one that embeds?") from None
    if found is None:
        what = f"{place} answered no embeddings of {texts} texts: more than {most:,} values"
        raise ServerError(what, hint="Does `model` embed a text as one vector of at most 8192 numbers?")
    return found


def _said(content: bytes) -> str:
    """What the endpoint says of an error, if it says anything."""
    content = content[:MAX_ERROR_BYTES]
    try:
        body: Any = read_json(content)
    except ValueError:
        body = content.decode(errors="replace")
    return f": {said}" if (said := error_text(body)) else ""
