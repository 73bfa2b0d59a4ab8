"""What a principal was answered and what its programs said: hashes of it, for a while and up to a size."""

from __future__ import annotations

import base64
import re
import time
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from operator import attrgetter, itemgetter
from typing import Any

from doorward_provenance.labels import Labels
from doorward_provenance.words import HASH_BYTES, MOST_LEAVES, Hashes, Phrases, dates, leaves, packed, unpacked
from doorward_provenance.words import MOST_WORDS as MOST_TEXT_WORDS

MOST_WORDS = 200_000
"""Words and fields that are remembered of what one principal was answered, and words of what it said."""
_TEXT_WORDS = 4
"""A leaf with so many words is a text, in which somebody may have written anything; a shorter one is a field."""

_LONG, _SHORT_LEAF = 0, 1
"""What stands behind the words of a text, and of a leaf with fewer words: that is a name as a whole, and a text as to
its parts."""
_SHORT = 4
"""A value with fewer characters was said only where it stood by itself: the 13 of a time of day is no number 13."""
_PLACE = re.compile(r"[\w.$\[\]-]{1,80}")
"""A path that is fit to be shown: names and numbers alone."""
_APART = re.compile(r"[\s\"'`()\[\]{},;=]+")


def encoded(content: bytes) -> str:
    return base64.b64encode(content).decode()


def decoded(text: str) -> bytes:
    return base64.b64decode(text)


@dataclass(eq=False)
class Said:
    """What a program said: its words in their order, and the short ones that stand by themselves."""

    phrases: Phrases = field(default_factory=Phrases)
    short: set[int] = field(default_factory=set)

    def __len__(self) -> int:
        return len(self.phrases) + len(self.short)


@dataclass(eq=False)
class Answer:
    """An answer of a function, in the program that was the `program`th of its principal."""

    function: str
    server: str
    labels: Labels
    program: int
    at: float
    start: int
    fields: set[int] = field(default_factory=set)
    places: list[tuple[int, str]] = field(default_factory=list)
    """Where each of its texts begins, in bytes, and the path of that in the answer."""

    def place(self, at: int) -> str:
        """The path of the text that is at a position (`[11].body`); "" if there is no plain one."""
        found = bisect_right(self.places, at, key=itemgetter(0)) - 1
        return self.places[found][1] if found >= 0 else ""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a value came from: in a text that was answered, and its path there; or as a field of its own."""

    answer: Answer
    in_text: bool
    place: str = ""


class Answers:
    """The answers of one principal. A value is looked for in all at once: their texts lie behind each other, their
    fields in one table. Of texts and fields only hashes are stored."""

    def __init__(self, hashes: Hashes) -> None:
        self._hashes = hashes
        self._all: list[Answer] = []
        self._texts = bytearray()
        self._dropped = 0
        self._by_field: dict[int, list[Answer]] = {}
        self.fields = 0

    def __len__(self) -> int:
        """Words and fields."""
        return len(self._texts) // HASH_BYTES + self.fields

    def add(self, answer: Answer, texts: bytes) -> None:
        """Add an answer with its fields, and its texts."""
        answer.start = self._dropped + len(self._texts)
        for one in answer.fields:
            self._by_field.setdefault(one, []).append(answer)
        self._texts += texts
        self._all.append(answer)
        self.fields += len(answer.fields)

    def read(self, value: Any, echoes: Iterable[Any]) -> tuple[set[int], bytes, list[tuple[int, str]], bool]:
        """The fields and the texts of an answer with their places, but not those that only repeat what the call was
        given; and whether that is all of it."""
        repeated = {self._hashes.whole(each) for each in echoes}
        fields, texts = set[int](), bytearray()
        places = list[tuple[int, str]]()
        count = most = 0
        for path, leaf in leaves(value):
            count += 1
            one = self._hashes.whole(leaf)
            if one in repeated:
                continue
            fields.add(one)
            if isinstance(leaf, str) and (count_words := len(leaf.split(None, _TEXT_WORDS))) > 1:
                end = _LONG if count_words >= _TEXT_WORDS and len(leaf) > 2 * _TEXT_WORDS else _SHORT_LEAF
                places.append((len(texts), path if _PLACE.fullmatch(path) else ""))
                for text in (leaf, *dates(leaf)):
                    words = self._hashes.words(text)
                    most = max(most, len(words))
                    texts += packed([*words, end])
        return fields, bytes(texts), places, count < MOST_LEAVES and most < MOST_TEXT_WORDS

    def drop(self, before: float, most: int) -> bool:
        """Forget the answers from before a time, and the oldest until there are at most so many words and fields.
        Returns: whether an untrusted one was forgotten because of that."""
        ends = [*(answer.start for answer in self._all[1:]), self._dropped + len(self._texts)]
        size, count = len(self), 0
        while count < len(self._all) and (self._all[count].at < before or size > most):
            size -= (ends[count] - self._all[count].start) // HASH_BYTES + len(self._all[count].fields)
            count += 1
        lost = any(answer.labels.untrusted and answer.at >= before for answer in self._all[:count])
        for answer in self._all[:count]:
            self.fields -= len(answer.fields)
            for one in answer.fields:
                there = self._by_field[one]
                there.pop(0)
                if not there:
                    del self._by_field[one]
        if count:
            del self._texts[: ends[count - 1] - self._dropped]
            self._dropped = ends[count - 1]
            del self._all[:count]
        return lost

    def origins(self, value: str | float) -> Iterator[Origin]:
        """The answers that had a value: in their texts, then as a field, the last first."""
        if words := self._hashes.words(str(value)):
            wanted, limit, whole = packed(words), len(self._texts), self._hashes.whole(value)
            while (at := self._texts.rfind(wanted, 0, limit)) >= 0:
                if at % HASH_BYTES:
                    limit = at + len(wanted) - 1
                    continue
                answer = self._all[bisect_right(self._all, self._dropped + at, key=attrgetter("start")) - 1]
                if whole in answer.fields and self._is_short(at + len(wanted)):
                    limit = at + len(wanted) - 1
                    continue
                place = answer.place(self._dropped + at - answer.start)
                yield Origin(answer, in_text=True, place=place)
                limit = answer.start - self._dropped
        for answer in reversed(self._by_field.get(self._hashes.whole(value), ())):
            yield Origin(answer, in_text=False)

    def has_field(self, value: str | float) -> bool:
        return self._hashes.whole(value) in self._by_field

    def _is_short(self, at: int) -> bool:
        """Whether the text that goes on here is a short one."""
        rest = unpacked(bytes(self._texts[at : at + _TEXT_WORDS * HASH_BYTES]))
        return next((each == _SHORT_LEAF for each in rest if each in (_LONG, _SHORT_LEAF)), False)


class Memory:
    """What one principal has said and was answered. `shown` is when it was first shown what others may have written, in
    seconds since the epoch. What is dropped for its size may be asked for no more, but has still been shown. `news` is
    what was added since somebody took it, for those who store it (`None`: nobody does)."""

    def __init__(self, seconds: float, now: Callable[[], float] = time.time, hashes: Hashes | None = None) -> None:
        self._seconds, self._now = seconds, now
        self._hashes = hashes or Hashes()
        self.news: list[dict[str, Any]] | None = None
        self._answers = Answers(self._hashes)
        self._said: deque[tuple[float, Said]] = deque()
        self._words = 0
        self._look = self._now()
        self.programs = 0
        self.shown = float("inf")
        self._last_shown = self._private_shown = self._lost = 0.0

    def say(self, *texts: str) -> None:
        """Remember what the user's own program says, or the user."""
        said = Said()
        for text in texts:
            for each in (text, *dates(text)):
                said.phrases.add(self._hashes.words(each))
            apart = (word.strip(".:!?") for word in _APART.split(text))
            said.short.update(self._hashes.whole(word) for word in apart if 0 < len(word) < _SHORT)
        at = self._now()
        self._add_said(at, said)
        self._tell(at=at, said=encoded(said.phrases.packed), short=[*said.short])

    def answered(
        self, function: str, server: str, labels: Labels, program: int, value: Any, echoes: Iterable[Any] = ()
    ) -> None:
        fields, texts, places, is_all = self._answers.read(value, echoes)
        at = self._now()
        if labels.untrusted and not is_all:
            self._lost = at
        self._add_answer(Answer(function, server, labels, program, at, 0, fields, places), texts)
        self._tell(
            at=at, function=function, server=server, program=program, untrusted=labels.untrusted,
            private=labels.private, fields=encoded(packed(fields)), texts=encoded(texts), places=places,
        )  # fmt: skip

    def show(self, *, untrusted: bool, private: bool) -> None:
        """The principal is shown what a run was answered."""
        now = self._now()
        self._show(now if untrusted else 0.0, now if private else 0.0)
        if untrusted or private:
            self._tell(at=now, shown=now if untrusted else 0.0, private_shown=now if private else 0.0)

    def learn(self, news: Iterable[dict[str, Any]]) -> None:
        """Remember what others stored of the same principal."""
        for each in news:
            at = float(each["at"])
            if "said" in each:
                self._add_said(at, Said(Phrases(decoded(each["said"])), set(each["short"])))
            elif "function" in each:
                labels = Labels(untrusted=each["untrusted"], private=each["private"])
                fields = {*unpacked(decoded(each["fields"]))}
                self.programs = max(self.programs, each["program"])
                self._add_answer(
                    Answer(
                        each["function"],
                        each["server"],
                        labels,
                        each["program"],
                        at,
                        0,
                        fields,
                        [(start, path) for start, path in each["places"]],
                    ),
                    decoded(each["texts"]),
                )
            else:
                self._show(each["shown"], each["private_shown"])

    def state(self) -> dict[str, float]:
        """When it was shown what, for those who store it."""
        first = self.shown if self.shown != float("inf") else 0.0
        return {"first": first, "last": self._last_shown, "private": self._private_shown, "programs": self.programs,
                "lost": self._lost}  # fmt: skip

    def learn_state(self, state: Mapping[str, float]) -> None:
        """Know what others know to have been shown."""
        self.programs = max(self.programs, int(state["programs"]))
        self._lost = max(self._lost, state["lost"])
        for untrusted in (state["first"], state["last"]):
            self._show(untrusted, state["private"])

    def _show(self, untrusted: float, private: float) -> None:
        if untrusted:
            self.shown, self._last_shown = min(self.shown, untrusted), max(self._last_shown, untrusted)
        self._private_shown = max(self._private_shown, private)

    def _add_said(self, at: float, said: Said) -> None:
        self._said.append((at, said))
        self._words += len(said)
        self.forget()

    def _add_answer(self, answer: Answer, texts: bytes) -> None:
        self._answers.add(answer, texts)
        self.forget()

    def _tell(self, **news: Any) -> None:
        if self.news is not None:
            self.news.append(news)

    @property
    def private_shown(self) -> bool:
        """Whether it was shown what is not for everybody."""
        return self._private_shown > 0

    def lose(self) -> None:
        """Not all that it was answered is known to everybody."""
        self._lost = self._now()

    @property
    def has_lost(self) -> bool:
        """Whether untrusted answers were too much to be remembered: a value that is found nowhere may be from there."""
        return self._lost > 0

    def was_said(self, value: str | float) -> bool:
        """Whether the user's own programs said it."""
        if len(str(value).strip()) < _SHORT:
            return any(self._hashes.whole(value) in said.short for _, said in self._said)
        words = self._hashes.words(str(value))
        return bool(words) and any(said.phrases.has(words) for _, said in self._said)

    def origins(self, value: str | float) -> Iterator[Origin]:
        """The answers that had a value; see `Answers.origins`."""
        return self._answers.origins(value)

    def has_field(self, value: str | float) -> bool:
        """Whether a value is a whole field of an answer."""
        return self._answers.has_field(value)

    def forget(self) -> None:
        """Forget what is too old, and the oldest of what is too much."""
        oldest = self._now() - self._seconds
        if len(self._answers) > MOST_WORDS or self._now() >= self._look:
            if self._answers.drop(oldest, MOST_WORDS * 9 // 10):
                self._lost = self._now()
            self._look = self._now() + self._seconds / 100
        while len(self._said) > 1 and (self._said[0][0] < oldest or self._words > MOST_WORDS):
            self._words -= len(self._said.popleft()[1])
        if self._last_shown < oldest:
            self.shown = float("inf")
        self._private_shown = self._private_shown if self._private_shown >= oldest else 0.0
        self._lost = self._lost if self._lost >= oldest else 0.0
