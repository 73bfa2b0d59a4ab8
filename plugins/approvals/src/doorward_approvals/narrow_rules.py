"""The rule that lets calls like an approved one through from then on: narrow, shown before it is written, and written
before the one that asks."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from doorward import Call
from doorward.deciding import ACCOUNT
from doorward.texts import visible

_MAX_CONDITION = 1000
_IN_PATH = re.compile(r"\{([^{}]+)\}")
_OURS = re.compile(r"\[\[policy\.rules\]\] \d+|\[policy\] default")
_WILDCARDS = re.compile(r"[*?\[\]]|^@")


def narrow_rule(call: Call, asking: str, scrub: Callable[[str], str]) -> dict[str, Any]:
    """A table of `[[policy.rules]]` that allows the function to this principal: for the same parts of its path, or, if
    that has none, for the same arguments. Empty if there is no such rule that can be shown: a file or a credential is
    among them, or they are too long; or if it would not help, for what is `asking` is no rule of the configuration."""
    if not _OURS.fullmatch(asking):
        return {}
    if _WILDCARDS.search(call.principal) or not call.principal.isprintable():
        return {}
    try:
        when = _condition(call)
    except (TypeError, ValueError):  # what is no JSON cannot be compared
        return {}
    if when is None or len(when) > _MAX_CONDITION or visible(scrub(when)) != when:
        return {}
    return {"match": [call.function.qualified], "principal": [call.principal], "when": when, "then": "allow"}


def _condition(call: Call) -> str | None:
    """The condition in CEL, whose literals are JSON; `None` if a part of the path is missing."""
    ours = {theirs: name for name, theirs in call.function.names.items()}
    parts = [ours.get(part, part) for part in _IN_PATH.findall(call.function.route)]
    given: Mapping[str, Any] = call.arguments
    if not parts:
        return f"args == {_literal(given)}"
    if not all(part in given for part in parts):
        return None
    parts += [ACCOUNT] if call.account else []
    return " && ".join(f"args[{_literal(part)}] == {_literal(given[part])}" for part in parts)


def _literal(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, sort_keys=True)
