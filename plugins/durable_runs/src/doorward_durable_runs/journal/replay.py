"""What a stored journal says, read for a program that runs again."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from doorward import Artefact, Reply
from doorward_durable_runs.journal import errors
from doorward_durable_runs.journal.entries import Entry
from doorward_durable_runs.journal.writing import change_of
from doorward_durable_runs.storage.frames import understood
from doorward_durable_runs.storage.raw_bytes import given

if TYPE_CHECKING:
    from doorward_durable_runs.plans.change_set import Change
    from doorward_durable_runs.storage.run_store import StoredRun


@dataclass(slots=True)
class StoredJournal:
    """The calls of a stored run in the order in which they began, those that ended in the order of their ends, the
    times that its program read, its files, each with its content, and whether that is text, and the hashes of the
    `schemas` of the functions that it called. Of a plan also the `order` in which its calls were answered, withheld
    ones included; each `yes` to one of its reads; whether a person `approved` of it, whether what had changed was told
    (`spent`), and whether its writes may have begun (`committed`)."""

    entries: Sequence[Entry] = ()
    ends: list[Entry] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    files: list[tuple[Artefact, bytes, bool]] = field(default_factory=list)
    schemas: dict[str, str] = field(default_factory=dict)
    bytes: int = 0
    order: dict[int, Entry] = field(default_factory=dict)
    yes: set[str] = field(default_factory=set)
    committed: bool = False
    approved: bool = False
    spent: bool = False
    spent_yeses: set[str] = field(default_factory=set)
    undone: set[int] = field(default_factory=set)
    """The places of the calls that were undone."""
    died: int = -1
    """How many calls had ended when its sandbox died last, where it had stood."""

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
                    entry.key, entry.text, entry.made = said["k"], said["a"], given(said.get("m"))
                case b"S" | b"U":
                    calls[said["n"]].sent, calls[said["n"]].again = kind == b"S", None
                    calls[said["n"]].stated = ()
                    calls[said["n"]].by = said.get("by", "")
                    calls[said["n"]].before = calls[said["n"]].before if kind == b"S" else None
                case b"V":
                    calls[said["n"]].before = (said["v"],)
                case b"A":
                    calls[said["n"]].again = said.get("again")
                    calls[said["n"]].stated = (said["made"],) if "made" in said else ()
                case b"E":
                    _end(entry := calls[said["n"]], said)
                    found.yes.update([said["y"]] if "y" in said else [])
                    found.ends.append(entry)
                    found._answered(entry, entry.begun)
                case b"Q":
                    found._answered(calls[said["n"]], said["b"])
                case b"P":
                    calls[said["place"]].change = change_of(said)
                case b"Y":
                    found.approved = True
                    found.yes.update(said.get("reads", ()))
                case b"J":
                    found.spent_yeses.add(str(said["id"]))
                case b"I":
                    found.died = said.get("died", found.died)
                case b"Z":
                    found.undone.update([said["n"]] if said["ok"] else [])
                case b"G":
                    found.spent = True
                case b"C":
                    found.committed = True
                case b"T":
                    found.times += said["v"]
                case b"D":
                    found.schemas[said["f"]] = said["h"]
                case b"F":
                    content = base64.b64decode(said["content"])
                    kept = Artefact(said["uri"], said["type"], len(content), said["name"])
                    found.files.append((kept, content, said["text"]))
        for entry in calls.values():
            entry.was_sent = entry.sent
        found.entries = [*calls.values()]
        return found

    def _answered(self, entry: Entry, begun: int) -> None:
        if not self.committed and entry.place not in self.order:
            entry.begun = begun
            self.order[entry.place] = entry

    @property
    def changes(self) -> list[Change]:
        """The calls that a plan withheld, those of reads included, in the order of the writes."""
        found = [entry.change for entry in self.entries if entry.change is not None]
        return sorted(found, key=lambda change: (change.number < 0, abs(change.number)))

    @property
    def unknown(self) -> list[Entry]:
        """The calls that were sent, and whose answers are lost."""
        return [entry for entry in self.entries if entry.sent and not entry.ended]


def _end(entry: Entry, said: Mapping[str, Any]) -> None:
    entry.ended, entry.begun, entry.ms, entry.used = True, said["b"], said["ms"], said.get("u", {})
    entry.undo = said.get("z", {})
    if "e" in said:
        entry.error = errors.raised(said["e"])
    elif "r" in said:  # of a run that cannot be resumed, the answer may not be stored
        entry.reply = Reply(**said["r"])
