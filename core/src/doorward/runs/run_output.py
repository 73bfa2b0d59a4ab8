"""What the program of a run prints, up to a limit."""

from __future__ import annotations

from doorward.data.values import beginning, size


class RunOutput:
    """The printed text, of at most so many bytes."""

    __slots__ = ("_most", "_parts", "_room")

    def __init__(self, most: int) -> None:
        self._most = self._room = most
        self._parts: list[str] = []

    def add(self, text: str) -> bool:
        """Returns: False if there is no more room, and the rest is dropped."""
        if self._room <= 0:
            return False
        self._parts.append(beginning(text, self._room))
        self._room -= size(text)
        if self._room <= 0:
            self._parts.append(f"\n… more than {self._most} bytes of output; the rest was dropped")
        return self._room > 0

    @property
    def text(self) -> str:
        return "".join(self._parts)
