"""How many tokens a text has, roughly: no provider says before it is asked, and its tokenizer is not here."""

from __future__ import annotations

import re

_MESSAGE_TOKENS = 4
"""What each message takes besides its text."""

_RARE = re.compile(r"[^A-Za-z\s]")


def estimate(text: str) -> int:
    """An estimate that is rather high for prose: a token for four letters, and one for two characters of another
    kind."""
    rare = len(_RARE.findall(text)) + text.count("\n")
    return _MESSAGE_TOKENS + (len(text) - rare) // 4 + (rare + 1) // 2
