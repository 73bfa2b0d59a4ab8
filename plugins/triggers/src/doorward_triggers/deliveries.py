"""Deliveries of webhooks: who has signed them, and what they give to a program.

The signature is that of Standard Webhooks (standardwebhooks.com), which many senders and libraries speak: the headers
`webhook-id`, `webhook-timestamp`, and `webhook-signature`, an HMAC-SHA256 over both and the body.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import re
from collections.abc import Mapping
from typing import Any

from doorward import ConfigError, InvalidArguments, MissingSecret, Secret

MIN_KEY_BYTES = 24
"""The shortest key, as Standard Webhooks asks for."""

_PREFIX = "whsec_"
_ID = re.compile(r"[\x21-\x7e]{1,128}")
_MAX_SIGNATURES = 10


class Unsigned(InvalidArguments):
    """A delivery that nobody who knows the key has signed, or not now."""


def key_of(secret: Secret, place: str) -> bytes:
    """The key of a secret: what follows `whsec_` is base64. Raises: ConfigError, without the secret."""
    try:
        text = secret.reveal()
        key = base64.b64decode(text.removeprefix(_PREFIX), validate=True) if text.startswith(_PREFIX) else text.encode()
    except MissingSecret as error:
        raise ConfigError(str(error), place=place, hint=error.hint) from None
    except binascii.Error:
        hint = "Take it as the sender shows it."
        raise ConfigError("what follows whsec_ is no base64", place=place, hint=hint) from None
    if len(key) < MIN_KEY_BYTES:
        hint = "Such as: openssl rand -base64 32, with whsec_ before it."
        raise ConfigError(f"the key has fewer than {MIN_KEY_BYTES} bytes", place=place, hint=hint)
    return key


def verify(key: bytes, headers: Mapping[str, str], body: bytes, now: float, tolerance: float) -> str:
    """The id of a delivery, if it is signed with a key and as old as `tolerance` at most. Raises: Unsigned."""
    id, sent = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not _ID.fullmatch(id) or not re.fullmatch(r"[0-9]{1,12}", sent):
        raise Unsigned("webhook-id or webhook-timestamp is absent or malformed")
    if abs(now - int(sent)) > tolerance:
        raise Unsigned("webhook-timestamp is too far from the time here")
    expected = base64.b64encode(hmac.digest(key, f"{id}.{sent}.".encode() + body, "sha256"))
    given = headers.get("webhook-signature", "").split(" ", _MAX_SIGNATURES)[:_MAX_SIGNATURES]
    signed = [each.removeprefix("v1,").encode() for each in given if each.startswith("v1,")]
    if not any(hmac.compare_digest(each, expected) for each in signed):
        raise Unsigned("no signature is right")
    return id


def validator(schema: Mapping[str, Any]) -> Any:
    """What holds bodies against a schema. Raises: ValueError if it is none that stands by itself."""
    import jsonschema_rs

    try:
        return jsonschema_rs.Draft202012Validator(
            dict(schema), retriever=_nothing, pattern_options=jsonschema_rs.RegexOptions()
        )  # patterns take time in proportion to the text
    except (ValueError, RecursionError, jsonschema_rs.ValidationError) as error:
        raise ValueError(f"it is no JSON Schema: {str(error).partition(chr(10))[0][:200]}") from None


def params_of(body: bytes, fits: Any, pointers: Mapping[str, str]) -> dict[str, Any]:
    """What a body gives to the parameters of a program. Raises: ValueError for what is no JSON object, InvalidArguments
    for one that does not fit."""
    import jsonschema_rs
    from doorward_json import read_json

    found = read_json(body.decode())
    if not isinstance(found, dict):
        raise ValueError("it is no object")
    try:
        fits.validate(found)
    except jsonschema_rs.ValidationError as error:
        where = "/".join(map(str, error.instance_path))
        raise InvalidArguments(f"{f'at {where}: ' if where else ''}{error.message}"[:300]) from None
    if not pointers:
        return found
    values = {name: _at(found, pointer) for name, pointer in pointers.items()}
    return {name: value for name, value in values.items() if value is not _ABSENT}


_ABSENT = object()


def _at(value: Any, pointer: str) -> Any:
    """What stands at a JSON pointer (RFC 6901)."""
    for part in pointer.removeprefix("/").split("/"):
        part = part.replace("~1", "/").replace("~0", "~")
        if isinstance(value, list):
            value = value[int(part)] if part.isdecimal() and int(part) < len(value) else _ABSENT
        else:
            value = value.get(part, _ABSENT) if isinstance(value, dict) else _ABSENT
    return value


def _nothing(uri: str) -> Any:
    raise ValueError(f"it refers to {uri[:100]}, which is not within it")
