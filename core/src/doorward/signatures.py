"""Functions as Python that an agent reads: signatures, result types, examples, and stubs for type checkers.

This is a view. The texts are made on demand from `Function` and its schemas, and nothing here runs them; see
`annotations` for how they stay valid and small whatever a specification says.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any

from doorward.annotations import Types, clean, commented, literal
from doorward.names import class_name, is_plain, python_name
from doorward.schemas import Definitions, Reader, strings
from doorward.types import Function, Schema

if TYPE_CHECKING:
    from doorward.observed import Observation

CARD = 2400
"""Characters that `describe` takes at most, unless the signature alone is longer: about 600 tokens."""

_SHOWN = 60
_REST = 130
_SIZES = ((60, 900, 900), (60, 400, 500), (25, 250, 500), (15, 250, 450), (8, 160, 450))
"""How many parameters a card shows, how many characters of their classes; the first that leaves so many for the result is taken."""

PARAMETERS = "parameters"
""""server.function#parameters" is the whole signature."""

_ANY = "any others"
_DEEP = 20_000
_STUBBED = 250
_TAG = re.compile(r"</?(?:a|b|br|code|div|em|h[1-6]|i|li|ol|p|pre|span|strong|table|tbody|td|th|tr|ul)\b[^<>]{0,300}>", re.IGNORECASE)
_QUOTE = re.compile(r"^ {0,3}>+ ?(?:\[!\w{1,20}\])?", re.MULTILINE)
_LINK = re.compile(r"\[([^\[\]]{1,200})\]\([^()\s]{1,500}\)")


@dataclass(frozen=True, slots=True)
class _Parameter:
    name: str
    annotation: str
    default: str
    about: str
    note: str

    @property
    def written(self) -> str:
        return f"{self.name}: {self.annotation}{f' = {self.default}' if self.default else ''}"


def parameter_names(function: Function, definitions: Definitions) -> list[str]:
    """The parameters in the order of the signature, which is that of positional arguments: first those that are
    required, each group as declared. A name that cannot be written as a parameter is not among them."""
    properties, required = _declared(function, Reader(definitions))
    return sorted(filter(is_plain, properties), key=lambda name: name not in required)


def signature(function: Function, definitions: Definitions, *, width: int = 100, seen: Observation | None = None) -> str:
    """The `def` line of a function, without a colon.

    Required parameters come first. An optional one has its schema's default, or `...`, which means that it is
    left out. What is longer than `width` is written one parameter a line, each with a short comment. Objects
    are `dict[str, Any]` here; `describe` gives their fields. What was only `seen` of results is marked as such.
    """
    if seen is not None:
        return f"{signature(_with_result(function, seen), definitions, width=width)}  # {seen.told()}"
    reader = Reader(definitions)
    parameters, others = _parameters(function, reader, Types(reader, depth=0, sending=True), _SHOWN)
    returns = _result(function, reader, depth=1, room=0)[0]
    texts = [_define(function, parameters, others, returns, about=about, width=width) for about in (80, 40, 0)]
    return next((text for text in texts if len(text) < CARD), texts[-1])


def response(function: Function, definitions: Definitions, *, depth: int = 2, budget: int = 400) -> tuple[str, str]:
    """The annotation of a function's result, and the TypedDict classes that it names ("" if none).

    Fields have their original names. `depth` is how many classes stand inside one another; objects beyond are
    `dict[str, Any]` with their keys in a comment. `budget` is in tokens, of about four characters: what does
    not fit is counted and named. Without a schema the annotation is `Any`.
    """
    annotation, types = _result(function, Reader(definitions), depth=depth, room=4 * budget)
    return annotation, types.classes()


def describe(function: Function, definitions: Definitions, *, module: str, seen: Observation | None = None) -> str:
    """The card of one function, which stands alone: import line, signature with docs, the types of parameters
    and result, and an example call. It is valid Python, and at most `CARD` long but for huge signatures. A result of which
    only is known what was `seen` is marked as such."""
    note = f"# The result: {seen.told()}." if seen is not None else ""
    function = _with_result(function, seen)
    reader = Reader(definitions)
    start, end = f"from {module} import {_name(function)}", _call(function, reader)
    for most, room, left in _SIZES:
        reader.refuel()
        types = Types(reader, room=room, sending=True, comments=60)
        parameters, others = _parameters(function, reader, types, most)
        returns = _result(function, reader, depth=1, room=0)[0]
        classes = types.classes()
        for about in (100, 70, 45, 0):
            body = f"{_define(function, parameters, others, returns, about=about)}:\n{_docstring(function, 120 + 3 * about)}"
            used = sum(map(len, [start, body, classes, end, note])) + 11
            if used < CARD - left:
                break
        if used < CARD - left:
            break
    _, answer = _result(function, reader, depth=2, room=max(CARD - used - _REST, 300))
    results = "\n".join(filter(None, [note, answer.classes()]))
    more = _rest(f"{module}.{_name(function)}", [*([PARAMETERS] if others not in ("", _ANY) else []), *answer.cut, *types.cut])
    return "\n\n".join(filter(None, [start, body, classes, results, more, end]))


def _rest(name: str, cut: list[str]) -> str:
    """How to ask for what a card leaves out: a comment of at most `_REST` characters, if one name fits."""
    text = ""
    for part in dict.fromkeys(cut):
        longer = f"{text}, #{part}" if text else f'# In full: get_functions(["{name}#{part}"])'
        if len(longer) > _REST:
            break
        text = longer
    return text


def describe_class(function: Function, definitions: Definitions, name: str) -> str | None:
    """One of the classes that a function's card names, with all of its fields, and those that it uses; `None` if there is none
    of that name among the function's types. `parameters` is the signature, without any cut."""
    if name == PARAMETERS:
        reader = Reader(definitions, _DEEP)
        types = Types(reader, room=4 * CARD, sending=True, comments=100)
        parameters, others = _parameters(function, reader, types, _STUBBED)
        text = _define(function, parameters, others, _result(function, reader, depth=1, room=0)[0], about=100)
        return "\n\n".join(filter(None, [f"{text}: ...", types.classes()]))
    texts: dict[str, str] = {}
    for sending in (True, False):
        reader = Reader(definitions, _DEEP)
        types = Types(reader, depth=8, room=100 * CARD, sending=sending)
        if sending:
            _parameters(function, reader, types, _STUBBED)
        else:
            types.annotate(function.returns, _response_name(function))
        types.classes()
        if name in types.made:
            full = Types(Reader(definitions), room=4 * CARD, sending=sending, comments=100)
            full.annotate(types.made[name], name)
            texts.setdefault(full.classes(), "sent" if sending else "received")
    if len(texts) < 2:
        return next(iter(texts), None)
    return "\n\n".join(f"# As {when}:\n{text}" for text, when in texts.items())


def class_names(function: Function, definitions: Definitions) -> list[str]:
    """The names that `describe_class` knows, those of the nearest classes first."""
    reader = Reader(definitions)
    types = Types(reader, depth=8, room=100 * CARD, sending=True)
    _parameters(function, reader, types, _STUBBED)
    answer = _result(function, reader, depth=8, room=100 * CARD)[1]
    for each in (types, answer):
        each.classes()
    return list(dict.fromkeys([*types.made, *answer.made]))


def stub(
    functions: Iterable[Function], definitions: Definitions, seen: Callable[[Function], Observation | None] = lambda function: None
) -> str:
    """The `.pyi` text that declares functions for a type checker.

    It refuses only what is surely wrong: results are `Any`, optional parameters `name: T = ...`, and objects may
    be plain dictionaries. It is valid Python whatever the schemas are. What was only `seen` of results is a comment.
    """
    reader = Reader(definitions)
    types = Types(reader, room=10**9, sending=True, loose=True)
    heads: dict[str, str] = {}
    for function in functions:
        reader.refuel()
        parameters, others = _parameters(function, reader, types, _STUBBED)
        written = [f"{p.name}: {p.annotation}{' = ...' if p.default else ''}" for p in parameters]
        written += ["**kwargs: Any"] if others else []
        observed = seen(function)
        result = f"  # {_result(_with_result(function, observed), reader, depth=0, room=0)[0]}, {observed.told()}" if observed else ""
        heads[_name(function)] = f"def {_name(function)}({', '.join(written)}) -> Any: ...{result}"
    reader.refuel()
    imports = "from collections.abc import Mapping, Sequence\nfrom typing import Any, Literal, Required, TypedDict"
    return "\n\n".join(filter(None, [imports, types.classes(), "\n".join(heads.values())])) + "\n"


def example(schema: Schema | None, definitions: Definitions, *, name: str = "string") -> Any:
    """A plausible JSON value for a schema: its example, default or first value, else one of its type.

    Objects have their required properties only. `name` is what a string holds about which nothing is known.
    """
    return Reader(definitions).example(schema, name, _short)


def prose(text: Any, limit: int) -> str:
    """Markdown or HTML as one plain line."""
    if not isinstance(text, str):
        return ""
    start = _QUOTE.sub("", text[: 4 * limit + 400])
    return clean(html.unescape(_TAG.sub(" ", _LINK.sub(r"\1", start))), limit)


def _name(function: Function) -> str:
    return function.name if is_plain(function.name) else python_name(function.name)


def _response_name(function: Function) -> str:
    return f"{class_name(function.name)}Response"


def _with_result(function: Function, seen: Observation | None) -> Function:
    return function if seen is None else replace(function, returns=seen.schema)


def _result(function: Function, reader: Reader, *, depth: int, room: int) -> tuple[str, Types]:
    types = Types(reader, depth=depth, room=room)
    return types.annotate(function.returns, _response_name(function))[0], types


def _declared(function: Function, reader: Reader) -> tuple[dict[str, Any], set[str]]:
    schema = reader.resolve(function.parameters)[1]
    return reader.properties(schema), strings(schema.get("required"))


def _parameters(function: Function, reader: Reader, types: Types, most: int) -> tuple[list[_Parameter], str]:
    """The parameters of a signature, required ones first, and what there is besides: names for which it has no place, or
    any others that the function takes."""
    properties, required = _declared(function, reader)
    ordered = sorted(filter(is_plain, properties), key=lambda name: name not in required)
    shown = []
    for name in ordered[:most]:
        annotation, note = types.annotate(properties[name], f"{class_name(function.name)[:40]}{class_name(name)}")
        schema = reader.resolve(properties[name])[1]
        default = "" if name in required else (literal(schema["default"], 40) if "default" in schema else None) or "..."
        about = ("deprecated. " if schema.get("deprecated") is True else "") + prose(schema.get("description"), 100)
        shown.append(_Parameter(name, annotation, default, about, note))
    others = [*ordered[most:], *(name for name in properties if not is_plain(name))]
    if others:
        return shown, f"{len(others)} more: {', '.join(other[:80] for other in islice(others, 50))}"
    return shown, _ANY if function.parameters.get("additionalProperties", False) is not False else ""


def _define(function: Function, parameters: list[_Parameter], others: str, returns: str, *, about: int, width: int = 0) -> str:
    """The `def`, on one line where that is at most `width` long; `about` is the width of the comments."""
    name = _name(function)
    line = f"def {name}({', '.join(p.written for p in parameters)}) -> {returns}"
    if not others and (len(line) <= width or not parameters):
        return line
    lines = [commented(f"    {p.written},", clean(p.about, about) if about else "", p.note) for p in parameters]
    if others:
        lines.append(commented("    **kwargs: Any", clean(others, 400), ""))
    return "\n".join([f"def {name}(", *lines, f") -> {returns}"])


def _docstring(function: Function, limit: int) -> str:
    """What the function does, what it may change, and what the upstream calls it."""
    summary, description = prose(function.summary, 200), prose(function.description, limit)
    effect = "read-only" if function.read_only else "destructive" if function.destructive else "writes"
    headers = f"headers by doorward.reply: {', '.join(function.headers)}" if function.headers else ""
    facts = [clean(function.route, 200), clean(function.id, 120), effect, "DEPRECATED" if function.deprecated else "", clean(headers, 400)]
    parts = [summary, description if description != summary else "", " · ".join(filter(None, facts))]
    text = "\n\n    ".join(filter(None, parts)).replace("\\", "\\\\").replace('"""', "'''")
    return f'    """{text}\n    """'


def _call(function: Function, reader: Reader) -> str:
    """An example call with what is required."""
    properties, required = _declared(function, reader)
    names = [name for name in properties if name in required and is_plain(name)][:20]
    values = [literal(reader.example(properties[name], name, _short), 120) or "..." for name in names]
    return f"result = {_name(function)}({', '.join(f'{n}={v}' for n, v in zip(names, values, strict=True))})"


def _short(value: Any) -> bool:
    return literal(value, 80) is not None
