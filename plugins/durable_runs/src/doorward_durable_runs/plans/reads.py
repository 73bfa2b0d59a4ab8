"""A person's yes to a read of a plan: it holds for the same call, for which the same rule asks."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from doorward import Call, Decision


def yes_to(call: Call, decision: Decision) -> str:
    """What tells this yes from all others."""
    said = [call.function.qualified, dict(call.arguments), call.link, decision.rule, decision.reason]
    text = json.dumps(said, sort_keys=True, separators=(",", ":"), default=_content)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _content(value: Any) -> Any:
    return [hashlib.sha256(value).hexdigest()] if isinstance(value, bytes) else repr(value)
