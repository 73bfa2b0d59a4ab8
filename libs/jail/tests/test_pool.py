"""How many sandboxes a pool makes, and for whom, counted over jails that start nothing."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from doorward import ExecutorError, Limits
from doorward_jail import pool as pools
from doorward_jail.pool import Pool

LIMITS = Limits(memory_bytes=64 * 2**20)
OTHERS = Limits(memory_bytes=32 * 2**20)

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Sandbox:
    def __init__(self, jail: Jail) -> None:
        self.jail = jail
        self.gone: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    async def end(self) -> None:
        if not self.gone.done():
            self.gone.set_result(0)
            self.jail.sandboxes.remove(self)


class Jail:
    """Sandboxes that are made as soon as `go_on` is set."""

    def __init__(self, machine: Machine, limits: Limits, room: int) -> None:
        self.machine, self.limits, self.room, self.fresh = machine, limits, room, True
        self.sandboxes: list[Sandbox] = []
        self.begun = 0
        self.dead = asyncio.Event()

    @property
    def has_room(self) -> bool:
        return len(self.sandboxes) + self.begun < self.room

    def holds(self, limits: Limits) -> bool:
        return limits == self.limits

    def unused(self) -> float:
        return -1 if self.sandboxes else 100

    async def fork(self) -> Sandbox:
        self.begun += 1
        await self.machine.go_on.wait()
        await asyncio.sleep(0)
        self.begun -= 1
        if self.machine.refuses:
            raise ExecutorError("no sandbox")
        made = Sandbox(self)
        self.sandboxes.append(made)
        self.machine.most = max(self.machine.most, self.machine.count())
        return made

    async def end(self) -> None:
        self.dead.set()
        for each in list(self.sandboxes):
            await each.end()


class Machine:
    """Starts jails, and counts what there is."""

    def __init__(self, room: int = 1000) -> None:
        self.room = room
        self.jails: list[Jail] = []
        self.go_on = asyncio.Event()
        self.go_on.set()
        self.refuses = False
        self.most = 0

    async def start(self, limits: Limits) -> Any:
        await asyncio.sleep(0)
        self.jails.append(Jail(self, limits, self.room))
        return self.jails[-1]

    def count(self) -> int:
        return sum(len(jail.sandboxes) for jail in self.jails)

    def pool(self, ready: int = 2, most: int = 8) -> Pool:
        return Pool(self.start, ready=ready, most=most, wait=5, idle=0)


@pytest.fixture
async def machine() -> Machine:
    return Machine()


@pytest.fixture(autouse=True)
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pools, "_QUIET_SECONDS", 0.1)
    monkeypatch.setattr(pools, "_REFILL_SECONDS", 0.001)


async def test_as_many_ahead_as_configured(machine: Machine, until: Any) -> None:
    """For a client that comes now and then."""
    pool = machine.pool()
    for _ in range(5):
        taken = await pool.take(LIMITS)
        await until(lambda: len(pool._ready) >= 2)
        await pool.left(taken, at_once=True)
    await until(lambda: machine.count() == 2)
    await pool.close()


@pytest.mark.slow
async def test_more_ahead_for_clients_in_a_row(machine: Machine, until: Any) -> None:
    """Soon nobody waits; all together are never more than `most` and those configured; when it is quiet, no more than
    these are left."""
    pool = machine.pool(ready=2, most=8)
    waited = []
    for _ in range(40):
        waited.append(not pool._ready)
        taken = await pool.take(LIMITS)
        pool.left(taken, at_once=True)
        await asyncio.sleep(0.001)
    assert not any(waited[10:])
    assert 2 < machine.most <= 8 + 2
    assert len(machine.jails) == 1
    await until(lambda: machine.count() == 2)
    await pool.close()


async def test_never_more_than_most(machine: Machine) -> None:
    """However many come at once, and whatever is kept ahead."""
    pool = machine.pool(ready=2, most=8)

    async def one() -> None:
        for _ in range(5):
            taken = await pool.take(LIMITS)
            await asyncio.sleep(0)
            await pool.left(taken, at_once=True)

    await asyncio.gather(*(one() for _ in range(32)))
    assert machine.most <= 8 + 2
    await pool.close()


async def test_who_waits_is_first(machine: Machine, until: Any) -> None:
    """A sandbox that was begun ahead is for whoever waits longest, not for the store."""
    pool = machine.pool(ready=2)
    machine.go_on.clear()
    order: list[int] = []

    async def one(number: int) -> None:
        await pool.take(LIMITS)
        order.append(number)

    clients = [asyncio.ensure_future(one(number)) for number in range(4)]
    await until(lambda: machine.jails and machine.jails[0].begun >= 4)
    assert order == []
    machine.go_on.set()
    await asyncio.gather(*clients)
    assert order == [0, 1, 2, 3]
    await pool.close()


async def test_other_limits_are_not_mixed_up(machine: Machine) -> None:
    """Each client gets a sandbox of its own limits, in whatever order they come."""
    pool = machine.pool()
    wanted = [LIMITS, OTHERS] * 3
    taken = await asyncio.gather(*map(pool.take, wanted))
    assert [each.jail.limits for each in taken] == wanted
    await pool.close()


async def test_a_client_that_gave_up_costs_nobody_a_sandbox(machine: Machine, until: Any) -> None:
    """What was begun for it is kept for the next."""
    pool = machine.pool(ready=1, most=2)
    machine.go_on.clear()
    gave_up = asyncio.ensure_future(pool.take(LIMITS))
    await until(lambda: machine.jails and machine.jails[0].begun)
    gave_up.cancel()
    await asyncio.wait([gave_up])
    machine.go_on.set()
    taken = [await pool.take(LIMITS) for _ in range(2)]
    assert len({id(each) for each in taken}) == 2
    await pool.close()


async def test_what_cannot_be_made_is_said_to_whoever_waits(machine: Machine) -> None:
    """And to nobody else: the next ones try again."""
    pool = machine.pool()
    machine.refuses = True
    told = await asyncio.gather(*(pool.take(LIMITS) for _ in range(3)), return_exceptions=True)
    assert [str(each) for each in told] == ["no sandbox"] * 3
    machine.refuses = False
    assert (await pool.take(LIMITS)).jail is machine.jails[0]
    await pool.close()


async def test_jails_for_one_sandbox_are_used_again(until: Any) -> None:
    """Many who come at once do not start a jail each, if one of those in use is free in a moment."""
    machine = Machine(room=1)
    pool = machine.pool(ready=1, most=32)

    async def one() -> None:
        for _ in range(3):
            taken = await pool.take(LIMITS)
            await asyncio.sleep(0)
            await pool.left(taken, at_once=True)

    await asyncio.gather(*(one() for _ in range(32)))
    assert len(machine.jails) <= 4
    await pool.close()


async def test_what_is_made_when_the_idle_time_ends_is_ended(machine: Machine, until: Any) -> None:
    """With its jail; so is the jail of a run that took longer."""
    pool = Pool(machine.start, ready=1, most=4, wait=5, idle=0.05)
    taken = await pool.take(LIMITS)
    await until(lambda: pool._ready)
    machine.go_on.clear()
    pool.left(await pool.take(LIMITS), at_once=True)
    await until(lambda: machine.jails[0].begun and pool._limits is None)
    machine.go_on.set()
    await until(lambda: machine.jails[0].begun == 0)
    assert not machine.jails[0].dead.is_set()
    await pool.left(taken, at_once=True)
    assert machine.jails[0].dead.is_set()
    assert machine.count() == 0
    await pool.close()


@pytest.mark.slow
async def test_who_has_other_limits_makes_nobody_start_more(machine: Machine, until: Any) -> None:
    """Two clients in turn, for each of whom the sandboxes ahead are of no use: each turn starts what is needed and what
    is configured ahead, no more."""
    pool, forks = machine.pool(ready=1), 0
    fork = Jail.fork

    async def counted(self: Jail) -> Sandbox:
        nonlocal forks
        forks += 1
        return await fork(self)

    Jail.fork = counted  # type: ignore[method-assign]
    try:
        for limits in (LIMITS, OTHERS) * 20:
            taken = await pool.take(limits)
            await asyncio.sleep(0.005)
            await pool.left(taken, at_once=True)
            await asyncio.sleep(0.005)
    finally:
        Jail.fork = fork  # type: ignore[method-assign]
    assert forks <= 2 * 40
    await pool.close()
