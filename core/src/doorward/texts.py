"""What writers of texts for agents import besides `doorward`: how words of others are quoted."""

from __future__ import annotations

from doorward.data.quoting import apart, in_one_line, indented
from doorward.model.outcomes import Waiting

__all__ = ["Waiting", "apart", "in_one_line", "indented"]
