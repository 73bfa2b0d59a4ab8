"""The keys of an entry, and what keeps logs and servers within bounds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from doorward import ConfigError
from doorward.config.config import validate
from doorward.secrets.store import Secrets
from doorward_mcp_upstream.breaker import CircuitBreaker
from doorward_mcp_upstream.connections.settings import MCPSettings
from doorward_mcp_upstream.connections.stderr import StderrLog
from doorward_mcp_upstream.connections.troubles import Trouble
from doorward_mcp_upstream.source import MCP


def settings(**given: Any) -> MCPSettings:
    return validate(
        MCPSettings, given, secrets=Secrets(environ={"TOKEN": "t0p-secret"}), place="doorward.toml [servers.x]"
    )


def test_a_command_is_a_list_or_one_string() -> None:
    """CONTRACT: MCP-01, MCP-17"""
    assert settings(command="npx -y 'a b'", args=["/data"]).command == ["npx", "-y", "a b"]
    assert settings(command=["npx", "-y"]).command == ["npx", "-y"]
    assert settings(url="https://a.example/mcp#x").url == "https://a.example/mcp"
    found = settings(url="https://a.example/mcp", headers={"X-Key": "${TOKEN}"}, transport="sse")
    assert found.headers["X-Key"].reveal() == "t0p-secret"
    assert "t0p-secret" not in repr(found)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({}, "needs `command`.*or `url`"),
        ({"command": "a", "url": "https://a.example"}, "and not both"),
        ({"command": "a 'b"}, "cannot be split"),
        ({"command": " "}, "needs `command`"),
        ({"command": [""]}, "must begin with a program"),
        ({"command": "a", "headers": {"A": "b"}}, "headers: has no meaning with `command`"),
        ({"url": "https://a.example", "env": {"A": "b"}}, "env: has no meaning with `url`"),
        ({"url": "https://a.example", "args": ["b"]}, "args: has no meaning"),
        ({"command": "a", "transport": "http"}, "'http' does not go with `command`"),
        ({"url": "https://a.example", "transport": "stdio"}, "'stdio' does not go with `url`"),
        ({"url": "https://a.example", "transport": "ws"}, "transport: "),
        ({"url": "file:///etc/passwd"}, "http or https URL"),
        ({"url": "https://ann:pw@a.example"}, "must not hold a user"),
        ({"url": "https://a.example:x"}, "http or https URL"),
        ({"url": "https://a.example/\n"}, "http or https URL"),
        ({"url": "https://a.example", "headers": {"A b": "c"}}, "not a name of a header"),
        ({"url": "https://a.example", "headers": {"Mcp-Session-Id": "c"}}, "set by the protocol"),
        ({"command": "a", "env": {"A=B": "c"}}, "not a name of an environment variable"),
        ({"image": "a:1", "url": "https://a.example"}, "and not both"),
        ({"image": "a:1", "cwd": "x"}, "cwd: has no meaning with `image`"),
        ({"image": "--privileged"}, "no name of an image"),
        ({"image": "a:1", "egress": ["10.0.0.1:443"]}, "is an address"),
        ({"image": "a:1", "container": {"user": "0"}}, "user"),
        ({"command": "a", "egress": ["a.example:443"]}, "egress: has no meaning with `command`"),
        ({"url": "https://a.example", "pull": True}, "pull: has no meaning with `url`"),
        ({"command": "a", "timeout": 0}, "timeout: "),
        ({"command": "a", "idle": -1}, "idle: "),
        ({"command": "a", "enviroment": {}}, r"unknown key .enviroment.; known: allow_self"),
    ],
)
def test_what_is_wrong_is_said(given: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError, match=says) as caught:
        settings(**given)
    assert "pw" not in str(caught.value)


@pytest.mark.slow
def test_what_servers_say_is_kept_within_bounds_and_clean(tmp_path: Path) -> None:
    secrets = Secrets(environ={})
    secrets.remember("s3cret-value")
    log = StderrLog(tmp_path / "state" / "stderr.log", secrets.scrub)
    log.feed(b"half a l")
    log.feed(b"ine\n\x1b]0;title\x07\x1b[2Jred \xff\xe2\x80\xae\n")
    assert log.tail() == "half a line\nred \ufffd"
    log.feed(b"x" * 65_530 + b"s3cret-")
    log.feed(b"value" + b"y" * 70_000)
    log.flush()
    for number in range(400):
        log.add(f"{number} " + "z" * 5000)
    assert log.tail(1).startswith("… z")
    assert len(log.tail(50)) < 700
    files = sorted((tmp_path / "state").iterdir())
    assert [f.name for f in files] == ["stderr.log"]
    for number in range(400):
        log.add(f"{number} " + "z" * 5000)
    files = sorted((tmp_path / "state").iterdir())
    assert [f.name for f in files] == ["stderr.log", "stderr.log.1"]
    for file in files:
        assert file.stat().st_size < 1_100_000
        assert file.stat().st_mode & 0o777 == 0o600
        text = file.read_text()
        assert "s3cret" not in text
        assert "\x1b" not in text


def test_what_fails_together_counts_once_and_a_success_forgives() -> None:
    breaker = CircuitBreaker()
    for _ in range(50):
        breaker.failed("it is down", since=0.0)
    breaker.check()
    for _ in range(2):
        breaker.failed("it is down", since=float("inf"))
    with pytest.raises(Trouble, match=r"3 times in a row.*it is down"):
        breaker.check()
    breaker.succeeded()
    breaker.check()


def test_what_a_policy_is_told() -> None:
    """The URL, or the whole command line, in which quotes keep its words apart."""
    assert MCP.upstreams(MCPSettings(url="https://mcp.example.com/mcp"), None) == ["https://mcp.example.com/mcp"]
    settings = MCPSettings(command=["npx", "-y"], args=["@acme/files", "a b"])
    assert MCP.upstreams(settings, None) == ["command:npx -y @acme/files 'a b'"]
