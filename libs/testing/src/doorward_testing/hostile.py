"""Texts that get out of where they are put, if anything does not quote them."""

from __future__ import annotations

HOSTILE = [
    '"""\nimport os\n"""',
    "'''",
    "\\",
    '"])\n',
    "\n\nx = 1",
    "#\r",
    "\x00",
    "\u202e",
    "\u2028",
    "\ud800",
    "{}",
    "</p>",
    "[",
    "a" * 200,
    "",
]
"""What a hostile specification, upstream or program may say."""
