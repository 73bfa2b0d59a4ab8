"""References of clients to variables → the `${NAME}` of doorward.toml. All other text is taken literally."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from doorward import MissingSecret
from doorward.configuration import Reference, find
from doorward.values import escaped
from doorward_cli import variable

_REFERENCE = re.compile(r"\$\{([^}]{0,500})\}|\{(?P<opencode>(?:env|file):[^}]{1,500})\}")
_NAME = re.compile(r"([A-Za-z_]\w*)(?::-(.*))?", re.ASCII | re.DOTALL)
_BARE_VARIABLE = re.compile(r"\$([A-Z_][A-Z0-9_]*)")
"""A value of Gemini CLI that is a variable without braces."""


def translate(text: str, home: Path, project: Path, wanted: Callable[[str, str], None]) -> str:
    """The text with `${NAME}` and `${NAME:-default}` for the references of the client; all else is taken literally.
    `wanted` gets each name without a default, and the client's text where that is not a variable.

    Raises: ValueError if that cannot be written.
    """
    known = {
        "userHome": home,
        "workspaceFolder": project,
        "workspaceFolderBasename": project.name,
        "/": os.sep,
        "pathSeparator": os.sep,
    }

    def one(found: re.Match[str]) -> str | Reference:
        inner = found["opencode"] or found[1]
        if inner in known:
            return str(known[inner])
        if inner.startswith("workspaceFolder:"):
            return str(project)
        kind, _, rest = inner.partition(":")
        if kind == "env":
            inner = rest.replace(":", ":-", 1) if ":" in rest and ":-" not in rest else rest
        if plain := _NAME.fullmatch(inner):
            if plain[2] is None:
                wanted(plain[1], "")
            return to_variable(plain[1], plain[2])
        name = variable(rest if kind in ("input", "env", "file", "command") else inner)
        wanted(name, found[0])
        return to_variable(name)

    def parts(text: str) -> Iterator[str | Reference]:
        start = 0
        for found in _REFERENCE.finditer(text):
            yield text[start : found.start()]
            yield one(found)
            start = found.end()
        yield text[start:]

    return joined(parts(_BARE_VARIABLE.sub(r"${\1}", text) if _BARE_VARIABLE.fullmatch(text) else text))


def to_variable(name: str, default: str | None = None) -> Reference:
    """The reference `${NAME}`, or one with a literal default. Raises: ValueError if it cannot be written."""
    text = f"${{{name}}}" if default is None else f"${{{name}:-{escaped(default)}}}"
    made = Reference(text, "", name, default)
    try:
        if [*find(text)] == [made]:
            return made
    except MissingSecret:
        pass
    raise ValueError("holds a variable with a name or a default that cannot be written")


def joined(parts: Iterable[str | Reference]) -> str:
    """Literal texts and references, written as one text. Raises: ValueError if that is impossible: a `$` right before a
    reference would escape it."""
    made = plain = ""
    for part in parts:
        if isinstance(part, str):
            plain += part
        elif plain.endswith("$"):
            raise ValueError("holds a $ right before a variable, which cannot be written")
        else:
            made, plain = made + escaped(plain) + part.text, ""
    return made + escaped(plain)
