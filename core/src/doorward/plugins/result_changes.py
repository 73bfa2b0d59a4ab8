"""Lets plugins change what a program gets: each has what the former made, and what it answers is checked."""

from __future__ import annotations

from collections.abc import Mapping
from types import NoneType
from typing import TYPE_CHECKING, Any

from doorward.data.json_writing import MAX_PARTS, exceeds
from doorward.model.calls import File
from doorward.model.errors import DoorwardError
from doorward.plugins.hook_answers import Unfit

if TYPE_CHECKING:
    from doorward.model.calls import Call
    from doorward.plugins.hooks import Hooks


def changed(hooks: Hooks, call: Call, result: Any) -> Any:
    """A result, or an error of the source, as the implementations of `change_result` leave it.

    Raises: PluginError if one fails, or answers what cannot take its place: then the program must not get it.
    """
    for implementation in reversed(hooks.hook.change_result.get_hookimpls()):  # the order in which pluggy calls them
        given = {"call": call, "result": result}
        names = {*implementation.argnames, *implementation.kwargnames}
        answer = implementation.function(**{name: given[name] for name in given.keys() & names})
        if answer is None and isinstance(result, DoorwardError):  # it may have been changed in place
            answer = result
        if answer is not None:
            with hooks.failures.blamed(hooks.ids[implementation.plugin_name], "change_result"):
                _check(answer, in_place_of=result)
            result = answer
    return result


def _check(answer: Any, *, in_place_of: Any) -> None:
    """Check the answer of an implementation. Raises: Unfit."""
    is_error = isinstance(answer, DoorwardError)
    if is_error != isinstance(in_place_of, DoorwardError):
        what = f"{type(answer).__name__} for {type(in_place_of).__name__}"
        raise Unfit(f"it answered {what}: an error stays an error, a result a result")
    if is_error and not (isinstance(answer.message, str) and isinstance(answer.hint, (str, NoneType))):
        raise Unfit("it answered an error whose message or hint is no text")
    if not is_error and exceeds(answer, MAX_PARTS):
        raise Unfit(f"it answered more than {MAX_PARTS:,} values")
    if not is_error and (odd := _odd(answer)):
        raise Unfit(f"it answered {odd}, which is no JSON, bytes or File")


def _odd(value: Any) -> str:
    """The name of a type within a value that is no JSON, `bytes` or `File`; empty if there is none."""
    todo = [value]
    while todo:
        match todo.pop():
            case str() | int() | float() | None | bytes() | bytearray() | File():
                pass
            case Mapping() as table:
                todo += table.values()
            case list() | tuple() | set() | frozenset() as parts:
                todo += parts
            case other if not hasattr(other, "isoformat"):
                return type(other).__name__
    return ""
