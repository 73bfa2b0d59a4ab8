"""MCP servers as they are today, of made-up content: many answer with a structure beside their text, or in its place.

All are served by HTTP from the process of the tests, each at a path of its name.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from .product import Answering, web

FILES = {
    "/src/app.ts": "start(); // TODO: stop\n",
    "/src/auth.ts": 'if (timing-attack(a, b)) log("timing-attack");\n',
    "./auth.ts": "compare(token, given)\n",
    "./package.json": '{"name": "harbour"}',
    "./data.json": '{"data": [1, 2]}',
    "/tmp/data.json": '{"numbers": [1, 2, 3]}',
    "/tmp/test.txt": "no work left\n",
    "/tmp/work.txt": "TODO: paint the pier\n",
}
CONTENT = {"type": "object", "properties": {"content": {"type": "string"}}, "required": ["content"]}
LISTED = {"type": "object", "properties": {"result": {"type": "array", "items": {"type": "string"}}}}

Tool = tuple[list[str], Any, Callable[[Mapping[str, Any]], tuple[str | list[str], Any]]]
"""The parameters that a tool needs, its output schema, and what answers: a text or several, and a structure."""


def _texts(text: Any, structure: Any = None) -> Callable[[Mapping[str, Any]], tuple[Any, Any]]:
    """Answers the same, whatever the arguments."""
    return lambda given: (text, structure)


def _repeated(text: str) -> tuple[str, Any]:
    return text, {"content": text}


ISSUES = [{"id": "API-1", "title": "Gate stuck"}, {"id": "API-2", "title": "New crane"}]
DETAILS = {"API-1": "A bug in the lock", "API-2": "Buy it"}

SERVERS: dict[str, dict[str, Tool]] = {
    "filesystem": {
        "read_file": (["path"], CONTENT, lambda given: _repeated(FILES[given["path"]])),
        "write_file": (["path", "content"], CONTENT, lambda given: _repeated(f"wrote {given['path']}")),
        "list_directory": (
            ["path"],
            LISTED,
            lambda given: (found := [f for f in FILES if f.startswith("/tmp/")], {"result": found}),
        ),
    },
    "zen": {"codereview": (["code"], None, _texts('{"suggestions": "if (timing-attack(a, b)) return;"}'))},
    "git": {
        "commit": (["message"], None, _texts("committed")),
        "git_log": (["repo_path"], None, _texts("Commit: 1\nCommit: 2\n")),
    },
    "fetch": {"fetch": (["url"], None, lambda given: (f"the page at {given['url']}", None))},
    "playwright": {
        "launch": ([], None, _texts("launched")),
        "navigate": (["url"], None, _texts("there")),
        "evaluate": (["script"], None, _texts("Example Domain")),
    },
    "search": {"search": (["query"], None, _texts("One hit: Paint the pier", {"title": "Paint the pier", "score": 1}))},
    "github": {"create_issue": (["repo", "title"], None, _texts('{"number": 7}'))},
    "google_drive": {"get_document": (["documentId"], None, _texts(w := "The tide. " * 99, {"document": w}))},
    "salesforce": {"update_record": (["objectType", "recordId", "data"], None, _texts("updated"))},
    "jira": {
        "search_issues": (["project"], None, _texts(json.dumps(ISSUES))),
        "get_issue": (["id"], None, lambda given: (d := DETAILS[given["id"]], {"description": d, "id": given["id"]})),
    },
}


class Today(Answering):
    """Speaks as much of MCP as it takes; keeps each call."""

    calls: list[tuple[str, dict[str, Any]]]

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        tools = SERVERS[self.path.strip("/")]
        match asked:
            case {"id": number, "method": "initialize"}:
                about = {"name": self.path.strip("/"), "version": "1"}
                result: Any = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": about}
            case {"id": number, "method": "tools/list"}:
                result = {"tools": [self._tool(name, *tools[name][:2]) for name in tools]}
            case {"id": number, "method": "tools/call", "params": {"name": name, "arguments": given}}:
                self.calls.append((f"{self.path.strip('/')}.{name}", given))
                result = self._result(tools[name][2], given)
            case {"id": number}:
                self.answer({"jsonrpc": "2.0", "id": number, "error": {"code": -32601, "message": "no such method"}})
                return
            case _:
                self.answer({}, status=202)
                return
        self.answer({"jsonrpc": "2.0", "id": number, "result": result})

    @staticmethod
    def _result(tool: Callable[[Mapping[str, Any]], tuple[Any, Any]], given: Mapping[str, Any]) -> dict[str, Any]:
        try:
            text, structure = tool(given)
        except KeyError as error:
            return {"content": [{"type": "text", "text": f"there is no {error}"}], "isError": True}
        blocks = [{"type": "text", "text": one} for one in ([text] if isinstance(text, str) else text)]
        return {"content": blocks} | ({"structuredContent": structure} if structure else {})

    @staticmethod
    def _tool(name: str, needed: list[str], output: Any) -> dict[str, Any]:
        schema: dict[str, Any] = {"type": "object", "properties": {each: {} for each in needed}, "required": needed}
        schema["additionalProperties"] = True
        return {"name": name, "description": name.replace("_", " ").capitalize(), "inputSchema": schema} | (
            {"outputSchema": output} if output else {}
        )


@contextmanager
def todays_servers() -> Iterator[tuple[str, list[tuple[str, dict[str, Any]]]]]:
    """The configuration of all, and the calls that they get."""
    calls: list[tuple[str, dict[str, Any]]] = []
    with web(type("Today", (Today,), {"calls": calls})) as url:
        yield "".join(f'\n[servers.{name}]\nsource = "mcp"\nurl = "{url}/{name}"\n' for name in SERVERS), calls
