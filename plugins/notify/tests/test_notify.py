"""Messengers on loopback: what they get, what they do not, and which answers count."""

from __future__ import annotations

import asyncio
import base64
import hmac
import json
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlencode

import httpx2
import pytest
from aiosmtpd.controller import UnthreadedController
from aiosmtpd.handlers import Message
from doorward import ConfigError
from doorward_approvals import REQUESTS, ApprovalRequest
from doorward_auth_kit import signed, verify
from doorward_notify import messages
from doorward_notify.messengers import quiet_seconds
from doorward_notify.settings import MessengerSettings
from doorward_testing.samples import CONFIG

pytestmark = pytest.mark.anyio

KEY = "a key of at least twenty-four bytes"
TEAMS_KEY = base64.b64encode(b"a token of Teams, of thirty-two b").decode()
RULES = '[[policy.rules]]\nmatch = "weather.add_*"\nthen = "confirm"\nreason = "writes"\n'


@contextmanager
def receiver(fails: int = 0) -> Iterator[tuple[str, list[tuple[str, dict[str, str], bytes]]]]:
    """A web server that keeps what it gets, and refuses the first requests."""
    got: list[tuple[str, dict[str, str], bytes]] = []

    class Keeping(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            got.append((self.path, {name.lower(): value for name, value in self.headers.items()}, body))
            self.send_response(500 if len(got) <= fails else 200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Keeping)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", got
    finally:
        server.shutdown()
        server.server_close()


@asynccontextmanager
async def asking(host: Any, tables: str, principal: str = "al") -> AsyncIterator[tuple[Any, Any, ApprovalRequest]]:
    """A gateway with a call that waits, the site of its answers, and the request; messages have been sent by then."""
    async with host.gateway(CONFIG + RULES + tables) as gate:
        await gate.compile()
        outcome = await gate.execute("await weather.add_station(city='<!channel> *Oslo*')", principal=principal)
        assert outcome.waiting is not None, outcome
        plugin = next(each for each in gate.plugins.manager.get_plugins() if type(each).__name__ == "Notify")
        await asyncio.gather(*plugin._telling)
        (request,) = await gate.services[REQUESTS].all()
        sites = plugin.http_pages()
        yield gate, sites[0].app if sites else None, request


async def post(app: Any, body: Any, headers: dict[str, str] | None = None, path: str = "/notify/hook") -> int:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    sent = signed(KEY.encode(), f"id-{time.perf_counter_ns()}", time.time(), content) if headers is None else headers
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://test") as client:
        return (await client.post(path, content=content, headers=sent)).status_code


async def test_messengers_get_all_of_a_request_and_one_answer_counts(doorward_host: Any) -> None:
    """Forged, replayed, late and repeated answers do not count, nor those of a messenger that it does not concern."""
    with receiver() as (url, got):
        hook = f'kind = "webhook"\nurl = "{url}/hook"\nsecret = "{KEY}"\n'
        tables = f'[notify.hook]\n{hook}[notify.others]\nprincipals = ["bo"]\n{hook}'
        tables += f'[notify.slack]\nkind = "slack"\nurl = "{url}/slack"\nconsole = "https://x.test/console"\n'
        tables += f'[notify.teams]\nkind = "teams"\nurl = "{url}/teams"\nconsole = "https://x.test/console/"\n'
        async with asking(doorward_host, tables) as (gate, app, request):
            by_path = {path: (headers, body) for path, headers, body in got}
            assert len(got) == len(by_path) == 3, "others are not asked"
            headers, body = by_path["/hook"]
            assert verify(KEY.encode(), headers, body, time.time(), 300)
            for _, text in by_path.values():
                for shown in ("weather.add_station", "Oslo", "[[policy.rules]] 1", "writes", request.run):
                    assert shown in text.decode(), shown
            for path in ("/slack", "/teams"):
                assert f"https://x.test/console/approvals/{request.id}" in by_path[path][1].decode()
            answer = {"id": request.id, "answer": "approve", "by": "ann"}
            raw, now = json.dumps(answer).encode(), time.time()
            forged = [
                signed(b"another key of twenty-four bytes", "a", now, raw), signed(KEY.encode(), "b", now, raw + b" "),
                signed(KEY.encode(), "c", now - 400, raw), signed(KEY.encode(), "d", now + 400, raw), {},
                signed(KEY.encode(), "e", now, raw) | {"webhook-id": "f"},
            ]  # fmt: skip
            assert [await post(app, raw, each) for each in forged] == [401, 401, 401, 401, 400, 401]
            assert await post(app, answer, path="/notify/others") == 404
            assert await post(app, answer, path="/notify/slack") == 404
            assert await post(app, {**answer, "id": "unknown"}) == 404
            wrong: list[Any] = [{**answer, "answer": "yes"}, {**answer, "scope": "run"}, {"id": request.id}, [], b"{"]
            assert [await post(app, each) for each in wrong] == [400] * len(wrong)
            assert (await gate.services[REQUESTS].found(request.id)).state == "open"
            good = signed(KEY.encode(), "once", now, raw)
            assert [await post(app, raw, good), await post(app, raw, good)] == [200, 409]
            assert await post(app, {**answer, "answer": "deny"}) == 409, "the first answer counts"
            found = await gate.services[REQUESTS].found(request.id)
            assert (found.state, found.by) == ("approved", "ann (hook)")


def by_slack(answer: str, id: str, user: str = "U1", sent: float | None = None) -> tuple[bytes, dict[str, str]]:
    """A button that was clicked, as Slack sends and signs that."""
    told = {"type": "block_actions", "user": {"id": user, "name": "ann"},
            "actions": [{"action_id": answer, "value": id, "type": "button"}],
            "response_url": "http://127.0.0.1:9/never"}  # fmt: skip
    body = urlencode({"payload": json.dumps(told)}).encode()
    at = str(int(time.time() if sent is None else sent))
    mac = hmac.digest(KEY.encode(), f"v0:{at}:".encode() + body, "sha256").hex()
    return body, {"x-slack-request-timestamp": at, "x-slack-signature": f"v0={mac}"}


def by_teams(text: str, user: str = "a-1", sent: float | None = None) -> tuple[bytes, dict[str, str]]:
    """What was said to an outgoing webhook, as Teams sends and signs that."""
    at = datetime.fromtimestamp(time.time() if sent is None else sent, UTC).isoformat()
    told = {"type": "message", "id": f"{time.perf_counter_ns()}", "timestamp": at, "text": text,
            "from": {"id": "29:x", "name": "ann", "aadObjectId": user}}  # fmt: skip
    body = json.dumps(told).encode()
    mac = base64.b64encode(hmac.digest(base64.b64decode(TEAMS_KEY), body, "sha256")).decode()
    return body, {"authorization": f"HMAC {mac}"}


@pytest.mark.parametrize("kind", ["slack", "teams"])
async def test_buttons_in_messengers(doorward_host: Any, kind: str) -> None:
    """Slack's and Teams' own signatures; whom the configuration does not name, what is old, forged, replayed or late
    counts for nothing; the first answer counts, and those who read along are told."""

    def made(answer: str, id: str, user: str = "", **more: Any) -> tuple[bytes, dict[str, str]]:
        if kind == "slack":
            return by_slack(answer, id, user or "U1", **more)
        return by_teams(f"<at>Doorward</at>&nbsp;{answer} {id}\n", user or "a-1", **more)

    with receiver() as (url, got):
        people = 'people = { U1 = "ann", a-1 = "ann", U2 = "bo", a-2 = "bo" }\n'
        key = KEY if kind == "slack" else TEAMS_KEY
        table = f'kind = "{kind}"\nurl = "{url}/x"\nsecret = "{key}"\n{people}'
        tables = f'[notify.chat]\n{table}[notify.others]\nprincipals = ["bo"]\n{table}'
        async with asking(doorward_host, tables) as (gate, app, request):
            assert request.id in got[0][2].decode()
            assert ('"action_id": "approve"' if kind == "slack" else f"approve {request.id}") in got[0][2].decode()
            now, path = time.time(), "/notify/chat"
            for body, headers, status in (
                (*made("approve", request.id, "U9"), 403),
                (*made("approve", request.id, sent=now - 400), 401),
                (*made("approve", request.id, sent=now + 400), 401),
                (*made("allow", request.id), 400),
                (*made("approve", "unknown"), 404),
                (made("approve", request.id)[0] + b" ", made("deny", request.id)[1], 401),
                (made("approve", request.id)[0], {}, 400),
            ):
                assert await post(app, body, headers, path) == status, (body, status)
            assert await post(app, *made("approve", request.id), "/notify/others") == 404
            assert (await gate.services[REQUESTS].found(request.id)).state == "open"
            good = made("approve", request.id)
            assert [await post(app, *good, path), await post(app, *good, path)] == [200, 409]
            assert await post(app, *made("deny", request.id, "U2" if kind == "slack" else "a-2"), path) == 409
            found = await gate.services[REQUESTS].found(request.id)
            assert (found.state, found.by) == ("approved", "ann (chat)")
            await asyncio.gather(*app._saying)
            told = [body.decode() for _, _, body in got[1:]]
            assert ["ann has approved" in told[0], "bo came too late" in told[1], len(told)] == [True, True, 2]
            assert "<!channel>" not in "".join(told)


async def test_a_mail_and_what_fails(doorward_host: Any) -> None:
    """A real mail server gets a mail of plain text whose subject no argument can break; a failing messenger is asked
    again, and an answered request is told to nobody."""
    mails: list[Any] = []

    class Box(Message):
        def handle_message(self, message: Any) -> None:
            mails.append(message)

    server = UnthreadedController(Box(), "127.0.0.1", 0, loop=asyncio.get_running_loop())
    made = await server._create_server()
    port = made.sockets[0].getsockname()[1]
    mail = (
        f'kind = "email"\nhost = "127.0.0.1"\nport = {port}\ntls = "none"\nsender = "d@x.test"\nto = ["ops@x.test"]\n'
    )
    async with asking(doorward_host, f"[notify.mail]\n{mail}", principal="al\u2028Bcc: x") as (gate, app, request):
        assert app is None, "no webhook, no path"
        (found,) = mails
        assert found["Subject"].startswith("al")
        assert found["Bcc"] is None
        assert f"doorward approvals show {request.id}" in found.get_payload()
        plugin = next(each for each in gate.plugins.manager.get_plugins() if type(each).__name__ == "Notify")
        await gate.services[REQUESTS].answer(request.id, False, by="bo")
        plugin.approval_wanted(request, lambda *_: None)
        await asyncio.gather(*plugin._telling)
        assert len(mails) == 1
    made.close()


async def test_a_messenger_is_told_later_and_again(doorward_host: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a while, if nobody has answered by then; and again, where it fails."""
    waits: list[float] = []

    async def slept(seconds: float) -> None:
        waits.append(seconds)

    monkeypatch.setattr("doorward_notify.messengers.sleep", slept)
    with receiver(fails=2) as (url, got):
        tables = f'[notify.late]\nkind = "slack"\nurl = "{url}/late"\nafter = 900\n'
        async with asking(doorward_host, tables):
            assert [path for path, _, _ in got] == ["/late"] * 3
            assert waits == [900, 1, 5]


@pytest.mark.parametrize(
    ("quiet", "now", "seconds"),
    [
        ("", "2026-07-01T23:00+00:00", 0),
        ("22:00-07:00", "2026-07-01T19:59+00:00", 0),
        ("22:00-07:00", "2026-07-01T20:00+00:00", 9 * 3600),
        ("22:00-07:00", "2026-07-01T04:30+00:00", 1800),
        ("22:00-07:00", "2026-10-24T20:00+00:00", 10 * 3600),
        ("12:00-13:00", "2026-01-01T11:30+00:00", 1800),
        ("12:00-13:00", "2026-01-01T12:00+00:00", 0),
    ],
)
def test_quiet_hours_end_when_they_say(quiet: str, now: str, seconds: float) -> None:
    """In their time zone, over midnight, and in the night in which clocks change."""
    settings = MessengerSettings(kind="email", host="x", sender="a", to=["b"], quiet=quiet, zone="Europe/Berlin")
    assert quiet_seconds(settings, datetime.fromisoformat(now)) == seconds


def test_no_messenger_takes_an_argument_for_markup() -> None:
    """Slack gets plain text, cut in blocks that it takes; Teams text runs; what is left out is said."""
    settings = MessengerSettings(kind="email", host="x", sender="a", to=["b"])
    text, lines = "<!channel> я\ud800" * 20_000, ("   1 | я" * 10_000,)
    request = ApprovalRequest("1", "s.f", "write", text, "a\nb", "r1", lines=lines)
    slack, teams = messages.for_slack(request, settings), messages.for_teams(request, settings)
    blocks = slack["blocks"]
    assert {block["text"]["type"] for block in blocks} == {"plain_text"}
    assert max(len(block["text"]["text"]) for block in blocks) <= 3000
    assert (len(blocks) <= 50, "NOT shown whole" in json.dumps(slack)) == (True, True)
    card = teams["attachments"][0]["content"]
    assert {each["type"] for each in card["body"]} == {"RichTextBlock"}
    assert len(json.dumps(teams, ensure_ascii=False).encode()) < 28_000
    assert messages.for_email(request, settings).as_bytes()
    assert "\n" not in messages.title(request)
    assert "all calls of a plan" in messages.title(replace(request, kind="plan"))


@pytest.mark.parametrize(
    ("table", "told"),
    [
        ('kind = "slack"', "slack needs url"),
        ('kind = "webhook"\nurl = "https://x.test"', "webhook needs secret"),
        ('kind = "slack"\nurl = "http://x.test/a"', "must be an https URL"),
        ('kind = "slack"\nurl = "https://x.test"\nsecret = "0123456789abcdef01234567"', "secret and people"),
        ('kind = "slack"\nurl = "https://x.test"\npeople = { U1 = "ann" }', "secret and people"),
        ('kind = "webhook"\nurl = "https://x.test"\nsecret = "short"', "fewer than 24 bytes"),
        ('kind = "email"\nhost = "x.test"\nsender = "a"\nto = ["b"]\ntls = "none"', "plain text"),
        ('kind = "email"\nhost = "x.test"\nsender = "a"\nto = ["b"]\nuser = "u"', "go together"),
        ('kind = "slack"\nurl = "https://x.test"\nquiet = "25:00-07:00"', "quiet"),
        ('kind = "slack"\nurl = "https://x.test"\nzone = "Mars/Base"', "no time zone"),
    ],
)
async def test_what_cannot_be_sent_or_verified_does_not_start(doorward_host: Any, table: str, told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        async with doorward_host.gateway(CONFIG + f"[notify.one]\n{table}\n"):
            pass
