"""What a program could learn or disturb with large texts: how the time to search for secrets depends on the text, and
the longest pause of the event loop for large results, answers and arguments."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import random
import secrets as tokens
import string
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

from common import at, median, table
from doorward import Call, Compiled, Function, Gateway, ServerContext, Settings
from doorward.secrets.needles import Forms, Needles
from doorward.secrets.variants import forms
from doorward_testing.host import Host

MEBI = 2**20
SECRET = "q7Xw2Lk9Vb4Nz8Tt"
ESCAPES: dict[str, Callable[[str], str]] = {
    "hex": lambda c: f"{ord(c):02x}",
    "\\u": lambda c: f"\\u{ord(c):04x}",
    "&#": lambda c: f"&#{ord(c)};",
}
"""Ways to write a letter as several bytes: a few such letters fill a window."""
ROUNDS = 40

VALUES: dict[str, tuple[str, Callable[[], Any]]] = {
    "40 MiB of one letter": ("'3' * (40 * 2**20)", lambda: "3" * (40 * MEBI)),
    "20 MiB that are no ASCII": ("'é' * (10 * 2**20)", lambda: "é" * (10 * MEBI)),
    "200,000 texts": (
        "['text number ' + str(i) for i in range(200_000)]",
        lambda: [f"text number {i}" for i in range(200_000)],
    ),
    "450,000 numbers": ("[i for i in range(450_000)]", lambda: list(range(450_000))),
    "150,000 objects": ("[{'a': i} for i in range(150_000)]", lambda: [{"a": i} for i in range(150_000)]),
    "36 MB of bytes": ("b'x' * 36_000_000", lambda: b"x" * 36_000_000),
}


async def run(folder: Path) -> None:
    _search_times()
    for executor in ("monty", "nsjail"):
        await _pauses(folder / executor, executor)


def _search_times() -> None:
    """Texts of 4 MiB, measured in turns: plain letters, and texts that resemble the secret more and more."""
    search = Needles([Forms(forms(value)) for value in (SECRET, *(tokens.token_urlsafe(24) for _ in range(20)))])
    texts: dict[str, bytes] = {f"only {letter!r}": letter.encode() * 4 * MEBI for letter in "3q7aZ"}
    texts |= {f"its first {n} letters": _repeated(SECRET[:n]) for n in (1, 4, 8, 12, 15)}
    texts |= {f"its last {n} letters": _repeated(SECRET[-n:]) for n in (4, 8, 12, 15)}
    for name, write in ESCAPES.items():
        texts |= {f"its last {n} letters as {name}": _repeated("".join(map(write, SECRET[-n:]))) for n in (3, 8)}
    texts |= {
        f"{n} letters that are not in it": _repeated("".join(random.choices(string.ascii_letters, k=n)))
        for n in (4, 8, 15)
    }
    took: dict[str, list[float]] = {name: [] for name in texts}
    for _ in range(ROUNDS):
        for name in random.sample(sorted(texts), len(texts)):
            started = time.perf_counter()
            assert not list(search.find(texts[name]))
            took[name].append(time.perf_counter() - started)
    whole = median([seconds for each in took.values() for seconds in each])
    print(f"\n### Search for 21 secrets in 4 MiB, ms; {ROUNDS} rounds in random order\n\nThe secret has 16 letters.")
    rows = [
        [name, f"{median(t) * 1000:.2f}", f"{(at(t, 0.75) - at(t, 0.25)) * 1000:.2f}", f"{median(t) / whole:.3f}"]
        for name, t in took.items()
    ]
    table(["text", "median", "between the quartiles", "ratio to the median of all"], rows)


def _repeated(part: str) -> bytes:
    """A text of 4 MiB that repeats this part, separated by a letter that the secret does not have."""
    return ((part + "-") * (4 * MEBI // (len(part) + 1))).encode()


class Large:
    """A source that returns the value that is asked for."""

    Settings = Settings

    def __init__(self, server: ServerContext) -> None:
        self._name = server.name
        self._values = {f"value_{number}": make() for number, (_, make) in enumerate(VALUES.values())}

    async def fingerprint(self) -> str:
        return "1"

    async def compile(self) -> Compiled:
        takes = {"type": "object", "properties": {"x": {}}}
        return Compiled([Function(self._name, name, name, "", parameters=takes) for name in [*self._values, "take"]])

    async def call(self, call: Call) -> Any:
        return self._values.get(call.function.name, "taken")

    async def close(self) -> None:
        pass


async def _pauses(folder: Path, executor: str) -> None:
    folder.mkdir()
    host = Host(folder)
    host.install("source", "large", Large)
    host.install_real(executor)
    rows = []
    async with host.gateway(
        f'executor = "{executor}"\n[limits]\nrate = 100000\n[servers.s]\nsource = "large"\n'
    ) as gate:
        for _ in range(8):
            gate.secrets.remember(tokens.token_urlsafe(24))
        if not (await gate.execute("import s\ns.take(x=1)")).ok:
            print(f"\n{executor} is not here\n")
            return
        gc.collect()
        gc.freeze()
        for number, (name, (code, _)) in enumerate(VALUES.items()):
            answer = f"import s\nv = s.value_{number}()\n"
            programs = {
                "returns it": code,
                "gets it": f"{answer}1",
                "returns what it got": f"{answer}v",
                "sends it": f"import s\ns.take(x={code})",
            }
            rows.append([name, *[await _pause(gate, program) for program in programs.values()]])
    print(f"\n### Longest pause of the event loop while one program in {executor} …, ms (the run's time, ms)")
    table(["value", *programs], rows)


async def _pause(gate: Gateway, code: str) -> str:
    await asyncio.sleep(0.2)
    async with _watched() as worst:
        started = time.perf_counter()
        outcome = await gate.execute(code, timeout=60)
        ms = (time.perf_counter() - started) * 1000
    return f"{worst[0] * 1000:.0f} ({ms:.0f}{'' if outcome.ok else ', refused'})"


@contextlib.asynccontextmanager
async def _watched() -> AsyncIterator[list[float]]:
    """The longest time for which nothing else could run."""
    worst = [0.0]

    async def watch() -> None:
        last = time.perf_counter()
        while True:
            await asyncio.sleep(0.001)
            now = time.perf_counter()
            worst[0], last = max(worst[0], now - last - 0.001), now

    watching = asyncio.ensure_future(watch())
    try:
        yield worst
    finally:
        watching.cancel()
