"""HTTP answers → values, or errors that say what is wrong."""

from __future__ import annotations

import codecs
import contextlib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from email.message import Message
from typing import Any

from doorward import ApiError, Reply, ServerError
from doorward.values import status
from doorward_http import error_text, retry_after
from doorward_json import decoded, read_json, values_in

from doorward_openapi.document.values import finite
from doorward_openapi.wire import media_types, streams, xml_reading

_BOM = b"\xef\xbb\xbf"
_MEDIA_TYPE = re.compile(r"[a-z0-9!#$&^_.+-]{1,100}/[a-z0-9!#$&^_.+-]{1,100}")
_MAX_ERROR_BYTES = 2 * 2**20
"""How much of an error's text is kept: far more than anyone is shown. The core cuts it after removing credentials,
since a credential that is cut in two would not be found."""
_MAX_VALUES = 1_000_000
"""Values in one answer: 50 MB of JSON can become several gigabytes of them. An answer with more is returned as text."""
_FAST_JSON_BYTES = 2**16
"""JSON up to this size goes to a faster parser first, which does not accept everything that is sent as JSON."""
_FORBIDDEN = (
    "Check the names first (path, fields): some APIs answer like this if the thing does not exist. "
    "Else the credentials do not suffice: the operator sets `auth` of the server."
)
_NOT_ACCEPTABLE = (
    "The server has none of the media types that its document names: "
    'the operator can set `headers = { Accept = "*/*" }`.'
)
NOT_FOUND = "Look up the names and ids that were given, by a function that lists them."
_REPLACED = "\ufffd"
"""The character that replaces bytes that are not text."""
_SLOW_CODECS = ("punycode", "idna")
"""Codecs whose running time grows with the square of the length."""


@dataclass(frozen=True, slots=True)
class Answer:
    """An HTTP answer, read to its end."""

    status: int
    reason: str
    media: str
    charset: str | None
    body: bytes
    cut: str = ""
    """Why the body of a stream is not whole."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """All headers; names in small letters."""
    url: str = ""
    """The URL that it came from, after redirects."""

    @property
    def retry_after(self) -> float | None:
        """Seconds to wait, if the answer gives a number."""
        said = self.headers.get("retry-after", "")
        return retry_after(said) if said else None


def value_of(what: str, answer: Answer, *, raw: bool = False, plan: Mapping[str, Any] | None = None) -> Any:
    """The value of an answer: JSON as its value, text as `str`, nothing as None, streams as lists, anything else as a
    `Reply` with bytes, their media type and the file name of the Content-Disposition header.

    A body that claims to be JSON and is not becomes text: the data is never hidden. What the document declares as bytes
    (`raw`) becomes a file, whatever it is, and also if it is empty; XML of which it says what is in it becomes that, by
    the `plan`.
    Raises: ServerError if the body is cut, and is no stream.
    """
    body, charset, cut = answer.body, answer.charset, answer.cut
    bare = media_types.bare(answer.media)
    if raw and not cut and (body or answer.status == 200):
        return _file(answer, bare)
    if not body:
        return None
    form = media_types.stream(bare)
    if (form or bare.endswith("json") or not bare) and _crowded(body):
        if cut:
            raise ServerError(f"{what}: {cut}", hint="Ask for less: pages, filters, fields.")
        return _text(body, charset)
    if form:
        return streams.values(form, body, _json, cut)
    if bare.endswith("json") or not bare:
        try:
            return _json(body, charset)
        except (ValueError, RecursionError):
            if (several := streams.lines(body, _json, cut)) is not None:
                return several
            if cut:
                raise ServerError(f"{what}: {cut}", hint="Ask for less, or raise `timeout` of the server.") from None
            if bare:
                return _text(body, charset)
    if plan and media_types.is_xml(bare):
        with contextlib.suppress(xml_reading.NoData):
            return xml_reading.value_of(plan, _text(body, charset) if charset else body)
    if media_types.is_text(bare):
        return _text(body, charset)
    if not bare:
        with contextlib.suppress(UnicodeDecodeError):
            return body.decode("utf-8-sig")
    return _file(answer, bare)


def _file(answer: Answer, bare: str) -> Reply:
    """Bytes, with the charset of a text that is not UTF-8, by which it is read."""
    kind = bare if _MEDIA_TYPE.fullmatch(bare) else "application/octet-stream"
    if answer.charset and answer.charset != "utf-8" and media_types.is_text(kind):
        kind = f"{kind}; charset={answer.charset}"
    return Reply(answer.body, type=kind, name=file_name(answer.headers.get("content-disposition", "")))


def file_name(disposition: str) -> str:
    """The file name of a Content-Disposition header (RFC 6266) without folders and control
    characters; "" if there is none."""
    if not disposition or len(disposition) > 2000:
        return ""
    message = Message()
    try:
        message["Content-Disposition"] = disposition
        name = message.get_filename("")
    except (ValueError, LookupError, TypeError):  # it is not a valid header at all
        return ""
    last = re.split(r"[/\\]", name)[-1]
    return "".join(c for c in last if c.isprintable()).strip(" .")


def _text(body: bytes, charset: str | None) -> str:
    try:
        if charset and codecs.lookup(charset).name in _SLOW_CODECS:
            charset = None
        return decoded(body, charset or "utf-8").removeprefix("\ufeff")
    except (LookupError, ValueError, TypeError):  # some codecs are not for text
        return decoded(body).removeprefix("\ufeff")


def _crowded(body: bytes) -> bool:
    return len(body) > _MAX_VALUES and values_in(body, _MAX_VALUES) > _MAX_VALUES


def _json(body: bytes, charset: str | None = None) -> Any:
    """NaN and infinities, which are not JSON but do get sent, become None. Gerrit puts a prefix before its JSON."""
    import msgspec

    body = body.removeprefix(_BOM).removeprefix(b")]}'")
    if len(body) <= _FAST_JSON_BYTES:
        with contextlib.suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return msgspec.json.decode(body)
    text = decoded(body, json.detect_encoding(body))
    if charset and text.count(_REPLACED) > body.count(_REPLACED.encode()):
        text = _text(body, charset)
    return read_json(text, number=finite)


def error_of(what: str, answer: Answer, suggest: Callable[[], str] = str, hint: str = "") -> ApiError:
    """The error that an answer of 400 and above stands for. `suggest` tells what to do if it lacks credentials; `hint`
    is stronger than the usual ones."""
    body = _error_body(answer)
    if isinstance(body, Reply):  # bytes that are not text
        told, body = f"{len(answer.body)} bytes of {body.type}", body.value.decode("utf-8", "replace")
    elif body is None and answer.cut:
        told = f"its body is left out: {answer.cut}"
    else:
        told = error_text(body)
    said = status(answer.status)
    new = told.strip('".!').casefold() not in ("", said.casefold(), said.partition(" ")[2].casefold())
    message = f"{what} answered {said}" + (f": {told}" if new else "")
    after = answer.retry_after
    advice = hint or _hint(answer.status, after, suggest)
    return ApiError(message, status=answer.status, body=body, retry_after=after, hint=advice)


def _error_body(answer: Answer) -> Any:
    """A body that was cut is left out, except for the complete values of a stream: half a credential in it would not be
    found. Bytes that decode as text are text, whatever their media type."""
    if answer.cut and not media_types.stream(media_types.bare(answer.media)):
        return None
    whole = len(answer.body) <= _MAX_ERROR_BYTES
    value = value_of("it", answer) if whole else answer.body[:_MAX_ERROR_BYTES].decode("utf-8", "replace")
    if isinstance(value, Reply) and b"\0" not in answer.body:
        with contextlib.suppress(UnicodeDecodeError):
            return answer.body.decode("utf-8-sig")
    return value


def _hint(status: int, after: float | None, suggest: Callable[[], str]) -> str | None:
    if status in (401, 403):
        missing = "The credentials are missing, wrong or not enough: the operator sets `auth` of the server."
        return suggest() or (missing if status == 401 else _FORBIDDEN)
    if status == 404:
        return NOT_FOUND
    if status == 406:
        return _NOT_ACCEPTABLE
    if status == 429 or after is not None:
        return f"Wait {after:.0f} seconds before the next call." if after is not None else "Wait before the next call."
    return None
