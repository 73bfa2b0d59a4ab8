"""For plugins that decide of calls, besides what `doorward` has: the lists of the policy, and what functions do.

A name is loaded when it is first imported: most starts need few of them.
"""

from __future__ import annotations

import importlib
from typing import Any

_EXPORTS = {
    "access.effects": ("Effects",),
    "access.patterns": ("Patterns", "is_wild"),
    "access.policy": ("Policy", "Reached"),
    "access.rules": ("Rules",),
    "calls.permissions": ("nobody_asks",),
    "model.decisions": ("ALLOWED", "stricter"),
}
_MODULE_OF = {name: module for module, names in _EXPORTS.items() for name in names}

__all__ = [*_MODULE_OF]


def __getattr__(name: str) -> Any:
    if name in _MODULE_OF:
        return getattr(importlib.import_module(f"doorward.{_MODULE_OF[name]}"), name)
    raise AttributeError(f"module 'doorward.deciding' has no attribute {name!r}")
