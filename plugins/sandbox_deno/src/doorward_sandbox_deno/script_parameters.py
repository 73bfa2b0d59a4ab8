"""The parameters of TypeScript and JavaScript: `const days: number = 30` at the top level of a program.

Only what is certainly such a declaration counts: one name, a literal of JSON (also with single quotes, plain keys and a
comma at its end), nothing behind it.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from doorward_sandbox_deno.script_tokens import Token, tokens

PARAMETER_PREFIX = "__param_"
"""The name in the place of a replaced literal begins so."""

_DECLARE = ("const", "let", "var")
_WORDS = {"true": True, "false": False, "null": None}
_GO_ON = {"in", "instanceof", "as", "satisfies"}
"""Words that go on with an expression in a new line."""

_CHANGING_METHODS = {"push", "unshift", "pop", "shift", "splice", "add", "set", "delete", "clear", "sort", "reverse"}
_MAX_NUMBER = 2**53
"""Whole numbers beyond it are others once JavaScript has read them."""

_MAX_DEPTH = 20
_MAX_TYPE_TOKENS = 100
_NUMBER = re.compile(r"\d[\d_]*(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?")
_ASSIGNS = re.compile(r"[^=!<>]*=|<<=|>>>?=")
_ESCAPE = re.compile(r"\\(u\{[0-9a-fA-F]{1,6}\}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|\r\n|(?s:.))")
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "\n": "", "\r\n": ""}


class _NoLiteral(Exception):
    """This is none, or none that is certain to mean the same here and in the sandbox."""


class Literal(NamedTuple):
    """A literal of a program: its value, and where it is in the text."""

    value: Any
    start: int
    end: int


def literals(code: str) -> dict[str, Literal]:
    """The literals that are assigned at the top level, by their names. A variable that begins empty and is changed
    later is left out: the program fills it."""
    read = list(tokens(code))
    found: dict[str, Literal] = {}
    again: set[str] = set()
    for number, token in enumerate(read):
        if token.depth or token.kind != "word" or token.text not in _DECLARE:
            continue
        if number and read[number - 1].text in (".", "as"):
            continue
        if made := _declared(read, number + 1):
            name, literal = made
            again |= {name} & found.keys()
            found[name] = literal
    changed = _changed(read, {name for name, literal in found.items() if not literal.value})
    return {name: literal for name, literal in found.items() if name not in {*again, *changed, "result"}}


def _declared(read: Sequence[Token], at: int) -> tuple[str, Literal] | None:
    """The name and the literal of the declaration whose name is the token at `at`."""
    if len(read) < at + 3 or read[at].kind != "word" or not read[at].text.isidentifier():
        return None
    name = read[at].text
    at += 1
    if read[at].text == ":":
        at = _behind_type(read, at)
    if at + 1 >= len(read) or read[at].text != "=":
        return None
    try:
        value, after = _value(read, at + 1, 0)
        json.dumps(value).encode()
    except (_NoLiteral, IndexError, ValueError):
        return None
    literal = Literal(value, read[at + 1].start, read[after - 1].end)
    if [token.text for token in read[after : after + 2]] == ["as", "const"]:
        after += 2
    return (name, literal) if _ends(read[after] if after < len(read) else None) else None


def _behind_type(read: Sequence[Token], at: int) -> int:
    """The place of the equals sign behind a type; `at` if the declaration ends without one."""
    for place in range(at + 1, min(at + _MAX_TYPE_TOKENS, len(read))):
        token = read[place]
        if not token.depth:
            if token.text == "=":
                return place
            if token.text == ";" or (token.first and token.text not in "|&" and read[place - 1].text not in "|&:"):
                break
    return at


def _ends(token: Token | None) -> bool:
    """Whether a statement surely ends before this token."""
    if token is None or token.text == ";":
        return True
    return token.first and (
        (token.kind == "word" and token.text not in _GO_ON) or token.kind in ("string", "number") or token.text in "{}"
    )


def _value(read: Sequence[Token], at: int, depth: int) -> tuple[Any, int]:
    """The value of the literal that begins at a token, and the number of the token behind it. Raises: _NoLiteral."""
    token = read[at]
    if depth > _MAX_DEPTH:
        raise _NoLiteral
    if token.kind == "string":
        return _text(token.text), at + 1
    if token.text in ("-", "+") and read[at + 1].kind == "number":
        return (-1 if token.text == "-" else 1) * _number(read[at + 1].text), at + 2
    if token.kind == "number":
        return _number(token.text), at + 1
    if token.kind == "word" and token.text in _WORDS:
        return _WORDS[token.text], at + 1
    if token.text == "[":
        items: list[Any] = []
        at += 1
        while read[at].text != "]":
            value, at = _value(read, at, depth + 1)
            items.append(value)
            at = _behind_comma(read, at, "]")
        return items, at + 1
    if token.text == "{":
        fields: dict[str, Any] = {}
        at += 1
        while read[at].text != "}":
            key = _key(read[at])
            if read[at + 1].text != ":":
                raise _NoLiteral
            fields[key], at = _value(read, at + 2, depth + 1)
            at = _behind_comma(read, at, "}")
        return fields, at + 1
    raise _NoLiteral


def _behind_comma(read: Sequence[Token], at: int, end: str) -> int:
    if read[at].text == ",":
        return at + 1
    if read[at].text != end:
        raise _NoLiteral
    return at


def _key(token: Token) -> str:
    text = _text(token.text) if token.kind == "string" else token.text
    if token.kind not in ("string", "word") or text == "__proto__":
        raise _NoLiteral
    return text


def _number(text: str) -> int | float:
    if not _NUMBER.fullmatch(text) or re.match(r"0\d", text):
        raise _NoLiteral
    plain = text.replace("_", "")
    value = int(plain) if plain.isdigit() and len(plain) < 20 else float(plain)
    if not math.isfinite(value) or (isinstance(value, int) and value > _MAX_NUMBER):
        raise _NoLiteral
    return value


def _text(text: str) -> str:
    """The value of a string literal."""
    if len(text) < 2 or text[-1] != text[0]:
        raise _NoLiteral

    def plain(found: re.Match[str]) -> str:
        code = found[1]
        if code[0] in "ux" and len(code) > 1:
            return chr(int(code[1:].strip("{}"), 16))
        if code[0] in "ux" or code.isdigit():  # it is wrong, or octal
            raise _NoLiteral
        return _ESCAPED.get(code, code)

    value = _ESCAPE.sub(plain, text[1:-1])
    return value.encode("utf-16", "surrogatepass").decode("utf-16")  # raises for half a pair


def _changed(read: Sequence[Token], names: set[str]) -> set[str]:
    """Those of these names that the program assigns to again, or changes in place."""
    found = set()
    for number, token in enumerate(read):
        if token.kind != "word" or token.text not in names or (number and read[number - 1].text == "."):
            continue
        before = [each.text for each in read[max(0, number - 2) : number]]
        after = [each.text for each in read[number + 1 : number + 3]]
        is_changed = (
            before[-1:] in (["++"], ["--"])
            or after[:1] in (["++"], ["--"], ["["])
            or (after[:1] == ["."] and after[1:] and after[1] in _CHANGING_METHODS)
            or (after and _ASSIGNS.fullmatch(after[0]) and not {*before[-1:]} & {*_DECLARE})
            or before == ["assign", "("]
        )
        found |= {token.text} if is_changed else set()
    return found


def bound(code: str, params: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The program with a reserved name in the place of each replaced literal, and the values to bind before it starts.
    Line numbers stay the same. Parameters that the program does not assign are bound under their own names."""
    known, values = literals(code) if params else {}, {}
    for name, value in params.items():
        values[PARAMETER_PREFIX + name if name in known else name] = value
    spans = sorted(((known[name], name) for name in params if name in known), key=lambda each: -each[0].start)
    for literal, name in spans:
        lines = code.count("\n", literal.start, literal.end)
        code = f"{code[: literal.start]}({PARAMETER_PREFIX}{name}{chr(10) * lines}){code[literal.end :]}"
    return code, values
