"""What a yes is bound to: nothing but exactly this call is let through by it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any

from doorward.model.calls import Call, File
from doorward.model.decisions import Decision


@dataclass(frozen=True, slots=True)
class Binding:
    """The call that a request is about.

    `place` is the run to which an answer belongs: empty for a run that cannot be resumed, where the same call of a
    later run takes it. `exact` is the hash of the function as it is now, of the arguments and of the principal; `alike`
    is the same for all arguments, and for the rule that asks. `session` is the hash of a session's id, for the id
    itself lets others in.
    """

    principal: str
    run: str
    place: str
    exact: str
    alike: str
    session: str = ""


def bound(call: Call, decision: Decision, schema_hash: str, session: str, *, resumable: bool) -> Binding:
    """What an answer about a call is bound to."""
    function = (call.function.qualified, call.function.id, schema_hash, call.principal)
    return Binding(
        call.principal,
        call.run,
        call.run if resumable else "",
        _hash([*function, call.arguments, call.link]),
        _hash([*function, decision.rule, decision.reason]),
        _hash([session]) if session else "",
    )


def _hash(value: Any) -> str:
    """The same for the same JSON, in whatever order its keys stand; files count by their content."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=True, separators=(",", ":"), default=_plain)
    return hashlib.sha256(text.encode()).hexdigest()


def _plain(value: Any) -> Any:
    match value:
        case File():
            return {"file": _hash([value.name, value.type, value.content])}
        case bytes() | bytearray():
            return {"bytes": hashlib.sha256(value).hexdigest()}
    raise TypeError(f"a {type(value).__name__} is no argument of a call")
