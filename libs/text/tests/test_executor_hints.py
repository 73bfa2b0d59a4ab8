"""What is said of programs that no executor could run."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from doorward import Program
from doorward_testing.samples import CONFIG, InProcess

pytestmark = pytest.mark.anyio

CODE = "'needs full python'"
"""The sample declines it."""


class Full(InProcess):
    """Takes what the sample declines."""

    async def open(self, program: Program, *, session: bool = False) -> Any:
        sandbox = await super().open(program, session=session)
        run = sandbox.run

        async def full(program: Program, door: Any) -> Any:
            return await run(replace(program, code=program.code.replace("needs full python", "")), door)

        sandbox.run = full
        return sandbox


class Script(InProcess):
    def capabilities(self) -> Any:
        return replace(super().capabilities(), languages=("javascript",))


async def test_who_takes_what_an_executor_declines(doorward_host: Any) -> None:
    """One that is not configured, a new session, or nobody; never one of another language. CONTRACT: EXE-21."""
    doorward_host.install("executor", "script", Script)
    async with doorward_host.gateway(CONFIG) as gate:
        error = (await gate.execute(CODE)).error
        assert "Or ask the operator for an executor that runs full CPython and packages." in error.hint
    doorward_host.install("executor", "full", Full)
    async with doorward_host.gateway(CONFIG) as gate:
        error = (await gate.execute(CODE)).error
        assert "Installed but not configured: full; the operator can add it to `executor`." in error.hint
    async with doorward_host.gateway(CONFIG.replace('"inprocess"', '["inprocess", "full"]')) as gate:
        session = (await gate.execute("1", session_id="new")).session_id
        error = (await gate.execute(CODE, session_id=session)).error
        assert 'Open a new session (session_id="new") whose first program needs this: full may take it.' in error.hint
        assert "not configured" not in error.hint
