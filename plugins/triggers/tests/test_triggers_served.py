"""Webhooks of a served gateway: what is let in runs once; everything else is refused, and changes nothing."""

from __future__ import annotations

import asyncio
import base64
import hmac
import json
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest
from doorward import DoorwardError, Gateway
from doorward_mcp_server.transports import serve_http
from doorward_testing import Cli, check_light_import
from doorward_testing.samples import CONFIG
from doorward_triggers.queue import Queue, State

pytestmark = pytest.mark.anyio

TRIGGERS = """
[principals.robot]
deny = ["weather.add_station"]

[triggers.paid]
webhook = "payments/paid"
secret = "${PAID}"
script = "paid.py"
principal = "robot"
params = { fixed = "ours" }
queue = 2
schema = { type = "object", required = ["data"], properties = { data = { type = "object" } } }
body = { order = "/data/orders/0/id", fixed = "/data/fixed" }

[triggers.nightly]
schedule = "0 3 * * *"
zone = "Europe/Berlin"
program = "nobody_saved_this"
principal = "local"
"""
SCRIPT = "order = ''\nfixed = ''\nresult = await weather.get_forecast(city=order + fixed)\n"
BODY = json.dumps({"data": {"orders": [{"id": "Oslo"}], "fixed": "theirs"}}).encode()

KEY = "a-key-of-deliveries-0123456789"


def signed(body: bytes, id: str, at: int, key: str = KEY) -> dict[str, str]:
    """The headers of a delivery."""
    mac = hmac.digest(key.encode(), f"{id}.{at}.".encode() + body, "sha256")
    return {
        "content-type": "application/json",
        "webhook-id": id,
        "webhook-timestamp": str(at),
        "webhook-signature": f"v1,{base64.b64encode(mac).decode()}",
    }


Serve = Callable[..., AbstractAsyncContextManager[tuple[Gateway, httpx2.AsyncClient]]]


@pytest.fixture
def served(doorward_host: Any, monkeypatch: pytest.MonkeyPatch) -> Serve:
    """Serves the samples with triggers."""
    monkeypatch.setenv("PAID", KEY)
    (doorward_host.folder / "paid.py").write_text(SCRIPT)

    @asynccontextmanager
    async def serve(triggers: str = TRIGGERS) -> AsyncIterator[tuple[Gateway, httpx2.AsyncClient]]:
        async with doorward_host.gateway(CONFIG + triggers) as gate:
            await gate.readiness.compiled.wait()
            urls: list[str] = []
            told: asyncio.Future[str] = asyncio.get_running_loop().create_future()
            serving = asyncio.ensure_future(
                serve_http(gate, "127.0.0.1", 0, ready=urls.append, announce=told.set_result)
            )
            await asyncio.wait([serving, told], return_when=asyncio.FIRST_COMPLETED)
            if serving.done():
                await serving
            parts = urlsplit(urls[0])
            async with httpx2.AsyncClient(base_url=f"{parts.scheme}://{parts.netloc}") as client:
                try:
                    yield gate, client
                finally:
                    serving.cancel()
                    await asyncio.wait([serving])

    return serve


async def state(gate: Gateway, name: str = "paid") -> State:
    return await Queue(gate.store, name, 2).state()


async def test_only_what_is_signed_now_and_fits_is_let_in_and_once(served: Serve) -> None:
    """Forged, replayed, late, early, oversized, malformed and misdirected deliveries leave nothing behind; what the
    configuration gives is not replaced by a delivery; a principal may not do more than elsewhere."""
    now = int(time.time())
    good = signed(BODY, "good", now)
    text = {**good, "content-type": "text/plain"}
    other = json.dumps({"data": 1}).encode()
    refused: list[tuple[int, bytes, dict[str, str]]] = [
        (401, BODY, signed(BODY, "forged", now, key="x" * 30)),
        (401, BODY + b" ", good),
        (401, BODY, {**good, "webhook-id": "other"}),
        (401, BODY, {**good, "webhook-timestamp": str(now - 1)}),
        (401, BODY, {**good, "webhook-timestamp": "-1"}),
        (401, BODY, {**good, "webhook-signature": "v1a," + good["webhook-signature"][3:]}),
        (401, BODY, {**good, "webhook-signature": ("v1,a " * 500).strip()}),
        (401, BODY, signed(BODY, "late", now - 400)),
        (401, BODY, signed(BODY, "early", now + 400)),
        (400, BODY, {"content-type": "application/json"}),
        (415, BODY, text),
        (413, big := b"[" + b" " * 2**18 + b"]", signed(big, "big", now)),
        (422, other, signed(other, "misfit", now)),
        *(
            (400, odd, signed(odd, f"odd{n}", now))
            for n, odd in enumerate((b"", b"[]", b"\xff", b"{", b"[" * 9000, b"NaN"))
        ),
    ]
    async with served() as (gate, client):
        path = "/triggers/payments/paid"
        for status, body, headers in refused:
            answer = await client.post(path, content=body, headers=headers)
            assert answer.status_code == status, (headers, answer.text)
            assert KEY not in answer.text
        twice = [*good.items(), ("webhook-id", "good")]
        assert (await client.post(path, content=BODY, headers=twice)).status_code == 400
        assert (await client.get(path, headers=good)).status_code == 405
        for elsewhere in (
            "/triggers",
            "/triggers/",
            "/triggers/payments",
            f"{path}/",
            "/triggers/payments/%2e%2e/paid",
        ):
            assert (await client.post(elsewhere, content=BODY, headers=good)).status_code == 404
        assert (await state(gate)) == State()
        first = await asyncio.gather(*(client.post(path, content=BODY, headers=good) for _ in range(4)))
        assert sorted(each.status_code for each in first) == [200, 200, 200, 202]
        again = signed(BODY, "good", now + 5)  # as a sender tries again
        assert (await client.post(path, content=BODY, headers=again)).json() == {"status": "duplicate"}
        await ended(gate, 1)
        assert [(run["id"], run["ended"], run["about"]) for run in (await state(gate)).runs] == [("good", "done", "")]
        assert not await gate.store.scan("trigger bodies")


async def test_a_run_is_of_its_principal_and_told_how_it_ended(served: Serve, doorward_host: Any) -> None:
    """A paused trigger starts nothing, and takes no more than may wait; what policy forbids and what is not there is
    told."""
    (doorward_host.folder / "paid.py").write_text("order = ''\nfixed = ''\nawait weather.add_station(city=order)\n")
    async with served() as (gate, client):

        async def send(id: str) -> int:
            return (
                await client.post("/triggers/payments/paid", content=BODY, headers=signed(BODY, id, int(time.time())))
            ).status_code

        await Queue(gate.store, "paid", 2).pause(paused=True, now=0.0)
        assert [await send(id) for id in "abc"] == [202, 202, 503]
        await Queue(gate.store, "paid", 2).pause(paused=False, now=0.0)
        await ended(gate, 2)
        assert [run["ended"] for run in (await state(gate)).runs] == ["failed"] * 2
        assert "add_station" in (await state(gate)).runs[0]["about"]


def test_commands_list_pause_resume_and_run(doorward_host: Any, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever serves meanwhile; a program that is not there is told by `doctor` and by its run."""
    monkeypatch.setenv("PAID", KEY)
    (doorward_host.folder / "paid.py").write_text(SCRIPT)
    doorward_host.write(CONFIG + TRIGGERS)
    assert cli("triggers", "pause", "nightly", "paid").code == 0
    listed = json.loads(cli("triggers", "list", "--json").out)["triggers"]
    assert [(each["name"], each["state"], each["missed"]) for each in listed] == [
        ("paid", "paused", 0),
        ("nightly", "cannot run: there is no cached program 'nobody_saved_this' (any more)", 0),
    ]
    assert cli("triggers", "resume", "paid").code == 0
    assert cli("triggers", "run", "paid", "--params", '{"order": "Os"}').code == 0
    told = cli("triggers", "run", "nightly")
    assert "nobody_saved_this" in told.out + told.err
    assert cli("triggers", "run", "nobody").code != 0
    doctor = cli("doctor").out
    assert "trigger nightly" in doctor


WRONG = [
    ('"Europe/Berlin"', '"Europe/Berlim"', "did you mean Europe/Berlin?"),
    ('"Europe/Berlin"', '"../../etc/passwd"', "there is no time zone"),
    ('"0 3 * * *"', '"0 25 * * *"', "hour 0-23"),
    ('"0 3 * * *"', '"* * 0 3 * *"', "no cron expression"),
    ('"0 3 * * *"', '"0 0 31 2 *"', "day-of-month"),
    ('principal = "local"', 'principal = "nobody"', "Configured are: local, robot"),
    ('program = "nobody_saved_this"', 'script = "gone.py"', "there is no file"),
    ('"${PAID}"', '"in-the-file-for-all-to-read-01"', "by reference"),
    ('"${PAID}"', '"${ABSENT}"', "ABSENT"),
    ('"${PAID}"', '"${SHORT}"', "fewer than 24 bytes"),
    ('type = "object", required', 'type = "objekt", required', "no JSON Schema"),
    ('type = "object", required', '"$ref" = "http://127.0.0.1:9/x", required', "not within it"),
    ('"payments/paid"', '"../mcp"', "a path has small letters"),
]


@pytest.mark.parametrize(("right", "wrong", "said"), WRONG)
async def test_what_cannot_be_right_is_refused_at_the_start(
    served: Serve, right: str, wrong: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With what is allowed, and the place of it; never with a secret."""
    monkeypatch.setenv("SHORT", "hunter2hunter2")
    with pytest.raises(DoorwardError) as told:
        async with served(TRIGGERS.replace(right, wrong)):
            pass
    assert said in f"{told.value} {told.value.hint}"
    assert "[triggers." in str(told.value) or "triggers." in str(told.value)
    assert "hunter2" not in str(told.value)


async def test_what_is_refused_is_not_served_before(served: Serve, doorward_host: Any) -> None:
    """A key that is not there is told before anything says that MCP is served."""
    ready: list[str] = []
    async with doorward_host.gateway(CONFIG + TRIGGERS.replace('"${PAID}"', '"${ABSENT}"')) as gate:
        with pytest.raises(DoorwardError, match="ABSENT"):
            await serve_http(gate, "127.0.0.1", 0, ready=ready.append)
    assert ready == []


OPENED = """
import sys, anyio
from doorward import Gateway
async def main():
    async with Gateway.open(sys.argv[1]) as gate:
        gate.plugins.each("http_pages", list)
        print(*(name for name in ("doorward_triggers", "cronsim") if name in sys.modules))
anyio.run(main)
"""


@pytest.mark.slow
def test_nothing_is_imported_where_no_trigger_is_configured(doorward_host: Any) -> None:
    """Neither the plugin nor what reads schedules; and where one is, no heavy module until HTTP is served."""
    file = doorward_host.write("plugins = []\n")
    opened = subprocess.run([sys.executable, "-c", OPENED, file], capture_output=True, text=True, check=True)
    assert opened.stdout.split() == []
    check_light_import("doorward_triggers")
    check_light_import("doorward_triggers.settings", forbidden=("cronsim", "jsonschema_rs", "starlette"))


async def ended(gate: Gateway, runs: int) -> None:
    """Wait until so many runs are noted."""
    seen = -1
    while len((await state(gate)).runs) < runs:
        seen = await gate.store.signal("triggers", seen, 5.0)
