"""How many values a message may have."""

from __future__ import annotations

from doorward_json import values_in

MAX_VALUES = 1_000_000
"""Values of one message. To parse millions takes gigabytes, and seconds in which nobody else is served."""


def too_many(text: bytes | str) -> bool:
    """Whether a JSON text has more than `MAX_VALUES`."""
    return len(text) > MAX_VALUES and values_in(text, MAX_VALUES) > MAX_VALUES
