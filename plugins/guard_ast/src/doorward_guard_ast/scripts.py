"""Programs in other languages than Python: only what the operator refuses by name is looked for, in their text."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from doorward import Finding

from doorward_guard_ast.rules import NOT_ALLOWED

MAX_FINDINGS = 20

_IMPORTED = re.compile(r"""\b(?:from|import|require)\s*\(?\s*(["'`])([^"'`\n]{1,200})\1""")
_PARTS = re.compile(r"[/.:]")


def refused(code: str, refuse: Collection[str]) -> list[Finding]:
    """A finding for each module that is imported and each name that is used, of those that are refused. A module below
    a refused one is refused, too: `node:fs/promises` with `node:fs`."""
    found = sorted(_found(code, refuse)) if refuse else []
    first = {name: at for at, name in reversed(found)}
    return [
        Finding(NOT_ALLOWED.message.replace("{}", name), code.count("\n", 0, at) + 1, NOT_ALLOWED.instead)
        for name, at in sorted(first.items(), key=lambda each: each[1])[:MAX_FINDINGS]
    ]


def _found(code: str, refuse: Collection[str]) -> Iterator[tuple[int, str]]:
    for match in _IMPORTED.finditer(code):
        module = match[2]
        above = [module[: part.start()] for part in _PARTS.finditer(module)]
        yield from ((match.start(), name) for name in (module, *above) if name in refuse)
    names = "|".join(re.escape(name) for name in refuse)
    used = re.compile(rf"(?<![\w$.])(?:{names})(?=\s*[(.\[])")
    yield from ((match.start(), match[0]) for match in used.finditer(code))
