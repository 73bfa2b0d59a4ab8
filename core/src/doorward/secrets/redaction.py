"""Removes secrets from texts, bytes and values."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterator, Sequence, Set
from itertools import accumulate, islice, pairwise
from typing import Any

from doorward.secrets.needles import Match, Needles
from doorward.secrets.variants import as_bytes

REDACTED = "[secret]"

_MAX_MATCHES = 50_000
"""Secrets in one text. A text with more is replaced as a whole, because to note them all would take gigabytes."""

_SEPARATOR = b"\xff"
"""Separates the texts of a value that are searched together. UTF-8 never contains it, so no match spans two texts."""


class Redactor:
    """Finds secrets and replaces them by `[secret]`. Never changed after it is made, so threads may share it."""

    def __init__(self, needles: Needles, credentials: Set[int] = frozenset()) -> None:
        """`credentials`: the numbers of those secrets that are credentials, and not a user's name for example."""
        self._needles = needles
        self.credentials = credentials

    def __bool__(self) -> bool:
        return bool(self._needles)

    def found(self, content: bytes) -> set[int]:
        """The numbers of the secrets that are in a text."""
        found: set[int] = set()
        for match in islice(self._needles.find(content), _MAX_MATCHES):
            found.add(match.secret)
            if len(found) == self._needles.secrets:
                break
        return found

    def text(self, text: str) -> str:
        """The text without secrets."""
        if not self._needles:
            return text
        content = as_bytes(text)
        clean = self.content(content)
        return text if clean is content else clean.decode(errors="surrogatepass")

    def content(self, content: bytes) -> bytes:
        """A file's content without secrets; the same object if there are none."""
        spans = self._spans(content)
        if spans is None:
            return REDACTED.encode()
        return _replaced(content, spans) if spans else content

    def _spans(self, content: bytes) -> list[tuple[int, int]] | None:
        """The places of secrets in a text, overlapping ones merged; `None` if there are too many."""
        matches = list(islice(self._needles.find(content), _MAX_MATCHES))
        return None if len(matches) == _MAX_MATCHES else _merged(matches)

    def value(self, value: Any, dumped: bytes | None = None) -> Any:
        """A JSON value (or bytes) without secrets in keys, strings and numbers; the same object if there are none.
        `dumped` is its JSON, if known: it saves a walk through a clean value."""
        if not self._needles:
            return value
        if isinstance(value, bytes):
            return self.content(value)
        if isinstance(value, str):
            return self.text(value)
        if dumped is not None and not self.found(dumped):
            return value
        texts = [as_bytes(text) for text in _texts(value)]
        spans = self._spans(_SEPARATOR.join(texts))
        if spans is None:
            return REDACTED
        if not spans:
            return value
        clean: dict[int, list[tuple[int, int]]] = {}
        starts = [0, *accumulate(len(text) + 1 for text in texts)]
        for start, end in spans:
            number = bisect_right(starts, start) - 1
            clean.setdefault(number, []).append((start - starts[number], end - starts[number]))
        changed = {number: _replaced(texts[number], of).decode(errors="surrogatepass") for number, of in clean.items()}
        return _rebuilt(value, iter(range(len(texts))), changed)


NO_SECRETS = Redactor(Needles(()))


def _merged(matches: Sequence[Match]) -> list[tuple[int, int]]:
    spans: list[tuple[int, int]] = []
    for match in sorted(matches, key=lambda match: match.end):
        start = match.start
        while spans and start < spans[-1][1]:
            start = min(start, spans.pop()[0])
        spans.append((start, match.end))
    return spans


def _replaced(content: bytes, spans: Collection[tuple[int, int]]) -> bytes:
    return REDACTED.encode().join(
        content[end:start] for (_, end), (start, _) in pairwise([(0, 0), *spans, (len(content), 0)])
    )


def _texts(value: Any) -> Iterator[str]:
    """Keys, strings and numbers, in the order in which `_rebuilt` meets them."""
    match value:
        case str():
            yield value
        case dict():
            for key, part in value.items():
                yield from _texts(key)
                yield from _texts(part)
        case list() | tuple():
            for part in value:
                yield from _texts(part)
        case int() | float() if not isinstance(value, bool):
            yield str(value)


def _rebuilt(value: Any, numbers: Iterator[int], changed: dict[int, str]) -> Any:
    match value:
        case str():
            return changed.get(next(numbers), value)
        case dict() if not value:
            return value  # the same object, because the one of a file is filled when the file is kept
        case dict():
            return {_rebuilt(k, numbers, changed): _rebuilt(v, numbers, changed) for k, v in value.items()}
        case list() | tuple():
            return [_rebuilt(part, numbers, changed) for part in value]
        case int() | float() if not isinstance(value, bool):
            return REDACTED if next(numbers) in changed else value
        case _:
            return value
