"""What happens in a run, as frames of its journal; `replay` reads them."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from doorward import Decision
from doorward_durable_runs.journal import errors
from doorward_durable_runs.journal.entries import Entry
from doorward_durable_runs.plans.change_set import Change
from doorward_durable_runs.storage.frames import as_json
from doorward_durable_runs.storage.raw_bytes import given, kept

if TYPE_CHECKING:
    from doorward_durable_runs.storage.frames import Frame

_REPLY = ("type", "name", "next", "link", "left", "status")
"""What is stored of a reply besides its value, where it says it."""

_SHORT_BYTES = 2000


def frame(kind: bytes, what: Any, begun: int) -> Frame:
    """An event as it is stored."""
    match kind:
        case b"B":
            what.read()
            said = {"n": what.place, "k": what.key, "f": what.function, "a": what.text}
            return kind, said if what.made is None else {**said, "m": kept(what.made)}
        case b"Q":
            return kind, {"n": what.place, "b": begun}
        case b"P":
            return kind, {**asdict(what), "arguments": kept(what.arguments)}
        case b"E":
            payload = ended(what) if isinstance(what, Entry) else what
            return kind, payload[:-1] + b',"b":%d}' % begun
        case b"F":
            file, content, is_text = what
            encoded = base64.b64encode(content.encode(errors="replace") if isinstance(content, str) else content)
            told = {"uri": file.uri, "type": file.type, "name": file.name, "text": is_text}
            return kind, {**told, "content": encoded.decode()}
        case b"V":
            return kind, b'{"n":%d,"v":%b}' % (what.place, as_json(what.before[0]))
        case b"S" | b"U":
            return kind, {"n": what.place} | ({"by": what.by} if what.by else {})
    return kind, what


def ended(entry: Entry) -> bytes:
    """How a call ended, as JSON."""
    said: dict[str, Any] = {"n": entry.place, "ms": round(entry.ms, 3)}
    if entry.used:
        said["u"] = dict(entry.used)
    if entry.yes:
        said["y"] = entry.yes
    if entry.undo:
        said["z"] = dict(entry.undo)
    if entry.error is not None:
        return as_json({**said, "e": errors.said(entry.error)})
    reply = entry.reply
    assert reply is not None
    more = {name: value for name in _REPLY if (value := getattr(reply, name)) not in (None, "")}
    more |= {"items": [*reply.items]} if reply.items else {}
    more |= {"headers": dict(reply.headers)} if reply.headers else {}
    return as_json({**said, "r": {"value": reply.value, **more}})


def ended_in_short(entry: Entry) -> bytes:
    """That a call has ended, as JSON of a bounded size: its answer is not stored, nor the body of its error."""
    said: dict[str, Any] = {"n": entry.place, "ms": round(entry.ms, 3)}
    if entry.undo:
        undo = dict(entry.undo)
        said["z"] = undo if len(as_json(undo)) <= _SHORT_BYTES else {"why": "what undoes it is too large to be stored"}
    if entry.error is not None:
        error = {**errors.said(entry.error), "hint": None}
        error |= {"message": entry.error.message[:_SHORT_BYTES]} | ({"body": None} if "body" in error else {})
        said["e"] = error
    return as_json(said)


def change_of(said: Mapping[str, Any]) -> Change:
    """The change that a frame says."""
    return Change(**{**said, "arguments": given(said["arguments"]), "decision": Decision(**said["decision"])})
