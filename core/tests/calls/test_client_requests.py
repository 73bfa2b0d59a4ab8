"""What calls of a run ask of its client, and tell it: bounded, without secrets, in plain text, and with the server's name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import anyio
import pytest
from doorward.calls.client_requests import RunClient
from doorward.model.clock import Clock
from doorward.model.errors import LimitExceeded, ServerError

pytestmark = pytest.mark.anyio

SECRET = "s3cret-of-the-server"


class Asked:
    """A client that keeps what it gets, and never answers a sampling request."""

    def __init__(self) -> None:
        self.told: list[tuple[float, float | None, str]] = []
        self.asked: list[tuple[str, Mapping[str, Any]]] = []

    async def progress(self, done: float, total: float | None = None, message: str = "") -> None:
        self.told.append((done, total, message))

    async def ask(self, method: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        self.asked.append((method, params))
        if method == "sampling/createMessage":
            await anyio.sleep_forever()
        return {"action": "accept"}


def scrub(value: Any) -> Any:
    """What takes credentials out of everything that is sent to a client."""
    match value:
        case str():
            return value.replace(SECRET, "[secret]")
        case dict():
            return {key: scrub(inner) for key, inner in value.items()}
        case list():
            return [scrub(inner) for inner in value]
    return value


@pytest.fixture
def client() -> Asked:
    return Asked()


async def test_a_question_names_who_asks_and_holds_no_secret(client: Asked) -> None:
    """A person reads the server's name first, then plain text; what stands deeper is cleaned, too."""
    call = RunClient(client, Clock(), 60).of_call("shop", scrub)
    schema = {"properties": {"size": {"title": "Si\x1b[31mze", "enum": [{"description": f"a\u202eb {SECRET}"}, 3]}}}
    message = f"\u202eYour {SECRET}?\x07" + "x" * 10_000
    params = {"message": message, "requestedSchema": schema, "_meta": {"progressToken": 1}}
    assert await call.ask("elicitation/create", params) == {"action": "accept"}
    ((method, said),) = client.asked
    assert method == "elicitation/create"
    assert said["message"].startswith("shop asks: Your [secret]?xxx")
    assert len(said["message"]) < 4100
    assert said["requestedSchema"]["properties"]["size"] == {
        "title": "Size",
        "enum": [{"description": "ab [secret]"}, 3],
    }
    assert "_meta" not in said
    assert params["message"] == message  # the server's own words stay as they are


async def test_a_layer_asks_in_plain_text(client: Asked) -> None:
    """Whatever it was told by others; and nobody is sent to what is no web page, nor asked for more than can be read."""
    run = RunClient(client, Clock(), 60)
    params = {"message": "\u202eMay\x1b[2J it?\nIt costs 3.", "_meta": {"progressToken": 1}}
    assert await run.ask_for("elicitation/create", params) == {"action": "accept"}
    assert client.asked == [("elicitation/create", {"message": "May it?\nIt costs 3."})]
    for odd in ({"mode": "url", "url": "file:///etc/passwd"}, {"message": "", "requestedSchema": [0] * 20_000}):
        with pytest.raises(ServerError, match="a plugin asks"):
            await run.ask_for("elicitation/create", odd)
    with pytest.raises(ServerError, match="cannot be asked 'roots/list'"):
        await run.ask_for("roots/list", {})
    assert len(client.asked) == 1


async def test_a_question_without_words_is_asked(client: Asked) -> None:
    """What is no text is not made one."""
    await RunClient(client, Clock(), 60).of_call("shop", scrub).ask("elicitation/create", {"message": 3})
    assert client.asked == [("elicitation/create", {"message": 3})]


@pytest.mark.parametrize("url", ["file:///etc/passwd", "javascript:alert(1)", "", None, "ftp://x.example"])
async def test_a_person_is_sent_to_web_pages_only(client: Asked, url: str | None) -> None:
    """No other scheme reaches the person's browser."""
    call = RunClient(client, Clock(), 60).of_call("shop", scrub)
    with pytest.raises(ServerError, match="no web page"):
        await call.ask("elicitation/create", {"mode": "url", "url": url, "message": "Log in"})
    assert client.asked == []
    await call.ask("elicitation/create", {"mode": "url", "url": "HTTPS://shop.example/login", "message": "Log in"})
    assert len(client.asked) == 1


async def test_questions_are_bounded(client: Asked) -> None:
    """A form that nobody could fill in is not shown, and methods that clients do not have are refused."""
    call = RunClient(client, Clock(), 60).of_call("shop", scrub)
    with pytest.raises(ServerError, match="more at once than a person can answer"):
        await call.ask("elicitation/create", {"message": "all", "requestedSchema": list(range(20_000))})
    with pytest.raises(ServerError, match="cannot be asked 'roots/list'") as refused:
        await call.ask("roots/list", {"key": SECRET})
    assert str(refused.value.hint).endswith("elicitation/create and sampling/createMessage.")
    assert client.asked == []


async def test_the_clock_of_the_run_stands_still_while_nobody_answers(client: Asked) -> None:
    """A run waits for its client no longer than it may, in all; that time is none of its own."""
    clock = Clock()
    call = RunClient(client, clock, 0.05).of_call("shop", scrub)
    for _ in range(2):
        with pytest.raises(LimitExceeded, match=r"within the 0.05 s"):
            await call.ask("sampling/createMessage", {"prompt": SECRET})
    assert clock.stood >= 0.05
    assert [params for _, params in client.asked] == [{"prompt": "[secret]"}] * len(client.asked)


async def test_progress_is_that_of_all_calls(client: Asked) -> None:
    """It is added up; a total is told as soon as each call has given one; odd numbers are left out."""
    run = RunClient(client, Clock(), 60)
    one, other = run.of_call("shop", scrub), run.of_call("bank", scrub)
    await one.progress(1, 4, f"with {SECRET}\x1b[2J" + "x" * 5000)
    await other.progress(2, None)
    await other.progress(2.5, 6)
    for odd in (float("nan"), float("inf"), -1, "3"):
        await one.progress(odd)  # type: ignore[arg-type]
    await one.progress(4, float("nan"))
    assert [(done, total) for done, total, _ in client.told] == [(1, 4), (3, None), (3.5, 10), (6.5, None)]
    assert client.told[0][2].startswith("with [secret]xxx")
    assert len(client.told[0][2]) <= 1000


async def test_progress_is_not_told_without_end(client: Asked, later: Callable[[float], None]) -> None:
    """After the first hundred reports, those of a moment are one."""
    call = RunClient(client, Clock(), 60).of_call("shop", scrub)
    for done in range(1000):
        await call.progress(done)
    assert len(client.told) < 200
    before = len(client.told)
    later(1)
    await call.progress(1001)
    assert client.told[before:] == [(1001, None, "")]
