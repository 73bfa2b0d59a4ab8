"""Every client's file, as that client writes it: found, read, and written."""

from __future__ import annotations

import contextlib
import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from doorward import ConfigError
from doorward_cli import Project
from doorward_clients.clients import CLIENTS, Machine
from doorward_clients.connect import connected, is_own, without
from doorward_clients.document import Document, read
from doorward_clients.entries import Entry, parse
from doorward_clients.planning import Plan
from doorward_clients.search import Search
from hypothesis import given, settings
from hypothesis import strategies as st

HOME = Path("/home/me")

PLATFORMS = {
    "linux": ({}, HOME / ".config"),
    "darwin": ({}, HOME / "Library/Application Support"),
    "win32": ({"APPDATA": "/c/Users/me/AppData/Roaming"}, Path("/c/Users/me/AppData/Roaming")),
}
FILES = {
    "claude-code": "{home}/.claude.json",
    "claude-desktop": "{app}/Claude/claude_desktop_config.json",
    "cursor": "{home}/.cursor/mcp.json",
    "vscode": "{app}/Code/User/mcp.json",
    "vscode-insiders": "{app}/Code - Insiders/User/mcp.json",
    "windsurf": "{home}/.codeium/windsurf/mcp_config.json",
    "cline": "{home}/.cline/data/settings/cline_mcp_settings.json",
    "cline-vscode": "{app}/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
    "codex": "{home}/.codex/config.toml",
    "gemini": "{home}/.gemini/settings.json",
    "qwen": "{home}/.qwen/settings.json",
    "opencode": "{home}/.config/opencode/opencode.json",
    "copilot": "{home}/.copilot/mcp-config.json",
}
_SHAPES = {
    "claude-code": '{"numStartups": 3, "mcpServers": {"s": {"type": "stdio", <started>, "timeout": 90000},'
    '"r": {"type": "http", "url": "https://h/mcp", <headers>}, "old": {"type": "sse", "url": "https://h/sse"}}}',
    "claude-desktop": '{"mcpServers": {"s": {<started>}}}',
    "cursor": '{"mcpServers": {"s": {<started>}, "r": {"url": "https://h/mcp", <headers>}}}',
    "vscode": '{"servers": {"s": {"type": "stdio", <started>},\n // remote\n'
    '"r": {"type": "http", "url": "https://h/mcp", <headers>},}, "inputs": []}',
    "vscode-insiders": '{"servers": {"s": {"type": "stdio", <started>}}}',
    "windsurf": '{"mcpServers": {"s": {<started>, "disabled": false},"r": {"serverUrl": "https://h/mcp", <headers>}}}',
    "cline": '{"mcpServers": {"s": {"transport": {"type": "stdio", <started>}},'
    '"r": {"transport": {"type": "streamableHttp", "url": "https://h/mcp", <headers>}}}}',
    "cline-vscode": '{"mcpServers": {"s": {"timeout": 60, <started>, "transportType": "stdio"},'
    '"r": {"type": "streamableHttp", "url": "https://h/mcp", <headers>, "disabled": true}}}',
    "codex": 'model = "m"\n[mcp_servers.s]\ncommand = "c"\nargs = ["a"]\ntool_timeout_sec = 90\nstartup_timeout_sec = '
    "20.5\n"
    'enabled_tools = ["t"]\n[mcp_servers.s.env]\nE = "v"\n[mcp_servers.r]\nurl = "https://h/mcp"\nhttp_headers = { X '
    '= "y" }\n',
    "gemini": '{"theme": "x", "mcp": {"allowed": ["s"]}, "mcpServers": {"s": {<started>, "timeout": 600000,'
    '"trust": true, "includeTools": ["t"], "excludeTools": ["u"]}, "r": {"url": "https://h/mcp", "type": "http", '
    "<headers>}}}",
    "qwen": '{"mcpServers": {"s": {<started>}, "r": {"httpUrl": "https://h/mcp", <headers>}}}',
    "zed": '{"context_servers": {"s": {"source": "custom", <started>}, // mine\n'
    '"r": {"url": "https://h/mcp", <headers>}, "old": {"command": {"path": "c", "args": ["b"], "env": null}, '
    '"settings": {}}}}',
    "opencode": '{"$schema": "x", "mcp": {"s": {"type": "local", "command": ["c", "a"], "environment": {"E": "v"}, '
    '"enabled": true},'
    '"r": {"type": "remote", "url": "https://h/mcp", <headers>, "enabled": false}}}',
    "copilot": '{"mcpServers": {"s": {"type": "local", <started>, "tools": ["*"]},'
    '"r": {"type": "http", "url": "https://h/mcp", <headers>, "tools": ["t"]}}}',
}
SHAPES = {
    name: text.replace("<started>", '"command": "c", "args": ["a"], "env": {"E": "v"}').replace(
        "<headers>", '"headers": {"X": "y"}'
    )
    for name, text in _SHAPES.items()
}
"""What each client's file holds: a server `s` that is started, one `r` that is reached by HTTP, and what it had of
old."""


def machine(folder: Path, platform: str = "linux") -> Machine:
    return Machine(folder, folder / "project", platform, {})


@pytest.mark.parametrize("platform", PLATFORMS)
@pytest.mark.parametrize("name", FILES)
def test_where_clients_keep_their_configuration(name: str, platform: str) -> None:
    """Each client's own file on Linux, macOS and Windows. CONTRACT: CLI-07, MCP-08."""
    environ, app = PLATFORMS[platform]
    there = Machine(HOME, HOME / "p", platform, environ)
    assert CLIENTS[name].file(there, "global") == Path(FILES[name].format(home=HOME, app=app))


def test_where_clients_keep_it_that_follow_a_variable() -> None:
    """Variables of the clients and of the desktop are followed, and Zed's folder is another one on Windows."""
    moved = Machine(
        HOME,
        HOME / "p",
        "linux",
        {"CODEX_HOME": "/x", "COPILOT_HOME": "/y", "CLAUDE_CONFIG_DIR": "/z", "XDG_CONFIG_HOME": "/c"},
    )
    wanted = {
        "codex": "/x/config.toml",
        "copilot": "/y/mcp-config.json",
        "claude-code": "/z/.claude.json",
        "zed": "/c/zed/settings.json",
    }
    assert {name: str(CLIENTS[name].file(moved, "global")) for name in wanted} == wanted
    windows = Machine(HOME, HOME / "p", "win32", {})
    assert CLIENTS["zed"].file(windows, "global") == HOME / "AppData/Roaming/Zed/settings.json"
    assert CLIENTS["zed"].file(Machine(HOME, HOME / "p", "darwin", {}), "global") == HOME / ".config/zed/settings.json"


def test_files_of_projects() -> None:
    """Those that have configurations of projects have them here, and the others say so."""
    here = machine(HOME)
    relative = {
        name: [str(file.relative_to(here.project)) for file in client.files(here, "project")]
        for name, client in CLIENTS.items()
    }
    assert {name: files for name, files in relative.items() if files} == {
        "claude-code": [".mcp.json"], "cursor": [".cursor/mcp.json"], "vscode": [".vscode/mcp.json"],
        "vscode-insiders": [".vscode/mcp.json"], "codex": [".codex/config.toml"], "gemini": [".gemini/settings.json"],
        "qwen": [".qwen/settings.json"], "zed": [".zed/settings.json"],
        "opencode": ["opencode.json", "opencode.jsonc"], "copilot": [".github/mcp.json"],
    }  # fmt: skip
    with pytest.raises(ConfigError, match="no configuration of a project"):
        CLIENTS["windsurf"].file(here, "project")


@pytest.mark.parametrize("name", SHAPES)
def test_what_clients_write_is_understood(name: str, tmp_path: Path) -> None:
    """Each client's file gives the same servers, in whatever shape it writes them. CONTRACT: MCP-08, MCP-09."""
    assert set(SHAPES) == set(CLIENTS)
    here = machine(tmp_path)
    here.project.mkdir()
    file = CLIENTS[name].file(here, "global")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(SHAPES[name])
    search = Search(here)
    search.clients(CLIENTS.values())
    assert not search.problems
    plan = Plan(Project(here.project / "doorward.toml", None, False), tmp_path)
    plan.add(search.servers)
    tables: dict[str, Any] = {step.name: dict(step.table or {}) for step in plan.steps}
    more: dict[str, Any] = {
        "claude-code": {"timeout": 90.0}, "cline-vscode": {"timeout": 60.0},
        "codex": {"timeout": 90.0, "start_timeout": 20.5, "include": ["t"]},
        "gemini": {"timeout": 600.0, "include": ["t"], "exclude": ["u"]},
    }.get(name, {})  # fmt: skip
    assert tables.pop("s") == {"source": "mcp", "command": ["c", "a"], "env": {"E": "v"}, **more}
    off = (
        {"disabled": True} if name in ("cline-vscode", "opencode") else {"include": ["t"]} if name == "copilot" else {}
    )
    if name not in ("claude-desktop", "vscode-insiders"):
        assert tables.pop("r") == {"source": "mcp", "url": "https://h/mcp", "headers": {"X": "y"}, **off}
    if name == "claude-code":
        assert tables.pop("old") == {"source": "mcp", "url": "https://h/sse", "transport": "sse"}
    if name == "zed":
        assert tables.pop("old") == {"source": "mcp", "command": ["c", "b"]}
    assert tables == {}


@pytest.mark.parametrize("url", [None, "http://127.0.0.1:8000/mcp"], ids=["command", "url"])
@pytest.mark.parametrize("name", SHAPES)
def test_our_entry_is_written_in_each_shape(name: str, url: str | None, tmp_path: Path) -> None:
    """Our entry stands in each file as its client writes one; it is read back, recognised, found to be there already,
    and taken out again without a trace. CONTRACT: CLI-07."""
    client = CLIENTS[name]
    file = client.file(machine(tmp_path), "global")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(SHAPES[name])
    command = ["/opt/doorward", "serve", "--config", "/x/doorward.toml"]
    if url and client.remote is None:
        with pytest.raises(ConfigError, match="takes no URLs"):
            client.entry(command, url)
        return
    before = read(file)
    after = connected(before, client, "doorward", client.entry(command, url), url)
    entry = after.has((*client.keys, "doorward"))
    assert parse(entry) == (Entry(url=url) if url else Entry(command=tuple(command)))
    assert is_own(entry, "doorward", url)
    assert connected(after, client, "doorward", client.entry(command, url), url) is after
    assert after.save()
    assert read(file).data == after.data
    assert [line for line in SHAPES[name].splitlines() if "//" in line and "https" not in line] == [
        line for line in file.read_text().splitlines() if "//" in line and "http" not in line
    ]
    assert without(read(file), client, "doorward", url).data == before.data


def test_exact_entries() -> None:
    """What clients write themselves when they are told to add a server, to the letter."""
    command = ["d", "serve"]
    entries = {name: client.entry(command, None) for name, client in CLIENTS.items()}
    plain = {"command": "d", "args": ["serve"]}
    assert (
        entries["cursor"]
        == entries["codex"]
        == entries["gemini"]
        == entries["claude-desktop"]
        == entries["windsurf"]
        == plain
    )
    assert entries["claude-code"] == entries["vscode"] == {"type": "stdio", **plain}
    assert entries["cline"] == {"transport": {"type": "stdio", **plain}}
    assert entries["opencode"] == {"type": "local", "command": ["d", "serve"], "enabled": True}
    assert entries["copilot"] == {"type": "local", **plain, "tools": ["*"]}
    assert entries["zed"] == {"source": "custom", **plain, "env": {}}
    remote = {name: client.entry(command, "http://u") for name, client in CLIENTS.items() if client.remote}
    assert remote["claude-code"] == remote["vscode"] == remote["gemini"] == {"type": "http", "url": "http://u"}
    assert remote["windsurf"] == {"serverUrl": "http://u"}
    assert remote["cline"] == {"transport": {"type": "streamableHttp", "url": "http://u"}}
    assert remote["codex"] == remote["cursor"] == {"url": "http://u"}
    assert remote["opencode"] == {"type": "remote", "url": "http://u", "enabled": True}


TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), min_size=1, max_size=12)


@pytest.mark.slow
@settings(deadline=None)
@given(st.sampled_from(sorted(CLIENTS)), TEXTS, st.dictionaries(TEXTS, st.lists(TEXTS, max_size=3), max_size=3))
def test_any_entry_goes_in_and_out(name: str, called: str, others: dict[str, list[str]]) -> None:
    """Whatever the other servers are called and hold: ours goes in beside them, is read back, and leaves them as they
    were."""
    client = CLIENTS[name]
    others.pop(called, None)
    file = Path("x.toml" if name == "codex" else "x.json")
    document = Document(file, "", {}, None)
    for other, words in others.items():
        document = document.put((*client.keys, other), {"command": "c", "args": words})
    before = document.data
    document = connected(document, client, called, client.entry(["/bin/doorward", *others], None))
    text = tomllib.loads(document.text) if file.suffix == ".toml" else json.loads(document.text)
    assert text == document.data
    assert parse(document.has((*client.keys, called))).command == ("/bin/doorward", *others)
    if before:
        assert without(document, client, called).data == before


@pytest.mark.slow
@settings(deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=6),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    [
                        "command",
                        "args",
                        "env",
                        "url",
                        "headers",
                        "transport",
                        "type",
                        "path",
                        "tools",
                        "env_vars",
                        "cwd",
                        "timeout",
                    ]
                ),
                inner,
                max_size=5,
            )
        ),
        max_leaves=12,
    )
)
def test_nothing_that_an_entry_holds_is_a_defect(raw: Any) -> None:
    """An entry is understood, or ValueError says why not."""
    with contextlib.suppress(ValueError):
        entry = parse(raw)
        assert bool(entry.command) != bool(entry.url)
