"""`doorward audit`, as the command line has it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from doorward import Call, CallRecord, Function, Outcome, PluginContext, Program
from doorward_audit_jsonl import AuditLog
from doorward_testing import Cli, check_light_import

CONFIG = 'state = "state"\nplugins = ["audit_jsonl"]\n'


@pytest.fixture
def commands(cli: Cli, doorward_host: Any) -> Cli:
    doorward_host.install_real("audit", "audit_jsonl")
    doorward_host.write(CONFIG)
    return cli


def state_of(host: Any) -> Path:
    return Path(host.folder) / "state"


def write(state: Path) -> None:
    log = AuditLog(PluginContext("audit_jsonl", AuditLog.Settings(), state))
    log.auth_chosen("github", "jwt")
    call = Call(Function("github", "issues_create"), {"title": "t"}, "run-1", "ann")
    log.call_finished(call, CallRecord(False, 12.5, error="Refused"))


@pytest.mark.parametrize("words", [("audit", "verify"), ("audit", "show")])
def test_every_command_explains_itself(commands: Cli, words: tuple[str, ...]) -> None:
    """Each command has help, and takes --config, --env-file and --json. CONTRACT: CLI-03."""
    ended = commands(*words, "--help")
    assert ended.code == 0
    assert all(option in ended.out for option in ("--config", "--env-file", "--json"))


def test_help_names_it(commands: Cli) -> None:
    """`--help` says what it does."""
    assert "  audit      Verify the audit log, or show lines of it\n" in commands("--help").out


def test_verify_says_whether_the_log_is_whole(commands: Cli, doorward_host: Any) -> None:
    """CONTRACT: OBS-02. It ends with 0 and tells the last line; with 1 and what is wrong, where a line was changed."""
    write(state_of(doorward_host))
    whole = commands("audit", "verify", "--json")
    assert (whole.code, whole.json["ok"], whole.json["lines"]) == (0, True, 2)
    assert commands("audit", "verify", "--holds", whole.json["last"]).code == 0
    file = state_of(doorward_host) / "doorward.audit.jsonl"
    file.write_text(file.read_text().replace("issues_create", "issues_list"))
    broken = commands("audit", "verify")
    assert broken.code == 1
    assert "doorward.audit.jsonl:2 (line 2) was changed" in broken.err
    assert "is NOT whole" in broken.out


def test_verify_tells_runs_that_died(commands: Cli, doorward_host: Any) -> None:
    """A run whose process was killed has a beginning and no end; one that went on elsewhere has one."""
    log = AuditLog(PluginContext("audit_jsonl", AuditLog.Settings(), state_of(doorward_host)))
    for run in ("died", "over", "resumed", "resumed"):
        log.run_started(Program("1", run=run))
    for run in ("over", "resumed", ""):
        log.run_finished(Program("1", run=run), Outcome(True))
    told = commands("audit", "verify", "--json")
    assert told.json["notes"] == ["1 run(s) have no end: they run now, or died with their process: died"]
    assert told.code == 0


def test_a_copy_is_verified_elsewhere(commands: Cli, doorward_host: Any, tmp_path: Path) -> None:
    """With the paths of log and key, and without a configuration that knows them."""
    state = state_of(doorward_host)
    write(state)
    key = tmp_path / "key"
    (state / "doorward.audit.jsonl.key").rename(key)
    log = str(state / "doorward.audit.jsonl")
    assert commands("audit", "verify", "--log", log).code == 2
    assert commands("audit", "verify", "--log", log, "--key", str(key)).code == 0
    key.write_bytes(b"x" * 32)
    assert commands("audit", "verify", "--log", log, "--key", str(key)).code == 1


def test_what_is_missing_is_said(commands: Cli) -> None:
    """Without a log, and with a place that is none, the message says what to do."""
    assert "plugins = [" in commands("audit", "verify").err
    assert "plugins = [" in commands("audit", "show").err
    assert "64 hexadecimal digits" in commands("audit", "verify", "--holds", "7").err


def test_show_finds_lines(commands: Cli, doorward_host: Any) -> None:
    """By run, principal, function, kind and failure; the newest are at the end."""
    write(state_of(doorward_host))
    assert [line["event"] for line in commands("audit", "show", "--json").json["lines"]] == [
        "auth_chosen",
        "call_finished",
    ]
    for words in (
        ("--run", "run-1"),
        ("--principal", "ann"),
        ("--function", "github.issues_create"),
        ("--event", "call_finished"),
        ("--failed",),
        ("--last", "1"),
    ):
        (line,) = commands("audit", "show", "--json", *words).json["lines"]
        assert line["function"] == "github.issues_create"
    assert commands("audit", "show", "--json", "--run", "other").json["lines"] == []
    assert "Refused in 12.5 ms\tallow" in commands("audit", "show").out


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_show_goes_on_with_what_is_logged(
    commands: Cli, doorward_host: Any, monkeypatch: pytest.MonkeyPatch, form: tuple[str, ...]
) -> None:
    """`--follow` shows what comes, also in a file that follows the first; a line that is being written comes whole."""
    state = state_of(doorward_host)
    write(state)
    log, looks = state / "doorward.audit.jsonl", []

    def look(seconds: float) -> None:
        looks.append(seconds)
        if len(looks) == 1:
            with log.open("ab") as opened:
                opened.write(b'{"event": "call_finished", "function": "a.b", "ok": true}\n{"event": "call_fi')
        elif len(looks) == 2:
            with log.open("ab") as opened:
                opened.write(b'nished", "function": "a.c"}\n')
            log.rename(log.with_name("doorward.audit.jsonl.1"))
            log.write_bytes(b'{"event": "call_finished", "function": "a.d"}\n{"event": "auth_chosen"}\n')
        elif len(looks) == 4:
            raise KeyboardInterrupt

    monkeypatch.setattr("doorward_audit_jsonl.command.time.sleep", look)
    ended = commands("audit", "show", "--follow", "--last", "1", "--event", "call_finished", *form)
    assert ended.code == 130
    lines = ended.out.splitlines()
    assert [name for line in lines for name in ("issues_create", "a.b", "a.c", "a.d") if name in line] == [
        "issues_create",
        "a.b",
        "a.c",
        "a.d",
    ]
    assert "auth_chosen" not in ended.out


@pytest.mark.slow
def test_the_command_is_light() -> None:
    """It imports no server and no HTTP client."""
    check_light_import("doorward_audit_jsonl.command")
