"""`doorward connect` and `doorward setup` as a person runs them."""

from __future__ import annotations

import json
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from doorward import ConfigError
from doorward_cli.compile import client_snippet
from doorward_clients.document import read
from doorward_clients.setup import setup

from .conftest import Home

pytestmark = pytest.mark.slow

CURSOR = """\
{
  // mine
  "mcpServers": {
    "github": { "command": "no-such-program", "args": ["-y"], "env": { "GITHUB_TOKEN": "ghp_0123456789abcdefghij0123" } },
  },
}
"""


@pytest.fixture
def ready(home: Home) -> Home:
    """A home with a configuration in the project, and Cursor and Codex."""
    home.write("project/doorward.toml", "# mine\n")
    home.write(".cursor/mcp.json", CURSOR).chmod(0o640)
    home.write(".codex/config.toml", 'model = "m" # mine\n')
    return home


def copies(home: Home, folder: str) -> list[Path]:
    return sorted((home.folder / folder).glob("*.bak"))


def own(home: Home, name: str = "doorward") -> Any:
    return read(home.folder / ".cursor/mcp.json").has(("mcpServers", name))


def test_a_client_is_connected(ready: Home) -> None:
    """The entry that `compile` prints stands in the client's file; all else, its mode too, is as it was, and a copy is
    beside it. A second time nothing is written. CONTRACT: CLI-07, MCP-15."""
    ended = ready.run("connect", "cursor")
    assert ended.code == 0
    snippet = json.loads(client_snippet(ready.project / "doorward.toml"))["mcpServers"]["doorward"]
    assert own(ready) == snippet
    assert Path(snippet["command"]).is_absolute()
    file = ready.folder / ".cursor/mcp.json"
    assert [line for line in CURSOR.splitlines() if line not in file.read_text().splitlines()] == []
    assert file.stat().st_mode & 0o777 == 0o640
    [copy] = copies(ready, ".cursor")
    assert (copy.read_text(), copy.stat().st_mode & 0o777) == (CURSOR, 0o640)
    assert "as it should be already" in ready.run("connect", "cursor").out
    assert copies(ready, ".cursor") == [copy]
    assert ready.run("connect", "cursor", "--remove").code == 0
    assert file.read_text() == CURSOR
    assert len(copies(ready, ".cursor")) == 2


def test_the_entry_starts_what_it_says(ready: Home) -> None:
    """What stands in the client's file can be started, from any folder, with nothing on the PATH."""
    import subprocess

    ready.run("connect", "cursor")
    entry = own(ready)
    hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize"}
    hello["params"] = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}  # type: ignore[assignment]
    environ = {"HOME": str(ready.folder), "PATH": "", "DOORWARD_PLUGINS": "[]"}
    done = subprocess.run(
        [entry["command"], *entry["args"]],
        input=json.dumps(hello) + "\n",
        cwd="/",
        env=environ,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert json.loads(done.stdout.splitlines()[0])["result"]["serverInfo"]["name"] == "doorward"


def test_toml_is_changed_in_place(ready: Home) -> None:
    """Codex's file keeps its comments, and loses our table again."""
    assert ready.run("connect", "codex").code == 0
    text = ready.read(".codex/config.toml")
    assert text.startswith('model = "m" # mine\n')
    assert tomllib.loads(text)["mcp_servers"]["doorward"]["args"][0] == "serve"
    assert ready.run("connect", "codex", "--remove").code == 0
    assert "mcp_servers.doorward" not in ready.read(".codex/config.toml")


def test_what_a_user_has_added_stays(ready: Home) -> None:
    """An entry that starts Doorward otherwise is brought up to date; other keys in it are kept."""
    ready.write(
        ".cursor/mcp.json",
        {"mcpServers": {"doorward": {"command": "uvx", "args": ["doorward", "serve"], "env": {"A": "b"}, "url": ""}}},
    )
    assert "with another configuration" in ready.run("connect").out
    ready.run("connect", "cursor")
    assert own(ready)["env"] == {"A": "b"}
    assert own(ready)["args"][0] == "serve"
    assert "url" not in own(ready)


def test_another_server_of_our_name_is_not_touched(ready: Home) -> None:
    """A server that is called as ours and is none stops it; `--name` gives ours another name."""
    before = {"mcpServers": {"doorward": {"command": "python", "args": ["mine.py"]}}}
    file = ready.write(".cursor/mcp.json", before)
    for words in (["connect", "cursor"], ["connect", "cursor", "--remove"]):
        ended = ready.run(*words)
        assert (ended.code, "is another server" in ended.err) == (2, True)
    assert json.loads(file.read_text()) == before
    assert ready.run("connect", "cursor", "--name", "door").code == 0
    assert own(ready, "door")["args"][0] == "serve"
    assert ready.run("connect", "cursor", "--name", "door", "--remove").code == 0
    assert json.loads(file.read_text()) == before


@pytest.mark.parametrize("content", ["{", '{"mcpServers": []}', "[]", '{"mcpServers": {"x": 1}', "\xff"])
def test_what_cannot_be_understood_is_never_written(ready: Home, content: str) -> None:
    """A broken file stays to the byte, and no copy is made."""
    file = ready.folder / ".cursor/mcp.json"
    file.write_bytes(content.encode("latin-1"))
    ended = ready.run("connect", "cursor")
    assert (ended.code, file.read_bytes(), copies(ready, ".cursor")) == (2, content.encode("latin-1"), [])
    assert "mcp.json" in ended.err


def test_it_is_only_shown(ready: Home) -> None:
    """`--print` shows our entry in the client's shape, nobody else's secrets, and writes nothing."""
    ended = ready.run("connect", "cursor", "--print")
    assert '"doorward": {' in ended.out
    assert "ghp_" not in ended.out
    assert "[mcp_servers.doorward]" in ready.run("connect", "codex", "--print").out
    assert '"servers": {' in ready.run("connect", "vscode", "--print").out
    assert (ready.read(".cursor/mcp.json"), copies(ready, ".cursor")) == (CURSOR, [])
    assert not (ready.folder / ".config").exists()


def test_a_link_stays_a_link(ready: Home) -> None:
    """Who keeps the file elsewhere finds it changed there."""
    real = ready.write("dotfiles/cursor.json", "{}")
    file = ready.folder / ".cursor/mcp.json"
    file.unlink()
    file.symlink_to(real)
    ready.run("connect", "cursor")
    assert file.is_symlink()
    assert "doorward" in real.read_text()


@pytest.mark.slow
def test_a_project_and_an_url(ready: Home) -> None:
    """`--project` writes the project's file, `--url` an entry that leads to a Doorward over HTTP."""
    url = "http://127.0.0.1:8000/mcp"
    assert ready.run("connect", "claude-code", "--project", "--url", url).code == 0
    assert json.loads(ready.read("project/.mcp.json")) == {"mcpServers": {"doorward": {"type": "http", "url": url}}}
    assert "takes no URLs" in ready.run("connect", "claude-desktop", "--url", url).err
    assert "is not an http or https URL" in ready.run("connect", "cursor", "--url", "localhost").err
    assert "no configuration of a project" in ready.run("connect", "windsurf", "--project").err


def test_other_servers_are_moved_behind_doorward(ready: Home) -> None:
    """`--move` takes the client's other servers over, secrets and all, and leaves us alone there; what cannot be taken
    over stays.
    CONTRACT: MCP-15."""
    ready.write(".cursor/mcp.json", CURSOR.replace('"github"', '"odd": {}, "github"'))
    shown = ready.run("connect", "cursor", "--move", "--print")
    assert "[servers.github]" in shown.out
    assert ready.read("project/doorward.toml") == "# mine\n"
    ended = ready.run("connect", "cursor", "--move", "--json")
    assert ended.code == 1
    assert ended.json["servers"] == ["doorward", "odd"]
    assert set(read(ready.folder / ".cursor/mcp.json").data["mcpServers"]) == {"odd", "doorward"}
    assert "// mine" in ready.read(".cursor/mcp.json")
    assert tomllib.loads(ready.read("project/doorward.toml"))["servers"]["github"]["env"] == {
        "GITHUB_TOKEN": "${GITHUB_TOKEN}"
    }
    assert "GITHUB_TOKEN=ghp_" in ready.read("project/.env")
    assert "ghp_" in copies(ready, ".cursor")[0].read_text()


def test_clients_are_listed(ready: Home) -> None:
    """Without a client: those of this machine, and whether they are connected; a broken file is told."""
    ready.run("connect", "cursor")
    ready.write(".gemini/settings.json", "{")
    listed = {each["client"]: each["state"] for each in ready.run("connect", "--json").json["clients"]}
    assert "Expecting property name" in listed.pop("gemini")
    assert listed == {"cursor": "yes", "codex": "no"}
    assert "claude-code" in replace(ready, folder=ready.folder / "new").run("connect").out


def test_a_configuration_must_be_there(home: Home) -> None:
    """A client is not told to start what cannot start."""
    ended = home.run("connect", "cursor")
    assert (ended.code, "doorward import" in ended.err) == (2, True)
    assert not (home.folder / ".cursor").exists()


def test_a_file_that_changes_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    """Claude Code writes its file again and again: what it has written since is not lost."""
    file = tmp_path / "x.json"
    file.write_text("{}")
    document = read(file).put(["a"], 1)
    file.write_text('{"b": 2}')
    with pytest.raises(ConfigError, match="changed by somebody else"):
        document.save()
    assert file.read_text() == '{"b": 2}'


@pytest.mark.slow
def test_setup_does_it_all(ready: Home) -> None:
    """From nothing to a connected client in one command, and the same once more changes nothing. CONTRACT: CLI-05,
    SRC-19."""
    (ready.project / "doorward.toml").unlink()
    ended = ready.run("setup", "--yes", "--connect", "codex")
    assert "Wrote 1 server to doorward.toml: github" in ended.out
    assert (ended.code, "Compiled: nothing" in ended.out) == (1, True)  # there is no such program
    assert "Codex is connected: ~/.codex/config.toml" in ended.out
    assert "To connect Cursor: doorward connect cursor" in ended.out
    before = ready.read("project/doorward.toml"), ready.read(".codex/config.toml")
    assert 'executor = ["monty"' in before[0]
    assert "Codex is connected already" in ready.run("setup", "--yes").out
    assert (ready.read("project/doorward.toml"), ready.read(".codex/config.toml")) == before


def test_setup_where_there_is_nothing(home: Home) -> None:
    """Without clients, it writes a configuration to start from."""
    assert "--yes" in home.run("setup").err
    assert not (home.project / "doorward.toml").exists()
    ended = home.run("setup", "--yes")
    assert ended.code == 0
    assert not ended.err or "no executor is configured" in ended.err  # where none is installed
    assert "wrote doorward.toml" in ended.out
    assert (home.project / ".env").stat().st_mode & 0o777 == 0o600


def test_setup_asks(ready: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """At a terminal, each client is asked about. CONTRACT: CLI-05."""
    from click.testing import CliRunner

    monkeypatch.chdir(ready.project)
    monkeypatch.setenv("HOME", str(ready.folder))
    monkeypatch.setenv("DOORWARD_STATE_DIR", str(ready.folder / "state"))
    for module in ("importing", "setup"):
        monkeypatch.setattr(f"doorward_clients.{module}.at_a_terminal", lambda: True)
    ran = CliRunner().invoke(setup, [], input="n\ny\ny\nn\nn\n")
    assert "Write 1 server to doorward.toml?" in ran.output
    assert "Connect Cursor (~/.cursor/mcp.json)?" in ran.output
    assert "To connect Codex: doorward connect codex" in ran.output
    assert own(ready)
