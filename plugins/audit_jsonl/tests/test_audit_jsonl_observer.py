"""The audit log: what a line says, what it never says, and what happens when it cannot be written."""

from __future__ import annotations

import gc
import hashlib
import hmac
import json
import os
import socket
import stat
import subprocess
import sys
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pluggy
import pytest
import structlog
from doorward import (
    Call,
    CallRecord,
    ConfigError,
    Failure,
    Function,
    Outcome,
    PluginContext,
    Principal,
    Program,
    RefusedForNow,
)
from doorward.plugins import hookspecs
from doorward_audit_jsonl import AuditLog
from pydantic import ValidationError

SECRET = "hunter2-the-content"
POSIX = pytest.mark.skipif(sys.platform == "win32", reason="POSIX modes and limits")


def audit(state: Path, **settings: Any) -> AuditLog:
    return AuditLog(PluginContext("audit_jsonl", AuditLog.Settings.model_validate(settings), state))


def lines(state: Path, name: str = "doorward.audit.jsonl") -> list[dict[str, Any]]:
    return [json.loads(line) for line in (state / name).read_text().splitlines()]


def call(arguments: Any, run: str = "run-1") -> Call:
    return Call(Function("github", "issues_create"), arguments, run, "ann")


DONE = CallRecord(True, 12.34567, 10, 200)


def test_each_event_is_one_line(tmp_path: Path) -> None:
    """CONTRACT: OBS-02. Run, call and auth events are JSON lines with time, names, outcome, sizes and hashes."""
    hooks = pluggy.PluginManager("doorward")
    for spec in hookspecs.SPECS:
        hooks.add_hookspecs(spec)
    hooks.register(audit(tmp_path), "audit_jsonl")
    hooks.check_pending()
    program = Program("result = 1", params={"a": 1}, principal="ann", run="run-1")
    hooks.hook.auth_chosen(server="github", auth="jwt")
    hooks.hook.run_started(program=program)
    hooks.hook.call_finished(call=call({"title": "t"}), record=DONE)
    outcome = Outcome(
        True,
        value=[1, 2],
        printed="ü\n",
        calls=({"function": "github.issues_create", "ok": True, "count": 3, "ms": 1.0},),
        executor="monty",
        ms=15.1,
    )
    hooks.hook.run_finished(program=program, outcome=outcome)

    auth, started, called, finished = lines(tmp_path)
    code = {
        "run": "run-1",
        "principal": "ann",
        "code_sha256": hashlib.sha256(b"result = 1").hexdigest(),
        "code_bytes": 10,
    }
    for n, line in enumerate((auth, started, called, finished), 1):
        assert line.pop("n") == n
        assert len(line.pop("chain")) == 64
        assert datetime.now(UTC) - datetime.fromisoformat(line.pop("time")) < timedelta(minutes=1)
    assert auth == {"event": "auth_chosen", "server": "github", "auth": "jwt"}
    assert started.pop("params_hmac")
    assert started == {"event": "run_started", **code, "params_bytes": 7}
    assert called.pop("arguments_hmac")
    assert called == {
        "event": "call_finished", "run": "run-1", "principal": "ann", "function": "github.issues_create",
        "ok": True, "ms": 12.346, "error": "", "bytes_in": 10, "bytes_out": 200, "decision": "allow",
    }  # fmt: skip
    assert finished == {
        "event": "run_finished", **code, "ok": True, "ms": 15.1, "error": "", "executor": "monty",
        "calls": 3, "value_bytes": 5, "printed_bytes": 3,
    }  # fmt: skip


def test_the_chain_of_those_who_act(tmp_path: Path) -> None:
    """A token that names its client, and who acts for the person (RFC 8693), has all of them in each line, this gateway
    last; what claims say beyond names is not there, and however many they name, a line stays one."""
    act: Any = {"sub": "planner", "iss": SECRET, "act": {"client_id": "helper", "act": {"act": "?" * 999}}}
    alice = Principal("alice via support", attributes={"azp": "desktop", "act": act, "email": SECRET})
    log = audit(tmp_path)
    log.run_started(Program("1", principal=alice, run="run-1"))
    log.call_finished(replace(call({}), principal=alice), DONE)
    endless: Any = {}
    for _ in range(100):
        endless = {"sub": "x" * 999, "act": endless}
    log.run_started(Program("1", principal=Principal("bob", attributes={"act": endless}), run="run-2"))
    log.run_started(Program("1", principal="ann", run="run-3"))
    started, called, many, plain = lines(tmp_path)
    chain = ["alice", "desktop", "?", "helper", "planner", f"doorward@{socket.gethostname()}"]
    assert started["delegation"] == called["delegation"] == chain
    assert (len(many["delegation"]), len(json.dumps(many))) < (11, 3_000)
    assert "delegation" not in plain
    assert SECRET not in (tmp_path / "doorward.audit.jsonl").read_text()


def test_no_content_is_written(tmp_path: Path) -> None:
    """CONTRACT: AUT-12. Code, parameters, arguments, results, prints, messages and handles stay out of log and key."""
    log = audit(tmp_path)
    program = Program(f"x = '{SECRET}'", params={SECRET: SECRET}, description=SECRET, run="r")
    log.run_started(program)
    log.call_finished(call({"q": SECRET}), DONE)
    failure = Failure("program", "KeyError", SECRET, 1, (), SECRET)
    log.run_finished(program, Outcome(False, SECRET, SECRET, SECRET, SECRET, SECRET, error=failure, notes=(SECRET,)))
    assert SECRET.encode() not in b"".join(f.read_bytes() for f in tmp_path.iterdir())
    assert lines(tmp_path)[2]["error"] == "program:KeyError"


def test_names_that_an_agent_chooses_are_cut(tmp_path: Path) -> None:
    """The name of an exception class is no place for a long text."""
    audit(tmp_path).run_finished(Program("x"), Outcome(False, error=Failure("program", "Letter" * 1000, "")))
    assert len(lines(tmp_path)[0]["error"]) == 200


def test_details_of_a_call(tmp_path: Path) -> None:
    """What a source tells of a call is in its line; a line without has no such field."""
    log = audit(tmp_path)
    log.call_finished(call({}), CallRecord(True, 1, details={"model": "m", "tokens": 12}))
    log.call_finished(call({}), DONE)
    first, second = lines(tmp_path)
    assert first["details"] == {"model": "m", "tokens": 12}
    assert "details" not in second


def test_argument_hashes_are_keyed_and_lasting(tmp_path: Path) -> None:
    """Equal arguments have equal hashes, in any order and after a restart; without the key they cannot be guessed."""
    audit(tmp_path).call_finished(call({"a": 1, "b": 2}), DONE)
    audit(tmp_path).call_finished(call({"b": 2, "a": 1}), DONE)
    audit(tmp_path / "other").call_finished(call({"a": 1, "b": 2}), DONE)
    one, two = (line["arguments_hmac"] for line in lines(tmp_path))
    text = b'{"a":1,"b":2}'
    assert (
        one == two == hmac.new((tmp_path / "doorward.audit.jsonl.key").read_bytes(), text, hashlib.sha256).hexdigest()
    )
    assert lines(tmp_path / "other")[0]["arguments_hmac"] != one
    assert hashlib.sha256(text).hexdigest() not in (tmp_path / "doorward.audit.jsonl").read_text()


def test_hostile_names_stay_in_their_line(tmp_path: Path) -> None:
    """Line breaks and lone surrogates in what an agent chooses do not make or break lines."""
    log = audit(tmp_path)
    bad = 'x\n{"event":"forged"}\u2028\ud800'
    log.run_started(Program(bad, run=bad, principal=bad))
    log.run_finished(Program(bad), Outcome(False, printed=bad, value=bad, error=Failure("program", bad, bad)))
    log.call_finished(call({bad: bad}), CallRecord(False, 1, error=bad))
    raw = (tmp_path / "doorward.audit.jsonl").read_bytes()
    assert raw.count(b"\n") == 3
    assert [json.loads(line)["event"] for line in raw.splitlines()] == ["run_started", "run_finished", "call_finished"]


@POSIX
def test_only_the_user_can_read_log_and_key(tmp_path: Path) -> None:
    """Folder, log and key are private, also where a file lay there with a wider mode."""
    state = tmp_path / "a" / "b"
    audit(state)
    assert stat.S_IMODE(state.stat().st_mode) == 0o700
    assert {f.name: stat.S_IMODE(f.stat().st_mode) for f in state.iterdir()} == {
        "doorward.audit.jsonl": 0o600,
        "doorward.audit.jsonl.head": 0o600,
        "doorward.audit.jsonl.key": 0o600,
    }
    (state / "doorward.audit.jsonl").chmod(0o644)
    audit(state)
    assert stat.S_IMODE((state / "doorward.audit.jsonl").stat().st_mode) == 0o600


@pytest.mark.parametrize("path", ["folder", "file/audit.jsonl"])
def test_an_audit_that_cannot_audit_does_not_start(tmp_path: Path, path: str) -> None:
    """Where the file cannot be opened, the start fails and names the path."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match=r"the audit log cannot be written|is not a regular file") as caught:
        audit(tmp_path, path=tmp_path / path)
    assert caught.value.place == str(tmp_path / path)


@contextmanager
def full(file: Path, room: int) -> Iterator[None]:
    """The file cannot grow by more bytes."""
    import resource

    (soft, hard), writes_none = resource.getrlimit(resource.RLIMIT_FSIZE), sys.dont_write_bytecode
    sys.dont_write_bytecode = True  # Python would leave half the bytecode of what is imported now, and break later
    resource.setrlimit(resource.RLIMIT_FSIZE, (file.stat().st_size + room, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        sys.dont_write_bytecode = writes_none


@POSIX
def test_a_full_disk_costs_no_line(tmp_path: Path) -> None:
    """A write that fails does not reach the run; the log says so once; the lines wait, and none is torn."""
    log = audit(tmp_path)
    log.auth_chosen("0", "jwt")
    file = tmp_path / "doorward.audit.jsonl"
    with structlog.testing.capture_logs() as logs:
        with full(file, 20):
            for n in (1, 2, 3):
                log.auth_chosen(str(n), "jwt")
            assert [line["server"] for line in lines(tmp_path)] == ["0"], "half a line is taken back"
        log.auth_chosen("4", "basic")
    assert [e["event"] for e in logs] == ["audit_not_written"]
    assert [line["server"] for line in lines(tmp_path)] == ["0", "1", "2", "3", "4"]
    assert not any("lost" in line for line in lines(tmp_path))


@POSIX
def test_lines_wait_in_bounded_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What comes when too many wait is lost, and counted: the next line that can be written says how many."""
    monkeypatch.setattr("doorward_audit_jsonl.MAX_WAITING_LINES", 2)
    log = audit(tmp_path)
    log.auth_chosen("0", "jwt")
    with structlog.testing.capture_logs(), full(tmp_path / "doorward.audit.jsonl", 20):
        for n in range(1, 6):
            log.auth_chosen(str(n), "jwt")
    assert log.lost == 3
    log.auth_chosen("6", "jwt")
    assert [line["server"] for line in lines(tmp_path)] == ["0", "1", "2", "6"]
    assert lines(tmp_path)[-1]["lost"] == 3
    log.auth_chosen("7", "jwt")
    assert "lost" not in lines(tmp_path)[-1]


def gone(log: Callable[[], AuditLog | None]) -> bool:
    gc.collect()
    return log() is None


@pytest.mark.slow
def test_a_log_that_nobody_uses_goes_with_its_file(tmp_path: Path) -> None:
    """A process may open many gateways, one after the other."""
    log = audit(tmp_path)
    log.auth_chosen("0", "jwt")
    assert log._file is not None
    file, there = log._file._file, weakref.ref(log)
    assert file is not None
    del log
    assert gone(there)
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(file)


@pytest.mark.slow
@POSIX
def test_a_log_stays_while_lines_wait(tmp_path: Path) -> None:
    """They are written when the process ends, if not before."""
    log = audit(tmp_path)
    there = weakref.ref(log)
    with structlog.testing.capture_logs(), full(tmp_path / "doorward.audit.jsonl", 20):
        log.auth_chosen("0", "jwt")
        log.auth_chosen("1", "jwt")
    del log
    assert not gone(there)
    there().auth_chosen("2", "jwt")  # type: ignore[union-attr]
    assert [line["server"] for line in lines(tmp_path)] == ["0", "1", "2"]
    assert gone(there)


LEFT = """
import gc, resource, signal, sys
from pathlib import Path
from doorward import PluginContext
from doorward_audit_jsonl import AuditLog
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
sys.dont_write_bytecode = True
log = AuditLog(PluginContext("audit_jsonl", AuditLog.Settings(), Path(sys.argv[1])))
resource.setrlimit(resource.RLIMIT_FSIZE, (1, resource.RLIM_INFINITY))
log.auth_chosen("waits", "jwt")
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
del log
gc.collect()
"""


def test_another_language_is_named(tmp_path: Path) -> None:
    """Lines of a run say its language where it is not Python."""
    log = audit(tmp_path)
    log.run_started(Program("1", language="typescript"))
    log.run_finished(Program("1", language="typescript"), Outcome(True))
    log.run_started(Program("1"))
    assert [line.get("language") for line in lines(tmp_path)] == ["typescript", "typescript", None]


@pytest.mark.slow
@POSIX
def test_lines_that_wait_are_written_at_the_end(tmp_path: Path) -> None:
    """Also those of a log that nobody has any more."""
    subprocess.run([sys.executable, "-c", LEFT, str(tmp_path)], check=True, capture_output=True)
    assert [line["server"] for line in lines(tmp_path)] == ["waits"]


@pytest.mark.parametrize("key", [b"", b"short", b"x" * 33])
def test_a_broken_key_stops_the_start(tmp_path: Path, key: bytes) -> None:
    """A key that was cut is not replaced in silence: what the log proves would be gone."""
    audit(tmp_path).auth_chosen("one", "jwt")
    (tmp_path / "doorward.audit.jsonl.key").write_bytes(key)
    with pytest.raises(ConfigError, match="the key of the audit log is broken") as caught:
        audit(tmp_path)
    assert "backup" in (caught.value.hint or "")
    assert (tmp_path / "doorward.audit.jsonl.key").read_bytes() == key


def test_a_new_key_is_told_in_the_log(tmp_path: Path) -> None:
    """Where the key was deleted, the log says from where on the hashes are others."""
    audit(tmp_path).auth_chosen("one", "jwt")
    (tmp_path / "doorward.audit.jsonl.key").unlink()
    audit(tmp_path).auth_chosen("two", "jwt")
    assert [line["event"] for line in lines(tmp_path)] == ["auth_chosen", "key_made", "auth_chosen"]


@POSIX
@pytest.mark.parametrize("name", ["doorward.audit.jsonl", "doorward.audit.jsonl.key"])
@pytest.mark.parametrize("there", [True, False])
def test_no_link_is_followed(tmp_path: Path, name: str, there: bool) -> None:
    """A link in the place of log or key leads to a file that is none of ours: it stays as it is, and the start
    fails."""
    victim = tmp_path / "victim"
    if there:
        victim.write_text("mine")
        victim.chmod(0o644)
    (tmp_path / name).symlink_to(victim)
    with pytest.raises(ConfigError, match="is a link"):
        audit(tmp_path)
    assert victim.exists() == there
    assert not there or (victim.read_text(), stat.S_IMODE(victim.stat().st_mode)) == ("mine", 0o644)


@POSIX
def test_a_link_that_is_put_there_later_is_not_followed(tmp_path: Path) -> None:
    """Nor is one that takes the log's place while it is written: lines wait until the file can be had again."""
    log, file, victim = audit(tmp_path), tmp_path / "doorward.audit.jsonl", tmp_path / "victim"
    victim.write_text("mine")
    file.unlink()
    file.symlink_to(victim)
    log.auth_chosen("one", "jwt")
    assert victim.read_text() == "mine"
    file.unlink()
    log.auth_chosen("two", "jwt")
    assert [line["server"] for line in lines(tmp_path)] == ["one", "two"]


@POSIX
@pytest.mark.parametrize("kind", ["device", "pipe", "other's", "hard link"])
def test_only_a_file_of_ours_is_touched(tmp_path: Path, kind: str) -> None:
    """A device, a pipe, another user's file and a second name of a file are refused, and left as they are."""
    file, other = tmp_path / "doorward.audit.jsonl", tmp_path / "other"
    match kind:
        case "device":
            try:
                os.mknod(file, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
            except PermissionError:
                pytest.skip("only root makes devices")
            file.chmod(0o666)
        case "pipe":
            os.mkfifo(file, 0o666)
            file.chmod(0o666)
        case "other's":
            file.touch(0o666)
            file.chmod(0o666)
            try:
                os.chown(file, 65534, 65534)
            except PermissionError:
                pytest.skip("only root gives files away")
        case "hard link":
            other.touch(0o666)
            other.chmod(0o666)
            os.link(other, file)
    with pytest.raises(ConfigError, match=r"is not a regular file|belongs to another user|hard link"):
        audit(tmp_path)
    assert stat.S_IMODE(file.stat().st_mode) == 0o666


@POSIX
@pytest.mark.parametrize("name", ["doorward.audit.jsonl", "doorward.audit.jsonl.key"])
@pytest.mark.parametrize("text", ["root:x:0:0:root", "[limits]", "-----BEGIN KEY-----"])
def test_a_file_that_is_no_log_stays_as_it_is(tmp_path: Path, name: str, text: str) -> None:
    """A path that names a file of something else: it keeps its mode and its content, and the start fails."""
    (tmp_path / name).write_text(text)
    (tmp_path / name).chmod(0o644)
    with pytest.raises(ConfigError, match=r"is not a file that Doorward made|is broken") as caught:
        audit(tmp_path)
    assert (tmp_path / name).read_text() == text
    assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o644
    assert caught.value.hint


@POSIX
@pytest.mark.parametrize("way", ["device", "link", "pipe"])
def test_who_wants_no_file_is_told_what_to_do(tmp_path: Path, way: str) -> None:
    """/dev/null, /dev/stdout (a link to a pipe) and pipes: nothing is chmodded, no key is made, and the error says how
    to audit nothing, or elsewhere."""
    at = tmp_path / "null"
    if way == "device":
        try:
            os.mknod(at, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
        except PermissionError:
            pytest.skip("only root makes devices")
    else:
        os.mkfifo(at)
    at.chmod(0o666)
    if way == "link":
        (tmp_path / "stdout").symlink_to(at)
    with pytest.raises(ConfigError, match="is not a regular file") as caught:
        audit(tmp_path, path=tmp_path / ("stdout" if way == "link" else "null"))
    assert "`plugins`" in str(caught.value.hint)
    assert "tail -F" in str(caught.value.hint)
    assert stat.S_IMODE(at.stat().st_mode) == 0o666
    assert {path.name for path in tmp_path.iterdir()} <= {"null", "stdout"}


@POSIX
@pytest.mark.parametrize("mode", [0o777, 0o1777, 0o770])
def test_a_folder_of_others_gets_no_log(tmp_path: Path, mode: int) -> None:
    """Others could put what they like in the place of log and key."""
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(mode)
    with pytest.raises(ConfigError, match="other users may write in this folder"):
        audit(tmp_path, path=tmp_path / "open/audit.jsonl")
    assert list((tmp_path / "open").iterdir()) == []


@POSIX
def test_folders_in_between_are_ours_alone(tmp_path: Path) -> None:
    """All that are made, whatever the umask says."""
    before = os.umask(0)
    try:
        audit(tmp_path, path=tmp_path / "a/b/audit.jsonl")
    finally:
        os.umask(before)
    assert {stat.S_IMODE((tmp_path / each).stat().st_mode) for each in ("a", "a/b")} == {0o700}


@POSIX
@pytest.mark.parametrize("number", [1, 2])
@pytest.mark.parametrize("kind", ["link", "pipe", "hard link", "folder"])
def test_an_older_log_that_is_no_file_of_ours_stays(tmp_path: Path, number: int, kind: str) -> None:
    """Nothing is renamed then: the log grows on, and a warning says why, once."""
    strange, victim = tmp_path / f"doorward.audit.jsonl.{number}", tmp_path / "victim"
    victim.write_text("mine")
    match kind:
        case "link":
            strange.symlink_to(victim)
        case "pipe":
            os.mkfifo(strange)
        case "hard link":
            os.link(victim, strange)
        case "folder":
            strange.mkdir()
    before = strange.lstat().st_ino
    with structlog.testing.capture_logs() as logs:
        log = audit(tmp_path, max_bytes=100, keep=2)
        for server in ("one", "two", "three"):
            log.auth_chosen(server, "jwt")
    assert [line["server"] for line in lines(tmp_path)] == ["one", "two", "three"]
    assert [each["event"] for each in logs] == ["audit_not_rotated"]
    assert str(strange) in logs[0]["why"]
    assert (strange.lstat().st_ino, victim.read_text()) == (before, "mine")


def test_a_torn_last_line_is_ended(tmp_path: Path) -> None:
    """After a kill in the middle of a line, the next process does not write on in that line."""
    (tmp_path / "doorward.audit.jsonl").write_text('{"whole":1}\n{"time":"20')
    audit(tmp_path).auth_chosen("github", "jwt")
    assert [bool(t) for t in (tmp_path / "doorward.audit.jsonl").read_text().split("\n")] == [
        True,
        True,
        True,
        True,
        False,
    ]


def test_a_full_file_is_rotated(tmp_path: Path) -> None:
    """The file becomes .1, .1 becomes .2; `keep` older files stay, and the newest lines are in the file."""
    log = audit(tmp_path, max_bytes=300, keep=2)
    for n in range(9):
        log.auth_chosen(f"server-{n}", "jwt")
    ends = ("", ".1", ".2")
    assert sorted(f.name for f in tmp_path.iterdir()) == [
        f"doorward.audit.jsonl{end}" for end in (*ends, ".head", ".key")
    ]
    kept = [line["server"] for end in reversed(ends) for line in lines(tmp_path, f"doorward.audit.jsonl{end}")]
    assert kept == [f"server-{n}" for n in range(9 - len(kept), 9)]
    assert len(kept) >= 4


def test_nothing_older_is_kept_if_so_configured(tmp_path: Path) -> None:
    """With `keep = 0` a full file is dropped."""
    log = audit(tmp_path, max_bytes=10, keep=0)
    log.auth_chosen("github", "jwt")
    assert sorted(f.name for f in tmp_path.iterdir()) == [f"doorward.audit.jsonl{end}" for end in ("", ".head", ".key")]
    assert lines(tmp_path) == []


def test_a_file_moved_by_others_is_followed(tmp_path: Path) -> None:
    """After logrotate moved the file, the next line goes to a new one."""
    log = audit(tmp_path)
    log.auth_chosen("one", "jwt")
    (tmp_path / "doorward.audit.jsonl").rename(tmp_path / "moved")
    log.auth_chosen("two", "jwt")
    assert lines(tmp_path, "moved")[0]["server"] == "one"
    assert lines(tmp_path)[0]["server"] == "two"


WRITER = """
import sys
from pathlib import Path
from doorward import PluginContext
from doorward_audit_jsonl import AuditLog
log = AuditLog(PluginContext("audit_jsonl", AuditLog.Settings(max_bytes=4000, keep=1000), Path(sys.argv[1])))
sys.stdin.readline()
for n in range(200):
    log.auth_chosen(f"{sys.argv[2]}-{n}", "x" * 100)
"""


@pytest.mark.slow
@POSIX
def test_processes_share_the_file(tmp_path: Path) -> None:
    """Lines of processes that write and rotate at the same time are all there, and whole."""
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path), name], stdin=subprocess.PIPE, text=True)
        for name in "abc"
    ]
    for each in writers:
        each.stdin.write("go\n")  # type: ignore[union-attr]
        each.stdin.flush()  # type: ignore[union-attr]
    for each in writers:
        each.communicate()
        assert each.returncode == 0
    files = [f.name for f in tmp_path.iterdir() if f.suffix not in (".key", ".head")]
    servers = [line["server"] for name in files for line in lines(tmp_path, name)]
    assert sorted(servers) == sorted(f"{name}-{n}" for name in "abc" for n in range(200))
    assert len(files) > 2


@pytest.mark.parametrize("settings", [{"max_bytes": 0}, {"keep": -1}, {"file": "x"}])
def test_settings_that_make_no_sense_are_refused(settings: dict[str, Any]) -> None:
    """A size of nothing, a negative count and an unknown key are found when the configuration is read."""
    with pytest.raises(ValidationError):
        AuditLog.Settings.model_validate(settings)


@pytest.mark.slow
def test_the_import_is_light() -> None:
    """Importing the plugin imports no logger and no HTTP client."""
    code = "import sys, doorward_audit_jsonl; print(*({'httpx2', 'structlog', 'anyio', 'mcp'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == ""


# fail = "closed": nothing happens that the log does not say before it happens

PROGRAM = Program("result = 1", principal="ann", run="run-1")
CALL = Call(Function("github", "issues_create"), {"title": "t"}, "run-1", "ann")


def audited(state: Path, fail: str) -> tuple[AuditLog, Any]:
    """The log, and the hooks as a gateway calls them."""
    hooks = pluggy.PluginManager("doorward")
    for spec in hookspecs.SPECS:
        hooks.add_hookspecs(spec)
    log = audit(state, fail=fail)
    hooks.register(log, "audit_jsonl")
    hooks.check_pending()
    return log, hooks.hook


def events(state: Path) -> list[str]:
    return [line["event"] for line in lines(state)]


def test_lines_come_before_what_they_say(tmp_path: Path) -> None:
    """A program and a call are in the log before they begin; nothing is written twice."""
    _, hook = audited(tmp_path, "closed")
    assert not hook.guard_program(program=PROGRAM)
    assert events(tmp_path) == ["run_started"]
    hook.run_started(program=PROGRAM)
    assert hook.guard_call(call=CALL) is None
    assert events(tmp_path) == ["run_started", "call_started"]
    hook.call_finished(call=CALL, record=CallRecord(True, 1))
    hook.run_finished(program=PROGRAM, outcome=Outcome(True))
    assert events(tmp_path) == ["run_started", "call_started", "call_finished", "run_finished"]


@POSIX
def test_what_cannot_be_recorded_is_refused(tmp_path: Path) -> None:
    """While the disk is full, programs and calls are refused; afterwards they are not, and no line is lost."""
    _, hook = audited(tmp_path, "closed")
    hook.auth_chosen(server="github", auth="jwt")
    with structlog.testing.capture_logs(), full(tmp_path / "doorward.audit.jsonl", 20):
        (finding,) = hook.guard_program(program=PROGRAM)
        with pytest.raises(RefusedForNow) as refusal:
            hook.guard_call(call=CALL)
    assert finding[0].refuse
    assert "the audit log cannot be written" in finding[0].message
    assert "Tell the operator" in finding[0].instead
    assert "the audit log cannot be written" in refusal.value.message
    assert "Tell the operator" in str(refusal.value.hint)
    assert not hook.guard_program(program=PROGRAM)
    assert events(tmp_path) == ["auth_chosen", "run_started", "call_started", "run_started"]


@POSIX
def test_open_is_the_default(tmp_path: Path) -> None:
    """Without it no guard is there: what happens does not depend on the log, and a call costs no hook more."""
    log, hook = audited(tmp_path, "open")
    assert AuditLog.Settings().fail == "open"
    assert not hook.guard_call.get_hookimpls()
    assert not hook.guard_program.get_hookimpls()
    assert type(log) is AuditLog


@pytest.mark.parametrize("fail", ["", "ajar"])
def test_a_wrong_word_is_refused(tmp_path: Path, fail: str) -> None:
    """The two words are all there are."""
    with pytest.raises(ValidationError, match="closed"):
        audited(tmp_path, fail)
