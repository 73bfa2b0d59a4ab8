"""Where documents come from: a file, a URL, or a registry at the address that the user gives."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import quote, urlsplit

import anyio
from doorward import ConfigError, DoorwardError, ServerError
from doorward.values import is_loopback
from doorward_json import read_json

from doorward_registry.document import MAX_BYTES, Document, parse

SECONDS = 20.0
"""Seconds in which a registry must have answered."""
_STATUS = "io.modelcontextprotocol.registry/official"


class Found(NamedTuple):
    """A document, where it came from, and what its registry says of it: "active", "deprecated", "deleted"."""

    document: Document
    sha256: str
    source: str
    status: str = ""


async def fetch(name: str, source: str, version: str = "latest") -> Found:
    """The document of a server. `source` is the address of a registry, which is asked for `name`; if it is empty,
    `name` is the file or the URL of the document. Raises: ConfigError, ServerError."""
    if source and urlsplit(source).scheme and not source.endswith(".json"):
        base = source.rstrip("/")
        base = base if re.search(r"/v\d[\w.]*$", base) else f"{base}/v0.1"
        url = f"{base}/servers/{quote(name, safe='')}/versions/{quote(version, safe='')}"
        found = _of(await _get(url), url, source)
        if found.document.name != name:
            raise ConfigError(f"answers with another server: {found.document.name}", place=url)
        return found
    place = source or name
    if urlsplit(place).scheme in ("http", "https"):
        return _of(await _get(place), place, place)
    try:
        async with await anyio.open_file(place, "rb") as opened:
            text = await opened.read(MAX_BYTES + 1)
    except OSError as error:
        hint = "Name a file, a URL, or the address of a registry with --registry."
        raise ConfigError(f"cannot be read: {error.strerror}", place=place, hint=hint) from None
    return _of(text, place, place)


def _of(text: bytes, place: str, source: str) -> Found:
    """Raises: ConfigError."""
    if len(text) > MAX_BYTES:
        raise ConfigError(f"has more than {MAX_BYTES // 2**20} MiB", place=place)
    try:
        data: Any = read_json(text)
    except ValueError:
        raise ConfigError("is no JSON", place=place) from None
    status = ""
    if isinstance(data, Mapping) and isinstance(data.get("server"), Mapping):  # as registries answer
        meta = data.get("_meta")
        official = meta.get(_STATUS) if isinstance(meta, Mapping) else None
        status = str(official.get("status", ""))[:20] if isinstance(official, Mapping) else ""
        data = data["server"]
    if isinstance(data, Mapping):  # what a registry adds to a document is none of it
        data = {key: value for key, value in data.items() if key != "_meta"}
    return Found(*parse(data, place), source, status)


async def _get(url: str) -> bytes:
    """What is at a URL, of which a host sends no more than we read, and nothing from elsewhere. Raises: ConfigError,
    ServerError."""
    import httpx2
    from doorward_http import GuardedTransport, NamedHosts

    parts = urlsplit(url)
    if not parts.hostname or (parts.scheme != "https" and not is_loopback(parts.hostname)) or "@" in parts.netloc:
        raise ConfigError("is no https URL, or holds a password", place=url)
    transport = GuardedTransport(NamedHosts([url], "requests for documents"))
    try:
        with anyio.fail_after(SECONDS):
            async with (
                httpx2.AsyncClient(transport=transport, timeout=SECONDS) as client,
                client.stream("GET", url, headers={"Accept": "application/json"}) as answer,
            ):
                if answer.is_redirect:
                    to = str(answer.headers.get("location", ""))[:200]
                    raise ServerError(f"{url} leads to {to!r}", hint="Give that address, if you trust it.")
                if answer.status_code != 200:
                    raise ServerError(f"{url} answers {answer.status_code}", hint="Check the name and the address.")
                text = b""
                async for part in answer.aiter_bytes():
                    text += part
                    if len(text) > MAX_BYTES:
                        break
                return text
    except DoorwardError:
        raise
    except (httpx2.HTTPError, TimeoutError, OSError) as error:
        raise ServerError(f"{url} cannot be reached: {type(error).__name__}: {str(error)[:200]}") from None
