"""docs/policy.md: its rules are rules, and its commands print what it shows."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from doorward_testing import Commands

pytestmark = pytest.mark.slow

PAGE = (Path(__file__).parents[1] / "docs/policy.md").read_text(encoding="utf-8")
TABLES = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
SHOWN = re.findall(r"^\$ doorward (policy test .*)\n(.+)", PAGE, re.MULTILINE)

PAY = {
    "operationId": "pay",
    "requestBody": {
        "content": {
            "application/json": {
                "schema": {"type": "object", "properties": {"amount": {"type": "number"}}, "required": ["amount"]}
            }
        }
    },
    "responses": {"200": {"description": "OK"}},
}
DOCUMENT = {
    "openapi": "3.1.0",
    "info": {"title": "Billing", "version": "1"},
    "servers": [{"url": "http://127.0.0.1:9"}],
    "paths": {"/payments": {"post": PAY, "get": {"operationId": "list", "responses": PAY["responses"]}}},
}
SERVER = '[servers.billing]\nsource = "openapi"\nspec = "billing.json"\n'


Ended = subprocess.CompletedProcess[str]


@pytest.fixture(scope="module")
def commands() -> Iterator[Commands]:
    """The commands of Doorward."""
    with Commands() as commands:
        yield commands


def doorward(commands: Commands, folder: Path, table: str, *words: str) -> Ended:
    """A command, in a folder whose configuration has a table of the page, and the server `billing`."""
    (folder / "billing.json").write_text(json.dumps(DOCUMENT))
    (folder / "doorward.toml").write_text(f'state = "state"\n{table}\n{SERVER}')
    return commands.run(words, os.environ, folder)


@pytest.mark.parametrize("table", TABLES)
def test_the_rules_that_are_shown_are_rules(commands: Commands, tmp_path: Path, table: str) -> None:
    """Each table can be used as it stands."""
    ended = doorward(commands, tmp_path, table, "policy", "explain")
    assert ended.returncode == 0, ended.stderr


def test_the_answer_that_is_shown_is_given(commands: Commands, tmp_path: Path) -> None:
    """What the page says of the first rules is what is decided by them."""
    assert SHOWN
    for words, answer in SHOWN:
        assert doorward(commands, tmp_path, TABLES[0], *shlex.split(words)).stdout.strip() == answer


@pytest.mark.parametrize(
    ("principal", "function", "amount", "code"),
    [
        ("bobby", "billing.pay", 99.5, 0),
        ("alice", "billing.pay", 100, 0),
        ("carol", "billing.pay", 1, 3),
        ("carol", "billing.list", None, 0),
    ],
)
def test_the_rules_mean_what_the_page_says(
    commands: Commands, tmp_path: Path, principal: str, function: str, amount: float | None, code: int
) -> None:
    """The group pays up to 100, nobody else does without a person, and everyone may read."""
    given = () if amount is None else ("--args", json.dumps({"amount": amount}))
    ended = doorward(commands, tmp_path, TABLES[0], "policy", "test", function, "--principal", principal, *given)
    assert ended.returncode == code, ended


@pytest.mark.parametrize("table", [TABLES[0], TABLES[1]], ids=["with", "without"])
def test_the_library_is_imported_for_conditions_alone(tmp_path: Path, table: str) -> None:
    """Without `when`, a start pays nothing for conditions, and needs no package for them."""
    (tmp_path / "billing.json").write_text(json.dumps(DOCUMENT))
    rule = '[[policy.rules]]\nmatch = "billing"\nthen = "confirm"\n'
    (tmp_path / "doorward.toml").write_text(f'state = "state"\n{table}\n{rule}\n{SERVER}')
    command = [sys.executable, "-X", "importtime", "-m", "doorward", "policy", "test", "billing.pay"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=100, check=False)
    assert ended.stdout.startswith("confirm: billing.pay")
    assert ("cel_expr_python" in ended.stderr) is ("when" in table)
