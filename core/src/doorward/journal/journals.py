"""The journals of a gateway: one for each run that may have to wait, and those of stored runs that go on."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from doorward.journal.given import Given
from doorward.journal.recorder import Journal
from doorward.journal.replay import StoredJournal
from doorward.model.errors import StateError

if TYPE_CHECKING:
    from doorward.config.run_settings import RunSettings
    from doorward.journal.store import RunStore, StoredRun
    from doorward.model.programs import Program


class Journals:
    """Makes journals as `[runs]` says."""

    def __init__(self, store: RunStore, settings: RunSettings) -> None:
        self.store, self._settings = store, settings

    def new(self, program: Program) -> Journal | None:
        """The journal of a run that begins; `None` if nothing is stored of runs."""
        if self._settings.durable == "never":
            return None
        return self._of(Given.of(program, self._settings.keep * 3600))

    def claim(self, run: str, principal: str | None) -> tuple[Journal, Given, StoredJournal]:
        """Hold a stored run, so that it can go on. Raises: UnknownName; StateError if it runs, or cannot go on."""
        file, stored = self.store.claim(run, principal)
        try:
            _check(stored)
            said = StoredJournal.read(stored)
            journal = self._of(stored.given)
            journal.go_on(file, said)
        except BaseException:
            file.close()
            raise
        return journal, stored.given, said

    def answer(self, run: str, *, again: bool) -> int:
        """Say of the calls of a run whose outcome is unknown whether they are sent again. Returns: how many they are.

        Raises: UnknownName, StateError.
        """
        file, stored = self.store.claim(run, None)
        try:
            _check(stored)
            unknown = StoredJournal.read(stored).unknown
            if unknown:
                file.append([(b"A", {"n": entry.place, "again": again}) for entry in unknown])
        finally:
            file.close()
        return len(unknown)

    def _of(self, given: Given) -> Journal:
        always = self._settings.durable == "always"
        return Journal(given, self.store, always=always, most=self._settings.max_bytes)


def _check(stored: StoredRun) -> None:
    """Raises: StateError if a run cannot go on."""
    run = stored.given.run
    if stored.state == "ended":
        raise StateError(f"the run {run} is over", hint=f"What it did: doorward runs show {run}")
    if stored.lost:
        raise StateError(f"the run {run} cannot be resumed: {stored.lost}", hint="Run the program anew.")
    if stored.given.expires <= time.time():
        raise StateError(f"the run {run} is older than runs are kept", hint="Run the program anew.")
