"""How the texts that agents read are written: here in Python. `typescript` is the same for another language.

What a text says, and what it leaves out for want of room, is decided elsewhere; a dialect only has the words.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from doorward import Function
from doorward.texts import clean
from doorward.values import is_plain, python_name

from doorward_text.wording import PYTHON_TYPES, commented, literal


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a signature. `default` is a literal, "..." if it may be left out, "" if it is required."""

    name: str
    annotation: str
    default: str
    about: str
    note: str


class Dialect:
    """Python. `loose` is for type checkers: a plain mapping may be given for a class, and lists may hold subtypes."""

    mark = "#"
    """Begins a comment, which goes to the end of the line."""

    any, null = "Any", "None"
    """The type of anything, and the value that is none."""

    types = PYTHON_TYPES
    a_list, a_dict = "a list", "a dict"
    a_file = 'a file: bytes, text, handle, {"content", "name", "type"}'
    taken: Collection[str] = (
        *("Any", "Literal", "Mapping", "None", "Required", "Sequence", "TypedDict"),
        *("bool", "bytes", "dict", "float", "int", "list", "str"),
    )
    """Names that a class cannot have, because annotations use them."""

    may_repeat = True
    """Whether a text may have two classes of one name: what is sent, and what is received."""

    no_fields: Sequence[str] = ("    ...",)
    """What the body of a class needs that has nothing but comments."""

    stub_head = "from collections.abc import Mapping, Sequence\nfrom typing import Any, Literal, Required, TypedDict"

    def __init__(self, *, loose: bool = False) -> None:
        self.loose = loose

    # Types

    def array(self, items: str) -> str:
        return f"{'Sequence' if self.loose else 'list'}[{items}]"

    def record(self, values: str) -> str:
        return f"{'Mapping' if self.loose else 'dict'}[str, {values}]"

    def bytes(self, *, sending: bool) -> str:
        return f"bytes | str | {self.record(self.any)}" if sending else "bytes"

    def values(self, texts: Sequence[str]) -> str:
        """The type of these values, which are literals."""
        return f"Literal[{', '.join(texts)}]"

    def literal(self, value: Any, limit: int = 60) -> str | None:
        """A JSON value as the language writes it; `None` if that would be longer than `limit`."""
        return literal(value, limit)

    def shown(self, value: Any) -> str:
        """A value in a message, of any length."""
        return repr(value)

    # Classes

    def class_frame(self, name: str, *, plain: bool) -> tuple[str, str]:
        """The first and the last line of a class. `plain`: its keys can be written as names."""
        if plain:
            return f"class {name}(TypedDict, total=False):", ""
        return f'{name} = TypedDict("{name}", {{', "}, total=False)"

    def field(self, key: str, type: str, *, required: bool, sending: bool, plain: bool) -> str:
        """The line of a field, without a comment. Of what is received nothing is said to be required."""
        written = f"Required[{type}]" if required else type
        return f"    {key}: {written}" if plain else f"    {literal(key, 1000)}: {written},"

    def comment(self, code: str, about: str, note: str) -> str:
        """A line of code with a comment."""
        return commented(code, about, note, self.mark)

    # Functions

    def name(self, function: Function) -> str:
        """The name by which a program can import a function."""
        return function.name if is_plain(function.name) else python_name(function.name)

    def imported(self, module: str, function: str) -> str:
        """The line that imports a function by its name, or with "" its whole module."""
        return f"from {module} import {function}" if function else f"import {module}"

    def example(self, module: str, function: Function, arguments: Iterable[tuple[str, str]]) -> str:
        """A call with these arguments, which are literals."""
        given = dict(arguments)
        words = [f"{name}={value}" for name, value in given.items() if self.takes(name)]
        others = [f"{literal(name, 1000)}: {value}" for name, value in given.items() if not self.takes(name)]
        words += [f"**{{{', '.join(others)}}}"] if others else []
        return f"result = {self.name(function)}({', '.join(words)})"

    def takes(self, name: str) -> bool:
        """Whether a call can name a parameter that is called so."""
        return is_plain(name)

    def parameter(self, each: Parameter) -> str:
        return f"{each.name}: {each.annotation}{f' = {each.default}' if each.default else ''}"

    def parameter_line(self, each: Parameter, about: str) -> str:
        """The line of a parameter in a signature of many lines."""
        return self.comment(f"    {self.parameter(each)},", about, each.note)

    def signature(
        self, function: Function, parameters: Sequence[Parameter], lines: Sequence[str], others: str, returns: str
    ) -> tuple[str, str]:
        """The head of a function in one line, "" if that is not possible, and in many; `lines` are those of its
        parameters, `others` says what it takes besides."""
        name = self.name(function)
        one = "" if others else f"def {name}({', '.join(map(self.parameter, parameters))}) -> {returns}"
        more = [self.comment("    **kwargs: Any", clean(others, 400), "")] if others else []
        return one, "\n".join([f"def {name}(", *lines, *more, f") -> {returns}"])

    def documented(self, head: str, paragraphs: Sequence[str]) -> str:
        """A function with its documentation."""
        text = "\n\n    ".join(paragraphs).replace("\\", "\\\\").replace('"""', "'''")
        return f'{head}:\n    """{text}\n    """'

    def stub(self, function: Function, parameters: Sequence[Parameter], others: str, seen: str) -> str:
        """The declaration of a function for a type checker; `seen` is a comment on its result."""
        written = [f"{p.name}: {p.annotation}{' = ...' if p.default else ''}" for p in parameters]
        written += ["**kwargs: Any"] if others else []
        return self.comment(f"def {self.name(function)}({', '.join(written)}) -> Any: ...", seen, "")


PYTHON = Dialect()
