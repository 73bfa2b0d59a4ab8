"""`doorward add TYPE NAME …`: a command for each installed source, with the keys of its `Settings` as options."""

from __future__ import annotations

import re
from pathlib import Path
from types import UnionType
from typing import Any, Union, get_args, get_origin

import click
from doorward import DoorwardError

from doorward_cli.config_file import Before, beside
from doorward_cli.hidden import moved
from doorward_cli.installed_commands import well_known
from doorward_cli.schema import owned
from doorward_cli.servers import put_server, remove_server
from doorward_cli.shared import Project, common, note, pairs, parsed, say
from doorward_cli.suggest import compile_and_suggest


class _Sources(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        from doorward.configuration import find_index

        return [entry.name for entry in find_index().of("source")]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Raises: PluginError if there is no such source, nor a command of that name below this one."""
        from doorward.administration import Plugins
        from doorward.configuration import find_index, server_model_for

        plugins = Plugins(find_index())
        if not plugins.index.named("source", cmd_name) and f"add.{cmd_name}" in well_known():
            return None  # another distribution has it, or may be installed for it
        common_keys = server_model_for(owned(plugins, "server_key"), plugins.index)
        return _command(cmd_name, common_keys, plugins.driver("source", cmd_name).Settings)


add = _Sources(
    "add", help="Add a server of a TYPE to the configuration, and compile it.", subcommand_metavar="TYPE NAME ..."
)


def _command(source: str, server: Any, model: Any) -> click.Command:
    """The command that adds a server of this source, with the keys of every `server` and of its own `model`. The first
    required key is an argument after the name; a key that is a command line is the last argument, after `--`."""
    fields = {field.alias or key: field for key, field in model.model_fields.items()}
    core = {key: field for key, field in server.model_fields.items() if key not in ("source", "read_only", "disabled")}
    first = next((key for key, field in fields.items() if field.is_required()), None)
    words = next((key for key, field in fields.items() if _format(field) == "command"), None)
    behind_dashes = f" Its {words} stands behind `--`." if words else ""

    @click.command(source, help=f"Add the server NAME, of the source {source}, and compile it.{behind_dashes}")
    @common
    @click.argument("name")
    @click.option("--read-only", is_flag=True, help="Leave out what may change something.")
    @click.option("--force", is_flag=True, help="Replace the server if there is one of that name.")
    @click.option("--no-auth", is_flag=True, help="Write no auth, even if the server seems to want one.")
    def command(
        project: Project, name: str, read_only: bool, force: bool, no_auth: bool, **given: str | tuple[str, ...] | None
    ) -> int:
        both = {
            key: _value(field.annotation, text) for key, field in {**core, **fields}.items() if (text := given[key])
        }
        for key in both:
            if key == first or _format({**core, **fields}.get(key)) == "path":
                both[key] = beside(project.config, both[key])
        env = project.env_file or project.config.parent / ".env"
        places = (project.config, env, env.with_name(".gitignore"))
        before = Before.of(*places)
        try:
            table = moved(project, name, {"source": source} | ({"read_only": True} if read_only else {}) | both)
            put_server(project, name, table, replace=force)
        except DoorwardError:
            before.put_back(Before.of(*places))
            raise
        written = Before.of(*places)
        if words and table.get(words):
            note(f"starting {' '.join(table[words])}")
        code, useful = compile_and_suggest(project, name, table, suggest=not no_auth)
        if not useful:
            if project.config not in before.put_back(written):  # somebody has written it meanwhile
                remove_server(project, name)
            say(f"{name} was not added: {project.config} is as it was", err=True)
        return code

    if first is not None:
        behind = next(place for place, param in enumerate(command.params, 1) if param.name == "name")
        command.params.insert(behind, click.Argument([first]))
    if words is not None:
        command.params.append(click.Argument([words], nargs=-1, type=click.UNPROCESSED))
    command.params += [
        click.Option(
            [f"--{key.replace('_', '-')}", key], help=field.description, multiple=_takes_several(field.annotation)
        )
        for key, field in {**core, **fields}.items()
        if key not in (first, words)
    ]
    return command


def _value(annotation: Any, given: str | tuple[str, ...]) -> Any:
    """The value of a key: text where the key takes text, a list of texts where it takes a list, else JSON or an inline
    table of TOML. A table of texts may be given as `name=text`, several times."""
    if isinstance(given, tuple):
        if _takes_list(annotation):
            return list(given)
        return pairs(given) if all(re.match("[^{=]+=", text) for text in given) else _value(Any, given[0])
    if _takes_text(annotation):
        return given
    value = parsed(given, lambda value: True)
    return _table(value) if isinstance(value, str) else value


def _table(text: str) -> Any:
    """`{ a = "b" }` as a table; any other text unchanged."""
    import tomllib

    try:
        return tomllib.loads(f"value = {text}")["value"] if text.startswith("{") else text
    except tomllib.TOMLDecodeError:
        return text


def _takes_several(annotation: Any) -> bool:
    """Whether the option may be given several times."""
    return _takes_list(annotation) or any(
        get_origin(part) is dict and _takes_text(get_args(part)[1]) for part in _parts(annotation)
    )


def _takes_list(annotation: Any) -> bool:
    return list[str] in _parts(annotation)


def _parts(annotation: Any) -> tuple[Any, ...]:
    """The members of a union, or the one type."""
    return get_args(annotation) if get_origin(annotation) in (Union, UnionType) else (annotation,)


def _takes_text(annotation: Any) -> bool:
    from doorward import Template

    return any(isinstance(part, type) and issubclass(part, (str, Path, Template)) for part in _parts(annotation))


def _format(field: Any) -> Any:
    """The format that a key declares by `Field(json_schema_extra={"format": …})`: `path` for a path or paths,
    `command` for a command line."""
    extra = getattr(field, "json_schema_extra", None)
    return extra.get("format") if isinstance(extra, dict) else None
