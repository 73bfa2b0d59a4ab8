"""Documentation by a model: what one adds to that of functions, shown apart from what their documents say.

A source that can be asked has the ability `Enhances`. It imports these names when it is asked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__all__ = ["Documentation", "Enhancement", "Enhances"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        from doorward_enhance import enhancement

        return getattr(enhancement, name)
    raise AttributeError(f"module 'doorward_enhance' has no attribute {name!r}")


if TYPE_CHECKING:
    from doorward_enhance.enhancement import Documentation as Documentation
    from doorward_enhance.enhancement import Enhancement as Enhancement
    from doorward_enhance.enhancement import Enhances as Enhances
