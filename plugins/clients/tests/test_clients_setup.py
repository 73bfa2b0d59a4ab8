"""The questions of the guided set-up, and what is written of the answers."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal

import pytest
from click.testing import CliRunner
from doorward import Failure, Outcome, Settings
from doorward_cli import Project
from doorward_clients import importing, questions, setup

KEY = "sk-of-nobody"


class Model(Settings):
    provider: Literal["anthropic", "openai"] | None = None


class Installed:
    """An index of plugins, which need not be installed for these tests."""

    def of(self, kind: str) -> list[Any]:
        return [SimpleNamespace(name=name) for name in ("monty", "nsjail")]

    def named(self, kind: str, name: str) -> list[Any]:
        return [SimpleNamespace(point=SimpleNamespace(load=lambda: SimpleNamespace(Settings=Model)))]


class Gate:
    """A gateway whose programs end like this."""

    def __init__(self, outcome: Outcome) -> None:
        self._outcome = outcome

    async def __aenter__(self) -> Gate:
        return self

    async def __aexit__(self, *error: object) -> None: ...

    async def execute(self, code: str) -> Outcome:
        return self._outcome


@pytest.fixture
def answered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Runs `setup` with a configuration, in a home without clients; a person at the terminal gives these answers."""
    for module in (setup, importing):
        monkeypatch.setattr(module, "at_a_terminal", lambda: True)
    monkeypatch.setattr(questions, "find_index", Installed)
    monkeypatch.setattr(setup, "compile_now", lambda project, names, snippet: 0)
    monkeypatch.setattr(Project, "gateway", lambda project, ready: Gate(Outcome(True, value=42, executor="monty")))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "doorward.toml"
    file.write_text('executor = "monty"  # mine\n[limits]\ncalls = 50\n')

    def run(*answers: str, options: Sequence[str] = ()) -> tuple[str, dict[str, Any]]:
        ran = CliRunner().invoke(
            setup.setup, ["--config", str(file), *options], input="".join(f"{each}\n" for each in answers)
        )
        assert ran.exit_code == 0, ran.output
        return ran.output, tomllib.loads(file.read_text())

    return run


def test_enter_leaves_all_as_it_is(answered: Any) -> None:
    """Executor, limits, safety and model are asked for, with what holds now as the answer of Enter. CONTRACT: CLI-05."""
    said, written = answered("y", *[""] * 8)
    assert written == {"executor": "monty", "limits": {"calls": 50}}
    for question in ("Where do programs run? ", "[monty]", "Seconds that a run may take [30.0]", "a run may make [50]"):
        assert question in said
    for question in (
        "Runs a minute of one client [60]",
        "wait for a person's yes?",
        "[none]",
        "Which language model",
        "[ignored]",
    ):
        assert question in said


def test_what_holds_is_said_before_anything_is_asked(answered: Any) -> None:
    """Five questions are left for whoever agrees: this is the first, and Enter agrees."""
    said, _ = answered("", "")
    assert "Programs run in monty, for 30 seconds and 50 calls at most; no call waits for a person." in said
    assert "Seconds that a run may take" not in said


def test_a_reset_begins_anew(answered: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was configured is in a copy."""

    def begin(project: Any, tell: Any) -> list[Path]:
        project.config.write_text('executor = "nsjail"\n')
        tell("wrote what was there before to a copy")
        return [project.config]

    monkeypatch.setattr(setup, "begin", begin)
    said, written = answered("", "", options=["--reset"])
    assert "what was there before" in said
    assert written == {"executor": "nsjail"}


def test_a_first_program_tells_of_a_sandbox_that_fails(
    answered: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At the end a program runs; that it failed is said, with what to do, and ends nothing."""
    for outcome, says in (
        (Outcome(True, value=42, executor="monty"), "A first program ran in monty"),
        (Outcome(False, error=Failure("executor", "Broken", "no sandbox")), "a first program failed: no sandbox"),
    ):
        monkeypatch.setattr(Project, "gateway", lambda project, ready, given=outcome: Gate(given))
        said, _ = answered("n", "")
        assert says in said


def test_a_no_asks_nothing(answered: Any) -> None:
    """A configuration that is there is changed only on request."""
    said, written = answered("n", "")
    assert "Where do programs run" not in said
    assert written == {"executor": "monty", "limits": {"calls": 50}}


def test_apis_are_added_until_there_are_no_more(answered: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each by the command that adds one, under the name of its document unless another is given. CONTRACT: CLI-05."""
    added: list[list[str]] = []
    monkeypatch.setattr(questions, "main", added.append)
    said, _ = answered("y", *[""] * 7, "https://x.example/pet-store.json?v=1", "", "specs/a.yaml", "crm", "")
    assert "[pet-store]" in said
    assert [words[-2:] for words in added] == [
        ["pet-store", "https://x.example/pet-store.json?v=1"],
        ["crm", "specs/a.yaml"],
    ]


def test_answers_are_written(answered: Any, tmp_path: Path) -> None:
    """Each answer stands in the configuration, the key of the model in `.env` alone; a wrong answer is asked for again.
    CONTRACT: CLI-05."""
    said, written = answered(
        "y", "nonsense", "monty, nsjail", "1000", "60", "200", "90", "destructive", "anthropic", KEY, "taken", ""
    )
    assert written["executor"] == ["monty", "nsjail"]
    assert written["limits"] == {"calls": 200, "timeout": 60.0, "rate": 90}
    assert written["policy"]["rules"] == [{"class": ["destructive"], "then": "confirm"}]
    assert written["servers"]["llm"] == {
        "source": "llm", "provider": "anthropic", "api_key": "${ANTHROPIC_API_KEY}"
    }  # fmt: skip
    assert f"ANTHROPIC_API_KEY={KEY}" in (tmp_path / ".env").read_text()
    assert KEY not in said
    assert KEY not in (tmp_path / "doorward.toml").read_text()
    assert "name one or more of" in said
    assert written["plugins"][-1] == "clients"
    assert written["hooks"] == {"clients": {"new_servers": "take"}}


def test_the_clients_own_model(answered: Any) -> None:
    """Programs may ask the model of the client, without any key; what is configured is not asked for again."""
    _, written = answered("y", "", "", "", "", "write", "client", "logged", "")
    assert written["servers"] == {"llm": {"source": "llm", "sampling": "only"}}
    assert written["policy"]["rules"][0]["class"] == ["write", "destructive"]
    assert (written["plugins"][-1], "hooks" in written) == ("clients", False)
    said, again = answered("y", "", "", "", "", "")
    assert again == written
    assert "`[policy] rules` say so already" in said
