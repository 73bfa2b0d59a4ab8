"""The writes that a plan withholds, in the order in which its program made them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from doorward import Decision, Function, InvalidArguments, LimitExceeded, Refused
from doorward.administration import cut_value as cut
from doorward.administration import plain_value as plain
from doorward.recording import planned
from doorward.sandboxing import Planned
from doorward.values import effect

from doorward_durable_runs.files_in_words import in_words
from doorward_durable_runs.marked_places import shown, told
from doorward_durable_runs.plans.outcome import PLAN, Plan, PlannedCall, PlannedCalls
from doorward_durable_runs.plans.reads import yes_to
from doorward_durable_runs.plans.unknown_values import has_unknown, in_text, planned_in, readable, resolved

if TYPE_CHECKING:
    from doorward import Call
    from doorward.recording import InterceptedRun, OutcomePart

_ALLOWED = Decision()

MAX_CHANGES = 1000
"""Writes of one plan: more than a person can agree to."""


MAX_PARTS = 1000
"""Different parts of unknown answers in one call, or in the value of a program: each is looked up."""

_MOST_EXPLAINED = 20
"""Wrong parts of answers after which no names like them are looked for."""


class Lacks(Protocol):
    """What is wrong with a path into the answers of a function, by all that is known of them; "" if nothing is."""

    def __call__(self, function: Function, path: Sequence[str | int], *, near: bool = True) -> str: ...


def _nothing(function: Function, path: Sequence[str | int], *, near: bool = True) -> str:
    return ""


@dataclass(frozen=True, slots=True)
class Change:
    """One withheld call. Where an argument is an answer that is not known yet, it holds what stands for that (see
    `data/planned.py`). `number` is that of its answer; it is below zero for a read that needs such an answer, and zero
    for a read that was made, of which a person has to approve before it is made again. `place` is which call of its run
    it is, `decision` what policy said of it, and `schema_hash` that of its function. `files`: what is told of the bytes
    in the arguments, by their places."""

    function: str
    effect: str
    arguments: Mapping[str, Any]
    number: int = 0
    place: int = 0
    decision: Decision = _ALLOWED
    schema_hash: str = ""
    files: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class _Withheld:
    """Functions whose calls are withheld, by the numbers of their answers."""

    functions: dict[int, Function] = field(default_factory=dict)
    reads: list[Change] = field(default_factory=list)
    writes: list[Change] = field(default_factory=list)


class ChangeSet:
    """What a program would change, as far as it has come. `effect_of` says which calls are reads, `lacks` what answers
    look like. `covered`: each yes (see `reads`) to a read of a plan, which is made again; `spent`: all of them
    were made again already, and what had changed was told."""

    def __init__(
        self,
        lacks: Lacks = _nothing,
        effect_of: Callable[[Function], str] = effect,
        *,
        covered: Collection[str] = (),
        spent: bool = False,
    ) -> None:
        self._found, self._lacks, self._effect_of = _Withheld(), lacks, effect_of
        self._covered, self._spent = covered, spent
        self._yes: dict[int, str] = {}
        self._explained = 0

    @property
    def changes(self) -> Sequence[Change]:
        """The writes, in their order."""
        return self._found.writes

    @property
    def withheld(self) -> Sequence[Change]:
        """The writes, and the reads that need answers of writes."""
        return [*self._found.writes, *self._found.reads]

    def covers(self, call: Call, decision: Decision) -> bool:
        """See `Interceptor.covers`."""
        if self._spent:
            raise Refused(
                f"{call.function.qualified} needs a person's yes: the one to this plan let it be read again once",
                hint="Plan the program anew.",
            )
        return yes_to(call, decision) in self._covered

    def approved(self, call: Call, decision: Decision) -> None:
        """See `Interceptor.approved`."""
        self._yes[call.place] = yes_to(call, decision)

    def yes(self, place: int) -> str:
        """What tells the yes to the call at this place from all others; "" if nobody was asked."""
        return self._yes.get(place, "")

    async def meet(self, run: InterceptedRun, call: Call, sent: Call, decision: Decision) -> Planned | None:
        """See `Interceptor.meet`."""
        schema_hash = run.same_schema(call.function.qualified, "")
        return self.withhold(call.function, call.arguments, call.place, decision, schema_hash, sent.arguments)

    def counts(self) -> dict[str, int]:
        """How many calls of each function there are."""
        return dict(Counter(change.function for change in self.changes))

    def withhold(
        self,
        function: Function,
        arguments: Mapping[str, Any],
        place: int = 0,
        decision: Decision = _ALLOWED,
        schema_hash: str = "",
        sent: Mapping[str, Any] | None = None,
    ) -> Planned | None:
        """Withhold a call that writes, or whose arguments are not known yet. Returns: what stands for its answer;
        `None` if the call can be made now.

        Raises: LimitExceeded if there are too many; InvalidArguments for a text that was made of an unknown value, for
        an answer that there is not, or for a part that an answer has not.
        """
        if in_text(dict(arguments)):
            raise InvalidArguments(
                f"{function.qualified} got a text that was made of an answer which is not known yet",
                hint="Hand the answer, or a part of it, on as it is; or run the program without a plan.",
            )
        unknown = [*planned_in(dict(arguments))]
        self._check(f"{function.qualified} got", unknown)
        reads_only = (does := self._effect_of(function)) == "read"
        if reads_only and not unknown:
            return None
        reads, writes = self._found.reads, self._found.writes
        if len(writes) + len(reads) >= MAX_CHANGES:
            raise LimitExceeded(
                f"a plan may have {MAX_CHANGES} writes", hint="Split the work into several plans, by a parameter."
            )
        number = -len(reads) - 1 if reads_only else len(writes) + 1
        files = in_words(function, sent) if sent else {}
        change = Change(function.qualified, does, arguments, number, place, decision, schema_hash, files)
        (reads if reads_only else writes).append(change)  # such a read is made when the plan is committed
        self._found.functions[number] = function
        return Planned(number, lacks=partial(self._why, function))

    def _check(self, whose: str, found: Iterable[Planned], *, made_up: bool = False) -> None:
        """Raises: InvalidArguments for what is no part of an answer that was withheld: a program made it up, which in
        its value says nothing; LimitExceeded for more parts than are worth a look."""
        seen: set[tuple[str, tuple[str | int, ...]]] = set()
        for unknown in found:
            of = self._found.functions.get(unknown.call)
            if of is None and made_up:
                continue
            part = ("" if of is None else of.qualified, unknown.path)
            if part in seen:
                continue
            seen.add(part)
            if len(seen) > MAX_PARTS:
                raise LimitExceeded(f"{whose} more than {MAX_PARTS} different parts of answers that are not known yet")
            if why := "there is no such call in this plan" if of is None else self._why(of, unknown.path):
                raise InvalidArguments(f"{whose} the {told(unknown)}, and {why}")

    def _why(self, function: Function, path: Sequence[str | int]) -> str:
        """See `Planned.lacks`."""
        why = self._lacks(function, path, near=self._explained < _MOST_EXPLAINED)
        self._explained += bool(why)
        return why

    def unknown(self, value: Any) -> bool:
        """See `Interceptor.unknown`."""
        return has_unknown(value)

    def value(self, value: Any) -> Any:
        """The value of the program for a reader. Raises: InvalidArguments for a part of an answer that there is not."""
        self._check("the value of the program has", planned_in(value), made_up=True)
        return readable(value)

    def parts(self) -> Mapping[str, OutcomePart]:
        """See `Interceptor.parts`."""
        return {PLAN: _shown(self)}


def is_as_planned(change: Change, function: str, arguments: Any, answers: Mapping[int, Any] | None = None) -> bool:
    """Whether a call is the one that was planned: what was known then is the same, and what was not is the part of the
    `answers` that was to stand there; without these it may be anything."""
    if change.function != function:
        return False
    if answers is None:
        return fits(dict(change.arguments), arguments)
    try:
        return fits(resolved(dict(change.arguments), answers), arguments, known=True)
    except LookupError:
        return False


def fits(wanted: Any, given: Any, *, known: bool = False) -> bool:
    """Whether a value is the wanted one, where that is known. `known`: it is everywhere, and what looks unknown is what
    a server answered."""
    if not known and planned(wanted) is not None:
        return True
    match wanted:
        case dict():
            return (
                isinstance(given, Mapping)
                and wanted.keys() == given.keys()
                and all(fits(part, given[key], known=known) for key, part in wanted.items())
            )
        case list() | tuple():
            return (
                isinstance(given, (list, tuple))
                and len(wanted) == len(given)
                and all(fits(part, other, known=known) for part, other in zip(wanted, given, strict=True))
            )
    return type(wanted) is type(given) and bool(wanted == given)


MOST_SHOWN = 50
"""Calls of a plan that an agent is shown; whoever approves of it is shown all."""

_BYTES_SHOWN = 600
"""Of the arguments of one call, about."""


def _cut(arguments: Any) -> Any:
    return cut(plain(arguments), _BYTES_SHOWN)


def _shown(found: ChangeSet) -> Plan:
    """What a program would change. Of many calls the first of each function are shown."""
    groups = grouped(found.changes, lambda change: planned_call(change.number, change.arguments, change.files, _cut))
    left, changes = MOST_SHOWN, []
    for number, each in enumerate(groups):
        calls = each.calls[: max(1, left // (len(groups) - number))] if left > 0 else ()
        left -= len(calls)
        if calls:
            changes.append(replace(each, calls=calls))
    return Plan(changes=tuple(changes), counts=found.counts())


def grouped(changes: Iterable[Change], call: Callable[[Change], PlannedCall]) -> list[PlannedCalls]:
    """Changes by their function, and by the rule that has a person asked about them. `call` shows one."""
    groups: dict[tuple[str, str, str], list[PlannedCall]] = {}
    for change in changes:
        rule = ""
        if change.decision.then == "confirm":
            rule = ": ".join(filter(None, (change.decision.rule, change.decision.reason))) or "policy"
        groups.setdefault((change.function, change.effect, rule), []).append(call(change))
    return [PlannedCalls(function, effect, tuple(each), rule) for (function, effect, rule), each in groups.items()]


def planned_call(
    number: int | str, arguments: Mapping[str, Any], files: Mapping[str, str], cut: Callable[[Any], Any]
) -> PlannedCall:
    """A call for a reader. `files` are the words for the bytes in its arguments."""
    said, places = shown(dict(arguments), files, cut)
    return {"n": number, "arguments": said, **places}  # type: ignore[typeddict-item]
