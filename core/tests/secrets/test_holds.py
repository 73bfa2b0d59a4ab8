"""What a request carries is scrubbed as long as its answer can come."""

from __future__ import annotations

import asyncio
import secrets as random
import threading

import pytest
from doorward.model.errors import LimitExceeded
from doorward.secrets import scrubber as holds
from doorward.secrets.owners import Owner
from doorward.secrets.redaction import REDACTED
from doorward.secrets.scrubber import MAX_FETCHED_VALUES, MAX_SHARED_VALUES, Scrubber, answers_of

pytestmark = pytest.mark.anyio
MANY = 4 * MAX_FETCHED_VALUES
API = Owner("api")


def drawn() -> str:
    return random.token_hex(16)


def knows(scrubber: Scrubber, value: str) -> bool:
    return scrubber.scrub(f"x {value} y", answers_of("api")) == f"x {REDACTED} y"


@pytest.mark.slow
async def test_a_value_is_scrubbed_until_its_call_ends() -> None:
    """However many other calls reveal values meanwhile; and a while after, as one of the latest."""
    scrubber = Scrubber()
    redact, seen = scrubber.redaction(), []
    everyone, done = asyncio.Event(), asyncio.Event()

    async def call() -> None:
        with scrubber.holds.of_call("api"):
            value = drawn()
            redact(value, API)
            seen.append(value)
            if len(seen) == MANY:
                everyone.set()
            await done.wait()
            assert knows(scrubber, value)

    calls = [asyncio.create_task(call()) for _ in range(MANY)]
    await everyone.wait()
    assert all(knows(scrubber, value) for value in seen)
    done.set()
    await asyncio.gather(*calls)
    scrubber.redaction()(drawn(), API)  # what is forgotten is so with the next value
    assert sum(knows(scrubber, value) for value in seen) == MAX_FETCHED_VALUES
    assert len(scrubber._known) == MAX_FETCHED_VALUES + 1


@pytest.mark.slow
@pytest.mark.parametrize("way", ["redact", "remember", "principal"])
async def test_every_way_to_reveal_a_value_is_held(way: str) -> None:
    """A fetched token, what is made of a credential, a credential that rotates, and those of principals."""
    scrubber = Scrubber()
    redact = scrubber.redaction()

    def reveal(value: str) -> None:
        if way == "redact":
            redact(value, API)
        else:
            most = MAX_SHARED_VALUES if way == "principal" else MAX_FETCHED_VALUES
            scrubber.remember(value, of="${cmd:token}", most=most, whose=API)

    with scrubber.holds.of_call("api"):
        reveal(first := drawn())
        for _ in range((MAX_SHARED_VALUES if way == "principal" else MAX_FETCHED_VALUES) + 5):
            async with asyncio.TaskGroup() as group:
                group.create_task(_another(scrubber, reveal))
        assert knows(scrubber, first)


async def _another(scrubber: Scrubber, reveal) -> None:  # type: ignore[no-untyped-def]
    with scrubber.holds.of_call("api"):
        reveal(drawn())


@pytest.mark.slow
async def test_tasks_and_threads_of_a_call_reveal_for_it() -> None:
    """What a call's own tasks and threads reveal is held as long as the call, also after they have ended."""
    scrubber = Scrubber()
    redact, mine = scrubber.redaction(), [drawn(), drawn()]

    async def request() -> None:
        redact(mine[0], API)

    with scrubber.holds.of_call("api"):
        await asyncio.create_task(request())
        await asyncio.to_thread(redact, mine[1], API)
        for _ in range(MANY):
            await _another(scrubber, lambda value: redact(value, API))
        assert all(knows(scrubber, value) for value in mine)


async def test_a_value_that_no_call_is_known_to_reveal_waits_for_all_of_them() -> None:
    """Where a plugin sends requests in a thread or a task of its own, it stays until all calls to this server that were
    in progress have ended, in any order; later calls do not prolong that."""
    scrubber = Scrubber()
    redact, value = scrubber.redaction(), drawn()
    first, second, third = (scrubber.holds.of_call("api") for _ in range(3))

    def elsewhere(value: str) -> None:
        thread = threading.Thread(target=redact, args=(value, API))
        thread.start()
        thread.join()

    first.__enter__()
    second.__enter__()
    elsewhere(value)
    third.__enter__()

    def pushed_out() -> bool:
        for _ in range(MAX_FETCHED_VALUES):
            scrubber.redaction()  # others have windows of their own
            with scrubber.holds.of_connection():
                redact(drawn(), API)
        return not knows(scrubber, value)

    assert not pushed_out()
    second.__exit__(None, None, None)
    assert not pushed_out()
    first.__exit__(None, None, None)
    assert pushed_out()
    third.__exit__(None, None, None)
    assert not scrubber.holds._calls


async def test_a_task_that_outlives_its_call_does_not_keep_it() -> None:
    """What it reveals later is one of the latest, or belongs to the calls that are in progress then."""
    scrubber = Scrubber()
    redact, go = scrubber.redaction(), asyncio.Event()

    async def later() -> None:
        await go.wait()
        redact(drawn(), API)

    with scrubber.holds.of_call("api"):
        task = asyncio.create_task(later())
    go.set()
    await task
    assert len(scrubber._known) == 1
    assert not scrubber.holds._calls


@pytest.mark.slow
async def test_a_connection_holds_what_it_was_opened_with() -> None:
    """Also if a call opens it, and ends long before; of one that goes on to sign requests the latest are held."""
    scrubber = Scrubber()
    redact, credential, closed = scrubber.redaction(), drawn(), asyncio.Event()
    opened = asyncio.Event()

    async def connection() -> None:
        with scrubber.holds.of_connection():
            redact(credential, API)
            opened.set()
            await closed.wait()
            for _ in range(2 * holds.MAX_VALUES_OF_CONNECTION):
                redact(drawn(), API)
            assert len(scrubber._known) <= holds.MAX_VALUES_OF_CONNECTION + MAX_FETCHED_VALUES

    with scrubber.holds.of_call("api"):
        task = asyncio.create_task(connection())
        await opened.wait()
    for _ in range(MANY):
        await _another(scrubber, lambda value: redact(value, API))
    assert knows(scrubber, credential)
    closed.set()
    await task
    assert len(scrubber._known) == MAX_FETCHED_VALUES


async def test_memory_is_bounded_and_a_request_beyond_is_not_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """More different values than fit raise, so that no request carries one that would not be scrubbed; values that
    several calls share count once, and another server's calls go on."""
    monkeypatch.setattr(holds, "MAX_HELD_VALUES", 3)
    scrubber = Scrubber()
    redact, shared = scrubber.redaction(), drawn()
    with scrubber.holds.of_call("api"), scrubber.holds.of_call("api"):
        redact(shared, API)
        redact(shared, API)
        redact(drawn(), API)
        redact(drawn(), API)
        with pytest.raises(LimitExceeded, match="carry 3 credentials already"):
            redact(late := drawn(), API)
        assert knows(scrubber, late), "it may stand in an error all the same"
        redact(shared, API)
        with scrubber.holds.of_call("other"):
            redact(drawn(), Owner("other"))
    with scrubber.holds.of_call("api"):
        redact(drawn(), API)


async def test_a_value_that_is_known_costs_no_new_redactor() -> None:
    """Calls that reveal the same token again and again, and end, leave the redactors as they are."""
    scrubber = Scrubber()
    redact, token = scrubber.redaction(), drawn()
    redact(token, API)
    redactor = scrubber.redactor(answers_of("api"))
    for _ in range(5):
        with scrubber.holds.of_call("api"):
            redact(token, API)
            assert scrubber.redactor(answers_of("api")) is redactor
    with scrubber.holds.of_call("api"):
        redact(drawn(), API)
        once = scrubber.redactor(answers_of("api"))
    assert scrubber.redactor(answers_of("api")) is once
