"""Measures Doorward side by side with its peers and prints Markdown: `python benchmarks/run.py
[PART …]`; see README.md."""

from __future__ import annotations

import importlib
import os
import platform
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path

import anyio

PARTS = (
    "roundtrip",
    "start",
    "memory",
    "program",
    "durable",
    "governed",
    "imports",
    "compile",
    "search",
    "searchquality",
    "foreignsearch",
    "steps",
    "learning",
    "searchscale",
    "searchviews",
    "peer",
    "sandbox",
    "upstream",
    "guards",
    "scale",
    "sidechannels",
    "history",
    "edits",
    "hijacked",
    "tokens",
    "surfaces",
)


def main(chosen: list[str]) -> int:
    if unknown := set(chosen) - set(PARTS):
        print(f"There is no part {', '.join(sorted(unknown))}; there are: {', '.join(PARTS)}.", file=sys.stderr)
        return 2
    print(f"# Doorward {version('doorward')} beside mcp {version('mcp')}\n")
    print(
        f"{time.strftime('%Y-%m-%d %H:%M')}, Python {platform.python_version()}, {os.cpu_count()} processors, load "
        f"{_load()}\n"
    )
    with tempfile.TemporaryDirectory(prefix="doorward-bench-") as folder:
        for part in chosen or PARTS:
            anyio.run(importlib.import_module(part).run, Path(folder))
    print(f"Load at the end: {_load()}")
    return 0


def _load() -> str:
    return " ".join(f"{n:.1f}" for n in os.getloadavg()) if hasattr(os, "getloadavg") else "unknown"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
