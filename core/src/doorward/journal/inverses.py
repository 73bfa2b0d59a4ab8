"""What a journal keeps so that a call can be undone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from doorward.journal.frames import as_json

if TYPE_CHECKING:
    from doorward.journal.entries import Entry


class KeptInverses:
    """The part of `Journal` that keeps the calls which undo others."""

    __slots__ = ()

    _under_way: dict[int, Entry]

    def before(self, place: int) -> tuple[Any] | None:
        """What was there before a call, if that was read before its run was resumed: afterwards the call may have been
        made, and what is there now is no longer what was there before."""
        return self._under_way[place].before

    def read_before(self, place: int, value: Any) -> None:
        """Keep what is there before a call, which goes out next. Raises: StateError."""
        entry = self._under_way[place]
        entry.before = (value,)
        self._keep_before(entry)

    def undone_by(self, place: int, said: Mapping[str, Any]) -> None:
        """Keep what undoes a call: it is stored with its answer."""
        self._under_way[place].undo = said
        self.holds(len(as_json(said)))

    def holds(self, size: int) -> None:
        """So many bytes more would be stored."""
        raise NotImplementedError

    def _keep_before(self, entry: Entry) -> None:
        raise NotImplementedError
