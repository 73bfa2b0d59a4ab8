"""Secrets are found in texts, get names, and come back from `.env`; references of clients become ours."""

from __future__ import annotations

import time
from io import StringIO
from pathlib import Path

import pytest
from doorward.secrets.detection import hide, hide_arguments, is_named_secret, is_random
from doorward_cli import Variables, variable
from doorward_cli.variables import quoted, write_env
from doorward_clients.references import translate
from dotenv import dotenv_values
from hypothesis import given
from hypothesis import strategies as st

GITHUB = "ghp_" + "0123456789abcdefghijABCDEFGHIJ012345"


def kept(name: str, secret: str) -> str:
    return f"${{kept:{name}={secret}}}"


def marked(text: str) -> str:
    return text.replace("<", "${kept:").replace(">", "}")


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("postgresql://bob:hunter2@db:5432/x", "postgresql://bob:<password=hunter2>@db:5432/x"),
        ("redis://:p%40ss@h/0", "redis://:<password=p%40ss>@h/0"),
        (f"https://{GITHUB}@github.com/a/b", f"https://<token={GITHUB}>@github.com/a/b"),
        ("https://h/mcp?api_key=abc&org=7", "https://h/mcp?api_key=<api_key=abc>&org=7"),
        ("https://h/mcp?org=7&token=abc#x", "https://h/mcp?org=7&token=<token=abc>#x"),
        ("https://h/s/Zm9vYmFyYmF6cXV4MTIzNDU2/mcp", "https://h/s/<secret=Zm9vYmFyYmF6cXV4MTIzNDU2>/mcp"),
        ("--api-key=abc", "--api-key=<api-key=abc>"),
        ("--figma-api-key=figd_0123", "--figma-api-key=<figma-api-key=figd_0123>"),
        ("GITHUB_TOKEN=abc", "GITHUB_TOKEN=<GITHUB_TOKEN=abc>"),
        ("Authorization: Bearer abc", "Authorization: Bearer <Authorization=abc>"),
        ("X-Api-Key:abc", "X-Api-Key:<X-Api-Key=abc>"),
        ("Server=db;User Id=sa;Password=p;Encrypt=yes", "Server=db;User Id=sa;Password=<Password=p>;Encrypt=yes"),
        (GITHUB, f"<token={GITHUB}>"),
        (f"x {GITHUB}, y", f"x <token={GITHUB}>, y"),
        ("AKIAIOSFODNN7EXAMPLE", "<token=AKIAIOSFODNN7EXAMPLE>"),
        ("0a1b2c3d4e5f60718293a4b5c6d7e8f9", "<secret=0a1b2c3d4e5f60718293a4b5c6d7e8f9>"),
    ],
)
def test_secrets_in_texts(text: str, hidden: str) -> None:
    """Passwords in URLs, parameters, options, headers and connection strings, tokens of known services, and random
    runs."""
    assert hide(text, kept) == marked(hidden)


@pytest.mark.parametrize(
    "text",
    [
        "-y", "@modelcontextprotocol/server-filesystem", "mcp-server-git", "/home/me/projects/2024-11-05/notes", "everything@2025.11.25",
        "https://mcp.example.com/v1/mcp", "docker.io/mcp/postgres@sha256:" + "0a1b2c3d" * 8, "C:\\Users\\me\\file.txt", "--port=8080",
        "8a6e0804-2bd0-4672-b79d-d97027f9071a", "git+https://github.com/o/r@main", "--max-tokens=4096", "${TOKEN}", "--api-key=${KEY}",
        "Authorization: Bearer ${TOKEN}", "postgresql://bob:${PW}@db/x", "https://h/?api_key=${K}", "npx", "",
    ],
)  # fmt: skip
def test_what_is_no_secret_stays(text: str) -> None:
    """Packages, paths, plain URLs, digests of images, ports, and what refers to a variable already."""
    assert hide(text, kept) == text
    assert list(hide_arguments([text], kept)) == [text]


@pytest.mark.parametrize(
    ("name", "value", "hidden"),
    [
        ("GITHUB_PERSONAL_ACCESS_TOKEN", "x", True), ("API_KEY", "abc", True), ("apiKey", "abc", True), ("JIRA_PASS" + "WORD", "p w", True),
        ("MY_PAT", "abc", True), ("SLACK_BOT_TOKEN", "xoxb-1", True), ("client_secret", "abc", True), ("DB_PWD", "1234", True),
        ("LOG_LEVEL", "debug", False), ("AUTH_TYPE", "oauth", False), ("TOKEN_URL", "https://h/t", False), ("MONKEY", "banana", False),
        ("GOOGLE_APPLICATION_CREDENTIALS", "/home/me/key.json", False), ("USE_AUTH", "true", False), ("AUTHOR", "me", False),
        ("KEYBOARD", "us", False), ("PATH", "/usr/bin", False), ("TOKEN", "${TOKEN}", False), ("PLAIN", GITHUB, True),
    ],
)  # fmt: skip
def test_secrets_by_what_they_are_called(name: str, value: str, hidden: bool) -> None:
    """The name of a variable tells, but for switches, files and URLs; without one, what it looks like."""
    assert (hide(value, kept, name=name) != value) is hidden


def test_an_option_and_its_value_are_two_words() -> None:
    """`--token VALUE` hides the value, and not what follows a switch."""
    words = [
        "--token",
        "abc",
        "--no-auth",
        "server.py",
        "--password",
        "--verbose",
        "-e",
        "A_KEY=b",
        "--header",
        "X-Token: c",
        "--key",
        "/k.pem",
    ]
    assert list(hide_arguments(words, kept)) == [marked(word) for word in [
        "--token", "<token=abc>", "--no-auth", "server.py", "--password", "--verbose", "-e", "A_KEY=<A_KEY=b>",
        "--header", "X-Token: <X-Token=c>", "--key", "/k.pem",
    ]]  # fmt: skip
    assert hide("Bearer abc", kept, name="Authorization") == marked("Bearer <Authorization=abc>")
    assert is_named_secret("x-api-key")
    assert not is_random("server-everything-2025-11-25-filesystem")


@pytest.mark.slow
def test_hostile_texts_take_no_time() -> None:
    """Long texts that are made to be looked at again and again."""
    began = time.process_time()
    for text in (
        "a" * 60_000,
        "${" * 30_000,
        "token=" * 10_000,
        "x:" + " " * 60_000,
        "://" * 20_000,
        "eyJ" + "a" * 60_000 + ".",
        "sk-" * 20_000,
    ):
        hide(translate(text, Path("/h"), Path("/p"), lambda name, was: None), kept)
    assert time.process_time() - began < 5


@pytest.mark.parametrize(
    ("text", "ours", "wanted"),
    [
        ("${TOKEN}", "${TOKEN}", {"TOKEN": ""}),
        ("a${X:-y}b", "a${X:-y}b", {}),
        ("${env:TOKEN}", "${TOKEN}", {"TOKEN": ""}),
        ("{env:TOKEN}", "${TOKEN}", {"TOKEN": ""}),
        ("$TOKEN", "${TOKEN}", {"TOKEN": ""}),
        ("Bearer ${input:github-pat}", "Bearer ${GITHUB_PAT}", {"GITHUB_PAT": "${input:github-pat}"}),
        ("{file:~/.key}", "${KEY}", {"KEY": "{file:~/.key}"}),
        ("${workspaceFolder}/x", "/p/x", {}),
        ("${workspaceFolder:other}/x", "/p/x", {}),
        ("${userHome}/.x", "/h/.x", {}),
        ("${command:pick.one}", "${PICK_ONE}", {"PICK_ONE": "${command:pick.one}"}),
        ("${unclosed", "$${unclosed", {}),
        ("{plain} $5 $x", "{plain} $5 $x", {}),
        ("${input:doorward-token}", "${MCP_DOORWARD_TOKEN}", {"MCP_DOORWARD_TOKEN": "${input:doorward-token}"}),
    ],
)
def test_references_of_clients(text: str, ours: str, wanted: dict[str, str]) -> None:
    """Each client's way to refer to a value becomes ours; what a person must set is known with what it was."""
    found: dict[str, str] = {}
    assert translate(text, Path("/h"), Path("/p"), lambda name, was: found.update({name: was})) == ours
    assert found == wanted


@pytest.mark.slow
@given(st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=30))
def test_values_come_back_from_dotenv(value: str) -> None:
    """What is written to `.env` is what is read from it: quotes, backslashes, line breaks and all."""
    assert dotenv_values(stream=StringIO(f"A=1\nX={quoted(value)}\nB=2\n"), interpolate=False) == {
        "A": "1",
        "X": value,
        "B": "2",
    }


def test_a_dotenv_is_appended_to(tmp_path: Path) -> None:
    """What is there stays, the mode becomes private, and git does not see it."""
    env = tmp_path / ".env"
    env.write_text("# mine\nA=1")
    env.chmod(0o644)
    assert env in write_env(env, {"B": "x y"})
    assert (env.read_text(), env.stat().st_mode & 0o777) == ("# mine\nA=1\nB='x y'\n", 0o600)
    (tmp_path / ".gitignore").unlink(missing_ok=True)  # the folder of tests may lie in a repository
    (tmp_path / ".git").mkdir()
    assert write_env(env) == [tmp_path / ".gitignore"]
    assert write_env(env) == []
    assert (tmp_path / ".gitignore").read_text() == ".env\n"


def test_names_of_secrets(tmp_path: Path) -> None:
    """The first name that is free, or has this value already, in `.env` or in the environment, which would win."""
    env = tmp_path / ".env"
    env.write_text("GITHUB_TOKEN=one\n")
    variables = Variables(env, {"SLACK_TOKEN": "theirs"})
    assert variables.keep("one", "GITHUB_TOKEN", "gh_GITHUB_TOKEN") == "${GITHUB_TOKEN}"
    assert variables.keep("two", "GITHUB_TOKEN", "gh_GITHUB_TOKEN") == "${GH_GITHUB_TOKEN}"
    assert variables.keep("three", "GITHUB_TOKEN", "gh_GITHUB_TOKEN") == "${GITHUB_TOKEN_2}"
    assert variables.keep("mine", "SLACK_TOKEN", "slack_SLACK_TOKEN") == "${SLACK_SLACK_TOKEN}"
    assert variables.keep("two", "GITHUB_TOKEN", "gh_GITHUB_TOKEN") == "${GH_GITHUB_TOKEN}"
    assert variables.keep("x", "pin") == "${PIN_SECRET}"
    assert variables.keep("x", "DOORWARD_KEY") == "${MCP_DOORWARD_KEY}"
    assert set(variables.new) == {
        "GH_GITHUB_TOKEN",
        "GITHUB_TOKEN_2",
        "SLACK_SLACK_TOKEN",
        "PIN_SECRET",
        "MCP_DOORWARD_KEY",
    }
    assert (variable("1 st-käy"), variable("")) == ("MCP_1_ST_K_Y", "VALUE")
