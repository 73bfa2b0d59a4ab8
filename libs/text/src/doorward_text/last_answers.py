"""Hints for programs that misread an answer: a missing key, a list taken for a dictionary, JSON that is still text."""

from __future__ import annotations

import ast
import re
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from doorward import Failure
from doorward.texts import Answers, nearest

from doorward_text.held_text import MAX_TEXT_CHARS, holds, may_hold
from doorward_text.value_text import Cut, as_text, shown_key, told

_MAX_FUNCTIONS = 5
"""Functions whose last answer is remembered."""

_MAX_WHOLE_BYTES = 2**16
"""Of an answer that is remembered whole; of a larger one, the beginning of each part is remembered."""

_MAX_ITEMS, _MAX_KEYS, _MAX_DEPTH, _MAX_KEPT_PARTS = 3, 40, 5, 5000

_MAX_TEXTS = 20
"""Texts of an answer that are read to find out what they hold."""

_MAX_COMPARED_KEYS = 200
"""Keys that a missing key is compared with."""

_MAX_SEARCHED_PARTS = 1000
"""Parts of an answer that are searched for a key."""

_ATTRIBUTE_ERROR = re.compile(r"'(\w+)' object has no attribute '(\w+)'|the answer has no field '([^']*)'")
_RESPONSE_ATTRIBUTES = {"json", "text", "content", "status_code", "raise_for_status"}
"""Attributes of the responses of HTTP clients."""

_PLAIN_TYPES = (None, "dict", "list", "str")
_JSON_LOADS_ERROR = re.compile(r"JSON object must be str")
_TEXT_INDEX_ERROR = re.compile(r"string ind(?:ices|ex) must be integer")
_SLICE_ERROR = re.compile(r"unhashable type: 'slice'|slice\(")
_LIST_INDEX_ERROR = re.compile(r"list indices must be integer")
_METHOD_ERROR = re.compile(
    r"'(?:builtin_function_or_method|method)' object is not (?:subscriptable|iterable)|argument of type '\w*method'"
)
_READING_ERROR = re.compile(r"Cannot read properties of (?:undefined|null) \(reading '([^']*)'\)")
_NO_METHOD_ERROR = re.compile(r"\S+ is not (?:a function|iterable)")
"""These two are JavaScript's."""

_NONE_ERROR = re.compile(r"'NoneType' object is not (?:subscriptable|iterable)")


class LastAnswers(Answers):
    """The last answers of a run, as far as it takes to explain a mistake."""

    def __init__(self) -> None:
        self._last: OrderedDict[str, Any] = OrderedDict()

    def add(self, function: str, value: Any, size: int) -> None:
        self._last[function] = value if size <= _MAX_WHOLE_BYTES else _beginning(value, _MAX_DEPTH, [_MAX_KEPT_PARTS])
        self._last.move_to_end(function)
        if len(self._last) > _MAX_FUNCTIONS:
            self._last.popitem(last=False)

    def hint(self, error: Failure) -> str | None:
        """What the answers looked like, if the error may come from taking one for something else."""
        if not self._last:
            return None
        match error.type:
            case "KeyError" | "TypeError" if _SLICE_ERROR.search(error.message):
                return self._shapes(dict)
            case "KeyError":
                return self._of_key(_key(error.message))
            case "IndexError":
                return self._shapes(list)
            case "ValueError" if "values to unpack" in error.message:
                return self._shapes()
            case "AttributeError" if match := _ATTRIBUTE_ERROR.search(error.message):
                kind, name = match[1], match[2] or match[3]
                if name in _RESPONSE_ATTRIBUTES and kind in _PLAIN_TYPES and not self._have(name):
                    return f"An answer is its value, not a response: leave out `.{name}`. {self._shapes()}"
                if kind in (None, "dict"):
                    advice = f'Answers are plain dictionaries here: write value["{name}"]. ' if kind else ""
                    return advice + self._of_key(name)
                return self._of_kind(kind)
            case "TypeError" if _JSON_LOADS_ERROR.search(error.message):
                return self._text_within() or f"Answers are values already: leave out `json.loads`. {self._shapes()}"
            case "TypeError" if _TEXT_INDEX_ERROR.search(error.message):
                return self._of_kind("str")
            case "TypeError" if _LIST_INDEX_ERROR.search(error.message):
                return self._of_kind("list")
            case "TypeError" if _METHOD_ERROR.search(error.message):
                advice = 'write value["items"], not value.items, for a field'
                return f"Dictionaries have methods: {advice}. {self._shapes(dict)}"
            case "TypeError" if _NONE_ERROR.search(error.message):
                return self._shapes()
            case "TypeError" if match := _READING_ERROR.search(error.message):
                return self._of_key(match[1])
            case "TypeError" if _NO_METHOD_ERROR.match(error.message):
                return self._shapes()
        return None

    def note(self, value: Any) -> str | None:
        """A note on a run's value that is an unread answer: text that holds JSON, for example."""
        if isinstance(value, str) and (what := holds(value)):
            for function, answer in reversed(self._last.items()):
                if isinstance(answer, str) and value.startswith(answer):
                    return f"{function} answered {as_text(what)}"
        return None

    def _of_kind(self, kind: str) -> str:
        if kind == "str":
            if told := self._text_within():
                return told
            looped = any(isinstance(answer, dict) for answer in self._last.values())
            return ("A loop over a dictionary gives its keys. " if looped else "") + self._shapes(dict)
        return self._shapes({"list": list}.get(kind, object))

    def _text_within(self) -> str:
        """Which answer holds a text that holds JSON, and where; "" if none does."""
        for function, answer in reversed(self._last.items()):
            texts = ((place, part) for place, part in _parts(answer) if isinstance(part, str) and may_hold(part))
            for place, part in islice(texts, _MAX_TEXTS):
                if what := holds(part):
                    return f"{function} answered {as_text(what)}" + (f", at {place}" if place else "")
        return ""

    def _have(self, key: str) -> bool:
        """Whether one of the answers has this field."""
        return any(isinstance(answer, dict) and key in answer for answer in self._last.values())

    def looped(self, arguments: Iterable[Any]) -> str:
        """A hint for a call that failed, if one of its arguments is what a loop over an answer begins with where that
        is no list."""
        for value in arguments:
            for function, answer in reversed(self._last.items()):
                if not isinstance(value, str) or not value or not answer:
                    continue
                if isinstance(answer, str) and len(answer) > 1 and value == answer[0]:
                    lines = "; its lines are `.splitlines()`" if "\n" in answer else ""
                    return f"A loop over a text gives its characters. {function} answered a text{lines}."
                if isinstance(answer, dict) and value == next(iter(answer)):
                    return f"A loop over a dictionary gives its keys. {told(function, answer)}."
        return ""

    def _of_key(self, key: str | int) -> str:
        """Where the key is found; if nowhere, the nearest key and the shape of the last answer."""
        names: dict[str, None] = {}
        for function, answer in reversed(self._last.items()):
            for place, part in _parts(answer):
                if isinstance(part, dict) and key in part:
                    return (f"There is {shown_key(key)!r} at {place}. " if place else "") + f"{told(function, answer)}."
                if isinstance(part, dict) and len(names) < _MAX_COMPARED_KEYS:
                    names |= dict.fromkeys(name for name in islice(part, _MAX_COMPARED_KEYS) if isinstance(name, str))
        near = nearest(key, islice(names, _MAX_COMPARED_KEYS), 1) if isinstance(key, str) else []
        return " ".join(filter(None, [f"Did you mean {shown_key(near[0])!r}?" if near else "", self._shapes()]))

    def _shapes(self, kind: type = object) -> str:
        """The shape of the last answer of a kind, or of the last one if there is none of that kind."""
        last = [*reversed(self._last.items())]
        return f"{told(*next((each for each in last if isinstance(each[1], kind)), last[0]))}."


def _parts(value: Any) -> Iterator[tuple[str, Any]]:
    """The parts of a value with their places, outermost first; of a list only the first items."""
    level, left = [("", value)], _MAX_SEARCHED_PARTS
    while level and left > 0:
        yield from level[:left]
        left -= len(level)
        level = [inner for each in level[:_MAX_SEARCHED_PARTS] for inner in _within(*each)][:_MAX_SEARCHED_PARTS]


def _within(place: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        yield from ((f"{place}[{shown_key(key)!r}]", part) for key, part in islice(value.items(), _MAX_KEYS))
    elif isinstance(value, list):
        yield from ((f"{place}[{number}]", part) for number, part in enumerate(value[:_MAX_ITEMS]))


def _beginning(value: Any, depth: int, left: list[int]) -> Any:
    """A value cut to its beginning, of at most as many parts as are `left`."""
    left[0] -= 1
    match value:
        case str():
            return value[: MAX_TEXT_CHARS + 1]
        case dict() if depth and left[0] > 0:
            return {key: _beginning(part, depth - 1, left) for key, part in islice(value.items(), _MAX_KEYS)}
        case list() if depth and left[0] > 0:
            return Cut(value, [_beginning(part, depth - 1, left) for part in value[:_MAX_ITEMS]])
        case dict() | list():
            return None
    return value


def _key(message: str) -> str | int:
    """The key that a KeyError is about. The message has its `repr`, in Monty its text."""
    try:
        key = ast.literal_eval(message[:200])
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return message
    return key if isinstance(key, (str, int)) else message
