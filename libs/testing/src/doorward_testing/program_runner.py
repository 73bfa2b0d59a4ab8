"""How a conformance test runs programs in sandboxes of the executor under test."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import Any, ClassVar

import pytest
from doorward import Program

from doorward_testing.door import Door
from doorward_testing.programs.languages import SUITES
from doorward_testing.programs.suite import Suite


class ProgramRunner:
    """The base of conformance classes of executors. Override `executor`: a fresh instance. `language` is that of the
    programs."""

    language: ClassVar[str] = "python"

    @property
    def programs(self) -> Suite:
        """The programs of the tests, in this language."""
        return SUITES[self.language]

    def program(self, code: str, **more: Any) -> Program:
        """A program in this language, with half a minute of time."""
        return program_of(code, language=self.language, **more)

    @pytest.fixture
    def anyio_backend(self) -> str:
        return "asyncio"

    def executor(self, host: Any) -> Any:
        raise NotImplementedError

    def door(self, door: Door | None = None) -> Door:
        """A door for programs in this language."""
        door = door or Door()
        door.language = self.language
        return door

    async def run(self, host: Any, code: str, *, door: Door | None = None, **program: Any) -> tuple[Any, Door]:
        """Run a program in a fresh sandbox. Returns: its result, and the door that it had."""
        executor, door = self.executor(host), self.door(door)
        asked = self.program(code, **program)
        try:
            sandbox = await executor.open(asked)
            try:
                return await sandbox.run(asked, door), door
            finally:
                await sandbox.close()
        finally:
            await executor.close()

    async def each(self, host: Any, codes: Sequence[str], **program: Any) -> list[tuple[Any, Door]]:
        """Run many programs, a few at a time, in sandboxes of one executor: its start would take most of a test."""
        executor, slots = self.executor(host), asyncio.Semaphore(4)

        async def one(code: str) -> tuple[Any, Door]:
            async with slots:
                asked, door = self.program(code, **program), self.door()
                sandbox = await executor.open(asked)
                try:
                    return await sandbox.run(asked, door), door
                finally:
                    await sandbox.close()

        try:
            return await asyncio.gather(*map(one, codes))
        finally:
            await executor.close()

    async def value_of(self, host: Any, code: str, **program: Any) -> Any:
        """The value of a program that must succeed."""
        ended, _ = await self.run(host, code, **program)
        assert ended.error is None, ended.error
        return ended.value

    async def cancelled(self, host: Any, code: str) -> None:
        """Assert that a cancelled program, which prints `begun` first, is over within a few seconds, and that the next
        one runs."""
        executor, door, program = self.executor(host), Door(), self.program(code)
        try:
            sandbox = await executor.open(program)
            running = asyncio.ensure_future(sandbox.run(program, door))
            began = time.monotonic()
            while "begun" not in door.printed and not running.done() and time.monotonic() - began < 60:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
            await asyncio.sleep(0.3)
            assert not running.done(), f"it ended before it was cancelled: {running.result()}"
            assert "begun" in door.printed, "what it prints does not come to `door.printed` while it runs"
            cancelled = time.monotonic()
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running
            await sandbox.close()
            assert time.monotonic() - cancelled < 20
            again = await executor.open(self.program("1 + 1"))
            assert (await again.run(self.program("1 + 1"), Door())).value == 2
            await again.close()
            await again.close()
        finally:
            await executor.close()


def program_of(code: str, **more: Any) -> Program:
    return Program(code, deadline=time.monotonic() + 30, **more)
