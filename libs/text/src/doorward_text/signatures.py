"""Functions as code that an agent reads: signatures, result types, examples, and stubs for type checkers.

The texts are made on demand from `Function` and its schemas, and never run. `annotations` keeps them valid and small,
whatever a specification says.
"""

from __future__ import annotations

import html
import re
import time
from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any

from doorward import Function
from doorward.texts import Definitions, Reader, clean, declared, strings, table, variants

from doorward_text.annotations import Types
from doorward_text.classes import Above, class_name
from doorward_text.dialect import PYTHON, Dialect, Parameter
from doorward_text.dialects import dialect_of

if TYPE_CHECKING:
    from doorward.texts import Observation

MAX_CARD_CHARS = 2400
"""Characters that `describe` takes at most, unless the signature alone is longer: about 600 tokens."""

_MAX_SHOWN_PARAMETERS = 60

ANY_OTHERS = "any others"
"""Stands for the further parameters of a function that takes more than it names."""

MAX_STUB_PARAMETERS = 250
"""Parameters that are shown in stubs and full signatures, where room is no concern."""

_LIMIT_NAME = re.compile(r"(?:^|_)(?:limit|offset|size|per_page|pageSize|max_results|maxResults)$")
"""Names of parameters that limit an answer: without knowing about them a reader would not notice that it is cut."""

LIMIT_DESCRIPTION_CHARS = 60
"""Characters of their descriptions, where there is no room for those of other parameters."""

_TAG = re.compile(
    r"</?(?:a|b|br|code|div|em|h[1-6]|i|li|ol|p|pre|span|strong|table|tbody|td|th|tr|ul)\b[^<>]{0,300}>", re.IGNORECASE
)
_QUOTE = re.compile(r"^ {0,3}>+ ?(?:\[!\w{1,20}\])?", re.MULTILINE)
_LINK = re.compile(r"\[([^\[\]]{1,200})\]\([^()\s]{1,500}\)")


def signature(
    function: Function,
    definitions: Definitions,
    *,
    width: int = 100,
    seen: Observation | None = None,
    language: str = "python",
) -> str:
    """The head of a function in a language: in Python its `def` line, without a colon.

    Required parameters come first. An optional one has its schema's default, or `...`, which means that it is left
    out. A signature longer than `width` has one parameter a line, each with a short comment. Objects are
    `dict[str, Any]` here; `describe` gives their fields. A result type that was only observed is marked as such.
    """
    words = dialect_of(language)
    if seen is not None:
        known = signature(with_result(function, seen), definitions, width=width, language=language)
        return words.comment(known, observed_in_words(seen), "")
    reader = Reader(definitions)
    types = Types(reader, depth=0, sending=True, dialect=words)
    parameters, others = shown_parameters(function, reader, types, _MAX_SHOWN_PARAMETERS)
    returns = result_of(function, reader, depth=1, room=0, dialect=words)[0]
    texts = [define(function, parameters, others, returns, words, about=about, width=width) for about in (80, 40, 0)]
    return next((text for text in texts if len(text) < MAX_CARD_CHARS), texts[-1])


def response_type(
    function: Function, definitions: Definitions, *, depth: int = 2, budget: int = 400
) -> tuple[str, str]:
    """The annotation of a function's result, and the TypedDict classes that it names ("" if none).

    Fields have their original names. `depth` is how deeply classes may be nested; deeper objects are `dict[str, Any]`
    with their keys in a comment. `budget` is in tokens of about four characters: fields that do not fit are counted and
    named. Without a schema the annotation is `Any`.
    """
    annotation, types = result_of(function, Reader(definitions), depth=depth, room=4 * budget)
    return annotation, types.classes()


def stub(
    functions: Iterable[Function],
    definitions: Definitions,
    seen: Callable[[Function], Observation | None] = lambda function: None,
    language: str = "python",
) -> str:
    """The text of a `.pyi` or `.d.ts` file that declares functions for a type checker.

    It refuses only what is surely wrong: results are `Any`, optional parameters `name: T = ...`, and objects may be
    plain dictionaries. It is valid code whatever the schemas are. Observed result types are comments.
    """
    reader, shown = Reader(definitions), dialect_of(language)
    words = type(shown)(loose=True)
    types = Types(reader, room=10**9, sending=True, dialect=words)
    heads: dict[str, str] = {}
    for function in functions:
        reader.refuel()
        parameters, others = shown_parameters(function, reader, types, MAX_STUB_PARAMETERS)
        observed, result = seen(function), ""
        if observed:
            annotation = result_of(with_result(function, observed), reader, depth=0, room=0, dialect=shown)[0]
            result = f"{annotation}, {observed_in_words(observed)}"
        heads[words.name(function)] = words.stub(function, parameters, others, result)
    reader.refuel()
    return "\n\n".join(filter(None, [words.stub_head, types.classes(), "\n".join(heads.values())])) + "\n"


def observed_in_words(seen: Observation, now: float | None = None) -> str:
    """How far to rely on what was observed: `observed 3 times, last 2 days ago, not promised`."""
    days = int(((now or time.time()) - seen.last) / 86400)
    age = "today" if days < 1 else "yesterday" if days == 1 else f"{days} days ago"
    return f"observed {'once' if seen.times == 1 else f'{seen.times} times'}, last {age}, not promised"


def prose(text: Any, limit: int) -> str:
    """Markdown or HTML as one plain line."""
    if not isinstance(text, str):
        return ""
    start = _QUOTE.sub("", text[: 4 * limit + 400])
    line = clean(html.unescape(_TAG.sub(" ", _LINK.sub(r"\1", start))), limit)
    return line if len(text) <= 4 * limit + 400 or line.endswith("…") else f"{line[: limit - 2]} …"


def response_name(function: Function) -> str:
    return f"{class_name(function.name)}Response"


def with_result(function: Function, seen: Observation | None) -> Function:
    """A function whose answers were observed, with the schema of these; the function itself if none was."""
    return function if seen is None else replace(function, returns=seen.schema)


def result_of(
    function: Function,
    reader: Reader,
    *,
    depth: int,
    room: int,
    above: Above | None = None,
    names: int = 10**9,
    dialect: Dialect = PYTHON,
) -> tuple[str, Types]:
    """The annotation of a function's result, and the `Types` with the classes that it names."""
    types = Types(reader, depth=depth, room=room, above=above, names=names, dialect=dialect)
    return types.annotate(function.returns, response_name(function))[0], types


def shown_parameters(
    function: Function, reader: Reader, types: Types, most: int, about_width: int = 100
) -> tuple[list[Parameter], str]:
    """The parameters of a signature, required ones first, and a text for the rest: the names for which there is no
    place, or `ANY_OTHERS` if the function takes more than it names."""
    properties, required = declared(function, reader)
    takes = types.dialect.takes
    ordered = sorted(filter(takes, properties), key=lambda name: name not in required)
    prefix, found = class_name(function.name)[:40], {}

    def rank(name: str) -> tuple[bool, ...]:
        return _rank(function, name, name in required, _needs(reader, properties[name]))

    for name in sorted(ordered[:most], key=rank):
        found[name] = types.annotate(properties[name], f"{prefix}{class_name(name)}")
    shown = []
    for name in ordered[:most]:
        annotation, note = found[name]
        schema = reader.resolve(properties[name])[1]
        given = types.dialect.literal(schema["default"], 40) if "default" in schema else None
        default = "" if name in required else given or "..."
        about = "deprecated. " if schema.get("deprecated") is True else ""
        about += prose(schema.get("description"), about_width)
        shown.append(Parameter(name, annotation, default, about, note))
    others = [*ordered[most:], *(name for name in properties if not takes(name))]
    if others:
        return shown, f"{len(others)} more: {', '.join(other[:80] for other in islice(others, 50))}"
    return shown, ANY_OTHERS if function.parameters.get("additionalProperties", False) is not False else ""


def _needs(reader: Reader, schema: Any, nesting: int = 3) -> bool:
    """Whether a value of this schema is, or contains, an object with required fields."""
    resolved = reader.resolve(schema)[1]
    inner = (
        [resolved.get("items"), *variants(resolved)[:20]] if nesting and not table(resolved.get("properties")) else []
    )
    return bool(strings(resolved.get("required"))) or any(
        _needs(reader, part, nesting - 1) for part in inner if table(part)
    )


def _rank(function: Function, name: str, required: bool, needs: bool) -> tuple[bool, ...]:
    """The order in which parameters get classes: the main argument first."""
    return not required, name != "body", not needs, name not in function.name


def parameter_lines(
    function: Function, definitions: Definitions, names: Collection[str], language: str = "python"
) -> list[str]:
    """The lines of some parameters of a signature."""
    reader, words = Reader(definitions), dialect_of(language)
    types = Types(reader, depth=0, sending=True, dialect=words)
    shown, _ = shown_parameters(function, reader, types, MAX_STUB_PARAMETERS)
    return [_line(each, words, 80) for each in shown if each.name in names]


def _line(parameter: Parameter, words: Dialect, about: int) -> str:
    about = about or (LIMIT_DESCRIPTION_CHARS if _LIMIT_NAME.search(parameter.name) else 0)
    return words.parameter_line(parameter, clean(parameter.about, about) if about else "")


def first_described(parameters: Iterable[Parameter], room: int, *, optional: bool) -> list[Parameter]:
    """Parameters of which only limits of an answer are described, and as many others as there is room for: required
    ones, which come first, then `optional` ones."""
    shown = []
    for each in parameters:
        if not _LIMIT_NAME.search(each.name):
            room -= min(len(each.about), LIMIT_DESCRIPTION_CHARS) + 5
            each = each if room >= 0 and (optional or not each.default) else replace(each, about="")
        shown.append(each)
    return shown


def define(
    function: Function,
    parameters: list[Parameter],
    others: str,
    returns: str,
    words: Dialect,
    *,
    about: int,
    width: int = 0,
) -> str:
    """The head of a function, split where it is longer than `width`; `about` is the width of the comments."""
    one, many = words.signature(function, parameters, [_line(p, words, about) for p in parameters], others, returns)
    return one if one and (len(one) <= width or not parameters) else many


def paragraphs(function: Function, limit: int) -> list[str]:
    """The documentation of a function: what it does, what it may change, and what its server calls it."""
    summary, description = prose(function.summary, 200), prose(function.description, limit)
    effect = "destructive" if function.destructive else "writes"
    if function.guessed_destructive and not function.destructive:
        effect = "destructive by a guess: it is called so"
    if function.read_only or function.guessed_read:
        effect = "read-only" if function.read_only else "read-only by a guess: nothing says that it writes"
    headers = f"headers by doorward.reply: {', '.join(function.headers)}" if function.headers else ""
    facts = [
        clean(function.route, 200),
        clean(function.id, 120),
        effect,
        "DEPRECATED" if function.deprecated else "",
        clean(headers, 400),
    ]
    parts = [summary, description if description != summary else "", " · ".join(filter(None, facts))]
    return [*filter(None, parts)]
