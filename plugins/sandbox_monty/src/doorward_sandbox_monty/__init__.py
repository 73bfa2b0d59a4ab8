"""The executor `monty`: programs run in workers of pydantic-monty, an interpreter for a subset of Python.

A worker is a process of its own that can do nothing but compute: no file system, no network, no environment. Each
host function that a program calls is an explicit message to this process, which passes it through the door.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from doorward import Capabilities, PluginContext, Program
from doorward_jail import ReadsPython

from doorward_sandbox_monty.library import LIBRARY
from doorward_sandbox_monty.settings import MontySettings as MontySettings

if TYPE_CHECKING:
    from doorward_sandbox_monty.sandbox import MontySandbox
    from doorward_sandbox_monty.workers import Workers


class MontyExecutor(ReadsPython):
    """Opens sandboxes in a pool of Monty workers, which starts with the first program."""

    Settings = MontySettings

    def __init__(self, context: PluginContext[MontySettings]) -> None:
        self._settings = context.settings
        self._workers: Workers | None = None
        self.slots, self.wait = self._settings.workers, self._settings.wait

    def capabilities(self) -> Capabilities:
        return Capabilities(
            language="a subset of Python (no generators, no class inheritance, part of the standard library)",
            isolation="an interpreter without system calls, in a process of its own",
            sessions=True,
            repeats=True,
            plans_unread=True,
            modules=LIBRARY,
            notes="Dictionaries are plain: value['name'], not value.name.",
            limits={"time": "interpreter and host", "memory": "interpreter", "calls": "host", "output": "host"},
        )

    async def open(self, program: Program, *, session: bool = False) -> MontySandbox:
        from doorward_sandbox_monty.sandbox import MontySandbox
        from doorward_sandbox_monty.workers import Workers

        if self._workers is None:
            self._workers = Workers(self._settings)
        worker = await self._workers.take(program.limits, session=session)
        return MontySandbox(self._workers, worker, session=session)

    async def close(self) -> None:
        if self._workers is not None:
            await self._workers.close()
            self._workers = None
