"""Gateways side by side, whose configuration differs: 1,000 calls in a program of each, in turns, by the clock and by
the processor time of this process, which other work on the machine hardly changes."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from common import Project, median, ms, table
from doorward import Gateway
from doorward.config.config import load
from program import api

CALLS = 1000
READS = f"from loop import item\nfor n in range({CALLS}):\n    got = item(n=n)\ngot['id']"
WRITES = READS.replace("item", "add_item")


def head(executor: str = "monty", plugins: str = '["ast"]') -> str:
    """The beginning of a configuration."""
    return (
        f'state = "state"\nexecutor = "{executor}"\ncache = "sqlite"\nplugins = {plugins}\n'
        "[limits]\nrate = 1000000\ncalls = 10000\ntimeout = 300\nmax_timeout = 300\n"
    )


async def compared(
    folder: Path, sides: Mapping[str, tuple[str, str]], programs: Mapping[str, str], rounds: int, title: str
) -> None:
    """Run each program in each gateway, in turns, and print a table for each program. `sides` are the beginnings and
    the ends of the configurations; the first is what the others are compared with."""
    with api(folder / "api") as (url, spec):
        server = f'[servers.loop]\nsource = "openapi"\nspec = "{spec}"\nbase_url = "{url}"\n'
        async with contextlib.AsyncExitStack() as stack:
            gates = {}
            for number, (name, (begin, end)) in enumerate(sides.items()):
                project = Project(folder / str(number), server + end.replace("{url}", url), begin)
                gates[name] = await stack.enter_async_context(Gateway.open(load(project.config)))
            for what, code in programs.items():
                took = await _in_turns(gates, code, rounds)
                print(f"## {title}: {what}")
                table(
                    ["", "program, ms (median / p95)", "processor, ms a call", "more a call, ms", "ratio"],
                    _rows(took),
                )


async def _in_turns(gates: Mapping[str, Gateway], code: str, rounds: int) -> dict[str, list[tuple[float, float]]]:
    took: dict[str, list[tuple[float, float]]] = {name: [] for name in gates}
    names = list(gates)
    for number in range(-1, rounds):
        for name in names[number % len(names) :] + names[: number % len(names)]:
            wall, processor = time.perf_counter(), time.process_time()
            outcome = await gates[name].execute(code)
            seconds = time.perf_counter() - wall, time.process_time() - processor
            assert outcome.ok, outcome.error
            if number >= 0:
                took[name].append(seconds)
    return took


def _rows(took: Mapping[str, Sequence[tuple[float, float]]]) -> list[list[str]]:
    """The least processor time counts: what is more is other work of the machine."""
    least = {name: min(processor for _, processor in each) / CALLS * 1000 for name, each in took.items()}
    first = next(iter(least.values()))
    return [
        [
            name,
            ms([wall for wall, _ in each]),
            f"{least[name]:.3f}",
            f"{least[name] - first:+.3f}",
            f"**{median([wall for wall, _ in each]) / median([wall for wall, _ in next(iter(took.values()))]):.2f}**",
        ]
        for name, each in took.items()
    ]
