"""What clients write in place of a value → the `${NAME}` of doorward.toml."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

from doorward.commands import variable

_REFERENCE = re.compile(r"\$\{([^}]{0,500})\}|\{(?P<opencode>(?:env|file):[^}]{1,500})\}|(?P<odd>\$\{)")
_NAME = re.compile(r"([A-Za-z_]\w*)(:-[^}]*)?", re.ASCII)
_WHOLE = re.compile(r"\$([A-Z_][A-Z0-9_]*)")
"""Gemini CLI: a value that is a variable, without braces."""


def translate(text: str, home: Path, project: Path, wanted: Callable[[str, str], None]) -> str:
    """The text with `${NAME}`, `${NAME:-default}` and nothing else of the kind. Each name without a default is told to `wanted`, with
    what it was, where a person must give it a value."""

    def one(found: re.Match[str]) -> str:
        if found["odd"]:
            return "$${"
        inner = found["opencode"] or found[1]
        known = {
            "userHome": home,
            "workspaceFolder": project,
            "workspaceFolderBasename": project.name,
            "/": os.sep,
            "pathSeparator": os.sep,
        }
        if inner in known:
            return str(known[inner])
        if inner.startswith("workspaceFolder:"):
            return str(project)
        kind, _, rest = inner.partition(":")
        if kind == "env":
            inner = rest.replace(":", ":-", 1) if ":" in rest and ":-" not in rest else rest
        if plain := _NAME.fullmatch(inner):
            if not plain[2]:
                wanted(plain[1], "")
            return f"${{{inner}}}"
        name = variable(rest if kind in ("input", "env", "file", "command") else inner)
        wanted(name, found[0])
        return f"${{{name}}}"

    return _REFERENCE.sub(one, _WHOLE.sub(r"${\1}", text) if _WHOLE.fullmatch(text) else text)
