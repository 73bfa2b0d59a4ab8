"""The notes of a run: what the reader of its answer is told beside the value."""

from __future__ import annotations

MAX_NOTES = 20
"""Notes of one run: a program may get a thousand lists, each with more to come."""

_LEFT_OUT = "there is more to note, which is left out"


class RunNotes:
    """Notes, each once, as long as there are few. `about` has what they are about."""

    __slots__ = ("_notes", "about")

    def __init__(self) -> None:
        self._notes: list[str] = []
        self.about: set[str] = set()

    def add(self, text: str, about: str) -> None:
        self.about.add(about)
        if text not in self._notes and len(self._notes) < MAX_NOTES:
            self._notes.append(text if len(self._notes) + 1 < MAX_NOTES else _LEFT_OUT)

    @property
    def all(self) -> tuple[str, ...]:
        return tuple(self._notes)
