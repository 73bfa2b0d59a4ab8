"""Whatever writes the configuration looks first whether Doorward would start with the result."""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from doorward.model.errors import ConfigError
from doorward_cli.config_file import change_config
from doorward_cli.project import begin
from doorward_cli.servers import put_server, remove_server
from doorward_cli.shared import Project

TEXT = '[servers.a]\nsource = "openapi"\nspec = "a.json"\n'
RULE = '[[policy.rules]]\nmatch = "a"\nthen = "{}"\n'
ODD = RULE.format("confirm") + 'when = "args."\n'


@pytest.fixture(autouse=True)
def _rules(doorward_host: Any) -> None:
    doorward_host.install_real("doorward-policy-rules")


@pytest.mark.parametrize(
    ("text", "change"),
    [
        (TEXT, lambda project: put_server(project, "b", {"source": "none"})),
        (TEXT + ODD, lambda project: put_server(project, "b", {"source": "mcp", "command": ["x"]})),
        (TEXT + ODD, lambda project: remove_server(project, "a")),
        (TEXT, lambda project: change_config(project, "[limits]\nno = 1\n")),
        (TEXT, lambda project: put_server(project, "a", {"source": "openapi"}, replace=True)),
    ],
)
def test_what_could_not_be_used_is_never_written(
    tmp_path: Path, text: str, change: Callable[[Project], object]
) -> None:
    """Not even for a moment, in which a server that runs would read it: the file is the very same."""
    file = tmp_path / "doorward.toml"
    file.write_text(text)
    before = file.stat()
    with pytest.raises(ConfigError):
        change(Project(file, None, False))
    assert (file.read_text(), file.stat().st_ino) == (text, before.st_ino)


def test_a_start_says_what_is_wrong_before_it_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOORWARD_LIMITS__TIMEOUT", "soon")
    with pytest.raises(ConfigError):
        begin(Project(tmp_path / "doorward.toml", None, False))
    assert [*tmp_path.iterdir()] == []


@pytest.mark.slow
def test_no_command_writes_the_configuration_in_another_way() -> None:
    """`project.config` is the file: only this one place hands it to what writes files."""
    root = Path(__file__).parents[3]
    found = [
        f"{file.relative_to(root)}:{call.lineno}"
        for file in [*root.glob("core/src/doorward/**/*.py"), *root.glob("plugins/*/src/**/*.py")]
        for call in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(call, ast.Call)
        and ast.unparse(call.func).rpartition(".")[2] in ("write", "write_file", "write_text", "write_bytes")
        and "project.config" in (ast.unparse(call.func) + "".join(map(ast.unparse, call.args[:1])))
    ]
    assert found == []
