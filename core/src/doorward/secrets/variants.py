"""The encodings in which an API may echo a secret, and in which it is still found."""

from __future__ import annotations

import base64
import contextlib
import html
import json
import re
from collections.abc import Iterator
from urllib.parse import quote, quote_plus

from doorward.secrets.needles import MIN_FORM_BYTES


def forms(value: str) -> Iterator[bytes]:
    """Every variant as it is in a text, in JSON, and in a Latin-1 file."""
    for variant in variants(value):
        yield as_bytes(variant)
        if not (variant.isalnum() and variant.isascii()):
            yield as_bytes(json.dumps(variant)[1:-1])
            yield as_bytes(json.dumps(variant, ensure_ascii=False)[1:-1])
            with contextlib.suppress(UnicodeEncodeError):
                yield variant.encode("latin-1")


def variants(value: str) -> Iterator[str]:
    """How a value may come back: plain, percent-encoded, base64 at any offset, hex, JSON- or HTML-escaped."""
    raw = as_bytes(value)
    yield value
    twice = quote(quote(raw, safe=""), safe="")
    lenient = quote(raw, safe="%:/?#[]@!$&'()*+,;=")  # as whole URLs are encoded
    for encoded in (
        quote(raw, safe=""),
        quote(raw),
        quote_plus(raw),
        lenient,
        twice,
        "".join(f"%{b:02X}" for b in raw),
    ):
        yield encoded
        yield re.sub(r"%[0-9A-F]{2}", lambda m: m[0].lower(), encoded)
    escaped = json.dumps(value)[1:-1]
    yield escaped
    yield escaped.replace("/", "\\/")
    yield re.sub(r"\\u[0-9a-f]{4}", lambda m: "\\u" + m[0][2:].upper(), escaped)
    yield json.dumps(json.dumps(value))[3:-3]
    yield json.dumps(value, ensure_ascii=False)[1:-1]
    yield value.replace("\\", "\\\\").replace("'", "\\'")  # as Python and JavaScript quote it
    yield "".join(f"\\u{ord(c):04x}" for c in value if ord(c) < 0x10000)
    yield html.escape(value)
    yield html.escape(value).replace("&#x27;", "&#39;")
    yield raw.hex()
    yield raw.hex().upper()
    yield value[::-1]
    yield value.upper()
    yield value.lower()
    yield value.encode(errors="surrogateescape").decode("latin-1")
    yield "".join(f"&#{ord(c)};" for c in value)
    yield raw.hex(":")
    yield base64.encodebytes(raw).decode().strip()
    yield base64.b32encode(raw).decode().rstrip("=")
    for alphabet in (base64.b64encode, base64.urlsafe_b64encode):
        for offset in range(3):
            # Inside a longer base64 text a value starts at one of three offsets, and its edges mix with its neighbours.
            text = alphabet(b"\0" * offset + raw).decode().rstrip("=")
            inner = text[(0, 2, 3)[offset] : len(text) - (1 if (len(raw) + offset) % 3 else 0)]
            if len(inner) >= MIN_FORM_BYTES:
                yield inner


def as_bytes(text: str) -> bytes:
    """A text as UTF-8, even with lone surrogates, which an environment variable may hold."""
    return text.encode(errors="surrogatepass")
