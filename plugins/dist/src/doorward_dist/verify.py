"""`doorward dist verify`: whether an environment is what the distribution pins, and whether others can change it.

`doorward` itself checks at each start what the manifest pins. This also reads what is compiled (`__pycache__`), all
packages below the pinned ones, and how Python was started.
"""

from __future__ import annotations

import importlib.util
import marshal
import os
import site
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import Distribution as Installed
from importlib.metadata import distribution, distributions
from pathlib import Path

from doorward import ConfigError
from doorward.configuration import canonical, installed

from doorward_dist.distribution import Distribution, find_active, raw_manifest
from doorward_dist.installed import below, pins, version
from doorward_dist.lock import Locked
from doorward_dist.pinned_files import BY_RECORD, file_problems, recorded_files
from doorward_dist.show import active

ISOLATED = "python -I -m doorward"
VARIABLES = ("PYTHONPATH", "PYTHONHOME", "PYTHONPYCACHEPREFIX", "PYTHONUSERBASE", "PYTHONWARNINGS")
"""Variables by which whoever starts Python has it import other code. `python -I` passes over all of them."""


_STDLIB = sysconfig.get_path("stdlib")


@dataclass(frozen=True)
class Finding:
    """What is wrong, and what to do."""

    what: str
    hint: str


def verify(lock: Mapping[str, Locked] | None = None) -> Iterator[Finding]:
    """Everything that is wrong. `lock`: what all packages must be."""
    try:
        found = active()
    except ConfigError as error:
        yield Finding(str(error), error.hint or "")
        # A file that was changed may be why its manifest cannot be read whole: what else is wrong is told, too.
        with suppress(ConfigError):
            if entry := find_active(installed()):
                yield from _files(entry.distribution, raw_manifest(entry).get("files", {}), lock or {})
                yield from _open_to_others(entry.distribution)
        yield from _start()
        return
    yield from files(found, lock or {})
    if lock is not None:
        yield from _unlike(found, lock)
    yield from _start()
    yield from _open_to_others(found.entry.distribution)


def files(found: Distribution, lock: Mapping[str, Locked]) -> Iterator[Finding]:
    """What is wrong with the files of the distribution, of what it pins, and of all below that."""
    pinned = {pin.name: pin for pin in pins(found)}
    for pin in pinned.values():
        if pin.installed and not pin.fits:
            yield Finding(
                f"{pin.name} {pin.installed} is not the pinned {pin.requirement}", "Install the pinned version."
            )
    yield from _files(found.entry.distribution, {name: pin.files for name, pin in pinned.items()}, lock)


def _files(package: str, pinned: Mapping[str, str], lock: Mapping[str, Locked]) -> Iterator[Finding]:
    """What is wrong with the files of a package and of all below it, of which some are pinned by hashes."""
    claims = installed()
    for name in sorted(below(package)):
        hashes = [pinned.get(name, BY_RECORD)]
        if name in lock and lock[name].files and lock[name].version == version(name):
            hashes = [*(each for each in hashes if each != BY_RECORD), lock[name].files]
        also = [entry.point.dist for entry in claims if canonical(entry.distribution) == name]
        told = [problem for each in dict.fromkeys(hashes) for problem in file_problems(name, each, also)]
        for problem in dict.fromkeys(told):
            yield Finding(f"{problem.distribution}: {problem.what}", problem.hint)
        if version(name) and not _recorded(distribution(name)):
            what = f"{name} {version(name)}: has no RECORD, so nobody can say whether its files were changed"
            yield Finding(what, f"Install it again: pip install --force-reinstall --no-deps {name}=={version(name)}")
        if not told:
            yield from _compiled(distribution(name))


def _compiled(found: Installed) -> Iterator[Finding]:
    """Compiled modules that this Python would run in place of a source that says something else."""
    for path in _recorded(found):
        if not path.endswith(".py"):
            continue
        source = Path(str(found.locate_file(path)))
        for level in (0, 1, 2):
            compiled = Path(importlib.util.cache_from_source(str(source), optimization=level or ""))
            if compiled.exists() and not _is_of(compiled, source, level):
                what = f"{found.name} {found.version}: {compiled} was not compiled from {source.name}"
                yield Finding(what, "Remove it; Python compiles the source anew.")


def _is_of(compiled: Path, source: Path, level: int) -> bool:
    try:
        code = marshal.loads(compiled.read_bytes()[16:])  # noqa: S302 (Python itself would run it)
        return bool(code == compile(source.read_bytes(), str(source), "exec", dont_inherit=True, optimize=level))
    except Exception:  # it may hold anything
        return False


def _unlike(found: Distribution, lock: Mapping[str, Locked]) -> Iterator[Finding]:
    """How the environment differs from the lock."""
    for name, locked in sorted(lock.items()):
        if (there := version(name)) != locked.version:
            what = f"{name} {there}" if there else f"{name} is not installed, it"
            yield Finding(
                f"{what} is {locked.version} in the lock", "Install by the lock: pip install --require-hashes -r …"
            )
    for name in sorted(below(found.entry.distribution) - lock.keys()):
        if version(name):
            yield Finding(f"{name} {version(name)} is not in the lock", "Make the lock anew, on this platform.")


def _start() -> Iterator[Finding]:
    """What was open to whoever started this process."""
    if not sys.flags.isolated:
        yield Finding("Python is not isolated: variables and the current folder choose code", f"Start: {ISOLATED} …")
        for name in VARIABLES:
            if os.environ.get(name):
                yield Finding(f"{name} is set", f"Unset it, or start: {ISOLATED} …")
    if site.ENABLE_USER_SITE and os.path.isdir(site.getusersitepackages()):
        yield Finding(f"packages of the user are imported: {site.getusersitepackages()}", f"Start: {ISOLATED} …")
    for module in ("sitecustomize", "usercustomize"):
        spec = importlib.util.find_spec(module)
        if spec is not None and not str(spec.origin).startswith(_STDLIB + os.sep):  # that of Debian belongs to Python
            yield Finding(f"{module} is run at each start: {spec.origin}", "Remove it.")


def _open_to_others(package: str) -> Iterator[Finding]:
    """What this user may change, and what nobody has installed but Python runs at each start."""
    packages = [distribution(name) for name in sorted(below(package)) if version(name)]
    folders = {str(each.locate_file("")) for each in packages}
    places = [*sorted({*folders, sys.prefix, os.path.dirname(sys.executable), _STDLIB}), *map(_open_file, packages)]
    for place in places:
        if place and os.access(place, os.W_OK):
            what = f"{place} can be written by whoever runs Doorward"
            yield Finding(what, "Install as another user than the one who runs it, or mount it read-only.")
    owned = {os.path.realpath(str(each.locate_file(file))) for each in distributions() for file in _pth_files(each)}
    for folder in sorted(folders):
        for file in sorted(Path(folder).glob("*.pth")):
            if os.path.realpath(file) not in owned:
                yield Finding(f"{file} is run at each start, and was installed by no package", "Remove it.")


def _open_file(found: Installed) -> str:
    """The first file or folder of a package that can be written, in a folder that cannot."""
    if os.access(str(found.locate_file("")), os.W_OK):
        return ""
    files = [Path(str(found.locate_file(path))) for path in _recorded(found)]
    folders = {folder for file in files for folder in (file.parent, file.parent / "__pycache__")}
    return next((str(path) for path in (*sorted(folders), *files) if os.access(path, os.W_OK)), "")


def _pth_files(found: Installed) -> list[str]:
    return [path for path in _recorded(found) if path.endswith(".pth")]


def _recorded(found: Installed) -> Mapping[str, str]:
    return recorded_files(found.read_text("RECORD") or "")
