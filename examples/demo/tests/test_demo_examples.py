"""The example files: each does what it says."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
import textwrap
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from doorward import Gateway
from doorward.config.config import load

pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).parents[2]
SKILLS = sorted((EXAMPLES / "skills").iterdir())


@pytest.fixture(scope="module")
def library() -> Iterator[dict[str, str]]:
    """The demo's API, and the environment in which the example configuration reaches it."""
    env = {**os.environ, "DEMO_API_KEY": "demo-key-of-the-skills"}
    process = subprocess.Popen(
        [sys.executable, "-m", "doorward_demo.service"], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    with process:
        yield {**env, "LIBRARY_URL": process.stdout.readline().decode().strip()}


@pytest.mark.parametrize("skill", SKILLS, ids=lambda skill: skill.name)
def test_a_skill_names_itself_and_its_program_runs(skill: Path, library: dict[str, str], tmp_path: Path) -> None:
    """CONTRACT: SKL-06, SKL-07, DIS-19. The front matter is what Claude Code asks for; the commands in the text
    work."""
    text = (skill / "SKILL.md").read_text()
    about = dict(line.split(": ", 1) for line in text.split("---")[1].strip().splitlines())
    assert about["name"] == skill.name
    assert re.fullmatch(r"[a-z0-9-]{1,64}", about["name"])
    assert 20 < len(about["description"]) < 1024
    shutil.copytree(EXAMPLES / "demo" / "src", tmp_path / "demo" / "src")
    shutil.copy(EXAMPLES / "doorward.toml", tmp_path)
    commands = [line.split() for line in text.splitlines() if line.startswith("doorward run")]
    assert commands
    values: list[Any] = []
    for command in commands:
        ran = _doorward([*command[1:2], str(skill / command[2]), *command[3:], "--json"], tmp_path, library)
        assert ran["ok"], ran
        assert ran["value"], "an example that finds nothing shows nothing"
        values.append(ran["value"])
        assert "--param" in command
        words = [word for word in command[3:] if word != "--param" and "=" not in word]
        plain = _doorward([*command[1:2], str(skill / command[2]), *words, "--json"], tmp_path, library)
        assert plain["value"] not in values, "its parameters change what it finds"


def test_the_template_for_agents_names_commands_that_there_are(library: dict[str, str], tmp_path: Path) -> None:
    """CONTRACT: SKL-08."""
    text = (EXAMPLES / "AGENTS.md.template").read_text()
    from doorward_cli.installed_commands import own_commands

    assert set(re.findall(r"`doorward ([a-z]+)", text)) <= set(own_commands())
    program = (
        text.split("```python\n")[1]
        .split("```")[0]
        .replace("SERVER.function", "library.list_members")
        .replace("SERVER", "library")
    )
    (tmp_path / "program.py").write_text(program)
    shutil.copytree(EXAMPLES / "demo" / "src", tmp_path / "demo" / "src")
    shutil.copy(EXAMPLES / "doorward.toml", tmp_path)
    assert _doorward(["run", "program.py", "--json"], tmp_path, library)["ok"]


def _doorward(words: list[str], folder: Path, env: dict[str, str]) -> Any:
    ran = subprocess.run(
        [sys.executable, "-m", "doorward", *words],
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return json.loads(ran.stdout or ran.stderr)


def test_the_example_configuration_is_right(tmp_path: Path) -> None:
    """`doorward.toml` loads, no server is broken, and every driver takes its settings."""
    shutil.copytree(EXAMPLES / "demo" / "src", tmp_path / "demo" / "src")
    shutil.copy(EXAMPLES / "doorward.toml", tmp_path)

    async def check() -> None:
        async with Gateway.open(load(tmp_path / "doorward.toml", environ={}), compile=False) as gate:
            reports = await gate.compile()
            assert reports["library"].functions == 15
            assert gate.servers.broken == {}
            assert not reports["library"].warnings
            assert gate.servers.configured.keys() == {"library"}
            assert len(gate.servers.settings("library")) == 2  # its source's and its auth's
            assert (await gate.execute("1 + 1")).value == 2

    asyncio.run(check())


def test_library_use_prints_what_it_finds(tmp_path: Path) -> None:
    """The library example finds and runs, twice, with the example configuration."""
    shutil.copytree(EXAMPLES / "demo" / "src", tmp_path / "demo" / "src")
    shutil.copy(EXAMPLES / "doorward.toml", tmp_path)
    ran = subprocess.run(
        [sys.executable, str(EXAMPLES / "library_use.py"), "doorward.toml"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert ran.returncode == 0, ran.stderr
    lines = ran.stdout.splitlines()
    assert "library 13 functions" in lines  # `[policy]` denies two of 15
    assert "'library.list_loans'" in lines[-2]
    assert "'library.create_loan'" in lines[-1]


def test_the_plugin_has_20_lines_and_works(tmp_path: Path) -> None:
    """Installed by its entry point, the source answers a program; the file has at most 20 lines of code."""
    text = (EXAMPLES / "plugin_in_20_lines.py").read_text()
    code = [line for line in text.split('"""')[2].splitlines() if line.strip()]
    assert len(code) <= 20
    installed = tmp_path / "site" / "notes-1.0.dist-info"
    installed.mkdir(parents=True)
    shutil.copy(EXAMPLES / "plugin_in_20_lines.py", tmp_path / "site")
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: notes\nVersion: 1.0\n")
    declared = re.search(r"    \[project.*\n    .*", text)
    assert declared
    points = tomllib.loads(textwrap.dedent(declared[0]))["project"]["entry-points"]["doorward.source"]
    (installed / "entry_points.txt").write_text(f"[doorward.source]\nnotes = {points['notes']}\n")
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "monday.md").write_text("Water the orchids.")
    (tmp_path / "notes" / "friday.md").write_text("Nothing.")
    (tmp_path / "doorward.toml").write_text('state = "state"\n[servers.diary]\nsource = "notes"\npath = "notes"\n')
    (tmp_path / "program.py").write_text('import diary\nresult = diary.find(words="orchids")\n')
    ran = subprocess.run(
        [sys.executable, "-m", "doorward", "run", "program.py", "--json"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path / "site")},
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert '"value": ["monday.md"]' in ran.stdout, ran.stdout + ran.stderr
