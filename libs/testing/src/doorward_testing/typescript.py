"""Checks texts in TypeScript with Deno's compiler, where the program `deno` is installed (`pip install deno`)."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

_DENO = shutil.which("deno", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}")
HAS_DENO = _DENO is not None
"""Whether anything can be checked here. Tests that need it are skipped with "deno is absent: …"."""

_DECLARED = re.compile(r"^(declare function|interface )", re.MULTILINE)


def apart(card: str) -> tuple[str, str]:
    """The declarations of a card, as the text of a module; and its import and example, if it has one, as a program."""
    start, _, rest = card.partition("\n\n")
    body, _, end = rest.rpartition("\n\n")
    if _DECLARED.search(end):
        body, end = rest, ""
    return _DECLARED.sub(r"export \1", body) + "\n", f"{start}\n{end}\nexport {{}};\n"


def faults(texts: Mapping[str, str], folder: Path) -> str:
    """What the compiler says of these files, by their names (`.d.ts` for declarations); "" if all are well. Nothing is
    fetched and nothing runs."""
    assert _DENO, "deno is absent"
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    words = [_DENO, "check", "--quiet", "--no-remote", "--no-npm", "--no-config", "--no-lock", *texts]
    environ = {**os.environ, "NO_COLOR": "1", "DENO_DIR": str(folder / ".deno"), "DENO_NO_UPDATE_CHECK": "1"}
    ended = subprocess.run(words, cwd=folder, env=environ, capture_output=True, text=True, check=False)  # noqa: S603
    return ended.stderr[:4000] if ended.returncode else ""
