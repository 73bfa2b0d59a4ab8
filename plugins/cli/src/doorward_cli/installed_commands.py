"""The commands that are installed: our own, and those of other distributions. None is imported."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from doorward.configuration import Entry, Index

OWN = "doorward-cli"
"""This distribution. An organisation's distribution need not pin it, and nobody else can replace its commands."""


def is_own_command(entry: Entry) -> bool:
    """Whether it is a command of this distribution."""
    return entry.kind == "command" and entry.distribution == OWN


def own_commands() -> dict[str, EntryPoint]:
    """The commands of this distribution, by name, in the order in which `doorward --help` lists them."""
    own = own_entry_points()
    return {name: own[name] for name in well_known() if name in own and "." not in name}


def own_entry_points() -> dict[str, EntryPoint]:
    """The commands of this distribution, with those below groups (`runs.undo`). Read by themselves: to read what all
    distributions have takes as long as Python needs to start."""
    from importlib.metadata import distribution

    return {point.name: point for point in distribution(OWN).entry_points if point.group == "doorward.command"}


def other_commands(index: Index) -> list[Entry]:
    """The commands of other distributions, sorted."""
    return [entry for entry in index.of("command") if not is_own_command(entry)]


def well_known() -> dict[str, dict[str, str]]:
    """Commands of all our distributions, installed or not: `from` which distribution, what the command `does`, and in
    which `group` of the help it stands, if it is below no other command."""
    import json  # importlib.metadata has it already
    from pathlib import Path

    found: dict[str, dict[str, str]] = json.loads(Path(__file__).with_name("commands.json").read_text(encoding="utf-8"))
    return found


def known_commands() -> set[str]:
    """The commands that are spoken for: those of distributions of ours, installed or not."""
    return {*well_known()}
