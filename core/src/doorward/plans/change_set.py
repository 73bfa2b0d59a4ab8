"""The writes that a plan withholds, in the order in which its program made them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from doorward.data.planned import Planned, in_text, planned, planned_in
from doorward.model.decisions import Effect, effect
from doorward.model.errors import InvalidArguments, LimitExceeded
from doorward.model.functions import Function

MAX_CHANGES = 1000
"""Writes of one plan: more than a person can agree to."""


@dataclass(frozen=True, slots=True)
class Change:
    """One withheld call. Where an argument is an answer that is not known yet, it holds what stands for that (see
    `data/planned.py`)."""

    function: str
    effect: Effect
    arguments: Mapping[str, Any]


class ChangeSet:
    """What a program would change, as far as it has come."""

    def __init__(self) -> None:
        self._changes: list[Change] = []
        self._dependent = 0

    @property
    def changes(self) -> Sequence[Change]:
        return self._changes

    def counts(self) -> dict[str, int]:
        """How many calls of each function there are."""
        return dict(Counter(change.function for change in self._changes))

    def withhold(self, function: Function, arguments: Mapping[str, Any]) -> Planned | None:
        """Withhold a call that writes, or whose arguments are not known yet. Returns: what stands for its answer;
        `None` if the call can be made now.

        Raises: LimitExceeded if there are too many; InvalidArguments for a text that was made of an unknown value.
        """
        if in_text(dict(arguments)):
            raise InvalidArguments(
                f"{function.qualified} got a text that was made of an answer which is not known yet",
                hint="Hand the answer, or a part of it, on as it is; or run the program without a plan.",
            )
        unknown = any(planned_in(dict(arguments)))
        if function.read_only and not unknown:
            return None
        if len(self._changes) >= MAX_CHANGES:
            raise LimitExceeded(
                f"a plan may have {MAX_CHANGES} writes", hint="Split the work into several plans, by a parameter."
            )
        if function.read_only:  # it is made when the plan is committed, and changes nothing
            self._dependent += 1
            return Planned(-self._dependent)
        self._changes.append(Change(function.qualified, effect(function), arguments))
        return Planned(len(self._changes))


def is_as_planned(change: Change, function: str, arguments: Any) -> bool:
    """Whether a call is the one that was planned: what was known then is the same, what was not may be anything."""
    return change.function == function and _fits(dict(change.arguments), arguments)


def _fits(wanted: Any, given: Any) -> bool:
    if planned(wanted) is not None:
        return True
    match wanted:
        case dict():
            return (
                isinstance(given, Mapping)
                and wanted.keys() == given.keys()
                and all(_fits(part, given[key]) for key, part in wanted.items())
            )
        case list():
            return (
                isinstance(given, (list, tuple))
                and len(wanted) == len(given)
                and all(_fits(part, other) for part, other in zip(wanted, given, strict=True))
            )
    return type(wanted) is type(given) and bool(wanted == given)
