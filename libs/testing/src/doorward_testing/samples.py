"""A source, an executor and a cache without dependencies, for tests of hooks, commands and the MCP server."""

from __future__ import annotations

import ast
import asyncio
import sys
import types as pytypes
from typing import Any

from doorward import (
    ApiError,
    Call,
    Capabilities,
    Compiled,
    Door,
    DoorwardError,
    Failure,
    Function,
    PluginContext,
    Program,
    ProgramResult,
    Reply,
    Secret,
    ServerContext,
    Settings,
    Skipped,
    Unsupported,
    hookimpl,
)
from doorward.helping import HelperContext
from doorward.sandboxing import CachedProgram, Frame
from doorward_jail import ReadsPython


class WeatherSettings(Settings):
    token: Secret | None = None
    url: str = ""
    version: int = 1


class Weather:
    """A source with a function for each way in which a call can end."""

    Settings = WeatherSettings
    compiles = 0

    def __init__(self, server: ServerContext[WeatherSettings]) -> None:
        self.name, self.settings = server.name, server.settings
        self.asleep, self.awake = asyncio.Event(), asyncio.Event()

    async def fingerprint(self) -> str:
        return f"v{self.settings.version}"

    async def compile(self) -> Compiled:
        type(self).compiles += 1
        city = {
            "type": "object",
            "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
            "required": ["city"],
            "additionalProperties": False,
        }
        functions = [
            Function(self.name, "get_forecast", "getForecast", "The forecast for a city", parameters=city,
                     returns={"type": "object", "properties": {"high": {"type": "number"}}},
                     read_only=True, route="GET /forecast", tags=("weather",)),
            Function(self.name, "add_station", "addStation", "Add a station", parameters=city,
                     route="POST /stations", tags=("admin",)),
            Function(self.name, "fail", "fail", "Answers 404"),
            Function(self.name, "crash", "crash", "A defect of the source"),
            Function(self.name, "echo_token", "echoToken", "Echoes the credential"),
            Function(self.name, "sleep", "sleep", "Takes long", read_only=True),
            Function(self.name, "big", "big", "A large answer", read_only=True),
            Function(self.name, "raw", "raw", "Bytes", read_only=True),
        ]  # fmt: skip
        return Compiled(functions, skipped=[Skipped("GET /odd", "it is odd")], description="Weather of the world")

    async def call(self, call: Call) -> Any:
        token = self.settings.token.reveal() if self.settings.token else ""
        match call.function.name:
            case "fail":
                raise ApiError(f"404: no such city (token {token})", status=404, body={"token": token})
            case "crash":
                raise KeyError(token)
            case "echo_token":
                import base64

                return {"plain": token, "basic": base64.b64encode(f"user:{token}".encode()).decode(), token: [token]}
            case "sleep":
                self.asleep.set()
                await asyncio.sleep(30)
                self.awake.set()
            case "big":
                return [{"id": i, "name": "x" * 50} for i in range(2000)]
            case "raw":
                raw = b"\x00\x01" + token.encode()
                if call.arguments.get("listed"):
                    return ["a map:", raw]
                if kind := call.arguments.get("type"):
                    return Reply(raw, type=kind, name=call.arguments["name"])
                return Reply(raw, type="image/png", name=f"map-{token}.png") if call.arguments.get("map") else raw
        return {"city": call.arguments["city"], "high": 20.5}

    async def close(self) -> None:
        pass


class InProcess(ReadsPython):
    """An executor that isolates nothing: for tests only."""

    Settings = Settings
    sessions = True

    def __init__(self, context: PluginContext) -> None:
        pass

    def capabilities(self) -> Capabilities:
        return Capabilities("Python", "none: for tests", sessions=self.sessions, repeats=True)  # tests draw no numbers

    async def open(self, program: Program, *, session: bool = False) -> _Running:
        return _Running()

    async def close(self) -> None:
        pass


class _Running:
    def __init__(self) -> None:
        self.names: dict[str, Any] = {}

    async def run(self, program: Program, door: Door) -> ProgramResult:
        if "needs full python" in program.code or (program.description == "probe" and program.code != "1 + 1"):
            raise Unsupported("it is too much", line=1)
        tree = ast.parse(program.code)
        last = tree.body[-1] if tree.body else None
        if isinstance(last, ast.Expr):
            tree.body[-1] = ast.Assign([ast.Name("_last", ast.Store())], last.value)
        for node in tree.body:
            if not isinstance(node, (ast.Assign, ast.AnnAssign)):
                continue
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            if isinstance(target, ast.Name) and target.id in program.params:
                node.value = ast.Name(f"_param_{target.id}", ast.Load())
        code = compile(ast.fix_missing_locations(tree), "program.py", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        names = self.names
        names |= {f"_param_{k}": v for k, v in program.params.items()} | dict(program.params)
        names |= {"print": lambda *a: door.print(" ".join(map(str, a)) + "\n")}
        names |= {s: _module(s, door) for s in ("weather", "doorward", "other") if door.members(s) is not None}
        names.pop("result", None)
        try:
            pending = eval(code, names)  # noqa: S307 - it says that it isolates nothing
            if pending is not None:
                await pending
        except DoorwardError as error:
            line = _line(sys.exc_info()[2])
            return ProgramResult(
                error=Failure("program", "RuntimeError", error.message, line, (Frame(line or 0, "<module>"),))
            )
        except Exception as error:
            return ProgramResult(error=Failure("program", type(error).__name__, str(error), _line(sys.exc_info()[2])))
        return ProgramResult(names["result"] if "result" in names else names.get("_last"))

    async def close(self) -> None:
        pass


def _module(server: str, door: Door) -> Any:
    def get(name: str) -> Any:
        return lambda *args, **kwargs: door.call(f"{server}.{name}", args, kwargs)

    return pytypes.SimpleNamespace(**{n: get(n) for n in door.members(server) or ()})


def _line(trace: Any) -> int | None:
    line = None
    while trace:
        if trace.tb_frame.f_code.co_filename == "program.py":
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


class MemoryCache:
    """A cache in memory, which ends with its process."""

    Settings = Settings

    def __init__(self, context: Any) -> None:
        self.kept: dict[str, CachedProgram] = {}

    async def put(self, program: CachedProgram) -> str:
        for kept in self.kept.values():
            if (kept.principal, kept.digest) == (program.principal, program.digest):
                return kept.cache_id
        self.kept[program.cache_id] = program
        return program.cache_id

    async def get(self, cache_id: str, principal: str) -> CachedProgram | None:
        found = self.kept.get(cache_id)
        return found if found and found.principal == principal else None

    async def close(self) -> None:
        pass


CONFIG = """
executor = "inprocess"
cache = "none"
plugins = []
[servers.weather]
source = "fake"
"""


class Anything:
    """A source whose functions and answers a test sets."""

    Settings = Settings
    functions: dict[str, Function]
    answers: dict[str, Any]
    calls: list[str]
    version = 0

    def __init__(self, server: ServerContext[Any]) -> None:
        pass

    async def fingerprint(self) -> str:
        return str(self.version)

    async def compile(self) -> Compiled:
        return Compiled(list(self.functions.values()))

    async def call(self, call: Call) -> Any:
        self.calls.append(call.function.name)
        answer = self.answers[call.function.name]
        if callable(answer):
            answer = await answer()
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def close(self) -> None:
        pass


class Replies:
    """A capability whose helper `doorward.replies.reply` answers all that a program may learn of a reply."""

    def __init__(self, context: Any = None) -> None:
        pass

    @hookimpl
    def gateway_made(self, gateway: Any) -> None:
        gateway.modules.add("doorward.replies", {"reply": self.reply})

    async def reply(self, run: HelperContext, function: str, arguments: Any = None) -> Any:
        run.helper_makes_calls()
        reply = await run.reply(function, (), arguments or {}, headers=True)
        told = {"headers": dict(reply.headers), "next": reply.next, "left": reply.left, "items": [*reply.items]}
        return {"value": reply.value, "status": reply.status, **told}
