"""The bytes of a document → plain Python values: decompressed and parsed as JSON or YAML, with limits on size,
depth and number of values."""

from __future__ import annotations

import codecs
import gc
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from doorward import ConfigError

from doorward_openapi.document.values import finite

MAX_DOCUMENT_BYTES = 64 * 2**20
"""The size of one document, before and after decompression. Microsoft Graph, the largest known, has 40 MB."""

MAX_SEPARATORS = 4_000_000
"""Commas, brackets and the like in one document: this limits the memory that parsing takes (about 100 bytes each)."""

_SMALL_DOCUMENT_BYTES = 8 * 2**20
"""A document below this size cannot hold enough values to be worth counting."""

_PACKED = {b"\x28\xb5\x2f\xfd": "zstd", b"\x1f\x8b": "gzip"}
_WINDOW_LOG = 27
"""A window of 128 MiB, which `zstd --long` may want."""

_NO_SEPARATORS = bytes(byte for byte in range(256) if byte not in b",[{\n-")


def decompress(raw: bytes, name: str) -> bytes:
    """Decompress zstd or gzip, told by the first bytes; anything else stays as it is. Raises: ConfigError if it is
    broken, cut off, or larger than `MAX_DOCUMENT_BYTES`."""
    coding = next((coding for begins, coding in _PACKED.items() if raw.startswith(begins)), "")
    if coding:
        import httpx2
        from doorward_http import unpack

        try:
            raw = unpack(raw, coding, MAX_DOCUMENT_BYTES, window_log=_WINDOW_LOG)
        except httpx2.DecodingError as error:
            raise ConfigError(f"cannot be decompressed: {error}", place=name) from None
    if len(raw) > MAX_DOCUMENT_BYTES:
        raise ConfigError(f"is larger than {MAX_DOCUMENT_BYTES // 2**20} MiB", place=name)
    return raw


def parse(raw: bytes, name: str) -> Any:
    """The document's value: dictionaries with text keys, lists, strings, finite numbers, booleans and None.

    Raises: ConfigError.
    """
    if len(raw) > _SMALL_DOCUMENT_BYTES and len(raw.translate(None, _NO_SEPARATORS)) > MAX_SEPARATORS:
        raise ConfigError("has too many values", place=name, hint="Cut the document down to what is needed.")
    raw = _utf8(raw, name)
    with gc_paused():
        try:
            if raw.lstrip()[:1] == b"{":
                return _json(raw)
            return _yaml(raw, name)
        except RecursionError:
            raise ConfigError("is nested too deeply", place=name) from None
        except ValueError as error:
            hint = "Is that the document itself, and not a page about it?"
            raise ConfigError(f"is neither JSON nor YAML: {str(error)[:300]}", place=name, hint=hint) from None


def _utf8(raw: bytes, name: str) -> bytes:
    """The text as UTF-8 without a byte order mark; UTF-16 is converted."""
    if raw.startswith(codecs.BOM_UTF8):
        return raw[3:]
    if raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        try:
            return raw.decode("utf-16").encode()
        except UnicodeError as error:
            raise ConfigError(f"is not text: {error}", place=name) from None
    return raw


def _json(raw: bytes) -> Any:
    import msgspec

    try:
        return msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError) as strict:
        try:  # other tools write NaN, lone surrogates and huge numbers
            return json.loads(raw.decode("utf-8", "replace"), parse_constant=lambda _: None, parse_float=finite)
        except ValueError:
            pass
        try:  # it may be YAML in braces
            return _yaml(raw, "")
        except (ValueError, ConfigError):
            raise ValueError(str(strict)) from None


def _yaml(raw: bytes, name: str) -> Any:
    from doorward_openapi.document.yaml import load

    return load(raw.decode("utf-8", "replace"))


@contextmanager
def gc_paused() -> Iterator[None]:
    """Pause garbage collection: it would visit each of millions of new objects again and again."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


_EXTERNAL = re.compile(rb"""\$ref["']?\s*:\s*["']?([^"'#\s,}\]][^"'#\s,}\]]{0,500})""")


def external_refs(raw: bytes) -> list[str]:
    """The other files that a document may refer to, found in its text without parsing it."""
    return [ref.decode("utf-8", "replace").replace("\\/", "/") for ref in dict.fromkeys(_EXTERNAL.findall(raw))]
