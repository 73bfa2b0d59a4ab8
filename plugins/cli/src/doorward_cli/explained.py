"""Which line of the pages about messages explains a message: `explained.json`, which `make reference` writes."""

from __future__ import annotations

import json
import re
from importlib.resources import files

_HOLE = "…"
"""What stands in a message of the pages for what differs."""


def address_of(message: str) -> str | None:
    """The page of the documentation with its anchor, such as `troubleshooting/programs.md#is-no-name-of-a-function`;
    `None` if no page has such a message. Of several that fit, the one with the most words of its own."""
    known: dict[str, str] = json.loads(files("doorward_cli").joinpath("explained.json").read_text("utf-8"))
    by_length = sorted(known, key=lambda said: len(said.replace(_HOLE, "")), reverse=True)
    return next((known[said] for said in by_length if _fits(said, message)), None)


def _fits(said: str, message: str) -> bool:
    parts = said.split(_HOLE)
    return all(part in message for part in parts) and bool(re.search(".+?".join(map(re.escape, parts)), message, re.S))
