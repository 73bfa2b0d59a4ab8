"""The pages of docs/howto and docs/coming_from: each command that they show is one, with its options; their rules decide as the pages
say."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pytest
from doorward.config.installed_plugins import installed
from doorward_testing import Commands
from test_docs import ROOT, Snippet, snippets

FOLDERS = ("docs/howto/", "docs/coming_from/")
SHOWN = [
    (snippet.page, line.removeprefix("$ doorward "))
    for snippet in snippets("console")
    if snippet.page.startswith(FOLDERS)
    for line in snippet.text.splitlines()
    if line.startswith("$ doorward ")
]


def of_page(page: str) -> str:
    """The configuration that a page shows."""
    return "\n".join(s.text for s in snippets("toml") if s.page == page)


@pytest.mark.parametrize(("page", "line"), SHOWN, ids=[line[:40] for _, line in SHOWN])
def test_commands_take_what_is_shown(page: str, line: str) -> None:
    """Each word after `doorward` is a command, an option or an argument that the command takes."""
    words = shlex.split(line, comments=True)
    commands = {entry.name: entry for entry in installed() if entry.kind == "command"}
    name = words.pop(0)
    command = commands[name].point.load()
    while isinstance(command, click.Group):
        word = words.pop(0)
        below = commands.get(f"{name}.{word}")
        command = below.point.load() if below else command.get_command(click.Context(command), word)
    command.make_context(name, words)


def test_every_page_shows_commands_and_is_listed() -> None:
    """No page is only talk, and each is on the page of all pages and in the site."""
    listed = (ROOT / "docs/README.md").read_text(encoding="utf-8")
    for folder in FOLDERS:
        for file in (ROOT / folder).glob("*.md"):
            path = file.relative_to(ROOT).as_posix()
            assert path in {page for page, _ in SHOWN}
            assert f"({path.removeprefix('docs/')})" in listed


@pytest.fixture(scope="module")
def commands() -> Iterator[Commands]:
    with Commands() as commands:
        yield commands


@pytest.fixture
def decided(commands: Commands, tmp_path: Path) -> Callable[..., str]:
    """What `doorward policy test` says of a call, beside a configuration."""

    def decided(*words: str) -> str:
        done = commands.run(("policy", "test", *words), {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}, tmp_path)
        return f"{done.stdout}{done.stderr}".partition(":")[0]

    return decided


def document(**operations: str) -> str:
    """An OpenAPI document with these operations, each `METHOD PATH`."""
    paths: dict[str, dict[str, object]] = {}
    for name, route in operations.items():
        method, path = route.split()
        paths.setdefault(path, {})[method.lower()] = {"operationId": name, "responses": {"200": {"description": "ok"}}}
    return json.dumps({"openapi": "3.1.0", "info": {"title": "x", "version": "1"}, "paths": paths})


@pytest.mark.slow
def test_the_rules_for_github(decided: Callable[..., str], tmp_path: Path) -> None:
    """What reads is allowed, what writes is asked about, what destroys is denied; what is not included is not there."""
    (tmp_path / "doorward.toml").write_text(of_page("docs/howto/github.md"))
    (tmp_path / ".env").write_text("GITHUB_TOKEN=github_pat_nothing\n")
    (tmp_path / "github.json").write_text(
        document(
            **{"issues/list": "GET /issues", "issues/create": "POST /issues", "issues/delete-label": "DELETE /labels",
               "gists/list": "GET /gists"}
        )
    )  # fmt: skip
    assert decided("github.issues_list") == "allow"
    assert decided("github.issues_create") == "confirm"
    assert decided("github.issues_delete_label") == "deny"
    assert decided("github.gists_list") == "error"


@pytest.mark.slow
def test_the_rules_of_a_policy(decided: Callable[..., str], tmp_path: Path) -> None:
    """docs/howto/policy.md: the first rule that fits decides, and what none names is denied."""
    server = '[servers.github]\nsource = "openapi"\nspec = "github.json"\nbase_url = "https://api.github.com"\n'
    (tmp_path / "doorward.toml").write_text(server + of_page("docs/howto/policy.md"))
    operations = {"repos/delete": "DELETE /repos", "issues/create": "POST /issues", "repos/get": "GET /repos"}
    (tmp_path / "github.json").write_text(document(**operations))
    assert decided("github.repos_delete", "--principal", "ann") == "deny"
    assert decided("github.issues_create", "--principal", "ann") == "allow"
    assert decided("github.issues_create", "--principal", "eve") == "confirm"
    assert decided("github.repos_get", "--principal", "eve") == "allow"


@pytest.mark.slow
def test_the_rules_for_people_on_call(decided: Callable[..., str], tmp_path: Path) -> None:
    """docs/howto/oncall.md: notes are free, changes of incidents are asked about, and one channel is written to."""
    (tmp_path / "slack.py").write_text(SLACK)
    command = json.dumps([sys.executable, "slack.py"])
    shown = of_page("docs/howto/oncall.md").replace('["npx", "-y", "@modelcontextprotocol/server-slack"]', command)
    (tmp_path / "doorward.toml").write_text(shown)
    (tmp_path / ".env").write_text("PAGERDUTY_KEY=nothing1\nSLACK_BOT_TOKEN=nothing2\nSLACK_TEAM_ID=T0\n")
    operations = {
        "updateIncident": "PUT /incidents",
        "createIncidentNote": "POST /notes",
        "listOnCalls": "GET /oncalls",
    }
    (tmp_path / "pagerduty.json").write_text(document(**operations))
    assert decided("pagerduty.list_on_calls") == "allow"
    assert decided("pagerduty.create_incident_note") == "allow"
    assert decided("pagerduty.update_incident") == "confirm"
    for channel, decision in {"C0INCIDENTS": "allow", "C0GENERAL": "deny"}.items():
        arguments = json.dumps({"channel_id": channel, "text": "hello"})
        assert decided("slack.slack_post_message", "--args", arguments) == decision


SLACK = """
from mcp.server.mcpserver import MCPServer

server = MCPServer("slack")

@server.tool()
def slack_post_message(channel_id: str, text: str) -> str:
    \"\"\"Post a message.\"\"\"
    return text

server.run()
"""
SQL = """
from mcp.server.mcpserver import MCPServer

server = MCPServer("shop")

@server.tool()
def execute_sql(sql: str) -> str:
    \"\"\"Run a statement.\"\"\"
    return sql

server.run()
"""


@pytest.mark.slow
def test_the_rules_for_a_database(decided: Callable[..., str], tmp_path: Path) -> None:
    """One statement that reads is allowed; another one, or two, are not."""
    (tmp_path / "server.py").write_text(SQL)
    shown = of_page("docs/howto/database.md")
    command = json.dumps([sys.executable, "server.py"])
    configured = shown.replace('["uvx", "postgres-mcp", "--access-mode=restricted"]', command)
    assert configured != shown
    (tmp_path / "doorward.toml").write_text(configured)
    (tmp_path / ".env").write_text("DATABASE_URI=postgresql://nobody\n")
    for sql, decision in {
        "select 1": "allow",
        "  WITH a AS (select 1) select * from a": "allow",
        "delete from orders": "deny",
        "select 1; delete from orders": "deny",
        "selection": "deny",
    }.items():
        assert decided("shop.execute_sql", "--args", json.dumps({"sql": sql})) == decision, sql


def test_snippets_are_found() -> None:
    """The pages have configurations that the tests of all pages look at."""
    assert sum(isinstance(each, Snippet) and each.page.startswith(FOLDERS) for each in snippets("toml")) >= 6
