"""Whether what is installed of a distribution is what its wheel brought.

Read before anything of it is imported. What is compiled of its modules (`__pycache__`) is not read: whoever may write
there owns the environment, and `doorward dist verify` compares it.
"""

from __future__ import annotations

import csv
import hashlib
import json
import os
import re
import sys
from base64 import urlsafe_b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib.machinery import EXTENSION_SUFFIXES, SOURCE_SUFFIXES
from importlib.metadata import Distribution, distributions
from typing import NamedTuple

from doorward import ConfigError
from doorward.configuration import GROUPS, Entry, canonical

BY_RECORD = "RECORD"
"""In place of a hash: the files are compared with what the copy's own RECORD says, as far as there is one."""

ISOLATED = "python -I -m doorward …"
"""How Doorward is started without PYTHONPATH, the current folder and packages of the user."""

ADDED_BY_INSTALLERS = {
    "INSTALLER",
    "RECORD",
    "RECORD.jws",
    "RECORD.p7s",
    "REQUESTED",
    "direct_url.json",
    "provenance_url.json",
    "uv_build.json",
    "uv_cache.json",
}
"""Files in a dist-info folder that do not come with the wheel, or differ from it."""


_DATA = re.compile(r"^[^/]+\.data/(pure|plat)lib/")
"""Where a wheel has files that are installed beside its others."""


_ELSEWHERE = re.compile(r"^(\.\./|/|[^/]+\.data/|bin/[^/.]+$|Scripts/[^/]+\.exe$)")
"""Paths of scripts and data, which installers put elsewhere: in `bin` beside the packages, with `--target`."""


class FileProblem(NamedTuple):
    """Why what is installed of a distribution is not what was pinned, and what to do."""

    distribution: str
    what: str
    hint: str


class Copy(NamedTuple):
    """An installed copy of a distribution: its dist-info folder, and the files of its wheel with their hashes."""

    info: str
    version: str
    editable: bool
    files: Mapping[str, str]
    packages: Mapping[str, str]
    """The modules at its top, each with its file."""

    @property
    def root(self) -> str:
        return os.path.dirname(self.info)


def check(pinned: Mapping[str, str], entries: Iterable[Entry]) -> None:
    """Refuse installed distributions that have a problem; one that is not installed has none. `pinned`: the hash of
    each, or ""; `entries`: the plugins of this environment.

    Raises: ConfigError.
    """
    _check(tuple(pinned.items()), tuple(entries), tuple(sys.path))


@cache
def _check(pinned: tuple[tuple[str, str], ...], entries: tuple[Entry, ...], path: tuple[str, ...]) -> None:
    """`check`, once in a process: what has been imported stays as it is."""
    if sys.pycache_prefix is not None and any(pin.startswith("sha256:") for _, pin in pinned):
        raise ConfigError(
            f"Python takes compiled modules from {sys.pycache_prefix}, whatever the pinned files say",
            hint=f"Unset PYTHONPYCACHEPREFIX, or start: {ISOLATED}",
        )
    for name, pin in pinned:
        claiming = [entry.point.dist for entry in entries if canonical(entry.distribution) == name]
        for problem in file_problems(name, pin, claiming):
            if problem.distribution != name:
                raise ConfigError(problem.what, place=problem.distribution, hint=problem.hint)


def file_problems(name: str, pinned: str = "", also: Iterable[Distribution | None] = ()) -> Iterator[FileProblem]:
    """What is wrong with the installed files of a distribution.

    Always: there is one copy of it, which is not editable, and Python would import its modules from there. With
    `pinned`, the hash of its files, also: it has exactly those. `also`: more copies, under whatever names.
    """
    copies = {copy.info: copy for found in (*distributions(name=name), *also) if (copy := _copy(found))}
    if not copies:
        yield FileProblem(name, "is not installed", f"pip install {name}")
        return
    copy = next(iter(copies.values()))
    title, again = f"{name} {copy.version}", f"pip install --force-reinstall --no-deps {name}=={copy.version}"
    if len(copies) > 1:
        what = f"is installed twice: {' and '.join(copies)}"
        yield FileProblem(title, what, f"Remove one of them, and start Doorward without PYTHONPATH: {ISOLATED}")
    if copy.editable:
        yield FileProblem(title, f"is an editable install, whose files may change: {copy.info}", f"Its wheel: {again}")
        return
    for module, file in copy.packages.items():
        if place := _elsewhere(module, own := os.path.join(copy.root, file)):
            what = f"`import {module}` would take {place}, not {own}"
            yield FileProblem(title, what, f"Remove {place}, or start Doorward without PYTHONPATH: {ISOLATED}")
    known = copy.files or pinned != BY_RECORD
    for what in _changes(copy, pinned) if pinned and known else ():
        yield FileProblem(title, what, f"Install it again: {again}")


def recorded_files(text: str) -> dict[str, str]:
    """What RECORD says of the files that a wheel brings: path → hash. What installers add is left out, and so are
    scripts and data, which they put elsewhere."""
    found = {}
    for path, told, *_ in filter(None, csv.reader(text.splitlines())):
        path = _DATA.sub("", path)
        folder, _, file = path.rpartition("/")
        by_installer = folder.endswith(".dist-info") and file in ADDED_BY_INSTALLERS
        if not by_installer and not _ELSEWHERE.match(path) and not path.endswith(".pyc"):
            found[path] = told
    return found


def hash_of_files(files: Mapping[str, str]) -> str:
    """The hash of what `recorded_files` answers, as a manifest pins it."""
    lines = "".join(f"{path}\0{told}\n" for path, told in sorted(files.items()))
    return f"sha256:{hashlib.sha256(lines.encode()).hexdigest()}"


def _copy(found: Distribution | None) -> Copy | None:
    path = getattr(found, "_path", None)  # of PathDistribution, here and in the backport `importlib_metadata`
    if found is None or path is None:
        return None
    folder, name = os.path.split(str(path))
    info = os.path.join(os.path.realpath(folder), name)
    files = recorded_files(found.read_text("RECORD") or "")
    packages = dict(_packages(files))
    known = {name.partition(".")[0] for name in packages}
    points = [point for point in found.entry_points if point.group in GROUPS.values()]
    for top in {point.module.partition(".")[0] for point in points} - known:  # it should be beside it
        packages[top] = f"{top}/__init__.py" if os.path.isdir(f"{info}/../{top}") else f"{top}.py"
    return Copy(info, found.version, _editable(found), files, packages)


def _editable(found: Distribution) -> bool:
    """Whether the distribution says that its files are those of a folder in which somebody works (PEP 610)."""
    try:
        return bool(json.loads(found.read_text("direct_url.json") or "{}").get("dir_info", {}).get("editable"))
    except (ValueError, AttributeError):
        return False


def _packages(files: Iterable[str]) -> Iterator[tuple[str, str]]:
    """The packages and modules at the top of a distribution, below its namespaces, each with its file."""
    folders = {path.removesuffix("__init__.py") for path in files if path.endswith("/__init__.py")}
    for path in files:
        *above, file = path.split("/")
        if not all(map(str.isidentifier, (*above, file.partition(".")[0]))):
            continue
        outer = {"/".join(above[: n + 1]) + "/" for n in range(len(above))} & folders
        stem, dot, suffix = file.partition(".")
        if file == "__init__.py" and outer == {path.removesuffix(file)}:
            yield ".".join(above), path
        elif not outer and dot + suffix in (*SOURCE_SUFFIXES, *EXTENSION_SUFFIXES):
            yield ".".join([*above, stem]), path


def _elsewhere(module: str, own: str) -> str:
    """From where Python would import a module, if that is not its own file. Nothing is imported to find out."""
    path: Sequence[str] | None = None
    names = module.split(".")
    for depth, name in enumerate(names, 1):
        try:
            finders = (finder.find_spec(".".join(names[:depth]), path) for finder in sys.meta_path)
            spec = next(filter(None, finders), None)
        except KeyError:  # a namespace in a namespace that is not imported
            path, spec = [os.path.join(folder, name) for folder in path or ()], None
            continue
        if spec is None:
            return "nothing"
        path = spec.submodule_search_locations
    if spec is None:
        return "nothing"
    found = [(spec.origin, own), *((folder, os.path.dirname(own)) for folder in path or ())]
    return next((str(place) for place, wanted in found if not _same(place, wanted)), "")


def _same(place: str | None, wanted: str) -> bool:
    return place == wanted or (place is not None and os.path.realpath(place) == os.path.realpath(wanted))


def _changes(copy: Copy, pinned: str) -> Iterator[str]:
    """How the files of a copy differ from those that are pinned."""
    if pinned != BY_RECORD and (found := hash_of_files(copy.files)) != pinned:
        yield f"is not the build that is pinned: by its RECORD, the hash of its files is {found}, not {pinned}"
    for path, told in copy.files.items():
        file = os.path.join(copy.root, path)
        if os.path.islink(file) or not os.path.isfile(file):
            yield f"{file} is missing or no regular file"
        elif _hash_of_file(file, told) != told:
            yield f"{file} was changed after it was installed"
    own = {file for file in copy.packages.values() if file.endswith("/__init__.py") and file in copy.files}
    for folder in sorted(map(os.path.dirname, own)):
        yield from _added(copy, folder)


def _hash_of_file(file: str, told: str) -> str:
    """The hash of a file as RECORD writes it, by the algorithm that it `told`; "" if there is none that we trust."""
    algorithm = told.partition("=")[0]
    if algorithm not in ("sha256", "sha384", "sha512"):
        return ""
    with open(file, "rb") as opened:
        digest = hashlib.new(algorithm, opened.read()).digest()
    return f"{algorithm}={urlsafe_b64encode(digest).decode().rstrip('=')}"


def _added(copy: Copy, folder: str) -> Iterator[str]:
    """What lies in a package's folder, and did not come with the wheel."""
    with os.scandir(os.path.join(copy.root, folder)) as found:
        for each in found:
            path = f"{folder}/{each.name}"
            if each.is_dir(follow_symlinks=False):
                if each.name != "__pycache__":
                    yield from _added(copy, path)
            elif path not in copy.files:
                yield f"{each.path} was added after it was installed"
