"""`make dist`: an sdist and a wheel of every distribution, and whether they are fit to be published.

They hold what git tracks and the licence, nothing else that lies in a folder, and are the same bytes each time. A wheel
that is built of an unpacked sdist is the wheel itself.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from email.message import Message
from email.parser import HeaderParser
from pathlib import Path

from distributions import ROOT, Distribution, distributions

LICENCE = "LICENSE"
PYTHONS = ("3.11", "3.12", "3.13", "3.14")


def build(one: Distribution, out: Path) -> list[Path]:
    """Build the sdist and the wheel of a distribution. Returns: both."""
    with tempfile.TemporaryDirectory() as staged:
        for name in tracked(one.folder):
            file = Path(staged, name)
            file.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(one.folder / name, file)
        shutil.copy(ROOT / LICENCE, staged)
        return [built("sdist", Path(staged), out), built("wheel", Path(staged), out)]


def tracked(folder: Path) -> list[str]:
    """What git has in a folder; of new files, those that are staged."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=folder, check=True, capture_output=True, text=True).stdout
    return [name for name in listed.split("\0") if name]


def built(kind: str, project: Path, out: Path) -> Path:
    """The file that hatchling makes of a project. Its times do not depend on the clock."""
    from hatchling.builders.sdist import SdistBuilder
    from hatchling.builders.wheel import WheelBuilder

    builder = SdistBuilder if kind == "sdist" else WheelBuilder
    return Path(next(iter(builder(str(project)).build(directory=str(out)))))


def problems(one: Distribution, sdist: Path, wheel: Path) -> Iterator[str]:
    """What is wrong with what was built of a distribution."""
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(sdist) as archive:
            archive.extractall(folder, filter="data")
        (unpacked,) = Path(folder).iterdir()
        if built("wheel", unpacked, Path(folder)).read_bytes() != wheel.read_bytes():
            yield "the wheel of its sdist is another one"
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        info = next(name for name in names if name.endswith(".dist-info/METADATA")).rpartition("/")[0]
        metadata = HeaderParser().parsestr(archive.read(f"{info}/METADATA").decode())
        licence = f"{info}/licenses/{LICENCE}"
        if licence not in names or archive.read(licence) != (ROOT / LICENCE).read_bytes():
            yield "its wheel has no licence"
    package = one.name.replace("-", "_")
    source = {name.removeprefix("src/") for name in tracked(one.folder) if name.startswith("src/")}
    if f"{package}/py.typed" not in source:
        yield "its package has no py.typed"
    if more := {name for name in names if not name.startswith(f"{info}/")} ^ source:
        yield f"its wheel has not exactly what src has: {', '.join(sorted(more))}"
    if tests := [name for name in names if re.search(r"(^|/)(tests/.*|test_\w*|conftest)\.py$", name)]:
        yield f"its wheel has tests: {', '.join(tests)}"
    yield from _unsaid(one, metadata)


def _unsaid(one: Distribution, metadata: Message) -> Iterator[str]:
    """What the metadata of a wheel does not say."""
    if metadata.get_payload() != (one.folder / "README.md").read_text(encoding="utf-8"):
        yield "its description is not its README"
    if (metadata["License-Expression"], metadata["Requires-Python"]) != ("Apache-2.0", f">={PYTHONS[0]}"):
        yield "its licence or its Pythons are others"
    told = metadata.get_all("Classifier") or []
    if missing := [each for each in PYTHONS if f"Programming Language :: Python :: {each}" not in told]:
        yield f"its classifiers do not name Python {', '.join(missing)}"
    if not metadata["Summary"] or not metadata["Keywords"]:
        yield "it has no summary, or no keywords"


def main() -> int:
    parser = argparse.ArgumentParser(description="Build all distributions, and check them.")
    parser.add_argument("out", type=Path, nargs="?", default=ROOT / "dist")
    out = parser.parse_args().out
    shutil.rmtree(out, ignore_errors=True)
    found = []
    for one in distributions():
        found += [f"{one.name}: {problem}" for problem in problems(one, *build(one, out))]
    print("\n".join([*found, f"{len(list(out.iterdir()))} files in {out}"]))
    checked = subprocess.run([sys.executable, "-m", "twine", "--no-color", "check", "--strict", *sorted(out.iterdir())])
    return 1 if found else checked.returncode


if __name__ == "__main__":
    sys.exit(main())
