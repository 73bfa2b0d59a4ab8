"""Request bodies: JSON, JSON lines, forms, multipart, XML, text and bytes."""

from __future__ import annotations

import base64
import binascii
import mimetypes
import re
import secrets
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from doorward import File, InvalidArguments

from doorward_openapi.wire import steering, styles, xml

Field = tuple[Mapping[str, Any], Any]
"""A field of a body (its entry in the function's data) and its value."""

_BYTES = "application/octet-stream"
_MEDIA = re.compile(r"[A-Za-z0-9!#$&^_.+-]{1,100}/[A-Za-z0-9!#$&^_.+-]{1,100}(;[ \x21-\x7e]{1,100})?")


def build(plan: Mapping[str, Any], fields: Sequence[Field], chosen: str | None = None) -> tuple[str, bytes] | None:
    """The media type and the bytes of a body; `None` if there is nothing to send. `chosen` is one of the media
    types that the plan offers.

    Raises: InvalidArguments.
    """
    if not fields and not (plan.get("spread") and plan.get("required")):
        return None
    media, kind = str(plan["media"]), plan["kind"]
    if plan.get("offers", {}).get(chosen):
        media, kind = str(chosen), plan["offers"][chosen]
    else:
        chosen = None
    if plan.get("spread"):
        whole = next((value for field, value in fields if field.get("instead")), None)
        if whole is None:
            return _spread(
                plan,
                media if kind == "json" else str(plan["media"]),
                [(f, v) for f, v in fields if not f.get("instead")],
            )
        if len(fields) > 1:
            raise InvalidArguments("body is sent instead of the other fields of the body: give one or the other")
        whole = whole if as_file(whole) or "strings" in plan else File(_utf8(styles.text(whole)))
        chosen = chosen if kind != "json" else None
    else:
        whole = fields[0][1]
    steering.check(
        steering.names(styles.text(whole))
        if kind == "form" and isinstance(whole, (str, bytes, File))
        else steering.keys(whole)
    )
    if whole is None and kind in ("binary", "text"):
        return None
    if chosen is None:
        if "bytes" in plan and (file := as_file(whole)):
            media, kind, whole = _fitting(file.type, plan["bytes"]), "binary", file
        elif "strings" in plan and isinstance(whole, str):
            media, kind = str(plan["strings"]), "text"
        elif "lists" in plan and isinstance(whole, list):
            media = str(plan["lists"])
    match kind:
        case "json":
            return media, _utf8(styles.dumped(whole))
        case "form" if isinstance(whole, dict):
            return _form(media, _fields(whole))
        case "multipart" if isinstance(whole, (dict, list)):
            return _multipart(
                media,
                _fields(whole, open=True) if isinstance(whole, dict) else [({"open": True}, part) for part in whole],
            )
        case "lines" if isinstance(whole, list):
            start = "\x1e" if "json-seq" in media else ""
            return media, _utf8("".join(f"{start}{styles.dumped(item)}\n" for item in whole))
        case "xml" if isinstance(whole, (dict, list)):
            return media, _utf8(xml.written(plan["xml"], whole))
    file = as_file(whole)
    if file is None:
        return _with_charset(media, content := _utf8(styles.text(whole))), content
    return (_media(file.type) or _BYTES if "*" in media else media), file.content


def _spread(plan: Mapping[str, Any], media: str, fields: Sequence[Field]) -> tuple[str, bytes]:
    """A body whose fields are separate arguments."""
    if missing := [name for name in plan.get("needs", ()) if all(f["name"] != name for f, _ in fields)]:
        raise InvalidArguments(f"{', '.join(missing)} must be given, or `body` instead of all fields of the body")
    if "files" in plan and any(f.get("file") and v is not None for f, v in fields):
        return _multipart(str(plan["files"]), fields)
    if plan["kind"] == "json":
        return media, _utf8(styles.dumped({f["name"]: v for f, v in fields if not f.get("file")}))
    for _, value in fields:
        steering.check(steering.keys(value))
    return _form(media, fields) if plan["kind"] == "form" else _multipart(media, fields)


def as_file(value: Any) -> File | None:
    """Bytes, a file, or `{"base64": …, "name"?, "type"?}` as a file; `None` for anything else. Raises: InvalidArguments
    if it is not valid base64."""
    if isinstance(value, (bytes, File)):
        return value if isinstance(value, File) else File(value)
    match value:
        case {"base64": str() as encoded, **about} if about.keys() <= {"name", "type"}:
            try:
                content = base64.b64decode("".join(encoded.split()), validate=True)
            except (binascii.Error, ValueError) as error:
                raise InvalidArguments(f"this is no base64: {error}") from None
            return File(content, str(about.get("type") or ""), str(about.get("name") or ""))
    return None


def in_base64(value: Any, form: str) -> Any:
    """Bytes and files, also those in a list, as base64 (`byte`) or as base64url, which has no padding. Text is
    taken to be encoded already."""
    if isinstance(value, list):
        return [in_base64(item, form) for item in value]
    file = as_file(value)
    if file is None:
        return value
    return styles.base64(file) if form == "byte" else styles.base64(file).translate({43: "-", 47: "_", 61: None})


def _fields(whole: Mapping[str, Any], *, open: bool = False) -> list[Field]:
    return [({"name": str(name), "explode": True, "open": open}, value) for name, value in whole.items()]


def _form(media: str, fields: Sequence[Field]) -> tuple[str, bytes]:
    fields = [(f, as_file(v) or v if f.get("file") else v) for f, v in fields]
    return media, "&".join(pair for f, v in fields for pair in styles.pairs(f["name"], v, f, "form")).encode()


def _utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise InvalidArguments("a text holds half of a surrogate pair, which cannot be sent") from None


def _with_charset(media: str, content: bytes) -> str:
    """The media type of text, with its charset if the text is not ASCII: some servers take it for Latin-1."""
    plain = media.startswith("text/") and ";" not in media and "*" not in media
    return (
        f"{media}; charset=utf-8"
        if plain and not content.isascii()
        else "text/plain; charset=utf-8"
        if "*" in media
        else media
    )


def _multipart(media: str, fields: Sequence[Field]) -> tuple[str, bytes]:
    """RFC 7578: a part for each value; lists become repeated parts, objects JSON, unless the encoding has a style."""
    boundary = secrets.token_hex(16)
    parts = [part for field, value in fields for part in _parts(boundary, field, value)]
    return f"{media.partition(';')[0].strip()}; boundary={boundary}", b"".join(parts) + f"--{boundary}--\r\n".encode()


def _parts(boundary: str, field: Mapping[str, Any], value: Any) -> Iterator[bytes]:
    joined = isinstance(value, list) and field.get("explode") is False and not field.get("file")
    if field.get("style") or joined:
        for name, text in styles.named(field["name"], value, field, "plain"):
            yield _part(boundary, {**field, "name": name}, text)
        return
    for item in value if isinstance(value, list) else [value]:
        if item is not None:
            yield _part(boundary, field, item)


def _part(boundary: str, field: Mapping[str, Any], item: Any) -> bytes:
    file = as_file(item) if field.get("file") or field.get("open") or isinstance(item, (bytes, File)) else None
    if field.get("file") and file is None:
        file = File(_utf8(styles.text(item)))
    lines = [f"--{boundary}"]
    if "name" in field:
        named = f'Content-Disposition: form-data; name="{_quoted(field["name"])}"'
        lines.append(named + (f'; filename="{_quoted(_file_name(file, field["name"]))}"' if file else ""))
    if media := _part_media(field, item, file):
        lines.append(f"Content-Type: {media}")
    lines += [f"{name}: {value}" for name, value in field.get("headers", {}).items()]
    content = file.content if file else _utf8(styles.text(item))
    return "\r\n".join([*lines, "", ""]).encode() + content + b"\r\n"


def _part_media(field: Mapping[str, Any], item: Any, file: File | None) -> str:
    """The media type of a part: that of the file if the encoding allows it, else the first one in the encoding."""
    allowed = [str(field["media"])] if isinstance(field.get("media"), str) else list(field.get("media", ()))
    if file is None:
        return allowed[0] if allowed else "application/json" if isinstance(item, (dict, list)) else ""
    own = _media(file.type or mimetypes.guess_type(file.name)[0] or "")
    if own and (not allowed or any(_matches(own, one) for one in allowed)):
        return own
    return next((one for one in allowed if "*" not in one), own or _BYTES)


def _fitting(media: str, offered: Sequence[str]) -> str:
    """The media type for a file if the document offers several: the file's own if it is among them, else the first."""
    return next((one for one in offered if media and _matches(media, one)), offered[0])


def _matches(media: str, allowed: str) -> bool:
    bare, wanted = media.partition(";")[0].strip().lower(), allowed.partition(";")[0].strip().lower()
    return wanted in (bare, "*/*", f"{bare.partition('/')[0]}/*")


def _media(text: str) -> str:
    """A media type that may stand in a header. Raises: InvalidArguments if the text is not a media type."""
    if text and not _MEDIA.fullmatch(text):
        raise InvalidArguments(f"{text[:100]!r} is no media type", hint='Write the type of a file like "image/png".')
    return text


def _file_name(file: File, field: str) -> str:
    """The name of a file, with an extension: many servers go by that."""
    return file.name[:255] or field + (mimetypes.guess_extension(file.type.partition(";")[0].strip()) or "")


def _quoted(name: str) -> str:
    """A name as browsers write it inside quotes."""
    text = "".join("?" if "\ud800" <= c <= "\udfff" else c for c in name)
    return text.replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A")
