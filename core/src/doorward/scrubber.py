"""The scrubber: what keeps secrets and fetched tokens out of every output, also where an API echoes them in another encoding."""

from __future__ import annotations

import base64
import html
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any
from urllib.parse import quote, quote_plus

from doorward.errors import DoorwardError
from doorward.values import cut, plain

REDACTED = "[secret]"
MOST_OF_BODY = 200_000
"""Characters of an error's body that a program sees."""
SHORTEST = 6
"""Revealed values of fewer characters are not scrubbed: removing `test` would ruin ordinary answers."""
_ORDINARY = re.compile(r"(?=.{0,11}\Z)(([A-Z]?[a-z]+|[A-Z]+)([-_. /]|\Z))+|\d{0,11}")
"""Fetched values that are not scrubbed: an API that sets a cookie to `description`, or to a person's number, would take that out of
the answers of all. No token is like that."""
MOST_FETCHED = 32
"""Values of one reference, or fetched ones (tokens) of one auth, that are scrubbed: the latest. Those that went before have long ended."""
MOST_OF_ALL = 1000
"""The same of all principals together: each has a few, and adds them again with each request."""
MANY = 300
"""Needles from which on one pass for all of them is faster than one for each. A value has about twenty."""
TAIL = 8
"""Characters of a needle that the one pass looks for, its last; then the rest is compared. All of a few hundred tokens, of some thousands
of characters each, would take gigabytes, and seconds for each new one."""


class Scrubber:
    """Remembers what must not be seen, and takes it out of texts, values and errors."""

    def __init__(self) -> None:
        self._sorted: list[str] | None = None
        self._variants: dict[str, frozenset[str]] = {}
        self._forms: dict[str, set[str]] = {}
        self._forever: set[str] = set()
        self._fetched: Counter[str] = Counter()
        self._concealers: dict[str, Callable[[str], None]] = {}
        self._search: Any = None

    def remember(self, value: str, *, of: str = "", most: int = MOST_FETCHED) -> None:
        """Scrub this value from now on, in every encoding that `variants` lists. `of`: what it is a value of, if that may change:
        its `most` latest values are scrubbed."""
        for text in {value, value.strip()}:
            if of:
                self._concealers.setdefault(of, self._latest(most))(text)
            else:
                self._forever.add(text)
                self._add(text)

    def concealer(self, most: int = MOST_FETCHED) -> Callable[[str], None]:
        """A `remember` for what is fetched again and again: the `most` values that it was told last are scrubbed, but for ordinary words.
        For as long as there is the scrubber: make few of them."""
        latest = self._latest(most)
        return lambda value: None if _ORDINARY.fullmatch(value) else latest(value)

    def _latest(self, most: int) -> Callable[[str], None]:
        kept: dict[str, None] = {}

        def conceal(value: str) -> None:
            if value in kept:
                del kept[value]
            else:
                self._fetched[value] += 1
                self._add(value)
            kept[value] = None
            if len(kept) > most:
                oldest = next(iter(kept))
                del kept[oldest]
                self._forget(oldest)

        return conceal

    def _add(self, text: str) -> None:
        if len(text) >= SHORTEST and text not in self._variants:
            self._variants[text] = frozenset(variants(text))
            self._sorted = self._search = None

    def _forget(self, text: str) -> None:
        self._fetched[text] -= 1
        if not self._fetched[text]:
            del self._fetched[text]
            if text not in self._forever:
                self._variants.pop(text, None)
                self._forms.pop(text, None)
                self._sorted = self._search = None

    @property
    def _needles(self) -> list[str]:
        """What is searched for, the longest first: a secret that is the beginning of another one must not save the rest of it."""
        if self._sorted is None:
            self._sorted = sorted(frozenset().union(*self._variants.values()), key=len, reverse=True)
        return self._sorted

    def scrub(self, text: str) -> str:
        """`text` with everything that was revealed replaced by `[secret]`."""
        if len(self._needles) < MANY:
            for needle in self._needles:
                if needle in text:
                    text = text.replace(needle, REDACTED)
            return text
        spans = self._found(text)
        if not spans:
            return text
        kept = [text[end:start] for (_, end), (start, _) in pairwise([(0, 0), *spans, (len(text), 0)])]
        return REDACTED.join(kept)

    def _is_in(self, dumped: bytes) -> bool:
        if len(self._needles) < MANY:
            return any(_bytes(form) in dumped for needle in self._needles for form in _in_json(needle))
        return next(self._matches(dumped.decode("latin-1")), None) is not None

    def _matches(self, text: str) -> Iterator[tuple[int, int]]:
        """Every needle in a text (or in bytes, read as Latin-1) by where it ends and its length: all at once (Aho, Corasick 1975)."""
        if self._search is None:
            import ahocorasick  # type: ignore[import-not-found]

            tails: dict[str, set[str]] = {}
            for value, needles in self._variants.items():
                if value not in self._forms:
                    self._forms[value] = {form for needle in needles for form in _in_either(needle)}
                for form in self._forms[value]:
                    tails.setdefault(form[-TAIL:], set()).add(form)
            self._search = ahocorasick.Automaton()
            for tail, forms in tails.items():
                self._search.add_word(tail, tuple(forms))
            self._search.make_automaton()
        for last, forms in self._search.iter(text):
            if text.endswith(forms, 0, last + 1):
                yield from ((last, len(form)) for form in forms if text.endswith(form, 0, last + 1))

    def _found(self, text: str) -> list[tuple[int, int]]:
        """Where needles stand in a text; those that overlap are one."""
        spans: list[tuple[int, int]] = []
        for last, length in self._matches(text):
            start = last + 1 - length
            while spans and start < spans[-1][1]:
                start = min(start, spans.pop()[0])
            spans.append((start, last + 1))
        return spans

    def scrub_error(self, error: DoorwardError, longest: int = 1000) -> None:
        """An error's message, hint and body scrubbed, and only then cut: half of a credential would not be found."""
        text = self.scrub(error.message)
        error.message = text if len(text) <= longest else f"{text[:longest]} …"
        error.hint = self.scrub(error.hint) if error.hint else None
        error.args = (error.message,)
        if getattr(error, "body", None) is not None:
            error.body = cut(self.scrub_value(plain(error.body)), MOST_OF_BODY)  # type: ignore[attr-defined]

    def scrub_value(self, value: Any, dumped: bytes | None = None) -> Any:
        """A JSON value (or bytes) scrubbed in keys and strings. `dumped`, its JSON, saves the walk when clean."""
        if not self._needles:
            return value
        if isinstance(value, bytes):
            if len(self._needles) >= MANY:
                return self.scrub(value.decode("latin-1")).encode("latin-1")
            for needle in self._needles:
                value = value.replace(_bytes(needle), REDACTED.encode())
            return value
        if dumped is not None and not self._is_in(dumped):
            return value
        return self._walk(value)

    def _walk(self, value: Any) -> Any:
        match value:
            case str():
                return self.scrub(value)
            case dict():
                return {self._walk(k): self._walk(v) for k, v in value.items()}
            case list() | tuple():
                return [self._walk(v) for v in value]
            case int() | float() if not isinstance(value, bool) and self.scrub(str(value)) != str(value):
                return REDACTED
            case _:
                return value


def variants(value: str) -> Iterator[str]:
    """How a value may come back: plain, percent-encoded, base64 at any offset, hex, JSON- or HTML-escaped."""
    raw = _bytes(value)
    yield value
    twice = quote(quote(raw, safe=""), safe="")
    lenient = quote(raw, safe="%:/?#[]@!$&'()*+,;=")  # as whole URLs are encoded
    for encoded in (quote(raw, safe=""), quote(raw), quote_plus(raw), lenient, twice, "".join(f"%{b:02X}" for b in raw)):
        yield encoded
        yield re.sub(r"%[0-9A-F]{2}", lambda m: m[0].lower(), encoded)
    escaped = json.dumps(value)[1:-1]
    yield escaped
    yield escaped.replace("/", "\\/")
    yield re.sub(r"\\u[0-9a-f]{4}", lambda m: "\\u" + m[0][2:].upper(), escaped)
    yield json.dumps(json.dumps(value))[3:-3]
    yield json.dumps(value, ensure_ascii=False)[1:-1]
    yield value.replace("\\", "\\\\").replace("'", "\\'")  # as Python and JavaScript quote it
    yield "".join(f"\\u{ord(c):04x}" for c in value if ord(c) < 0x10000)
    yield html.escape(value)
    yield html.escape(value).replace("&#x27;", "&#39;")
    yield raw.hex()
    yield raw.hex().upper()
    yield value[::-1]
    yield value.upper()
    yield value.lower()
    yield value.encode(errors="surrogateescape").decode("latin-1")
    yield "".join(f"&#{ord(c)};" for c in value)
    yield raw.hex(":")
    yield base64.encodebytes(raw).decode().strip()
    yield base64.b32encode(raw).decode().rstrip("=")
    for alphabet in (base64.b64encode, base64.urlsafe_b64encode):
        for offset in range(3):
            # Inside a longer base64 text the value starts at any of three offsets; its edges mix with neighbours.
            text = alphabet(b"\0" * offset + raw).decode().rstrip("=")
            inner = text[(0, 2, 3)[offset] : len(text) - (1 if (len(raw) + offset) % 3 else 0)]
            if len(inner) >= SHORTEST:
                yield inner


def _in_json(needle: str) -> set[str]:
    """A needle as it stands in the JSON of a value that holds it."""
    if needle.isalnum() and needle.isascii():
        return {needle}
    return {needle, json.dumps(needle)[1:-1], json.dumps(needle, ensure_ascii=False)[1:-1]}


def _in_either(needle: str) -> set[str]:
    """The same, and as bytes that are read as Latin-1."""
    return {either for form in _in_json(needle) for either in (form, _bytes(form).decode("latin-1"))}


def _bytes(text: str) -> bytes:
    """UTF-8. An environment variable may hold what is none."""
    return text.encode(errors="surrogatepass")
