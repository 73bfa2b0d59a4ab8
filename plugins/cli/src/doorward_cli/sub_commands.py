"""Commands below the groups of others: whoever gives the entry point `runs.undo` gives `doorward runs undo`."""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection

import click
from doorward import DoorwardError


def with_sub_commands(
    group: click.Group, find: Callable[[str], object], names: Callable[[], Collection[str]]
) -> object:
    """The group with the commands of others below it, none of which replaces its own. `find` imports one by its name,
    and `names` are all of them; neither is called for a command that the group has."""
    joined = copy.copy(group)
    own, own_names = joined.get_command, joined.list_commands

    def get_command(ctx: click.Context, cmd_name: str) -> click.Command | None:
        if (command := own(ctx, cmd_name)) is not None:
            return command
        try:
            found = find(cmd_name)
        except DoorwardError as error:
            return _failing(cmd_name, error)
        return found if isinstance(found, click.Command) else None

    joined.get_command = get_command  # type: ignore[method-assign]
    joined.list_commands = lambda ctx: sorted({*own_names(ctx), *names()})  # type: ignore[method-assign]
    return joined


def _failing(name: str, error: DoorwardError) -> click.Command:
    """A command that cannot be loaded, and does not keep the help of its group from being shown."""

    def fail() -> None:
        raise error

    taking_anything = {"ignore_unknown_options": True, "allow_extra_args": True}
    return click.Command(name, taking_anything, fail, short_help="(cannot be loaded)", add_help_option=False)
