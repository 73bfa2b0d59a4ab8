"""Where requests go and where not, how often, and over what: against real servers on loopback."""

from __future__ import annotations

import asyncio
import json
import socket
import ssl
import sys
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from doorward import ApiError, Call, DoorwardError, RateLimited, ServerError
from doorward.values import is_loopback
from doorward_http import PRIVATE_ADDRESS, not_public, not_public_name
from doorward_openapi.calls.redirects import Hop, following
from doorward_testing import reserve_port

pytestmark = pytest.mark.anyio
JSON = {"Content-Type": "application/json"}
OK = (200, JSON, b'"ok"')


class Bearer(httpx2.Auth):
    def auth_flow(self, request: httpx2.Request) -> Any:
        request.headers["Authorization"] = "Bearer s3cret"
        yield request


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[list[str]]]:
    """A name server: each name has the answers that it gives one after the other, the last for ever; [] is no such
    name."""
    known: dict[str, list[list[str]]] = {}
    real = anyio.getaddrinfo

    async def resolve(host: Any, port: Any, **options: Any) -> Any:
        if host not in known:
            return await real(host, port, **options)
        addresses = known[host].pop(0) if len(known[host]) > 1 else known[host][0]
        if not addresses:
            raise socket.gaierror(-2, "Name or service not known")
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in addresses]

    monkeypatch.setattr(anyio, "getaddrinfo", resolve)
    return known


def after(*answers: Any) -> Callable[[Any], Any]:
    """These answers one after the other, the last for ever."""
    left = list(answers)
    return lambda told: left.pop(0) if len(left) > 1 else left[0]


# Destinations


@pytest.mark.parametrize(
    "address",
    [
        *(
            "127.0.0.1",
            "127.9.9.9",
            "0.0.0.0",
            "10.0.0.1",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "100.127.255.255",
        ),
        *(
            "192.0.0.1",
            "192.0.2.1",
            "198.18.0.1",
            "198.51.100.1",
            "203.0.113.1",
            "224.0.0.1",
            "239.255.255.250",
            "240.0.0.1",
            "255.255.255.255",
        ),
        *(
            "::",
            "::1",
            "fe80::1",
            "fe80::1%eth0",
            "fec0::1",
            "fc00::1",
            "fd00:ec2::254",
            "ff02::1",
            "::ffff:127.0.0.1",
            "::ffff:10.1.2.3",
        ),
        *(
            "64:ff9b::7f00:1",
            "64:ff9b::a9fe:a9fe",
            "64:ff9b:1::1",
            "2002:7f00:1::",
            "2002:a00:1::1",
            "2001:0:1::1",
            "2001:db8::1",
            "::7f00:1",
        ),
        *("100::1", "3fff::1", "5f00::1", "192.88.99.1", "no address"),
    ],
)
def test_openapi_addresses_that_are_not_public(address: str) -> None:
    """Loopback, private, link-local, metadata, carrier, multicast, reserved: also inside of an IPv6 address."""
    assert not_public(address)


@pytest.mark.parametrize(
    "address", ["1.1.1.1", "8.8.8.8", "140.82.112.5", "2606:4700::1111", "64:ff9b::808:808", "::ffff:8.8.8.8"]
)
def test_openapi_addresses_that_are_public(address: str) -> None:
    assert not not_public(address)


def test_openapi_what_is_this_machine_is_not_public() -> None:
    """By whatever name it is taken for ours; names that only look like it are others'."""
    for host in ("localhost", "127.9.9.9", "::1"):
        assert is_loopback(host)
        assert not_public_name(host) == "a loopback"
    assert not_public_name("api.localhost") == "a loopback"
    assert not is_loopback("api.localhost"), "a resolver may send it anywhere"
    assert not_public_name("localhost.example.com") == ""
    assert not_public_name("10.0.0.1") == PRIVATE_ADDRESS


@pytest.mark.parametrize(
    "url",
    [
        "{url}",
        "http://localhost:{port}",
        "http://127.1:{port}",
        "http://0x7f000001:{port}",
        "http://[::ffff:127.0.0.1]:{port}",
    ],
)
async def test_openapi_a_document_cannot_lead_inside(api: Any, operation: Any, upstream: Any, url: str) -> None:
    """The server that a local document names is not called if it is not public; the error says what to set, and that
    works."""
    named = url.format(url=upstream.url, port=upstream.url.rpartition(":")[2])
    made = await api(operation(servers=[{"url": named}]), base_url=None)
    with pytest.raises(ServerError, match="a loopback address") as raised:
        await made.call("op")
    assert "set base_url of [servers.api]" in str(raised.value.hint)
    assert upstream.seen == []
    made = await api(operation(servers=[{"url": upstream.url}]), base_url=None, origins=[upstream.url])
    assert (await made.call("op"))["path"] == "/x"


async def test_openapi_names_are_checked_by_what_they_resolve_to(
    api: Any, operation: Any, upstream: Any, names: Any
) -> None:
    """One private address among public ones is enough; a configured name may be anywhere."""
    port = upstream.url.rpartition(":")[2]
    names["api.example"] = [["8.8.8.8", "127.0.0.1"]]
    made = await api(operation(servers=[{"url": f"http://api.example:{port}"}]), base_url=None)
    with pytest.raises(ServerError, match=f"api.example:{port} is a loopback address"):
        await made.call("op")
    assert upstream.seen == []
    made = await api(operation(), base_url=f"http://api.example:{port}")
    names["api.example"] = [["127.0.0.1"]]
    assert (await made.call("op"))["path"] == "/x"
    assert upstream.header("Host") == [f"api.example:{port}"]


async def test_openapi_the_checked_address_is_the_one_connected_to(
    api: Any, operation: Any, upstream: Any, names: Any
) -> None:
    """A name that is public when it is checked and private when it is asked for again gains nothing."""
    port = upstream.url.rpartition(":")[2]
    names["rebind.example"] = [["192.0.2.1"], ["127.0.0.1"]]
    made = await api(
        operation(servers=[{"url": f"http://rebind.example:{port}"}]), base_url=None, timeout=0.5, retries=0
    )
    with pytest.raises(ServerError):
        await made.call("op")
    names["rebind.example"] = [["198.41.0.4"], ["127.0.0.1"]]
    with pytest.raises(ServerError, match=r"cannot be reached|did not answer"):
        await made.call("op")
    assert upstream.seen == []


async def test_openapi_the_next_address_is_tried(api: Any, operation: Any, upstream: Any, names: Any) -> None:
    """Of a host with several addresses one that refuses costs nothing but a moment."""
    names["api.example"] = [["127.0.0.9", "127.0.0.8", "127.0.0.1"]]
    made = await api(operation(), base_url=f"http://api.example:{upstream.url.rpartition(':')[2]}", retries=0)
    assert (await made.call("op"))["path"] == "/x"
    names["api.example"] = [["127.0.0.9", "127.0.0.8"]]
    made = await api(operation(), base_url=f"http://api.example:{upstream.url.rpartition(':')[2]}", retries=0)
    with pytest.raises(ServerError, match="cannot be reached"):
        await made.call("op")


# Redirects


HOME = Hop("GET", "https://api.example/a", {"Accept": b"*/*", "X-Version": b"1", "Cookie": b"a=b"})


@pytest.mark.parametrize(
    ("hop", "status", "location", "expected"),
    [
        (HOME, 200, "/b", None),
        (HOME, 304, "/b", None),
        (HOME, 302, "/b?x=1#f", Hop("GET", "https://api.example/b?x=1", HOME.headers)),
        (HOME, 301, "https://API.example:443/b", Hop("GET", "https://API.example:443/b", HOME.headers)),
        (HOME, 302, "https://files.example/b", Hop("GET", "https://files.example/b", {"Accept": b"*/*"}, home=False)),
        (HOME, 302, "https://uploads.example/b", Hop("GET", "https://uploads.example/b", HOME.headers)),
        (
            Hop("GET", "https://s3.example/", {}, home=False),
            302,
            "https://api.example/b",
            Hop("GET", "https://api.example/b", {}, home=False),
        ),
        (Hop("POST", HOME.url, {"Content-Type": b"a/b"}, b"x"), 303, "/b", Hop("GET", "https://api.example/b", {})),
        (Hop("POST", HOME.url, {"A": b"b"}, b"x"), 307, "/b", Hop("POST", "https://api.example/b", {"A": b"b"}, b"x")),
        (Hop("POST", HOME.url, {}, b"x"), 302, "/b", "a POST is not repeated"),
        (Hop("DELETE", HOME.url, {}), 301, "/b", "a DELETE is not repeated"),
        (Hop("POST", HOME.url, {}, b"x"), 308, "https://uploads.example/b", "a POST is not repeated"),
        (HOME, 302, "http://api.example/b", "anybody could read"),
        (HOME, 302, "file:///etc/passwd", "no plain http"),
        (HOME, 302, "https://user:pw@api.example/", "no plain http"),
        (HOME, 302, "https://api.example\\@evil.example/", "no plain http"),
        (HOME, 302, "https://api.example:99999/", "no plain http"),
        (HOME, 302, None, "without saying where"),
    ],
)
def test_openapi_redirects(hop: Hop, status: int, location: str | None, expected: Any) -> None:
    """What goes where: everything within the API, nothing but GET and Accept elsewhere, no write but where asked
    for."""

    def belongs(url: str) -> bool:
        return url.startswith(("https://api.example", "https://uploads.example"))

    if isinstance(expected, str):
        with pytest.raises(ServerError, match=expected) as raised:
            following("f", hop, status, location, belongs)
        assert "pw" not in str(raised.value)
    else:
        assert following("f", hop, status, location, belongs) == expected


async def test_openapi_downloads_elsewhere_carry_nothing(
    api: Any, operation: Any, upstream: Any, monkeypatch: Any
) -> None:
    """A GET that is redirected to another public origin is followed there, without credentials, headers and cookies.
    (The public origin is behind a proxy, which is the one public place that a test can have.)"""
    monkeypatch.setenv("HTTP_PROXY", upstream.url)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    upstream.answers["/x"] = (302, {"Location": "http://files.example/archive?sig=1"}, b"")
    upstream.answers["http://files.example/archive"] = (200, {"Content-Type": "application/zip"}, b"PK")
    made = await api(
        operation(parameters=[{"name": "X-Mine", "in": "header", "schema": {}}, {"name": "c", "in": "cookie", "schema": {}}]),
        auth=Bearer(), headers={"X-Key": "s3cret"}
    )  # fmt: skip
    value = await made.call("op", x_mine="m", c="d")
    assert value.value == b"PK"
    first, second = upstream.seen
    assert {"authorization", "x-key", "x-mine", "cookie"} <= {name.lower() for name, _ in first["headers"]}
    assert second["path"] == "http://files.example/archive?sig=1"
    assert not {"authorization", "x-key", "x-mine", "cookie"} & {name.lower() for name, _ in second["headers"]}


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize(
    ("proxy", "said"),
    [
        ("socks5://joe:s3cret@127.0.0.1:9", "needs the package socksio"),
        ("ftp://joe:s3cret@127.0.0.1", "is no URL of a proxy"),
        ("s3cret://", "is no URL of a proxy"),
        ("http://joe:s3cret@127.0.0.1:99999", "is no URL of a proxy"),
        ("http://joe:s3cret@[::1", "is no URL of a proxy"),
        ("http://joe:s3cret@127.0.0.1:{closed}", "cannot be reached"),
    ],
)
async def test_openapi_a_proxy_that_is_none(
    api: Any, operation: Any, monkeypatch: Any, scheme: str, proxy: str, said: str
) -> None:
    """It is said, without the password in it."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY"):
        monkeypatch.setenv(name, proxy.format(closed=reserve_port()))
    made = await api(operation(), base_url=f"{scheme}://api.example")
    with pytest.raises(DoorwardError, match=said) as raised:
        await made.call("op")
    assert "s3cret" not in f"{raised.value} {raised.value.hint}"


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost"])
async def test_openapi_no_proxy_for_this_machine(
    api: Any, operation: Any, upstream: Any, monkeypatch: Any, name: str
) -> None:
    """Credentials may go there by plain http, because nobody can read that; whatever NO_PROXY says."""
    monkeypatch.setenv("ALL_PROXY", f"http://127.0.0.1:{reserve_port()}")
    monkeypatch.setenv("NO_PROXY", "")
    made = await api(operation(), base_url=upstream.url.replace("127.0.0.1", name), auth=Bearer())
    await made.call("op")
    assert [seen["path"] for seen in upstream.seen] == ["/x"]


@pytest.mark.parametrize(
    "place", ["http://169.254.169.254/latest", "http://10.0.0.1/", "http://localhost:1/", "http://[::1]/"]
)
async def test_openapi_redirects_do_not_lead_inside(
    api: Any, operation: Any, upstream: Any, monkeypatch: Any, place: str
) -> None:
    """Not with a proxy either, and not to where the operator said that another thing is."""
    upstream.answers["/x"] = (302, {"Location": place}, b"")
    for proxy in (None, upstream.url):
        if proxy:
            monkeypatch.setenv("HTTP_PROXY", proxy)
            monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        made = await api(operation(), spec="openapi.json")
        with pytest.raises(ServerError, match="address"):
            await made.call("op")
    assert [seen["path"] for seen in upstream.seen] == ["/x", "/x"]


async def test_openapi_credentials_go_to_other_origins_of_the_api(api: Any, operation: Any, upstream: Any) -> None:
    """To `origins`, which the operator named."""
    other = f"http://localhost:{upstream.url.rpartition(':')[2]}"
    upstream.answers["/x"] = (302, {"Location": f"{other}/y"}, b"")
    made = await api(operation(), auth=Bearer(), origins=[other])
    assert (await made.call("op"))["path"] == "/y"
    assert upstream.header("Authorization") == ["Bearer s3cret"]


async def test_openapi_a_write_is_repeated_where_the_api_asks_for_it(api: Any, operation: Any, upstream: Any) -> None:
    """307 within the origin; a 302 never turns a POST into a GET behind the program's back."""
    body = {"required": True, "content": {"application/json": {"schema": {"type": "object", "properties": {"a": {}}}}}}
    upstream.answers["/x"] = (307, {"Location": "/y"}, b"")
    made = await api(operation("post", requestBody=body))
    told = await made.call("op", a=1)
    assert (told["method"], told["path"], told["body"]) == ("POST", "/y", '{"a":1}')
    upstream.answers["/x"] = (302, {"Location": "/y"}, b"")
    with pytest.raises(ServerError, match="a POST is not repeated"):
        await made.call("op", a=1)
    assert len(upstream.seen) == 3


# Retries


@pytest.mark.slow
@pytest.mark.parametrize("status", [408, 429, 502, 503, 504])
async def test_openapi_what_fails_for_the_moment_is_repeated(
    api: Any, operation: Any, upstream: Any, status: int
) -> None:
    """An idempotent request, twice at most; a POST never."""
    failing = (status, {}, b"")
    upstream.answers["/x"] = after(failing, failing, OK)
    made = await api(operation())
    assert await made.call("op") == "ok"
    assert len(upstream.seen) == 3
    upstream.answers["/x"] = failing
    for document, settings, count in [
        (operation(), {}, 3),
        (operation(), {"retries": 0}, 1),
        (operation("post"), {}, 1),
    ]:
        upstream.seen.clear()
        made = await api(document, **settings)
        with pytest.raises(ApiError) as raised:
            await made.call("op")
        assert raised.value.status == status
        assert len(upstream.seen) == count


KEYED = {"name": "Idempotency-Key", "in": "header", "schema": {"type": "string"}}


@pytest.mark.parametrize(
    ("status", "headers", "parameters", "hint"),
    [
        (503, {}, [], "Wait, look whether it was made all the same, and if not, make it again."),
        (429, {"Retry-After": "7"}, [], "Wait 7 seconds, look whether it was made"),
        (502, {}, [KEYED], "With idempotency_key=… (a text of your own, the same each time) it is repeated by itself."),
        (500, {}, [], None),
    ],
)
async def test_openapi_a_write_that_is_not_taken_says_what_to_do(
    api: Any, operation: Any, upstream: Any, status: int, headers: Any, parameters: Any, hint: str | None
) -> None:
    """It is made once, for the API may have done it; the program is told to look, and of the key that would help."""
    upstream.answers["/x"] = (status, headers, b"")
    made = await api(operation("post", parameters=parameters))
    with pytest.raises(ApiError) as raised:
        await made.call("op")
    assert (hint in (raised.value.hint or "")) if hint else raised.value.hint is None
    assert len(upstream.seen) == 1


async def test_openapi_a_write_with_a_key_of_the_program_is_repeated(
    api: Any, operation: Any, upstream: Any, monkeypatch: Any
) -> None:
    """With the same key each time, also where the operator has named the header: the program's own counts."""
    monkeypatch.setattr("doorward_openapi.calls.retries._pause", lambda attempt: 0.0)
    for settings in ({}, {"idempotency_key": "Idempotency-Key"}):
        upstream.seen.clear()
        upstream.answers["/x"] = after((503, {}, b""), OK)
        made = await api(operation("post", parameters=[KEYED]), **settings)
        assert await made.call("op", idempotency_key="mine") == "ok"
        keys = [[v for k, v in seen["headers"] if k == "Idempotency-Key"] for seen in upstream.seen]
        assert keys == [["mine"], ["mine"]]


@pytest.mark.parametrize("status", [400, 401, 404, 409, 500, 501])
async def test_openapi_what_fails_for_good_is_not_repeated(
    api: Any, operation: Any, upstream: Any, status: int
) -> None:
    upstream.answers["/x"] = (status, {}, b"")
    made = await api(operation())
    with pytest.raises(ApiError):
        await made.call("op")
    assert len(upstream.seen) == 1


@pytest.mark.slow
async def test_openapi_retry_after_is_honoured_where_the_time_allows(api: Any, operation: Any, upstream: Any) -> None:
    """It is waited for; where it is longer than the run has left, the program is told at once."""
    upstream.answers["/x"] = after((429, {"Retry-After": "1"}, b""), OK)
    made = await api(operation())
    call, started = Call(made.functions["op"], {}, deadline=time.monotonic() + 20), time.monotonic()
    assert (await made.source.call(call)).value == "ok"
    assert time.monotonic() - started >= 1
    assert (call.details["retries"], call.details["retry_ms"] >= 1000) == (1, True)
    upstream.answers["/x"] = (429, {"Retry-After": "3600"}, b"")
    with pytest.raises(ApiError, match="429") as raised:
        await made.call("op")
    assert raised.value.retry_after == 3600
    with pytest.raises(RateLimited, match="takes no more requests for 3600 s") as limited:
        await made.source.call(Call(made.functions["op"], {}, deadline=time.monotonic() + 20))
    assert limited.value.retry_after > 3500
    assert len(upstream.seen) == 3


@pytest.mark.slow
@pytest.mark.parametrize("method", ["get", "post"])
async def test_openapi_what_was_never_sent_is_repeated(
    api: Any, operation: Any, upstream: Any, names: Any, method: str
) -> None:
    """No connection, so no request: a POST may be made again too."""
    names["api.example"] = [[], ["127.0.0.9"], ["127.0.0.1"]]
    made = await api(operation(method), base_url=f"http://api.example:{upstream.url.rpartition(':')[2]}")
    assert (await made.call("op"))["path"] == "/x"
    assert len(upstream.seen) == 1


class Dropping:
    """A server that takes a request on a connection that it has answered on before, and hangs up."""

    def __init__(self) -> None:
        self.requests: list[str] = []

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for n in range(2):
            if not (line := await reader.readline()):
                break
            self.requests.append(line.split()[0].decode())
            while await reader.readline() not in (b"\r\n", b""):
                pass
            if n == 0:
                writer.write(b'HTTP/1.1 200 OK\r\nContent-Length: 4\r\nContent-Type: application/json\r\n\r\n"ok"')
                await writer.drain()
        writer.close()


@pytest.mark.parametrize("method", ["get", "post"])
async def test_openapi_a_connection_that_was_dropped(api: Any, operation: Any, method: str) -> None:
    """An idle connection that the server gives up just then costs a GET nothing; a POST, which may have been done,
    fails."""
    dropping = Dropping()
    server = await asyncio.start_server(dropping, "127.0.0.1", 0)
    made = await api(operation(method), base_url=f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
    assert await made.call("op") == "ok"
    if method == "get":
        assert await made.call("op") == "ok"
        assert dropping.requests == ["GET"] * 3
    else:
        with pytest.raises(ServerError, match="exchange"):
            await made.call("op")
        assert dropping.requests == ["POST"] * 2
    await made.source.close()
    server.close()


# Connections


@pytest.mark.slow
async def test_openapi_many_calls_at_once_share_connections(api: Any, operation: Any, upstream: Any) -> None:
    """A hundred at once all answer; calls that are cut off leave the connections usable."""
    made = await api(operation())
    answers = await asyncio.gather(*[made.call("op") for _ in range(100)])
    assert len(answers) == 100
    release = threading.Event()
    upstream.answers["/x"] = lambda told: (release.wait(20), OK)[1]
    calls = [asyncio.ensure_future(made.call("op")) for _ in range(100)]
    while len(upstream.seen) < 150:
        await asyncio.sleep(0.01)
    for call in calls:
        call.cancel()
    await asyncio.gather(*calls, return_exceptions=True)
    release.set()
    upstream.answers["/x"] = OK
    assert await asyncio.gather(*[made.call("op") for _ in range(100)]) == ["ok"] * 100


@pytest.mark.slow
async def test_openapi_a_call_is_short(api: Any, operation: Any, upstream: Any, monkeypatch: Any) -> None:
    """A GET with a small answer over a connection that is there takes few steps of the interpreter: half of what the
    client of httpx2 takes for its request alone."""
    upstream.answers["/x"] = (200, JSON, b'{"id": 1}')
    made = await api(operation(parameters=[{"name": "n", "in": "query", "schema": {"type": "integer"}}]))
    await made.call("op", n=1)
    steps = 0

    def count(frame: Any, event: str, argument: Any) -> None:
        nonlocal steps
        steps += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        for n in range(20):
            await made.source.call(Call(made.functions["op"], {"n": n}, deadline=time.monotonic() + 60))
    finally:
        sys.setprofile(None)
    assert steps / 20 < 1250


@pytest.mark.slow
async def test_openapi_an_answer_that_drips_is_cut_off(api: Any, operation: Any) -> None:
    """A byte now and then does not keep a call alive beyond `timeout`."""

    async def drip(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n")
        while not writer.is_closing():
            writer.write(b"x")
            await asyncio.sleep(0.02)

    server = await asyncio.start_server(drip, "127.0.0.1", 0)
    made = await api(operation(), base_url=f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", timeout=0.3)
    with pytest.raises(ServerError, match=r"within 0\.3 seconds"):
        await made.call("op")
    server.close()


@pytest.fixture
def local(tmp_path: Path) -> Iterator[tuple[str, list[str]]]:
    """A server on a Unix socket, and what it was asked for."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            asked.append(f"{self.headers['Host']} {self.path}")
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", "4")
            self.end_headers()
            self.wfile.write(b'"ok"')

        def address_string(self) -> str:
            return "local"

        def log_message(self, *args: Any) -> None:
            pass

    class Server(ThreadingHTTPServer):
        address_family = socket.AF_UNIX

        def server_bind(self) -> None:
            self.socket.bind(self.server_address)

    path = str(tmp_path / "api.sock")
    server = Server(path, Handler)  # type: ignore[arg-type]
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield path, asked
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.mark.parametrize(
    ("about", "settings", "expected"),
    [
        ({"servers": [{"url": "/v1"}]}, {"base_url": None}, "localhost /v1/x"),
        ({"servers": [{"url": "https://api.example/v2"}]}, {"base_url": None}, "localhost /v2/x"),
        ({}, {"base_url": None}, "localhost /x"),
        ({"servers": [{"url": "/v1"}]}, {"base_url": "http://docker/v3"}, "docker /v3/x"),
        ({"openapi": None, "swagger": "2.0", "basePath": "/v1.41"}, {"base_url": None}, "localhost /v1.41/x"),
    ],
)
async def test_openapi_a_unix_socket(
    api: Any, operation: Any, local: Any, about: Any, settings: Any, expected: str
) -> None:
    """It carries the requests, wherever the document says that the API is; `base_url` says host and path only. A path
    is relative to the configuration."""
    path, asked = local
    document = {k: v for k, v in {**operation(), **about}.items() if v is not None}
    for named in (path, Path(path).name):
        made = await api(document, socket=named, **settings)
        assert await made.call("op") == "ok"
    assert asked == [expected, expected]


async def test_openapi_a_unix_socket_that_is_not_there(api: Any, operation: Any, tmp_path: Path) -> None:
    made = await api(operation(), base_url=None, socket=str(tmp_path / "no.sock"), retries=0)
    with pytest.raises(ServerError, match=r"no\.sock\) cannot be reached") as raised:
        await made.call("op")
    assert "Check `socket` of api" in str(raised.value.hint)


async def test_openapi_a_unix_socket_leads_nowhere_else(api: Any, operation: Any, local: Any, upstream: Any) -> None:
    """What is not the API does not go over its socket, nor inside otherwise."""
    made = await api(operation(servers=[{"url": f"{upstream.url}/v1"}]), base_url=None, socket=local[0])
    assert await made.call("op") == "ok"
    assert local[1] == ["localhost /x"]
    assert upstream.seen == []


# HTTP/2


class Http2(asyncio.Protocol):
    """An HTTP/2 server that answers every request with how many it has had on this connection."""

    def connection_made(self, transport: Any) -> None:
        import h2.config
        import h2.connection

        self.transport, self.count = transport, 0
        self.inner = h2.connection.H2Connection(config=h2.config.H2Configuration(client_side=False))
        self.inner.initiate_connection()
        transport.write(self.inner.data_to_send())

    def data_received(self, data: bytes) -> None:
        import h2.events

        for event in self.inner.receive_data(data):
            if isinstance(event, h2.events.StreamEnded):
                self.count += 1
                self.inner.send_headers(event.stream_id, [(":status", "200"), ("content-type", "application/json")])
                self.inner.send_data(event.stream_id, json.dumps(self.count).encode(), end_stream=True)
        self.transport.write(self.inner.data_to_send())


def certificate(folder: Path, name: str, speaks: str = "h2") -> ssl.SSLContext:
    """A server's context with a certificate for `name`, which is `ca.pem` of the folder as well."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    made = (
        x509.CertificateBuilder(
            subject, subject, key.public_key(), x509.random_serial_number(), now, now + timedelta(days=1)
        )
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), False)
        .add_extension(x509.BasicConstraints(True, None), True)
        .sign(key, hashes.SHA256())
    )
    (folder / "ca.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (folder / "key.pem").write_bytes(secret)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "ca.pem", folder / "key.pem")
    context.set_alpn_protocols([speaks])
    return context


async def test_openapi_http2_over_one_connection(
    api: Any, operation: Any, names: Any, tmp_path: Path, monkeypatch: Any
) -> None:
    """Where the server speaks it: many calls at once on one connection, whose certificate is checked against the
    name."""
    context = certificate(tmp_path, "api.example")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    server = await asyncio.get_running_loop().create_server(Http2, "127.0.0.1", 0, ssl=context)
    port = server.sockets[0].getsockname()[1]
    names |= {"api.example": [["127.0.0.1"]], "other.example": [["127.0.0.1"]]}
    try:
        made = await api(operation(), base_url=f"https://api.example:{port}")
        assert sorted(await asyncio.gather(*[made.call("op") for _ in range(50)])) == list(range(1, 51))
        made = await api(operation(), base_url=f"https://other.example:{port}")
        with pytest.raises(ServerError, match="certificate"):
            await made.call("op")
    finally:
        server.close()


async def test_openapi_https_without_http2(
    api: Any, operation: Any, names: Any, tmp_path: Path, monkeypatch: Any
) -> None:
    """A server that had the choice, and took HTTP/1.1, is not offered the other again. The certificate is checked each
    time that a connection is made."""
    offered: list[str | None] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: application/json\r\n\r\ntrue")
        await writer.drain()
        writer.close()

    context = certificate(tmp_path, "api.example", "http/1.1")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    real = ssl.SSLContext.set_alpn_protocols

    def offers(self: ssl.SSLContext, protocols: list[str]) -> None:
        offered.append(",".join(protocols))
        real(self, protocols)

    monkeypatch.setattr(ssl.SSLContext, "set_alpn_protocols", offers)
    server = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=context)
    port = server.sockets[0].getsockname()[1]
    names["api.example"] = [["127.0.0.1"]]
    made = await api(operation(), base_url=f"https://api.example:{port}", retries=0)
    for _ in range(3):
        assert await made.call("op") is True
    assert offered == ["h2,http/1.1", "http/1.1", "http/1.1"]
    server.close()
    await server.wait_closed()
    (tmp_path / "other").mkdir()
    other = await asyncio.start_server(
        answer, "127.0.0.1", port, ssl=certificate(tmp_path / "other", "api.example", "http/1.1"), reuse_address=True
    )
    with pytest.raises(ServerError, match="certificate of https://api"):
        await made.call("op")
    other.close()


async def test_openapi_a_server_cannot_hold_a_connection_that_is_over(
    api: Any, operation: Any, names: Any, tmp_path: Path, monkeypatch: Any
) -> None:
    """It says that the connection ends, and then does not end its side of TLS: ours is closed at once, lest each call
    costs a file that stays open for half a minute."""
    context = certificate(tmp_path, "api.example", "http/1.1")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    ended: list[bool] = []

    def serve() -> None:
        for _ in range(3):
            tls = context.wrap_socket(listening.accept()[0], server_side=True)
            tls.recv(2**16)
            tls.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 4\r\n\r\ntrue")
            with socket.socket(fileno=tls.detach()) as bare:
                bare.settimeout(5)
                try:
                    while bare.recv(2**16):
                        pass
                    ended.append(True)
                except OSError as error:
                    ended.append(isinstance(error, ConnectionError))

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        names["api.example"] = [["127.0.0.1"]]
        made = await api(operation(), base_url=f"https://api.example:{listening.getsockname()[1]}", retries=0)
        for _ in range(3):
            assert await made.call("op") is True
        await anyio.to_thread.run_sync(thread.join)
    assert ended == [True] * 3


async def test_openapi_a_redirect_to_who_does_not_answer_is_told_as_that(
    api: Any, operation: Any, upstream: Any
) -> None:
    """The error names the host that cannot be reached, not the one that redirected, and the request is not made
    again."""
    nobody = f"http://127.0.0.1:{reserve_port()}"
    upstream.answers["/x"] = (302, {"Location": f"{nobody}/file"}, b"")
    made = await api(operation(), origins=[nobody])
    with pytest.raises(ServerError, match=rf"redirected: {nobody} cannot be reached"):
        await made.call("op")
    assert len(upstream.seen) == 1
