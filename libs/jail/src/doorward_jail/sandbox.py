"""The host's side of a sandbox: runs its programs, and answers their questions through the door. It trusts no
message."""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import math
import mimetypes
import signal
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from doorward import Door, DoorwardError, LimitExceeded, Limits, Program, ProgramResult, SandboxDied
from doorward.sandboxing import Planned

from doorward_jail.connections.connection import SandboxConnection, first_of
from doorward_jail.errors import failure, text_in, told
from doorward_jail.inside.clocks import MOST as _MOST_TIMES
from doorward_jail.pool import Pool
from doorward_jail.program_message import file_name
from doorward_jail.speech import Speech

_FLOOD_FACTOR = 64
"""Output over the limit is dropped; a program that prints so many times the limit is ended."""

_CALL_LESS = "Make fewer calls: end the program when they are refused, and ask for many things at once."

_MAX_NAME_CHARACTERS = 200

_LAST_BYTES = 2000
"""Of the output, in which an interpreter may say why it died."""


class JailSandbox:
    """A `Sandbox` in a jail: one connection to one sandbox."""

    def __init__(self, connection: SandboxConnection, limits: Limits, pool: Pool, speaks: Speech) -> None:
        self._connection = connection
        self._limits = limits
        self._pool = pool
        self._speaks = speaks
        self._ending: asyncio.Future[None] | None = None
        self._clean = False
        self._untouched = True  # no program has sent anything from it
        self._door: Door
        self._asked: set[asyncio.Task[None]] = set()
        self._done: asyncio.Future[dict[str, Any]]
        self._room = 0
        self._decoder: codecs.IncrementalDecoder
        self._last = b""
        self._left_to_ask = 0
        self._withheld: dict[int, Planned] = {}

    async def run(self, program: Program, door: Door) -> ProgramResult:
        """See `doorward.Sandbox.run`."""
        connection, loop = self._connection, asyncio.get_running_loop()
        self._door, self._done, self._room = door, loop.create_future(), _FLOOD_FACTOR * self._limits.output_bytes
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")  # a character may come in two pieces
        connection.heard, connection.print = self._heard, self._print
        self._left_to_ask = self._limits.questions  # refused calls count: they cost the host time as well
        connection.begin(self._limits.result_bytes + 2**20)
        try:
            message, blob = await self._speaks.program(program, door)
            connection.send(message, blob)
            await first_of(self._done, connection.gone)
            await connection.all_read()
            if self._untouched and connection.jail.dead.is_set():
                return await self._in_another(program, door)
            if self._done.done():
                self._clean = True
                return await self._ended(self._done.result())
            raise await self._died(program.limits)
        except asyncio.CancelledError:
            self._clean = False
            await self.close()
            raise
        finally:
            connection.heard, connection.print = _deaf, _deaf
            for task in self._asked:
                task.cancel()

    async def _in_another(self, program: Program, door: Door) -> ProgramResult:
        """Run a program in a new sandbox. The old one was dead before it ran anything, for example because its engine
        has restarted."""
        self._untouched = False
        self._connection = await self._pool.instead_of(self._connection)
        return await self.run(program, door)

    async def close(self) -> None:
        """End the sandbox and everything in it. It may be called again, for example by a caller that was cancelled
        here. After a run that came to its end it does not wait."""
        if self._ending is None:
            self._ending = self._pool.left(self._connection, at_once=not self._clean)
        if not self._clean:
            await asyncio.shield(self._ending)

    # Messages of the sandbox

    def _heard(self, message: dict[str, Any], blob: bytes) -> None:
        self._untouched = False
        try:
            if "began" in message:
                return
            if "seen" in message:
                self._door.seen(_times(message["seen"]))
            if "at" in message:
                self._door.at(int(message["at"]))
            elif "done" in message:
                if not isinstance(message["done"], dict):
                    raise TypeError("a result that is no object")
                if not self._done.done():
                    self._done.set_result(message["done"])
            elif "artefact" in message:
                name = text_in(message["artefact"], -_MAX_NAME_CHARACTERS)
                self._door.keep(blob, mimetypes.guess_type(name)[0] or "application/octet-stream", name)
            elif self._left_to_ask <= 0:
                asked, calls = self._limits.questions, self._limits.calls
                self._connection.break_off(
                    f"the program turned to its host more than {asked} times, far beyond its limit of {calls} calls",
                    _CALL_LESS,
                )
            else:
                self._left_to_ask -= 1
                task = asyncio.ensure_future(self._answer(int(message["id"]), message))
                self._asked.add(task)
                task.add_done_callback(self._asked.discard)
        except LimitExceeded as error:
            self._door.print(f"[{error}]\n")
        except (KeyError, TypeError, ValueError, OverflowError) as error:  # int() of what JSON calls Infinity overflows
            self._connection.break_off(f"it sent {type(error).__name__}: {error}")

    async def _answer(self, number: int, message: Mapping[str, Any]) -> None:
        blob = b""
        answer: dict[str, Any] = {"id": number}
        try:
            match message:
                case {"parts": int(most)}:
                    what = f"the arguments of a call have more than {most:,} parts"
                    raise LimitExceeded(what, hint="Send less at once.")
                case {"call": str(function), "args": list(args), "kwargs": dict(kwargs)}:
                    value = await self._door.call(function, args, kwargs)
                    if isinstance(value, bytes):
                        blob = value
                    elif isinstance(value, Planned):
                        answer["planned"] = [value.call, *value.path]
                        self._withheld[value.call] = value
                    else:
                        answer["value"] = value
                case {"part": [int(call), *path]} if all(isinstance(key, (str, int)) for key in path):
                    answer["value"] = self._withheld[call].lacks(path) if call in self._withheld else ""
                case {"members": str(server)}:
                    names = self._door.members(server)
                    answer["value"] = names if names is None else list(names)
                case {"file": str(uri)}:
                    file = await self._door.open(uri)
                    answer["name"], blob = file_name(file, uri), file.content
                case _:
                    self._connection.break_off("it asked an unknown question")
                    return
        except DoorwardError as error:
            answer["error"] = told(error)
        with contextlib.suppress(EOFError):
            await self._connection.send_answer(answer, blob)

    def _print(self, data: bytes) -> None:
        self._untouched = False
        self._room -= len(data)
        self._last = (self._last + data)[-_LAST_BYTES:]
        if self._room < 0:
            self._connection.break_off(
                f"the program printed more than {_FLOOD_FACTOR} times the limit of {self._limits.output_bytes} bytes",
                "Print less.",
            )
        else:
            self._door.print(self._decoder.decode(data))

    # The end of a run

    async def _ended(self, done: Mapping[str, Any]) -> ProgramResult:
        match done:
            case {"error": dict(error)}:
                failed = failure(error)
                reached = await self._reached()
                if failed.type == "MemoryError" or "memory" in reached:
                    raise self._too_much_memory(self._limits)
                if "processes" in reached:
                    hint = f"The limit of {self._limits.processes} processes and threads was reached."
                    failed = replace(failed, hint=hint)
                return ProgramResult(error=failed)
            case {"parts": int(most)}:
                hint = "Filter or aggregate in the program, or return one text, for example JSON, or a file."
                raise LimitExceeded(f"the value has more than {most:,} parts", hint=hint)
            case {"bytes": int(size)}:
                hint = "Filter or aggregate in the program, or write a file into ./out."
                raise LimitExceeded(f"the value has {size} bytes, more than {self._limits.result_bytes}", hint=hint)
            case _:
                return ProgramResult(value=done.get("value"))

    async def _died(self, limits: Limits) -> DoorwardError:
        """The error of a sandbox that ended while its program ran."""
        code = self._connection.gone.result()
        if "memory" in await self._reached():
            return self._too_much_memory(limits)
        if self._connection.hint:
            return LimitExceeded(self._connection.why, hint=self._connection.hint)
        if self._connection.why:
            return SandboxDied(f"the sandbox was ended: {self._connection.why}")
        if self._speaks.died_of_memory(code, self._last):
            return self._too_much_memory(limits)
        if code < 0:
            with contextlib.suppress(ValueError):
                name = signal.Signals(-code).name
                return SandboxDied(f"the sandbox died of {name}", hint="The program crashed its interpreter.")
        hint = "Set `result` and let the program come to its end."
        return SandboxDied(f"the program ended its process with code {code}", hint=hint)

    def _too_much_memory(self, limits: Limits) -> LimitExceeded:
        return LimitExceeded(
            f"the program needed more memory than its limit of {limits.memory_bytes // 2**20} MiB",
            hint=f"Work on smaller pieces. {self._connection.jail.more_memory}".rstrip(),
        )

    async def _reached(self) -> list[str]:
        return await self._connection.account.reached() if self._connection.account else []


def _times(said: Any) -> list[float]:
    """The times that a sandbox says its program has read. Raises: TypeError, ValueError."""
    if not isinstance(said, list) or len(said) > _MOST_TIMES:
        raise ValueError("times that are no list, or too many")
    found = [float(time) for time in said if isinstance(time, (float, int))]
    if len(found) < len(said) or not all(map(math.isfinite, found)):
        raise ValueError("a time that is no number")
    return found


def _deaf(*args: object) -> None:
    """Ignore messages and output: the run is over."""
