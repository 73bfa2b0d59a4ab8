"""What a search engine is: it finds functions by words, and says which belong together.

A plugin gives one as the service `SEARCH`. It is told which functions the asker may call, and shows no others.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import compress
from typing import NamedTuple

from doorward.model.functions import Function
from doorward.model.services import Service


@dataclass(frozen=True, slots=True, eq=False)
class Allowed:
    """Which functions of a server somebody may call: `may` has a byte, 0 or 1, for each of its `names`, in the order of
    its document. The same object is given until its server is compiled again."""

    names: Sequence[str]
    may: bytes

    def called(self) -> list[str]:
        """The names of those that may be called."""
        return [*compress(self.names, self.may)]


@dataclass(frozen=True, slots=True)
class Search:
    """A search: what fits any of the `queries`, those functions first that have the best place for one of them.

    `usable` are the servers of the `principal` by their modules, `servers` those of them to look at. `allowed` are by
    server the functions that may be called, `None` if all of them may. `read_only` is whether functions shall only
    read, or not. `limit` functions are wanted behind the first `offset`; with `explain`, why they were found.
    """

    queries: Sequence[str]
    principal: str
    usable: Sequence[str]
    servers: Sequence[str]
    allowed: Mapping[str, Allowed] | None = None
    read_only: bool | None = None
    limit: int = 10
    offset: int = 0
    explain: bool = False


class Hit(NamedTuple):
    """A function that was found. `answers` are the queries that found it, by their numbers from 1. `needs` has for
    arguments the functions that give them. `matched` says why it was found, if that was asked."""

    function: Function
    answers: Sequence[int] = ()
    needs: Mapping[str, Sequence[str]] = {}
    matched: Sequence[str] = ()


class Found(NamedTuple):
    """Hits, best first; how many functions fit in all, and how many of them well; and, if none fits, the names of some
    that nearly do."""

    hits: Sequence[Hit]
    total: int
    well: int
    near: Sequence[str] = ()


class Given(NamedTuple):
    """The `field` of what `producer` answers, a `server.function`, is what `parameter` of `function` needs. How sure
    that is, is its `confidence`, up to 1. `learned`: in how many runs it was passed on, if that is how it is known."""

    function: str
    parameter: str
    producer: str
    field: str
    confidence: float
    learned: int = 0


@dataclass(frozen=True, slots=True)
class Related:
    """The functions that belong to one: those that likely give what it needs, the surest first for each parameter, and
    the names of those that are often called beside it. Whoever shows them leaves out what the asker may not call."""

    given: Sequence[Given] = ()
    often_with: Sequence[str] = field(default_factory=list)


class SearchEngine:
    """Finds functions. A class that inherits from this one must have `find`, and may have the rest."""

    async def find(self, search: Search) -> Found:
        """What is found. Raises: DoorwardError."""
        raise NotImplementedError

    def near(self, words: Sequence[str], servers: Sequence[str], most: int) -> Sequence[Function]:
        """The functions of these servers that fit the words of an unknown name, best first: they are named in its
        error. It must not wait."""
        return ()

    async def related(self, function: Function, principal: str) -> Related:
        """The functions that belong to one."""
        return Related()

    async def graph(self, server: str, principal: str) -> Sequence[Given]:
        """All that is known of who gives what the functions of a server need."""
        return ()

    async def prepare(self) -> None:
        """Do now what is otherwise done in the background when compiles have changed something."""

    async def checks(self) -> AsyncIterator[tuple[str, bool, str]]:
        """Look whether all is well: what was looked at, whether it is well, and what to do if not."""
        nothing: Sequence[tuple[str, bool, str]] = ()
        for each in nothing:
            yield each


SEARCH = Service[SearchEngine]("a search engine")
"""Without one, exact names and plain words find functions."""
