"""The pictures of the pages: recordings say what the commands print today, and each picture is drawn from what is recorded."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from served.product import module

PICTURES = Path(__file__).resolve().parent.parent / "docs/pictures"
VARYING = (
    r"\x1b\[[\d;]*m",
    r"\b[0-9a-f]{16}\b",
    r"doorward-demo-\w{8}",
    r'(?<=run_cached_code\(")[\w-]{12}',
    r"[\s─]+",
    r"[\d,.]*\d",
)
"""Styles, breaks of lines, names of temporary folders, of programs and of runs, and figures: most of them are times."""


def constant(text: str) -> str:
    for pattern in VARYING:
        text = re.sub(pattern, "", text)
    return text


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="records in a pseudo-terminal")
@pytest.mark.parametrize("name", ["demo", "approval"])
def test_a_recording_says_what_the_commands_print(name: str) -> None:
    """`make pictures` would record the same words."""
    record: Any = module(str(PICTURES / "record.py"))
    _, *events = map(json.loads, (PICTURES / f"{name}.cast").read_text(encoding="utf-8").splitlines())
    assert 15 < events[-1][0] < record.SECONDS
    assert constant("".join(event[2] for event in events)) == constant("".join(record.record(name))), "make pictures"


@pytest.mark.slow
def test_pictures_are_drawn_from_what_is_recorded() -> None:
    """Each SVG is what `draw.py` makes of casts and of benchmarks/README.md, for light and dark; it loads nothing."""
    drawn: dict[str, str] = module(str(PICTURES / "draw.py")).pictures()
    for name, svg in drawn.items():
        assert (PICTURES / name).read_text(encoding="utf-8") == svg, "make pictures"
        assert "prefers-color-scheme: dark" in svg
        assert re.findall(r"(?:href|src)=|url\([^#]|@import|@font", svg) == []
    assert drawn.keys() == {file.name for file in PICTURES.glob("*.svg")}
