"""The Python that runs in the jail: where it is, and which folders it needs."""

from __future__ import annotations

import asyncio
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from doorward import ExecutorError

OLDEST = (3, 9)

_ASK = """
import json, sys
with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
    mapped = sorted({line.split(None, 5)[5].rstrip("\\n") for line in maps if line.count(" /")})
print(json.dumps({
    "executable": getattr(sys, "_base_executable", "") or sys.executable, "prefix": sys.base_prefix,
    "version": list(sys.version_info[:3]), "mapped": mapped, "name": sys.implementation.name,
}))
"""


@dataclass(frozen=True, slots=True)
class Interpreter:
    """A Python interpreter. `executable` is its real file, `library` the folder of its shared library if it has one;
    `packages` are the `site-packages` folders that programs may import from, and `places` is everything to mount."""

    executable: Path
    version: tuple[int, int, int]
    library: Path | None
    packages: tuple[Path, ...]
    places: tuple[Path, ...]

    @property
    def needs_path(self) -> bool:
        """Whether the loader must be told where the library is: a jail has no /etc/ld.so.cache."""
        return (
            self.library is not None
            and not self.library.is_relative_to("/usr/lib")
            and not self.library.is_relative_to("/lib")
        )

    @property
    def text(self) -> str:
        return f"Python {'.'.join(map(str, self.version))} ({self.executable})"


async def interpreter(executable: str | Path, packages: Path | None = None, *, name: str = "nsjail") -> Interpreter:
    """Ask a Python about itself. For a virtual environment, its base interpreter counts. `packages` is a virtual
    environment whose packages programs may import, `name` that of the executor.

    Raises: ExecutorError if it cannot be started, or is not a CPython that the runner supports.
    """
    try:
        asked = await asyncio.create_subprocess_exec(
            str(executable),
            "-I",
            "-S",
            "-c",
            _ASK,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={},
        )
        answer, said = await asked.communicate()
        about = json.loads(answer)
        version, name = tuple(about["version"]), about["name"]
    except (OSError, ValueError, LookupError, TypeError) as error:
        why = error if isinstance(error, OSError) else said.decode(errors="replace").strip()[-500:]
        raise ExecutorError(
            f"the Python {executable} cannot be used: {why}", hint=f"`python` of [executors.{name}] names another."
        ) from None
    if name != "cpython" or version < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        raise ExecutorError(
            f"{executable} is {name} {'.'.join(map(str, version))}; CPython {oldest} or newer is needed",
            hint="`python` of [executors.nsjail] names another.",
        )
    return _described(about, version, packages)


def _described(about: dict[str, Any], version: tuple[int, int, int], packages: Path | None) -> Interpreter:
    real, prefix = Path(about["executable"]).resolve(), Path(about["prefix"])
    mapped = [path for path in map(Path, about["mapped"]) if ".so" in path.name and path.exists()]
    library = next((path.parent for path in mapped if path.name.startswith("libpython")), None)
    site = site_packages(packages, version) if packages else ()
    places = [real, *(prefix / lib for lib in ("lib", "lib64")), *(path.parent for path in mapped)]
    return Interpreter(real, version, library, site, tuple(p for p in places if p.exists()))


def site_packages(environment: Path, version: tuple[int, ...]) -> tuple[Path, ...]:
    """The `site-packages` folders of a virtual environment.

    Raises: ExecutorError if it has none for this version of Python.
    """
    name = f"python{version[0]}.{version[1]}/site-packages"
    found = [environment / lib / name for lib in ("lib", "lib64") if (environment / lib / name).is_dir()]
    if not found:
        raise ExecutorError(
            f"{environment} is no virtual environment of Python {version[0]}.{version[1]}: it has no lib/{name}",
            hint="`venv` names an environment made with the Python of `python`.",
        )
    return tuple(dict.fromkeys(f.resolve() for f in found))


def default_python(venv: Path | None) -> Path:
    """The Python to use if none is configured: that of `venv`, else the one that runs Doorward."""
    return venv / "bin/python" if venv else Path(sys.executable)
