"""Tasks of an agent over real systems, through a served Doorward: all are done, most by the first program, and what the
agent reads for them is small. `python -m pytest tests/peers/test_tasks.py -s` shows each."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from .systems import DIRECTUS, systems
from .tasks import TASKS, Task

pytestmark = [pytest.mark.anyio]
DOORWARD = [sys.executable, "-m", "doorward"]
HERE = [task for task in TASKS if DIRECTUS or "directus" not in task.servers]
TOKENS_EACH = 1_800
"""What the answers for one task may have together, on the average (UTF-8 bytes / 4)."""


@dataclass
class Session:
    """What an agent has read for one task, and how its programs ended."""

    task: Task
    tokens: int = 0
    found: int = 0
    """Functions that a search named."""
    errors: list[str] = field(default_factory=list)
    done: bool = False

    def __str__(self) -> str:
        found = f"{self.found}/{len(self.task.functions)}"
        return f"{self.tokens:6} tokens, found {found}, {'done' if self.done else 'NOT DONE'}: {self.task.name} {self.errors or ''}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with systems(tmp_path_factory.mktemp("systems")) as folder:
        compiled = subprocess.run(
            [*DOORWARD, "compile"], cwd=folder, env=_environment(), capture_output=True, text=True, timeout=300
        )
        assert compiled.returncode == 0, compiled.stdout + compiled.stderr
        yield folder


@pytest.fixture(scope="module")
async def agent(folder: Path, anyio_backend: str) -> AsyncIterator[Client]:
    program, *words = [*DOORWARD, "serve"]
    parameters = StdioServerParameters(command=program, args=words, env=_environment(), cwd=folder)
    with (folder / "stderr").open("wb") as errors:
        async with Client(stdio_client(parameters, errlog=errors), read_timeout_seconds=120) as connected:
            yield connected


def _environment() -> dict[str, str]:
    return {key: value for key, value in os.environ.items() if key in ("PATH", "TMPDIR", "LANG", "HOME", "PYTHONPATH")}


async def test_tasks_are_done(agent: Client, folder: Path) -> None:
    """Each by the programs that an agent wrote: the first one, or the one that it wrote when it had read why that
    failed."""
    sessions = [await worked(agent, task, folder) for task in HERE]
    first = sum(session.done and not session.errors for session in sessions)
    tokens = sum(session.tokens for session in sessions)
    print("", *sessions, f"{first} of {len(sessions)} by the first program, {tokens} tokens", sep="\n")
    assert all(session.done for session in sessions)
    assert first >= len(sessions) * 0.75
    assert tokens <= TOKENS_EACH * len(sessions)


async def worked(agent: Client, task: Task, folder: Path) -> Session:
    """The session of an agent that works on a task until it is done, or it knows no further program."""
    session = Session(task)
    listed: set[str] = set()
    for question in task.questions:
        listed |= {
            found["function"]
            for found in (await asked(agent, session, "search_functions", query=question))["functions"]
        }
    cards = (await asked(agent, session, "get_functions", functions=list(task.functions)))["functions"]
    names = {id: card["function"] for id, card in zip(task.functions, cards, strict=True)}
    session.found = len(listed.intersection(names.values()))
    for program in task.programs:
        code = program.replace("{folder}", str(folder))
        for id in sorted(names, key=len, reverse=True):
            code = code.replace(id, names[id])
        outcome = await asked(agent, session, "execute_code", code=code)
        if outcome["ok"]:
            session.done = outcome["value"] == task.value and not task.refused
        else:
            session.done = bool(task.refused) and task.refused in outcome["error"]["message"]
        if session.done:
            break
        session.errors.append(str(outcome.get("error", outcome.get("value")))[:300])
    return session


async def asked(agent: Client, session: Session, tool: str, **arguments: Any) -> Any:
    answer = await agent.call_tool(tool, arguments)
    session.tokens += sum(len(block.text.encode()) for block in answer.content if block.type == "text") // 4
    return answer.structured_content
