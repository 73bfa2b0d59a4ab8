"""`doorward completion`: what lets a shell complete commands, options, servers and functions."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem, get_completion_class, shell_complete

from doorward_cli.shared import Project, common, say

if TYPE_CHECKING:
    from doorward.searching import Catalog

VARIABLE = "_DOORWARD_COMPLETE"
"""The variable by which a shell asks; its value says which shell, and what it wants."""

_MOST = 200
"""Functions that are offered at once."""


@click.command()
@common
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(project: Project, shell: str) -> None:
    """Print a script for SHELL, after which the Tab key completes commands, options, servers and functions.

    Add to ~/.bashrc: eval "$(doorward completion bash)". To ~/.zshrc: eval "$(doorward completion zsh)".
    To ~/.config/fish/completions/doorward.fish: doorward completion fish | source
    """
    found = get_completion_class(shell)
    assert found is not None
    say(found(click.Group("doorward"), {}, "doorward", VARIABLE).source())


def answer(commands: Mapping[str, str], find: Callable[[str], object]) -> int:
    """Tell the shell what may stand where its cursor is. `commands` are all, with what they do; `find` imports one.
    Returns: the exit code."""
    return shell_complete(_All(commands, find), {}, "doorward", VARIABLE, os.environ[VARIABLE])


class _All(click.Group):
    """All commands, of which one is imported when its own words are asked for."""

    def __init__(self, commands: Mapping[str, str], find: Callable[[str], object]) -> None:
        super().__init__("doorward")
        self._all, self._find = commands, find

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        found = self._find(cmd_name) if cmd_name in self._all else None
        return found if isinstance(found, click.Command) else None

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        return [CompletionItem(name, help=does) for name, does in self._all.items() if name.startswith(incomplete)]


def complete_servers(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """The names of servers that begin so, as the configuration has them."""
    with contextlib.suppress(Exception):  # a shell is told nothing where something is wrong
        return [name for name in _loaded(ctx).config.servers if name.startswith(incomplete)]
    return []


def complete_functions(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """The functions that begin so, or the servers, where these are several."""
    with contextlib.suppress(Exception), _catalog(ctx) as catalog:
        begins = (f"{name}." for name in sorted(catalog.reports()))
        servers = [each for each in begins if each.startswith(incomplete) or incomplete.startswith(each)]
        if len(servers) != 1:
            return servers
        names = (f"{servers[0]}{name}" for name in catalog.names(servers[0][:-1]))
        return [name for name in names if name.startswith(incomplete)][:_MOST]
    return []


def _loaded(ctx: click.Context) -> Any:
    from doorward.configuration import load_config

    return load_config(Path(ctx.params.get("config") or os.environ.get("DOORWARD_CONFIG") or "doorward.toml"))


@contextlib.contextmanager
def _catalog(ctx: click.Context) -> Iterator[Catalog]:
    from doorward.administration import Plugins
    from doorward.configuration import find_index
    from doorward.engines import catalog_in
    from doorward.searching import Catalog

    state = _loaded(ctx).state_folder()
    with contextlib.closing(Catalog(catalog_in(state, Plugins(find_index())))) as catalog:
        catalog.refresh()
        yield catalog
