"""An environment of tox starts as a copy of `base`: what all have is installed, and compiled, once for all of them."""

from __future__ import annotations

import os
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
