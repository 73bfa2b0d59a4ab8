"""How the texts that agents read are written for calls without code: the arguments of a function are one JSON object.

The types are those of TypeScript, which take far fewer tokens than JSON Schema says the same in, and which models know;
whole numbers are told from others, because the arguments are checked against that.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from doorward import Function
from doorward.texts import clean, visible

from doorward_text.dialect import Parameter
from doorward_text.typescript import TypeScript

_FILE = "{ artefact: string }"


class JsonCalls(TypeScript):
    """Signatures with types as in TypeScript; values and examples are JSON."""

    any, null = "any", "null"
    types = TypeScript.types | {"integer": "integer"}
    taken = ("Record",)
    a_file = "a file: text, its handle, or base64"

    def bytes(self, *, sending: bool) -> str:
        return f"string | {_FILE} | {{ base64: string; name?: string }}" if sending else _FILE

    def literal(self, value: Any, limit: int = 60) -> str | None:
        text = _json(value) if super().literal(value, limit) is not None else ""
        return text if text and len(text) <= limit else None

    def class_frame(self, name: str, *, plain: bool) -> tuple[str, str]:
        return f"{name} = {{", "}"

    def name(self, function: Function) -> str:
        return function.name

    def imported(self, module: str, function: str) -> str:
        return ""

    def example(self, module: str, function: Function, arguments: Iterable[tuple[str, str]]) -> str:
        given = ", ".join(f"{_json(name)}: {value}" for name, value in arguments)
        return f'call_function({{"function": "{module}.{function.name}", "arguments": {{{given}}}}})'

    def signature(
        self, function: Function, parameters: Sequence[Parameter], lines: Sequence[str], others: str, returns: str
    ) -> tuple[str, str]:
        start, end = f"{function.qualified}(", f"): {returns}"
        if not parameters and not others:
            return f"{start}{{}}{end}", f"{start}{{}}{end}"
        known = any(each.default not in ("", "...") for each in parameters)
        one = f"{start}{{ {'; '.join(map(self.parameter, parameters))} }}{end}"
        more = [self.comment("    [name: string]: any;", clean(others, 400), "")] if others else []
        return "" if others or known else one, "\n".join([f"{start}{{", *lines, *more, f"}}{end}"])

    def documented(self, head: str, paragraphs: Sequence[str]) -> str:
        return "\n".join([*(f"// {text}" for text in paragraphs), head])


def _json(value: Any) -> str:
    """JSON whose characters can all be seen."""
    text = json.dumps(value, ensure_ascii=False)
    return "".join(c if c.isprintable() and visible(c) == c else json.dumps(c)[1:-1] for c in text)


JSON_CALLS = JsonCalls()
