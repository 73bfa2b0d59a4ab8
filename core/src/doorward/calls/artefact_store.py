"""Where artefacts are kept: in memory, because they may hold what an API answered, and must be gone with the
process."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class StoredArtefact:
    """An artefact as it is kept, `until` a time. `is_text`: the bytes are UTF-8, whose pages are texts."""

    content: bytes
    type: str
    until: float
    name: str
    is_text: bool

    @property
    def size(self) -> int:
        return len(self.content)


class ArtefactStore(Protocol):
    """What each principal keeps, by id. It is asked from the event loop."""

    def put(self, principal: str, id: str, artefact: StoredArtefact) -> None:
        """Keep one under an id that nothing has yet."""

    def get(self, principal: str, id: str) -> StoredArtefact | None:
        """What this principal keeps under this id."""

    def held(self) -> Mapping[str, int]:
        """The bytes that each principal keeps, of those who keep something."""

    def drop_until(self, now: float) -> None:
        """Let go what is kept until now or less."""

    def drop_oldest(self, principal: str) -> int:
        """Let go what a principal has kept for longest. Returns: its bytes."""


class MemoryArtefacts:
    """An `ArtefactStore` that is gone with the process."""

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
