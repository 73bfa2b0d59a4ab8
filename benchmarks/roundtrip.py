"""`execute_code("1+1")` over stdio against an empty tool of a bare server of the same SDK, with the same client."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from common import BARE, ERAS, Project, Wire, connected, interleaved, ms, ratio, table


async def run(folder: Path, rounds: int = 400) -> None:
    serve = Project(folder / "roundtrip").serve
    rows = []
    for era, mode in ERAS.items():
        async with (
            connected(serve, mode) as ours,
            connected(BARE["sdk"], mode) as sdk,
            connected(BARE["ours"], mode) as bare,
        ):
            answer = await ours.call_tool("execute_code", {"code": "1+1"})
            assert answer.structured_content["value"] == 2, answer
            sides = {
                "doorward": partial(ours.call_tool, "execute_code", {"code": "1+1"}),
                "sdk": partial(sdk.call_tool, "empty", {"code": "1+1"}),
                "ours": partial(bare.call_tool, "empty", {"code": "1+1"}),
            }
            rows.append(_row(f"SDK client, {era}", await interleaved(sides, rounds)))
    with contextlib.ExitStack() as stack:
        wires = {name: Wire(command).connect() for name, command in {"doorward": serve, **BARE}.items()}
        for wire in wires.values():
            stack.callback(wire.close)
        raw = {n: partial(w.call, "execute_code" if n == "doorward" else "empty", code="1+1") for n, w in wires.items()}
        rows.append(_row("raw client, 2025-11-25", await interleaved(raw, rounds)))
        rows.append(_row("raw client, back to back", await _blocks(raw, rounds)))
    print("## execute_code('1+1') over stdio, ms (median / p95)")
    table(
        ["client", "doorward", "bare SDK", "bare SDK on our transport", "ratio to bare SDK", "to it on our transport"],
        rows,
    )


async def _blocks(
    sides: Mapping[str, Callable[[], Awaitable[Any]]], rounds: int, block: int = 40
) -> dict[str, list[float]]:
    """Measure in turns of many calls: with turns of one call, a server can clean up unnoticed
    while it is the others' turn."""

    async def several(side: Callable[[], Awaitable[Any]]) -> float:
        started = time.perf_counter()
        for _ in range(block):
            await side()
        return (time.perf_counter() - started) / block

    return await interleaved(
        {name: partial(several, side) for name, side in sides.items()}, max(10, rounds // block), warm=1
    )


def _row(name: str, took: dict[str, list[float]]) -> list[str]:
    ours, sdk, bare = took["doorward"], took["sdk"], took["ours"]
    return [name, ms(ours), ms(sdk), ms(bare), f"**{ratio(ours, sdk)}**", ratio(ours, bare)]
