"""The error for a jail or a sandbox that did not start: a short reason for whoever asked, all that was said for the
log."""

from __future__ import annotations

from doorward import ExecutorError, log
from doorward.values import clean_text

from doorward_jail import devices

_REASON_CHARACTERS = 200
"""Of the last line that was said."""
_HINT_CHARACTERS = 600
_HINT_LINES = 5
_LOG_CHARACTERS = 4000


def not_started(what: str, said: str, *, why: str = "") -> ExecutorError:
    """The error; `said` is the standard error of what did not start, `why` the reason where that is known."""
    text = clean_text(said).strip()
    # Without the frames of a traceback, which are indented, and ours.
    lines = [line for line in text.splitlines() if line.strip() == line != "" and not line.startswith("Traceback ")]
    why = why or (lines[-1][:_REASON_CHARACTERS] if lines else "it said nothing")
    hint = "\n".join(lines[-_HINT_LINES:])[-_HINT_CHARACTERS:] or None
    if trouble := devices.trouble():
        why, hint = trouble
    log.warning("jail_not_started", what=what, why=why, said=text[-_LOG_CHARACTERS:])
    return ExecutorError(f"{what}: {why}", hint=hint)
