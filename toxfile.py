"""An environment of tox starts as a copy of `base`: what all have is installed, and compiled, once for all of them.
What only some have comes compiled out of uv's cache."""

from __future__ import annotations

import os
import sys
import sysconfig
from contextlib import suppress
from pathlib import Path
from shutil import copytree
from typing import Any

from tox.plugin import impl


@impl
def tox_on_install(tox_env: Any, of_type: str) -> None:
    """Before its own packages are installed: the files are links to those of `base`, which nobody writes into, and
    scripts start the environment's own Python."""
    here: Path = tox_env.env_dir
    base = here.with_name("base")
    if here == base and of_type == "deps":
        keep_compiled(Path(os.environ.get("UV_CACHE_DIR", "")))
    if of_type != "deps" or here == base or not base.is_dir() or (here / "bin/pytest").exists():
        return

    def link(file: str, to: str) -> None:
        if Path(to).exists():
            return
        if Path(file).parent == base / "bin" and (text := Path(file).read_bytes()).startswith(b"#!"):
            Path(to).write_bytes(text.replace(os.fsencode(base), os.fsencode(here)))
            Path(to).chmod(0o755)
        else:
            os.link(file, to)

    for folder in ("bin", "lib"):
        copytree(base / folder, here / folder, copy_function=link, dirs_exist_ok=True)


def keep_compiled(cache: Path) -> None:
    """Where a library in `.venv` is a link to uv's cache, what Python has compiled of it there is linked into the
    cache, out of which each environment takes all that lies there."""
    compiled = {}
    for file in Path(sysconfig.get_path("purelib")).rglob(f"*.{sys.implementation.cache_tag}.pyc"):
        with suppress(FileNotFoundError):  # what is installed no more
            compiled[(file.parents[1] / f"{file.name.partition('.')[0]}.py").stat().st_ino] = file
    for source in cache.glob("archive-*/**/*.py"):
        if file := compiled.get(source.stat().st_ino):
            (source.parent / "__pycache__").mkdir(exist_ok=True)
            with suppress(FileExistsError):
                os.link(file, source.parent / "__pycache__" / file.name)
