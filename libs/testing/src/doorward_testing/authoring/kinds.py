"""The kinds of plugins that `doorward plugin new` can write: a folder of templates each."""

from __future__ import annotations

import functools
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TEMPLATES = Path(__file__).with_name("templates")
EVERY = "every"
"""The folder of what is in every package."""


@dataclass(frozen=True, slots=True)
class Kind:
    """What `kind.toml` says of one kind.

    `group` is its entry-point group, in which `taken` are names that core has itself. `target` is what the entry point
    names in the package; the package itself, if it is empty. `distribution` and `package` are names by our rule.
    `requires` and `test_requires` are requirements. `@…@` in these texts is replaced.
    """

    name: str
    about: str
    group: str
    target: str
    distribution: str
    requires: tuple[str, ...] = ()
    test_requires: tuple[str, ...] = ()
    taken: tuple[str, ...] = ()

    @property
    def folder(self) -> Path:
        return TEMPLATES / self.name


@functools.cache
def kinds() -> dict[str, Kind]:
    """All kinds by their names, sorted."""
    return {file.parent.name: _read(file) for file in sorted(TEMPLATES.glob("*/kind.toml"))}


def _read(file: Path) -> Kind:
    about: dict[str, Any] = tomllib.loads(file.read_text(encoding="utf-8"))
    about |= {key: tuple(about.get(key, ())) for key in ("requires", "test_requires", "taken")}
    return Kind(file.parent.name, **about)
