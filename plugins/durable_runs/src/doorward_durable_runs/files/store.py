"""Where journals are kept: a protocol, and files of the state folder, one for each run."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any, Literal, Protocol

from anyio import to_thread
from doorward import ConfigError, StateError, UnknownName, log
from doorward.administration import json_digest as digest
from doorward.administration import thread_to_its_end
from doorward.files import flocked, own_file, own_folder, refuse_link, sync_names
from doorward_durable_runs.files import frames
from doorward_durable_runs.files.frames import Frame
from doorward_durable_runs.files.given import Given
from doorward_durable_runs.sealing import Box, Sealing

if TYPE_CHECKING:
    from doorward_durable_runs.files.sweeping import Head
    from doorward_durable_runs.settings import RunSettings

State = Literal["running", "waiting", "interrupted", "died", "ended"]
"""What became of a run: a process runs it, it waits for something, its client left or Doorward was stopped, its process
died, or it is over."""

RESUMABLE = {
    "waiting": "it waits",
    "interrupted": "it was interrupted: its client left, or Doorward was stopped",
    "died": "its process died, or had no room to store the end",
}
"""States of runs that can go on, in words."""

FULL_HINT = "Tell the operator: is the disk of the state folder full?"

_PATIENCE = 0.5
"""Seconds to wait for the lock of a run, which whoever lists runs holds for a moment."""

_FRAMES_AT_ONCE = 20
"""More of them are written in a thread."""

_RUN = re.compile(r"[0-9a-f]{16}")


@dataclass(frozen=True, slots=True)
class StoredRun:
    """A run as it is stored. `lost` says why it cannot be resumed, `until` when that is worth it, in seconds
    since the epoch; `frames` are all, where they were asked for."""

    given: Given
    state: State
    for_: str = ""
    what: tuple[str, ...] = ()
    ok: bool | None = None
    lost: str = ""
    until: int = 0
    frames: Sequence[Frame] = ()
    bytes: int = 0


class RunFile(Protocol):
    """The journal of one run, held by one process."""

    @property
    def count(self) -> int:
        """How many frames it has."""

    async def append(self, frames: Sequence[Frame]) -> int:
        """Store frames, all or none, also if the caller is cancelled meanwhile. Returns: how many there are now.

        Raises: StateError.
        """

    async def close(self) -> None:
        """Let go of it: others may claim the run."""


class RunStore(Protocol):
    """The journals of all runs."""

    async def create(self, given: Given) -> RunFile:
        """A journal for a new run. Raises: StateError, ConfigError."""

    async def claim(self, run: str, principal: str | None) -> tuple[RunFile, StoredRun]:
        """Hold the journal of a stored run; with a principal only theirs. Raises: UnknownName; StateError if it
        runs."""

    async def show(self, run: str, principal: str | None = None) -> StoredRun:
        """A stored run with its frames. Raises: UnknownName, StateError."""

    def any(self) -> bool:
        """Whether a run is stored."""

    async def all(self, principal: str | None = None) -> list[StoredRun]:
        """The stored runs, the newest first, without their frames."""

    async def equal(self, given: Given) -> list[StoredRun]:
        """Other runs of the same program, with the same parameters, of the same principal, with their frames: those
        that no process has, and that have not ended. What cannot be read is left out."""

    async def unread(self) -> int:
        """How many stored runs cannot be read: they were encrypted with another key, or are damaged."""

    async def remove(self, run: str, principal: str | None = None) -> None:
        """Forget a run. Raises: UnknownName, StateError if it runs."""

    async def sweep(self, principal: str | None = None) -> None:
        """Forget runs whose time is over, and the oldest of principals who have too many: of one, or of all."""


class FileRuns:
    """Files that only their owner can read. The lock on a file says that a process has the run."""

    def __init__(self, folder: Path, settings: RunSettings, key: Callable[[], str] | None) -> None:
        self._folder, self._settings = folder, settings
        self._sealing = Sealing(key, folder / "salt", "runs", '; or set [runs] durable = "never"')
        self._new = 0
        self._due: set[str] = set()
        self._heads: dict[Path, Head] = {}
        self._lock = Lock()
        self._sweeping = Thread()
        self._ended: set[str] = set()

    def create(self, given: Given) -> _File:
        box, path = self._box(given.run), self._folder / f"{self._equal(given)}-{given.run}.run"
        with _told():
            own_folder(self._folder, private=True)
            number = own_file(path, os.O_RDWR | os.O_CREAT | os.O_EXCL)
        file = _File(number, given.run, box, self._settings.sync, closed=partial(self._sweep_soon, given.principal))
        flocked(file.number)
        try:
            file.append([(b"H", asdict(given))])
            if self._settings.sync:
                sync_names(self._folder)
        except BaseException:
            path.unlink(missing_ok=True)
            file.close()
            raise
        self._new += 1
        self._sweep_soon(given.principal)
        return file

    def claim(self, run: str, principal: str | None) -> tuple[_File, StoredRun]:
        path, box = self._found(run, principal), self._box(run)
        with _told():
            number = own_file(path, os.O_RDWR, known=frames.are_in)
        try:
            if not flocked(number, _PATIENCE):
                raise StateError(
                    f"the run {run} is running", hint="Ask again in a moment: then it has ended, or waits."
                )
            if not os.fstat(number).st_nlink:
                raise _unknown(run)  # whoever had it has just removed it
            content = _content(number)
            found = _read(content, box, run)
            ends = [end for _, end in frames.read(content, box, only=b"-")]
            os.ftruncate(number, max(ends, default=0))  # behind it is what a process was writing when it died
            if found is None or (principal is not None and found.given.principal != principal):
                raise _unknown(run)
            return _File(number, run, box, self._settings.sync, len(ends)), found
        except BaseException:
            os.close(number)
            raise

    def show(self, run: str, principal: str | None = None) -> StoredRun:
        found = self._state(self._found(run, principal), run, everything=True)
        if found is None or (principal is not None and found.given.principal != principal):
            raise _unknown(run)
        return found

    def any(self) -> bool:
        return not self._folder.is_symlink() and any(self._folder.glob("*-*.run"))

    def all(self, principal: str | None = None) -> list[StoredRun]:
        found = (self._state(path, path.stem.rpartition("-")[2]) for path in self._paths(principal))
        kept = [each for each in found if each and (principal is None or each.given.principal == principal)]
        return sorted(kept, key=lambda each: each.given.created, reverse=True)

    def equal(self, given: Given) -> list[StoredRun]:
        found: list[StoredRun] = []
        for path in self._matching(f"{self._equal(given)}-*.run"):
            run = path.stem.rpartition("-")[2]
            if run != given.run and path.name not in self._ended:
                with contextlib.suppress(OSError, ConfigError, StateError):
                    found += self._open(path, run)
        return found

    def _open(self, path: Path, run: str) -> Iterator[StoredRun]:
        """The run of a file, if no process has it and it has not ended; those that have are not looked at again."""
        number = own_file(path, os.O_RDONLY, known=frames.are_in)
        try:
            if b"O" in frames.kinds(number):
                self._ended.add(path.name)
            elif flocked(number) and (stored := _read(_content(number), self._box(run), run)) is not None:
                yield stored
        finally:
            os.close(number)

    def unread(self) -> int:
        return sum(self._state(path, path.stem.rpartition("-")[2]) is None for path in self._paths(None))

    def remove(self, run: str, principal: str | None = None) -> None:
        file, _ = self.claim(run, principal)
        try:
            self._found(run, principal).unlink(missing_ok=True)
        finally:
            file.close()

    def sweep(self, principal: str | None = None) -> None:
        from doorward_durable_runs.files.sweeping import sweep

        paths = self._paths(principal)
        if principal is None:
            self._new, self._heads = 0, {path: self._heads[path] for path in paths if path in self._heads}
        elif len(paths) <= self._settings.most:
            return
        sweep(paths, self._settings, self._box, time.time(), self._heads)

    def _sweep_soon(self, principal: str) -> None:
        """Have the runs of a principal swept in a thread: it may take long, and runs go on."""
        with self._lock:
            self._due.add(principal)
            if not self._sweeping.is_alive():
                self._sweeping = Thread(target=self._sweep_due, daemon=True)
                self._sweeping.start()

    def _sweep_due(self) -> None:
        while True:
            with self._lock:
                if not self._due:
                    self._sweeping = Thread()
                    return
                principal = self._due.pop()
            try:
                self.sweep(None if self._new * 4 > self._settings.most else principal)
            except Exception as error:
                log.warning("runs_not_swept", why=f"{type(error).__name__}: {error}")

    def _state(self, path: Path, run: str, *, everything: bool = False) -> StoredRun | None:
        """A stored run; `None` if there is none any more, or if it cannot be read."""
        try:
            number = own_file(path, os.O_RDONLY, known=frames.are_in)
        except (OSError, ConfigError):
            return None
        try:
            running = not flocked(number)
            return _read(_content(number), self._box(run), run, everything=everything, running=running)
        except StateError:
            if everything:
                raise
            return None
        finally:
            os.close(number)

    def _equal(self, given: Given) -> str:
        """How the names of the files of equal programs of a principal begin."""
        program = digest(given.code, given.language, given.params, *given.argv)
        return f"{_whose(given.principal)}-{self._sealing.box('programs').keyed(program)[:12]}"

    def _paths(self, principal: str | None) -> list[Path]:
        return self._matching("*-*.run" if principal is None else f"{_whose(principal)}-*.run")

    def _matching(self, names: str) -> list[Path]:
        """The files with such names. Raises: ConfigError if the folder is a link."""
        refuse_link(self._folder)
        return [*self._folder.glob(names)]

    def _found(self, run: str, principal: str | None) -> Path:
        if not _RUN.fullmatch(run):
            raise _unknown(run)
        paths = [path for path in self._paths(principal) if path.stem.endswith(f"-{run}") and path.is_file()]
        if not paths:
            raise _unknown(run)
        return paths[0]

    def _box(self, run: str) -> Box:
        return self._sealing.box(f"run {run}")


class FileRunStore:
    """A `RunStore` of files. What may take long is done in threads; a few frames are written at once."""

    def __init__(self, files: FileRuns) -> None:
        self._files = files
        self.any = files.any

    async def create(self, given: Given) -> RunFile:
        return _Held(self._files.create(given))

    async def claim(self, run: str, principal: str | None) -> tuple[RunFile, StoredRun]:
        file, stored = await thread_to_its_end(
            self._files.claim, run, principal, give_up=lambda claimed: claimed[0].close()
        )
        return _Held(file), stored

    async def show(self, run: str, principal: str | None = None) -> StoredRun:
        return await to_thread.run_sync(self._files.show, run, principal)

    async def all(self, principal: str | None = None) -> list[StoredRun]:
        return await to_thread.run_sync(self._files.all, principal)

    async def equal(self, given: Given) -> list[StoredRun]:
        return await to_thread.run_sync(self._files.equal, given)

    async def unread(self) -> int:
        return await to_thread.run_sync(self._files.unread)

    async def remove(self, run: str, principal: str | None = None) -> None:
        await thread_to_its_end(self._files.remove, run, principal)

    async def sweep(self, principal: str | None = None) -> None:
        await to_thread.run_sync(self._files.sweep, principal)


class _Held:
    """A `RunFile` of a file that is held."""

    def __init__(self, file: _File) -> None:
        self._file = file

    @property
    def count(self) -> int:
        return self._file.count

    async def append(self, frames: Sequence[Frame]) -> int:
        if len(frames) > _FRAMES_AT_ONCE:
            return await thread_to_its_end(self._file.append, frames)
        return self._file.append(frames)

    async def close(self) -> None:
        self._file.close()


class _File:
    """An open file with its lock, to which frames are appended."""

    def __init__(
        self, number: int, run: str, box: Box, sync: bool, count: int = 0, closed: Callable[[], None] = lambda: None
    ) -> None:
        self.number = number
        self._run, self._box, self._sync = run, box, sync
        self.count, self._closed = count, closed

    def append(self, said: Sequence[Frame]) -> int:
        parts = [frames.written(kind, what, self.count + n, self._box) for n, (kind, what) in enumerate(said)]
        content = b"".join(parts if self.count else [frames.MAGIC, *parts])
        end = os.lseek(self.number, 0, os.SEEK_END)
        try:
            written = os.write(self.number, content)
            if written < len(content):
                raise OSError(28, os.strerror(28))
            if self._sync:
                os.fdatasync(self.number)
        except OSError as error:
            with contextlib.suppress(OSError):
                os.ftruncate(self.number, end)
            raise StateError(
                f"the journal of the run {self._run} cannot be written: {error.strerror}",
                hint=FULL_HINT,
            ) from None
        self.count += len(parts)
        return self.count

    def close(self) -> None:
        with contextlib.suppress(OSError):
            os.close(self.number)
        self._closed()


@frames.understood()
def _read(content: bytes, box: Box, run: str, *, everything: bool = True, running: bool = False) -> StoredRun | None:
    """What a file says of the run that it is called after; `None` if it says nothing of that."""
    kept: list[Frame] = []
    state: State = "running" if running else "died"
    waits: dict[str, Any] = {}
    over: dict[str, Any] | None = None
    lost, interrupted = "", False
    for frame, _ in frames.read(content, box, b"" if everything else frames.SUMMARIES):
        if frame is None:
            continue
        kept.append(frame)
        kind, said = frame
        if kind in (b"W", b"R", b"I"):
            waits, interrupted = said, kind == b"I"
        elif kind == b"L":
            lost = said["why"]
        elif kind == b"O":
            over = said
    if not kept or kept[0][0] != b"H" or kept[0][1].get("run") != run:
        return None
    given = Given.read(kept[0][1])
    if given.at_once and not running and not any(kind == b"W" for kind, _ in kept):
        lost = "what it had done was not stored to the end"  # to begin anew would repeat what was sent
    if over is not None:
        state = "ended"
    elif not running and waits.get("for"):
        state = "waiting"
    elif not running and interrupted:
        state = "interrupted"
    return StoredRun(
        given, state, waits.get("for", ""), tuple(waits.get("what", ())),
        None if over is None else bool(over.get("ok")), lost, waits.get("until", 0),
        kept if everything else (), len(content),
    )  # fmt: skip


def _whose(principal: str) -> str:
    return hashlib.sha256(principal.encode()).hexdigest()[:12]


def _content(number: int) -> bytes:
    with open(number, "rb", closefd=False) as file:
        file.seek(0)
        return file.read()


def _unknown(run: str) -> UnknownName:
    return UnknownName(
        f"there is no stored run {run[:40]!r}", hint="Runs are kept for a while only, and belong to one principal."
    )


@contextlib.contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StateError(f"the folder of stored runs cannot be used: {error.strerror}", hint=FULL_HINT) from None
