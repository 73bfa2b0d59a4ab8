"""What the commands share: common options, the gateway, printing, and exit codes."""

from __future__ import annotations

import contextlib
import functools
import gc
import io
import json
import os
import re
import shutil
import sys
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import click
from doorward import DoorwardError
from doorward.texts import indented

from doorward_cli import logs
from doorward_cli.installed_commands import other_commands

if TYPE_CHECKING:
    from doorward import Gateway, Outcome
    from doorward.configuration import Entry, Loaded

EXIT_CODES = {"config": 2, "policy": 3, "guard": 3, "limit": 3}
"""Exit codes by the kind of an error. The exit code of every other kind is 1."""

WAITS = 4
"""The exit code of a run that is not over: it waits, and can be resumed."""

_MIN_COLUMN_CHARACTERS = 30
"""The last column of a table is at least as wide, however narrow the terminal is."""

_CONTROL_CHARACTERS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


class Defect(DoorwardError):
    """An error that was not raised on purpose."""


@dataclass(frozen=True, slots=True)
class Project:
    """The options of every command: the configuration to use, and whether to answer in JSON."""

    config: Path
    env_file: Path | None
    json: bool

    def load(self, *, serves: bool = False, options: Mapping[str, Any] | None = None) -> Loaded:
        """Load the configuration, and set up logging as it says. `serves`: for a command that goes on serving.
        `options`: keys that options of the command set, stronger than the file and the environment.

        Raises: ConfigError.
        """
        from doorward.configuration import load_config

        loaded = load_config(self.config, env_file=self.env_file, options=options)
        logs.configure(loaded.secrets, logs.level(loaded, serves=serves))
        return loaded

    @contextlib.asynccontextmanager
    async def gateway(
        self, loaded: Loaded | None = None, *, ready: bool = True, warn: bool = True, only: Iterable[str] | None = None
    ) -> AsyncIterator[Gateway]:
        """A gateway for one question.

        `ready`: compile the servers that were not compiled under this configuration. `warn`: tell of broken servers.
        `only`: names of servers or functions; if it is given, both hold for these servers alone.
        """
        from doorward import Gateway
        from doorward.administration import qualified
        from doorward.configuration import module_name

        asked = None if only is None else {module_name(qualified(name).partition(".")[0]) for name in only}
        async with Gateway.open(loaded or self.load(), compile=False) as gate:
            stale = gate.compiler.stale() if ready else ()
            stale = [name for name in stale if asked is None or module_name(name) in asked]
            if stale:
                from doorward_cli.progress import show_progress

                with show_progress(len(stale)) as tell:
                    await gate.compiler.compile(stale, tell=tell)
            for name, error in gate.servers.broken.items() if ready and warn else ():
                if asked is not None and module_name(name) not in asked:
                    continue
                hint = f"\n    {error.hint}" if error.hint else ""
                say(f"warning: server {name} is broken: {indented(described(error)['message'])}{hint}", err=True)
            yield gate


@runtime_checkable
class CheckProvider(Protocol):
    """A command of a plugin that has lines of its own in `doorward doctor`: a class for `@click.command(cls=…)` with
    this method."""

    def checks(self, gateway: Gateway) -> AsyncIterator[tuple[str, bool, str]]:
        """The command's checks: what was checked, whether it is well, and advice. A check that is well and has advice
        is a warning.

        `doctor` asks for them after its own checks; `gateway.executors.names` are then the executors that have run a
        program. A DoorwardError becomes a line of `doctor`, too.
        """
        ...


def common(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds `--config`, `--env-file` and `--json`, which the command gets as a `Project`; and `--quiet`."""

    path = click.Path(path_type=Path)
    file: dict[str, Any] = {"default": "doorward.toml", "show_default": True, "envvar": "DOORWARD_CONFIG"}

    @click.option("--config", metavar="PATH", type=path, help="The configuration.", **file)
    @click.option(
        "--env-file", metavar="PATH", type=path, help="Values of variables; .env beside the configuration if not given."
    )
    @click.option("--json", "as_json", is_flag=True, help="Print JSON.")
    @click.option(
        "--quiet", is_flag=True, expose_value=False, callback=logs.set_quiet, help="Show no notes and no progress."
    )
    @functools.wraps(command)
    def with_project(config: Path, env_file: Path | None, as_json: bool, **options: Any) -> Any:
        return command(Project(config, env_file, as_json), **options)

    return with_project


def run(find: Callable[[], Any], arguments: Sequence[str], name: str) -> int:
    """Run a command. An error is printed as one message with a hint, without a traceback. Returns: the exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        try:
            command = find()
        finally:
            gc.enable()  # `doorward_cli.main` has disabled it
        ended = command.main(
            list(arguments), prog_name=name, standalone_mode=False, color=None if logs.may_colour() else False
        )
        sys.stdout.flush()
        return ended if isinstance(ended, int) else 0
    except click.ClickException as error:
        if "--json" in arguments:
            print_json({"error": {"kind": "config", "type": type(error).__name__, "message": error.format_message()}})
        else:
            error.show()
        return error.exit_code
    except (KeyboardInterrupt, click.Abort):
        return 130
    except BrokenPipeError:
        # The reader has gone. The interpreter flushes when it ends, and would complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except Exception as error:
        word = name.rpartition(" ")[2]
        below = [f"{word}.{each}" for each in arguments[:1]]
        return fail(error, as_json="--json" in arguments, commands=[*below, word])


def fail(error: Exception, *, as_json: bool, commands: Sequence[str] = ()) -> int:
    """Print what is wrong with a command and what to do about it, without secrets. Returns: the exit code."""
    if logs.debugging():
        import traceback

        say(logs.scrub("".join(traceback.format_exception(error))), err=True)
    if not isinstance(error, DoorwardError):  # a defect, of ours or of a plugin
        whose = f" of the {found[0].id}" if (found := _given(commands)) else ""
        hint = f"This is a defect{whose}. DOORWARD_DEBUG=1 shows where it is."
        error = Defect(f"{type(error).__name__}: {error}", hint=hint)
    told = {key: logs.scrub(text) for key, text in described(error).items()}
    if "hint" in told:
        from doorward_cli.explained import address_of

        told |= {"docs": address} if (address := address_of(str(error))) is not None else {}
    if as_json:
        print_json({"error": {"kind": error.kind, "type": type(error).__name__, **told}})
    else:
        more = "".join(f"\n{key}: {indented(plain(told[key]))}" for key in ("hint", "docs") if key in told)
        say(f"{click.style('error:', fg='red')} {indented(plain(told['message']))}{more}", err=True, clean=False)
    return EXIT_CODES.get(error.kind, 1)


def _given(commands: Sequence[str]) -> list[Entry]:
    """The plugins that give these commands, in their order; none for those of Doorward's own."""
    from doorward.configuration import find_index

    with contextlib.suppress(DoorwardError):
        others = other_commands(find_index())
        return [entry for command in commands for entry in others if entry.name == command]
    return []


_COMMANDS = (
    (re.compile(r"get_functions\(\[['\"]([^'\"\]]+)['\"]\]\)"), r"`doorward show \1`"),
    (re.compile(r"search_functions\(…, server=['\"](\w+)['\"]\)"), r"`doorward search … --server \1`"),
    (re.compile(r"resume_run\(['\"]([^'\"]+)['\"]\)"), r"`doorward runs resume \1`"),
    (re.compile(r"commit_plan\(['\"]([^'\"]+)['\"]\)"), r"`doorward runs commit \1`"),
    (re.compile(r'with mode="plan"'), "with --plan"),
    (re.compile(r"\blist_servers(?: \(or doorward\.servers\(\)\))?"), "`doorward list`"),
    (re.compile(r"\bsearch_functions\b"), "`doorward search`"),
    (re.compile(r"\bget_functions\b"), "`doorward show`"),
    (re.compile(r'give language="(\w+)"'), r"give --language \1"),
)
"""The tools of agents, as hints name them, and the commands that do the same."""


def in_commands(text: str) -> str:
    """A hint of ours that is written for agents, for who sits at the command line."""
    for tool, command in _COMMANDS:
        text = tool.sub(command, text)
    return text


def described(error: DoorwardError) -> dict[str, str]:
    """An error for `--json`: its `message`, and its `hint` if it has one. What a defect of a plugin says stands in its
    notes, for the operator alone."""
    notes = [logs.scrub(note) for note in vars(error).get("__notes__", ())]
    return {"message": "\n".join([str(error), *notes])} | ({"hint": in_commands(error.hint)} if error.hint else {})


def json_object(text: str, option: str) -> dict[str, Any]:
    """The object that an option of a command gives as JSON. Raises: click.UsageError."""
    try:
        found = json.loads(text)
    except ValueError as error:
        raise click.UsageError(f"{option} is no JSON: {error}") from None
    if not isinstance(found, dict):
        raise click.UsageError(f'{option} is no JSON object, such as \'{{"owner": "acme"}}\'')
    return found


def print_json(value: Any) -> None:
    """Print JSON on standard output: indented at a terminal, else on one line."""
    click.echo(json.dumps(value, ensure_ascii=False, indent=2 if sys.stdout.isatty() else None))


def say(text: str, *, err: bool = False, clean: bool = True) -> None:
    """Print text for people. `clean` removes control characters; text with our own colours must be clean already."""
    click.echo(plain(text) if clean else text, err=err, color=None if logs.may_colour() else False)


def note(text: str) -> None:
    """Print on standard error what helps a person and is no part of the answer, unless `--quiet`."""
    if not logs.is_quiet():
        say(text, err=True)


def plain(text: str) -> str:
    """Text of an API or a program, without the characters that control a terminal."""
    return _CONTROL_CHARACTERS.sub("�", text)


def tell(project: Project, outcome: Outcome) -> int:
    """Print how a run ended, and what lets it go on if it waits. Returns: the exit code."""
    from doorward_text import outcome_as_dict, outcome_as_text

    if project.json:
        print_json(outcome_as_dict(outcome))
    else:
        error = outcome.error and replace(outcome.error, hint=outcome.error.hint and in_commands(outcome.error.hint))
        notes = tuple(map(in_commands, outcome.notes))
        waiting = outcome.waiting and replace(outcome.waiting, next="")
        parts = {key: _told_in_commands(part) for key, part in outcome.parts.items()}
        say(outcome_as_text(replace(outcome, error=error, notes=notes, next="", waiting=waiting, parts=parts)))
    if outcome.error is not None and outcome.error.hint and not project.json:
        from doorward_cli.explained import address_of

        if (address := address_of(outcome.error.message)) is not None:
            say(f"docs: {address}", err=True)
    if outcome.waiting is not None:
        note(f"Then: doorward runs resume {outcome.waiting.run}")
        return WAITS
    return 0 if outcome.error is None else EXIT_CODES.get(outcome.error.kind, 1)


def _told_in_commands(part: Any) -> Any:
    """A part of an outcome whose `next`, if it has one, says what to do by a command."""
    return replace(part, next=in_commands(part.next)) if isinstance(getattr(part, "next", None), str) else part


def table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table: at a terminal with its last column wrapped, else as lines with tabs."""
    cells = [[" ".join(plain(str(cell)).split()) for cell in row] for row in rows]
    if not sys.stdout.isatty():
        for row in cells:
            click.echo("\t".join(row))
        return
    widths = [max(map(len, column)) for column in zip(columns, *cells, strict=True)]
    indent = " " * (sum(widths[:-1]) + 2 * len(widths[:-1]))
    width = max(shutil.get_terminal_size().columns, len(indent) + _MIN_COLUMN_CHARACTERS)
    widths[-1] = min(widths[-1], width - len(indent))
    for *first, last in [columns, ["─" * width for width in widths], *cells]:
        start = "".join(f"{cell:<{width}}  " for cell, width in zip(first, widths, strict=False))
        click.echo(click.wrap_text(last, width, start, indent) or start)


def parsed(text: str, fits: Callable[[Any], bool], takes_text: Callable[[str], bool] = lambda text: True) -> Any:
    """The value of `name=TEXT`: parsed as JSON if that `fits`, else the text itself, unless that cannot be meant;
    `@FILE` is a file's content."""
    if text.startswith("@"):
        try:
            text = Path(text[1:]).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise click.UsageError(f"{text[1:]} cannot be read: {error}") from None
    try:
        value = json.loads(text, parse_constant=_no_constant)
    except ValueError:
        return text
    return value if fits(value) or not takes_text(text) else text


def pairs(items: Sequence[str]) -> dict[str, str]:
    """`name=value` words as a dictionary."""
    for item in items:
        if "=" not in item:
            raise click.UsageError(f"{item!r} is not of the form name=value")
    return dict(item.split("=", 1) for item in items)


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")
