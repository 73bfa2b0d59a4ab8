"""Request bodies: JSON, forms, multipart, text and bytes."""

from __future__ import annotations

import base64
import binascii
import secrets
from collections.abc import Mapping, Sequence
from typing import Any

from doorward import InvalidArguments

from doorward_openapi import styles

Field = tuple[Mapping[str, Any], Any]
"""A field of a body (its entry in the function's data) and its value."""


def build(plan: Mapping[str, Any], fields: Sequence[Field]) -> tuple[str, bytes] | None:
    """The media type and the bytes of a body; `None` if there is none to send.

    Raises: InvalidArguments.
    """
    if not fields and not (plan.get("spread") and plan.get("required")):
        return None
    media, kind = str(plan["media"]), plan["kind"]
    whole = None if plan.get("spread") else fields[0][1]
    if kind == "json":
        value = {f["name"]: v for f, v in fields} if plan.get("spread") else whole
        return media, _utf8(styles.dumped(value))
    if not plan.get("spread") and isinstance(whole, dict) and kind in ("form", "multipart"):
        fields = [({"name": name, "explode": True}, value) for name, value in whole.items()]
    elif not plan.get("spread"):
        return media, data(whole) if kind == "binary" else _utf8(styles.text(whole)) if not isinstance(whole, bytes) else whole
    if kind == "form":
        return media, "&".join(pair for f, v in fields for pair in styles.pairs(f["name"], v, f, styles.form)).encode()
    return _multipart(media, fields)


def data(value: Any) -> bytes:
    """Bytes as they are, `{"base64": …}` decoded, text as UTF-8."""
    if isinstance(value, bytes):
        return value
    if isinstance(value, dict) and isinstance(encoded := value.get("base64"), str):
        try:
            return base64.b64decode(encoded, validate=True)
        except binascii.Error as error:
            raise InvalidArguments(f"this is no base64: {error}") from None
    return _utf8(styles.text(value))


def _utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise InvalidArguments("a text holds half of a surrogate pair, which cannot be sent") from None


def _multipart(media: str, fields: Sequence[Field]) -> tuple[str, bytes]:
    """RFC 7578: a part for each value; lists become repeated parts, objects JSON."""
    boundary = secrets.token_hex(16)
    parts: list[bytes] = []
    for field, value in fields:
        for item in value if isinstance(value, list) else [value]:
            if item is not None:
                parts.append(_part(boundary, field, item))
    return f"{media.partition(';')[0].strip()}; boundary={boundary}", b"".join(parts) + f"--{boundary}--\r\n".encode()


def _part(boundary: str, field: Mapping[str, Any], item: Any) -> bytes:
    name = _quoted(field["name"])
    file = field.get("file") or isinstance(item, bytes)
    content = data(item) if file else _utf8(styles.text(item))
    media = field.get("media") or ("application/octet-stream" if file else "application/json" if isinstance(item, (dict, list)) else "")
    lines = [f"--{boundary}", f'Content-Disposition: form-data; name="{name}"' + (f'; filename="{name}"' if file else "")]
    if media:
        lines.append(f"Content-Type: {media}")
    return "\r\n".join([*lines, "", ""]).encode() + content + b"\r\n"


def _quoted(name: str) -> str:
    """A name inside quotes, as browsers write it."""
    text = "".join("?" if "\ud800" <= c <= "\udfff" else c for c in name)
    return text.replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A")
