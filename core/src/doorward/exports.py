"""For a module that exports, by subject, what lies in others: each name is loaded when it is first used.

Such a module has `_EXPORTS = Exports(__name__, {…})`, `__all__ = [*_EXPORTS.places]` and `__getattr__ = _EXPORTS.load`.
`make reference` makes its stub. No name may be that of a module beside it, which would be found in its place.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib import import_module
from typing import Any

__all__ = ["Exports"]


class Exports:
    """The names that a module exports. `table` has them by the modules of its package in which they lie, with blanks
    between them; `NAME=THERE` is one that is called otherwise there."""

    def __init__(self, module: str, table: Mapping[str, str]) -> None:
        self._module = module
        package = module.partition(".")[0]
        self.places: dict[str, tuple[str, str]] = {}
        """The module of each exported name, and its name there."""
        for place, names in table.items():
            for name, _, there in (each.partition("=") for each in names.split()):
                self.places[name] = f"{package}.{place}", there or name

    def load(self, name: str) -> Any:
        """What an exported name stands for. Raises: AttributeError."""
        if name not in self.places:
            raise AttributeError(f"module {self._module!r} has no attribute {name!r}")
        place, there = self.places[name]
        # It is not kept here: whoever replaces it in its module, as tests do, replaces it for all.
        return getattr(sys.modules.get(place) or import_module(place), there)
