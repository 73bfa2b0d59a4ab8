"""One process of ruff, kept warm: its language server, which is asked about one program after the other.

A process for each program would take longer than ruff takes to read it (see the benchmarks).
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
from collections.abc import Mapping, Sequence
from typing import Any

import anyio

CHECK_SECONDS = 5.0
"""How long ruff may take for one program; usually it takes less than a millisecond."""

END_SECONDS = 0.5
"""How long ruff may take to end by itself, when its input does."""

KILL_SECONDS = 5.0
"""How long a busy machine may take to end what was killed."""

MAX_ANSWER_BYTES = 4 * 2**20
"""An answer that is longer tells of thousands of findings, and is not read."""

_NAME = "untitled:program.py"
"""The program's name to ruff: that of no file, so that ruff looks for none beside it."""


_LENGTH = re.compile(rb"Content-Length: (\d+)")


class Unreadable(Exception):
    """Ruff gives no answer about a program. Its text says why."""


class _Died(Exception):
    """The process has ended."""


class RuffServer:
    """Asks ruff about programs, one at a time. The process starts with the first, and starts anew after a program that
    kills it, takes too long, or is cancelled meanwhile."""

    def __init__(self, binary: str, settings: Mapping[str, Any]) -> None:
        self._binary = binary
        self._settings = settings
        self._process: asyncio.subprocess.Process | None = None
        self._asked = 0
        self._turn = anyio.Lock()

    async def diagnostics(self, code: str) -> Sequence[Mapping[str, Any]]:
        """What ruff finds in a program, as the language server protocol has it. Raises: Unreadable."""
        async with self._turn:
            for _ in range(2 if self._process else 1):  # one that ran before may have ended meanwhile
                with contextlib.suppress(_Died):
                    return await self._checked(code)
            raise Unreadable("ruff broke off: perhaps the program is nested too deeply")

    async def close(self) -> None:
        """End the process. The next program would start another."""
        process, self._process = self._process, None
        if process is None:
            return
        assert process.stdin is not None
        with anyio.CancelScope(shield=True):
            process.stdin.close()
            if not await _gone(process, END_SECONDS):
                process.kill()
                await _gone(process, KILL_SECONDS)
            process._transport.close()  # type: ignore[attr-defined]  # what it has still said is not read

    async def _checked(self, code: str) -> Sequence[Mapping[str, Any]]:
        try:
            with anyio.fail_after(CHECK_SECONDS):
                if self._process is None:
                    await self._start()
                document = {"uri": _NAME, "languageId": "python", "version": 1, "text": code}
                self._tell("textDocument/didOpen", textDocument=document)
                answer = await self._ask("textDocument/diagnostic", textDocument={"uri": _NAME})
                self._tell("textDocument/didClose", textDocument={"uri": _NAME})
        except TimeoutError:
            await self.close()
            raise Unreadable(f"ruff took more than {CHECK_SECONDS:g} s") from None
        except (OSError, EOFError) as error:
            await self.close()
            raise _Died from error
        except BaseException:  # cancelled, for example: what ruff says next would be about this program
            await self.close()
            raise
        if "result" not in answer:
            raise Unreadable(f"ruff failed: {str(answer.get('error'))[:200]}")
        found: Sequence[Mapping[str, Any]] = answer["result"]["items"]
        return found

    async def _start(self) -> None:
        pipe, nothing = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
        try:
            self._process = await asyncio.create_subprocess_exec(
                self._binary, "server", "--isolated", stdin=pipe, stdout=pipe, stderr=nothing, cwd=os.sep,
                env=bare_environment(), start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            raise Unreadable(f"ruff cannot be started: {error.strerror}") from None
        settings = {"configurationPreference": "editorOnly", "configuration": self._settings, "logLevel": "error"}
        asks: dict[str, Any] = {"processId": None, "capabilities": {"textDocument": {"diagnostic": {}}}}
        await self._ask("initialize", **asks, initializationOptions={"settings": settings})
        self._tell("initialized")

    async def _ask(self, method: str, **params: Any) -> Mapping[str, Any]:
        self._asked += 1
        self._tell(method, {"id": self._asked}, **params)
        while True:
            answer = await self._message()
            if answer.get("id") == self._asked and "method" not in answer:
                return answer

    def _tell(self, method: str, more: Mapping[str, Any] | None = None, /, **params: Any) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        body = json.dumps({"jsonrpc": "2.0", **(more or {}), "method": method, "params": params}).encode()
        self._process.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))

    async def _message(self) -> Mapping[str, Any]:
        assert self._process is not None
        assert self._process.stdout is not None
        head = await self._process.stdout.readuntil(b"\r\n\r\n")
        length = next((int(each[1]) for each in _LENGTH.finditer(head)), 0)
        if length > MAX_ANSWER_BYTES:
            raise Unreadable("ruff finds more in it than anybody could read")
        message: Mapping[str, Any] = json.loads(await self._process.stdout.readexactly(length))
        return message


async def complaint(binary: str, options: Mapping[str, Any]) -> str:
    """Why ruff does not take these options, in its own words; empty if it takes them."""
    lint, pipe = options["lint"], asyncio.subprocess.PIPE
    words = [f"--{name}={','.join(rules)}" for name, rules in lint.items() if rules]
    words += [f"--target-version={options['target-version']}", "--exit-zero"]
    try:
        process = await asyncio.create_subprocess_exec(
            binary, "check", "--isolated", "--no-cache", "--quiet", *words, "-", stdin=asyncio.subprocess.DEVNULL,
            stdout=pipe, stderr=pipe, cwd=os.sep, env=bare_environment(),
        )  # fmt: skip
    except OSError as error:
        return f"it cannot be started: {error.strerror}"
    said, why = await process.communicate()
    return " ".join((why or said).decode(errors="replace").split())[:300] if process.returncode else ""


async def _gone(process: asyncio.subprocess.Process, seconds: float) -> bool:
    """Whether a process ends in this time. `Process.wait` would also wait for output that nobody reads."""
    for _ in range(int(seconds * 1000)):
        if process.returncode is not None:
            return True
        await asyncio.sleep(0.001)
    return False


def bare_environment() -> dict[str, str]:
    """What ruff gets of this process's environment: next to nothing, because it may hold secrets, and options of
    ruff."""
    return {name: value for name, value in os.environ.items() if name in ("SYSTEMROOT", "TMPDIR")}
