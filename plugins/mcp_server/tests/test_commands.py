"""The commands `serve`, `token` and `health` as the command line has them."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from doorward_testing import Cli, check_light_import


@pytest.fixture
def commands(cli: Cli, doorward_host: Any) -> Cli:
    """The command line with this distribution's commands."""
    doorward_host.install_real("serve", "token", "health")
    return cli


def test_first_run_says_how_to_begin(commands: Cli) -> None:
    """Without a configuration the message names the file and the command that makes it. CONTRACT: CLI-06."""
    for words in (["serve"], ["serve", "--transport", "http"], ["token", "list"], ["token", "new", "alice"]):
        ended = commands(*words)
        assert ended.code == 2
        assert "doorward.toml" in ended.err
        assert "doorward init" in ended.err
        assert "Traceback" not in ended.err


@pytest.mark.parametrize("words", [("serve",), ("token", "new"), ("token", "list"), ("token", "revoke"), ("health",)])
def test_every_command_explains_itself(commands: Cli, words: tuple[str, ...]) -> None:
    """Each command has help, and takes --config, --env-file and --json. CONTRACT: CLI-03."""
    ended = commands(*words, "--help")
    assert ended.code == 0
    assert all(option in ended.out for option in ("--config", "--env-file", "--json"))


def test_help_names_them(commands: Cli) -> None:
    """`--help` says what they do, in the words that it has for them where they are not installed."""
    out = commands("--help").out
    assert "  serve      Serve MCP clients\n" in out
    assert "  health     Ask the HTTP server of this configuration whether it is well\n" in out
    assert "  token      Make, list and revoke tokens of HTTP clients\n" in out


def test_a_token_comes_and_goes(commands: Cli, doorward_host: Any) -> None:
    """It is shown once and listed without itself; the file has its hash alone, and is otherwise as it was after it is
    revoked."""
    before = doorward_host.write("# mine\n").read_text()
    made = commands("token", "new", "alice", "--expires", "90d", "--json").json
    text = (doorward_host.folder / "doorward.toml").read_text()
    assert made["token"].startswith("doorward_")
    assert made["token"] not in text
    (listed,) = commands("token", "list", "--json").json["tokens"]
    assert listed == {"id": made["id"], "principal": "alice", "expires": made["expires"], "expired": False}
    wrong = commands("token", "revoke", "nope")
    assert f"Tokens in this file: {made['id']}" in wrong.err
    assert commands("token", "revoke", made["id"], "--json").json == {"revoked": made["id"], "left": 0}
    assert "has no end (--expires) but by: doorward token revoke " in (endless := commands("token", "new", "alice")).err
    (left,) = commands("token", "list", "--json").json["tokens"]
    assert f"doorward token revoke {left['id']}\n" in endless.err
    assert commands("token", "revoke", left["id"]).code == 0
    assert "It ends " in commands("token", "new", "alice", "--expires", "90d").err
    doorward_host.write("# mine\n")
    assert (doorward_host.folder / "doorward.toml").read_text().strip() == before.strip()


@pytest.mark.parametrize("name", ["local", "*", "", "a\nb", "x" * 201])
def test_nobody_comes_in_as_who_they_cannot_be(commands: Cli, doorward_host: Any, name: str) -> None:
    """`local`, everybody, and names that are none get no token, and the file stays as it is."""
    before = doorward_host.write("").read_text()
    ended = commands("token", "new", name)
    assert (ended.code, ended.out) == (2, "")
    assert (doorward_host.folder / "doorward.toml").read_text() == before


@pytest.mark.slow
def test_the_package_costs_nothing() -> None:
    """Importing it, and the modules of its commands, imports neither the SDK nor what serves HTTP."""
    heavy = (
        "mcp",
        "mcp_types",
        "starlette",
        "uvicorn",
        "jwt",
        "pydantic",
        "jsonschema_rs",
        "tomlkit",
        "httpx2",
        "doorward.gateway",
    )
    check_light_import("doorward_mcp_server", forbidden=(*heavy, "click"))
    for module in ("doorward_mcp_server.serve", "doorward_mcp_server.tokens.command"):
        check_light_import(module, forbidden=heavy)


@pytest.mark.slow
def test_help_imports_none_of_it() -> None:
    """`doorward --help` lists the commands by what is installed alone."""
    code = (
        "import sys; from doorward_cli import main\ntry: main(['--help'])\nexcept SystemExit: pass\nprint(*sys.modules)"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "serve" in ended.stdout
    assert not {
        name for name in ended.stdout.split() if name.partition(".")[0] in ("doorward_mcp_server", "mcp", "click")
    }
