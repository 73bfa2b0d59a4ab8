"""`doorward schedule`: the operating system runs a command again and again.

Each job is a file or two for the system's own scheduler: a timer of the user's systemd, an agent of launchd, or a task
of Windows.
"""

from __future__ import annotations

import contextlib
import getpass
import os
import plistlib
import re
import subprocess
import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from xml.sax.saxutils import escape

import click
from doorward import ConfigError, StateError, UnknownName

from doorward_cli.shared import Project, common, print_json, say

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")

_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,40}")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")

_SECONDS = 60.0
"""How long the system's scheduler may take to answer."""


@dataclass(frozen=True, slots=True)
class Job:
    """What is run in which folder, and when: at `hour` and `minute` on `days` (0 is Monday), or `every` so many
    minutes."""

    name: str
    command: tuple[str, ...]
    folder: str
    every: int = 0
    hour: int = 0
    minute: int = 0
    days: tuple[int, ...] = ()

    @property
    def when(self) -> str:
        """The same in words."""
        if self.every:
            return f"every {self.every} minutes"
        days = "every day" if len(self.days) == len(DAYS) else " ".join(DAYS[day] for day in self.days)
        return f"{days} at {self.hour:02}:{self.minute:02}"


class Scheduler(ABC):
    """The scheduler of an operating system: `folder` has its files, one of which is called as `file` says."""

    folder: Path

    @abstractmethod
    def file(self, name: str) -> str:
        """The name of the file that says when a job is run."""

    @abstractmethod
    def files(self, job: Job) -> Mapping[str, bytes]:
        """The files of a job, by name."""

    def replace(self, name: str) -> Sequence[Sequence[str]]:
        """The commands that have it forget what it read before, where it reads nothing again by itself."""
        return ()

    @abstractmethod
    def start(self, name: str) -> Sequence[Sequence[str]]:
        """The commands that have the scheduler read these files."""

    @abstractmethod
    def stop(self, name: str) -> Sequence[Sequence[str]]:
        """The commands that have it forget them, as long as they are there."""

    encoding = "utf-8"
    """That of its files."""

    more = ""
    """What else a person has to know."""

    def names(self) -> list[str]:
        """The jobs that there are."""
        before, after = self.file("*").split("*")
        found = [file.name.removeprefix(before).removesuffix(after) for file in self.folder.glob(self.file("*"))]
        return sorted(name for name in found if _NAME.fullmatch(name))


class Systemd(Scheduler):
    """Timers of the user's systemd: see systemd.timer(5)."""

    more = (
        "It runs while you are logged in; `loginctl enable-linger` lets it run always. "
        "Output: journalctl --user -u doorward-{}"
    )

    def __init__(self) -> None:
        configuration = os.environ.get("XDG_CONFIG_HOME", "").strip() or Path.home() / ".config"
        self.folder = Path(configuration) / "systemd/user"

    def file(self, name: str) -> str:
        return f"doorward-{name}.timer"

    def files(self, job: Job) -> Mapping[str, bytes]:
        minutes = f"OnActiveSec={job.every}min\nOnUnitActiveSec={job.every}min"
        days = ",".join(DAYS[day].capitalize() for day in job.days)
        when = minutes if job.every else f"OnCalendar={days} *-*-* {job.hour:02}:{job.minute:02}:00\nPersistent=true"
        service = (
            f"[Unit]\nDescription=Doorward: {job.name}\n\n[Service]\nType=oneshot\n"
            f"WorkingDirectory={_of_systemd(job.folder)}\nExecStart={' '.join(map(_word_of_systemd, job.command))}\n"
            "# a run that waits for a person has not failed\nSuccessExitStatus=4\n"
        )
        timer = f"[Unit]\nDescription=Doorward: {job.name}\n\n[Timer]\n{when}\n\n[Install]\nWantedBy=timers.target\n"
        return {f"doorward-{job.name}.service": service.encode(), self.file(job.name): timer.encode()}

    def start(self, name: str) -> Sequence[Sequence[str]]:
        return [("systemctl", "--user", "daemon-reload"), ("systemctl", "--user", "enable", "--now", self.file(name))]

    def stop(self, name: str) -> Sequence[Sequence[str]]:
        return [("systemctl", "--user", "disable", "--now", self.file(name))]


def _of_systemd(text: str) -> str:
    return text.replace("\\", "\\\\").replace("%", "%%")


def _word_of_systemd(word: str) -> str:
    """A word of a command line: see systemd.service(5), "Command lines"."""
    return '"' + _of_systemd(word).replace('"', '\\"').replace("$", "$$") + '"'


class Launchd(Scheduler):
    """Agents of macOS's launchd: see launchd.plist(5), and launchctl(1) for the commands that replaced `load`."""

    def __init__(self) -> None:
        self.folder = Path.home() / "Library/LaunchAgents"
        self.more = f"It runs while you are logged in. Output: {self._log('{}')}"
        self._domain = f"gui/{getattr(os, 'getuid', int)()}"

    def _log(self, name: str) -> Path:
        return Path.home() / f"Library/Logs/doorward-{name}.log"

    def file(self, name: str) -> str:
        return f"doorward.{name}.plist"

    def files(self, job: Job) -> Mapping[str, bytes]:
        # 0 is Sunday there
        days = [{"Weekday": (day + 1) % 7, "Hour": job.hour, "Minute": job.minute} for day in job.days]
        when = {"StartInterval": job.every * 60} if job.every else {"StartCalendarInterval": days}
        log = str(self._log(job.name))
        about = {
            "Label": f"doorward.{job.name}", "ProgramArguments": list(job.command), "WorkingDirectory": job.folder,
            "StandardOutPath": log, "StandardErrorPath": log,
        }  # fmt: skip
        return {self.file(job.name): plistlib.dumps(about | when)}

    def replace(self, name: str) -> Sequence[Sequence[str]]:
        return self.stop(name)

    def start(self, name: str) -> Sequence[Sequence[str]]:
        return [
            ("launchctl", "enable", f"{self._domain}/doorward.{name}"),
            ("launchctl", "bootstrap", self._domain, str(self.folder / self.file(name))),
        ]

    def stop(self, name: str) -> Sequence[Sequence[str]]:
        return [("launchctl", "bootout", f"{self._domain}/doorward.{name}")]


_WINDOWS_SETTINGS = {
    "DisallowStartIfOnBatteries": "false", "StopIfGoingOnBatteries": "false", "StartWhenAvailable": "true",
}  # fmt: skip


class WindowsTasks(Scheduler):
    """Tasks of Windows: see "Task Scheduler Schema" in its documentation, which says in which order elements stand."""

    encoding = "utf-16"
    more = "It runs while you are logged in, on batteries too."

    def __init__(self) -> None:
        self.folder = Path(os.environ.get("APPDATA", "").strip() or Path.home()) / "doorward/schedule"

    def file(self, name: str) -> str:
        return f"{name}.xml"

    def files(self, job: Job) -> Mapping[str, bytes]:
        start = f"2026-01-01T{job.hour:02}:{job.minute:02}:00"
        if job.every:
            repeated = f"<Repetition><Interval>PT{job.every}M</Interval></Repetition>"
            trigger = f"<TimeTrigger><StartBoundary>{start}</StartBoundary>{repeated}</TimeTrigger>"
        else:
            names = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
            days = "".join(f"<{names[day]} />" for day in job.days)
            weekly = f"<ScheduleByWeek><DaysOfWeek>{days}</DaysOfWeek><WeeksInterval>1</WeeksInterval></ScheduleByWeek>"
            trigger = f"<CalendarTrigger><StartBoundary>{start}</StartBoundary>{weekly}</CalendarTrigger>"
        program, words = job.command[0], subprocess.list2cmdline(job.command[1:])
        # schtasks wants to know who; the default is that a laptop without its cable runs nothing
        user = "\\".join(filter(None, (os.environ.get("USERDOMAIN", ""), getpass.getuser())))
        who = f"<Principal><UserId>{escape(user)}</UserId><LogonType>InteractiveToken</LogonType></Principal>"
        settings = "".join(f"<{key}>{value}</{key}>" for key, value in _WINDOWS_SETTINGS.items())
        text = (
            '<?xml version="1.0" encoding="UTF-16"?>\n'
            '<Task version="1.2" xmlns="http://schemas.microsoft.com/windows/2004/02/mit/task">'
            f"<Triggers>{trigger}</Triggers><Principals>{who}</Principals><Settings>{settings}</Settings>"
            f"<Actions><Exec><Command>{escape(program)}</Command><Arguments>{escape(words)}</Arguments>"
            f"<WorkingDirectory>{escape(job.folder)}</WorkingDirectory></Exec></Actions></Task>\n"
        )
        return {self.file(job.name): text.encode(self.encoding)}

    def start(self, name: str) -> Sequence[Sequence[str]]:
        xml = str(self.folder / self.file(name))
        return [("schtasks", "/Create", "/F", "/TN", f"Doorward\\{name}", "/XML", xml)]

    def stop(self, name: str) -> Sequence[Sequence[str]]:
        return [("schtasks", "/Delete", "/F", "/TN", f"Doorward\\{name}")]


def scheduler(platform: str = sys.platform) -> Scheduler:
    """The scheduler of a platform, as `sys.platform` names it."""
    return {"darwin": Launchd, "win32": WindowsTasks}.get(platform, Systemd)()


@click.group()
def schedule() -> None:
    """Have the operating system run a command of Doorward again and again: a refresh, or a saved program."""


@schedule.command(context_settings={"ignore_unknown_options": True})
@common
@click.argument("name")
@click.argument("words", nargs=-1, required=True, type=click.UNPROCESSED)
@click.option("--at", metavar="HH:MM", help="The time of the day, as this machine's clock says.")
@click.option("--on", metavar="DAYS", help="Days, such as mon-fri or sat,sun; every day if not given.")
@click.option("--every", type=click.IntRange(1, 1440), metavar="MINUTES", help="Instead of a time: so many minutes.")
@click.option("--print", "only_print", is_flag=True, help="Print the files, and change nothing.")
def add(
    project: Project, name: str, words: tuple[str, ...], at: str, on: str, every: int | None, only_print: bool
) -> None:
    """Run `doorward WORDS` by a schedule, under this configuration; one of the same NAME is replaced.

    Such as: doorward schedule add overdue --at 07:00 --on mon-fri -- programs run overdue --branch North
    """
    job, system = _job(project, name, words, at, on, every), scheduler()
    files = {str(system.folder / file): content for file, content in system.files(job).items()}
    if only_print:
        for path, content in files.items():
            say(f"# {path}\n{content.decode(system.encoding)}")
        return
    _start(system, name, files)
    if project.json:
        print_json({**asdict(job), "when": job.when, "files": [*files]})
    else:
        say(f"{job.when}: doorward {' '.join(words)}\n  {system.more.format(name)}".rstrip())


@schedule.command("list")
@common
def list_(project: Project) -> None:
    """List what is run by a schedule, with the file of each that says when."""
    system = scheduler()
    found = {name: str(system.folder / system.file(name)) for name in system.names()}
    if project.json:
        print_json(found)
    else:
        say("\n".join(f"{name}  {file}" for name, file in found.items()) or "nothing is run by a schedule")


@schedule.command()
@common
@click.argument("name")
def remove(project: Project, name: str) -> None:
    """Run it no more."""
    system = scheduler()
    if name not in system.names():
        there = ", ".join(system.names()) or "nothing"
        raise UnknownName(f"nothing called {name!r} is run by a schedule", hint=f"There is: {there}.")
    _ask(system.stop(name))
    files = [*system.folder.glob(f"{Path(system.file(name)).stem}.*")]
    for file in files:
        file.unlink()
    if project.json:
        print_json({"removed": [str(file) for file in files]})
    else:
        say("\n".join(f"removed {file}" for file in files))


def _job(project: Project, name: str, words: Sequence[str], at: str | None, on: str | None, every: int | None) -> Job:
    """Raises: click.UsageError, ConfigError."""
    from doorward.configuration import find_index

    from doorward_cli.installed_commands import other_commands, own_commands

    if not _NAME.fullmatch(name):
        raise click.UsageError(f"{name!r} is no name of a schedule: small letters, digits and -")
    if (at is None) == (every is None):
        raise click.UsageError("give --at HH:MM, or --every MINUTES")
    if every is not None and on is not None:
        raise click.UsageError("--on says on which days --at is meant; it does not go with --every")
    if words[0] not in {*own_commands(), *(entry.name for entry in other_commands(find_index()))}:
        raise click.UsageError(f"there is no command {words[0]!r}; `doorward --help` lists them")
    if not project.config.is_file():
        raise ConfigError(f"there is no configuration {project.config}", hint="doorward init writes one.")
    config = project.config.resolve()
    more = () if project.env_file is None else ("--env-file", str(project.env_file.resolve()))
    command = (sys.executable, "-I", "-m", "doorward", *words, "--config", str(config), *more)
    if wrong := next((word for word in (*command, str(config.parent)) if _CONTROL.search(word)), None):
        raise click.UsageError(f"{wrong!r} has control characters, which no schedule can hold")
    hour, minute = _time(at) if at else (0, 0)
    days = _days(on) if on else tuple(range(len(DAYS)))
    return Job(name, command, str(config.parent), every or 0, hour, minute, () if every else days)


def _time(text: str) -> tuple[int, int]:
    found = re.fullmatch(r"(\d{1,2}):(\d{2})", text)
    hour, minute = map(int, found.groups()) if found else (24, 0)
    if hour > 23 or minute > 59:
        raise click.UsageError(f"{text!r} is no time of a day, such as 07:00")
    return hour, minute


def _days(text: str) -> tuple[int, ...]:
    found: set[int] = set()
    for part in text.lower().split(","):
        first, _, last = (each.strip() for each in part.partition("-"))
        if first not in DAYS or (last or first) not in DAYS:
            raise click.UsageError(f"{text!r} are no days, such as mon-fri or sat,sun")
        start, end = DAYS.index(first), DAYS.index(last or first)
        found |= {day % 7 for day in range(start, end + 1 + (7 if end < start else 0))}
    return tuple(sorted(found))


def _start(system: Scheduler, name: str, files: Mapping[str, bytes]) -> None:
    """Write the files, and have the scheduler read them. Where it does not, what was before stands again."""
    from doorward.files import write_file

    before = {path: Path(path).read_bytes() if Path(path).exists() else None for path in files}
    for path, content in files.items():
        write_file(Path(path), content)
    is_replaced = any(known is not None for known in before.values())
    try:
        if is_replaced:
            with contextlib.suppress(StateError):  # it may have been forgotten by other means
                _ask(system.replace(name))
        _ask(system.start(name))
    except StateError:
        for path, known in before.items():
            Path(path).unlink() if known is None else write_file(Path(path), known)
        if is_replaced:
            with contextlib.suppress(StateError):
                _ask(system.start(name))
        raise


def _ask(commands: Sequence[Sequence[str]]) -> None:
    """Run commands of the system's scheduler. Raises: StateError."""
    for command in commands:
        try:
            subprocess.run(command, check=True, capture_output=True, text=True, errors="replace", timeout=_SECONDS)  # noqa: S603
        except (OSError, subprocess.SubprocessError) as error:
            said = getattr(error, "stderr", "") or str(error)
            raise StateError(
                f"`{' '.join(command)}` failed: {str(said).strip()[:500]}",
                hint="Nothing was changed. `doorward schedule add … --print` shows the files: cron can run the same.",
            ) from None
