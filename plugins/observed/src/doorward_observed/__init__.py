"""What functions answer where their documents do not say: learnt from the results that they gave."""

from __future__ import annotations

from doorward_observed.plugin import Observed

PLUGIN_API = 1

__all__ = ["Observed"]
