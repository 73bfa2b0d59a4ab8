"""Conformance tests of plugins that change results: inherit `ResultChangeConformance`, and say what becomes of what."""

from __future__ import annotations

import copy
import time
from collections.abc import Mapping, Sequence
from typing import Any

from doorward import ApiError, Call, DoorwardError, File

from doorward_testing.conformance.base import only, require
from doorward_testing.conformance.hooks import ODD_VALUES, HookConformance, ask, call_of


class ResultChangeConformance(HookConformance):
    """For plugins with `change_result`. Say `plugin`; override `changed` and `unchanged`, and `settings`, where it
    needs any."""

    hooks = ("change_result",)
    seconds = 10.0
    """How long it may take for anything: it runs in the event loop, and meanwhile nothing else does."""

    def changed(self) -> Sequence[tuple[Call, Any, Any]]:
        """Calls with their results, and what the program gets in their place."""
        self.say('def changed(self): return [(call_of("notes.find"), "a@example.org", "…")]  # and what is made of it')

    def unchanged(self) -> Sequence[tuple[Call, Any]]:
        """Calls with results that it leaves alone."""
        self.say('def unchanged(self): return [(call_of("notes.find"), ["milk"])]  # what it must leave alone')

    def test_it_changes(self, host: Any) -> None:
        """What it should, into what it should."""
        plugin = self.made(host)
        require(self.changed(), "`changed` is empty: say at least one result that the plugin changes")
        for call, result, wanted in self.changed():
            found = self._answer(plugin, call, copy.deepcopy(result))
            require(found == wanted, f"it made {found!r:.80} of {result!r:.80}, not {wanted!r:.80}")

    def test_it_leaves_alone(self, host: Any) -> None:
        """What it should not change."""
        plugin = self.made(host)
        for call, result in self.unchanged():
            before = copy.deepcopy(result)
            found = self._answer(plugin, call, result)
            require(found is None or found == before, f"it made {found!r:.80} of {before!r:.80}")
            require(result == before, f"it changed {before!r:.80} in place, and answered nothing")

    def test_errors_stay_errors(self, host: Any) -> None:
        """An error of the source comes as an error, and must stay one: the call has failed."""
        plugin = self.made(host)
        for body in (None, {"detail": "x"}, "x"):
            error = ApiError("422: x", status=422, body=body, hint="x")
            with only((), "the plugin, given an ApiError,", "Change its message, hint and body, and return it."):
                found = self._answer(plugin, call_of(), error)
            fine = found is None or isinstance(found, DoorwardError)
            require(fine, f"it answered {type(found).__name__} for an error: return the error, or None")
            require(isinstance(error.message, str), "it made the message of an error something that is no text")

    def test_it_raises_nothing(self, host: Any) -> None:
        """Whatever an upstream answers: an exception would withhold the answer. What it answers is JSON, bytes or a
        File. None takes seconds."""
        plugin = self.made(host)
        for value in [*ODD_VALUES, File(b"x", "text/plain", "x.txt"), {"a": [File(b"\0")]}]:
            shown = f"the result {value!r:.60}"
            began = time.monotonic()
            with only(DoorwardError, f"the plugin, given {shown},", "Never raise but errors of doorward."):
                found = self._answer(plugin, call_of(), copy.deepcopy(value))
                odd = _odd(found)
                require(not odd, f"it answered {odd} for {shown}: answer JSON, bytes or a doorward.File")
            took = time.monotonic() - began
            require(took < self.seconds, f"it took {took:.1f} s for {shown}, and nothing else ran meanwhile")

    def _answer(self, plugin: Any, call: Call, result: Any) -> Any:
        return ask(plugin, "change_result", call=call, result=result)


def _odd(value: Any) -> str:
    """The type of what is no JSON, bytes or File in a value."""
    match value:
        case None | bool() | int() | float() | str() | bytes() | File():
            return ""
        case Mapping():
            return next((odd for part in value.values() if (odd := _odd(part))), "")
        case list() | tuple():
            return next((odd for part in value if (odd := _odd(part))), "")
    return type(value).__name__
