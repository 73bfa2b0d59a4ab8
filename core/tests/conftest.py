"""A source and an executor for core's own tests: core is tested without any plugin."""

from __future__ import annotations

import ast
import asyncio
import json
import sys
import types as pytypes
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from doorward import (
    ApiError,
    CachedProgram,
    Call,
    Capabilities,
    Compiled,
    Door,
    DoorwardError,
    Ended,
    Failure,
    Frame,
    Function,
    PluginContext,
    Program,
    Reply,
    Secret,
    ServerContext,
    Settings,
    Skipped,
    Unsupported,
)
from doorward.catalog.catalog import Catalog
from doorward.cli import main
from doorward.config.index import Index
from hypothesis import strategies as st


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class WeatherSettings(Settings):
    token: Secret | None = None
    url: str = ""
    version: int = 1


class Weather:
    """A source with a handful of functions, one for each way in which a call can go."""

    Settings = WeatherSettings
    compiles = 0

    def __init__(self, server: ServerContext) -> None:
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
            Function(self.name, "get_forecast", "getForecast", "The forecast for a city", parameters=city, read_only=True,
                     returns={"type": "object", "properties": {"high": {"type": "number"}}}, route="GET /forecast", tags=("weather",)),
            Function(self.name, "add_station", "addStation", "Add a station", parameters=city, route="POST /stations", tags=("admin",)),
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
                return Reply(raw, type="image/png", name=f"map-{token}.png") if call.arguments.get("map") else raw
        return {"city": call.arguments["city"], "high": 20.5}

    async def close(self) -> None:
        pass


class InProcess:
    """An executor that isolates nothing: for core's tests only."""

    Settings = Settings
    sessions = True

    def __init__(self, context: PluginContext) -> None:
        pass

    def capabilities(self) -> Capabilities:
        return Capabilities("Python", "none: for tests", sessions=self.sessions)

    async def open(self, program: Program, *, session: bool = False) -> _Running:
        return _Running()

    async def close(self) -> None:
        pass


class _Running:
    def __init__(self) -> None:
        self.names: dict[str, Any] = {}

    async def run(self, program: Program, door: Door) -> Ended:
        if "needs full python" in program.code or (program.description == "probe" and program.code != "1 + 1"):
            raise Unsupported("it is too much", line=1)
        tree = ast.parse(program.code)
        last = tree.body[-1] if tree.body else None
        if isinstance(last, ast.Expr):
            tree.body[-1] = ast.Assign([ast.Name("_last", ast.Store())], last.value)
        for node in tree.body:
            target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
            if isinstance(target, ast.Name) and target.id in program.params:
                node.value = ast.Name(f"_param_{target.id}", ast.Load())
        code = compile(ast.fix_missing_locations(tree), "program.py", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        names = self.names
        names |= {f"_param_{k}": v for k, v in program.params.items()} | dict(program.params)
        names |= {"print": lambda *a: door.print(" ".join(map(str, a)) + "\n")}
        names |= {s: _module(s, door) for s in ("weather", "doorward", "other") if door.members(s) is not None}
        names.pop("result", None)
        try:
            pending = eval(code, names)
            if pending is not None:
                await pending
        except DoorwardError as error:
            line = _line(sys.exc_info()[2])
            return Ended(error=Failure("program", "RuntimeError", error.message, line, (Frame(line or 0, "<module>"),)))
        except Exception as error:
            return Ended(error=Failure("program", type(error).__name__, str(error), _line(sys.exc_info()[2])))
        return Ended(names["result"] if "result" in names else names.get("_last"))

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
    """A cache for core's tests."""

    Settings = Settings

    def __init__(self, context: Any) -> None:
        self.kept: dict[str, CachedProgram] = {}

    async def put(self, program: CachedProgram) -> str:
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


@pytest.fixture
def doorward_host(host: Any) -> Any:
    """The host with the fake source and the executor above installed."""
    host.install("source", "fake", Weather)
    host.install("executor", "inprocess", InProcess)
    return host


def check(text: str) -> str:
    """The text itself, once Python and UTF-8 have accepted it."""
    compile(text, "text", "exec")
    text.encode()
    return text


HOSTILE = [
    '"""\nimport os\n"""',
    "'''",
    "\\",
    '"])\n',
    "\n\nx = 1",
    "#\r",
    "\x00",
    "\u202e",
    "\u2028",
    "\ud800",
    "{}",
    "</p>",
    "[",
    "a" * 200,
    "",
]
"""Texts of hostile specifications."""

TEXT = st.one_of(st.sampled_from(["a", "b", "class", "a-b", "__x", "__debug__", "str", "ｘ", *HOSTILE[:10]]), st.text(max_size=10))
JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), TEXT),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXT, inner, max_size=3)),
    max_leaves=5,
)
NAMED = st.sampled_from(["#/$defs/A", "#/$defs/B", "#/$defs/none", "#/$defs/\ud800"])
TYPES = st.sampled_from(["string", "integer", "number", "boolean", "null", "array", "object", ["string", "null"], ["object", "array"]])


def schemas(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    some = st.one_of(st.lists(inner, max_size=3), JSON)
    keys = {
        "type": st.one_of(TYPES, JSON), "properties": st.one_of(st.dictionaries(TEXT, inner, max_size=4), JSON),
        "required": st.one_of(st.lists(TEXT), JSON), "items": inner, "prefixItems": some, "enum": some, "const": JSON, "oneOf": some,
        "anyOf": some, "allOf": some, "$ref": st.one_of(NAMED, JSON), "default": JSON, "format": JSON, "description": JSON,
        "nullable": JSON, "additionalProperties": inner, "deprecated": JSON, "example": JSON, "examples": JSON, "minimum": JSON,
        "readOnly": JSON,
    }  # fmt: skip
    return st.one_of(st.booleans(), JSON, st.fixed_dictionaries({}, optional=keys))


ANY = st.recursive(schemas(JSON), schemas, max_leaves=6)


# The command line


@dataclass(frozen=True)
class CommandEnded:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Cli = Callable[..., CommandEnded]


@pytest.fixture
def cli(doorward_host: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    """Runs a command line in the host's folder, with what is installed there."""
    monkeypatch.chdir(doorward_host.folder)
    monkeypatch.setenv("DOORWARD_STATE_DIR", str(doorward_host.folder / "state"))
    for module in ("config.distribution", "gateway"):
        monkeypatch.setattr(f"doorward.{module}.find_index", lambda: Index(doorward_host.entries))

    def run(*words: str) -> CommandEnded:
        capsys.readouterr()
        code = 0
        try:
            main(words)
        except SystemExit as ended:
            code = int(ended.code or 0)
        return CommandEnded(code, *capsys.readouterr())

    return run


@pytest.fixture
def project(cli: Cli, doorward_host: Any) -> Cli:
    """The command line beside a configuration with the server `weather`."""
    doorward_host.write(CONFIG)
    return cli


# A catalog


def function(name: str, summary: str = "", **fields: object) -> Function:
    return Function("s", name, fields.pop("id", name), summary, **fields)  # type: ignore[arg-type]


def stored(folder: Path, *functions: Function) -> Catalog:
    catalog = Catalog(folder / "catalog.db")
    catalog.store("s", Compiled(functions, {"Thing": {"type": "object"}}), fingerprint="f", settings="c", ms=1)
    catalog.refresh()
    return catalog
