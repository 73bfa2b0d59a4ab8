"""What a shell is offered where its cursor is."""

from __future__ import annotations

from typing import Any

import pytest
from doorward_cli import main

from .conftest import CONFIG, Cli


@pytest.fixture
def offered(
    project: Cli, doorward_host: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Any:
    """What is offered at the end of a command line, where there are two servers."""
    doorward_host.write(f'{CONFIG}[servers.wet]\nsource = "fake"\ninclude = ["big"]\n')
    project("compile")
    capsys.readouterr()

    def at(line: str) -> list[str]:
        monkeypatch.setenv("_DOORWARD_COMPLETE", "bash_complete")
        monkeypatch.setenv("COMP_WORDS", line)
        monkeypatch.setenv("COMP_CWORD", str(len(line.split(" ")) - 1))
        with pytest.raises(SystemExit):
            main([])
        return [each.partition(",")[2] for each in capsys.readouterr().out.splitlines() if each]

    return at


@pytest.mark.parametrize(
    ("line", "offers"),
    [
        ("doorward re", ["remove", "refresh"]),
        ("doorward show ", ["weather.", "wet."]),
        ("doorward show wet", ["wet.big"]),
        ("doorward call weather.get", ["weather.get_forecast"]),
        ("doorward compile w", ["weather", "wet"]),
        ("doorward search --server we", ["weather", "wet"]),
        ("doorward list --js", ["--json"]),
        ("doorward plugins --ch", ["--chain"]),
        ("doorward show --config nowhere.toml w", []),
        ("doorward nonsense w", []),
    ],
)
def test_what_is_offered(offered: Any, line: str, offers: list[str]) -> None:
    """Commands, options, servers and functions, and nothing where something is wrong."""
    assert offered(line) == offers


def test_the_script_of_a_shell(cli: Cli) -> None:
    """Each names the variable by which it asks."""
    for shell in ("zsh", "fish"):  # for bash, click asks which version of it is here
        assert "_DOORWARD_COMPLETE" in cli("completion", shell).out
