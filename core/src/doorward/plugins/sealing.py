"""What hooks are given: copies that they cannot change, so that what was decided of a call, a program or a result is
what happens. Whoever tries gets a TypeError, and has failed as a hook does."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from doorward.data.frozen import frozen
from doorward.model.calls import Call, CallRecord
from doorward.model.functions import Function
from doorward.model.programs import Outcome, Program

_MAX_KEPT = 1024
"""Functions that are kept as hooks get them."""

_kept: OrderedDict[int, tuple[Function, Function]] = OrderedDict()


class SealedCall(Call):
    """A call as hooks get it: always the same one for the same call."""

    __slots__ = ()


def sealed(value: Any) -> Any:
    """What a hook gets in the place of a value; the value itself if there is nothing in it to change."""
    seal = _SEALS.get(type(value))
    return value if seal is None else seal(value)


def _call(call: Call) -> Call:
    if call._sealed is not None:
        return call._sealed
    details: Any = MappingProxyType(call.details)  # a source adds to both until the call is over
    trace: Any = MappingProxyType(call.trace)
    made = SealedCall(
        _function(call.function), frozen(call.arguments), call.run, call.principal, call.deadline, call.client,
        call.clock, call.allows, call.link, call.forbids, call.refuses_further, call.usage, details, trace, call.place,
        call.size, call.decision, None if call.given is None else frozen(call.given),
        earlier=call.earlier,
    )  # fmt: skip
    object.__setattr__(call, "_sealed", made)
    return made


def _function(function: Function) -> Function:
    found = _kept.get(id(function))
    if found is None or found[0] is not function:
        whole = {name: frozen(getattr(function, name)) for name in ("parameters", "returns", "names", "data")}
        found = _kept[id(function)] = function, replace(function, **whole)
        if len(_kept) > _MAX_KEPT:
            _kept.popitem(last=False)
    return found[1]


def _program(program: Program) -> Program:
    return replace(program, params=frozen(program.params))


def _outcome(outcome: Outcome) -> Outcome:
    parts = {name: frozen(getattr(outcome, name)) for name in ("value", "usage", "calls", "truncated")}
    added = MappingProxyType({name: part.sealed() for name, part in outcome.parts.items()})
    return replace(outcome, parts=added, **parts)


def _record(record: CallRecord) -> CallRecord:
    return replace(record, details=frozen(record.details))


_SEALS: Mapping[type, Callable[[Any], Any]] = {
    Call: _call,
    Function: _function,
    Program: _program,
    Outcome: _outcome,
    CallRecord: _record,
}
