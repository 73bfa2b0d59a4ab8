"""A stored run as a person reads it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from doorward_durable_runs.storage.run_store import StoredRun


def run_state(stored: StoredRun) -> str:
    """What became of it, in a few words."""
    if stored.for_ == "plan":
        return "it is a plan, and not committed"
    if stored.state == "ended":
        return "it succeeded" if stored.ok else "it failed"
    from doorward_durable_runs.journal.journals import state_in_words

    until = f", until {time_text(stored.until)}" if stored.until else ""
    known = {"running": "it runs", "waiting": f"it waits ({stored.for_}{until})"}
    said = known.get(stored.state) or state_in_words(stored)
    return f"{said}; it cannot be resumed: {stored.lost}" if stored.lost else said


def run_summary(stored: StoredRun) -> dict[str, Any]:
    """What is known of it without its frames, as JSON."""
    given = stored.given
    told = {"run": given.run, "principal": given.principal, "state": stored.state, "ok": stored.ok,
            "for": stored.for_, "what": [*stored.what], "cannot": stored.lost, "description": given.description,
            "created": time_text(given.created), "expires": time_text(given.expires)}  # fmt: skip
    return {key: value for key, value in told.items() if value not in (None, "", [])}


def time_text(seconds: float) -> str:
    """A time in ISO 8601, by UTC."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def run_calls(stored: StoredRun) -> list[dict[str, Any]]:
    """The calls of a run that was read with its frames: which, what each was made with, how it ended, and in how many
    milliseconds. Raises: StateError."""
    from doorward_durable_runs.journal.replay import StoredJournal

    made, journal = [], StoredJournal.read(stored)
    for entry in journal.entries:
        ended = "not made" if stored.state == "waiting" else "no answer: not made, or it may be repeated"
        if entry.sent:
            ended = "unknown: its answer is lost" if stored.state != "running" else "sent"
        if entry.change is not None and not entry.sent:
            ended = "withheld" if entry.change.number > 0 else "not made: it needs answers of what is withheld"
        if entry.ended:
            ok = "ok" if entry.reply else "ok; its answer is not stored"
            ended = f"{type(entry.error).__name__}: {entry.error}" if entry.error else ok
        if entry.place in journal.undone:
            ended += "; undone"
        call = {"call": entry.place, "made": entry.text, "ended": ended}
        made.append(call | ({"ms": round(entry.ms, 1)} if entry.ended else {}))
    return made
