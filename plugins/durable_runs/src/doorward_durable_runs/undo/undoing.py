"""Undoes the writes of a stored run, each once, the last one first."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from doorward import ApiError, DoorwardError, InvalidArguments, OutcomeUnknown
from doorward.recording import may_repeat

from doorward_durable_runs.undo.steps import BEGUN, ENDED, Step, Steps, not_made

if TYPE_CHECKING:
    from doorward import Function

    from doorward_durable_runs.storage.run_store import RunFile, RunStore, StoredRun

Calls = Callable[[str, Mapping[str, Any]], Awaitable[Any]]
"""Makes a call by the gate: with policy, limits, approvals and audit."""


@dataclass(slots=True)
class Undone:
    """What an undo came to. `failed` is where it stopped and `error` why; `left` is what is still to do, `failed`
    included."""

    done: list[Step] = field(default_factory=list)
    left: list[Step] = field(default_factory=list)
    failed: Step | None = None
    error: DoorwardError | None = None


class Undoing:
    """An undo of one run, which is held until `close`: nobody else resumes or undoes it meanwhile.

    Before a call goes out the journal of the run says so, and afterwards that it was made. So what was undone is not
    undone again, even if the process dies in between.
    """

    def __init__(self, file: RunFile, stored: StoredRun, known: Callable[[str], Function | None], steps: Steps) -> None:
        self._file, self._stored, self._known, self.all = file, stored, known, steps

    @classmethod
    async def of(cls, store: RunStore, run: str, known: Callable[[str], Function | None]) -> Undoing:
        """Raises: UnknownName; StateError if it runs."""
        file, stored = await store.claim(run, None)
        try:
            return cls(file, stored, known, Steps.of(stored, known))
        except BaseException:
            await file.close()
            raise

    async def answer(self, place: int, *, made: bool) -> None:
        """A person has looked: whether the write of a call is undone. Raises: InvalidArguments if there is none."""
        at = next((n for n, step in enumerate(self.all.steps) if step.place == place), None)
        if at is None:
            raise InvalidArguments(f"the run has no call {place} that can be undone", hint="--dry-run shows them.")
        await self._file.append([(ENDED, {"n": place, "ok": made, "at": time.time(), "by": "a person"})])
        step = self.all.steps[at]
        self.all.steps[at] = Step(step.place, step.made, step.call, step.arguments, "undone" if made else "open")

    async def undo(self, call: Calls) -> Undone:
        """Undo what is not undone yet, up to the first failure. A run that could go on cannot afterwards."""
        found = Undone(left=[step for step in self.all.steps if step.stands != "undone"])
        if found.left and self._stored.state != "ended" and not self._stored.lost:
            await self._file.append([(b"L", {"why": "its writes were undone"})])
        while found.left:
            step = found.left[0]
            try:
                await self._step(step, call)
            except DoorwardError as error:
                found.failed, found.error = step, error
                break
            found.done.append(found.left.pop(0))
        return found

    async def _step(self, step: Step, call: Calls) -> None:
        function = self._known(step.call)
        again = function is not None and may_repeat(function)
        if step.stands == "unknown" and not (again and step.repeats):
            raise OutcomeUnknown(
                f"whether {step.call} was called is unknown: it was sent, and its answer was lost",
                hint=f"Look what is there, then: --done {step.place} if it was, --again {step.place} if it was not.",
            )
        await self._file.append([(BEGUN, {"n": step.place, "at": time.time(), "repeats": again})])
        try:
            await call(step.call, step.arguments)
        except DoorwardError as error:
            if step.stands != "unknown" or not _is_gone(error, function):
                if again or not_made(error):
                    await self._file.append([(ENDED, {"n": step.place, "ok": False, "at": time.time()})])
                raise
        await self._file.append([(ENDED, {"n": step.place, "ok": True, "at": time.time()})])

    async def close(self) -> None:
        await self._file.close()


def _is_gone(error: DoorwardError, function: Function | None) -> bool:
    """Whether a removal that is made again found that the first one was made."""
    return isinstance(error, ApiError) and error.status in (404, 410) and bool(function and function.destructive)
