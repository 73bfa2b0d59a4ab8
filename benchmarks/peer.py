"""FastMCP's code mode, which runs programs in Monty too, beside Doorward: the same client, API and calls."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

from common import HERE, Project, connected, interleaved, ms, ratio, table
from program import ONE_BY_ONE, api

ENVIRONMENT = Path(os.environ.get("BENCH_FASTMCP", Path(tempfile.gettempdir()) / "doorward-bench-fastmcp"))
"""FastMCP's virtual environment, created if missing; outside the project, whose own environment stays unchanged."""
THEIRS = "for n in range({count}):\n    got = await call_tool('item', {{'n': n}})\nreturn got"


async def run(folder: Path) -> None:
    print("## FastMCP's code mode beside it, ms (median / p95)")
    try:
        python, version = _install()
    except (subprocess.SubprocessError, OSError) as error:
        print(f"\nLeft out: fastmcp[code-mode] could not be installed ({error}).\n")
        return
    rows = []
    with api(folder / "peer-api") as (url, spec):
        server = f'[servers.loop]\nsource = "openapi"\nspec = "{spec}"\nbase_url = "{url}"\n'
        command = [str(python), str(HERE / "fastmcp_server.py"), str(spec), url]
        async with connected(Project(folder / "peer", server).serve) as ours, connected(command) as theirs:

            async def doorward(code: str) -> None:
                answer = await ours.call_tool("execute_code", {"code": code})
                assert not answer.is_error, answer

            async def fastmcp(code: str) -> None:
                answer = await theirs.call_tool("execute", {"code": code})
                assert not answer.is_error, answer

            programs = {"1+1": ("1+1", "return 1+1", 200)}
            programs |= {
                f"{n:,} call{'s' * (n > 1)}": (ONE_BY_ONE.format(count=n), THEIRS.format(count=n), r)
                for n, r in ((1, 60), (10, 40), (100, 15), (1_000, 5))
            }
            for name, (code, their_code, rounds) in programs.items():
                sides = {"doorward": lambda c=code: doorward(c), "fastmcp": lambda c=their_code: fastmcp(c)}
                took = await interleaved(sides, rounds, warm=3)
                rows.append(
                    [name, ms(took["doorward"]), ms(took["fastmcp"]), f"**{ratio(took['doorward'], took['fastmcp'])}**"]
                )
    table(["program", "doorward", f"fastmcp {version}", "ratio"], rows)


def _install() -> tuple[Path, str]:
    """The interpreter that has FastMCP, and its version."""
    python = ENVIRONMENT / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    if not python.exists():
        venv.create(ENVIRONMENT, with_pip=True)
    asked = [str(python), "-c", "import fastmcp, pydantic_monty; print(fastmcp.__version__)"]
    if subprocess.run(asked, capture_output=True).returncode:
        wanted = [
            str(python),
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "fastmcp[code-mode]>=4,<5",
        ]
        subprocess.run(wanted, check=True, timeout=240, capture_output=True)
    return python, subprocess.run(asked, check=True, capture_output=True, text=True).stdout.strip()
