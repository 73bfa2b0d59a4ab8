"""Documentation by a model: what one adds to that of functions, shown apart from what their documents say.

A source that can be asked has the ability `Enhances`. It imports these names when it is asked.
"""

from __future__ import annotations

from doorward_enhance.enhancement import Documentation as Documentation
from doorward_enhance.enhancement import Enhancement as Enhancement
from doorward_enhance.enhancement import Enhances as Enhances
from doorward_enhance.plugin import Enhance as Enhance

__all__ = ["Documentation", "Enhance", "Enhancement", "Enhances"]
