"""A door for executors under test, which answers calls itself."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from doorward import ApiError, Artefact, File, InvalidArguments, LimitExceeded, ToolError, UnknownName
from doorward.configuration import installed
from doorward.sandboxing import ARTEFACT_URI, Aliases, Planned

if TYPE_CHECKING:
    from doorward.helping import ProgramNames

_NAMED = {
    "calc.add", "calc.fail", "calc.refuse", "calc.wait", "calc.meet",
    "doorward.items", "doorward.pages", "doorward.reply",
}  # fmt: skip
"""Functions whose last argument may be an object of named ones."""

MEET_SECONDS = 10.0
"""How long `calc.meet` waits for the next of the other calls."""


@functools.cache
def other_names() -> ProgramNames | None:
    """What other systems' names mean in programs, if that is installed."""
    found = [entry for entry in installed() if (entry.kind, entry.name) == ("plugin", "compat")]
    names: ProgramNames | None = found[0].point.load()() if found else None
    return names


class Door:
    """A `Door` to the server `calc`. Its functions add (`add`), return their argument (`echo`), fail with an `ApiError`
    (`fail`), a `ToolError` (`complain`) or a limit (`refuse`), and wait for `ms` (`wait`) or until `n` such calls are
    there (`meet`). A plan withholds `withhold`,
    whose answer has no `idd`.

    It records what went through: `printed`, `made` (calls), `asked` (each call, as text), `kept` (files: name, type,
    content), `read` (times), `told` (how many of these when each call came). `files` can be opened by their URI.
    `given` are the times that the program reads first. `language` is that of the programs.
    """

    def __init__(self, given: Sequence[float] = ()) -> None:
        self.language = "python"
        self.printed = ""
        self.made = 0
        self.asked: list[str] = []
        self.given = given
        self.read: list[float] = []
        self.line = 0
        self.told: list[int] = []
        self.kept: list[tuple[str, str, bytes]] = []
        self.files: dict[str, File] = {}
        self.room = float("inf")
        self._met = 0
        self._meetings: dict[int, asyncio.Event] = {}

    def members(self, server: str) -> Any:
        """See `doorward.Door.members`."""
        calc = ["add", "echo", "fail", "complain", "refuse", "wait", "meet", "withhold"]
        helpers = ["call", "pages", "items", "reply", "read", "path", "server", "describe", "close_session"]
        ours = [*helpers, "ApiError", "ToolError"]
        return {
            "calc": calc,
            "doorward": ours,
            "doorward.runtime": ["call_mcp_tool", "callMCPTool", "discovered_servers"],
        }.get(server)

    def aliases(self, code: str, *, everything: bool = False) -> Aliases:
        """See `doorward.Door.aliases`."""
        if self.language != "python":
            names = {"calc-1": "calc", "./servers/calc": "calc", "./servers/calc.ts": "calc"}
            names |= {"./mcp-wrappers": "", "./mcp-wrappers/calc": "calc"}
            before = 'import { callMCPTool } from "doorward.runtime";\nglobalThis.callMCPTool ??= callMCPTool;\n'
            return Aliases(names, before if "callMCPTool" in code else "")
        if (others := other_names()) is None:
            return Aliases()
        return others.aliases("python", code, {"calc": "calc-1"}, self._has, everything=everything)

    def _has(self, server: str, name: str) -> bool:
        return name in self.members(server)

    def stub(self, server: str, names: Any) -> str:
        """See `doorward.Door.stub`."""
        errors = "class ApiError(Exception): ...\nclass ToolError(Exception): ...\n" if server == "doorward" else ""
        return f"from typing import Any\n{errors}" + "".join(
            f"def {n}(*args: Any, **kwargs: Any) -> Any: ...\n" for n in names
        )

    async def call(self, function: str, args: Any, kwargs: Any) -> Any:
        """See `doorward.Door.call`."""
        self.made += 1
        self.asked.append(f"{function} {list(args)} {dict(kwargs)}")
        self.told.append(len(self.read))
        if function in _NAMED and args and isinstance(args[-1], dict):  # as scripts give named arguments
            args, kwargs = args[:-1], {**args[-1], **kwargs}
        match function:
            case "calc.add":
                return sum(args) + sum(kwargs.values())
            case "calc.echo":
                return json.loads(json.dumps(args[0] if args else kwargs))
            case "calc.fail":
                status = kwargs.get("status", 404)
                raise ApiError(
                    f"calc.fail answered {status}",
                    status=status,
                    body={"why": ["gone"], "args": list(args)},
                    retry_after=1.5,
                )
            case "calc.complain":
                raise ToolError(" ".join(["the tool says no", *args]))
            case "calc.refuse":
                raise LimitExceeded("too many calls") if not kwargs else InvalidArguments("calc.refuse takes nothing")
            case "calc.wait":
                await asyncio.sleep(kwargs["ms"] / 1000)
                return kwargs["ms"]
            case "calc.meet":
                return await self._meet(kwargs["n"])
            case "calc.withhold":
                return Planned(1, lacks=lambda path: "did you mean 'id'?" if "idd" in path else "")
            case "doorward.describe":
                return f"what {args[0]} is"
            case "doorward.read":
                return self.files[args[0]["artefact"]].content
            case "doorward.pages":
                return [args[0], kwargs]
            case "doorward.items":
                return [kwargs, kwargs]
            case "doorward.reply":
                value = await self.call(args[0], args[1:], kwargs)
                return {"value": value, "status": 201, "headers": {"location": "/sums/7", "etag": '"7"'}}
            case "doorward.server" if args[0] in ("calc", "calc-1"):
                return "calc"
            case "doorward.runtime.call_mcp_tool" | "doorward.runtime.callMCPTool":
                return await self.call(args[0].removeprefix("mcp__").replace("__", "."), (), args[1])
            case "doorward.runtime.discovered_servers":
                return ["calc-1"]
        raise UnknownName(f"there is no function {function!r}")

    async def _meet(self, others: int) -> int:
        self._met += 1
        complete = self._meetings.setdefault(others, asyncio.Event())
        for number, meeting in self._meetings.items():
            if self._met >= number:
                meeting.set()
        there = 0
        while not complete.is_set() and there < self._met:
            there = self._met
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(complete.wait(), MEET_SECONDS)
        if not complete.is_set():
            raise LimitExceeded(f"only {self._met} of {others} calls came at the same time")
        return others

    def print(self, text: str) -> bool:
        """See `doorward.Door.print`."""
        self.printed += text
        return len(self.printed) < self.room

    def times(self) -> Sequence[float]:
        """See `doorward.Door.times`."""
        return self.given

    def seen(self, times: Sequence[float]) -> None:
        """See `doorward.Door.seen`."""
        self.read += times

    def at(self, line: int) -> None:
        """See `doorward.Door.at`."""
        self.line = line

    async def open(self, uri: str) -> File:
        """See `doorward.Door.open`."""
        if uri not in self.files:
            raise InvalidArguments(f"there is no result {uri}")
        return self.files[uri]

    def keep(self, content: bytes, type: str, name: str = "") -> Artefact:
        """See `doorward.Door.keep`."""
        self.kept.append((name, type, content))
        return Artefact(f"{ARTEFACT_URI}{len(self.kept)}", type, len(content), name)


class LastFirst(Door):
    """It answers `calc.wait` when three such calls are there: the last one first, all at once."""

    def __init__(self) -> None:
        super().__init__()
        self._waiting: list[asyncio.Future[None]] = []

    async def call(self, function: str, args: Any, kwargs: Any) -> Any:
        if function != "calc.wait":
            return await super().call(function, args, kwargs)
        self.asked.append(function)
        self._waiting.append(mine := asyncio.get_running_loop().create_future())
        if len(self._waiting) == 3:
            for one in reversed(self._waiting):
                one.set_result(None)
        there = 0
        while not mine.done() and there < len(self._waiting):
            there = len(self._waiting)
            await asyncio.wait([mine], timeout=MEET_SECONDS)
        if not mine.done():
            raise LimitExceeded(f"only {len(self._waiting)} of 3 calls came at the same time")
        return kwargs
