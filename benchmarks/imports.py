"""Wall time of commands that only show something, and the modules that `serve` imports although its
configuration does not use them."""

from __future__ import annotations

import subprocess
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from common import BARE, HEAD, PYTHON, Project, Wire, interleaved, median, ms, ratio, table

COMMANDS = {
    "python -c pass": [PYTHON, "-c", "pass"],
    "doorward --help": [PYTHON, "-m", "doorward", "--help"],
    "doorward --version": [PYTHON, "-m", "doorward", "--version"],
    "doorward plugins": [PYTHON, "-m", "doorward", "plugins"],
}
NOT_NEEDED = (
    "structlog", "rich", "httpx", "requests", "yaml", "backports.zstd", "jsonschema", "docker",
    "pydantic_monty", "doorward_openapi", "doorward_auth_static", "doorward_sandbox_monty", "doorward_cache_sqlite",
    "doorward_testing", "unittest", "pytest",
)  # fmt: skip
"""Modules that `serve` must not import before its first tool call if no servers are configured."""


async def run(folder: Path, rounds: int = 20) -> None:
    project = Project(folder / "imports")

    async def once(command: Sequence[str]) -> None:
        subprocess.run(command, check=True, capture_output=True, cwd=project.folder)

    took = await interleaved({name: (lambda c=command: once(c)) for name, command in COMMANDS.items()}, rounds, warm=2)
    python = took["python -c pass"]
    print("## Commands, ms (median / p95)")
    table(
        ["command", "ms", "ratio", "ms more"],
        [[n, ms(t), ratio(t, python), f"{(median(t) - median(python)) * 1000:+.0f}"] for n, t in took.items()],
    )
    hookless = Project(folder / "hookless", head=HEAD.replace('["ast", "audit_jsonl"]', "[]"))
    for each in (project, hookless):
        each.compile()  # the first start makes the catalog's tables
    bare, ours, least = (_modules(command, folder) for command in (BARE["sdk"], project.serve, hookless.serve))
    more = {name: us for name, us in ours.items() if name not in bare}
    by_package: Counter[str] = Counter()
    for name, us in more.items():
        by_package[name.partition(".")[0]] += us
    print(
        f"`serve` imports {len(more)} modules that the bare server does not ({sum(more.values()) / 1000:.0f} ms under "
        f"-X importtime):"
    )
    print(", ".join(f"{name} {us / 1000:.1f} ms" for name, us in by_package.most_common(12)))
    unused = [n for n in ours if n in NOT_NEEDED] + [
        n for n in least if n.startswith(("doorward_guard", "doorward_audit"))
    ]
    print(
        f"\nImported and not used by the configuration: "
        f"{', '.join(f'{n} ({ours[n] / 1000:.1f} ms)' for n in unused) or 'nothing'}\n"
    )


def _modules(command: Sequence[str], folder: Path) -> dict[str, int]:
    """The modules that a server imports before its first answer to `tools/list`, with the microseconds of each."""
    log = folder / "importtime.txt"
    wire = Wire([command[0], "-X", "importtime", *command[1:]], stderr=log)
    wire.connect().ask("tools/list")
    wire.close()
    rows = [
        line.removeprefix("import time:").split("|")
        for line in log.read_text().splitlines()
        if line.startswith("import time:")
    ]
    return {name.strip(): int(own) for own, _, name in rows if own.strip().isdigit()}
