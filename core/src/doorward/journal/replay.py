"""What a stored journal says, read for a program that runs again."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from doorward.journal import errors
from doorward.journal.entries import Entry
from doorward.journal.frames import understood
from doorward.model.calls import Reply
from doorward.model.outcomes import Artefact

if TYPE_CHECKING:
    from doorward.journal.store import StoredRun


@dataclass(slots=True)
class StoredJournal:
    """The calls of a stored run in the order in which they began, those that ended in the order of their ends, the
    times that its program read, its files, each with its content, and whether that is text, and the hashes of the
    schemas of the functions that it called."""

    entries: Sequence[Entry] = ()
    ends: list[Entry] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    files: list[tuple[Artefact, bytes, bool]] = field(default_factory=list)
    schemas: dict[str, str] = field(default_factory=dict)
    bytes: int = 0

    @classmethod
    @understood()
    def read(cls, stored: StoredRun) -> StoredJournal:
        """Raises: StateError."""
        found = cls(bytes=stored.bytes)
        calls: dict[int, Entry] = {}
        for kind, said in stored.frames:
            match kind:
                case b"B":
                    entry = calls[said["n"]] = Entry(said["n"], said["f"])
                    entry.key, entry.text = said["k"], said["a"]
                case b"S" | b"U":
                    calls[said["n"]].sent, calls[said["n"]].again = kind == b"S", None
                    calls[said["n"]].before = calls[said["n"]].before if kind == b"S" else None
                case b"V":
                    calls[said["n"]].before = (said["v"],)
                case b"A":
                    calls[said["n"]].again = said["again"]
                case b"E":
                    _end(entry := calls[said["n"]], said)
                    found.ends.append(entry)
                case b"T":
                    found.times += said["v"]
                case b"V":
                    found.schemas[said["f"]] = said["h"]
                case b"F":
                    content = base64.b64decode(said["content"])
                    kept = Artefact(said["uri"], said["type"], len(content), said["name"])
                    found.files.append((kept, content, said["text"]))
        found.entries = [*calls.values()]
        return found

    @property
    def unknown(self) -> list[Entry]:
        """The calls that were sent, and whose answers are lost."""
        return [entry for entry in self.entries if entry.sent and not entry.ended]


def _end(entry: Entry, said: Mapping[str, Any]) -> None:
    entry.ended, entry.begun, entry.ms, entry.used = True, said["b"], said["ms"], said.get("u", {})
    entry.undo = said.get("z", {})
    if "e" in said:
        entry.error = errors.raised(said["e"])
    else:
        entry.reply = Reply(**said["r"])
