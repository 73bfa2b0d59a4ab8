"""The executor `monty`: programs run in workers of pydantic-monty, an interpreter for a subset of Python.

A worker is a process of its own that can do nothing but compute: no file system, no network, no environment. Each
host function that a program calls is an explicit message to this process, which passes it through the door.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio
from doorward import Capabilities, ExecutorError, PluginContext, Program, Settings
from pydantic import Field, PositiveInt

if TYPE_CHECKING:
    import pydantic_monty

    from doorward_sandbox_monty.sandbox import MontySandbox


class MontySettings(Settings):
    """`[executors.monty]`."""

    workers: PositiveInt = Field(32, description="Programs and open sessions at once; more of them wait")
    type_check: bool = Field(False, description="Check each program's types before it runs, against the functions' signatures")
    wait: float = Field(30.0, gt=0, description="Seconds that a program waits for a free worker")


class MontyExecutor:
    """Opens sandboxes in a pool of Monty workers, which starts with the first program."""

    Settings = MontySettings

    def __init__(self, context: PluginContext) -> None:
        self._settings: MontySettings = context.settings
        self._pool: pydantic_monty.AsyncMonty | None = None
        self._starting = anyio.Lock()

    def capabilities(self) -> Capabilities:
        return Capabilities(
            language="a subset of Python (no generators, no class inheritance, part of the standard library)",
            isolation="an interpreter without system calls, in a process of its own",
            sessions=True,
            notes="Dictionaries are plain: value['name'], not value.name.",
            limits={"time": "interpreter and host", "memory": "interpreter", "calls": "host", "output": "host"},
        )

    async def open(self, program: Program, *, session: bool = False) -> MontySandbox:
        from doorward_sandbox_monty.sandbox import MontySandbox

        async with self._starting:
            if self._pool is None:
                self._pool = await _start(self._settings)
        return await MontySandbox.open(self._pool, program, session=session, type_check=self._settings.type_check)

    async def close(self) -> None:
        if self._pool is not None:
            await self._pool.__aexit__(None, None, None)
            self._pool = None


async def _start(settings: MontySettings) -> Any:
    """A running pool. Raises: ExecutorError."""
    try:
        import pydantic_monty

        pool = pydantic_monty.AsyncMonty(min_processes=1, max_processes=settings.workers, checkout_timeout=settings.wait)
        return await pool.__aenter__()
    except Exception as error:
        raise ExecutorError(f"Monty does not start: {error}", hint="Reinstall pydantic-monty; its worker must be executable.") from error
