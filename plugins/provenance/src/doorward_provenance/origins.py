"""Decides of calls by where their arguments came from."""

from __future__ import annotations

from collections.abc import Sequence

from doorward import Call, Decider, Decision, Function, Principal

from doorward_provenance.labels import Labelled
from doorward_provenance.memory import Origin
from doorward_provenance.running import Running, Runs
from doorward_provenance.settings import ProvenanceSettings, Then
from doorward_provenance.words import leaves, parameter_of

_RULE = "[provenance] then"
_MIXED = "[provenance] mixed"


class Origins(Decider):
    """Has a person asked before what a stranger may have written is acted on."""

    def __init__(self, settings: ProvenanceSettings, labels: Labelled, runs: Runs) -> None:
        self._settings, self._labels, self._runs = settings, labels, runs

    def possible(self, function: Function, principal: Principal) -> Sequence[Decision]:
        if not self._matters(function):
            return [Decision()]
        mixed = self._settings.mixed if self._labels.of(function).outward else "allow"
        told = [(self._settings.then, _RULE), (mixed, _MIXED)]
        return [Decision(), *(decision for then, rule in told for decision in _possible(then, rule))]

    def decide(self, call: Call) -> Decision | None:
        if not self._matters(call.function):
            return None
        labels, running = self._labels.of(call.function), self._runs.of(call)
        may_carry_private = False
        for path, value in leaves(call.as_given):
            if not str(value).strip() or running.memory.was_said(value):
                continue
            is_place = labels.outward and (not labels.places or parameter_of(path) in labels.places)
            if running.own and not is_place:
                continue
            origins = list(running.memory.origins(value))
            if why := _objection(running, call.function, path, origins, is_place=is_place):
                return _decision(self._settings.then, _RULE, f"`{path}` {why}", running)
            if labels.outward and not running.own and parameter_of(path) not in labels.places:
                may_carry_private = may_carry_private or _may_be_private(running, call.function, path, origins)
        if may_carry_private:
            why = "it may carry private answers to others, and its program was sent after untrusted ones were shown"
            return _decision(self._settings.mixed, _MIXED, why, running)
        return None

    def _matters(self, function: Function) -> bool:
        """Whether anything is decided of calls of a function: those that write or reach others."""
        return self._labels.of(function).outward or not _reads(function)


def _possible(then: Then, rule: str) -> list[Decision]:
    return [Decision("confirm", rule), Decision("deny", rule)] if then == "plan" else [Decision(then, rule)]


def _decision(then: Then, rule: str, why: str, running: Running) -> Decision:
    """A program that has to be planned is refused if it is not; what a plan withholds, and a call by itself, is asked
    about."""
    if then != "plan":
        return Decision(then, rule, why)
    if running.planned is False:
        return Decision("deny", rule, f'{why}. Run the program with mode="plan", and have the plan approved of')
    return Decision("confirm", rule, why)


def _reads(function: Function) -> bool:
    return function.read_only or function.guessed_read


def _may_be_private(running: Running, function: Function, path: str, origins: Sequence[Origin]) -> bool:
    """Whether a value may be made of what is not for everybody: of what its author was shown before, or of what the
    program computes it from. A field goes back to its server."""
    if not origins:
        return running.memory.private_shown or any(each.private for each in running.sources(function, path).values())
    return any(
        each.answer.labels.private and (each.in_text or each.answer.server != function.server) for each in origins
    )


def _objection(running: Running, function: Function, path: str, origins: Sequence[Origin], *, is_place: bool) -> str:
    """Why an argument that the user has not said may be somebody else's will; empty if it is not."""
    strangers = [origin for origin in origins if origin.answer.labels.untrusted]
    in_text = [origin for origin in strangers if origin.in_text]
    if in_text and not running.own:
        return _told(in_text[0], running)
    if any(_is_free(origin, function) for origin in origins) or (running.own and origins and _reads(function)):
        return ""  # a link may be followed as it stands: only one that is put together carries anything out
    if is_place and strangers:
        return _told(strangers[0], running)
    if is_place and not origins and not running.own:
        return "came from nowhere that is known, after what others may have written was read"
    if not origins and not running.own and running.memory.has_lost:
        return "came from nowhere that is known, and untrusted answers were too large to be remembered"
    if is_place and not origins:
        computed = [name for name, labels in running.sources(function, path).items() if labels.untrusted]
        if computed:
            return (
                f"was computed from what {' or '.join(computed)} answered in this program: others may have written it"
            )
    return ""


def _is_free(origin: Origin, function: Function) -> bool:
    """Whether a value may go from there to a function: nobody else wrote it, or its server gave it as a field."""
    if not origin.answer.labels.untrusted:
        return True
    return not origin.in_text and origin.answer.server == function.server


def _told(origin: Origin, running: Running) -> str:
    ago = running.number - origin.answer.program
    when = "in this program" if ago <= 0 else "one program ago" if ago == 1 else f"{ago} programs ago"
    place = f" (`{origin.place}`)" if origin.place else ""
    what = f"a text{place}" if origin.in_text else "a field"
    return f"came from {what} that {origin.answer.function} answered {when}: others may have written it"
