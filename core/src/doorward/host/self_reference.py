"""Finds command lines that start Doorward itself: configured as a server, one would start itself forever."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Sequence
from itertools import pairwise

_MAX_CHARACTERS = 10_000
"""Characters of a command line that are examined."""

_STARTERS = {
    "uvx", "uv", "tool", "run", "pipx", "python", "python3", "npx", "npm", "pnpm", "yarn", "dlx", "bunx", "bun",
    "exec", "x", "env", "sh", "bash", "zsh", "cmd", "cmd.exe", "/c", "-c", "-lc", "-m", "-y", "--yes", "-q", "--",
}  # fmt: skip
"""Words that start the program named right behind them."""

_BETWEEN = re.compile(r"[\s;&|()`'\"]+")
_OURS = re.compile(r"(.*[/\\])?doorward(([.@<>~!:\[]|==).*)?", re.IGNORECASE)
"""Our command, a path to it, or a module, image or package of that name: `doorward[all]==1.0`."""


def starts_doorward(command: Sequence[str]) -> bool:
    """Whether this command line starts Doorward, also through `uvx`, `npx`, `python -m`, a shell, a container, a path
    or a link.

    Two words are examined: the first that is no starter, and the one before `serve`. All others mean something to their
    own program only, so a folder or a package called doorward does no harm. A script that starts Doorward is not found.
    Nothing is run, and no file is read.
    """
    words = [word for word in _BETWEEN.split(" ".join(command)[:_MAX_CHARACTERS]) if word]
    first = next((word for word in words if word not in _STARTERS), "")
    return any(_is_ours(word) for word in (first, *(one for one, other in pairwise(words) if other == "serve")))


def _is_ours(word: str) -> bool:
    if _OURS.fullmatch(word):
        return True
    found = shutil.which(word) if "\0" not in word else None
    return found is not None and _OURS.fullmatch(os.path.realpath(found)) is not None
