"""One client of the HTTP endpoint takes what it can get: runs that wait, runs that ask and are not answered. The other
is served."""

from __future__ import annotations

import json
from collections.abc import Iterator

import anyio
import mcp_types as t
import pytest

from .conftest import LIMITS
from .forked import Forked, script
from .product import Agent
from .test_asking import SERVER, STDIO
from .test_http_auth import connected, token

pytestmark = pytest.mark.anyio
ASKS = "import stdio_modern\nstdio_modern.ask()"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str, str]]:
    """The URL, and the tokens of two principals, who share four workers."""
    asks = STDIO.format(era="modern", command=json.dumps(script(SERVER, "stdio")))
    config = "[executors.monty]\nworkers = 4\n" + LIMITS
    project = Forked(tmp_path_factory.mktemp("fair"), config + asks)
    tokens = [token(project, name)["token"] for name in ("mallory", "bob")]
    assert project.run("compile").returncode == 0
    with project.http() as (url, _):
        yield url, *tokens


async def flooded(url: str, mallory: str, bob: str, code: str) -> list[str]:
    """What bob's `1 + 1` comes to, three times, while mallory's runs have begun; and what mallory is told of one
    more."""

    async def may(context: object, params: object) -> t.ElicitResult:
        await anyio.sleep_forever()
        raise AssertionError

    async with connected(url, mallory, "auto", elicitation_callback=may) as many, connected(url, bob, "auto") as one:
        async with anyio.create_task_group() as tasks:
            for _ in range(10):
                tasks.start_soon(lambda: many.run(code, timeout=60))
            await anyio.sleep(2)
            answers = [str((await one.run("1 + 1", timeout=10)).get("value")) for _ in range(3)]
            more = Agent(many.client)
            refused = await more.run("1 + 1", timeout=1)
            tasks.cancel_scope.cancel()
        return [*answers, refused["error"]["kind"], refused["error"]["type"]]


@pytest.mark.parametrize("code", ["import time\ntime.sleep(50)", ASKS], ids=["sleeps", "questions"])
async def test_the_other_client_is_served(served: tuple[str, str, str], code: str) -> None:
    """And who has as many runs as may be is told so."""
    assert await flooded(*served, code) == ["2", "2", "2", "limit", "Busy"]
