"""What the commands share: their common options, the gateway that they open, how they print and how they end."""

from __future__ import annotations

import contextlib
import functools
import io
import json
import os
import re
import shutil
import sys
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import click

from doorward.cli import logs
from doorward.data.quoting import indented
from doorward.model.errors import DoorwardError

if TYPE_CHECKING:
    from doorward.config.config import Loaded
    from doorward.gateway import Gateway

EXIT = {"config": 2, "policy": 3, "guard": 3, "limit": 3}
"""Exit codes by the kind of an error; every other kind is 1."""

_LEAST_WIDTH = 30
"""Characters of the last column of a table, however narrow the terminal is."""

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


class Defect(DoorwardError):
    """What nobody raised on purpose."""


@dataclass(frozen=True, slots=True)
class Project:
    """Which configuration is meant, and how the answer is wanted: the options of every command."""

    config: Path
    env_file: Path | None
    json: bool

    def load(self, *, serves: bool = False) -> Loaded:
        """The configuration, with logging set up as it says, for a command that answers or for one that `serves`.
        Raises: ConfigError."""
        from doorward.config import config

        loaded = config.load(self.config, env_file=self.env_file)
        logs.configure(loaded.secrets, logs.level(loaded, serves=serves))
        return loaded

    @contextlib.asynccontextmanager
    async def gateway(
        self, loaded: Loaded | None = None, *, ready: bool = True, warn: bool = True, only: Iterable[str] | None = None
    ) -> AsyncIterator[Gateway]:
        """The gateway, to be asked one thing.

        `ready`: servers that have no compile under this configuration get one; `warn`: those that are broken are told;
        both hold for those alone that `only` names, by their functions or as a whole, if it is given.
        """
        from doorward.config.config import module_name
        from doorward.gateway import Gateway
        from doorward.model.names import qualified

        asked = None if only is None else {module_name(qualified(name).partition(".")[0]) for name in only}
        async with Gateway.open(loaded or self.load(), compile=False) as gate:
            stale = (
                [name for name in gate.compiler.stale() if asked is None or module_name(name) in asked] if ready else []
            )
            if stale:
                from doorward.cli.progress import progress

                with progress(len(stale)) as tell:
                    await gate.compiler.compile(stale, tell=tell)
            for name, error in gate.servers.broken.items() if ready and warn else ():
                if asked is not None and module_name(name) not in asked:
                    continue
                say(
                    f"warning: server {name} is broken: {indented(str(error))}"
                    + (f"\n    {error.hint}" if error.hint else ""),
                    err=True,
                )
            yield gate


@runtime_checkable
class CheckProvider(Protocol):
    """A command of a plugin that has lines of its own in `doorward doctor`: a class for `@click.command(cls=…)` with
    this method."""

    def checks(self, gateway: Gateway) -> AsyncIterator[tuple[str, bool, str]]:
        """What was checked, whether it is well, and what to do: advice about what is well makes it a warning. Asked
        when `doctor` runs, after its own checks; `gateway.executors.names` are those that have run a program. A
        DoorwardError is told as a line, too."""
        ...


def common(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds `--config`, `--env-file` and `--json`, which the command gets as a `Project`."""

    path = click.Path(path_type=Path)
    file: dict[str, Any] = {"default": "doorward.toml", "show_default": True, "envvar": "DOORWARD_CONFIG"}

    @click.option("--config", metavar="PATH", type=path, help="The configuration.", **file)
    @click.option(
        "--env-file", metavar="PATH", type=path, help="Values of variables; .env beside the configuration if not given."
    )
    @click.option("--json", "as_json", is_flag=True, help="Print JSON.")
    @functools.wraps(command)
    def with_project(config: Path, env_file: Path | None, as_json: bool, **options: Any) -> Any:
        return command(Project(config, env_file, as_json), **options)

    return with_project


def run(find: Callable[[], Any], arguments: Sequence[str], name: str) -> int:
    """Run a command; its exit code. What goes wrong is one message and what to do about it, without a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        ended = find().main(list(arguments), prog_name=name, standalone_mode=False)
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
        # Nobody reads on. The interpreter flushes at its end and would complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except Exception as error:
        return fail(error, as_json="--json" in arguments)


def fail(error: Exception, *, as_json: bool) -> int:
    """Say what is wrong and what to do about it, never a secret. Returns: the exit code."""
    if logs.debugging():
        import traceback

        say(logs.scrub("".join(traceback.format_exception(error))), err=True)
    if not isinstance(error, DoorwardError):  # a defect, of ours or of a plugin
        error = Defect(f"{type(error).__name__}: {error}", hint="This is a defect. DOORWARD_DEBUG=1 shows where it is.")
    told = {key: logs.scrub(text) for key, text in described(error).items()}
    if as_json:
        print_json({"error": {"kind": error.kind, "type": type(error).__name__, **told}})
    else:
        hint = f"\nhint: {indented(plain(told['hint']))}" if "hint" in told else ""
        say(f"{click.style('error:', fg='red')} {indented(plain(told['message']))}{hint}", err=True, clean=False)
    return EXIT.get(error.kind, 1)


def described(error: DoorwardError) -> dict[str, str]:
    """An error for `--json`: its `message`, and its `hint` if it has one."""
    return {"message": str(error)} | ({"hint": error.hint} if error.hint else {})


def print_json(value: Any) -> None:
    """JSON on standard output: on one line, but at a terminal."""
    click.echo(json.dumps(value, ensure_ascii=False, indent=2 if sys.stdout.isatty() else None))


def say(text: str, *, err: bool = False, clean: bool = True) -> None:
    """A line for people. It is cleaned of what would steer a terminal, but where we do so ourselves."""
    click.echo(plain(text) if clean else text, err=err)


def plain(text: str) -> str:
    """Text of an API or a program without what would steer a terminal."""
    return _CONTROL.sub("�", text)


def table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """A table for a terminal, whose last column is wrapped; else lines with tabs between."""
    cells = [[" ".join(plain(str(cell)).split()) for cell in row] for row in rows]
    if not sys.stdout.isatty():
        for row in cells:
            click.echo("\t".join(row))
        return
    widths = [max(map(len, column)) for column in zip(columns, *cells, strict=True)]
    indent = " " * (sum(widths[:-1]) + 2 * len(widths[:-1]))
    width = max(shutil.get_terminal_size().columns, len(indent) + _LEAST_WIDTH)
    widths[-1] = min(widths[-1], width - len(indent))
    for *first, last in [columns, ["─" * width for width in widths], *cells]:
        start = "".join(f"{cell:<{width}}  " for cell, width in zip(first, widths, strict=False))
        click.echo(click.wrap_text(last, width, start, indent) or start)


def parsed(text: str, fits: Callable[[Any], bool]) -> Any:
    """The value that `name=TEXT` means: JSON where that parses and fits, else the text; `@FILE` is a file's content."""
    if text.startswith("@"):
        try:
            text = Path(text[1:]).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise click.UsageError(f"{text[1:]} cannot be read: {error}") from None
    try:
        value = json.loads(text, parse_constant=_no_constant)
    except ValueError:
        return text
    return value if fits(value) else text


def pairs(items: Sequence[str]) -> dict[str, str]:
    """`name=value` words as a dictionary."""
    for item in items:
        if "=" not in item:
            raise click.UsageError(f"{item!r} is not of the form name=value")
    return dict(item.split("=", 1) for item in items)


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")
