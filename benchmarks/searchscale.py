"""What the search costs with many functions on many servers: a question, joining the index, memory, and a compile."""

from __future__ import annotations

import random
import resource
import time
import tracemalloc
from pathlib import Path

from common import at, median, table
from doorward.model.functions import Compiled, Function
from doorward_search.testing import SearchedCatalog
from doorward_store_sqlite.catalog import SqliteCatalog

SERVERS, OF_EACH, QUESTIONS = 500, 40, 1000
THINGS, OTHER_WORDS = 2000, 6000
VERBS = ("list", "get", "create", "update", "delete", "search", "archive", "send", "export", "import")


async def run(folder: Path) -> None:
    chance = random.Random(18)
    others = [f"{chance.choice('bcdfgklmnprstv')}{chance.choice('aeiou')}{number:x}" for number in range(OTHER_WORDS)]
    things, common = [f"thing{number:x}" for number in range(THINGS)], others[:200]
    path = folder / "scale.db"
    catalog = SearchedCatalog(SqliteCatalog(path))
    started = time.process_time()
    for number in range(SERVERS):
        server, own = f"server{number}", chance.sample(things, 20)
        functions = [_function(server, n, chance, own, common, others) for n in range(OF_EACH)]
        catalog.store(server, Compiled(functions), fingerprint="", settings="", ms=0)
    stored = time.process_time() - started
    catalog.close()
    catalog = SearchedCatalog(SqliteCatalog(path))
    servers = [f"server{number}" for number in range(SERVERS)]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started = time.process_time()
    catalog.search("warm", servers=servers)
    joined = time.process_time() - started
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    rows = [
        ["store all compiles", f"{stored:.2f} s"],
        ["join the index (at the first question)", f"{joined * 1000:.0f} ms"],
        ["more memory at its most while joining", f"{most / 1024:.0f} MiB"],
        ["memory that the index keeps", f"{_kept(path, servers) / 2**20:.0f} MiB"],
    ]
    for words in (2, 5, 12, 40):
        took = []
        for _ in range(QUESTIONS // 4):
            asked = [chance.choice(VERBS), *chance.sample([*things, *common * 5, *others], words - 1)]
            started = time.process_time()
            catalog.search(" ".join(asked), servers=servers)
            took.append(time.process_time() - started)
        rows.append([f"a question of {words} words", f"{median(took) * 1000:.1f} / {at(took, 0.95) * 1000:.1f} ms"])
    catalog.close()
    print(f"## Search at scale: {SERVERS * OF_EACH:,} functions of {SERVERS} servers; processor time, median / p95")
    table(["what", "cost"], rows)


def _kept(path: Path, servers: list[str]) -> int:
    """Bytes of an index that stay, counted in another reader of the same catalog."""
    catalog = SearchedCatalog(SqliteCatalog(path))
    tracemalloc.start()
    catalog.search("warm", servers=servers)
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    catalog.close()
    return kept


def _function(
    server: str, number: int, chance: random.Random, things: list[str], common: list[str], others: list[str]
) -> Function:
    """A function made up: a verb, a thing of its server, and words, most of which are in many functions."""
    verb, thing = chance.choice(VERBS), chance.choice(things)
    text = " ".join(chance.choice(common if chance.random() < 0.7 else others) for _ in range(30))
    arguments = {
        f"{thing}_{chance.choice(common)}": {"type": "string", "description": " ".join(chance.choices(common, k=8))}
        for _ in range(4)
    }
    return Function(
        server=server, name=f"{verb}_{thing}_{number}", id=f"{verb}{thing}{number}", summary=f"{verb} the {thing}",
        description=text, parameters={"type": "object", "properties": arguments}, read_only=verb in ("list", "get"),
        route=f"{'GET' if verb in ('list', 'get') else 'POST'} /{thing}/{number}",
    )  # fmt: skip
