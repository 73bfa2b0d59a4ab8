"""The form of answers' text: which one a client gets, and values in it. Structured content is JSON in each."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fnmatch import fnmatchcase
from functools import cache, partial
from typing import Any

from doorward import Gateway, Outcome, log
from doorward.texts import apart
from doorward_text import compact_json, outcome_as_text

from doorward_mcp_server.settings import clients_of, output_of

MAX_TOON_CHARS = 2**16
"""Characters of a value's JSON beyond which it stays JSON: its TOON would take a while."""

MAX_RATIO = {"auto": 0.85, "toon": 4.0}
"""How long a block of TOON may be for each character of JSON. It has fewer characters in a token, so `auto` wants it to
be clearly shorter (`benchmarks/tokens.py`); deep values grow with the square of their depth."""

TO_INSTALL = "`pip install doorward[toon]` brings it."
"""Hint for whoever wants TOON and does not have the library."""

_FENCE = "```"


class Output:
    """The forms of a gateway's answers."""

    def __init__(self, gate: Gateway) -> None:
        self._form, self._clients = output_of(gate.config), clients_of(gate.config)
        if lacks_toon(gate):
            log.warning("toon_not_installed", instead="JSON", hint=TO_INSTALL)

    def form(self, ctx: Any) -> str:
        """The form for the client of a request, from the SDK's request context."""
        if not self._clients:
            return self._form
        client = ctx.session.client_params
        name = client.client_info.name if client else ""
        found = (table.output for pattern, table in self._clients.items() if fnmatchcase(name, pattern))
        return next(found, self._form)


def lacks_toon(gate: Gateway) -> bool:
    """Whether the configuration asks for TOON, and the library is not there."""
    config = gate.config
    asked = (output_of(config), *(table.output for table in clients_of(config).values()))
    return "toon" in asked and encoder() is None


def outcome_text(outcome: Outcome, form: str) -> str:
    """The text of an outcome, with its value in a form."""
    return outcome_as_text(outcome) if form == "text" else outcome_as_text(outcome, partial(written, form=form))


def written(value: Any, form: str) -> str:
    """A value that is no text: compact JSON, or a block of TOON."""
    dumped = compact_json(value)
    most = MAX_RATIO.get(form, 0) * len(dumped)
    if not most or not isinstance(value, (dict, list)) or not value or len(dumped) > MAX_TOON_CHARS:
        return dumped
    return (_toon(value, most) if form == "toon" or tabular(value) else "") or dumped


def _toon(value: Any, most: float) -> str:
    """A value as a fenced block of TOON; "" if that would be longer than `most`, or might be misread: in it, no line is
    the block's end, begins like one of an answer, or holds a line break that is none in TOON."""
    if (encode := encoder()) is None:
        return ""
    try:
        text = encode(value)
    except (ValueError, TypeError):
        return ""
    block = f"{_FENCE}toon\n{text}\n{_FENCE}"
    plain = _FENCE not in text and len(text.splitlines()) == text.count("\n") + 1 and apart(text) == text
    return block if plain and len(block) <= most else ""


def tabular(value: Any) -> bool:
    """Whether objects of the same fields stand together in a list or an object, or in one in it: TOON names these
    fields once."""
    parts: Iterable[Any] = value.values() if isinstance(value, dict) else value
    return _uniform([*parts]) or any(tabular(part) for part in parts if isinstance(part, (dict, list)))


def _uniform(rows: list[Any]) -> bool:
    first = rows[0] if len(rows) > 1 else None
    return isinstance(first, dict) and all(isinstance(row, dict) and row.keys() == first.keys() for row in rows)


@cache
def encoder() -> Callable[[Any], str] | None:
    """The encoder of TOON, imported when it is first needed; `None` if it is not installed."""
    try:
        from toon_format import dumps
    except ImportError:
        return None
    return dumps
