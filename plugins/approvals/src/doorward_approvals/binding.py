"""What a yes is bound to: nothing but exactly this call is let through by it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any

from doorward import Call, Decision, File
from doorward.values import effect


@dataclass(frozen=True, slots=True)
class Binding:
    """The call that a request is about.

    `place` is the run to which an answer belongs: empty for a run that cannot be resumed, where the same call of a
    later run takes it. `exact` is the hash of the function as it is now (schemas, route, class), of its arguments and
    of the principal; `alike` is the same for all arguments, and for the rule that asks. `session` is the hash of a
    session's id, for the id itself lets others in.
    """

    principal: str
    run: str
    place: str
    exact: str
    alike: str
    session: str = ""


def bound(call: Call, decision: Decision, schema_hash: str, session: str, *, resumable: bool) -> Binding:
    """What an answer about a call is bound to."""
    upstream = (call.function.id, call.function.route, effect(call.function), schema_hash)
    function = (call.function.qualified, *upstream, call.principal, *filter(None, [call.account]))
    return Binding(
        call.principal,
        call.run,
        call.run if resumable else "",
        _hash([*function, call.arguments, call.link]),
        _hash([*function, decision.rule, decision.reason]),
        _hash([session]) if session else "",
    )


def _hash(value: Any) -> str:
    """The same for the same JSON, in whatever order its keys stand. Files count by their content, apart from the JSON,
    which says nothing that could pass for a file."""
    contents: list[bytes] = []

    def plain(part: Any) -> Any:
        match part:
            case File():
                return [part.name, part.type, part.content]
            case bytes() | bytearray():
                contents.append(hashlib.sha256(part).digest())
                return None
        raise TypeError(f"a {type(part).__name__} is no argument of a call")

    text = json.dumps(value, sort_keys=True, ensure_ascii=True, separators=(",", ":"), default=plain)
    return hashlib.sha256(b"\0".join([text.encode(), *contents])).hexdigest()
