"""`doorward schedule`: what the scheduler of each system is told."""

from __future__ import annotations

import plistlib
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from doorward_cli.schedule import Job, Scheduler, scheduler
from doorward_testing import Cli
from doorward_testing.samples import CONFIG

WORDS = ("programs", "run", "overdue", "--branch", 'No"r\\th %n $HOME & <so>')
WEEKDAYS = Job("overdue", ("/usr/bin/true", *WORDS), "/tmp", hour=7, minute=5, days=(0, 4, 6))
MINUTES = Job("often", ("/usr/bin/true", *WORDS), "/tmp", every=15)


@pytest.fixture
def system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scheduler:
    """The scheduler of Linux, with a `systemctl` that notes how it is called, and fails while a file `down` is there."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    tool = tmp_path / "bin" / "systemctl"
    tool.parent.mkdir()
    tool.write_text(
        f'#!/bin/sh\necho "$@" >> {tmp_path}/asked\nif [ -e {tmp_path}/down ]; then echo no bus >&2; exit 1; fi\n'
    )
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tool.parent), prepend=":")
    return scheduler("linux")


@pytest.mark.slow
def test_a_job_comes_and_goes(cli: Cli, doorward_host: Any, system: Scheduler, tmp_path: Path) -> None:
    """It is written, read by the scheduler, listed, replaced and removed."""
    doorward_host.write(CONFIG)
    config = str(doorward_host.folder / "doorward.toml")
    added = cli(
        "schedule", "add", "overdue", "--at", "7:05", "--on", "sat-mon", "--json", "--", "refresh", "--check"
    ).json
    assert added["when"] == "mon sat sun at 07:05"
    assert added["command"][1:] == ["-I", "-m", "doorward", "refresh", "--check", "--config", config]
    assert "every 15 minutes" in cli("schedule", "add", "overdue", "--every", "15", "--", "refresh").out
    assert [*cli("schedule", "list", "--json").json] == ["overdue"]
    assert "OnUnitActiveSec=15min" in (system.folder / "doorward-overdue.timer").read_text()
    assert "removed" in cli("schedule", "remove", "overdue").out
    assert [*system.folder.iterdir()] == []
    enable, disable = "--user enable --now doorward-overdue.timer", "--user disable --now doorward-overdue.timer"
    reload = "--user daemon-reload"
    assert (tmp_path / "asked").read_text().splitlines() == [reload, enable, reload, enable, disable]


@pytest.mark.slow
def test_what_the_scheduler_refuses_changes_nothing(
    cli: Cli, doorward_host: Any, system: Scheduler, tmp_path: Path
) -> None:
    doorward_host.write(CONFIG)
    cli("schedule", "add", "kept", "--every", "15", "--", "refresh")
    (tmp_path / "down").touch()
    for name in ("kept", "new"):
        assert "no bus" in cli("schedule", "add", name, "--at", "07:00", "--", "refresh").err
    assert [*cli("schedule", "list", "--json").json] == ["kept"]
    assert "OnUnitActiveSec=15min" in (system.folder / "doorward-kept.timer").read_text()
    assert cli("schedule", "remove", "kept").code == 2
    assert [*cli("schedule", "list", "--json").json] == ["kept"]


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["Bad name", "--every", "5", "refresh"], "no name"),
        (["a", "refresh"], "give --at"),
        (["a", "--at", "7:00", "--every", "5", "refresh"], "give --at"),
        (["a", "--every", "5", "--on", "mon", "refresh"], "--on says"),
        (["a", "--at", "24:00", "refresh"], "no time"),
        (["a", "--at", "7:00", "--on", "mo", "refresh"], "no days"),
        (["a", "--at", "7:00", "nonsense"], "no command 'nonsense'"),
        (["a", "--at", "7:00", "refresh", "x\ny"], "control characters"),
    ],
)
def test_what_makes_no_sense_is_refused(cli: Cli, doorward_host: Any, words: list[str], why: str) -> None:
    doorward_host.write(CONFIG)
    refused = cli("schedule", "add", *words)
    assert (refused.code, why in refused.err) == (2, True), refused.err


def test_nothing_is_scheduled_without_a_configuration(cli: Cli) -> None:
    assert "no configuration" in cli("schedule", "add", "a", "--at", "7:00", "--print", "refresh").err


def test_systemd_gets_each_word_as_it_was() -> None:
    """Its quotes are those of a shell, but for `%` and `$`, which are doubled."""
    service = scheduler("linux").files(WEEKDAYS)["doorward-overdue.service"].decode()
    (line,) = (line for line in service.splitlines() if line.startswith("ExecStart="))
    words = [word.replace("%%", "%").replace("$$", "$") for word in shlex.split(line.removeprefix("ExecStart="))]
    assert tuple(words) == WEEKDAYS.command


@pytest.mark.slow
@pytest.mark.parametrize("job", [WEEKDAYS, MINUTES], ids=["by the clock", "by minutes"])
def test_systemd_takes_the_files(tmp_path: Path, job: Job) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is absent: it comes with systemd")
    files = {tmp_path / name: content for name, content in scheduler("linux").files(job).items()}
    for file, content in files.items():
        file.write_bytes(content)
    words = ["systemd-analyze", "verify", "--man=no", *map(str, files)]
    told = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (told.returncode, [line for line in told.stderr.splitlines() if "doorward" in line]) == (0, [])


# The keys of launchd.plist(5) that are used, with their types and, of numbers, what they may be.
LAUNCHD = {
    "Label": str, "ProgramArguments": [str], "WorkingDirectory": str, "StandardOutPath": str, "StandardErrorPath": str,
    "StartInterval": range(1, 2**31),
    "StartCalendarInterval": [{"Minute": range(60), "Hour": range(24), "Weekday": range(8)}],
}  # fmt: skip
# Of the published "Task Scheduler Schema": what stands below the elements that are used, and in this order where that is
# an `xs:sequence`; in an `xs:all` it is free.
TASKS = "{http://schemas.microsoft.com/windows/2004/02/mit/task}"
WINDOWS = {
    "Task": ["RegistrationInfo", "Triggers", "Principals", "Settings", "Data", "Actions"],
    "TimeTrigger": ["Enabled", "StartBoundary", "EndBoundary", "Repetition", "ExecutionTimeLimit", "RandomDelay"],
    "CalendarTrigger": ["Enabled", "StartBoundary", "EndBoundary", "Repetition", "ExecutionTimeLimit", "RandomDelay",
        "ScheduleByDay", "ScheduleByWeek"],
    "Repetition": ["Interval", "Duration", "StopAtDurationEnd"],
    "ScheduleByWeek": ["WeeksInterval", "DaysOfWeek"],
    "DaysOfWeek": ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"],
    "Triggers": ["TimeTrigger", "CalendarTrigger"], "Principals": ["Principal"], "Actions": ["Exec"],
    "Principal": ["UserId", "LogonType", "GroupId", "DisplayName", "RunLevel"],
    "Settings": ["DisallowStartIfOnBatteries", "StopIfGoingOnBatteries", "StartWhenAvailable"],
    "Exec": ["Command", "Arguments", "WorkingDirectory"],
}  # fmt: skip
SEQUENCES = {"TimeTrigger", "CalendarTrigger"}
JOBS = pytest.mark.parametrize("job", [WEEKDAYS, MINUTES], ids=["by the clock", "by minutes"])


def fits(value: object, rule: Any) -> bool:
    """Whether a value of a property list is what its key may have."""
    if isinstance(rule, list):
        return isinstance(value, list) and bool(value) and all(fits(each, rule[0]) for each in value)
    if isinstance(rule, dict):
        return isinstance(value, dict) and all(key in rule and fits(each, rule[key]) for key, each in value.items())
    return value in rule if isinstance(rule, range) else isinstance(value, rule)


@JOBS
def test_launchd_knows_each_key(job: Job) -> None:
    """Each is in launchd.plist(5), with a value of its type; days count from Sunday; the words are as they were."""
    (content,) = scheduler("darwin").files(job).values()
    agent = plistlib.loads(content)
    assert fits(agent, LAUNCHD), agent
    assert (agent["Label"], agent["ProgramArguments"]) == (f"doorward.{job.name}", [*job.command])
    when = [{"Weekday": day, "Hour": 7, "Minute": 5} for day in (1, 5, 0)]
    assert agent.get("StartInterval", agent.get("StartCalendarInterval")) == (900 if job is MINUTES else when)


def test_launchd_forgets_a_job_before_it_reads_its_file_again() -> None:
    """It reads no file whose job it has: that of the same name goes first, and may have gone before."""
    mac = scheduler("darwin")
    assert [words[1] for words in (*mac.replace("often"), *mac.start("often"))] == ["bootout", "enable", "bootstrap"]
    assert mac.stop("often") == mac.replace("often")


@JOBS
def test_windows_knows_each_element(job: Job) -> None:
    """Each stands in the schema's order, and says who, when and what: the words are as they were."""
    windows = scheduler("win32")
    (content,) = windows.files(job).values()
    task = ElementTree.fromstring(content)
    found = {}
    for element in task.iter():
        name, *inner = (each.tag.removeprefix(TASKS) for each in (element, *element))
        found[name] = element.text
        assert {*inner} <= {*WINDOWS.get(name, [])}, name
        assert name not in SEQUENCES or inner == sorted(inner, key=WINDOWS[name].index), name
    assert found["Arguments"] == subprocess.list2cmdline(WORDS)
    assert found["UserId"]
    assert found.get("Interval", "PT15M") == "PT15M"
    assert ("Monday" in found, "Tuesday" in found) == (job is WEEKDAYS, False)
    assert windows.start("overdue")[0][:4] == ("schtasks", "/Create", "/F", "/TN")
