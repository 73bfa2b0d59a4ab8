"""What a program sees of time and chance in a jail, and what the host is told of it."""

from __future__ import annotations

from typing import Any

import pytest
from doorward import Limits, Program, SandboxDied
from doorward_testing import Door

from . import unshared
from .test_jails import executor, run, value

pytestmark = [pytest.mark.slow, unshared.needs_namespaces, pytest.mark.anyio]

SEED = bytes(range(32))


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def test_a_call_that_cannot_be_sent() -> None:
    """What was read before it is told with the next."""
    code = """
import calc, time
read = [time.time()]
for cannot in (object(), "x" * 2_000_000):
    try: calc.echo(cannot)
    except (TypeError, ValueError): read.append(time.time())
calc.echo(1)
read"""
    door = Door()
    async with executor() as made:
        ended = await run(made, code, door, limits=Limits(result_bytes=1_000_000))
    assert ended.error is None, ended.error
    assert (door.read, door.told) == (ended.value, [3])


async def test_another_process_draws_its_own_numbers() -> None:
    """Else workers would all draw the same. The times that they read are not told."""
    code = """
import os, random, time, uuid
uuid.uuid4(), random.random()
def drawn():
    reads, writes = os.pipe()
    if os.fork() == 0:
        time.time()
        os.write(writes, f"{uuid.uuid4()} {random.random()} {random.Random().random()}".encode())
        os._exit(0)
    os.wait()
    return os.read(reads, 500).decode().split()
[*drawn(), *drawn()]"""
    door = Door()
    async with executor() as made:
        found = await value(made, code, door, seed=SEED)
        assert len({*found, *await value(made, code, Door(), seed=SEED)}) == 12
    assert door.read == []


async def test_without_a_seed_all_is_drawn_from_the_system() -> None:
    """No sandbox draws what another one does."""
    code = (
        "import os, random, uuid\n[random.random(), random.Random().random(), os.urandom(9).hex(), str(uuid.uuid4())]"
    )
    async with executor() as made:
        assert len({*await value(made, code), *await value(made, code)}) == 8


async def test_of_very_many_times_some_are_told() -> None:
    """One more than the host wants, so that it knows; and the program goes on."""
    door = Door()
    async with executor() as made:
        assert await value(made, "import time\nfor _ in range(50_000): time.time()\n5", door) == 5
        assert len(door.read) == 10_001
        again = Door(given=door.read[:10_000])
        assert await value(made, "import time\n[time.time() for _ in range(10_003)][-4]", again) == door.read[9_999]
        assert len(again.read) == 1


async def test_what_libraries_read_of_steady_clocks_is_not_kept() -> None:
    """An event loop reads them as often as it happens to turn; what it is asked to wait is waited."""
    code = """
import asyncio, queue, threading, time
await asyncio.sleep(0.02)
try: queue.Queue().get(timeout=0.02)
except queue.Empty: pass
threading.Event().wait(0.01)
class Timer: read = time.monotonic
began = time.monotonic()
time.sleep(0.02)
[Timer().read() - began >= 0.02, time.monotonic_ns() / 1e9 - began < 20]"""
    door = Door()
    async with executor() as made:
        assert await value(made, code, door) == [True, True]
        assert len(door.read) == 3
        again = Door(given=[5.0])
        assert await value(made, "import time\n[time.monotonic(), 5 < time.monotonic() < 25]", again) == [5.0, True]


async def test_the_runs_of_a_session_go_on_with_what_they_have() -> None:
    """A seed that one has set counts for the next; all that they read is told."""

    async with executor() as made:
        first = Program("import random, time\nrandom.seed(5)\ntime.time()", seed=SEED)
        sandbox = await made.open(first, session=True)
        door = Door(given=[1.0])
        assert (await sandbox.run(first, door)).value == 1.0
        after = Program("import random\nrandom.Random(5).random() == random.random()", seed=b"x" * 32, continues=True)
        assert (await sandbox.run(after, door)).value is True
        told = await sandbox.run(Program("time.time()", continues=True), door)
        assert door.read == [told.value]
        await sandbox.close()


async def test_the_class_of_dates_stays_what_it_is() -> None:
    """Values are of it, and it is the one that C and pickle know."""
    code = """
import copy, datetime, pickle
now = datetime.datetime.now()
[type(now) is datetime.datetime, pickle.loads(pickle.dumps(now)) == now, copy.copy(now) == now,
 datetime.datetime.now(datetime.timezone.utc).tzinfo is datetime.timezone.utc,
 datetime.datetime.now(tz=datetime.timezone.utc).utcoffset() == datetime.timedelta(0)]"""
    async with executor() as made:
        assert await value(made, code) == [True] * 5


@pytest.mark.parametrize(
    "said", ["5", '["5"]', "[null]", "[NaN]", "[1e999]", "[1" + "0" * 400 + "]", "[" + "1," * 10_001 + "1]"]
)
async def test_times_that_are_none(said: str) -> None:
    """A sandbox that says them is ended: only a program that took the channel can."""
    code = f"""
import os
body = b'{{"done": {{"value": 1}}, "seen": {said}}}'
os.write(3, len(body).to_bytes(4, "big") + body)
import time
time.sleep(20)"""
    door: Any = Door()
    async with executor() as made:
        with pytest.raises(SandboxDied, match="it sent"):
            await run(made, code, door)
    assert door.read == []
