"""Each mistake in a command fails the test that is about it, with a sentence that says what to do."""

from __future__ import annotations

import pytest

from .conftest import Failures, Told

pytestmark = pytest.mark.slow

GOOD = '''
import click
from doorward import UnknownName
from doorward_cli import Project, common, print_json, say
from doorward_testing import CommandConformance


@click.command()
@common
@click.argument("server", required=False)
def count(project: Project, server: str | None) -> None:
    """Count the configured servers, or look for one."""
    loaded = project.load()
    if server and server not in loaded.servers:
        raise UnknownName(f"there is no server {server!r}", hint="doorward list shows them.")
    print_json(len(loaded.servers)) if project.json else say(f"{len(loaded.servers)} servers")


class TestCount(CommandConformance):
    command, name = count, "count"

    def works(self, host):
        return [[], ["--json"], ["weather"]]

    def fails(self, host):
        return [["none"], ["--config", "none.toml"]]
'''

MISTAKES = {
    "no name": (('command, name = count, "count"', "command = count"), "test_it_has_help", "Write in it: command, name"),
    "no command": (("@click.command()\n@common\n@click.argument(\"server\", required=False)\n", ""), "test_it_has_help", "is no click command"),
    "no help": (('    """Count the configured servers, or look for one."""\n', ""), "test_it_has_help", "has no help"),
    "a silent option": (
        ("@common\n", '@common\n@click.option("--deep", is_flag=True)\n'),
        "test_it_has_help",
        "options without help: ['deep']",
    ),
    "takes all options": (
        ("@click.command()", "@click.command(context_settings={'ignore_unknown_options': True})"),
        "test_an_unknown_option_is_refused",
        "ended with 1, not with 2",
    ),
    "does not work": (
        ("if server and server not in", "if server in"),
        "test_it_works",
        "doorward count weather ended with 1",
    ),
    "no JSON": (("print_json(len(loaded.servers))", "say('one')"), "test_it_works", "did not print one JSON value: one"),
    "a defect": (
        ("raise UnknownName(", "raise dict("),
        "test_errors_are_one_message",
        "doorward count none failed in an unexpected way",
    ),
    "an exit of its own": (
        ("raise UnknownName(", "raise SystemExit(7) or dict("),
        "test_errors_are_one_message",
        "doorward count none ended with 7",
    ),
    "errors that are no JSON": (
        ("raise UnknownName(", "raise SystemExit(click.echo('error: none', err=True) or 1) or dict("),
        "test_errors_are_one_message",
        "did not print one JSON value",
    ),
}  # fmt: skip


def test_a_good_one_passes(failures: Failures) -> None:
    """A command without mistakes has no failure, but that nobody else can import this test file."""
    found = failures(GOOD)
    assert [*found] == ["test_it_is_light"]
    assert "test_it cannot be imported: ModuleNotFoundError" in found["test_it_is_light"]


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_told(told: Told, mistake: str) -> None:
    """In the test that is about it, in one message, without our own frames."""
    told(GOOD, *MISTAKES[mistake])
