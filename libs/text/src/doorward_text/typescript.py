"""How the texts that agents read are written in TypeScript.

A function takes one object with its arguments, and its result is awaited: `await github.get_issue({ number: 1 })`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from doorward import Function
from doorward.texts import MAX_KEY_CHARACTERS, clean, visible

from doorward_text.dialect import Dialect, Parameter

_NAME = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]{0,110}")
_RESERVED = {
    "arguments", "await", "break", "case", "catch", "class", "const", "continue", "debugger", "default", "delete",
    "do", "else", "enum", "eval", "export", "extends", "false", "finally", "for", "function", "if", "implements",
    "import", "in", "instanceof", "interface", "let", "new", "null", "package", "private", "protected", "public",
    "return", "static", "super", "switch", "this", "throw", "true", "try", "typeof", "var", "void", "while", "with",
    "yield",
}  # fmt: skip
"""Names that no variable or function of a module can have."""

_TYPES = {
    "string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null",
    "array": "any[]", "object": "Record<string, any>",
}  # fmt: skip
_DIRECTIVE = re.compile(r"@(?=ts-|deno-|jsx)", re.IGNORECASE)
"""Words of a comment that a compiler would obey."""


class TypeScript(Dialect):
    """TypeScript; `loose` is for type checkers."""

    mark = "//"
    any, null = "any", "null"
    types = _TYPES
    a_list, a_dict = "an array", "an object"
    taken: Collection[str] = ("Promise", "Record", "Uint8Array")
    may_repeat = False
    no_fields = ()
    stub_head = ""

    def array(self, items: str) -> str:
        return f"({items})[]" if " " in items else f"{items}[]"

    def record(self, values: str) -> str:
        return f"Record<string, {values}>"

    def bytes(self, *, sending: bool) -> str:
        return f"Uint8Array | string | {self.record(self.any)}" if sending else "Uint8Array"

    def values(self, texts: Sequence[str]) -> str:
        return " | ".join(texts)

    def literal(self, value: Any, limit: int = 60) -> str | None:
        text = _literal(value, limit, 8)
        return text if text is not None and len(text) <= limit else None

    def shown(self, value: Any) -> str:
        return _quoted(value) if isinstance(value, str) else json.dumps(value, ensure_ascii=True)

    def class_frame(self, name: str, *, plain: bool) -> tuple[str, str]:
        return f"{'export ' if self.loose else ''}interface {name} {{", "}"

    def field(self, key: str, type: str, *, required: bool, sending: bool, plain: bool) -> str:
        return f"    {_key(key)}{'?' if sending and not required else ''}: {type};"

    def comment(self, code: str, about: str, note: str) -> str:
        return super().comment(code, _harmless(about), _harmless(note))

    def name(self, function: Function) -> str:
        name = super().name(function)
        return f"{name}_" if name in _RESERVED else name

    def imported(self, module: str, function: str) -> str:
        return f'import * as {_local(module)} from "{module}";'

    def example(self, module: str, function: Function, arguments: Iterable[tuple[str, str]]) -> str:
        given = ", ".join(f"{_field(name)}: {value}" for name, value in arguments)
        called = f"{_local(module)}.{super().name(function)}"
        return f"const result = await {called}({f'{{ {given} }}' if given else ''});"

    def takes(self, name: str) -> bool:
        return len(name) <= MAX_KEY_CHARACTERS

    def parameter(self, each: Parameter) -> str:
        return f"{_key(each.name)}{'?' if each.default else ''}: {each.annotation}"

    def parameter_line(self, each: Parameter, about: str) -> str:
        default = f"= {each.default}" if each.default not in ("", "...") else ""
        return self.comment(f"    {self.parameter(each)};", about, ", ".join(filter(None, [default, each.note])))

    def signature(
        self, function: Function, parameters: Sequence[Parameter], lines: Sequence[str], others: str, returns: str
    ) -> tuple[str, str]:
        start = f"{'export' if self.loose else 'declare'} function {self.name(function)}("
        end = f"): Promise<{returns}>;{self._again(function)}"
        if not parameters and not others:
            return start + end, start + end
        args = "args: {" if any(not each.default for each in parameters) else "args?: {"
        known = any(each.default not in ("", "...") for each in parameters)
        one = f"{start}{args} {'; '.join(map(self.parameter, parameters))} }}{end}"
        more = [self.comment("    [name: string]: any;", clean(others, 400), "")] if others else []
        return "" if others or known else one, "\n".join([start + args, *lines, *more, f"}}{end}"])

    def _again(self, function: Function) -> str:
        """Exports a function under the name that programs call it by, where that is none for a declaration."""
        name, called = self.name(function), super().name(function)
        return "" if name == called else f"\nexport {{ {name} as {called} }};"

    def documented(self, head: str, paragraphs: Sequence[str]) -> str:
        text = "\n *\n * ".join(map(_harmless, paragraphs))
        return f"/**\n * {text}\n */\n{head}"

    def stub(self, function: Function, parameters: Sequence[Parameter], others: str, seen: str) -> str:
        lines = [f"    {self.parameter(each)};" for each in parameters]
        one, many = self.signature(function, parameters, lines, "any" if others else "", self.any)
        return "\n".join(filter(None, [seen and self.comment("", seen, "").strip(), one or many]))


def _harmless(text: str) -> str:
    """A text that ends no comment, and is no instruction to a compiler."""
    return _DIRECTIVE.sub("(at)", text).replace("*/", "*\\/")


def _local(module: str) -> str:
    """The name of a module within a program."""
    return f"{module}_" if module in _RESERVED else module


def _key(name: str) -> str:
    return name if _NAME.fullmatch(name) else _quoted(name)


def _field(name: str) -> str:
    """The name of a field in an object: `__proto__` by itself would be no field."""
    return '["__proto__"]' if name == "__proto__" else _key(name)


def _quoted(text: str) -> str:
    written = json.dumps(text, ensure_ascii=False)
    return "".join(c if c.isprintable() and visible(c) == c else f"\\u{{{ord(c):x}}}" for c in written)


def _literal(value: Any, limit: int, nesting: int) -> str | None:
    match value:
        case None | bool():
            return json.dumps(value)
        case str() if len(value) <= limit:
            return _quoted(value)
        case int() if value.bit_length() <= 64:
            return str(value)
        case float() if value - value == 0:
            return repr(value)
        case list() if nesting and len(value) <= limit:
            items = [_literal(each, limit, nesting - 1) for each in value]
            return None if None in items else f"[{', '.join(map(str, items))}]"
        case dict() if nesting and len(value) <= limit:
            pairs = [(_field(str(key)), _literal(each, limit, nesting - 1)) for key, each in value.items()]
            return None if any(text is None for _, text in pairs) else _braced(f"{key}: {text}" for key, text in pairs)
    return None


def _braced(pairs: Iterable[str]) -> str:
    inside = ", ".join(pairs)
    return f"{{ {inside} }}" if inside else "{}"


TYPESCRIPT = TypeScript()
