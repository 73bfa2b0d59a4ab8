"""The chain of the lines: what `verify` finds, and what processes that are killed or share the file leave of it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import structlog
from doorward import PluginContext
from doorward_audit_jsonl import AuditLog
from doorward_audit_jsonl.chain import Link
from doorward_audit_jsonl.verify import Verdict, verify

NAME = "doorward.audit.jsonl"
POSIX = pytest.mark.skipif(sys.platform == "win32", reason="POSIX locks and signals")


def audit(state: Path, **settings: Any) -> AuditLog:
    return AuditLog(PluginContext("audit_jsonl", AuditLog.Settings.model_validate(settings), state))


def verdict(state: Path, holds: Link | None = None) -> Verdict:
    return verify(state / NAME, (state / f"{NAME}.key").read_bytes(), holds)


def written(state: Path, count: int = 6, **settings: Any) -> Path:
    log = audit(state, **settings)
    for n in range(count):
        log.auth_chosen(f"server-{n}", "jwt")
    return state / NAME


def test_a_log_that_nobody_touched_is_whole(tmp_path: Path) -> None:
    """Over restarts too: each line has its number and is chained to the one before."""
    written(tmp_path, 3)
    file = written(tmp_path, 2)
    assert [json.loads(line)["n"] for line in file.read_text().splitlines()] == [1, 2, 3, 4, 5]
    found = verdict(tmp_path)
    assert (found.ok, found.lines, found.first, found.last.n, found.notes) == (True, 5, 1, 5, [])


def changed(lines: list[bytes]) -> None:
    lines[2] = lines[2].replace(b"server-2", b"server-x")


def changed_last(lines: list[bytes]) -> None:
    lines[-1] = lines[-1].replace(b"server-5", b"server-x")


def removed(lines: list[bytes]) -> None:
    del lines[2]


def removed_first(lines: list[bytes]) -> None:
    del lines[0]


def swapped(lines: list[bytes]) -> None:
    lines[2], lines[3] = lines[3], lines[2]


def cut_off(lines: list[bytes]) -> None:
    del lines[-2:]


def twice(lines: list[bytes]) -> None:
    lines.insert(3, lines[2])


def renumbered(lines: list[bytes]) -> None:
    del lines[2]
    for n in range(2, 5):
        lines[n] = lines[n].replace(b'"n":%d' % (n + 2), b'"n":%d' % (n + 1))


def put_there(lines: list[bytes]) -> None:
    lines.insert(3, b'{"time":"2026-01-01T00:00:00.000+00:00","event":"auth_chosen","server":"x"}\n')


def forged_tail(lines: list[bytes]) -> None:
    lines.append(lines[-1].replace(b'"n":6', b'"n":7').replace(b"server-5", b"server-9"))


def unchained(lines: list[bytes]) -> None:
    lines[0] = lines[0].partition(b',"n":')[0] + b"}\n"


TAMPERING = (
    changed, changed_last, removed, removed_first, swapped, cut_off, twice, renumbered, put_there, forged_tail,
    unchained,
)  # fmt: skip


@pytest.mark.parametrize("goes_on", [False, True])
@pytest.mark.parametrize("tamper", TAMPERING)
def test_tampering_is_found(tmp_path: Path, tamper: Callable[[list[bytes]], None], goes_on: bool) -> None:
    """CONTRACT: OBS-02. Changed, removed, swapped, repeated, added and cut off lines, also after the log went on."""
    file = written(tmp_path)
    lines = file.read_bytes().splitlines(keepends=True)
    tamper(lines)
    file.write_bytes(b"".join(lines))
    if goes_on:
        written(tmp_path, 3)
    assert not verdict(tmp_path).ok


@pytest.mark.parametrize("name", [f"{NAME}.head", f"{NAME}.key"])
def test_without_head_or_key_nothing_is_proven(tmp_path: Path, name: str) -> None:
    """Whoever cuts lines off and takes the head away is found, also after a restart: the log says that it was made
    anew."""
    file = written(tmp_path)
    file.write_bytes(b"".join(file.read_bytes().splitlines(keepends=True)[:3]))
    (tmp_path / name).unlink()
    assert name.endswith(".key") or not verdict(tmp_path).ok
    written(tmp_path, 2)
    found = verdict(tmp_path)
    assert not found.ok
    assert found.problems


def test_a_noted_line_must_be_there(tmp_path: Path) -> None:
    """Who has the key can write log and head anew: a line that was noted elsewhere tells."""
    written(tmp_path)
    noted = verdict(tmp_path).last
    written(tmp_path, 2)
    assert verdict(tmp_path, noted).ok
    for file in (NAME, f"{NAME}.head"):
        (tmp_path / file).unlink()
    written(tmp_path, 4)
    assert verdict(tmp_path).ok
    assert verdict(tmp_path, noted).problems == ["line 6, which was noted, is missing"]
    written(tmp_path, 4)
    assert "is not the one that was noted" in verdict(tmp_path, noted).problems[0]


@pytest.mark.parametrize("keep", [0, 1, 3])
def test_rotation_keeps_the_chain(tmp_path: Path, keep: int) -> None:
    """Files that are dropped take their lines along; what is left begins where the head says."""
    written(tmp_path, 40, max_bytes=700, keep=keep)
    found = verdict(tmp_path)
    assert found.ok, found.problems
    assert found.last.n in (0, 40)
    assert found.files == keep + 1
    oldest = tmp_path / (f"{NAME}.{keep}" if keep else NAME)
    oldest.unlink()
    assert not verdict(tmp_path).ok or not keep


def test_lines_from_before_the_chain_stay(tmp_path: Path) -> None:
    """A log of an earlier version goes on; `verify` says that its lines prove nothing."""
    file = tmp_path / NAME
    (tmp_path / f"{NAME}.key").write_bytes(b"k" * 32)
    file.write_text('{"time":"2026-01-01T00:00:00.000+00:00","event":"auth_chosen","server":"a","auth":"jwt"}\n' * 3)
    written(tmp_path, 2)
    found = verdict(tmp_path)
    assert found.ok
    assert "3 line(s) at the beginning are older than the chain" in found.notes[0]


def test_a_torn_line_is_a_note(tmp_path: Path) -> None:
    """A kill in the middle of a line is no tampering: the chain goes on after it."""
    file = written(tmp_path, 2)
    with file.open("ab") as opened:
        opened.write(b'{"time":"2026-01-01T00:00:0')
    written(tmp_path, 2)
    found = verdict(tmp_path)
    assert found.ok, found.problems
    assert "1 line(s) were torn" in found.notes[0]


def test_a_line_that_the_head_does_not_know_is_taken_up(tmp_path: Path) -> None:
    """A process that is killed between a line and the head leaves the head one line behind."""
    written(tmp_path, 2)
    head = (tmp_path / f"{NAME}.head").read_bytes()
    written(tmp_path, 2)
    (tmp_path / f"{NAME}.head").write_bytes(head)
    assert verdict(tmp_path).ok
    written(tmp_path, 1)
    found = verdict(tmp_path)
    assert (found.ok, found.last.n) == (True, 5)


def test_old_files_are_dropped(tmp_path: Path) -> None:
    """With a retention, files whose last line is too old go, and the chain begins later; others stay, however many."""
    written(tmp_path, 12, max_bytes=300, retention=30)
    files = sorted(tmp_path.glob(f"{NAME}.*[0-9]"), key=lambda file: int(file.suffix[1:]), reverse=True)
    assert len(files) > 5
    for file in files[:2]:
        os.utime(file, (time.time() - 31 * 86400,) * 2)
    audit(tmp_path, max_bytes=300, retention=30)
    assert not any(file.exists() for file in files[:2])
    assert all(file.exists() for file in files[2:])
    found = verdict(tmp_path)
    assert found.ok, found.problems
    assert found.first > 1


@pytest.mark.anyio
async def test_a_day_has_its_files(tmp_path: Path) -> None:
    """With a retention, a file that was begun more than a day ago is followed by the next one, also while nothing
    happens."""
    old = '{"time":"2026-01-01T00:00:00.000+00:00","event":"auth_chosen","server":"a","auth":"jwt"}\n'
    (tmp_path / f"{NAME}.key").write_bytes(b"k" * 32)
    (tmp_path / NAME).write_text(old)
    log = audit(tmp_path, retention=30)
    await log.flush()
    assert (tmp_path / f"{NAME}.1").read_text() == old
    assert (tmp_path / NAME).read_text() == ""
    await log.flush()
    assert not (tmp_path / f"{NAME}.2").exists()


WRITER = """
import sys
from pathlib import Path
from doorward import PluginContext
from doorward_audit_jsonl import AuditLog
settings = AuditLog.Settings(max_bytes=4000, keep=1000)
log = AuditLog(PluginContext("audit_jsonl", settings, Path(sys.argv[1])))
print("ready", flush=True)
sys.stdin.readline()
n = 0
while n < int(sys.argv[3]):
    log.auth_chosen(f"{sys.argv[2]}-{n}", "x" * 100)
    n += 1
"""


def writer(state: Path, name: str, count: int) -> subprocess.Popen[str]:
    words = [sys.executable, "-c", WRITER, str(state), name, str(count)]
    started = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert started.stdout is not None
    assert started.stdout.readline() == "ready\n"
    return started


def go(*writers: subprocess.Popen[str]) -> None:
    for each in writers:
        assert each.stdin
        each.stdin.write("go\n")
        each.stdin.flush()


def test_a_head_that_is_removed_meanwhile_is_not_forgotten(tmp_path: Path) -> None:
    """Whoever takes the head away and cuts lines off while a process writes is found."""
    log = audit(tmp_path)
    for n in range(4):
        log.auth_chosen(str(n), "jwt")
    (tmp_path / f"{NAME}.head").unlink()
    log.auth_chosen("4", "jwt")
    assert verdict(tmp_path).ok
    (tmp_path / f"{NAME}.head").unlink()
    lines = (tmp_path / NAME).read_bytes().splitlines(keepends=True)
    (tmp_path / NAME).write_bytes(b"".join(lines[:3]))
    log.auth_chosen("5", "jwt")
    assert not verdict(tmp_path).ok


@pytest.mark.slow
@POSIX
def test_processes_share_the_chain(tmp_path: Path) -> None:
    """Lines of processes that write and rotate at the same time are in one chain, none is missing."""
    writers = [writer(tmp_path, name, 200) for name in "ab"]
    go(*writers)
    for each in writers:
        each.communicate()
        assert each.returncode == 0
    found = verdict(tmp_path)
    assert found.ok, found.problems
    assert (found.lines, found.last.n) == (400, 400)
    assert found.files > 2


@pytest.mark.slow
@POSIX
@pytest.mark.parametrize("seconds", [0.005, 0.02, 0.05])
def test_a_kill_in_the_middle_breaks_nothing(tmp_path: Path, seconds: float) -> None:
    """`kill -9` while two processes write: the other one goes on, and so does the next."""
    dies, lives = writer(tmp_path, "dies", 10**9), writer(tmp_path, "lives", 100)
    go(dies, lives)
    time.sleep(seconds)
    dies.send_signal(signal.SIGKILL)
    for each in (dies, lives):
        each.communicate()
    written(tmp_path, 3)
    found = verdict(tmp_path)
    assert found.ok, found.problems
    text = b"".join(file.read_bytes() for file in tmp_path.glob(f"{NAME}*") if file.suffix not in (".key", ".head"))
    assert text.count(b'"server":"lives-') == 100


class _Killed(BaseException):
    """The process has ended, here and now."""


class _Kills:
    """Ends a process at one of the things that it asks of the system: before it, or in the middle of a line."""

    def __init__(self, at: int, half: bool) -> None:
        self._left, self._half = at, half
        self.done = False

    def asked(self, name: str, real: Callable[..., Any], *given: Any, **named: Any) -> Any:
        if not self.done and self._left:
            self._left -= 1
            return real(*given, **named)
        if not self.done and self._half and name == "write":
            real(given[0], given[1][: len(given[1]) // 2])
        self.done = True
        raise _Killed


@POSIX
@pytest.mark.parametrize("half", [False, True])
@pytest.mark.anyio
async def test_a_kill_anywhere_breaks_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, half: bool) -> None:
    """At each thing that a process asks of the system, also while it rotates: one that has the log open goes on."""
    for at in range(1000):
        state = tmp_path / str(at)
        state.mkdir()
        lives, dies = audit(state, max_bytes=300, keep=2), audit(state, max_bytes=300, keep=2)
        lives.auth_chosen("before", "jwt")
        kills = _Kills(at, half)
        with monkeypatch.context() as patched:
            for name in ("write", "pwrite", "rename", "replace", "unlink", "open"):
                patched.setattr(os, name, partial(kills.asked, name, getattr(os, name)))
            with suppress(_Killed):
                for n in range(4):
                    dies.auth_chosen(str(n), "jwt")
        assert dies._file is not None
        dies._file.close()
        await lives.flush()
        for n in range(2):
            lives.auth_chosen(f"after-{n}", "jwt")
        found = verdict(state)
        assert found.ok, (at, found.problems)
        if not kills.done:
            return


def test_a_line_that_nothing_proves_is_told(tmp_path: Path) -> None:
    """A file that was dropped is put there once more, with a forged line that has the hash of the last one in it."""
    written(tmp_path, 6, max_bytes=300, keep=3)
    oldest = tmp_path / f"{NAME}.3"
    last = oldest.read_bytes().splitlines(keepends=True)[-1]
    written(tmp_path, 2, max_bytes=300, keep=3)
    assert not verdict(tmp_path).notes
    (tmp_path / f"{NAME}.4").write_bytes(last.replace(b"server-", b"forged-"))
    found = verdict(tmp_path)
    assert not found.ok or "proves nothing" in found.notes[0], (found.problems, found.notes)


@pytest.mark.slow
@POSIX
def test_a_stuck_process_stops_no_run(tmp_path: Path) -> None:
    """Where another process never gives the log back, lines wait in memory, and the first one alone waits a second."""
    import fcntl

    log = audit(tmp_path)
    with (tmp_path / f"{NAME}.head").open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with structlog.testing.capture_logs() as logs:
            for n in range(5):
                log.auth_chosen(str(n), "jwt")
        assert [each["event"] for each in logs] == ["audit_not_written"]
        assert (tmp_path / NAME).read_text() == ""
    log.auth_chosen("last", "jwt")
    assert [json.loads(line)["server"] for line in (tmp_path / NAME).read_text().splitlines()] == [*"01234", "last"]
    assert verdict(tmp_path).ok


def test_a_line_asks_the_system_little(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each call has a line: what is known of log and head is not asked again."""
    log = audit(tmp_path)
    log.auth_chosen("server-0", "jwt")
    made: list[str] = []
    for name in ("open", "close", "lstat", "stat", "fstat", "lseek", "read", "write", "pread", "pwrite", "ftruncate"):
        monkeypatch.setattr(os, name, partial(_noted, made, name, getattr(os, name)))
    log.auth_chosen("server-1", "jwt")
    assert made == ["lstat", "lstat", "pread", "write", "pwrite"]


def _noted(made: list[str], name: str, asked: Callable[..., Any], *given: Any, **named: Any) -> Any:
    made.append(name)
    return asked(*given, **named)
