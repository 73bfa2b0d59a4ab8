"""The virtual environment for the setting `packages`: built once and kept in the state folder, one folder
for each set of packages."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import importlib.util
import json
import os
import shutil
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from doorward import ExecutorError
from doorward.files import own_folder
from doorward_jail import Interpreter

_MARK = "doorward.json"
"""The file in a finished environment that says what it was made from."""


def place(state: Path, python: Interpreter, packages: Sequence[str]) -> Path:
    """The folder of the environment with these packages for this Python, whether or not it is built."""
    made_of = json.dumps([str(python.executable), python.version, sorted(packages)])
    return state / "nsjail" / hashlib.sha256(made_of.encode()).hexdigest()[:20]


def built(folder: Path) -> bool:
    return (folder / _MARK).is_file()


async def build(folder: Path, python: Interpreter, packages: Sequence[str], tell: Callable[[str], None]) -> None:
    """Make the environment. It appears whole or not at all, even if two processes build it at the same time.

    Raises: ExecutorError with what the installer said.
    """
    own_folder(folder.parent)
    making = Path(tempfile.mkdtemp(prefix=f"{folder.name}.", dir=folder.parent))
    try:
        tell(f"making a virtual environment with {python.text}")
        await _do([str(python.executable), "-I", "-m", "venv", "--without-pip", "--symlinks", str(making)])
        tell(f"installing {', '.join(packages)}")
        inside = str(making / "bin/python")
        await _do([*installer(inside), *packages])
        _finish(making, folder, json.dumps({"python": str(python.executable), "packages": list(packages)}))
    finally:
        shutil.rmtree(making, ignore_errors=True)


def _finish(making: Path, folder: Path, made_of: str) -> None:
    (making / _MARK).write_text(made_of, encoding="utf-8")
    making.chmod(0o755)  # the user in the jail is not root
    with contextlib.suppress(OSError):  # somebody else has just built it
        os.rename(making, folder)
    if not built(folder):
        raise ExecutorError(
            f"{folder} is there but is no finished environment", hint="Remove that folder, then build again."
        )


def installer(python: str) -> list[str]:
    """The command that installs packages into the environment of `python`: pip or uv, whichever Doorward's own
    environment has.

    Raises: ExecutorError if it has neither.
    """
    if importlib.util.find_spec("pip"):
        return [
            sys.executable,
            "-I",
            "-m",
            "pip",
            "--python",
            python,
            "install",
            "--quiet",
            "--no-input",
            "--disable-pip-version-check",
        ]
    if uv := shutil.which("uv", path=os.pathsep.join([sysconfig.get_path("scripts"), *os.get_exec_path()])):
        return [uv, "pip", "install", "--quiet", "--compile-bytecode", "--python", python]
    raise ExecutorError(
        "neither pip nor uv is there to install `packages`", hint="Install one beside Doorward: `python -m ensurepip`."
    )


async def _do(command: list[str]) -> None:
    # Readable by everyone, whatever the umask: if we are root, the jail runs as another user.
    done = await asyncio.create_subprocess_exec(
        *command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT, umask=0o022
    )
    try:
        said, _ = await done.communicate()
    except BaseException:
        with contextlib.suppress(ProcessLookupError):
            done.kill()
        raise
    if done.returncode:
        raise ExecutorError(
            f"the packages could not be installed: {said.decode(errors='replace').strip()[-2000:]}",
            hint="Fix `packages` of [executors.nsjail], or the index that pip asks; or name an environment by `venv`.",
        )
