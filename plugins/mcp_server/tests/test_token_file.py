"""The tokens of the configuration file, as they are now."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from doorward.config.config import load
from doorward_mcp_server.tokens.token_file import TokenFile

HASHES = ["sha256:" + digit * 64 for digit in "0123"]
FIRST, SECOND, THIRD, FOURTH = HASHES


def token(principal: str, hash: str) -> str:
    return f'[[principals.{principal}.tokens]]\nid = "{hash[-4:]}"\nhash = "{hash}"\n'


def write(file: Path, text: str) -> None:
    """Another file, however soon after the last one."""
    beside = file.with_suffix(".new")
    beside.write_text(text)
    os.replace(beside, file)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "doorward.toml"
    write(path, token("alice", FIRST))
    return path


def test_tokens_come_and_go_with_the_file(file: Path) -> None:
    """One that is added is there after the next look, one that is removed is not."""
    found = TokenFile(load(file))
    assert [name for name, _ in found.tokens.values()] == ["alice"]
    assert not found.changed()
    write(file, token("alice", SECOND) + token("bob", THIRD))
    assert found.changed()
    found.refresh()
    assert {hash: name for hash, (name, _) in found.tokens.items()} == {SECOND: "alice", THIRD: "bob"}
    assert not found.changed()
    file.write_text("")
    found.refresh()
    assert found.tokens == {}


@pytest.mark.parametrize(
    "text", ["not toml [", "principals = 1\n", '[[principals.alice.tokens]]\nid = "x"\n', "[principals]\nalice = 2\n"]
)
def test_while_it_cannot_be_read_the_tokens_of_before_hold(
    file: Path, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Half a file takes no one's token away, nor does one that is gone."""
    found = TokenFile(load(file))
    write(file, text)
    found.refresh()
    assert [*found.tokens] == [FIRST]
    assert "tokens_not_read" in capsys.readouterr().err
    file.unlink()
    found.refresh()
    assert [*found.tokens] == [FIRST]


def test_rights_that_have_changed_give_no_new_token(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A token of a principal whose table says something else by now waits for a restart; those that they had are still
    good. So it is for all, if what holds for everybody has changed; `local` gets none."""
    found = TokenFile(load(file))
    write(
        file,
        '[principals.alice]\nallow = ["x.*"]\n' + token("alice", FIRST) + token("alice", SECOND) + token("bob", THIRD),
    )
    found.refresh()
    assert {*found.tokens} == {FIRST, THIRD}
    assert "token_needs_restart" in capsys.readouterr().err
    write(
        file,
        '[principals."*"]\nallow = ["x.*"]\n' + token("alice", FIRST) + token("bob", FOURTH) + token("local", SECOND),
    )
    found.refresh()
    assert {*found.tokens} == {FIRST}


def test_what_a_distribution_locks_holds_for_tokens(file: Path, distro: Any) -> None:
    """A file that is changed meanwhile is checked like the first one: while it loosens a lock, no token of it counts."""
    distro("lock = ['principals']\nopen = ['principals.*.tokens']\n[locked.limits]\ntimeout = 9\n")
    found = TokenFile(load(file))
    for text in ("[limits]\ntimeout = 60\n", "[principals.bob]\nallow = ['*']\n"):
        write(file, text + token("eve", SECOND))
        found.refresh()
        assert {who for who, _ in found.tokens.values()} == {"alice"}
