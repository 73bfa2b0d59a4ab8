"""What a search view costs core: to embed what a compile has stored, a start after it, and a question. The view answers
at once, so that what remains is ours."""

from __future__ import annotations

import random
import time
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from common import at, median, table
from doorward import Compiled, Function, Settings
from doorward_testing import Host
from searchscale import OF_EACH, SERVERS, VERBS

DIMENSIONS, QUESTIONS = 256, 200
WORDS = [f"{verb}{thing}" for verb in VERBS for thing in range(200)]


class MadeUp:
    """A source of functions that share words."""

    Settings = Settings

    def __init__(self, server: Any) -> None:
        self._name = server.name

    async def fingerprint(self) -> str:
        return "1"

    async def compile(self) -> Compiled:
        chance = random.Random(self._name)
        made = []
        for number in range(OF_EACH):
            text = " ".join(chance.choices(WORDS, k=30))
            made.append(Function(self._name, f"{chance.choice(WORDS)}_{number}", summary=text[:80], description=text))
        return Compiled(made)

    async def call(self, call: Any) -> Any:
        return None

    async def close(self) -> None:
        pass


class AtOnce:
    """A view whose vectors cost next to nothing."""

    Settings = Settings

    def __init__(self, context: Any) -> None:
        self._vectors = np.random.default_rng(18).normal(size=(4096, DIMENSIONS)).astype(np.float32)

    async def fingerprint(self) -> str:
        return "at once"

    async def embed(self, texts: Sequence[str], *, question: bool) -> Any:
        return self._vectors[[zlib.crc32(text.encode()) % 4096 for text in texts]]

    async def close(self) -> None:
        pass


async def run(folder: Path) -> None:
    rows, took = [], {}
    for view in ("", 'search_view = ["at_once"]\n'):
        host = Host(folder / ("view" if view else "words"))
        host.folder.mkdir()
        host.install("source", "made_up", MadeUp)
        host.install_real("search", "search_view", "search_views")
        host.install("search_view", "at_once", AtOnce)
        servers = "".join(f'[servers.server{number}]\nsource = "made_up"\n' for number in range(SERVERS))
        config = f'executor = []\ncache = "none"\nplugins = []\n{view}{servers}'
        for which in ("embed all functions", "take up what was kept"):
            async with host.gateway(config, compile=False) as gate:
                await gate.compiler.compile()
                started = time.process_time()
                await gate.search_engine().prepare()
                if view:
                    rows.append([which, f"{time.process_time() - started:.2f} s"])
                took[view] = await _questions(gate)
    kept = (folder / "view" / "state" / "store.db").stat().st_size
    rows.append([f"the file, {DIMENSIONS} numbers each", f"{kept / 2**20:.0f} MiB"])
    for name, times in zip(("a question by words", "a question with the view"), took.values(), strict=True):
        rows.append([name, f"{median(times) * 1000:.1f} / {at(times, 0.95) * 1000:.1f} ms"])
    print(f"## Search views: {SERVERS * OF_EACH:,} functions of {SERVERS} servers; processor time, median / p95")
    table(["what", "cost"], rows)


async def _questions(gate: Any) -> list[float]:
    chance, took = random.Random(18), []
    for number in range(QUESTIONS):
        asked = " ".join([*chance.choices(WORDS, k=4), str(number)])
        started = time.process_time()
        await gate.discovery.find([asked], "local")
        took.append(time.process_time() - started)
    return took[QUESTIONS // 10 :]
