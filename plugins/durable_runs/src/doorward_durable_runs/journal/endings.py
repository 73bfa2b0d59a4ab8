"""How a run ended, as data: whoever had lost the answer is given it once more."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from doorward import Artefact, Failure, Outcome
from doorward.sandboxing import Frame
from doorward_durable_runs.plans.outcome import PLAN, Plan, PlannedCalls

if TYPE_CHECKING:
    from doorward_durable_runs.storage.run_store import StoredRun


def said(outcome: Outcome) -> dict[str, Any]:
    """What is stored of an outcome."""
    stored = asdict(replace(outcome, parts={}))
    del stored["parts"]
    plan = outcome.parts.get(PLAN)
    return stored | {PLAN: asdict(plan) if isinstance(plan, Plan) else None}


def read(stored: StoredRun) -> Outcome | None:
    """The outcome of a run that is over; `None` if it is not stored."""
    for kind, end in reversed(stored.frames):
        if kind == b"O" and (outcome := end.get("outcome")):
            return _outcome(outcome)
    return None


def _outcome(said: Mapping[str, Any]) -> Outcome:
    found = Outcome(**{name: said[name] for name in Outcome.__dataclass_fields__ if name in said})
    error: Failure | None = None
    if failed := said.get("error"):
        error = Failure(**{**failed, "frames": tuple(Frame(**frame) for frame in failed["frames"])})
    return replace(
        found,
        error=error,
        parts={PLAN: _plan(planned)} if (planned := said.get(PLAN)) else {},
        artefacts=tuple(Artefact(**file) for file in said["artefacts"]),
        calls=tuple(said["calls"]),
        notes=tuple(said["notes"]),
    )


def _plan(said: Mapping[str, Any]) -> Plan:
    changes = tuple(PlannedCalls(**{**each, "calls": tuple(each["calls"])}) for each in said["changes"])
    return Plan(**{**said, "changes": changes, "differs": tuple(said["differs"])})
