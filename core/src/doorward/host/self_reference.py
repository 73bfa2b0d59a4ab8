"""Whether a command line would serve Doorward itself: an entry that does would start a server that starts a server."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Sequence
from itertools import pairwise

_MAX_CHARACTERS = 10_000
"""Characters that are looked at."""

_STARTERS = {
    "uvx", "uv", "tool", "run", "pipx", "python", "python3", "npx", "npm", "pnpm", "yarn", "dlx", "bunx", "bun", "exec", "x", "env", "sh",
    "bash", "zsh", "cmd", "cmd.exe", "/c", "-c", "-lc", "-m", "-y", "--yes", "-q", "--",
}  # fmt: skip
"""Words that start what stands behind them, where nothing else stands between."""

_BETWEEN = re.compile(r"[\s;&|()`'\"]+")
_OURS = re.compile(r"(.*[/\\])?doorward(([.@<>~!:\[]|==).*)?", re.IGNORECASE)
"""Our command, a path to it, a module, an image or a package of that name, as `doorward[all]==1.0`."""


def starts_doorward(command: Sequence[str]) -> bool:
    """Whether this command line serves Doorward, also through `uvx`, `npx`, `python -m`, a shell, a container, a path
    or a link.

    Ours is the first word that only starters stand before, or one before the word `serve`, as everything else about a
    command line is for its programs to know. So a folder or a package called doorward is none. What hides it (a script
    of one's own) is not found. Nothing is run, and no file is read.
    """
    words = [word for word in _BETWEEN.split(" ".join(command)[:_MAX_CHARACTERS]) if word]
    first = next((word for word in words if word not in _STARTERS), "")
    return any(_is_ours(word) for word in (first, *(one for one, other in pairwise(words) if other == "serve")))


def _is_ours(word: str) -> bool:
    if _OURS.fullmatch(word):
        return True
    found = shutil.which(word) if "\0" not in word else None
    return found is not None and _OURS.fullmatch(os.path.realpath(found)) is not None
