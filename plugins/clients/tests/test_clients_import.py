"""`doorward import` as a person runs it."""

from __future__ import annotations

import json
import os
import tomllib
from typing import Any

import pytest
from doorward_cli import Project
from doorward_clients.clients import CLIENTS, Machine
from doorward_clients.importing import import_
from doorward_clients.planning import Plan
from doorward_clients.search import Search
from doorward_testing import check_light_import

from .conftest import Home

pytestmark = pytest.mark.slow

TOKEN = "ghp_" + "0123456789abcdefghijABCDEFGHIJ012345"
GITHUB = {"command": "npx", "args": ["-y", "server-github"], "env": {"GITHUB_TOKEN": TOKEN}}


def servers(home: Home) -> dict[str, Any]:
    found: dict[str, Any] = tomllib.loads((home.project / "doorward.toml").read_text())["servers"]
    return found


def actions(ended: Any) -> dict[str, str]:
    return {f"{each['client']}: {each['server']}": each["action"] for each in ended.json["found"]}


@pytest.fixture
def full(home: Home) -> Home:
    """A home in which several clients have servers, some of them the same, and secrets in every place."""
    home.write(
        ".claude.json",
        {
            "numStartups": 7,
            "mcpServers": {
                "github": GITHUB,
                "shared": {"command": "global"},
                "doorward": {"command": "uvx", "args": ["doorward", "serve"]},
            },
            "projects": {
                str(home.project): {"mcpServers": {"local": {"type": "stdio", "command": "node", "args": ["./x.js"]}}},
                "/elsewhere": {"mcpServers": {"other": {"command": "other"}}},
            },
        },
    )
    home.write("project/.mcp.json", {"mcpServers": {"shared": {"type": "stdio", "command": "project"}}})
    home.write(
        ".cursor/mcp.json",
        {
            "mcpServers": {
                "github": GITHUB,
                "linear": {"url": "https://h/mcp", "headers": {"Authorization": f"Bearer {TOKEN}x"}},
            }
        },
    )
    home.write(
        ".config/Code/User/mcp.json",
        '{"servers": { // mine\n"github": {"type": "http", "url": "https://api.example/mcp",'
        '"headers": {"Authorization": "Bearer ${input:gh-pat}"}},'
        '"time": {"command": "uvx", "args": ["mcp-server-time", "--api-key=abc123", '
        '"postgresql://u:hunter22@db/x"]},}}',
    )
    home.write(".codex/config.toml", '[mcp_servers.docs]\nurl = "https://u:p%40ss@h/mcp?api_key=qwert"\n')
    home.write(".config/opencode/opencode.json", '{"mcp": {')
    (home.project / ".git").mkdir()
    return home


def test_everything_is_found_and_taken_over(full: Home) -> None:
    """What the clients of a machine have is shown and written: a project's own wins, twins and our own entry are known,
    a broken file is told and stops nothing, names are valid and distinct. CONTRACT: MCP-07, MCP-08, MCP-09, MCP-15,
    MCP-17, CLI-05."""
    ended = full.run("import", "--json")
    assert ended.code == 1
    assert actions(ended) == {
        "Claude Code: shared": "hidden", "Claude Code: local": "add", "Claude Code: github": "add", "Claude Code: "
                                                                                                    "doorward": "own",
        "Cursor: github": "same", "Cursor: linear": "add", "VS Code: github": "add", "VS Code: time": "add", "Codex: docs": "add",
    }  # fmt: skip
    assert [
        problem for problem in ended.json["problems"] if "opencode.json" in problem and "line 1" in problem
    ] == ended.json["problems"]
    assert servers(full) == {
        "shared": {"source": "mcp", "command": ["project"]},
        "local": {"source": "mcp", "command": ["node", "./x.js"]},
        "github": {"source": "mcp", "command": ["npx", "-y", "server-github"], "env": {"GITHUB_TOKEN": "${GITHUB_TOKEN}"}},
        "linear": {"source": "mcp", "url": "https://h/mcp", "auth": {"type": "jwt", "token": "${LINEAR_TOKEN}"}},
        "github-vs-code": {"source": "mcp", "url": "https://api.example/mcp", "auth": {"type": "jwt", "token": "${GH_PAT}"}},
        "time-mcp": {
            "source": "mcp",
            "command": ["uvx", "mcp-server-time", "--api-key=${TIME_MCP_API_KEY}", "postgresql://u:${TIME_MCP_PASSWORD}@db/x"],
        },
        "docs": {
            "source": "mcp", "url": "https://h/mcp?api_key=${DOCS_API_KEY}",
            "auth": {"type": "basic", "username": "u", "password": "${DOCS_PASSWORD}"},
        },
    }  # fmt: skip
    assert ended.json["to_set"] == {"GH_PAT": "${input:gh-pat}"}
    config, env = full.read("project/doorward.toml"), full.project / ".env"
    assert not any(
        secret in config + ended.out + ended.err for secret in (TOKEN, "abc123", "hunter22", "p%40ss", "p@ss", "qwert")
    )
    assert sorted(line for line in env.read_text().splitlines() if line[:1] != "#") == [
        "DOCS_API_KEY=qwert", "DOCS_PASSWORD=p@ss", f"GITHUB_TOKEN={TOKEN}", f"LINEAR_TOKEN={TOKEN}x", "TIME_MCP_API_KEY=abc123",
        "TIME_MCP_PASSWORD=hunter22",
    ]  # fmt: skip
    assert env.stat().st_mode & 0o777 == 0o600
    assert full.read("project/.gitignore") == ".env\n"


def test_where_secrets_stand_as_well_is_said(full: Home) -> None:
    """They were copied: each file that still has them is named, with the command that takes its servers out."""
    said = [line for line in full.run("import", "--yes").out.splitlines() if line.startswith("The secrets stand in ")]
    assert said == [
        f"The secrets stand in ~/{file} as well: `doorward connect {name} --move` takes these servers out there"
        for file, name in (
            (".claude.json", "claude-code"),
            (".cursor/mcp.json", "cursor"),
            (".config/Code/User/mcp.json", "vscode"),
            (".codex/config.toml", "codex"),
        )
    ]


@pytest.mark.slow
def test_a_second_time_changes_nothing(full: Home) -> None:
    """Everything is there already, whatever has been added to it by hand since; an entry that differs replaces only by
    --force."""
    first = full.run("import")
    assert "Next: doorward compile" in first.out
    assert "1 server of other projects left out; --all takes them" in first.err
    file, env = full.project / "doorward.toml", full.project / ".env"
    file.write_text(file.read_text().replace('command = ["project"]', 'command = ["project"] # mine\ninclude = ["a"]'))
    before = file.read_text(), env.read_text()
    assert set(actions(full.run("import", "--json")).values()) == {"there", "hidden", "own"}
    full.write("project/.mcp.json", {"mcpServers": {"shared": {"command": "changed"}}})
    assert actions(full.run("import", "--json"))["Claude Code: shared"] == "hidden"
    told = full.run("import")
    assert "differs from [servers.shared]; `doorward import --force` replaces that" in told.out
    assert (file.read_text(), env.read_text()) == before
    assert "replaces [servers.shared]" in full.run("import", "--force").out
    assert servers(full)["shared"] == {"source": "mcp", "command": ["changed"]}


def test_nothing_is_written_when_it_is_only_shown(full: Home) -> None:
    """`--dry-run` shows the tables as they would be, with references, and writes nothing."""
    ended = full.run("import", "--dry-run", "--client", "claude-code", "--all")
    assert ended.code == 0
    assert (
        '[servers.github]\nsource = "mcp"\ncommand = ["npx", "-y", "server-github"]\nenv = {GITHUB_TOKEN = '
        '"${GITHUB_TOKEN}"}' in ended.out
    )
    assert "[servers.other]" in ended.out
    assert "linear" not in ended.out
    assert "node ./x.js" in ended.out.splitlines()[1]
    assert TOKEN not in ended.out
    assert {file.name for file in full.project.iterdir()} == {".git", ".mcp.json"}


@pytest.mark.parametrize(
    ("name", "content", "found"),
    [
        ("b.json", '{"executors": {"python": {}}, "mcpServers": {"x": {"command": "c"}}}', ["c"]),
        (
            "c.json",
            '{"sandbox": {"enabled": true}, "mcpServers": {"x": {"type": "sse", "url": "http://127.0.0.1:1/sse"}}}',
            None,
        ),
        ("any.jsonc", '{"servers": {"x": {"command": ["c", 1]}}, /* … */}', ["c", "1"]),
        ("settings.json", '{"mcp": {"servers": {"x": {"command": "c"}}}}', ["c"]),
        ("any.toml", '[mcp_servers.x]\ncommand = "c"', ["c"]),
        ("no-suffix", '{"context_servers": {"x": {"command": "c"}}}', ["c"]),
    ],
)
def test_any_file_will_do(home: Home, name: str, content: str, found: list[str] | None) -> None:
    """A file that is named may have any of the known keys. CONTRACT: MCP-17."""
    home.write(f"project/{name}", content)
    assert home.run("import", name).code == 0
    assert servers(home)["x"].get("command") == found


def test_what_cannot_be_read_is_told_with_its_place(home: Home) -> None:
    """Files that are missing, broken, no files, or hold no servers; and the others are taken over."""
    home.write("project/good.json", {"mcpServers": {"good": {"command": "c"}}})
    home.write("project/broken.toml", "[x")
    home.write("project/deep.json", "[" * 100_000)
    home.write("project/list.json", "[]")
    home.write("project/text.json", '{"mcpServers": "x"}')
    home.write("project/empty.json", '{"mcpServers": {}}')
    home.write("project/.mcp.json", '{"mcpServers": {}}')
    home.write("project/empty.yaml", "servers: []")
    (home.project / "latin.json").write_bytes(b'{"x": "\xe9"}')
    os.mkfifo(home.project / "pipe.json")
    names = [
        "missing.json",
        "broken.toml",
        "deep.json",
        "list.json",
        "text.json",
        "empty.json",
        ".mcp.json",
        "empty.yaml",
        "latin.json",
        "pipe.json",
        "good.json",
    ]
    ended = home.run("import", *names)
    assert ended.code == 1
    assert [name for name in names[:-1] if f"warning: {name}: " not in ended.err] == []
    assert list(servers(home)) == ["good"]


def test_what_is_not_taken_over_is_told(home: Home) -> None:
    """What a file says besides its servers, and an entry besides what a server of its kind needs, is told with what does
    the same here; a list of allowed domains ends it with 1. CONTRACT: MCP-17, SEC-04."""
    table = {"x": {"url": "https://h/mcp", "env": {"A": "b"}, "autoApprove": ["read"], "trust": False}}
    sandbox = {"enabled": False, "image": "python:3.11-slim"}
    home.write("project/mcp_config.json", {"$schema": "s", "mcpServers": table, "sandbox": sandbox, "log": 1})
    ended = home.run("import", "mcp_config.json", "--json")
    at, here = "mcp_config.json: ", " is not taken over; here: executor, [executors.NAME] and [limits]"
    assert ended.json["left_out"] == [
        f"{at}sandbox.enabled{here}",
        f"{at}sandbox.image{here}",
        f"{at}log is not taken over",
    ]
    assert ended.json["found"][0]["notes"] == ["env is not taken over", "autoApprove is not taken over"]
    assert (ended.code, ended.json["written"]) == (0, ["x"])
    security = {"allowedDomains": ["api.github.com"]}
    home.write("project/.mcp.json", {"mcpServers": table, "security": security})
    ended = home.run("import")
    assert (
        '.mcp.json: security.allowedDomains is not taken over; here: [policy] allow = ["https://api.github.com"]'
        in (ended.err)
    )
    assert ended.code == 1


def test_another_gateway_is_not_taken_over(home: Home) -> None:
    """An entry that starts a gateway whose place Doorward takes is left out, in each form in which they are started, and
    each of its settings is told with what does the same here; so is a file of theirs without servers. What only sounds
    like one is taken over. CONTRACT: MCP-15, CLI-10, SEC-04."""
    env = {
        "ALLOWED_PROJECTS": "/a:/b",
        "MCP_BRIDGE_TIMEOUT": "9",
        "GEMINI_API_KEY": "k",
        "MCE_ALLOWED_DOMAINS": "a.example",
    }
    git = "git+https://example.com/mcp-server-code-execution-mode"
    table = {
        "executor": {"command": "npx", "args": ["-y", "code-executor-mcp@1.0.0"], "env": env},
        "bridge": {"command": "uvx", "args": ["--from", git, "mcp-server-code-execution-mode", "run"]},
        "checkout": {"command": "uv", "args": ["run", "python", "/x/mcp_server_code_execution_mode.py"]},
        "mce": {"command": "~/x/.venv/bin/mce", "args": ["serve"]},
        "files": {"command": "npx", "args": ["files", "/x/code-executor-mcp", git]},
    }
    home.write("project/.mcp.json", {"mcpServers": table})
    home.write(
        "project/config.json", {"security": {"allowedDomains": ["b.example"], "allowedProjects": ["/a"]}, "x": {"y": 1}}
    )
    ended = home.run("import", ".mcp.json", "config.json", "--json")
    assert (ended.code, ended.json["written"]) == (1, ["files"])
    no_files = "programs have no files of this machine; a server of files has its folders in its `command`"
    assert [told.partition(": ")[2].split(" is not taken over; here: ") for told in ended.json["left_out"]] == [
        ["ALLOWED_PROJECTS", no_files],
        ["MCP_BRIDGE_TIMEOUT", "[limits] timeout"],
        ["GEMINI_API_KEY", 'api_key of a server with source = "llm"'],
        ["MCE_ALLOWED_DOMAINS", '[policy] allow = ["https://a.example"]'],
        ["security.allowedDomains", '[policy] allow = ["https://b.example"]'],
        ["security.allowedProjects", no_files],
    ]


def test_a_folder_of_another_gateway(home: Home) -> None:
    """The JSON files of `~/MCPs` that hold servers are looked at as those of clients are; the others mean something else.
    CONTRACT: MCP-06, MCP-08."""
    for name in ("a", "b"):
        home.write(f"MCPs/{name}.json", {"mcpServers": {name: {"command": name}}})
    home.write("MCPs/state.json", [1])
    home.write("MCPs/broken.json", "{")
    ended = home.run("import")
    assert (ended.code, sorted(servers(home))) == (0, ["a", "b"])


def test_entries_are_hostile_text(home: Home) -> None:
    """Control characters are not printed, names become valid, odd values are refused, what looks like TOML or a
    reference stays text, and nothing is started."""
    marker = home.folder / "started"
    bad = "\x1b[31m\u202e] \n[servers.evil]\nsource = 'mcp'"
    home.write(
        "project/x.json",
        {
            "mcpServers": {
                bad: {"command": "sh", "args": ["-c", f"touch {marker}", bad, '"""', "${unclosed"]},
                "": {"command": "c"}, "json": {"command": "d"}, "a/b": {"command": "e"}, "a-b": {"command": "f"}, "a_b": {"command": "g"},
                "half": {"command": "\ud800"}, "null": {"command": "a\0b"}, "number": 5, "empty": {}, "file": {"url": "file:///etc/passwd"},
                "socket": {"type": "ws", "url": "wss://h"}, "long": {"command": "x" * 100_000},
                "other": {"command": "c", "env": {"X": {"no": "text"}}}, "split": {"url": "http://h/a b"},
                "variable": {"command": "c", "env": {"A=B": "1"}}, "header": {"url": "http://h", "headers": {"A\nB": "1"}},
            }
        },
    )  # fmt: skip
    ended = home.run("import", "x.json")
    assert ended.code == 1
    assert not any(character in ended.out + ended.err for character in "\x1b\u202e")
    assert ended.out.count("cannot be used: ") == 11
    written = servers(home)
    assert set(written) == {
        "server",
        "json-mcp",
        "a-b",
        "a-b-x-json",
        "a_b-x-json-2",
        "mcp-31m-servers-evil-source-mcp",
    }
    assert written["mcp-31m-servers-evil-source-mcp"]["command"] == [
        "sh",
        "-c",
        f"touch {marker}",
        bad,
        '"""',
        "$${unclosed",
    ]
    assert not marker.exists()


def test_names_in_dotenv_clash(home: Home) -> None:
    """A value that is there is kept; two servers with other values of one variable get a name each; the environment is
    looked at, too."""
    home.write("project/.env", "A_TOKEN=first\n")
    entries = {
        name: {"command": name, "env": {"A_TOKEN": value}}
        for name, value in {"a": "first", "b": "second", "c": "third"}.items()
    }
    home.write("project/x.json", {"mcpServers": entries})
    assert home.run("import", "x.json", "--client", "zed", B_A_TOKEN="theirs").code == 0
    assert {name: table["env"]["A_TOKEN"] for name, table in servers(home).items()} == {
        "a": "${A_TOKEN}", "b": "${A_TOKEN_2}", "c": "${C_A_TOKEN}",
    }  # fmt: skip
    assert home.read("project/.env") == "A_TOKEN=first\nA_TOKEN_2=second\nC_A_TOKEN=third\n"


def test_folders_of_projects(home: Home) -> None:
    """What a client starts in a project is started there, also if the configuration is elsewhere."""
    home.write(
        "project/.mcp.json",
        {"mcpServers": {"x": {"command": "./run"}, "y": {"command": "c", "cwd": "${workspaceFolder}/sub"}}},
    )
    home.run("import", "--config", str(home.folder / "other/doorward.toml"))
    written = tomllib.loads(home.read("other/doorward.toml"))["servers"]
    assert [written[name]["cwd"] for name in "xy"] == [str(home.project), f"{home.project}/sub"]
    assert (home.folder / "other/doorward.toml").is_file()


@pytest.mark.slow
def test_a_changed_server_replaces_its_own(home: Home) -> None:
    """Of two servers of one name, the one whose token was changed is the one that `--force` replaces, in whatever order
    they are found."""
    for client in ("cursor", "gemini"):
        file = ".cursor/mcp.json" if client == "cursor" else ".gemini/settings.json"
        home.write(file, {"mcpServers": {"x": {"command": client, "env": {"A_TOKEN": client}}}})
    home.run("import")
    assert {name: table["command"] for name, table in servers(home).items()} == {
        "x": ["cursor"],
        "x-gemini-cli": ["gemini"],
    }
    home.write(".gemini/settings.json", {"mcpServers": {"x": {"command": "gemini", "env": {"A_TOKEN": "rotated"}}}})
    assert "differs from [servers.x-gemini-cli]" in home.run("import").out
    home.run("import", "--force")
    assert {name: table["env"]["A_TOKEN"] for name, table in servers(home).items()} == {
        "x": "${A_TOKEN}",
        "x-gemini-cli": "${A_TOKEN_2}",
    }
    home.write(".claude.json", {"mcpServers": {"x": {"command": "claude"}}})
    assert "is added as x-claude-code" in home.run("import", "--force").out
    assert set(servers(home)) == {"x", "x-gemini-cli", "x-claude-code"}


def test_codex_names_variables(home: Home) -> None:
    """Variables that Codex passes on: the bearer's, those of headers, and those of the environment, which may be
    missing."""
    home.write(
        ".codex/config.toml",
        '[mcp_servers.r]\nurl = "https://h/mcp"\nbearer_token_env_var = "DOCS_TOKEN"\nenv_http_headers = { X-Org = '
        '"ORG" }\n'
        '[mcp_servers.s]\ncommand = "c"\nenv_vars = ["HTTPS_PROXY", { name = "A_KEY" }]\n',
    )
    ended = home.run("import", "--json", "--yes", A_KEY="here")
    assert servers(home) == {
        "r": {
            "source": "mcp",
            "url": "https://h/mcp",
            "headers": {"X-Org": "${ORG}"},
            "auth": {"type": "jwt", "token": "${DOCS_TOKEN}"},
        },
        "s": {"source": "mcp", "command": ["c"], "env": {"HTTPS_PROXY": "${HTTPS_PROXY:-}", "A_KEY": "${A_KEY}"}},
    }
    assert ended.json["to_set"] == {"DOCS_TOKEN": "", "ORG": ""}


def test_a_broken_configuration_is_left_alone(home: Home) -> None:
    """What cannot be merged into is told, and nothing is written anywhere."""
    home.write("project/doorward.toml", "[servers")
    home.write("project/x.json", {"mcpServers": {"x": {"command": "c", "env": {"A_TOKEN": "b"}}}})
    ended = home.run("import", "x.json")
    assert (ended.code, home.read("project/doorward.toml"), (home.project / ".env").exists()) == (2, "[servers", False)
    assert "Fix the file" in ended.err


def test_it_asks_at_a_terminal(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody who is there is asked first, and may say no."""
    from click.testing import CliRunner

    home.write("project/x.json", {"mcpServers": {"x": {"command": "c"}}})
    monkeypatch.chdir(home.project)
    monkeypatch.setattr("doorward_clients.importing.at_a_terminal", lambda: True)
    ran = CliRunner().invoke(import_, ["x.json"], input="n\n")
    assert "Write 1 server to doorward.toml?" in ran.output
    assert not (home.project / "doorward.toml").exists()
    assert "Wrote 1 server" in CliRunner().invoke(import_, ["x.json"], input="\n").output
    assert "x" in servers(home)


def test_the_same_file_is_looked_into_once(home: Home) -> None:
    """A link to another client's file, and a home that is the project, bring every server once."""
    home.write(".cursor/mcp.json", {"mcpServers": {"x": {"command": "c"}}})
    (home.folder / ".gemini").mkdir()
    (home.folder / ".gemini/settings.json").symlink_to(home.folder / ".cursor/mcp.json")
    search = Search(Machine(home.folder, home.folder, "linux", {}))
    search.clients(CLIENTS.values())
    assert [found.name for found in search.servers] == ["x"]


def test_many_servers(home: Home) -> None:
    """Hundreds of entries of one name get a name each."""
    search = Search(Machine(home.folder, home.project, "linux", {}))
    for number in range(300):
        search.table({"x": {"command": f"c{number}"}}, f"Client {number}", home.project / "f", "file")
    plan = Plan(Project(home.project / "doorward.toml", None, False), home.folder)
    plan.add(search.servers)
    assert len({step.name for step in plan.written}) == 300
    assert json.dumps([step.name for step in plan.written][:2]) == '["x", "x-client-1"]'


def test_first_run_names_the_import(home: Home) -> None:
    """Without a configuration, every command says how to begin. CONTRACT: CLI-06."""
    assert "doorward import" in home.run("list").err
    assert "doorward import" in home.run("init").out


@pytest.mark.parametrize(
    "module", ["doorward_clients", "doorward_clients.importing", "doorward_clients.connect", "doorward_clients.setup"]
)
def test_commands_are_light(module: str) -> None:
    """Neither the package nor its commands import what is heavy."""
    check_light_import(module)
