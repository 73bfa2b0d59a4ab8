"""The tokens of TypeScript and JavaScript, as far as finding literals at the top level of a program needs them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_TOKEN = re.compile(
    r"""
    (?P<line>[\r\n\u2028\u2029]) | (?P<space>[^\S\r\n\u2028\u2029]+|\ufeff)
    | (?P<comment>//[^\r\n\u2028\u2029]*+ | /\*(?s:.)*?(?:\*/|\Z))
    | (?P<string>"(?:[^"\\\r\n]|\\(?s:.))*+"? | '(?:[^'\\\r\n]|\\(?s:.))*+'?)
    | (?P<number>(?:0[xXoObB][\da-fA-F_]+|(?:\d[\d_]*(?:\.[\d_]*)?|\.\d[\d_]*)(?:[eE][+-]?\d[\d_]*)?)\w*)
    | (?P<word>[\w$@#]+)
    | (?P<sign>=>|[=!]==?|[+\-*/%&|^<>?]{1,4}=|\+\+|--|\.\.\.|\?\.|.)
    """,
    re.VERBOSE,
)
_REGEX = re.compile(r"/(?:[^/\\\[\r\n]|\\.|\[(?:[^\]\\\r\n]|\\.)*+\]?)*+/?\w*")
_TEMPLATE = re.compile(r"(?:[^`\\$]|\\(?s:.)|\$(?!\{))*+(?P<end>`|\$\{)?")
_BEFORE_REGEX = {
    "return", "typeof", "case", "in", "of", "delete", "void", "throw", "new", "else", "do", "await", "yield",
    "instanceof",
}  # fmt: skip
"""Words after which a slash begins a regular expression."""


class Token(NamedTuple):
    """A token: its kind (`string`, `number`, `word`, `sign`, `other`), its text, where it begins, how many brackets are
    open around it, and whether it is the first in its line."""

    kind: str
    text: str
    start: int
    depth: int
    first: bool

    @property
    def end(self) -> int:
        return self.start + len(self.text)


def tokens(code: str) -> Iterator[Token]:
    """The tokens of a program without blanks and comments; templates and regular expressions are of the kind `other`.
    A bracket is at the depth of what is around it. Every text has some, however wrong it is, in time that grows with
    its length."""
    at, depth, first = 0, 0, True
    templates: list[int] = []  # the depths at which `${` of a template is open
    last = Token("", "", 0, 0, True)
    while at < len(code):
        match = _TOKEN.match(code, at)
        kind, text = (str(match.lastgroup), match[0]) if match else ("sign", code[at])
        if kind in ("line", "space", "comment"):
            first = first or "\n" in text or kind == "line"
            at += len(text)
            continue
        if text[0] == "/" and kind == "sign" and _regex_after(last):
            kind, text = "other", _REGEX.match(code, at)[0]  # type: ignore[index]
        elif text == "`" or (text == "}" and templates and templates[-1] == depth - 1):
            if text == "}":
                depth = templates.pop()
            found = _TEMPLATE.match(code, at + 1)
            kind, text = "other", text + found[0]  # type: ignore[index]
            if found and found["end"] == "${":
                templates.append(depth)
        if text in (")", "]", "}"):
            depth = max(0, depth - 1)
        last = Token(kind, text, at, depth, first)
        yield last
        if text in ("(", "[", "{") or (kind == "other" and text.endswith("${")):
            depth += 1
        at, first = last.end, False


def _regex_after(last: Token) -> bool:
    if last.kind == "word":
        return last.text in _BEFORE_REGEX
    return last.kind in ("", "sign") and last.text not in (")", "]", "}", "++", "--")


_NO_EXPRESSION = {
    "const", "let", "var", "function", "class", "interface", "type", "enum", "import", "for", "while", "do", "if",
    "else", "switch", "try", "catch", "finally", "throw",
}  # fmt: skip
"""Words with which statements begin that are no expressions."""


def has_value(code: str) -> bool:
    """Whether a program may have a value: it names `result`, exports something, or its last statement, as far as that
    is certain, is an expression."""
    first, ended = "", True
    for token in tokens(code):
        if token.text in ("result", "export"):
            return True
        if token.depth == 0:
            if (ended or token.first) and token.text not in "})];":
                first = token.text
            ended = token.text in (";", "}")
    return bool(first) and first not in _NO_EXPRESSION
