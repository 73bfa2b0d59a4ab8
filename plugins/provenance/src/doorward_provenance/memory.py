"""What a principal was answered and what its programs said: hashes of it, for a while and up to a size."""

from __future__ import annotations

import re
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from doorward_provenance.labels import Labels
from doorward_provenance.words import Phrases, hashes, leaves, whole

MOST_WORDS = 200_000
"""Words that are remembered of one principal."""
_TEXT_WORDS = 4
"""A leaf with so many words is a text, in which somebody may have written anything; a shorter one is a field."""

_SHORT = 4
"""A value with fewer characters was said only where it stood by itself: the 13 of a time of day is no number 13."""
_APART = re.compile(r"[\s\"'`()\[\]{},;=]+")


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
    texts: Phrases = field(default_factory=Phrases)
    fields: set[int] = field(default_factory=set)

    def learn(self, value: Any, echoes: Iterable[Any] = ()) -> None:
        """Remember the values of an answer, but not those that only repeat what the call was given."""
        repeated = {whole(each) for each in echoes}
        for _, leaf in leaves(value):
            if whole(leaf) in repeated:
                continue
            self.fields.add(whole(leaf))
            if (
                isinstance(leaf, str)
                and len(leaf) > 2 * _TEXT_WORDS
                and len(leaf.split(None, _TEXT_WORDS)) >= _TEXT_WORDS
            ):
                self.texts.add(leaf)

    def __len__(self) -> int:
        return len(self.texts) + len(self.fields)


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a value came from: in a `text` that was answered, or as a `field` of its own."""

    answer: Answer
    in_text: bool


class Memory:
    """What one principal has said and was answered. `shown` is when it was first shown what others may have written, in
    seconds since the epoch. What is dropped for its size may be asked for no more, but has still been shown."""

    def __init__(self, seconds: float, now: Callable[[], float] = time.time) -> None:
        self._seconds, self._now = seconds, now
        self._answers: deque[Answer] = deque()
        self._said: deque[tuple[float, Said]] = deque()
        self._words = 0
        self.programs = 0
        self.shown = float("inf")
        self._last_shown = self._private_shown = 0.0

    def say(self, *texts: str) -> None:
        """Remember what the user's own program says, or the user."""
        said = Said()
        for text in texts:
            said.phrases.add(text)
            apart = (word.strip(".:!?") for word in _APART.split(text))
            said.short.update(whole(word) for word in apart if 0 < len(word) < _SHORT)
        self._said.append((self._now(), said))
        self._words += len(said)
        self._drop()

    def answered(
        self, function: str, server: str, labels: Labels, program: int, value: Any, echoes: Iterable[Any] = ()
    ) -> Answer:
        answer = Answer(function, server, labels, program, self._now())
        answer.learn(value, echoes)
        self._answers.append(answer)
        self._words += len(answer)
        self._drop()
        return answer

    def show(self, *, untrusted: bool, private: bool) -> None:
        """The principal is shown what a run was answered."""
        now = self._now()
        if untrusted:
            self.shown, self._last_shown = min(self.shown, now), now
        if private:
            self._private_shown = now

    @property
    def private_shown(self) -> bool:
        """Whether it was shown what is not for everybody."""
        return self._private_shown > 0

    def was_said(self, value: str | float) -> bool:
        """Whether the user's own programs said it."""
        if len(str(value).strip()) < _SHORT:
            return any(whole(value) in said.short for _, said in self._said)
        words = hashes(str(value))
        return bool(words) and any(said.phrases.has(words) for _, said in self._said)

    def origins(self, value: str | float) -> Iterator[Origin]:
        """The answers that had a value, the last first."""
        words, one = hashes(str(value)), whole(value)
        for answer in reversed(self._answers):
            if one in answer.fields:
                yield Origin(answer, in_text=False)
            if words and answer.texts.has(words):
                yield Origin(answer, in_text=True)

    def _drop(self) -> None:
        """Forget what is too old, and the oldest of what is too much."""
        oldest = self._now() - self._seconds
        while self._answers and (self._answers[0].at < oldest or self._words > MOST_WORDS):
            self._words -= len(self._answers.popleft())
        while len(self._said) > 1 and (self._said[0][0] < oldest or self._words > MOST_WORDS):
            self._words -= len(self._said.popleft()[1])
        if self._last_shown < oldest:
            self.shown = float("inf")
        if self._private_shown < oldest:
            self._private_shown = 0.0
