"""Notes on functions: what plugins know of them besides what their documents say. They stand on cards, in results of
searches and among the words by which functions are found."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from doorward.data.clean_text import visible
from doorward.host.logs import log
from doorward.model.functions import Function, Schema

_MAX_LINE_CHARS = 1000


@dataclass(frozen=True, slots=True)
class Observation:
    """What the results of one function were like, where its document gives no schema of them: a schema of those that
    there were, what one that is text holds in writing ("JSON", or "" if nothing is known), how many there were, and
    when the last one came, in seconds since the epoch."""

    schema: Schema
    text: str
    times: int
    last: float


class FunctionNotes:
    """The notes of a plugin. A class that inherits from this one has the methods that it needs. Nothing may wait."""

    heading = ""
    """What stands before its lines on a card: whose notes they are."""

    def lines(self, function: Function, language: str) -> Sequence[str]:
        """Lines for the end of the card of a function in a language of programs, the most useful first."""
        return ()

    def summary(self, function: Function) -> str:
        """A summary that is better than the document's; "" if there is none."""
        return ""

    def words(self) -> Sequence[tuple[str, str, Sequence[str]]]:
        """The stems by which functions are found besides their own: server, name of the function, stems."""
        return ()

    def arguments(self, function: Function) -> Mapping[str, Any] | None:
        """Arguments with which a function that only reads probably finds something, if they are known."""
        return None

    def result(self, function: Function) -> Observation | None:
        """What the results of a function were like, if its document says less."""
        return None


class Notes:
    """The notes of all plugins. What a plugin cannot say is logged and left out."""

    def __init__(self) -> None:
        self._all: list[FunctionNotes] = []

    def add(self, notes: FunctionNotes) -> None:
        """Show these, too."""
        self._all.append(notes)

    def lines(self, function: Function, language: str) -> list[tuple[str, Sequence[str]]]:
        """The lines for the end of a card, with the heading of each plugin."""
        return [(notes.heading, [*map(_one_line, lines)]) for notes, lines in self._said("lines", function, language)]

    def summary(self, function: Function) -> str:
        """The first summary that is better than the document's, or ""."""
        return next((_one_line(summary) for _, summary in self._said("summary", function) if summary), "")

    def words(self) -> list[tuple[str, str, Sequence[str]]]:
        """The stems by which functions are found besides their own: server, name of the function, stems."""
        return [each for _, words in self._said("words") for each in words]

    def arguments(self, function: Function) -> list[Mapping[str, Any]]:
        """Sets of arguments to try with a function that only reads."""
        return [given for _, given in self._said("arguments", function) if given is not None]

    def result(self, function: Function) -> Observation | None:
        """The first that is known of a function's results besides what its document says."""
        return next((seen for _, seen in self._said("result", function) if seen is not None), None)

    def with_results(self, functions: Iterable[Function]) -> list[Function]:
        """The functions, with the schema of the results that there were where their documents say less."""
        return [replace(each, returns=seen.schema) if (seen := self.result(each)) else each for each in functions]

    def _said(self, what: str, *about: Any) -> Iterator[tuple[FunctionNotes, Any]]:
        for notes in self._all:
            try:
                said = getattr(notes, what)(*about)
            except Exception as error:  # a defect of a plugin must not hide a function
                log.error("notes_left_out", plugin=type(notes).__module__, what=what, error=type(error).__name__)
            else:
                yield notes, said


def _one_line(text: str) -> str:
    """Text of a plugin, which neither ends a comment nor hides anything."""
    return visible(" ".join(text.splitlines()))[:_MAX_LINE_CHARS]
