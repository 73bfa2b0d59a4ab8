"""The journals of a gateway: one for each run that may have to wait, and those of stored runs that go on."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from doorward import ConfigError, Failure, InvalidArguments, Outcome, StateError, UnknownName, log
from doorward.administration import open_store
from doorward.administration import run_in_thread as off_loop
from doorward_durable_runs.journal import commit_end
from doorward_durable_runs.journal.entries import patience
from doorward_durable_runs.journal.recorder import Journal
from doorward_durable_runs.settings import RunSettings
from doorward_durable_runs.storage.frames import NOT_KNOWN
from doorward_durable_runs.storage.given import Given
from doorward_durable_runs.storage.run_store import RESUMABLE
from doorward_durable_runs.storage.store_runs import StoreRuns

if TYPE_CHECKING:
    from doorward import Program
    from doorward.configuration import Loaded
    from doorward.engines import Store
    from doorward_durable_runs.journal.replay import StoredJournal
    from doorward_durable_runs.storage.run_store import RunFile, RunStore, StoredRun


_PATIENCE_WITH_OTHER_CODE = 0.05
"""Other code may leave calls out: then answers do not wait long for them."""

_SHOWN_RUNS = 5
_LISTED_RUNS = 20
_ABOUT_CHARACTERS = 80


def state_in_words(stored: StoredRun) -> str:
    """What became of a run that can go on."""
    if stored.state == "interrupted" and stored.what:
        return f"it was interrupted: {stored.what[0]}"
    return RESUMABLE[stored.state]


class TooEarly(StateError):
    """The `stored` run waits until a time that is known, and has not come."""

    def __init__(self, stored: StoredRun) -> None:
        super().__init__(f"the run {stored.given.run} waits")
        self.stored = stored


class Journals:
    """Makes journals as `[runs]` says."""

    def __init__(self, store: RunStore, settings: RunSettings) -> None:
        self.store, self.settings = store, settings

    @classmethod
    def of(cls, loaded: Loaded, store: Store, given: RunStore | None = None) -> Journals:
        """Those of a configuration: in its store, or in what is given in place of that.

        Raises: ConfigError if runs are to be durable in a store that does not last.
        """
        settings = getattr(loaded.config, "runs", None) or RunSettings()
        key, before = loaded.config.vault_keys
        if given is not None:
            return cls(given, settings)
        if settings.durable == "always" and not store.lasts:
            hint = '`pip install doorward-store-sqlite` brings a store that lasts; or set durable = "waits".'
            raise ConfigError('"always" needs a store that outlasts this process', place="[runs] durable", hint=hint)
        folder = loaded.state_folder() / "runs"
        if not store.lasts and any(folder.glob("*.run")):
            why, hint = "the store ends with this process", "`pip install doorward-store-sqlite` brings one that lasts."
            log.warning("not_taken_over", path=str(folder), why=why, hint=hint)
        earlier = folder if store.lasts else None
        return cls(StoreRuns(store, settings, key, earlier, before), settings)

    def new(self, program: Program) -> Journal | None:
        """The journal of a run that begins; `None` if nothing is stored of runs."""
        if self.settings.durable == "never":
            return None
        return self._of(Given.of(program, self.settings.keep * 3600))

    def resuming(self, run: str) -> str:
        """See `doorward.administration.Recorders`."""
        return f'resume_run("{run}")'

    async def claim(self, run: str, principal: str | None) -> tuple[Journal, Given, StoredJournal]:
        """Hold a stored run, so that it can go on. Raises: UnknownName; TooEarly; StateError if it runs, or cannot go
        on."""
        try:
            file, stored = await self.store.claim(run, principal)
        except UnknownName as error:
            theirs = [each for each in await self.store.all(principal) if each.state in RESUMABLE and not each.lost]
            listed = ", ".join(
                f"{each.given.run} ({each.for_ or state_in_words(each)})" for each in theirs[:_SHOWN_RUNS]
            )
            error.hint = f"These can be resumed: {listed}." if listed else error.hint
            raise
        try:
            _check(stored)
            if stored.state == "waiting" and stored.until > time.time():
                raise TooEarly(stored)
            said = await off_loop(_read, stored)
            journal = self._of(stored.given, commits=said.committed)
            await journal.go_on(file, said)
        except BaseException:
            await file.close()
            raise
        return journal, stored.given, said

    async def claim_or_outcome(self, run: str, principal: str | None) -> tuple[Journal, Given, StoredJournal] | Outcome:
        """Hold a stored run; or tell how it ended, also if somebody else was quicker. Raises: as `claim`."""
        if (outcome := await self.outcome(run, principal)) is not None:
            return outcome
        try:
            return await self.claim(run, principal)
        except StateError:
            if (outcome := await self.outcome(run, principal)) is None:
                raise
            return outcome

    async def outcome(self, run: str, principal: str | None) -> Outcome | None:
        """How a run ended that is over; `None` if it is not, or if there is none. Raises: StateError."""
        from doorward_durable_runs.journal import endings

        try:
            stored = await self.store.show(run, principal)
        except UnknownName:
            return None
        return endings.read(stored) if stored.state == "ended" else None

    async def open(self, principal: str | None) -> list[dict[str, Any]]:
        """The runs of a principal that wait or were cut off, the newest first, without plans: what each waits for, and
        what it has sent that may not be repeated."""
        from doorward_durable_runs.journal.equal_runs import sent

        found: list[dict[str, Any]] = []
        for each in await self.store.all(principal):
            if each.state in RESUMABLE and each.for_ != "plan" and len(found) < _LISTED_RUNS:
                with suppress(UnknownName, StateError):
                    calls = await off_loop(sent, await self.store.show(each.given.run, principal))
                    found.append(_in_brief(each) | ({"sent": calls} if calls else {}))
        return found

    async def give_up(self, run: str, principal: str | None) -> None:
        """End a run that waits or was cut off, so that its program may be run again. What it did stays stored.

        Raises: UnknownName; StateError if it runs, or has ended.
        """
        from doorward_durable_runs.journal import endings

        file, stored = await self.store.claim(run, principal)
        try:
            if stored.state == "ended":
                raise _over(run)
            error = Failure("program", "GivenUp", "this run was given up", hint="Its program may be run again.")
            end = {"ok": False, "at": time.time(), "outcome": endings.said(Outcome(False, error=error))}
            await file.append([(b"O", end)])
        finally:
            await file.close()

    def plan(self, stored: StoredRun) -> StoredJournal:
        """What is stored of a plan that can be committed. Raises: StateError if it cannot be."""
        run = stored.given.run
        if stored.state == "ended":
            hint = f'resume_run("{run}") tells what came of it; for an operator: doorward runs show {run}'
            came = commit_end.told(run, _read(stored).entries, (), ok=bool(stored.ok)) or ["it was committed"]
            raise StateError(f"the plan {run} is over: {came[0].rstrip('.')}", hint=hint)
        if stored.given.expires <= time.time():
            raise StateError(f"the plan {run} is older than plans are kept", hint="Plan the program anew.")
        said = _read(stored)
        if said.committed or stored.for_ != "plan":
            was = "is committed in part" if said.committed else "is not complete"
            raise StateError(f"the plan {run} {was}", hint=f'resume_run("{run}") lets it go on.')
        return said

    async def commit(self, file: RunFile, given: Given, said: StoredJournal) -> Journal:
        """The journal of a run that commits a stored plan, whose file is held. Raises: StateError."""
        journal = self._of(given, commits=True)
        await journal.go_on(file, said)
        return journal

    async def replay(self, run: str, code: str | None) -> tuple[Journal, Given, StoredJournal]:
        """A stored run to be played again; see `play`. Raises: UnknownName, StateError."""
        return await self.play(await self.store.show(run), code)

    async def play(self, stored: StoredRun, code: str | None) -> tuple[Journal, Given, StoredJournal]:
        """A run with its frames, to be played again on its recorded answers alone, perhaps with other code. Raises:
        StateError."""
        given = stored.given if code is None else replace(stored.given, code=code)
        said = await off_loop(_read, stored)
        journal = self._of(given, commits=said.committed)
        journal.play(said, patience(given, said.entries) if code is None else _PATIENCE_WITH_OTHER_CODE)
        return journal, given, said

    async def answer(
        self, run: str, *, again: bool = False, made: tuple[Any, ...] = (), place: int | None = None
    ) -> int:
        """Say of the calls of a run whose outcome is unknown, or of the one at a place, whether they are sent again; or
        that they were `made`, and what the program gets as the answer.

        Returns: how many they are. Raises: UnknownName, StateError; InvalidArguments if an answer is said of several.
        """
        file, stored = await self.store.claim(run, None)
        try:
            _check(stored)
            unknown = [each for each in _read(stored).unknown if place in (None, each.place)]
            if made not in ((), (None,)) and len(unknown) > 1:
                places = ", ".join(str(entry.place) for entry in unknown)
                raise InvalidArguments("an answer is that of one call", hint=f"Say of which: {places}.")
            how = {"made": made[0]} if made else {"again": again}
            if unknown:
                await file.append([(b"A", {"n": entry.place, **how}) for entry in unknown])
        finally:
            await file.close()
        return len(unknown)

    def _of(self, given: Given, *, commits: bool = False) -> Journal:
        kind: type[Journal] = Journal
        if commits:
            from doorward_durable_runs.journal.commit_journal import CommitJournal

            kind = CommitJournal
        always = self.settings.durable == "always" and not given.plan  # a plan that dies is simply made again
        return kind(given, self.store, always=always, most=self.settings.max_bytes)


@asynccontextmanager
async def open_journals(loaded: Loaded) -> AsyncIterator[Journals]:
    """The journals of a configuration, for whoever administers it without a gateway. Raises: ConfigError."""
    async with open_store(loaded) as store:
        journals = Journals.of(loaded, store)
        try:
            yield journals
        finally:
            await journals.store.close()


def _read(stored: StoredRun) -> StoredJournal:
    from doorward_durable_runs.journal.replay import StoredJournal

    return StoredJournal.read(stored)


def _in_brief(stored: StoredRun) -> dict[str, Any]:
    given = stored.given
    created = datetime.fromtimestamp(given.created, UTC).isoformat(timespec="seconds")
    about = given.about[:_ABOUT_CHARACTERS]
    said = {"run": given.run, "state": RESUMABLE[stored.state], "for": [*stored.what], "cannot_resume": stored.lost}
    return {key: value for key, value in (said | {"begun": created, "program": about}).items() if value}


def _over(run: str, how: str = "") -> StateError:
    return StateError(f"the run {run} is over{how}", hint=f"What it did: doorward runs show {run}")


def _check(stored: StoredRun) -> None:
    """Raises: StateError if a run cannot go on."""
    run = stored.given.run
    if stored.state == "ended":
        raise _over(run, ": it succeeded" if stored.ok else ": it failed")
    if stored.for_ == "plan":
        raise StateError(f"the run {run} is a plan, and complete", hint=f'commit_plan("{run}") carries it out.')
    if stored.lost:
        raise StateError(f"the run {run} cannot be resumed: {stored.lost}", hint=_what_it_sent(stored))
    if stored.given.expires <= time.time():
        raise StateError(f"the run {run} is older than runs are kept", hint=_what_it_sent(stored))


def _what_it_sent(stored: StoredRun) -> str:
    from doorward_durable_runs.journal.sent import sent_calls

    if stored.given.at_once and not any(kind == b"W" for kind, _ in stored.frames):
        return NOT_KNOWN
    return sent_calls(_read(stored).entries)
