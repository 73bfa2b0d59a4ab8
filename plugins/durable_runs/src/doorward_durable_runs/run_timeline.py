"""When the calls of a stored run were, as far as its journal tells."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from doorward import Refused

if TYPE_CHECKING:
    from doorward_durable_runs.storage.run_store import StoredRun


def run_timeline(stored: StoredRun) -> list[dict[str, Any]]:
    """The calls that have ended of a run that was read with its frames, as they began: `{"function", "at", "ms", "ok",
    "error", "refused", "used"}`, in milliseconds since the first began, with the type of its error, and what its source
    says that it used.

    A journal has how long each call took and which had ended when it began, but no times: what the program did between
    its calls takes no time here. Raises: StateError.
    """
    from doorward_durable_runs.journal.replay import StoredJournal

    journal, rows = StoredJournal.read(stored), []
    ends = [*journal.ends]
    ended_at: dict[int, float] = {}
    now, next_end = 0.0, 0
    for began, entry in enumerate(journal.entries):
        while next_end < len(ends) and ends[next_end].begun <= began:  # it had ended before this one began
            now = max(now, ended_at.get(ends[next_end].place, now))
            next_end += 1
        if not entry.ended:
            continue
        ended_at[entry.place] = now + entry.ms
        error = type(entry.error).__name__ if entry.error else ""
        rows.append({
            "function": entry.function, "at": round(now, 1), "ms": round(entry.ms, 1), "ok": not error, "error": error,
            "refused": isinstance(entry.error, Refused), "used": dict(entry.used),
        })  # fmt: skip
    return rows
