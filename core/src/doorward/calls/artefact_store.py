"""Stores artefacts: in memory, because they may hold answers of an API and must disappear with the process."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class StoredArtefact:
    """An artefact in a store, kept `until` a time. `is_text`: the bytes are UTF-8, and its pages are text."""

    content: bytes
    type: str
    until: float
    name: str
    is_text: bool

    @property
    def size(self) -> int:
        return len(self.content)


class ArtefactStore(Protocol):
    """The artefacts of each principal, by id. It is called from the event loop."""

    def put(self, principal: str, id: str, artefact: StoredArtefact) -> None:
        """Keep an artefact under a new id."""

    def get(self, principal: str, id: str) -> StoredArtefact | None:
        """The artefact of this principal with this id."""

    def held(self) -> Mapping[str, int]:
        """The bytes kept for each principal; principals without artefacts are left out."""

    def drop_until(self, now: float) -> None:
        """Remove artefacts whose time is over."""

    def drop_oldest(self, principal: str) -> int:
        """Remove the oldest artefact of a principal. Returns: its size in bytes."""


class MemoryArtefacts:
    """An `ArtefactStore` that disappears with the process."""

    def __init__(self) -> None:
        self._kept: dict[str, dict[str, StoredArtefact]] = {}  # of each principal, the oldest first
        self._held: Counter[str] = Counter()

    def put(self, principal: str, id: str, artefact: StoredArtefact) -> None:
        self._kept.setdefault(principal, {})[id] = artefact
        self._held[principal] += artefact.size

    def get(self, principal: str, id: str) -> StoredArtefact | None:
        return self._kept.get(principal, {}).get(id)

    def held(self) -> Mapping[str, int]:
        return self._held

    def drop_until(self, now: float) -> None:
        for principal in [*self._kept]:
            while (theirs := self._kept.get(principal)) and next(iter(theirs.values())).until <= now:
                self.drop_oldest(principal)

    def drop_oldest(self, principal: str) -> int:
        theirs = self._kept[principal]
        size = theirs.pop(next(iter(theirs))).size
        self._held[principal] -= size
        if not theirs:
            del self._kept[principal], self._held[principal]
        return size
