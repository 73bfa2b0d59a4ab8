"""What of a model's answer is of use: text of a bounded size that gives nobody orders and leads nowhere else, and
arguments that fit the function's schema."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from doorward import Function, InvalidArguments, ServerError
from doorward.administration import as_json, bind_arguments, plain_value
from doorward.searching import Catalog
from doorward.texts import clean

from doorward_enhance.enhancement import Enhancement

MAX_SUMMARY_CHARS = 140
MAX_DESCRIPTION_CHARS = 800
MAX_NOTE_CHARS, MAX_NOTES = 160, 30
MAX_QUESTION_CHARS, MAX_QUESTIONS = 120, 6
MAX_ARGUMENTS_CHARS, MAX_EXAMPLES = 1000, 2
MAX_ANSWER_CHARS = 50_000
"""Characters of an answer as JSON. A longer one is refused as a whole."""

MAX_COST_USD = 1e6
"""A higher price of one answer is none."""

_ORDER = re.compile(
    r"\b(?:ignore|disregard|forget|override)\s+(?:\w+\s+){0,3}?(?:previous|prior|earlier|above|preceding|system|all)\s+"
    r"(?:\w+\s+){0,3}?(?:instructions?|prompts?|rules|guidelines)\b"
    r"|<\|[^|<>]{1,40}\|>|</?(?:system|instructions?|assistant|tool_call|function_calls?)>|\[/?INST\]",
    re.IGNORECASE,
)
"""Orders to whoever reads a text, and the marks by which models tell speakers apart: no documentation has them."""

_HOST = re.compile(r"(?:\w:/{1,2}|www\.|@)([\w-]+(?:\.[\w-]+)+)")
"""Where a link or an address leads."""

_EXAMPLE_HOST = re.compile(r"(?:.+\.)?(?:example\.(?:com|net|org)|example|test|invalid|localhost)", re.IGNORECASE)
"""Hosts that nobody has (RFC 2606)."""

_TYPES: Mapping[str, type | tuple[type, ...]] = {
    **dict.fromkeys(("summary", "description", "model", "failure"), str),
    **dict.fromkeys(("examples", "questions"), (list, tuple)),
    "notes": Mapping,
    "probe": (Mapping, type(None)),
    "cost": (int, float, type(None)),
}


class Useless(ServerError):
    """An answer of a model is of no use."""


@dataclass(slots=True)
class Checked:
    """What is taken of an answer, and why the rest was `dropped`."""

    enhancement: Enhancement
    dropped: list[str] = field(default_factory=list)


def cost_of(answer: Enhancement) -> float | None:
    """What an answer cost, if that is known: a sum of money."""
    cost = answer.cost
    return float(cost) if isinstance(cost, (int, float)) and 0 <= cost < MAX_COST_USD else None


def checked(answer: Enhancement, function: Function, sent: str, catalog: Catalog) -> Checked:
    """What is taken of an answer to the text that was `sent`.

    Raises: Useless if it is of wrong types, huge or hostile, or if there is something in it and nothing of use.
    """
    for name, types in _TYPES.items():
        if not isinstance(getattr(answer, name), types):
            raise Useless(f"{name} of the answer is a {type(getattr(answer, name)).__name__}")
    if answer.failure:
        raise Useless(clean(answer.failure, 300))
    parts = plain_value(
        [answer.summary, answer.description, answer.notes, answer.examples, answer.questions, answer.probe]
    )
    if (size := len(as_json(parts))) > MAX_ANSWER_CHARS:
        raise Useless(f"the answer has {size:,} characters; at most {MAX_ANSWER_CHARS:,} are read")
    known = f"{sent}\n{function.summary}\n{function.description}"
    if any(order.lower() not in known.lower() for order in _ORDER.findall(" ".join(_texts(parts)))):
        raise Useless("the answer gives orders to its readers")
    taken = _Taken(function, known, catalog)
    enhancement = Enhancement(
        taken.text("summary", answer.summary, MAX_SUMMARY_CHARS, unlike=function.summary),
        taken.text("description", answer.description, MAX_DESCRIPTION_CHARS, unlike=function.description),
        taken.notes(answer.notes),
        taken.several("an example", answer.examples, MAX_EXAMPLES, taken.arguments),
        taken.several("a question", answer.questions, MAX_QUESTIONS, taken.question),
        taken.arguments("probe", answer.probe) if function.read_only and answer.probe else None,
        clean(answer.model, 100),
        cost_of(answer),
    )
    if taken.dropped and not any((enhancement.summary, enhancement.description, enhancement.notes,
                                  enhancement.examples, enhancement.questions, enhancement.probe)):  # fmt: skip
        raise Useless(f"nothing of the answer is of use: {'; '.join(taken.dropped)}")
    return Checked(enhancement, taken.dropped)


def _texts(value: Any) -> Iterable[str]:
    """All texts in an answer, without what nobody sees of them."""
    match value:
        case str():
            yield clean(value, MAX_ANSWER_CHARS)
        case dict():
            for pair in value.items():
                yield from _texts(pair)
        case list() | tuple():
            for part in value:
                yield from _texts(part)


class _Taken:
    """Takes the parts of an answer one by one."""

    def __init__(self, function: Function, known: str, catalog: Catalog) -> None:
        self._function, self._known, self._catalog = function, known.lower(), catalog
        self.dropped: list[str] = []

    def text(self, what: str, text: Any, limit: int, *, unlike: str = "") -> str:
        if not isinstance(text, str):
            self._drop(what, f"is a {type(text).__name__}")
            return ""
        text = clean(text, limit)
        return text if text != clean(unlike, limit) and self._leads_nowhere(what, text) else ""

    def notes(self, notes: Mapping[Any, Any]) -> dict[str, str]:
        there = self._function.parameters.get("properties", {})
        found: dict[str, str] = {}
        for name, note in notes.items():
            if name not in there:
                self._drop("a note", f"is about {clean(str(name), 40)!r}, which is no parameter")
            elif len(found) < MAX_NOTES and (text := self.text("a note", note, MAX_NOTE_CHARS)):
                found[name] = text
        return found

    def several(self, what: str, given: Sequence[Any], most: int, take: Callable[[str, Any], Any]) -> tuple[Any, ...]:
        if len(given) > most:
            self._drop(f"{what.partition(' ')[2]} {most + 1} and further", "are too many")
        return tuple(taken for each in given[:most] if (taken := take(what, each)))

    def question(self, what: str, text: Any) -> str:
        return self.text(what, text, MAX_QUESTION_CHARS)

    def arguments(self, what: str, given: Any) -> dict[str, Any] | None:
        """Arguments that fit the function's schema."""
        values = plain_value(given)
        if not isinstance(values, dict):
            self._drop(what, f"is a {type(given).__name__}")
        elif len(text := as_json(values)) > MAX_ARGUMENTS_CHARS:
            self._drop(what, "is too long")
        elif self._leads_nowhere(what, text):
            try:
                return bind_arguments(self._function, (), values, self._catalog)
            except InvalidArguments as error:
                self._drop(what, f"does not fit: {clean(str(error), 120)}")
        return None

    def _leads_nowhere(self, what: str, text: str) -> bool:
        """Whether a text names no host but those of the document, and those that nobody has."""
        for host in _HOST.findall(text):
            known = re.search(rf"(?<![\w.-]){re.escape(host.lower())}(?![\w-])", self._known)
            if not known and not _EXAMPLE_HOST.fullmatch(host):
                self._drop(what, f"leads to {clean(host, 80)}")
                return False
        return True

    def _drop(self, what: str, why: str) -> None:
        self.dropped.append(f"{what} {why}")
