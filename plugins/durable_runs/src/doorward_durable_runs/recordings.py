"""A stored run as a text that can be kept, for a bug report or a test, and programs that run on it."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from doorward import DoorwardError, StateError
from doorward.administration import mask_tokens
from doorward.recording import RecordedProgram

from doorward_durable_runs.journal import endings
from doorward_durable_runs.journal.entries import HELPERS
from doorward_durable_runs.journal.replay import StoredJournal
from doorward_durable_runs.storage.frames import understood
from doorward_durable_runs.storage.given import Given
from doorward_durable_runs.storage.run_store import StoredRun

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from doorward import Outcome
    from doorward.recording import RecordedCall

    from doorward_durable_runs.stored_runs import StoredRuns

FORMAT = 1
"""The version of the text."""


def recording_of(stored: StoredRun) -> str:
    """All frames of a run as JSON. Credentials of ours are in no answer; what looks like one in the program, or in what
    an API answered, is hidden."""
    given = {key: value for key, value in asdict(stored.given).items() if key != "principal"}
    frames = [{"kind": kind.decode(), **said} for kind, said in stored.frames[1:]]
    text = json.dumps({"format": FORMAT, "given": given, "frames": frames}, ensure_ascii=False, indent=1)
    return mask_tokens(text, "[hidden]")


def run_of(recording: str) -> StoredRun:
    """The run of such a text. Raises: StateError."""
    with understood():
        said: dict[str, Any] = json.loads(recording)
        if said["format"] != FORMAT:
            raise StateError(f"a recording of format {said['format']} cannot be read", hint="Record it again.")
        frames = [
            (each["kind"].encode(), {key: value for key, value in each.items() if key != "kind"})
            for each in said["frames"]
        ]
        return StoredRun(Given.read({"principal": "local", **said["given"]}), "ended", ok=True, frames=frames)


def _call(text: str) -> str:
    """The text of a call as it stands in a program; as it is, if it was cut."""
    function, _, said = text.partition(" ")
    try:
        args, kwargs = json.loads(said)
        named = [f"{key}={value!r}" for key, value in kwargs.items()]
        return f"{function}({', '.join([*map(repr, args), *named])})"
    except (ValueError, TypeError, AttributeError):
        return text


class JournalRecordings:
    """The `doorward.recording.Recordings` of the stored runs of a gateway."""

    def __init__(self, runs: StoredRuns) -> None:
        self._runs = runs

    async def programs(self) -> Sequence[RecordedProgram]:
        found = []
        for each in await self._runs.journals.store.all():
            if each.state == "ended" and each.ok and not each.given.plan:
                with suppress(DoorwardError):
                    stored = await self._runs.journals.store.show(each.given.run)  # a list has no programs
                    given, entries = stored.given, StoredJournal.read(stored).entries
                    calls = tuple(dict.fromkeys(e.function for e in entries if not e.function.startswith(HELPERS)))
                    about = given.run, given.principal, given.code, given.language, given.description
                    found.append(RecordedProgram(*about, given.functions, calls))
        return found

    async def of_run(self, run: str) -> str:
        return recording_of(await self._runs.journals.store.show(run))

    async def recording(self, code: str, principal: str) -> str | None:
        store = self._runs.journals.store
        for each in await store.all(principal):
            if each.state == "ended" and each.ok and not each.given.plan:
                with suppress(DoorwardError):
                    stored = await store.show(each.given.run)  # a list has no programs
                    ends = StoredJournal.read(stored).ends
                    if stored.given.code == code and all(
                        entry.error is not None or entry.reply is not None for entry in ends
                    ):
                        return recording_of(stored)
        return None

    def calls(self, recording: str) -> Sequence[str]:
        entries = StoredJournal.read(run_of(recording)).entries
        return [_call(entry.text) + (f" failed: {entry.error}" if entry.error else "") for entry in entries]

    async def replay(
        self, recording: str, code: str | None, answered: Callable[[RecordedCall], None] = lambda call: None
    ) -> tuple[Outcome, Outcome | None]:
        stored = run_of(recording)
        return await self._runs.play(stored, code, answered), endings.read(stored)
