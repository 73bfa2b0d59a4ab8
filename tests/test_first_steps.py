"""docs/tutorial.md, done as its reader does it: each command prints what the page shows. The README shows some of the same."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from doorward_testing import Commands
from test_docs import snippets, text_of
from test_pictures import constant

PAGE = "docs/tutorial.md"
ID = re.compile(r"\b[0-9a-f]{16}\b")
STEP = re.compile(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
"""A command, and the lines below it."""


@pytest.fixture
def address() -> Iterator[str]:
    """Where the demo's library listens: a free port, not that of the page."""
    with subprocess.Popen(
        [sys.executable, "-m", "doorward_demo.service"],
        env={**os.environ, "DEMO_API_KEY": "books-1234567"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as service:
        assert service.stdin
        assert service.stdout
        yield service.stdout.readline().strip()
        service.stdin.close()


@pytest.mark.slow
def test_the_tutorial_does_what_it_says(tmp_path: Path, address: str) -> None:
    """Files are written and commands run in the order of the page. `…` stands for any lines or words; times and ids are others."""
    environment = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "DOORWARD_STATE_DIR": str(tmp_path / "state")}
    names: dict[str, str] = {"http://127.0.0.1:8090": address}
    ran = 0
    with Commands(modules=["mcp.client"]) as commands:
        for language, text in (
            (s.language, s.text) for s in snippets("console", "python", "toml", "text") if s.page == PAGE
        ):
            if language != "console":
                name = re.match(r"# (\S+)\n", text)
                file = tmp_path / (name[1] if name else ".env")
                file.write_text(f"{file.read_text() if file.suffix == '.toml' else ''}\n{text}", encoding="utf-8")
                continue
            for line, shown in STEP.findall(text):
                if not line.startswith("doorward "):
                    continue
                for known, real in names.items():
                    line = line.replace(known, real)
                done = commands.run(shlex.split(line)[1:], environment, tmp_path)
                printed = f"{done.stdout}{done.stderr}"
                names |= dict(zip(ID.findall(shown), ID.findall(printed), strict=False))
                if not shown:
                    assert done.returncode == 0, printed
                    continue
                wanted = ".*".join(map(re.escape, constant(shown).split("…")))
                assert re.fullmatch(wanted, constant(printed)), f"{line}\n{printed}"
                ran += 1
    assert ran > 10


def test_the_readme_shows_commands_of_the_tutorial() -> None:
    """In at most 120 lines, with what they print."""
    readme = text_of("README.md")
    shown = [step for block in snippets("console") if block.page == "README.md" for step in STEP.findall(block.text)]
    assert len(readme.splitlines()) <= 120
    printing = [step for step in shown if step[1]]
    assert len(printing) == 3
    assert [line for line, below in printing if f"$ {line}\n{below}" not in text_of(PAGE)] == []
