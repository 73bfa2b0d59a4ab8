"""Servers, functions in a line and the ends of cards, as agents read them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import islice

from doorward import DoorwardError, Function, Gateway, Program
from doorward.texts import PARAMETERS, Reader, comment_mark

from doorward_text.cards import class_names, describe_class
from doorward_text.dialects import dialect_of
from doorward_text.results_in_brief import in_brief

_MAX_NAMES = 40
"""Function names in the description of a server."""

_MAX_SOURCES, _MAX_OFTEN_WITH = 3, 3
"""Functions that a card names for one argument, and beside a function."""

_NOTES_CHARS = 800
"""Characters that a card has for the notes of one plugin."""

_ALL_NOTES_CHARS = 6000
"""Characters that they have where the whole signature was asked for."""

_FUEL = 60
"""Schemas that are looked at to tell what a function gives."""


class Views:
    """Views of the catalog of a gateway, each bounded in size."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway, self._catalog, self._notes = gateway, gateway.catalog, gateway.catalog.notes

    def server(self, module: str, about: str, names: Sequence[str], asker: Program) -> str:
        """A server: what it says of itself, the names of its functions, and how it is imported."""
        more = len(names) - _MAX_NAMES
        listed = ", ".join(names[:_MAX_NAMES]) + (f" and {more} more" if more > 0 else "")
        lines = [f"{module}: {about[:1000]}" if about else module]
        lines += [f"{len(names)} functions: {listed or 'none'}"]
        folder = self._gateway.servers.cwd(module, asker.principal)
        lines += [f"It works in the folder {folder}"] if folder and folder not in lines[0] else []
        written = dialect_of(asker.language).imported(module, "")
        lines += [f"Write `{written}`."] if written else []
        return "\n".join(lines)

    def summary(self, function: Function) -> str:
        """What a function does, as a plugin says, or its document; where that says nothing, its route."""
        own = " ".join((function.summary or function.description or function.route)[:400].split())[:160]
        return self._notes.summary(function) or own

    def gives(self, function: Function) -> str:
        """What it answers, in a few words; "" if nothing is known."""
        seen = self._notes.result(function)
        returns = seen.schema if seen else function.returns
        definitions = partial(self._catalog.definition, function.server)
        return in_brief(returns, Reader(definitions, _FUEL)) if returns is not None else ""

    def part(self, function: Function, name: str, language: str) -> dict[str, str]:
        """`{"text"}`: one class of a function's types in full, or all of its parameters; or `{"error"}`."""
        definitions = partial(self._catalog.definition, function.server)
        if (seen := self._notes.result(function)) is not None:
            function = replace(function, returns=seen.schema)
        if text := describe_class(function, definitions, name, language):
            notes = self._noted(function, language, _ALL_NOTES_CHARS) if name == PARAMETERS else ""
            return {"text": text + notes}
        known = ", ".join(class_names(function, definitions)[:30]) or "none"
        return {"error": f"{function.qualified} has no class {name[:100]!r}. Its classes: {known}"}

    async def beside(self, function: Function, asker: Program) -> str:
        """The functions that give what it needs, those that are often called beside it, and what plugins note, as
        comments."""
        related = await self._gateway.search_engine().related(function, asker.principal)
        mark = comment_mark(asker.language)
        fields: dict[str, list[str]] = {}
        for given in related.given:
            told = fields.setdefault(given.parameter, [])
            if len(told) < _MAX_SOURCES and self._lets(asker, given.producer):
                told.append(f"`{given.field}` of {given.producer.removeprefix(f'{function.server}.')}")
        lines = [f"{parameter}: {' or '.join(told)}" for parameter, told in fields.items() if told]
        often = islice((name for name in related.often_with if self._lets(asker, name)), _MAX_OFTEN_WITH)
        lines += [f"often with: {', '.join(names)}"] if (names := [*often]) else []
        return "".join(f"\n{mark} {line}" for line in lines) + self._noted(function, asker.language, _NOTES_CHARS)

    def _lets(self, asker: Program, qualified: str) -> bool:
        """Whether a function that others are told of may be called: nobody is sent to one that may not."""
        try:
            self._gateway.discovery.callable(qualified, asker)
        except DoorwardError:
            return False
        return True

    def _noted(self, function: Function, language: str, room: int) -> str:
        """The notes of plugins, as comments: in at most `room` characters for each."""
        text, mark = "", comment_mark(language)
        for heading, lines in self._notes.lines(function, language):
            left, shown = room - len(heading), [f"{mark} {heading}"]
            for line in lines:
                left -= len(line) + 5
                if left >= 0:
                    shown.append(f"{mark}   {line}")
            text += "\n\n" + "\n".join(shown) if len(shown) > 1 else ""
        return text
