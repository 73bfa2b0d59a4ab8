"""A stdio server without any library, which says what a file tells it: `wire.py FILE`.

FILE is JSON: `{"tools": [...], "results": {TOOL: RESULT}, "answers": {METHOD: RESULT}, "info": {...}, "instructions":
"...", "capabilities": {...}}`, read anew for each request. A tool without a result answers with its arguments. When the
tools in the file change, the server says so after its next answer, unless it is `"silent": true`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any


def answer(method: str, params: dict[str, Any], told: dict[str, Any]) -> Any:
    if method == "initialize":
        capabilities = told.get("capabilities", {"tools": {"listChanged": True}})
        info = told.get("info", {"name": "wire", "version": "1"})
        return {
            "protocolVersion": "2025-11-25", "capabilities": capabilities, "serverInfo": info,
            "instructions": told.get("instructions", ""),
        }  # fmt: skip
    if method == "tools/list":
        return {"tools": told["tools"]}
    if method == "tools/call":
        echo = {"content": [{"type": "text", "text": json.dumps(params.get("arguments", {}))}]}
        return told.get("results", {}).get(params["name"], echo)
    found = told.get("answers", {}).get(method)
    if isinstance(found, list):  # pages, or answers by URI or name
        return found[int(params.get("cursor", 0))]
    return found.get(params.get("uri", params.get("name")), found) if found is not None else None


def main() -> None:
    file = Path(sys.argv[1])
    tools = None
    for line in sys.stdin:
        request = json.loads(line)
        if "id" not in request:
            continue
        told = json.loads(file.read_text())
        found = answer(request["method"], request.get("params") or {}, told)
        error = {"error": {"code": -32601, "message": "Method not found"}}
        say({"jsonrpc": "2.0", "id": request["id"], **({"result": found} if found is not None else error)})
        changed = tools is not None and tools != told["tools"]
        if changed and request["method"] != "tools/list" and not told.get("silent"):
            say({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
        tools = told["tools"]


def say(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


main()
