"""The known MCP clients: where each keeps its configuration, under which keys, and in which form it writes a server.

To add a client, add an entry to `CLIENTS`. `entries.py` reads what clients have written, the same way for all.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from doorward import ConfigError

Shape = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Machine:
    """The places where clients look for their files. Tests make up machines of their own."""

    home: Path
    project: Path
    platform: str
    environ: Mapping[str, str]

    @classmethod
    def here(cls) -> Machine:
        return cls(Path.home(), Path.cwd(), sys.platform, os.environ)

    def path(self, pattern: str) -> Path:
        """The path for a pattern of the table below, such as `{app}/Code/User/mcp.json`."""
        return Path(pattern.format_map({"home": self.home, "project": self.project, **self._folders()}))

    def _folders(self) -> dict[str, Path]:
        """The folders in patterns. `app` is where desktop programs keep their settings; `xdg` is the same for programs
        that follow the XDG specification on every system."""

        def at(variable: str, otherwise: Path) -> Path:
            return Path(self.environ[variable]) if self.environ.get(variable) else otherwise

        xdg = at("XDG_CONFIG_HOME", self.home / ".config")
        windows, mac = self.platform == "win32", self.platform == "darwin"
        if windows:
            app = at("APPDATA", self.home / "AppData/Roaming")
        else:
            app = self.home / "Library/Application Support" if mac else xdg
        return {
            "app": app,
            "xdg": xdg,
            "zed": app / "Zed" if windows else xdg / "zed",
            "claude": at("CLAUDE_CONFIG_DIR", self.home),
            "codex": at("CODEX_HOME", self.home / ".codex"),
            "copilot": at("COPILOT_HOME", self.home / ".copilot"),
        }


def _plain(command: str, args: Sequence[str]) -> Shape:
    return {"command": command, "args": [*args]}


def _typed(command: str, args: Sequence[str]) -> Shape:
    return {"type": "stdio", **_plain(command, args)}


def _url(url: str) -> Shape:
    return {"url": url}


def _http(url: str) -> Shape:
    return {"type": "http", "url": url}


@dataclass(frozen=True, slots=True)
class Client:
    """A client. Of several files of one scope, it uses the first that exists, or else the first.

    `keys` lead to its servers. `local` and `remote` make our entry in its form; a client without `remote` takes only
    commands.
    """

    name: str
    title: str
    everywhere: tuple[str, ...]
    project: tuple[str, ...] = ()
    keys: tuple[str, ...] = ("mcpServers",)
    local: Callable[[str, Sequence[str]], Shape] = _plain
    remote: Callable[[str], Shape] | None = _url

    def files(self, machine: Machine, scope: str) -> list[Path]:
        """The files of the client in a scope, `global` or `project`, whether they exist or not."""
        return [machine.path(pattern) for pattern in (self.project if scope == "project" else self.everywhere)]

    def file(self, machine: Machine, scope: str) -> Path:
        """The file that is written. Raises: ConfigError if the client has none in this scope."""
        files = self.files(machine, scope)
        if not files:
            raise ConfigError(f"{self.title} has no configuration of a project", hint="Leave out --project.")
        return next((file for file in files if file.exists()), files[0])

    def entry(self, command: Sequence[str], url: str | None) -> dict[str, Any]:
        """Our entry, as this client writes it. Raises: ConfigError if it takes no URLs."""
        if url is None:
            return dict(self.local(command[0], command[1:]))
        if self.remote is None:
            raise ConfigError(f"the configuration of {self.title} takes no URLs", hint="Leave out --url.")
        return dict(self.remote(url))


def _vscode(name: str, title: str, folder: str) -> Client:
    files = f"{{app}}/{folder}/User/mcp.json", "{project}/.vscode/mcp.json"
    return Client(name, title, files[:1], files[1:], keys=("servers",), local=_typed, remote=_http)


CLIENTS = {
    client.name: client
    for client in (
        Client(
            "claude-code",
            "Claude Code",
            ("{claude}/.claude.json",),
            ("{project}/.mcp.json",),
            local=_typed,
            remote=_http,
        ),
        Client("claude-desktop", "Claude Desktop", ("{app}/Claude/claude_desktop_config.json",), remote=None),
        Client("cursor", "Cursor", ("{home}/.cursor/mcp.json",), ("{project}/.cursor/mcp.json",)),
        _vscode("vscode", "VS Code", "Code"),
        _vscode("vscode-insiders", "VS Code Insiders", "Code - Insiders"),
        Client(
            "windsurf", "Windsurf", ("{home}/.codeium/windsurf/mcp_config.json",), remote=lambda url: {"serverUrl": url}
        ),
        Client(
            "cline",
            "Cline",
            ("{home}/.cline/data/settings/cline_mcp_settings.json",),
            local=lambda command, args: {"transport": _typed(command, args)},
            remote=lambda url: {"transport": {"type": "streamableHttp", "url": url}},
        ),
        Client(
            "cline-vscode",
            "Cline in VS Code",
            ("{app}/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",),
            remote=lambda url: {"type": "streamableHttp", "url": url},
        ),
        Client("codex", "Codex", ("{codex}/config.toml",), ("{project}/.codex/config.toml",), keys=("mcp_servers",)),
        Client(
            "gemini",
            "Gemini CLI",
            ("{home}/.gemini/settings.json",),
            ("{project}/.gemini/settings.json",),
            remote=_http,
        ),
        Client("qwen", "Qwen Code", ("{home}/.qwen/settings.json",), ("{project}/.qwen/settings.json",), remote=_http),
        Client(
            "zed",
            "Zed",
            ("{zed}/settings.json",),
            ("{project}/.zed/settings.json",),
            keys=("context_servers",),
            local=lambda command, args: {"source": "custom", **_plain(command, args), "env": {}},
        ),
        Client(
            "opencode",
            "opencode",
            ("{xdg}/opencode/opencode.json", "{xdg}/opencode/opencode.jsonc"),
            ("{project}/opencode.json", "{project}/opencode.jsonc"),
            keys=("mcp",),
            local=lambda command, args: {"type": "local", "command": [command, *args], "enabled": True},
            remote=lambda url: {"type": "remote", "url": url, "enabled": True},
        ),
        Client(
            "copilot",
            "Copilot CLI",
            ("{copilot}/mcp-config.json",),
            ("{project}/.github/mcp.json",),
            local=lambda command, args: {"type": "local", **_plain(command, args), "tools": ["*"]},
            remote=lambda url: {**_http(url), "tools": ["*"]},
        ),
    )
}
"""All clients, by their names in commands."""
