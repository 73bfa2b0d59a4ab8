"""Errors of the configuration name lines."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
import tomli_w
from doorward import ConfigError
from doorward.config.config import load
from doorward.config.lines import line_of
from hypothesis import given
from hypothesis import strategies as st

TEXT = """\
executor = "monty"
surface = [
  1,
]
vault_key = '''
[limits]
timeout = "none of these lines is a key"
'''

[limits]  # they hold for each run
timeout = 3

[servers.a]
auth = { type = "jwt", token = "x" }

[servers."b.c"]
url = "x"
auth = [{ type = "jwt" },
        { type = "other" }]

[[policy.rules]]
then = "deny"
[[policy.rules]]
match = "x"
[policy.rules.more]
deep = 1
"""


@pytest.mark.parametrize(
    ("place", "path", "line"),
    [
        ("doorward.toml", ["surface", 0], 2),
        ("doorward.toml", ["vault_key"], 5),
        ("doorward.toml", ["limits", "timeout"], 11),
        ("doorward.toml [servers.a]", ["auth", "token"], 14),
        ("doorward.toml [servers.a] auth", ["token"], 14),
        ("doorward.toml [servers.b.c]", ["url"], 17),
        ("doorward.toml [servers.b.c] auth 2", ["type"], 18),
        ("doorward.toml", ["policy", "rules", 0, "then"], 22),
        ("doorward.toml", ["policy", "rules", 1, "match"], 24),
        ("doorward.toml", ["policy", "rules", 1, "more", "deep"], 26),
        ("doorward.toml [servers.a]", ["elsewhere"], 0),
        ("doorward.toml", ["elsewhere"], 0),
    ],
)
def test_lines_of_keys(tmp_path: Path, place: str, path: list[Any], line: int) -> None:
    """Also of what spans several lines, and not of what only looks like a key."""
    for newline in ("\n", "\r\n"):
        (tmp_path / "doorward.toml").write_text(TEXT, newline=newline)
        assert line_of(tmp_path / "doorward.toml", place, path) == line


def test_what_is_missing_is_missing_in_a_table(tmp_path: Path) -> None:
    (tmp_path / "doorward.toml").write_text(TEXT)
    assert line_of(tmp_path / "doorward.toml", "doorward.toml [servers.a]", ["spec"], missing=True) == 13


VALUES = st.recursive(
    st.integers() | st.text() | st.booleans(),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(st.text(), below, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.text(), VALUES, max_size=4))
def test_every_key_has_its_line(tmp_path_factory: pytest.TempPathFactory, document: dict[str, Any]) -> None:
    """Whatever it is called: what the document has up to there has the key, and the lines before have not."""
    file = tmp_path_factory.getbasetemp() / "any.toml"
    text = tomli_w.dumps(document)
    file.write_text(text, encoding="utf-8", newline="")
    for key in document:
        line = line_of(file, "any.toml", [key])
        assert line
        assert key not in tomllib.loads("\n".join(text.split("\n")[: line - 1]))


def test_errors_name_them(tmp_path: Path) -> None:
    """Each its own; what the environment says has a variable and no line."""
    (tmp_path / "doorward.toml").write_text("[limits]\n\ntimeout = 'soon'\nmany = 1\n")
    with pytest.raises(ConfigError, match=r"timeout: .* \(line 3\); unknown key 'limits.many'.* \(line 4\)"):
        load(tmp_path / "doorward.toml", environ={})
    (tmp_path / "doorward.toml").write_text("[limits]\ncode = 3\n")
    with pytest.raises(ConfigError, match=r"[^)]$"):
        load(tmp_path / "doorward.toml", environ={"DOORWARD_LIMITS__TIMEOUT": "soon"})
