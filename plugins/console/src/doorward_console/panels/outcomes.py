"""What came of a run or of a call, as a page shows it."""

from __future__ import annotations

from typing import Any

from doorward import Outcome

from doorward_console.recent import shown_value, without_tokens


def as_shown(outcome: Outcome) -> dict[str, Any]:
    """Plain JSON values of an outcome."""
    error = outcome.error
    return {
        "ok": outcome.ok,
        "value": shown_value(outcome.value) if outcome.value is not None else "",
        "printed": without_tokens(outcome.printed),
        "error": without_tokens(f"{error.type}: {error.message}") if error else "",
        "hint": (error.hint or "") if error else "",
        "line": error.line if error else None,
        "waits": [*outcome.waiting.what] if outcome.waiting else [],
        "notes": [*outcome.notes],
        "ms": round(outcome.ms, 1),
    }
