"""Reads the answers that messengers bring: who says what of which request, once its signature is right."""

from __future__ import annotations

import base64
import hmac
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

from doorward_auth_kit import Unsigned, verify
from doorward_json import read_json

if TYPE_CHECKING:
    from doorward_notify.messengers import Messenger

_WORDS = {"approve": True, "deny": False}
_COMMAND = re.compile(r"(approve|deny)\s+([\w-]{1,100})", re.IGNORECASE)


class Stranger(ValueError):
    """Somebody whom `people` does not name."""


@dataclass(frozen=True)
class Answer:
    """An answer; `delivery` tells it from every other one."""

    delivery: str
    id: str
    approve: bool
    by: str
    said: str = ""


def read(messenger: Messenger, headers: Mapping[str, str], body: bytes, now: float) -> Answer:
    """An answer. Raises: Unsigned; Stranger; ValueError, RecursionError for what is no answer."""
    return {"webhook": _of_webhook, "slack": _of_slack, "teams": _of_teams}[messenger.settings.kind](
        messenger, headers, body, now
    )


def _of_webhook(messenger: Messenger, headers: Mapping[str, str], body: bytes, now: float) -> Answer:
    """As Standard Webhooks are signed."""
    delivery = verify(messenger.key, headers, body, now, messenger.settings.tolerance)
    said = read_json(body.decode())
    texts = ("id", "answer", "by") + (("said",) if isinstance(said, dict) and "said" in said else ())
    if not isinstance(said, dict) or any(not isinstance(said.get(name), str) for name in texts):
        raise ValueError("it is no answer")
    if said["answer"] not in _WORDS or not said["by"].strip() or said.keys() - {*texts}:
        raise ValueError("it is no answer")
    return Answer(delivery, said["id"], _WORDS[said["answer"]], said["by"], said.get("said", ""))


def _of_slack(messenger: Messenger, headers: Mapping[str, str], body: bytes, now: float) -> Answer:
    """A button of a message: Slack signs its time and the body (version v0)."""
    sent, given = headers.get("x-slack-request-timestamp", ""), headers.get("x-slack-signature", "")
    if not re.fullmatch(r"[0-9]{1,12}", sent) or abs(now - int(sent)) > messenger.settings.tolerance:
        raise Unsigned("X-Slack-Request-Timestamp is absent, or too far from the time here")
    expected = "v0=" + hmac.digest(messenger.key, f"v0:{sent}:".encode() + body, "sha256").hex()
    if not hmac.compare_digest(given.encode(), expected.encode()):
        raise Unsigned("no signature is right")
    (payload,) = parse_qs(body.decode(), strict_parsing=True, max_num_fields=10).get("payload", [""])
    told = read_json(payload)
    try:
        (action,) = told["actions"]
        user, word, id = told["user"]["id"], action["action_id"], action["value"]
    except (TypeError, KeyError):
        raise ValueError("it is no button") from None
    if told.get("type") != "block_actions" or word not in _WORDS or not isinstance(id, str):
        raise ValueError("it is no button of ours")
    return Answer(given, id, _WORDS[word], _person(messenger, user))


def _of_teams(messenger: Messenger, headers: Mapping[str, str], body: bytes, now: float) -> Answer:
    """What is said to an outgoing webhook: Teams signs the body, in which its time stands."""
    expected = base64.b64encode(hmac.digest(messenger.key, body, "sha256")).decode()
    if not hmac.compare_digest(headers.get("authorization", "").encode(), f"HMAC {expected}".encode()):
        raise Unsigned("no signature is right")
    told = read_json(body.decode())
    try:
        user, text, sent, delivery = told["from"]["aadObjectId"], told["text"], told["timestamp"], told["id"]
        at = datetime.fromisoformat(sent).timestamp()
    except (TypeError, KeyError):
        raise ValueError("it is no message") from None
    if abs(now - at) > messenger.settings.tolerance:
        raise Unsigned("the time in it is too far from the time here")
    words = re.sub(r"<at>.*?</at>|<[^>]*>|&nbsp;", " ", text).strip() if isinstance(text, str) else ""
    if (found := _COMMAND.fullmatch(words)) is None or not isinstance(delivery, str) or not 0 < len(delivery) <= 200:
        raise ValueError("it is no answer")
    return Answer(delivery, found[2], _WORDS[found[1].lower()], _person(messenger, user))


def _person(messenger: Messenger, user: Any) -> str:
    """Raises: Stranger."""
    if not isinstance(user, str) or user not in messenger.settings.people:
        raise Stranger("`people` does not name who answers")
    return messenger.settings.people[user]
