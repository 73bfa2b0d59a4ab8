"""A text that matches a regular expression, for examples.

Only what expressions of formats are made of is understood: whoever asks checks the text. Nothing is matched here, so
that an expression that means harm costs nothing.
"""

from __future__ import annotations

_MAX_CHARS = 120
"""Characters of a text, and of what a part of it is repeated to."""

_CLASSES = {"d": "09", "w": "azAZ09", "s": "  "}
"""The characters of `\\d`, `\\w` and `\\s`, as pairs of the first and the last one."""

_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "v": "\v", "0": "\0"}
_PREFERRED = "1aA- _."
_ZERO_WIDTH = ("?=", "?!", "?<=", "?<!")


def text_matching(pattern: str, more: int = 0) -> str | None:
    """A short text that should match, in which what may be repeated stands `more` times more often than it must.
    Of alternatives, `more` chooses one. `None` if the expression is not understood."""
    try:
        writer = _Writer(pattern, more)
        text = writer.alternatives()
    except (ValueError, IndexError, RecursionError, OverflowError):
        return None
    return text if writer.is_at_end and len(text) <= _MAX_CHARS else None


class _Writer:
    def __init__(self, pattern: str, more: int) -> None:
        self._pattern = pattern
        self._at = 0
        self._more = more

    @property
    def is_at_end(self) -> bool:
        return self._at >= len(self._pattern)

    @property
    def _next(self) -> str:
        return self._pattern[self._at : self._at + 1]

    def _take(self) -> str:
        self._at += 1
        return self._pattern[self._at - 1]

    def _takes(self, text: str) -> bool:
        found = self._pattern.startswith(text, self._at)
        self._at += len(text) if found else 0
        return found

    def alternatives(self) -> str:
        """One of the alternatives that are not empty."""
        texts = [self._sequence()]
        while self._takes("|"):
            texts.append(self._sequence())
        texts = [*filter(None, texts)] or [""]
        return texts[self._more % len(texts)]

    def _sequence(self) -> str:
        text = ""
        while self._next not in ("", "|", ")"):
            text += self._repeated(self._atom())
        return text

    def _atom(self) -> str:
        match self._take():
            case "^" | "$":
                return ""
            case "(":
                zero_width = any(map(self._takes, _ZERO_WIDTH))
                if not zero_width and self._takes("?") and not self._takes(":"):
                    self._at = self._pattern.index(">", self._at) + 1  # the name of a group
                text = self.alternatives()
                if not self._takes(")"):
                    raise ValueError
                return "" if zero_width else text
            case "[":
                return self._one_of()
            case ".":
                return "a"
            case "\\":
                if self._next in "bBAZ":
                    self._take()
                    return ""
                return _preferred(self._escape())
            case "*" | "+" | "?":
                raise ValueError
            case other:
                return other

    def _escape(self) -> str:
        """The characters that an escape stands for, as pairs of the first and the last one."""
        match self._take():
            case "d" | "w" | "s" as short:
                return _CLASSES[short]
            case "D" | "S" | "W" as short:
                return {"D": "az", "S": "az", "W": "--"}[short]
            case "x" | "u" as form:
                digits = self._pattern[self._at : self._at + (2 if form == "x" else 4)]
                self._at += len(digits)
                return 2 * chr(int(digits, 16))
            case char if char in _ESCAPES:
                return 2 * _ESCAPES[char]
            case char if not char.isalnum():
                return 2 * char
        raise ValueError  # a reference to a group, a property of Unicode

    def _one_of(self) -> str:
        excludes, pairs, start = self._takes("^"), "", self._at
        while self._next != "]" or self._at == start:
            first = self._escape() if self._takes("\\") else 2 * self._take()
            if self._next == "-" and self._pattern[self._at + 1 : self._at + 2] not in ("", "]") and len(first) == 2:
                self._take()
                last = self._escape() if self._takes("\\") else self._take()
                first = first[0] + last[-1]
            pairs += first
        self._take()
        if not excludes:
            return _preferred(pairs)
        return next(char for char in f"{_PREFERRED}bBzZ0!" if not _is_among(char, pairs))

    def _repeated(self, atom: str) -> str:
        least, most = 1, 1
        match self._next:
            case "*" | "+" | "?" as mark:
                self._take()
                self._takes("?")  # lazily
                least, most = int(mark != "*"), 1 if mark == "?" else _MAX_CHARS
            case "{":
                self._take()
                end = self._pattern.index("}", self._at)
                first, comma, last = self._pattern[self._at : end].partition(",")
                self._at = end + 1
                self._takes("?")
                least, most = int(first or 0), int(last or (_MAX_CHARS if comma else first))
        times = min(most, least + self._more)
        if times * len(atom) > _MAX_CHARS:
            times = least
        if times * len(atom) > _MAX_CHARS:
            raise ValueError
        return atom * times


def _preferred(pairs: str) -> str:
    return next((char for char in _PREFERRED if _is_among(char, pairs)), pairs[0])


def _is_among(char: str, pairs: str) -> bool:
    return any(first <= char <= last for first, last in zip(pairs[::2], pairs[1::2], strict=True))
