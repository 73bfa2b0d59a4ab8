"""The gate of `make coverage`: prints the files with the most untested lines and branches, and fails where a group of
files has fewer tested ones than it must have.

    python .ci/coverage_gate.py [PART]

It looks at the `src` of every distribution, so a new one is held to it by itself. A file that no test imports counts as
untested. PART is the folder of which alone there are measurements (`core`).
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import coverage

ROOT = Path(__file__).resolve().parents[1]
EVERYTHING = ["core/src", "libs/*/src", "plugins/*/src", "examples/*/src"]
GROUPS = {
    "all of src": (90, EVERYTHING),
    "broker": (95, ["core/src/doorward/calls"]),
    "policy": (95, ["core/src/doorward/access", "plugins/policy_rules/src"]),
    "scrubber": (95, ["core/src/doorward/secrets", "plugins/secrets/src"]),
    "jail": (95, ["libs/jail/src"]),
    "http": (95, ["libs/http/src"]),
    "auth": (95, ["libs/auth_kit/src", "plugins/auth_*/src"]),
    "entrance": (95, ["plugins/mcp_server/src/*/http", "plugins/mcp_server/src/*/tokens"]),
}
"""Percent of lines and branches together that tests must run, and the folders of which that is the sum."""
MOST_FILES = 15
"""Files that are listed."""
MOST_CHARACTERS = 160
"""Of the lines and branches of a file that are listed."""


class File(NamedTuple):
    """What was measured of a file: `tested` of `all` lines and branches; the others, as people read them."""

    path: Path
    tested: int
    all: int
    missing: str


def main(part: str = "") -> int:
    groups = {
        name: (wanted, [each for each in patterns if each.startswith(part)])
        for name, (wanted, patterns) in GROUPS.items()
    }
    files = of_group(measured(), groups["all of src"][1])
    print(f"{'untested':>8} {'%':>6}  file: lines, and branches as from>to")
    for file in sorted(files, key=lambda file: file.tested - file.all)[:MOST_FILES]:
        shown = f"{file.path.relative_to(ROOT)}: {file.missing}"
        print(f"{file.all - file.tested:8} {percent([file]):6.1f}  {shown}")
    print(f"\n{'wanted':>8} {'%':>6}  group")
    failed = False
    for name, (wanted, patterns) in groups.items():
        if not patterns:
            continue
        reached = percent(of_group(files, patterns))
        failed |= reached < wanted
        print(f"{wanted:8} {reached:6.2f}  {name}{': too few' if reached < wanted else ''}")
    return int(failed)


def measured() -> list[File]:
    """Every file of every `src` but those that the configuration leaves out."""
    measurement = coverage.Coverage(config_file=str(ROOT / "pyproject.toml"))
    measurement.combine(keep=True)
    for pattern in EVERYTHING:
        for file in ROOT.glob(f"{pattern}/**/*.py"):
            measurement.get_data().touch_file(str(file))
    with tempfile.NamedTemporaryFile() as report:
        measurement.json_report(outfile=report.name)
        found = json.loads(Path(report.name).read_text(encoding="utf-8"))["files"]
    return [_file(ROOT / name, about, about["summary"]) for name, about in found.items()]


def _file(path: Path, about: dict[str, Any], counted: dict[str, int]) -> File:
    branches = [f"{start}>{end if end > 0 else 'end'}" for start, end in about["missing_branches"]]
    missing = " ".join([*map(str, about["missing_lines"]), *branches])
    return File(
        path,
        counted["covered_lines"] + counted["covered_branches"],
        counted["num_statements"] + counted["num_branches"],
        missing if len(missing) <= MOST_CHARACTERS else f"{missing[:MOST_CHARACTERS]} …",
    )


def of_group(files: list[File], patterns: list[str]) -> list[File]:
    folders = [folder for pattern in patterns for folder in ROOT.glob(pattern)]
    return [file for file in files if any(file.path.is_relative_to(folder) for folder in folders)]


def percent(files: list[File]) -> float:
    lines = sum(file.all for file in files)
    return 100 * sum(file.tested for file in files) / lines if lines else 100.0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
