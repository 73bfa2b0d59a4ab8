"""References of clients to variables → the `${NAME}` of doorward.toml. All other text is taken literally."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from doorward.configuration import Reference, joined, to_variable
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
