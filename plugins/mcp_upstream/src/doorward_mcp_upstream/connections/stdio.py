"""Stdio: a server that we start, with messages over its standard input and output.

One line is one message (MCP 2026-07-28, transports, stdio), over asyncio pipes. The SDK's own reader takes quadratic
time in the size of a message, and does not notice that a server dies between two requests.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shutil
import signal
import sys
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import mcp_types
from doorward import ServerContext
from doorward.values import aside
from doorward_json import read_json
from mcp.shared.message import SessionMessage

from doorward_mcp_upstream.connections import environment
from doorward_mcp_upstream.connections.settings import MCPSettings
from doorward_mcp_upstream.connections.stderr import StderrLog
from doorward_mcp_upstream.connections.troubles import Trouble
from doorward_mcp_upstream.connections.watchdog import watchdog
from doorward_mcp_upstream.connections.wire import MAX_MESSAGE_BYTES, TOO_MANY_VALUES, Incoming, Stream, Wire
from doorward_mcp_upstream.tools.values import too_many

END_SECONDS = 2.0
"""Seconds that a server has to end after the end of its input, and again after SIGTERM."""

_TURN_BYTES, _LINE_COST_BYTES = 2**12, 100
"""Bytes that are read before other tasks have a turn, and what each line counts in addition for its handling."""

_ID_AT_START = re.compile(rb'\s*\{\s*"jsonrpc"\s*:\s*"2\.0"\s*,\s*"id"\s*:\s*(\d+)\s*,')
_ID_AT_END = re.compile(rb'"id"\s*:\s*(\d+)\s*\}\s*$')


@contextlib.asynccontextmanager
async def stdio(context: ServerContext[MCPSettings], log: StderrLog) -> AsyncIterator[Wire]:
    """The wire to a server that is started here. At the end, the server and all its processes are ended.

    Raises: Trouble if it cannot be started; MissingSecret.
    """
    settings = context.settings
    command, cwd = _command(context), _folder(context)
    env = await environment.of_child(settings.env, nested=not settings.allow_self)
    program = shutil.which(command[0], path=env.get("PATH"))
    if program is None:
        raise Trouble(
            f"there is no program {command[0]!r}",
            f"Install it, or give its path in `command` of [servers.{context.name}].",
            sent=False,
        )
    if not cwd.is_dir():
        raise Trouble(f"there is no folder {str(cwd)!r}", f"Fix `cwd` of [servers.{context.name}].", sent=False)
    log.forget()
    if sys.platform == "win32":
        async with _of_sdk(command, env, cwd) as wire:
            yield wire
        return
    pipe = asyncio.subprocess.PIPE
    try:
        process = await asyncio.create_subprocess_exec(
            *command,
            executable=program,
            stdin=pipe,
            stdout=pipe,
            stderr=pipe,
            limit=MAX_MESSAGE_BYTES,
            env=env,
            cwd=cwd,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise Trouble(
            f"{command[0]!r} cannot be started: {why}", f"Fix `command` of [servers.{context.name}].", sent=False
        ) from None
    watchdog.guard(process.pid)
    assert process.stdin is not None
    assert process.stdout is not None
    listener = asyncio.create_task(_listen(process.stderr, log))
    try:
        yield Wire(Lines(process.stdout, log), Messages(process.stdin), lambda: _reason(process))
    finally:
        with anyio.CancelScope(shield=True):
            try:
                await _end(process)
            finally:
                _signal(process.pid, signal.SIGKILL)
                watchdog.release(process.pid)
                watchdog.rest()
                listener.cancel()
                log.flush()
                process._transport.close()  # type: ignore[attr-defined]  # a child of the server may hold the pipes open


def _command(context: ServerContext[MCPSettings]) -> list[str]:
    """The command. A relative path of a program starts at the folder of the configuration."""
    settings = context.settings
    program, *rest = [*settings.command, *settings.args]
    if "/" in program or (os.sep != "/" and os.sep in program):
        program = str(context.folder / Path(program).expanduser())
    return [program, *rest]


def _folder(context: ServerContext[MCPSettings]) -> Path:
    return context.folder / Path(context.settings.cwd or ".").expanduser()


@contextlib.asynccontextmanager
async def _of_sdk(command: list[str], env: dict[str, str], cwd: Path) -> AsyncIterator[Wire]:
    """The wire of the SDK's transport, for Windows: asyncio cannot wait for pipes there,
    and the SDK ends whole job objects."""
    from mcp.client.stdio import StdioServerParameters, stdio_client

    with open(os.devnull, "w") as quiet:  # noqa: ASYNC230 - opening it never waits
        parameters = StdioServerParameters(command=command[0], args=command[1:], env=env, cwd=cwd)
        async with stdio_client(parameters, errlog=quiet) as (read, write):
            yield Wire(read, write)


async def _listen(stderr: Any, log: StderrLog) -> None:
    while data := await stderr.read(2**16):
        log.feed(data)


async def _end(process: asyncio.subprocess.Process) -> None:
    """End a server as the specification says (lifecycle, shutdown), and then the rest of its process group."""
    assert process.stdin is not None
    process.stdin.close()
    if not await _gone(process, END_SECONDS):
        _signal(process.pid, signal.SIGTERM)
        if not await _gone(process, END_SECONDS):
            _signal(process.pid, signal.SIGKILL)
            await _gone(process, END_SECONDS)
    if _signal(process.pid, signal.SIGTERM):  # processes that it has left behind
        for _ in range(20):
            await asyncio.sleep(0.01)
            if not _signal(process.pid, 0):
                break


async def _gone(process: asyncio.subprocess.Process, seconds: float) -> bool:
    """Whether a process ends in this time. `Process.wait` would also wait for all that have inherited its pipes."""
    until = asyncio.get_running_loop().time() + seconds
    pause = 0.001
    while process.returncode is None and asyncio.get_running_loop().time() < until:
        await asyncio.sleep(pause)
        pause = min(pause * 2, 0.02)
    return process.returncode is not None


def _signal(group: int, number: int) -> bool:
    """Send a signal. Returns: whether any process of the group was there to get it."""
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


async def _reason(process: asyncio.subprocess.Process) -> str:
    if not await _gone(process, 0.3):
        return "it closed its standard output"
    code = process.returncode or 0
    return (
        f"it exited with status {code}"
        if code >= 0
        else f"it was killed by signal {-code} ({signal.Signals(-code).name})"
    )


class Lines(Incoming):
    """Messages of the server. Other lines go to the log."""

    def __init__(self, reader: asyncio.StreamReader, log: StderrLog) -> None:
        self._reader = reader
        self._log = log
        self._taken = 0

    async def receive(self) -> SessionMessage | Exception:
        while True:
            if self._taken > _TURN_BYTES:  # reading what has arrived already does not let others run
                self._taken = 0
                await asyncio.sleep(0)
            try:
                line = await self._reader.readuntil(b"\n")
                self._taken += len(line) + _LINE_COST_BYTES
            except asyncio.IncompleteReadError as error:
                self._log.add(error.partial[:1000].decode(errors="replace"))
                raise anyio.EndOfStream from None
            except asyncio.LimitOverrunError as error:
                return await self._too_long(error.consumed)
            if line[:100].lstrip().startswith(b"{") and (message := await aside(partial(_read, line), len(line))):
                return message
            self._log.add(line[:5000].decode(errors="replace"))

    async def _too_long(self, consumed: int) -> SessionMessage:
        """Skip a message that is too long, and give an error in its place to the request that waits for it."""
        head = (await self._reader.readexactly(consumed))[:200]
        while True:
            try:
                tail = await self._reader.readuntil(b"\n")
                break
            except asyncio.LimitOverrunError as error:
                tail = await self._reader.readexactly(error.consumed)
            except asyncio.IncompleteReadError:
                raise anyio.EndOfStream from None
        self._log.add(f"[a message of more than {MAX_MESSAGE_BYTES} bytes was passed over]")
        trouble = Trouble(
            f"the answer has more than {MAX_MESSAGE_BYTES // 2**20} MiB", "Ask for less: pages, filters.", limit=True
        )
        instead = _in_place_of(head, tail, trouble)
        if instead is None:
            raise anyio.EndOfStream  # else its request would wait for ever
        return instead


def _read(line: bytes) -> SessionMessage | None:
    """The message in a line, or an error in its place; `None` for a line that is no message."""
    if too_many(line):
        return _in_place_of(line, line, TOO_MANY_VALUES)
    try:
        return SessionMessage(mcp_types.jsonrpc_message_adapter.validate_python(read_json(line), by_name=False))
    except ValueError:
        return _in_place_of(line, line, Trouble("it answered with something that is not a JSON-RPC message"))


def _in_place_of(head: bytes, tail: bytes, trouble: Trouble) -> SessionMessage | None:
    """An error in place of an answer that cannot be read. Its id stands at the beginning or at the end."""
    found = _ID_AT_START.match(head[:200]) or _ID_AT_END.search(tail[-200:])
    if found is None:
        return None
    return SessionMessage(
        mcp_types.JSONRPCError.model_validate({"jsonrpc": "2.0", "id": int(found[1]), "error": trouble.as_error()})
    )


class Messages(Stream):
    """Messages to the server."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer

    async def send(self, item: SessionMessage) -> None:
        if self._writer.is_closing():
            raise Trouble("it has ended", sent=False, passing=True, gone=True)
        if self._writer.transport.get_write_buffer_size() > MAX_MESSAGE_BYTES:
            raise Trouble("it does not read what it is sent", sent=False, gone=True)
        self._writer.write(item.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")
        # Only requests wait for the pipe: others, a cancellation for one, must not have to.
        if isinstance(item.message, mcp_types.JSONRPCRequest):
            with contextlib.suppress(ConnectionError):
                await self._writer.drain()
