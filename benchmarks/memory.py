"""Memory of an idle server before and after it was used, beside FastMCP with the same document: the proportional set
size of its process, and of the processes that it has started."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import peer
from common import BARE, HERE, Project, Wire, openapi, table

IDLE_SECONDS = 5.0
"""Seconds after the first `tools/list` answer: what is done after the start is over by then."""


async def run(folder: Path) -> None:
    if not sys.platform.startswith("linux"):
        print("## Memory: left out, because only Linux tells shares of it\n")
        return
    empty = Project(folder / "memory-empty")
    empty.compile()
    rows = [_row("bare SDK", BARE["sdk"]), _row("Doorward, empty catalog", empty.serve)]
    packed = Path(os.environ.get("DOORWARD_SPECS", "")) / "github.json.zst"
    if packed.is_file():
        project = Project(folder / "memory-github", openapi({"github": str(packed)}))
        project.compile()
        rows.append(_row("Doorward, GitHub compiled", project.serve, "execute_code", code="1+1"))
        rows.append(_row("the same", project.serve, "search_functions", query="create an issue"))
        try:
            rows.append(_row("FastMCP in code mode, GitHub", _fastmcp(folder / "memory-github.json", packed)))
        except (subprocess.SubprocessError, OSError) as error:
            print(f"FastMCP was left out: it could not be installed ({error}).")
    print("## Memory of a server, MB (proportional set size; with the processes that it started)")
    table(["server", "idle", "with its processes", "after"], rows)


def _row(name: str, command: Sequence[str], tool: str = "", **arguments: object) -> list[str]:
    """A server at rest, and again after a call of a tool."""
    wire = Wire(command).connect()
    wire.ask("tools/list")
    time.sleep(IDLE_SECONDS)
    found = [name, *(f"{megabytes:.0f}" for megabytes in held(wire.process))]
    if tool:
        wire.ask("tools/call", {"name": tool, "arguments": arguments})
        time.sleep(1)
        found.append(f"`{tool}`: {' / '.join(f'{megabytes:.0f}' for megabytes in held(wire.process))}")
    wire.close()
    return [*found, ""][:4]


def held(process: int) -> tuple[float, float]:
    """Megabytes of a process, and of it with all below it."""
    own, todo, every = _share(process), [process], 0.0
    while todo:
        this = todo.pop()
        every += _share(this)
        for thread in Path(f"/proc/{this}/task").iterdir():
            todo += [int(child) for child in (thread / "children").read_text().split()]
    return own, every


def _share(process: int) -> float:
    lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024


def _fastmcp(document: Path, packed: Path) -> list[str]:
    """FastMCP's server of a document, which it gets without compression."""
    from doorward_openapi.document.document import decompress

    document.write_text(json.dumps(json.loads(decompress(packed.read_bytes(), packed.name))))
    return [str(peer._install()[0]), str(HERE / "fastmcp_server.py"), str(document), "http://127.0.0.1:9"]
