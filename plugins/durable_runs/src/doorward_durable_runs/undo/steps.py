"""What a stored run wrote: which of it can be undone, by which calls, and why not the rest."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from doorward import (
    ApiError,
    Busy,
    CannotAsk,
    ConfigError,
    DoorwardError,
    InvalidArguments,
    LoginRefused,
    RateLimited,
    Refused,
    UnknownName,
)
from doorward.recording import may_repeat

from doorward_durable_runs.journal.replay import StoredJournal

if TYPE_CHECKING:
    from doorward import Function

    from doorward_durable_runs.journal.entries import Entry
    from doorward_durable_runs.storage.run_store import StoredRun

BEGUN, ENDED = b"X", b"Z"
"""Frames of an undo: before its call goes out, and when its answer is there."""

_OURS = "doorward."
"""Helpers write nothing themselves."""

Stands = Literal["open", "undone", "unknown"]


@dataclass(frozen=True, slots=True)
class Step:
    """A write that can be undone: the `place` of the call that `made` it, and the call that undoes it. `stands`: still
    to do, done, or begun without an answer; then `repeats` says whether it could be repeated when it was begun."""

    place: int
    made: str
    call: str
    arguments: Mapping[str, Any]
    stands: Stands
    repeats: bool = False


@dataclass(frozen=True, slots=True)
class Kept:
    """A write that cannot be undone, or may have been one, and why."""

    place: int
    made: str
    why: str


@dataclass(slots=True)
class Steps:
    """What an undo of a run does, the last write first, and what it leaves as it is."""

    steps: list[Step] = field(default_factory=list)
    kept: list[Kept] = field(default_factory=list)

    @classmethod
    def of(cls, stored: StoredRun, known: Callable[[str], Function | None]) -> Steps:
        """Those of a stored run; `known` are the functions of today."""
        found, journal = cls(), StoredJournal.read(stored)
        stands: dict[int, Stands] = {}
        repeats: set[int] = set()
        for kind, said in stored.frames:
            if kind == BEGUN:
                stands[said["n"]] = "unknown"
                (repeats.add if said.get("repeats") else repeats.discard)(said["n"])
            elif kind == ENDED:
                stands[said["n"]] = "undone" if said["ok"] else "open"
        open_ = [entry for entry in journal.entries if not entry.ended]
        for entry in [*reversed(open_), *reversed(journal.ends)]:
            if entry.function.startswith(_OURS):
                continue
            if entry.undo.get("call"):
                how = entry.undo
                stand = stands.get(entry.place, "open")
                found.steps.append(
                    Step(entry.place, entry.text, how["call"], how["arguments"], stand, entry.place in repeats)
                )
            elif why := _why_not(entry, known(entry.function), waits=stored.state == "waiting"):
                found.kept.append(Kept(entry.place, entry.text, why))
        return found


def not_made(error: DoorwardError) -> bool:
    """Whether a call that ended so has surely changed nothing."""
    if isinstance(error, ApiError):
        return 400 <= error.status < 500
    return isinstance(
        error, (Refused, InvalidArguments, UnknownName, ConfigError, LoginRefused, CannotAsk, RateLimited, Busy)
    )


def _why_not(entry: Entry, function: Function | None, *, waits: bool) -> str:
    """Why a call that has no inverse is not undone; "" if there is nothing to undo."""
    if function is not None and (function.read_only or not (entry.sent or may_repeat(function))):
        return ""
    if not entry.ended:
        at_rest = not entry.sent and (waits or function is None)
        return "" if at_rest else "its answer is lost: whether it was made is unknown"
    if entry.error is not None:
        return "" if not_made(entry.error) else f"it failed, and may have been made all the same: {entry.error}"
    return str(entry.undo.get("why") or f"no inverse of {entry.function} was declared when it was made")
