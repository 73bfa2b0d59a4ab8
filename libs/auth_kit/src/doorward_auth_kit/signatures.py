"""Signatures of deliveries, those of Standard Webhooks (standardwebhooks.com), which many senders and libraries
speak: the headers `webhook-id`, `webhook-timestamp`, and `webhook-signature`, an HMAC-SHA256 over both and the body."""

from __future__ import annotations

import base64
import binascii
import hmac
import re
from collections.abc import Mapping

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


def signed(key: bytes, id: str, now: float, body: bytes) -> dict[str, str]:
    """The headers by which a delivery is signed."""
    sent = str(int(now))
    signature = base64.b64encode(hmac.digest(key, f"{id}.{sent}.".encode() + body, "sha256")).decode()
    return {"webhook-id": id, "webhook-timestamp": sent, "webhook-signature": f"v1,{signature}"}
