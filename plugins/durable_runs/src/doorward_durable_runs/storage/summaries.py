"""What a list says of a run: a record beside the log of its frames, which changes with it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from doorward import StateError
from doorward_durable_runs.storage.frames import NOT_KNOWN, as_json, understood
from doorward_durable_runs.storage.given import Given
from doorward_durable_runs.storage.run_store import State, StoredRun

if TYPE_CHECKING:
    from doorward_durable_runs.sealing import Box
    from doorward_durable_runs.storage.frames import Frame

KINDS = (b"H", b"W", b"R", b"I", b"L", b"O")
"""Kinds of frames that say what became of a run."""

RELEASING = (b"W", b"I", b"O")
"""Kinds of frames behind which nobody holds a run."""


@dataclass(frozen=True, slots=True)
class Head:
    """What can be read of a summary without its key: who `holder` is, if anybody, and what a sweep has to know."""

    run: str
    holder: str
    created: float
    expires: float
    ended: bool

    @classmethod
    @understood()
    def of(cls, record: bytes) -> Head:
        """Raises: StateError."""
        return cls(**json.loads(record.partition(b"\n")[0]))


@dataclass(frozen=True, slots=True)
class Summary:
    """A run that somebody may hold. `waited`: all that it had done up to then is stored."""

    given: Given
    holder: str = ""
    waits: Mapping[str, Any] = field(default_factory=dict)
    waited: bool = False
    interrupted: bool = False
    lost: str = ""
    ended: bool = False
    ok: bool | None = None

    def after(self, frames: Sequence[Frame]) -> Summary:
        """What it is once these are stored, too."""
        found = self
        for kind, said in frames:
            match kind:
                case b"W" | b"R" | b"I":
                    waited = found.waited or kind == b"W"
                    found = replace(found, waits=said, interrupted=kind == b"I", waited=waited)
                case b"L":
                    found = replace(found, lost=said["why"])
                case b"O":
                    found = replace(found, ended=True, ok=bool(said.get("ok")))
        return found

    @understood()
    def stored(self, *, running: bool, frames: Sequence[Frame] = (), size: int = 0) -> StoredRun:
        """The run, as whoever asks for it is given it. Raises: StateError."""
        state: State = "running" if running else "died"
        lost = self.lost
        if self.given.at_once and not running and not self.waited:
            lost = "what it had done was not stored to the end"  # to begin anew would repeat what was sent
        if self.ended:
            state = "ended"
        elif not running and self.waits.get("for"):
            state = "waiting"
        elif not running and self.interrupted:
            state = "interrupted"
        said = self.waits
        return StoredRun(
            self.given, state, said.get("for", ""), tuple(said.get("what", ())), self.ok, lost, said.get("until", 0),
            frames, size,
        )  # fmt: skip

    def packed(self, box: Box) -> bytes:
        """As it is stored: a line that everybody can read, and the rest, which is sealed with it. Of what the program
        was given it has what a list shows."""
        given = self.given
        head = Head(given.run, self.holder, given.created, given.expires, self.ended)
        shown = replace(given, code="", params={}, functions=None, description=given.about, argv=())
        about = as_json(asdict(head))
        return about + b"\n" + box.sealed(as_json(asdict(replace(self, given=shown))), about)

    @classmethod
    @understood()
    def unpacked(cls, record: bytes, box: Box) -> Summary:
        """Raises: StateError."""
        about, _, sealed = record.partition(b"\n")
        try:
            said = json.loads(box.opened(sealed, about))
        except ValueError:
            raise StateError("a stored run cannot be read: it is encrypted", hint=NOT_KNOWN) from None
        return cls(**{**said, "given": Given.read(said["given"])})
