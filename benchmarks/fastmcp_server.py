"""FastMCP in its code mode, with the functions of an OpenAPI document. Runs in a virtual environment of
its own: `… DOCUMENT URL`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import httpx2
from fastmcp import FastMCP
from fastmcp.experimental.transforms.code_mode import CodeMode

document, url = sys.argv[1:]
server = FastMCP.from_openapi(json.loads(Path(document).read_text()), httpx2.AsyncClient(base_url=url), name="peer")
server.add_transform(CodeMode(max_tool_calls=None))
server.run(transport="stdio", show_banner=False)
