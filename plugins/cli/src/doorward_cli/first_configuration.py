"""The configuration that a first start writes: the one to start from, with what `DOORWARD_*` say in it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from doorward import ConfigError

from doorward_cli.config_file import change_config
from doorward_cli.hidden import hidden
from doorward_cli.shared import Project
from doorward_cli.starter import starter
from doorward_cli.variables import write_env

_NOTE = "What the environment said when this file was written. What it still says is stronger than this file."


def first_start(project: Project) -> list[Path]:
    """Write a configuration to start from, with what the environment says, and its `.env`. If there is a configuration
    already, nothing is read or written. Of several processes, one writes.

    Returns: the files that were written. Raises: ConfigError; then no configuration is there.
    """
    try:
        project.config.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"cannot be written: {error.strerror}", place=str(project.config)) from None
    there = os.path.lexists  # a link that leads nowhere is something, too
    if not change_config(project, lambda before: None if there(project.config) else _text(os.environ)):
        return []
    return [project.config, *write_env(project.config.parent / ".env")]


def _text(environ: Mapping[str, str]) -> str:
    """Raises: ConfigError if a variable is wrong."""
    import tomlkit
    from doorward.configuration import Config, Secrets, from_environment

    said = from_environment(Secrets(environ=_without_credentials(environ)))
    said = _typed(said, Config().model_dump())
    document = tomlkit.parse(starter())
    try:
        if any(key not in document for key in said):
            document.add(tomlkit.nl())
            document.add(tomlkit.comment(_NOTE))
        for key in sorted(said, key=lambda key: isinstance(said[key], dict)):  # in TOML, tables come last
            document[key] = said[key]
        return tomlkit.dumps(document)
    except (TypeError, ValueError) as error:  # null
        raise ConfigError(f"what the variables DOORWARD_* say is no TOML: {error}") from None


def _typed(said: Any, default: Any) -> Any:
    """Numbers and switches, which are texts in an environment, as such."""
    if isinstance(said, Mapping):
        known = default if isinstance(default, Mapping) else {}
        return {key: _typed(value, known.get(key)) for key, value in said.items()}
    if isinstance(said, str) and isinstance(default, (bool, int, float)):
        try:
            value = json.loads(said)
        except ValueError:
            return said
        return value if isinstance(value, (bool, int, float)) else said
    return said


def _without_credentials(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables without those that hold a credential: these stay where they are, and are written nowhere."""
    from doorward.administration import Plugins, hide, hide_whole
    from doorward.configuration import Secrets, find_index, from_environment

    found: set[str] = set()

    def keep(name: str, secret: str) -> str:
        found.add(secret)
        return secret

    said, plugins = from_environment(Secrets(environ=environ)), Plugins(find_index())
    for key, text in _texts(said, ""):
        hide(text, keep, name=key)
    for table in _tables(said.get("servers")):
        hidden(table, keep, plugins)
    for table in _tables(said.get("principals")):
        for _, text in _texts(table.get("secrets"), ""):
            hide_whole(text, keep, name="secret")
    return {
        name: value
        for name, value in environ.items()
        if not any(secret in text for secret in found for _, text in _texts(_parsed(value), name))
    }


def _parsed(value: str) -> Any:
    try:
        return json.loads(value) if value.startswith(("[", "{")) else value
    except ValueError:
        return value  # of a variable that is none of ours


def _tables(value: Any) -> list[Mapping[str, Any]]:
    """The tables in a table; none if it is something else."""
    return [each for each in value.values() if isinstance(each, Mapping)] if isinstance(value, Mapping) else []


def _texts(value: Any, key: str) -> Iterator[tuple[str, str]]:
    """All texts of a table, each with its key."""
    match value:
        case str():
            yield key, value
        case Mapping():
            for name, each in value.items():
                yield from _texts(each, str(name))
        case list():
            for each in value:
                yield from _texts(each, key)
