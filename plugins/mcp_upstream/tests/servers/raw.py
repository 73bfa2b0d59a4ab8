"""A server without the SDK that misbehaves as its first argument says, and speaks 2025-11-25 otherwise.

`LOG` is a file that gets the method of every message, one a line; `CALLS` one that gets the name and the arguments of
every call.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

MODE = sys.argv[1]
INFO = {"name": os.environ.get("NAME", "raw"), "version": "1"}
SCHEMA = {"type": "object", "properties": {}}


def say(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def discover(message: dict[str, Any]) -> None:
    if MODE == "modern":
        result = {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, "resultType": "complete", "ttlMs": 0,
                  "cacheScope": "public", "_meta": {"io.modelcontextprotocol/serverInfo": INFO}}  # fmt: skip
        say({"id": message["id"], "result": result})
    else:
        say({"id": message["id"], "error": {"code": -32601, "message": "Method not found"}})


def initialize(message: dict[str, Any]) -> None:
    if MODE == "modern":
        data = {"supported": ["2026-07-28"], "requested": "2025-11-25"}
        say({"id": message["id"], "error": {"code": -32022, "message": "Unsupported protocol version", "data": data}})
    else:
        say(
            {
                "id": message["id"],
                "result": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": INFO},
            }
        )


BAD = [
    {"name": "fine", "inputSchema": SCHEMA, "description": "Fine."},
    {"name": "no_schema"},
    {
        "name": "no_type",
        "inputSchema": {"properties": {"a": {"type": "string"}}},
        "outputSchema": 5,
        "description": ["?"],
    },
    {"name": "list", "inputSchema": {"type": "array"}},
    {"name": "text", "inputSchema": "object"},
    {"name": "", "inputSchema": SCHEMA},
    {"inputSchema": SCHEMA},
    "a string",
    {"name": "fine", "inputSchema": SCHEMA, "description": "Again."},
]


def deep(levels: int) -> str:
    return '{"properties": {"a": ' * levels + "{}" + "}}" * levels


ODD = [
    '{"name": "first", "inputSchema": {}}',
    *(f'{{"name": "deep{levels}", "inputSchema": {deep(levels)}}}' for levels in (400, 5000)),
    f'{{"name": "digits", "inputSchema": {{"properties": {{"a": {{"default": {"9" * 5000}, "maximum": '
    f'{"9" * 400}}}}}}}}}',
    '{"name": "nan", "inputSchema": {"properties": {"a": {"default": NaN, "minimum": -Infinity, "multipleOf": '
    '1e999}}}}',
    '{"name": "half\\ud800", "inputSchema": {}, "description": "half \\udfff", "title": "\\ud83d"}',
    '{"name": "twice", "name": "twice", "inputSchema": 1, "inputSchema": {}}',
    '{"name": "required", "inputSchema": {"required": {"a": 1}, "properties": {"a": [], "b": 5}}}',
    '{"name": "kinds", "inputSchema": {"type": {"object": 1}}, "annotations": [], "outputSchema": [1]}',
    '{"name": "header", "inputSchema": {"properties": {"a": {"type": "string", "x-mcp-header": {"a": [1]}}}}}',
    '{"name": ["first"], "inputSchema": {}}', "17", "null", "[[]]",
    '{"name": "bytes \xff", "inputSchema": {}}',
    '{"name": "last", "inputSchema": {}}',
]  # fmt: skip
"""Tools as JSON, as no reader likes them."""


def tools(message: dict[str, Any]) -> dict[str, Any]:
    cursor = (message.get("params") or {}).get("cursor")
    if MODE == "bad":
        return {"tools": BAD}
    if MODE == "no list":
        return {"tools": "none"}
    if MODE == "pages":
        page = int(cursor or 0)
        return {"tools": [{"name": f"t{page}", "inputSchema": SCHEMA}]} | (
            {"nextCursor": str(page + 1)} if page < 4 else {}
        )
    if MODE == "loop":
        return {"tools": [{"name": f"t{cursor}", "inputSchema": SCHEMA}], "nextCursor": "again"}
    if MODE == "large":
        each = [
            {"name": f"t{n}", "inputSchema": SCHEMA, "title": "x" * n * 10**6, "description": "y" * 10**6}
            for n in (0, 2)
        ]
        return {"tools": [*each, {"name": "\x1b[2J\u202eevil", "inputSchema": []}]}
    if MODE == "endless":
        page = int(cursor or 0)
        return {
            "tools": [{"name": f"t{page}-{n}", "inputSchema": SCHEMA} for n in range(100)],
            "nextCursor": str(page + 1),
        }
    return {"tools": [{"name": "echo", "inputSchema": SCHEMA}]}


def call(message: dict[str, Any]) -> None:
    params = message["params"]
    name, arguments = params["name"], params.get("arguments") or {}
    if log := os.environ.get("CALLS"):
        with open(log, "a") as file:
            file.write(json.dumps([name, arguments]) + "\n")
    if name == "slow":
        time.sleep(arguments["seconds"])
    if name == "environment":
        arguments = {**os.environ, "cwd": os.getcwd()}
    if name == "die":
        print("out of cheese: the token is s3cret-value", file=sys.stderr, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    if name == "big":
        say({"id": message["id"], "result": {"content": [{"type": "text", "text": "x" * arguments["bytes"]}]}})
        return
    if name == "big_ts":  # as the TypeScript SDK orders it
        result = {"content": [{"type": "text", "text": "x" * arguments["bytes"]}]}
        sys.stdout.write(json.dumps({"result": result, "jsonrpc": "2.0", "id": message["id"]}) + "\n")
        sys.stdout.flush()
        return
    if name == "million":
        sys.stdout.write(
            f'{{"jsonrpc": "2.0", "id": {message["id"]}, "result": {{"structuredContent": [{"[]," * 2_000_000}[]]}}}}\n'
        )
        sys.stdout.flush()
        return
    if name == "deep":
        value = '{"a": ' * arguments["levels"] + "1" + "}" * arguments["levels"]
        sys.stdout.write(f'{{"jsonrpc": "2.0", "id": {message["id"]}, "result": {{"structuredContent": {value}}}}}\n')
        sys.stdout.flush()
        return
    if name == "flood":  # what is said at once is there at once
        Path(arguments["flag"]).touch()
        until = time.monotonic() + 60  # or until nobody reads
        while time.monotonic() < until:
            sys.stdout.write(arguments["line"] * 1000)
    if name == "odd":
        content = [{"type": "hologram", "data": 1}, {"type": "text", "text": "x"}]
        say({"id": message["id"], "result": {"content": content, "structuredContent": [1], "more": True}})
        return
    if name == "nonsense":
        say({"id": message["id"], "result": "a text"})
        return
    if name == "pestering":
        for number in range(40):
            say(
                {
                    "id": f"q{number}",
                    "method": "elicitation/create",
                    "params": {"message": "?", "requestedSchema": SCHEMA},
                }
            )
            json.loads(sys.stdin.readline())
    if name == "silent":
        return
    if name == "babble":
        print("\x1b[31mStarting the engine\x1b[0m\n" * 100 + "{not json\n" + '{"jsonrpc": "1.0"}', flush=True)
        print("warning " * 100_000, file=sys.stderr, flush=True)
    answer = str(os.getpid()) if name == "pid" else json.dumps(arguments)
    say({"id": message["id"], "result": {"content": [{"type": "text", "text": answer}]}})


def main() -> None:
    if MODE == "crash":
        print("Traceback: no such module 'cheese'", file=sys.stderr)
        sys.exit(3)
    if MODE == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if MODE in ("stubborn", "family"):
        ignore = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"
        child = subprocess.Popen(
            [sys.executable, "-c", ignore if MODE == "stubborn" else "import time; time.sleep(600)"]
        )
        Path(os.environ["PIDS"]).write_text(f"{os.getpid()} {child.pid}")
    if MODE == "banner":
        print("Welcome to raw!\n\n  * banner *", flush=True)
    for line in sys.stdin:
        message = json.loads(line)
        if log := os.environ.get("LOG"):
            with open(log, "a") as file:
                file.write(f"{message.get('method')}\n")
        if MODE == "silent":
            continue
        match message.get("method"):
            case "server/discover":
                discover(message)
            case "initialize":
                initialize(message)
            case "tools/list" if MODE == "odd":
                text = f'{{"jsonrpc": "2.0", "id": {message["id"]}, "result": {{"tools": [{", ".join(ODD)}]}}}}\n'
                sys.stdout.buffer.write(text.encode("latin-1"))
                sys.stdout.buffer.flush()
            case "tools/list":
                say({"id": message["id"], "result": tools(message)})
            case "tools/call":
                call(message)
    while MODE == "stubborn":
        time.sleep(1)


main()
