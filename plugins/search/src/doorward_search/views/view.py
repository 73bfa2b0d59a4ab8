"""One search view: what it has embedded, and how like a question each function is.

A view that fails is left alone for a while: searches go on with words alone, and wait for nothing.
"""

from __future__ import annotations

import hashlib
import time
import weakref
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
from doorward import DoorwardError, ServerError
from doorward.administration import Failures, PluginId, expected, limited, run_in_thread
from doorward.administration import maybe_in_thread as done
from doorward.searching import SearchView
from numpy.typing import NDArray

from doorward_search.views.answers import packed, unpacked, vectors
from doorward_search.views.stored_vectors import StoredVectors
from doorward_search.views.texts import digest

if TYPE_CHECKING:
    from doorward_search.index import Index

BATCH_TEXTS = 64
"""Texts of functions that are embedded at once."""

EMBED_SECONDS = 60.0
"""Seconds that a batch of them may take."""

ANSWER_SECONDS = 0.3
"""Seconds that a search waits for its questions to be embedded."""

PAUSE_SECONDS = 30.0
"""Seconds without questions for a view that did not answer one."""

MAX_QUESTIONS = 256
"""Questions whose vectors are remembered: the next page of an answer is ranked by the same ones."""

_LARGE = 2**21
"""A comparison of more numbers than this is made in a thread."""

FUNCTIONS, QUESTION = "functions", "question"
"""The texts that a view embeds."""

Name = tuple[str, str]
"""The server and the name of a function."""

Array = NDArray[Any]
T = TypeVar("T")


class Embedded(NamedTuple):
    """The functions that were embedded: the rows of their vectors, the vectors, and of how many texts there are none
    yet."""

    rows: Mapping[Name, int]
    vectors: Array
    missing: int


NOTHING = Embedded({}, np.empty((0, 0), np.float32), 0)


class View:
    """A driver with what it has embedded."""

    def __init__(
        self,
        id: PluginId,
        driver: SearchView,
        stored: StoredVectors,
        failures: Failures,
        clear: Callable[[Sequence[str]], list[str]],
    ) -> None:
        self.id, self.known = id, NOTHING
        self._troubles: dict[str, DoorwardError] = {}  # why it did not embed functions, or a question, the last time
        self._driver, self._stored, self._failures, self._clear = driver, stored, failures, clear
        self._model = ""
        self._rest_until = 0.0
        self._questions: OrderedDict[str, Array] = OrderedDict()
        self._placed: tuple[weakref.ref[Index], Embedded, Array] | None = None

    async def update(self, texts: Mapping[Name, str], *, embed: bool) -> None:
        """Know these functions, by what was kept of them; and by what is embedded now, if `embed`.

        Raises: DoorwardError, after which what was embedded is known all the same.
        """
        try:
            said = expected(str, await self._limited(self._driver.fingerprint, EMBED_SECONDS))
            model = hashlib.sha256(said.encode(errors="surrogatepass")).hexdigest()[:32]
            digests = await run_in_thread(lambda: {name: digest(text) for name, text in texts.items()})
            kept = await self._stored.read(self.id.name, model)
            if model != self._model:
                self._model = model
                self._questions.clear()
            await self._know(digests, kept)
            if not embed:
                return
            try:
                await self._embed_missing({digests[name]: text for name, text in texts.items()}, kept)
            finally:
                await self._know(digests, kept)
            in_use = {key: kept[key] for key in digests.values() if key in kept}
            await self._stored.used(self.id.name, model, in_use)
            self._troubles.pop(FUNCTIONS, None)
        except Exception as error:
            raise self._failed(FUNCTIONS, error) from None

    async def _embed_missing(self, texts: Mapping[bytes, str], kept: dict[bytes, bytes]) -> None:
        """Embed the texts of which nothing is kept, and keep that."""
        missing = [key for key in texts if key not in kept]
        for start in range(0, len(missing), BATCH_TEXTS):
            keys = missing[start : start + BATCH_TEXTS]
            asked = await run_in_thread(self._clear, [texts[key] for key in keys])
            length = len(next(iter(kept.values()))) // 2 if kept else None
            answer = await self._embed(asked, EMBED_SECONDS)
            found = await run_in_thread(vectors, answer, len(asked), length)
            new = {key: packed(row) for key, row in zip(keys, found, strict=True)}
            kept |= new
            await self._stored.keep(self.id.name, self._model, new)

    async def _know(self, digests: Mapping[Name, bytes], kept: Mapping[bytes, bytes]) -> None:
        def joined() -> Embedded:
            found = [name for name, key in digests.items() if key in kept]
            missing = len({*digests.values()} - kept.keys())
            if not found:
                return NOTHING._replace(missing=missing)
            rows = {name: row for row, name in enumerate(found)}
            return Embedded(rows, unpacked([kept[digests[name]] for name in found]), missing)

        self.known = await run_in_thread(joined)

    async def likeness(self, questions: Sequence[str], index: Index) -> list[Array] | None:
        """For each question how like it each function of an index is, at most 1; NaN for one that was not embedded.
        `None` if the view cannot say it now. Never raises, and takes no longer than a search may wait."""
        if not self.known.rows or time.monotonic() < self._rest_until:
            return None
        try:
            asked = await self._embedded(questions, ANSWER_SECONDS)
        except Exception as error:
            self._rest_until = time.monotonic() + PAUSE_SECONDS
            self._failed(QUESTION, error)
            return None
        self._troubles.pop(QUESTION, None)
        known = self.known
        if any(vector.size != known.vectors.shape[1] for vector in asked):  # another model has just been taken up
            return None
        places = await self._places(index, known)

        def compared() -> list[Array]:
            return [_like(np.vecdot(known.vectors, vector), places) for vector in asked]  # `@` would start threads

        return await done(compared, large=known.vectors.size * len(asked) > _LARGE)

    async def _embedded(self, questions: Sequence[str], seconds: float) -> list[Array]:
        """The vectors of questions, remembered or asked for. Raises: whatever comes of that."""
        known = {question: self._questions[question] for question in questions if question in self._questions}
        if missing := [question for question in dict.fromkeys(questions) if question not in known]:
            model, asked = self._model, self._clear(missing)
            answer = await self._embed(asked, seconds, question=True)
            found = vectors(answer, len(asked), self.known.vectors.shape[1] or None)
            known |= zip(missing, found, strict=True)
            if model != self._model:  # taken up meanwhile: what the former one says is of no use to the next search
                return [known[question] for question in questions]
        for question, vector in known.items():
            self._questions[question] = vector
            self._questions.move_to_end(question)
        while len(self._questions) > MAX_QUESTIONS:
            self._questions.popitem(last=False)
        return [known[question] for question in questions]

    async def _places(self, index: Index, known: Embedded) -> Array:
        """The row of each function of an index; -1 for one that was not embedded."""
        if self._placed is not None and self._placed[0]() is index and self._placed[1] is known:
            return self._placed[2]

        def placed() -> Array:
            return np.array([known.rows.get(index.qualified(number), -1) for number in range(index.size)], np.int64)

        places = await run_in_thread(placed)
        self._placed = weakref.ref(index), known, places
        return places

    async def check(self) -> str:
        """Embed a question, however long that takes, and tell what there is. Raises: DoorwardError."""
        if FUNCTIONS in self._troubles:
            raise self._troubles[FUNCTIONS]
        started = time.perf_counter()
        try:
            self._questions.clear()
            await self._embedded(["list of things"], EMBED_SECONDS)
        except Exception as error:
            raise self._failed(QUESTION, error) from None
        ms = (time.perf_counter() - started) * 1000
        count, dimensions = self.known.vectors.shape
        return f"{count} functions in {dimensions} dimensions, a question takes {ms:.0f} ms"

    async def close(self) -> None:
        await self._failures.closed(self.id, self._driver)

    async def _embed(self, texts: Sequence[str], seconds: float, *, question: bool = False) -> Any:
        return await self._limited(lambda: self._driver.embed(texts, question=question), seconds)

    async def _limited(self, method: Callable[[], Coroutine[Any, Any, T]], seconds: float) -> T:
        """The answer of a method of the driver. Raises: TimeoutError; what it raises."""
        answers: list[T] = []

        async def work() -> None:
            answers.append(await method())

        await limited(work, seconds)
        return answers[0]

    def _failed(self, what: str, error: Exception) -> DoorwardError:
        """The error for the operator. The log has the first one after the view has embedded such texts."""
        if isinstance(error, TimeoutError):
            error = ServerError(f"{self.id}: {error}", hint="Is its model or its endpoint reachable from here?")
        if what not in self._troubles:
            hint = "Searches go on with words alone; it is asked again later."
            told = self._failures.told(self.id, "embed", error, event="search_view_failed", texts=what, hint=hint)
            told.message = self._failures.scrub(told.message)
            self._troubles[what] = told
        return self._troubles[what]


def _like(similarities: Array, places: Array) -> Array:
    """The similarities of rows as those of functions."""
    return np.where(places >= 0, similarities[places], np.nan).astype(np.float32)
