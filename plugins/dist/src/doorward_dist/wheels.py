"""Wheels: fetched with pip, and read."""

from __future__ import annotations

import configparser
import csv
import hashlib
import re
import subprocess
import sys
import zipfile
from base64 import urlsafe_b64encode
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from email.message import Message
from email.parser import HeaderParser
from importlib.util import find_spec
from pathlib import Path

from doorward import ConfigError
from packaging.utils import canonicalize_name

from doorward_dist.pinned_files import hash_of_files, recorded_files

MAX_DESCRIPTION_BYTES = 16 * 2**20
"""The largest RECORD or METADATA of a wheel."""

_RECORD = re.compile(r"[^/]+\.dist-info/RECORD")


@dataclass(frozen=True)
class Wheel:
    """What a wheel says of itself, and its hashes: of the archive, and of the files that it installs."""

    metadata: Message
    entry_points: configparser.ConfigParser
    archive_sha256: str
    files_hash: str

    @property
    def name(self) -> str:
        return canonicalize_name(str(self.metadata["Name"]))

    @property
    def version(self) -> str:
        return str(self.metadata["Version"])

    @property
    def requires(self) -> list[str]:
        return self.metadata.get_all("Requires-Dist") or []

    def plugins(self, group: str) -> list[str]:
        """The names that it gives in a group of entry points."""
        return list(self.entry_points[group]) if self.entry_points.has_section(group) else []


def download(what: Iterable[str], into: Path, folders: Sequence[Path], *, alone: bool) -> dict[str, Wheel]:
    """Get wheels with pip, as it is configured, also from `folders`, and read them. `alone`: without what they need.

    Raises: ConfigError with what pip says.
    """
    require("pip")
    into.mkdir(parents=True, exist_ok=True)
    links = [word for folder in folders for word in ("--find-links", str(folder.resolve()))]
    deps = ["--no-deps"] if alone else []
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--only-binary", ":all:"]
    run([*pip, *deps, *links, "--dest", str(into), *what], "Have an index that pip reaches, or --wheels FOLDER.")
    found = [read(path) for path in sorted(into.glob("*.whl"))]
    return {wheel.name: wheel for wheel in found}


def read(path: Path) -> Wheel:
    """What a wheel says. Raises: ConfigError if it is none, or if it has no hashes of its files."""
    try:
        with zipfile.ZipFile(path) as archive:
            info = next(filter(_RECORD.fullmatch, archive.namelist())).rpartition("/")[0]
            record = _text(archive, f"{info}/RECORD")
            metadata = HeaderParser().parsestr(_text(archive, f"{info}/METADATA"))
            points = configparser.ConfigParser(delimiters="=", interpolation=None)
            points.optionxform = str  # type: ignore[assignment,method-assign]  # names are as they are written
            if f"{info}/entry_points.txt" in archive.namelist():
                points.read_string(_text(archive, f"{info}/entry_points.txt"))
            wrong = sorted(_unlike(archive, info, record))
    except (OSError, ValueError, KeyError, StopIteration, zipfile.BadZipFile, configparser.Error) as error:
        raise ConfigError(f"is no wheel: {error!r}", place=path.name) from None
    files = recorded_files(record)
    if bare := [name for name, told in files.items() if not told.startswith(("sha256=", "sha384=", "sha512="))]:
        raise ConfigError(f"its RECORD has no hash of {bare[0]}", place=path.name, hint="Build it with another tool.")
    if wrong:
        hint = "An installer would install what the pinned hash does not know. Build it with another tool."
        raise ConfigError(f"its RECORD does not say what {wrong[0]} is", place=path.name, hint=hint)
    return Wheel(metadata, points, hashlib.sha256(path.read_bytes()).hexdigest(), hash_of_files(files))


def _text(archive: zipfile.ZipFile, name: str) -> str:
    """A file of the wheel that describes it. Raises: ValueError if it is too large."""
    if archive.getinfo(name).file_size > MAX_DESCRIPTION_BYTES:
        raise ValueError(f"{name} is larger than {MAX_DESCRIPTION_BYTES} bytes")
    return archive.read(name).decode()


def _unlike(archive: zipfile.ZipFile, info: str, record: str) -> Iterator[str]:
    """The files of a wheel that are not as its RECORD says: changed, twice, or not in it."""
    told = {path: each for path, each, *_ in filter(None, csv.reader(record.splitlines()))}
    unsigned = {f"{info}/{name}" for name in ("RECORD", "RECORD.jws", "RECORD.p7s")}
    seen: set[str] = set()
    for file in archive.infolist():
        name, (algorithm, _, digest) = file.filename, told.get(file.filename, "").partition("=")
        if name in seen:
            yield name
        seen.add(name)
        if file.is_dir() or name in unsigned:
            continue
        if algorithm not in hashlib.algorithms_guaranteed or algorithm.startswith("shake"):
            yield name
            continue
        found = hashlib.new(algorithm)
        with archive.open(file) as opened:
            while part := opened.read(2**20):
                found.update(part)
        if urlsafe_b64encode(found.digest()).decode().rstrip("=") != digest:
            yield name


def require(module: str) -> None:
    """Refuse to go on without a tool. Raises: ConfigError."""
    if find_spec(module) is None:
        raise ConfigError(f"{module} is not installed", hint="pip install doorward-dist[build]")


def run(command: Sequence[str], hint: str, folder: Path | None = None) -> None:
    """Run a tool. Raises: ConfigError with what it says was wrong."""
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)  # noqa: S603
    if ended.returncode:
        said = (ended.stderr.strip() or ended.stdout.strip()).splitlines()
        errors = [line.removeprefix("ERROR: ") for line in said if line.startswith("ERROR: ")] or said[-3:]
        raise ConfigError(f"{command[2]} failed: {' '.join(errors)[:1000]}", hint=hint)
