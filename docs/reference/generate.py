"""Writes the reference: a page for each module that plugins import, from its exports, their types and docstrings. And
a stub for each that loads its names late, so that tools for types know them.

    python docs/reference/generate.py

`tests/test_docs.py` holds both against what this writes.
"""

from __future__ import annotations

import ast
import dataclasses
import importlib
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
import griffe
from doorward.config.installed_plugins import installed
from doorward_cli.command_line import GROUPS
from doorward_cli.installed_commands import well_known

ROOT = Path(__file__).resolve().parents[2]
MODULES = (
    "doorward",
    "doorward.abilities",
    "doorward.administration",
    "doorward.configuration",
    "doorward.deciding",
    "doorward.engines",
    "doorward.exports",
    "doorward.files",
    "doorward.helping",
    "doorward.recording",
    "doorward.sandboxing",
    "doorward.searching",
    "doorward.serving",
    "doorward.texts",
    "doorward.tracing",
    "doorward.values",
)
LIBRARIES = (
    *("doorward_cli", "doorward_testing", "doorward_observers", "doorward_http", "doorward_text"),
    *("doorward_auth_kit", "doorward_containers", "doorward_jail", "doorward_json", "doorward_embed"),
)
BUILT_ON = ("doorward_mcp_server", "doorward_mcp_upstream")
"""Plugins on which others are built, and which nobody else imports: stubs alone."""


def pages() -> dict[str, str]:
    """The text of each page by its name, the index included."""
    sources = [ROOT / "core/src", *ROOT.glob("libs/*/src"), *ROOT.glob("plugins/*/src")]
    loader = griffe.GriffeLoader(search_paths=sources, extensions=griffe.load_extensions("dataclasses"))
    for package in ("doorward", *LIBRARIES):
        loader.load(package)
    loader.resolve_aliases(implicit=True, external=False)
    found = {f"{name}.md": _page(loader, name) for name in (*MODULES, *LIBRARIES)}
    listed = "".join(
        f"| [{name}]({name}.md) | {_first(loader.modules_collection[name])} |\n" for name in (*MODULES, *LIBRARIES)
    )
    found["hooks.md"] = _hooks(loader)
    found["cli.md"] = _command_line()
    listed += "| [hooks](hooks.md) | Every hook |\n| [cli](cli.md) | Every command |\n"
    about = "What plugins and users of the library import. `make reference` writes these pages."
    found["README.md"] = f"# Reference\n\n{about}\n\n| module | |\n|---|---|\n{listed}"
    return found


def stubs() -> dict[Path, str]:
    """The text of each stub, by the file of its module."""
    late = [
        module
        for name in (*MODULES, *LIBRARIES, *BUILT_ON)
        if hasattr(module := importlib.import_module(name), "_EXPORTS")
    ]
    return {Path(module.__file__ or "").with_suffix(".pyi"): _stub(module) for module in late}


def _stub(module: Any) -> str:
    imports = sorted(
        f"from {place} import {there} as {name}" for name, (place, there) in module._EXPORTS.places.items()
    )
    names = "".join(f'    "{name}",\n' for name in sorted(module.__all__))
    return f"# `make reference` writes this file.\n{chr(10).join(imports)}\n\n__all__ = [\n{names}]\n"


def _page(loader: griffe.GriffeLoader, name: str) -> str:
    module = loader.modules_collection[name]
    rooms: dict[str, list[tuple[str, Any]]] = {}  # those of `model` first: what every plugin uses
    for export in importlib.import_module(module.path).__all__:
        target = _target(loader, module, export)
        rooms.setdefault(target.module.path if target is not None else name, []).append((export, target))
    parts = [f"# {name}\n\n{_docstring(module)}"]
    for room, members in sorted(rooms.items(), key=lambda room: not room[0].startswith("doorward.model.")):
        if len(rooms) > 1:
            parts.append(f"## {_subject(room)}\n\n{_first(loader.modules_collection[room])}")
        parts += [_described(export, target) for export, target in members]
    return "\n\n".join(part.strip() for part in parts if part) + "\n"


def _subject(module: str) -> str:
    """What a module is about, without its path, from which nobody imports."""
    *_, room, name = module.split(".")
    return (
        f"{name.replace('_', ' ').capitalize()} ({room})"
        if room in ("model", "config")
        else name.replace("_", " ").capitalize()
    )


def _hooks(loader: griffe.GriffeLoader) -> str:
    module = loader.modules_collection["doorward.plugins.hookspecs"]
    parts = [f"# Hooks\n\n{_docstring(module)}"]
    for subject in (member for member in module.members.values() if not member.is_alias and member.is_class):
        parts += [f"## `{_signature(hook, name)}`\n\n{_docstring(hook)}" for name, hook in subject.members.items()]
    return "\n\n".join(parts) + "\n"


def _command_line() -> str:
    """The page of all commands, as their own `--help` says it."""
    points = {entry.name: entry.point for entry in installed() if entry.kind == "command"}
    parts = [
        "# Commands",
        "Each as `--help` prints it. `--config` and `--env-file`, which most commands take, are left out.",
    ]
    for title in dict.fromkeys(about["group"] for about in well_known().values() if "group" in about):
        parts.append(f"## {GROUPS[title]}")
        names = [name for name, about in well_known().items() if about.get("group") == title and name in points]
        parts += [part for name in names for part in _command(points[name].load(), f"doorward {name}", points, name)]
    return "\n\n".join(parts) + "\n"


def _command(command: click.Command, said: str, points: Mapping[str, Any], path: str) -> list[str]:
    """A command, and those below it."""
    context = click.Context(command, info_name=said, terminal_width=80)
    if isinstance(command, click.Group):
        further = {name.removeprefix(f"{path}.") for name in points if name.startswith(f"{path}.")}
        below = {
            name: points[f"{path}.{name}"].load() if f"{path}.{name}" in points else command.get_command(context, name)
            for name in sorted({*command.list_commands(context), *further})
        }
        return [
            part for name, each in below.items() for part in _command(each, f"{said} {name}", points, f"{path}.{name}")
        ]
    return [f"### `{said}`", f"```text\n{_help(command, context)}\n```"]


def _help(command: click.Command, context: click.Context) -> str:
    """What `--help` prints, without the options that stand at the head of the page."""
    options = [param for param in command.params if isinstance(param, click.Option)]
    shown = [option for option in options if not {"--config", "--env-file", "--help"} & {*option.opts}]
    formatter = click.HelpFormatter(width=80)
    command.format_usage(context, formatter)
    command.format_help_text(context, formatter)
    if rows := [row for param in shown if (row := param.get_help_record(context))]:
        with formatter.section("Options"):
            formatter.write_dl(rows)
    return re.sub(r"[ \t]+$", "", formatter.getvalue().strip(), flags=re.MULTILINE)


def _target(loader: griffe.GriffeLoader, module: Any, export: str) -> Any:
    """What a name of a module stands for; names that are loaded late are looked up where the module says."""
    if exports := getattr(importlib.import_module(module.path), "_EXPORTS", None):
        place, export = exports.places[export]
        module = loader.modules_collection[place]
    found = module.members[export]
    return found.final_target if found.is_alias else found


def _described(name: str, target: Any) -> str:
    about = _docstring(target)
    if target.is_class:
        return "\n\n".join(
            filter(None, [f"### `class {name}{_bases(target)}`", about, _fields(target), _methods(target)])
        )
    if target.is_function:
        return f"### `{_signature(target, name)}`\n\n{about}"
    return f"### `{name}{_annotated(target)}`\n\n{about}"


def _bases(target: Any) -> str:
    bases = [str(base) for base in target.bases if str(base) not in ("object", "Protocol")]
    return f"({', '.join(bases)})" if bases else ""


def _fields(target: Any) -> str:
    """The declared attributes of a class, in columns of which none is empty."""
    rows = [
        (f"`{name}`", f"`{member.annotation}`", _default(member), _meaning(member))
        for name, member in target.members.items()
        if member.is_attribute and member.annotation and not name.startswith("_") and _is_declared(member)
    ]
    columns = [n for n in range(4) if any(row[n] not in ("", "required") for row in rows)]
    lines = [[("field", "type", "default", "meaning")[n] for n in columns], ["---"] * len(columns)]
    lines += [[row[n].replace("\n", " ").replace("|", "\\|") for n in columns] for row in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) if rows else ""


def _is_declared(member: Any) -> bool:
    """Whether it is declared in the class, and not only set by its constructor."""
    return "class-attribute" in member.labels or ("property" not in member.labels and not _constructor(member.parent))


def _constructor(target: Any) -> Any:
    """The constructor, if the class has one of its own."""
    return None if "dataclass" in target.labels else target.members.get("__init__")


def _default(member: Any) -> str:
    """The default of a field, or that it is required: only what callers make has fields to give."""
    value = str(member.value or "")
    if _is_field(value):
        value = _default_of_field(ast.parse(value, mode="eval").body)
    return f"`{value}`" if value else "required" * _is_record(member.parent)


def _default_of_field(call: Any) -> str:
    words = {word.arg: word.value for word in call.keywords}
    if factory := words.get("default_factory"):
        if isinstance(factory, ast.Lambda):
            return ast.unparse(factory.body)
        made = ast.unparse(factory)
        return {"dict": "{}", "list": "[]"}.get(made, f"{made}()")
    given = ast.unparse(words.get("default", call.args[0] if call.args else ast.Constant(...)))
    return "" if given == "..." else given


def _is_record(target: Any) -> bool:
    """Whether the class is a dataclass or a model, which is made by its fields."""
    live = getattr(importlib.import_module(target.module.path), target.name)
    return dataclasses.is_dataclass(live) or hasattr(live, "model_fields")


def _is_field(value: str) -> bool:
    return value.startswith(("field(", "Field(", "_limit("))


def _meaning(member: Any) -> str:
    """The docstring of a field, else the description in its `Field(…)`."""
    if text := _docstring(member):
        return text
    value = ast.parse(str(member.value), mode="eval").body if _is_field(str(member.value)) else None
    texts = (
        [*value.args, *(word.value for word in value.keywords if word.arg == "description")]
        if isinstance(value, ast.Call)
        else []
    )
    return next((str(t.value) for t in reversed(texts) if isinstance(t, ast.Constant) and isinstance(t.value, str)), "")


def _methods(target: Any) -> str:
    found = {name: member for name, member in target.members.items() if not name.startswith("_")}
    if constructor := _constructor(target):
        found = {target.name: constructor, **found}
    return "\n".join(
        _bullet(_signature(member, name) if member.is_function else name + _annotated(member), _docstring(member))
        for name, member in found.items()
        if member.is_function or "property" in member.labels
    )


def _bullet(shown: str, about: str) -> str:
    return re.sub(r"\n(?!\n)", "\n  ", f"* `{shown}`" + (f": {about}" if about else ""))


def _signature(function: Any, name: str) -> str:
    shown, star = [], False
    for parameter in function.parameters:
        if parameter.name in ("self", "cls"):
            continue
        kind = parameter.kind.name if parameter.kind else ""
        if kind == "keyword_only" and not star:
            shown.append("*")
            star = True
        prefix = {"var_positional": "*", "var_keyword": "**"}.get(kind, "")
        star = star or kind == "var_positional"
        text = f"{prefix}{parameter.name}" + (f": {parameter.annotation}" if parameter.annotation else "")
        if parameter.default is not None and not prefix:
            text += f" = {parameter.default}" if parameter.annotation else f"={parameter.default}"
        shown.append(text)
    returns = f" -> {function.returns}" if function.returns and function.name != "__init__" else ""
    return f"{'async ' if 'async' in function.labels else ''}{name}({', '.join(shown)}){returns}"


def _annotated(target: Any) -> str:
    return f": {target.annotation}" if getattr(target, "annotation", None) else ""


def _docstring(target: Any) -> str:
    return target.docstring.value.strip() if target.docstring else ""


def _first(module: Any) -> str:
    return " ".join(_docstring(module).split("\n\n")[0].split())


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent
    for file, text in stubs().items():  # first: pages are read from them
        file.write_text(text, encoding="utf-8")
    for name, text in pages().items():
        (folder / name).write_text(text, encoding="utf-8")
