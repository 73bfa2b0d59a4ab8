"""What is to be done once a module is imported, by whoever it is: most processes never import it."""

from __future__ import annotations

import importlib.abc
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from types import ModuleType


def once_imported(name: str, then: Callable[[], None], within: Callable[[], AbstractContextManager[None]]) -> None:
    """Do `then` now if a module is imported already, else when it is; it is imported `within` that block. What was to
    be done by an earlier call is not done any more."""
    sys.meta_path[:] = [each for each in sys.meta_path if not (isinstance(each, _Awaited) and each.name == name)]
    if name in sys.modules:
        then()
    else:
        sys.meta_path.insert(0, _Awaited(name, then, within))


class _Awaited(importlib.abc.MetaPathFinder):
    """Finds one module as the other finders do."""

    def __init__(self, name: str, then: Callable[[], None], within: Callable[[], AbstractContextManager[None]]) -> None:
        self.name, self._then, self._within = name, then, within

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        """See `importlib.abc.MetaPathFinder`."""
        if name != self.name:
            return None
        found = (each.find_spec(name, path, target) for each in sys.meta_path if each is not self)
        spec = next((spec for spec in found if spec is not None), None)
        if spec is not None and spec.loader is not None:
            run = spec.loader.exec_module

            def imported(module: ModuleType) -> None:
                with self._within():
                    run(module)
                sys.meta_path.remove(self)
                self._then()

            spec.loader.exec_module = imported  # type: ignore[method-assign]
        return spec
