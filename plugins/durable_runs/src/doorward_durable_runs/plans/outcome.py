"""A plan as a part of the outcome of its run, and its calls as text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, TypedDict

from doorward.texts import in_one_line
from doorward.values import frozen

from doorward_durable_runs.marked_places import in_words

PLAN = "plan"
"""Its key in the JSON of an outcome."""


class _PlannedCall(TypedDict):
    n: int
    arguments: Mapping[str, Any]


class PlannedCall(_PlannedCall, total=False):
    """A withheld call: its number in the plan, and its arguments. What is not known yet reads `answer of 2: .id`, and
    `unknown` has the JSON Pointers to it; `files` has those to the bytes of files, which read `12 bytes, sha256 …`. Any
    other text is the program's own."""

    unknown: tuple[str, ...]
    files: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PlannedCalls:
    """Withheld calls of one function, the first of them if they are many. `rule` says by which a person is asked."""

    function: str
    effect: str
    calls: tuple[PlannedCall, ...]
    rule: str = ""


@dataclass(frozen=True, slots=True)
class Plan:
    """What a program would change, and how many calls of each function that are. `id` is empty if it cannot be
    committed. `differs`: what was read for it has changed since, a line each."""

    id: str = ""
    changes: tuple[PlannedCalls, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)
    differs: tuple[str, ...] = ()
    next: str = ""

    def as_json(self) -> dict[str, Any]:
        """It without empty fields; that there is nothing to write is said, too."""
        found = {**asdict(self), "changes": [_filled(asdict(each)) for each in self.changes], "counts": {}}
        return _filled(found) | {"counts": dict(self.counts)}

    def as_lines(self) -> Sequence[str]:
        """What differs, what it would change, and what the agent does then."""
        lines = [f"  {differs}" for differs in self.differs]
        if self.changes or not lines:
            told = ", ".join(f"{function} ×{count}" for function, count in self.counts.items())
            lines.append(f"plan{f' {self.id}' if self.id else ''}: {told or 'it writes nothing'}")
        return [*lines, *planned_calls(self.changes), *([f"then: {self.next}"] if self.next else [])]

    def sealed(self) -> Plan:
        """The same, with nothing in it that can be changed."""
        changes = tuple(replace(each, calls=frozen(each.calls)) for each in self.changes)
        return replace(self, changes=changes, counts=frozen(self.counts))


def _filled(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in fields.items() if v not in (None, "", ())}


def planned_calls(changes: Iterable[PlannedCalls], written: Callable[[Any], str] = in_one_line) -> list[str]:
    """The calls of a plan, a line each. `written` makes text of their arguments."""
    lines = []
    for of in changes:
        rule = f"; a person is asked: {in_one_line(of.rule)}" if of.rule else ""
        lines += [f"- {of.function} ({of.effect}{rule})"]
        lines += [f"  {call['n']}. {in_words(call['arguments'], _places(call), written)}" for call in of.calls]
    return lines


def _places(call: PlannedCall) -> Mapping[str, Sequence[str]]:
    return {"unknown": call.get("unknown", ()), "files": call.get("files", ())}
