"""Searches for the key where it must not be, also in disguise."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from urllib.parse import quote


def disguises(key: str) -> Iterator[bytes]:
    """The key as it might come out: plain, backwards, hexadecimal, percent-encoded, in base64 at any offset."""
    raw = key.encode()
    yield raw
    yield raw[::-1]
    yield raw.hex().encode()
    yield raw.hex().upper().encode()
    yield quote(key, safe="").encode()
    yield "".join(f"%{byte:02X}" for byte in raw).encode()
    for offset in range(3):
        whole = base64.b64encode(b"\0" * offset + raw)
        middle = whole[4 if offset else 0 : len(whole) // 4 * 4 - 4]  # the edges depend on the bytes beside the key
        yield middle
        yield middle.translate(bytes.maketrans(b"+/", b"-_"))


def holds(key: str, text: str | bytes) -> bool:
    """Whether the text contains the key in any form."""
    data = text.encode() if isinstance(text, str) else text
    return any(disguise in data for disguise in disguises(key))
