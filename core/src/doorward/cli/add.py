"""`doorward add TYPE NAME …`: a command for each installed source, with the keys of its `Settings` as options."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

import click

from doorward import files
from doorward.cli.common import Project, common, parsed
from doorward.cli.compile import compile_now
from doorward.cli.project import starter
from doorward.config import ServerSettings
from doorward.errors import ConfigError


class _Sources(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        from doorward.distribution import find_index

        return [entry.name for entry in find_index().of("source")]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command:
        """Raises: PluginError if there is no such source."""
        from doorward.distribution import find_index
        from doorward.plugins import Plugins

        return _command(cmd_name, Plugins(find_index()).driver("source", cmd_name).Settings)


add = _Sources("add", help="Add a server of a TYPE to the configuration, and compile it.", subcommand_metavar="TYPE NAME ...")


def _command(source: str, model: Any) -> click.Command:
    """The command that adds a server of this source. The first key that is required stands behind the name."""
    fields = model.model_fields
    core = {key: field for key, field in ServerSettings.model_fields.items() if key not in ("source", "read_only", "disabled")}
    first = next((key for key, field in fields.items() if field.is_required()), None)

    @click.command(source, help=f"Add the server NAME, of the source {source}, and compile it.")
    @common
    @click.argument("name")
    @click.option("--read-only", is_flag=True, help="Leave out what may change something.")
    @click.option("--force", is_flag=True, help="Replace the server if there is one of that name.")
    def command(project: Project, name: str, read_only: bool, force: bool, **given: str | tuple[str, ...] | None) -> int:
        both = {key: _value(field.annotation, text) for key, field in {**core, **fields}.items() if (text := given[key])}
        for key in both:
            if key in (first, "skills") or _names_files(fields.get(key)):
                both[key] = _beside(project.config, both[key])
        options = {key: value for key, value in both.items() if key in fields}
        common = {"source": source} | ({"read_only": True} if read_only else {}) | {k: both[k] for k in both if k not in fields}
        _add(project, name, common, options, model, force)
        return compile_now(project, (name,))

    if first is not None:
        behind = next(place for place, param in enumerate(command.params, 1) if param.name == "name")
        command.params.insert(behind, click.Argument([first]))
    command.params += [
        click.Option([f"--{key.replace('_', '-')}", key], help=field.description, multiple=_takes_list(field.annotation))
        for key, field in {**core, **fields}.items()
        if key != first
    ]
    return command


def _add(project: Project, name: str, core: Mapping[str, Any], options: Mapping[str, Any], model: Any, force: bool) -> None:
    """Write the server into the file. One that could not be used is not left there.

    Raises: ConfigError.
    """
    from doorward import config

    file = project.config
    if not re.fullmatch(r"[A-Za-z][\w-]*", name, re.ASCII):
        raise click.UsageError(f"{name!r} cannot name a server: use letters, digits, - and _")
    before = file.read_bytes() if file.exists() else None
    text = _without(file, before.decode() if before else starter(), name, force)
    files.write(file, f"{text.rstrip()}\n\n{_block(name, {**core, **options})}".encode())
    try:
        loaded = config.load(file, env_file=project.env_file)
        if name in loaded.broken:
            raise loaded.broken[name]
        config.validate(model, options, secrets=loaded.secrets, place=f"{file.name} [servers.{name}]")
    except ConfigError:
        file.unlink() if before is None else files.write(file, before)
        raise


def _without(file: Path, text: str, name: str, force: bool) -> str:
    """The file's text without a server of this name. Raises: ConfigError if there is one, but for `force`."""
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        document = tomlkit.parse(text)
    except TOMLKitError as error:
        raise ConfigError(str(error), place=str(file), hint="Mend the TOML.") from None
    servers: Any = document.get("servers", {})
    if name not in servers:
        return text
    if not force:
        raise ConfigError("is there already", place=f"{file} [servers.{name}]", hint="--force replaces it.")
    del servers[name]
    return tomlkit.dumps(document)


def _block(name: str, options: Mapping[str, Any]) -> str:
    import tomlkit

    table = tomlkit.document()
    for key, value in options.items():
        if isinstance(value, dict):
            inline = tomlkit.inline_table()
            inline.update(value)
            value = inline
        table.add(key, value)
    return f"[servers.{name}]\n{tomlkit.dumps(table)}"


def _value(annotation: Any, given: str | tuple[str, ...]) -> Any:
    """The value of a key: text where the key takes text, texts where it takes a list, else JSON, or a table as the file has it."""
    if isinstance(given, tuple):
        return list(given)
    if _takes_text(annotation):
        return given
    value = parsed(given, lambda value: True)
    return _table(value) if isinstance(value, str) else value


def _table(text: str) -> Any:
    """`{ a = "b" }` as a table; any other text as it is."""
    import tomllib

    try:
        return tomllib.loads(f"value = {text}")["value"] if text.startswith("{") else text
    except tomllib.TOMLDecodeError:
        return text


def _takes_list(annotation: Any) -> bool:
    """Whether the option may be given several times."""
    return annotation == list[str] or list[str] in get_args(annotation)


def _takes_text(annotation: Any) -> bool:
    from types import UnionType
    from typing import Union, get_origin

    from doorward.secrets import Template

    if get_origin(annotation) in (Union, UnionType):
        return any(_takes_text(part) for part in get_args(annotation))
    return isinstance(annotation, type) and issubclass(annotation, (str, Path, Template))


def _names_files(field: Any) -> bool:
    """Whether a key says of itself that it holds paths: `Field(json_schema_extra={"format": "path"})`."""
    extra = getattr(field, "json_schema_extra", None)
    return isinstance(extra, dict) and extra.get("format") == "path"


def _beside(config: Path, value: Any) -> Any:
    """A path that exists, as seen from the configuration's folder; anything else as it is."""
    if isinstance(value, list):
        return [_beside(config, each) for each in value]
    if not isinstance(value, str) or not Path(value).exists():
        return value
    return Path(os.path.relpath(value, config.resolve().parent)).as_posix()
