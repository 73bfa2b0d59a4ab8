"""The distributions of this repository, in the order in which they may be published: each after what it needs."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cached_property
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
_NAME = re.compile(r"[A-Za-z0-9._-]+")


@dataclass(frozen=True)
class Distribution:
    """A folder with a `pyproject.toml`."""

    folder: Path

    @cached_property
    def project(self) -> Any:
        return tomllib.loads((self.folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]

    @property
    def name(self) -> str:
        return str(self.project["name"])

    @property
    def files(self) -> tuple[str, str]:
        """What the sdist and the wheel are called."""
        stem = f"{self.name.replace('-', '_')}-{self.project['version']}"
        return f"{stem}.tar.gz", f"{stem}-py3-none-any.whl"

    @property
    def needs(self) -> set[str]:
        """The names of what it depends on, without extras."""
        return {found[0].lower() for text in self.project["dependencies"] if (found := _NAME.match(text))}


def distributions() -> list[Distribution]:
    """All of them. Those in `distributions/` are examples, and none of ours."""
    folders = [ROOT / "core", *sorted(ROOT.glob("libs/*")), *sorted(ROOT.glob("plugins/*")), ROOT / "examples/demo"]
    known = {one.name: one for one in map(Distribution, folders) if (one.folder / "pyproject.toml").is_file()}
    order = TopologicalSorter({name: one.needs & known.keys() for name, one in known.items()})
    return [known[name] for name in order.static_order()]
