"""Answers with many values: JSON lines (NDJSON), JSON text sequences (RFC 7464), server-sent events (WHATWG HTML)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

from doorward_openapi.wire import media_types

Read = Callable[[bytes], Any]
"""Parses one JSON value, or raises ValueError or RecursionError."""

MAX_VALUES = 10_000
"""Values that one answer may have; the rest is dropped."""

_MAX_LINES = 1_000_000
"""Lines that are read: most of them can be empty."""
_LINE = re.compile(rb"[^\r\n]+")
_RECORD = re.compile(rb"[^\x1e]+")
_EVENT_LINE = re.compile(r"[^\n]+|\n+")


def patience(media: str, length: str | None) -> float | None:
    """The share of the time left for which to wait for the end of an answer: half of it for streams, so that a program
    can use what has come of one that never ends; almost all of it for JSON of unknown length, which may be a stream
    (Docker's events); `None`: all of it."""
    if media_types.stream(media):
        return 0.5
    return 0.95 if length is None and media_types.bare(media).endswith("json") else None


def values(form: str, body: bytes, read: Read, cut: str = "") -> list[Any]:
    """The values of an answer. `cut` says why it is incomplete: its last value may be cut in two, and is left out. If
    anything is left out, the last value is `{"cut": why}`."""
    body = body.removeprefix(b"\xef\xbb\xbf")
    if form == "events":
        found = _events(body, read, whole=not cut)
    else:
        part = _RECORD if form == "sequence" else _LINE
        if cut and not body.endswith((b"\n", b"\r")):
            ends = (b"\x1e",) if form == "sequence" else (b"\n", b"\r")
            body = body[: max(map(body.rfind, ends)) + 1]
        parts = (match[0] for match in islice(part.finditer(body), _MAX_LINES))
        found = [_value(part, read) for part in islice(filter(bytes.strip, parts), MAX_VALUES + 1)]
    if len(found) > MAX_VALUES:
        found, cut = found[:MAX_VALUES], f"there are more than {MAX_VALUES} values"
    return [*found, {"cut": cut}] if cut else found


def lines(body: bytes, read: Read, cut: str = "") -> list[Any] | None:
    """The values of an answer that claims to be one JSON value but has one on each line, as Docker's answers do;
    `None` if that is not so."""
    first, _, rest = body.lstrip().partition(b"\n")
    if not first.strip() or not (rest.strip() or cut):
        return None
    try:
        read(first)
        if not cut:
            read(body.rstrip().rpartition(b"\n")[2])
    except (ValueError, RecursionError):
        return None
    return values("lines", body, read, cut)


def _value(text: bytes, read: Read) -> Any:
    try:
        return read(text)
    except (ValueError, RecursionError):
        return text.decode("utf-8", "replace").strip()


def _events(body: bytes, read: Read, *, whole: bool) -> list[Any]:
    """The data of each event; JSON is parsed. If any event has a name or an id, all of them become objects with
    `event`, `id` and `data`. OpenAI's `[DONE]` does not count as an event."""
    fields = (event for event in _fields(body, whole=whole) if event["data"].strip() != "[DONE]")
    found = list(islice(fields, MAX_VALUES + 1))
    for event in found:
        event["data"] = _value(event["data"].encode(), read)
    return found if any(len(event) > 1 for event in found) else [event["data"] for event in found]


def _fields(body: bytes, *, whole: bool) -> Iterator[dict[str, Any]]:
    event: dict[str, str] = {}
    data: list[str] = []
    text = body.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")
    for match in islice(_EVENT_LINE.finditer(f"{text}\n\n" if whole else text), _MAX_LINES):
        line = match[0]
        if line[0] == "\n":
            if len(line) > 1:  # an empty line
                if data:
                    yield {**event, "data": "\n".join(data)}
                event, data = {}, []
            continue
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            data.append(value)
        elif name in ("event", "id") and value:
            event[name] = value
