"""What a guard adds before a program runs: ruff kept warm, as `guard_ruff` has it, beside a process of ruff for each
program, the guard `ast`, and runs without ruff."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from common import HEAD, Project, median, ms, ratio, table
from doorward import Gateway, PluginContext, Program
from doorward_guard_ast import AstGuard
from doorward_guard_ruff import RuffGuard
from ruff import find_ruff_bin

ROUNDS = 300
AT_ONCE = 32

SHORT = "1 + 1"
USUAL = """\
import asyncio
import github
from github import issues_list_comments as comments_of

owner, repo = "octo", "demo"

issues = github.issues_list_for_repo(owner=owner, repo=repo, state="open")
comments = await asyncio.gather(*[comments_of(number=one["number"]) for one in issues])

def busiest(pairs):
    return max(pairs, key=lambda pair: len(pair[1]), default=(None, []))

issue, said = busiest(list(zip(issues, comments)))
result = {"open": len(issues), "busiest": issue and issue["title"], "comments": len(said)}
"""
LONG = "\n".join(f"def part_{n}(rows):\n    return [row['value'] * {n} for row in rows if row]\n" for n in range(600))
PROGRAMS = {"`1 + 1`": SHORT, f"{len(USUAL)} bytes": USUAL, f"{len(LONG) // 1024} KiB": LONG}


async def run(folder: Path) -> None:
    print("\n### Guards, each alone, ms (median / p95)")
    ast = AstGuard(PluginContext("ast", AstGuard.Settings(), folder))
    ruff = RuffGuard(PluginContext("ruff", RuffGuard.Settings(), folder))
    await ruff.open()
    rows = []
    for name, code in PROGRAMS.items():
        program = Program(code)

        async def of_ast(program: Program = program) -> None:
            ast.guard_program(program)

        async def warm(program: Program = program) -> None:
            await ruff.guard_program(program)

        async def process(program: Program = program) -> None:
            await _process(program.code)

        took = await _in_turns({"ast": of_ast, "warm": warm, "process": process})
        rows.append(
            (
                name,
                ms(took["warm"]),
                ms(took["process"]),
                f"**{ratio(took['warm'], took['process'])}**",
                ms(took["ast"]),
            )
        )
    table(("program", "ruff kept warm", "a process for each program", "ratio", "`ast`"), rows)
    began = time.perf_counter()
    await asyncio.gather(*[ruff.guard_program(Program(USUAL)) for _ in range(AT_ONCE)])
    together = time.perf_counter() - began
    assert ruff._server is not None
    assert ruff._server._process is not None
    memory = _mib(ruff._server._process.pid)
    print(f"\n{AT_ONCE} programs at once: {together * 1000:.1f} ms in all. Memory of ruff: {memory:.0f} MiB.")
    await ruff.close()
    await _runs(folder)


async def _runs(folder: Path) -> None:
    """What a whole run takes with and without ruff."""
    projects = {
        "without ruff": Project(folder / "without", head=HEAD),
        "with ruff": Project(folder / "with", head=HEAD.replace('["ast"', '["ast", "ruff"')),
    }
    async with (
        Gateway.open(projects["without ruff"].config) as without,
        Gateway.open(projects["with ruff"].config) as with_,
    ):
        took = await _in_turns({"without": lambda: without.execute(SHORT), "with": lambda: with_.execute(SHORT)})
    print('\n### `Gateway.execute("1 + 1")` with and without ruff, ms (median / p95)')
    more_ratio = f"**{ratio(took['with'], took['without'])}**"
    more = (median(took["with"]) - median(took["without"])) * 1000
    table(("without ruff", "with ruff", "ratio", "ms more"),
          [(ms(took["without"]), ms(took["with"]), more_ratio, f"{more:+.2f}")])  # fmt: skip


async def _in_turns(sides: dict[str, Callable[[], Awaitable[Any]]]) -> dict[str, list[float]]:
    names = [*sides]
    took: dict[str, list[float]] = {name: [] for name in names}
    for number in range(ROUNDS + 5):
        for name in names[number % len(names) :] + names[: number % len(names)]:
            began = time.perf_counter()
            await sides[name]()
            took[name].append(time.perf_counter() - began)
    return {name: values[5:] for name, values in took.items()}


async def _process(code: str) -> None:
    """What a guard would do that starts ruff for each program."""
    pipe = asyncio.subprocess.PIPE
    words = ["check", "--isolated", "--no-cache", "--quiet", "--ignore-noqa", "--output-format", "json", "-"]
    process = await asyncio.create_subprocess_exec(find_ruff_bin(), *words, stdin=pipe, stdout=pipe, env={}, cwd="/")
    await process.communicate(code.encode())


def _mib(pid: int) -> float:
    (line,) = [line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmRSS")]
    return int(line.split()[1]) / 1024
