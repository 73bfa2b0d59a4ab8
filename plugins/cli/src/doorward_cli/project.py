"""`doorward init`: a configuration to start from."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from itertools import chain, count
from pathlib import Path

import anyio
import click
from doorward import ConfigError
from doorward.files import write_file

from doorward_cli.config_file import change_config
from doorward_cli.first_configuration import first_start
from doorward_cli.progress import show_progress
from doorward_cli.schema import whole
from doorward_cli.shared import Project, common, print_json, say
from doorward_cli.starter import starter
from doorward_cli.variables import write_env

_SCHEMA = "doorward.schema.json"
"""The file, beside the configuration, by which editors know its keys."""


@click.command()
@common
@click.option("--force", is_flag=True, help="Overwrite the file if there is one; a copy of it is kept.")
@click.option(
    "--from-environment",
    is_flag=True,
    help="Also write what DOORWARD_* say, but no credential. A file that is there stays as it is.",
)
def init(project: Project, force: bool, from_environment: bool) -> None:
    """Write a commented doorward.toml, with the executors that work on this machine, and a .env for the secrets."""
    if force and from_environment:
        raise click.UsageError("--from-environment never overwrites: leave out --force.")
    said: list[str] = []
    if from_environment:
        written = first_start(project)
    elif project.config.exists() and not force:
        raise ConfigError("the file is there already", place=str(project.config), hint="--force overwrites it.")
    else:
        written = begin(project, said.append)
    if project.json:
        print_json({"written": [str(file) for file in written]})
    elif not written:
        say(f"{project.config} is there already, and stays as it is")
    else:
        say("\n".join(f"wrote {file}" for file in written))
        for line in said:
            say(line)
        say(
            "\nNext: doorward add openapi NAME SPEC, doorward add mcp NAME -- COMMAND, or doorward import (what MCP "
            "clients have)"
        )


def begin(project: Project, tell: Callable[[str], object] = bool) -> list[Path]:
    """Write a configuration to start from, with the executors that work here, its JSON Schema for editors, and its
    `.env`. A configuration that is there is copied first. `tell` is called with what is to be said of that, and of
    executors. Returns: the files that were written. Raises: ConfigError."""
    from doorward.administration import Plugins
    from doorward.configuration import find_index

    from doorward_cli.executor_choice import choose

    with show_progress(1) as step:
        step("which executors work here")
        chosen = anyio.run(choose, project)
    schema = project.config.with_name(_SCHEMA)
    if project.config.is_file():
        tell(f"wrote what was there before to {_copied(project.config)}")
    change_config(project, f"#:schema {_SCHEMA}\n{starter(chosen.names)}")
    write_file(schema, json.dumps(whole(Plugins(find_index()))).encode())
    if chosen.names:
        tell(f"programs run in {', else in '.join(chosen.names)}: tried, and it isolates")
    for why in chosen.broken.values():
        tell(f"left out, for it does not work here: {why}")
    return [project.config, schema, *write_env(project.config.parent / ".env")]


def _copied(file: Path) -> Path:
    """Copy a file beside itself, under a name that no copy has; only its owner can read it. Returns: the copy."""
    stamp = time.strftime("%Y%m%d-%H%M%S")
    names = (
        file.with_name(f"{file.name}.{stamp}{more}") for more in chain([""], (f"-{number}" for number in count(2)))
    )
    copy = next(name for name in names if not name.exists())
    write_file(copy, file.read_bytes(), private=True)
    return copy
