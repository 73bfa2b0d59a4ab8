"""The card of a function: all that an agent needs to call it, in about 600 tokens; and what the card leaves out, on
request.

The room goes to the arguments first: their names and types, then their classes, then descriptions. Some room is kept
for the result in any case.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from doorward import Function
from doorward.texts import MAX_NESTING, PARAMETERS, Definitions, Reader

from doorward_text.annotations import Types
from doorward_text.classes import Above, class_name
from doorward_text.dialect import PYTHON, Dialect
from doorward_text.dialects import dialect_of
from doorward_text.examples import example_call
from doorward_text.signatures import (
    ANY_OTHERS,
    LIMIT_DESCRIPTION_CHARS,
    MAX_CARD_CHARS,
    MAX_STUB_PARAMETERS,
    define,
    first_described,
    observed_in_words,
    paragraphs,
    response_name,
    result_of,
    shown_parameters,
    with_result,
)
from doorward_text.value_text import as_text
from doorward_text.wording import commented

if TYPE_CHECKING:
    from doorward.texts import Observation

_CARD_WIDTHS = (
    *((60, 100, 60, 900), (60, 70, 60, 900), (60, 45, 45, 900), (60, 45, 45, 450)),
    *((60, 0, 45, 450), (60, 0, 0, 450), (25, 0, 0, 450), (15, 0, 0, 450), (8, 0, 0, 450)),
)
"""Widths to try in this order: how many parameters a card shows, how many characters of their descriptions and of those
of their classes' fields, and how many characters are kept for the result's types, if they need so many. The first one
is taken that has room for all classes of parameters; else the first one from `_FIRST_CUT_WIDTH` on that fits at all."""

_FIRST_CUT_WIDTH = 4
_CUT_TOLERANCE_CHARS = 100
"""Characters by which arguments that are cut anyway may exceed their room."""

_MIN_CLASSES_CHARS = 250
"""Characters that the classes of parameters may always have."""

_MAX_CUT_NAMES_CHARS = 200
"""Characters for the names of classes that are cut, once for parameters and once for the result. Of further classes the
keys are shown, but not how to ask for them."""

_FRAME_CHARS = 90
"""Characters between the parts of a card, and around the names of what it leaves out."""

_MAX_CLASS_DEPTH = 4
"""How deeply the classes of parameters may be nested."""

_MAX_SCHEMAS_TRIED = 3000
"""Schemas that may be looked at while widths are tried; then the last width is taken. Without this limit a document
could make each try take long."""

_DEEP_FUEL = 20_000
_MAX_FULL_CHARS = 4 * MAX_CARD_CHARS
"""Characters of a text that was asked for in full."""

_MAX_ARGUMENT_CHARS = MAX_CARD_CHARS // 2
"""Characters of the classes that are shown for a wrong argument."""

_DESCRIPTION_WIDTHS = (1000, 400, 150, 60)
"""Characters of the description of each field there: the first width that fits is taken."""


@dataclass(frozen=True, slots=True)
class _Sent:
    """The part of a card on arguments: the `def`, and the classes of parameters."""

    head: str
    classes: str
    types: Types
    above: Above
    is_whole: bool

    @property
    def size(self) -> int:
        return len(self.head) + len(self.classes) + sum(len(name) + 3 for name in self.types.cut)


def describe(
    function: Function,
    definitions: Definitions,
    *,
    module: str,
    seen: Observation | None = None,
    language: str = "python",
) -> str:
    """The card of one function: import line, signature with docstring, the types of parameters and result, and an
    example call. It is valid code, and at most `MAX_CARD_CHARS` long except for huge signatures. A result type that
    was only observed (`seen`) is marked as such."""
    words = dialect_of(language)
    note = f"{words.mark} The result: {observed_in_words(seen)}." if seen is not None else ""
    note += f" It is {as_text(seen.text)}." if seen is not None and seen.text else ""
    function, reader = with_result(function, seen), Reader(definitions)
    start, end = words.imported(module, PYTHON.name(function)), example_call(function, definitions, module, words)
    answer = result_of(function, reader, depth=2, room=MAX_CARD_CHARS, dialect=words)[1].classes()
    room = MAX_CARD_CHARS - sum(map(len, [start, end, note, function.qualified])) - _FRAME_CHARS
    for number, (most, about, comments, for_result) in enumerate(_CARD_WIDTHS):
        if reader.spent > _MAX_SCHEMAS_TRIED and number < len(_CARD_WIDTHS) - 1:
            continue
        for_classes, least = 0, min(len(answer), for_result)
        for _ in range(3):  # the `def` depends on the room for classes, which is what the `def` leaves
            sent = _sent(function, reader, words, most, about, comments, for_classes)
            spare = 0 if about else room - least - sent.size
            if spare > 0:
                sent = _sent(function, reader, words, most, about, comments, for_classes, spare)
            before, for_classes = for_classes, max(room - least - sent.size + len(sent.classes), _MIN_CLASSES_CHARS)
            if for_classes == before or reader.spent > _MAX_SCHEMAS_TRIED:
                break
        may_cut = number >= _FIRST_CUT_WIDTH
        tolerance = _CUT_TOLERANCE_CHARS if may_cut else 0
        if sent.size <= room - least + tolerance and (may_cut or not sent.types.cut):
            break
    reader.refuel()
    left = max(room - sent.size, 300)
    names = min(_MAX_CUT_NAMES_CHARS, left // 4)
    received = result_of(
        function, reader, depth=2, room=left - names, above=sent.above, names=names - 30, dialect=words
    )[1]
    results = "\n".join(filter(None, [note, received.classes()]))
    more = _rest(
        f"{module}.{PYTHON.name(function)}",
        [*([] if sent.is_whole else [PARAMETERS]), *sent.types.cut, *received.cut],
        words,
    )
    return "\n\n".join(filter(None, [start, sent.head, sent.classes, results, more, end]))


def _sent(
    function: Function,
    reader: Reader,
    words: Dialect,
    most: int,
    about: int,
    comments: int,
    room: int,
    spare: int = 0,
) -> _Sent:
    """The part on arguments. Where there is no room to say something of all of them (`about` is 0), something is said
    of the first ones as far as `spare` characters suffice."""
    reader.refuel()
    names = _MAX_CUT_NAMES_CHARS
    types = Types(
        reader, room=room, depth=_MAX_CLASS_DEPTH, sending=True, comments=comments, names=names, dialect=words
    )
    parameters, others = shown_parameters(function, reader, types, most)
    classes = types.classes()
    fields = {each.name: commented(each.annotation, "", each.note) for each in parameters}
    above = Above(types.references, types.types, fields, types.cut)
    returns = result_of(function, reader, depth=1, room=0, above=above, dialect=words)[0]
    shown = parameters if about else first_described(parameters, spare, optional=not types.cut)
    head = define(function, shown, others, returns, words, about=about or LIMIT_DESCRIPTION_CHARS)
    head = words.documented(head, paragraphs(function, 120 + 3 * about))
    is_whole = others in ("", ANY_OTHERS) and not types.is_shortened and "…" not in head and shown == parameters
    return _Sent(head, classes, types, above, bool(is_whole))


def _rest(name: str, cut: Iterable[str], words: Dialect) -> str:
    """The line of a card that says how to ask for what it leaves out."""
    first, *others = dict.fromkeys(cut) or [""]
    return first and ", ".join(
        [f'{words.mark} In full: get_functions(["{name}#{first}"])', *(f"#{part}" for part in others)]
    )


def describe_class(function: Function, definitions: Definitions, name: str, language: str = "python") -> str | None:
    """One of the classes that a function's card names, with all of its fields, and the classes that it uses; `None` if
    the function has no class of that name. `parameters` is the full signature."""
    words = dialect_of(language)
    if name == PARAMETERS:
        return _whole(function, definitions, words)
    texts: list[str] = []
    above, cut = Above({}, {}, {}), dict[str, None]()
    for types in _all(function, definitions, words):
        if name not in types.made:
            continue
        made = types.made[name]
        for comments in _DESCRIPTION_WIDTHS:
            full = Types(
                Reader(definitions),
                room=_MAX_FULL_CHARS,
                sending=types.sending,
                comments=comments,
                above=above,
                dialect=words,
            )
            full.annotate({**made.schema, "$ref": f"#/$defs/{made.ref}"} if made.ref else made.schema, name)
            text = full.classes()
            if not full.is_crowded:
                break
        above = Above(full.references, full.types, {})
        texts.append(text)
        cut |= dict.fromkeys(full.cut)
    more = _rest(function.qualified, cut, words)
    return "\n\n".join(filter(None, [*texts, more])) or None


def class_names(function: Function, definitions: Definitions) -> list[str]:
    """The names that `describe_class` knows, the least nested classes first."""
    return list(dict.fromkeys(name for types in _all(function, definitions, PYTHON) for name in types.made))


def _all(function: Function, definitions: Definitions, words: Dialect) -> Iterator[Types]:
    """The types of the parameters, then those of the result, all of them."""
    above = None
    for sending in (True, False):
        reader = Reader(definitions, _DEEP_FUEL)
        types = Types(reader, depth=8, room=100 * MAX_CARD_CHARS, sending=sending, dialect=words, above=above)
        if sending:
            shown_parameters(function, reader, types, MAX_STUB_PARAMETERS)
        else:
            types.annotate(function.returns, response_name(function))
        types.classes()
        yield types
        above = None if words.may_repeat else Above(types.references, types.types, {})


def _whole(function: Function, definitions: Definitions, words: Dialect) -> str:
    """The signature with the function's full description, and the classes of its parameters."""
    for width in _DESCRIPTION_WIDTHS:
        reader = Reader(definitions, _DEEP_FUEL)
        types = Types(reader, room=_MAX_FULL_CHARS, sending=True, comments=width, dialect=words)
        parameters, others = shown_parameters(function, reader, types, MAX_STUB_PARAMETERS, width)
        returns = result_of(function, reader, depth=1, room=0, dialect=words)[0]
        text = define(function, parameters, others, returns, words, about=width)
        parts = [words.documented(text, paragraphs(function, 10 * width)), types.classes()]
        if sum(map(len, parts)) < _MAX_FULL_CHARS and not types.is_crowded:
            break
    return "\n\n".join(filter(None, [*parts, _rest(function.qualified, types.cut, words)]))


def fields_at(function: Function, definitions: Definitions, place: Sequence[Any]) -> list[str]:
    """The names of the fields that an object among the arguments may have."""
    reader = Reader(definitions)
    schema: Any = function.parameters
    for step in place[:MAX_NESTING]:
        schema = reader.part(schema, step)
    return list(reader.properties(reader.resolve(schema)[1]))


def class_at(function: Function, definitions: Definitions, place: Sequence[Any], language: str = "python") -> str:
    """The class that a part of the arguments should be of, or else the class around it; "" if that is only the
    arguments as a whole."""
    words = dialect_of(language)
    for end in range(min(len(place), MAX_NESTING), 0, -1):
        reader = Reader(definitions)
        schema: Any = function.parameters
        name = function.name
        for step in place[:end]:
            if isinstance(step, str):
                name = f"{class_name(name)[:40]}{class_name(step)}"
            schema = reader.part(schema, step)
            name = reader.resolve(schema)[0] or name
        types = Types(reader, room=_MAX_ARGUMENT_CHARS, depth=1, sending=True, comments=60, dialect=words)
        annotation = types.annotate(schema, name)[0]
        if text := types.classes():
            where = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in place[:end]).lstrip(".")
            parts = [f"{where[:200]} is of the type {annotation}:\n{text}", _rest(function.qualified, types.cut, words)]
            return "\n\n".join(filter(None, parts))
    return ""
