"""What is wrong with the inverses that a server's configuration declares, as far as its functions tell it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from doorward import Function
from doorward.texts import nearest

from doorward_durable_runs.undo.settings import InverseSettings


def wrong_inverses(declared: Mapping[str, InverseSettings], functions: Mapping[str, Function]) -> Iterator[str]:
    """A line for each mistake, with its key."""
    for name, inverse in declared.items():
        place = f"undo.{name}"
        if (function := functions.get(name)) is None:
            yield f"{place}: {_unknown(name, functions)}"
            continue
        if function.read_only:
            yield f"{place}: {name} only reads: there is nothing to undo"
        yield from (f"{place}.{line}" for line in _wrong_call(inverse, function, functions))
        yield from (f"{place}.{line}" for line in _wrong_before(inverse, function, functions))


def _wrong_call(inverse: InverseSettings, function: Function, functions: Mapping[str, Function]) -> Iterator[str]:
    if (undoing := functions.get(inverse.call)) is None:
        yield f"call: {_unknown(inverse.call, functions)}"
        return
    if undoing.read_only:
        yield f"call: {inverse.call} only reads, and undoes nothing"
    takes, has = _taken(undoing), _taken(function)
    for name in undoing.parameters.get("required", ()):
        if name not in inverse.arguments:
            yield f"arguments: {inverse.call} needs {name!r}"
    for name in inverse.arguments:
        if name not in takes and not undoing.parameters.get("additionalProperties"):
            yield f"arguments.{name}: {inverse.call} takes no such argument{_perhaps(name, takes)}"
        path = inverse.path(name) or []
        if path[:1] == ["args"] and path[1:] and path[1] not in has:
            yield f"arguments.{name}: {function.name} has no argument {path[1]!r}{_perhaps(path[1], has)}"


def _wrong_before(inverse: InverseSettings, function: Function, functions: Mapping[str, Function]) -> Iterator[str]:
    if not inverse.before:
        return
    if (reading := functions.get(inverse.before)) is None:
        yield f"before: {_unknown(inverse.before, functions)}"
        return
    if not reading.read_only:
        yield f"before: {inverse.before} does not only read, so it is not called"
    for name in reading.parameters.get("required", ()):
        if name not in _taken(function):
            yield f"before: {inverse.before} needs {name!r}, which {function.name} does not take"


def _taken(function: Function) -> Mapping[str, object]:
    found = function.parameters.get("properties", {})
    return found if isinstance(found, Mapping) else {}


def _unknown(name: str, functions: Mapping[str, Function]) -> str:
    return f"there is no function {name!r} that may be called{_perhaps(name, functions)}"


def _perhaps(name: str, known: Mapping[str, object]) -> str:
    near = nearest(name, known, 1)
    return f"; did you mean {near[0]!r}?" if near else ""
