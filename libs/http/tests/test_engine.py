"""The HTTP engine against servers that answer byte by byte as they are told, honest ones and others."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any, ClassVar

import httpcore2
import httpx2
import pytest
from doorward import ServerError
from doorward_http import GuardedTransport, HttpAnswer, HttpEngine, NamedHosts, connections, pool
from doorward_http import engine as engine_module
from doorward_testing import reserve_port

pytestmark = pytest.mark.anyio

Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


class Anywhere:
    """Every name is this machine."""

    async def addresses(self, host: str, port: int) -> list[str]:
        return ["127.0.0.1"]

    async def by_proxy(self, host: str, port: int) -> None:
        pass


class Server:
    """Answers the requests of each connection with one of `answers` after the other, over all connections."""

    def __init__(self, *answers: bytes | Talk) -> None:
        self.answers = [*answers]
        self.asked: list[bytes] = []
        """The bytes that came before each answer."""
        self.connections = 0
        self.open = self.most = 0
        self.ended = asyncio.Event()
        """A client has closed a connection."""

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.open += 1
        self.most = max(self.most, self.open)
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            while self.answers:
                self.asked.append(await reader.readuntil(b"\r\n\r\n"))
                answer = self.answers.pop(0)
                if callable(answer):
                    await answer(reader, writer)
                else:
                    writer.write(answer)
            await reader.read()
        self.open -= 1
        self.ended.set()
        writer.close()


@contextlib.asynccontextmanager
async def serving(*answers: bytes | Talk) -> AsyncIterator[tuple[Server, HttpEngine, str]]:
    server, engine = Server(*answers), HttpEngine(Anywhere())
    listening = await asyncio.start_server(server, "127.0.0.1", 0)
    try:
        yield server, engine, f"http://localhost:{listening.sockets[0].getsockname()[1]}"
    finally:
        await engine.aclose()
        listening.close()


async def whole(answer: HttpAnswer) -> bytes:
    found = b""
    while part := await answer.read():
        found += part
    return found


async def get(engine: HttpEngine, url: str, method: str = "GET", **more: Any) -> tuple[int, bytes]:
    answer = await engine.send(method, url, more.pop("headers", []), **more)
    try:
        return answer.status, await whole(answer)
    finally:
        await answer.aclose()


async def stream_of(ours: socket.socket) -> connections.Stream:
    """What the engine makes of a socket."""
    return (await asyncio.get_running_loop().create_connection(connections.Stream, sock=ours))[1]


async def ends(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.close()


# What is sent


async def test_a_request_is_sent_as_it_is_given() -> None:
    """Names keep their case and headers their order, twice the same as well; what is missing is added; the path and the
    query are not changed where they are a URL's already."""
    async with serving(OK, OK) as (server, engine, url):
        headers = [(b"X-Two", b"1"), (b"accept", b"a/b"), (b"X-Two", "\u00e4".encode()), (b"X-None", b"")]
        await get(engine, f"{url}/a%2Fb;c/d?e=f%20g&h=/i?j#k", headers=headers)
        await get(engine, f"{url}?q=a b\u00e4", "POST", content=b"text")
    host = url.removeprefix("http://").encode()
    assert server.asked[0] == (
        b"GET /a%2Fb;c/d?e=f%20g&h=/i?j HTTP/1.1\r\nHost: "
        + host
        + b"\r\nX-Two: 1\r\naccept: a/b\r\nX-Two: \xc3\xa4\r\nX-None: \r\n\r\n"
    )
    assert server.asked[1] == (b"POST /?q=a%20b%C3%A4 HTTP/1.1\r\nHost: " + host + b"\r\nContent-Length: 4\r\n\r\n")


@pytest.mark.parametrize(
    "headers",
    [
        [(b"A", b"b\r\nX: y")],
        [(b"A", b"b\nX: y")],
        [(b"A\r\nX", b"y")],
        [(b"A:", b"y")],
        [(b"A", b"\0")],
        [(b"A", b" y")],
        [(b"", b"y")],
        [(b"Host", b"a"), (b"host", b"b")],
        [(b"Content-Length", b"4"), (b"Transfer-Encoding", b"chunked")],
        [(b"Content-Length", b"3")],
        [(b"Content-Length", b"+4")],
        [(b"Content-Length", b"4"), (b"Content-Length", b"4")],
        [(b"Transfer-Encoding", b"gzip, chunked")],
    ],
)
async def test_a_request_cannot_become_two(headers: list[tuple[bytes, bytes]]) -> None:
    """Line breaks in a header, and lengths that do not fit the content, are refused without a word of the header."""
    async with serving(OK, OK) as (server, engine, url):
        with pytest.raises(httpx2.LocalProtocolError) as raised:
            await get(engine, url, "POST", headers=headers, content=b"text")
        assert "y" not in str(raised.value).split()
        for method, path in (("GET /x HTTP/1.1\r\n", "/"), ("GET", "/\r\nX: y"), ("GET", "/ x")):
            with contextlib.suppress(httpx2.LocalProtocolError, httpx2.InvalidURL):
                await get(engine, url + path, method)
    assert all(asked.count(b"\r\n") == 3 and b"X: y" not in asked for asked in server.asked)


async def test_content_in_parts() -> None:
    """With a length it goes as it is, without one in chunks, of which none is empty before the end; content that is
    longer or shorter than was said is an error."""
    got: list[bytes] = []

    async def parts() -> AsyncIterator[bytes]:
        for part in (b"ab", b"", b"cde"):
            yield part

    async def read(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        got.append(await reader.readuntil(b"0\r\n\r\n") if len(got) else await reader.readexactly(5))
        writer.write(OK)

    async with serving(read, read) as (server, engine, url):
        assert await get(engine, url, "PUT", headers=[(b"Content-Length", b"5")], content=parts()) == (200, b"ok")
        assert await get(engine, url, "PUT", content=parts()) == (200, b"ok")
        for length in (b"4", b"6"):
            with pytest.raises(Exception, match=r"Too|length"):  # of h11, which httpcore2 does not translate
                await get(engine, url, "PUT", headers=[(b"Content-Length", length)], content=parts())
    assert got == [b"abcde", b"2\r\nab\r\n3\r\ncde\r\n0\r\n\r\n"]
    assert b"Transfer-Encoding: chunked" in server.asked[1]


async def test_content_that_was_read_meanwhile_is_sent_as_was_said() -> None:
    """A flow of credentials may read a stream, whose header says that it comes in chunks."""

    async def parts() -> AsyncIterator[bytes]:
        yield b"abc"

    async def read(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        assert await reader.readuntil(b"0\r\n\r\n") == b"3\r\nabc\r\n0\r\n\r\n"
        writer.write(OK)

    async with serving(read) as (_, _, url), httpx2.AsyncClient(transport=GuardedTransport(Anywhere())) as client:
        request = client.build_request("POST", url, content=parts())
        await request.aread()
        assert (await client.send(request)).text == "ok"


async def test_large_content_reaches_the_server_whole() -> None:
    async def read(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        assert await reader.readexactly(3_000_000) == b"x" * 3_000_000
        writer.write(OK)

    async with serving(read, OK) as (server, engine, url):
        assert await get(engine, url, "PUT", content=b"x" * 3_000_000) == (200, b"ok")
        assert await get(engine, url) == (200, b"ok")
    assert server.connections == 1


async def test_a_server_that_wants_no_more_is_heard() -> None:
    """An error that comes while the content is still being sent is the answer; the rest is not sent."""

    async def refuses(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno")
        await asyncio.Event().wait()

    async with serving(refuses) as (_, engine, url):
        assert await get(engine, url, "PUT", content=b"x" * 30_000_000) == (413, b"no")


async def test_a_server_may_answer_while_it_reads() -> None:
    """What it answers with success meanwhile is kept, and the content is sent to its end."""

    async def echoes(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
        for _ in range(10):
            writer.write(await reader.readexactly(100_000))

    async with serving(echoes) as (_, engine, url):
        assert await get(engine, url, "PUT", content=b"x" * 1_000_000) == (200, b"x" * 1_000_000)


# What is taken for an answer


@pytest.mark.parametrize(
    ("answer", "status", "content"),
    [
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;a=b\r\nab\r\n3 \r\ncde\r\n0\r\nT: r\r\n\r\n", 200, b"abcde"),
        (b"HTTP/1.1 200\r\nA: \r\nContent-Length:  2 \r\n\r\nok", 200, b"ok"),
        (b"HTTP/1.1 200 OK\nContent-Length: 2\n\nok", 200, b"ok"),
        (b"HTTP/1.1 200 OK\r\nA: b\r\n c\r\nContent-Length: 2\r\n\r\nok", 200, b"ok"),
        (b"HTTP/1.1 204 No\r\nContent-Length: 7\r\n\r\n", 204, b""),
        (b"HTTP/1.1 304 No\r\nContent-Length: 7\r\n\r\n", 304, b""),
        (b"HTTP/1.1 100 Go on\r\n\r\nHTTP/1.1 103 Hints\r\nLink: x\r\n\r\n" + OK, 200, b"ok"),
        (b"HTTP/1.1 200 OK\r\nUpgrade: h2\r\nConnection: upgrade\r\nContent-Length: 2\r\n\r\nok", 200, b"ok"),
        (b"HTTP/1.1 200 OK\r\nA: " + b"x" * 90_000 + b"\r\nContent-Length: 2\r\n\r\nok", 200, b"ok"),
    ],
)  # fmt: skip
async def test_an_answer_is_read_and_its_connection_kept(answer: bytes, status: int, content: bytes) -> None:
    async with serving(answer, OK) as (server, engine, url):
        assert await get(engine, url) == (status, content)
        assert await get(engine, url) == (200, b"ok")
    assert server.connections == 1


async def test_an_answer_to_head_has_no_content() -> None:
    """Whatever length it names."""
    for head in (
        b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
    ):
        async with serving(head, OK) as (server, engine, url):
            assert await get(engine, url, "HEAD") == (200, b"")
            assert await get(engine, url) == (200, b"ok")
        assert server.connections == 1


async def test_headers_of_an_answer_keep_their_case_and_order() -> None:
    """Trailers are not among them, nor the headers of what came before."""
    told = b"HTTP/1.1 103 x\r\nEarly: 1\r\n\r\nHTTP/1.1 200 Fine\r\nset-Cookie: a\r\nTransfer-Encoding: chunked\r\nset-Cookie: b\r\n\r\n"
    async with serving(told + b"0\r\nLate: 1\r\n\r\n") as (_, engine, url):
        answer = await engine.send("GET", url, [])
        await whole(answer)
    assert answer.reason == b"Fine"
    assert answer.headers == [(b"set-Cookie", b"a"), (b"Transfer-Encoding", b"chunked"), (b"set-Cookie", b"b")]


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.0 200 OK\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok",
    ],
)
async def test_a_connection_that_ends_with_its_answer(answer: bytes) -> None:
    """Without a length, the answer ends where the connection does."""

    async def last(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(answer)
        writer.close()

    async with serving(last, OK) as (server, engine, url):
        assert await get(engine, url) == (200, b"ok")
        assert await get(engine, url) == (200, b"ok")
    assert server.connections == 2


@pytest.mark.parametrize(
    "answer",
    [
        b"nonsense\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nA b: c\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nA : c\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nA: \0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\nContent-Length: 0x2\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999999\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nok\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nokay\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\nok",
        b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\nok",
        b"HTTP/1.1 199 Odd\r\n\r\n",
        b"HTTP/1.1 99 Odd\r\n\r\n",
        b"",
        b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n",
        b"HTTP/1.1 200 OK\r\nA: b",
    ],
)
async def test_what_is_no_answer_is_an_error(answer: bytes) -> None:
    """Broken, ambiguous or cut short: nothing of it is used, and neither is its connection."""

    async def last(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(answer)
        writer.close()

    async with serving(last, OK) as (server, engine, url):
        with pytest.raises(httpx2.RemoteProtocolError):
            await get(engine, url)
        assert await get(engine, url) == (200, b"ok")
    assert server.connections == 2


@pytest.mark.parametrize(
    ("start", "more"),
    [
        (b"HTTP/1.1 200 OK\r\nA: ", b"x"),
        (b"HTTP/1.1 200 OK\r\n", b"A: b\r\n"),
        (b"HTTP/1.1 ", b"2"),
        (b"HTTP/1.1 200 ", b"x"),
        (b"", b"HTTP/1.1 100 Go on\r\n\r\n"),
        (b"", b"\r\n"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;a=", b"x"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nA: ", b"x"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n", b"A: b\r\n"),
    ],
)
async def test_what_never_ends_is_not_collected(start: bytes, more: bytes) -> None:
    """A head, or what goes before or after it, is given up long before it costs memory."""
    sent = 0

    async def floods(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        writer.write(start)
        while True:
            writer.write(more * (10_000 // len(more)))
            sent += 10_000
            await writer.drain()

    async with serving(floods) as (server, engine, url):
        with pytest.raises(httpx2.RemoteProtocolError):
            await get(engine, url)
        await server.ended.wait()
    assert sent < 20_000_000, "what the system's buffers hold, and little more"


@pytest.mark.slow
async def test_an_answer_that_nobody_reads_stops_coming() -> None:
    """No more than a little of it is received; the rest comes when it is read."""
    done = asyncio.Event()

    async def floods(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 30000000\r\n\r\n")
        for _ in range(300):
            writer.write(b"x" * 100_000)
            await writer.drain()
        done.set()

    async with serving(floods) as (_, engine, url):
        answer = await engine.send("GET", url, [])
        for _ in range(200):
            await asyncio.sleep(0)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(done.wait(), 0.2)
        first = await answer.read()
        assert len(first) <= connections.MAX_UNREAD_BYTES + 2**18
        assert len(first) + len(await whole(answer)) == 30_000_000


# Whose answer it is


SURPLUS = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"


@pytest.mark.parametrize(
    ("method", "answer"),
    [
        ("GET", OK + SURPLUS),
        ("GET", OK + b"nonsense"),
        ("GET", OK + SURPLUS[:20]),
        ("HEAD", b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n" + SURPLUS),
        ("GET", b"HTTP/1.1 204 No\r\nContent-Length: 2\r\n\r\n" + SURPLUS),
        ("GET", b"HTTP/1.1 304 No\r\n\r\n" + SURPLUS),
        ("GET", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n" + SURPLUS),
        ("GET", b"HTTP/1.1 200 OK\r\nContent-Length: 20\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"),
    ],
)
async def test_an_answer_that_nobody_asked_for_is_nobodys(method: str, answer: bytes) -> None:
    """What follows a whole answer is never the answer to the next request: that gets a connection of its own."""
    async with serving(answer, OK) as (server, engine, url):
        await get(engine, url, method)
        assert await get(engine, url) == (200, b"ok")
    assert server.connections == 2


async def test_an_answer_that_comes_later_is_nobodys_either() -> None:
    """It ends the idle connection on which it came."""
    go, said = asyncio.Event(), asyncio.Event()

    async def twice(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(OK)
        await go.wait()
        writer.write(SURPLUS)
        said.set()

    async with serving(twice, OK) as (server, engine, url):
        assert await get(engine, url) == (200, b"ok")
        go.set()
        await said.wait()
        assert await get(engine, url) == (200, b"ok")
        await server.ended.wait()
    assert server.connections == 2


async def test_what_waits_unread_on_an_idle_connection_is_seen_before_it_is_used(monkeypatch: Any) -> None:
    """Though the event loop had no time to see it."""
    pairs = [socket.socketpair() for _ in range(2)]
    made: list[connections.Stream] = []

    async def connect(self: Any, host: str, port: int, *_: Any, **how: Any) -> Any:
        made.append(await stream_of(pairs[len(made)][0]))
        return made[-1]

    monkeypatch.setattr(connections.Network, "connect_tcp", connect)
    engine = HttpEngine(Anywhere())
    pairs[0][1].sendall(OK)
    assert await get(engine, "http://a/") == (200, b"ok")
    assert not made[0].get_extra_info("is_readable")
    pairs[0][1].sendall(SURPLUS)
    assert made[0].get_extra_info("is_readable")
    pairs[1][1].sendall(OK)
    assert await get(engine, "http://a/") == (200, b"ok")
    assert len(made) == 2
    await engine.aclose()
    for _, theirs in pairs:
        theirs.close()


async def test_a_server_that_speaks_first_is_not_answered() -> None:
    """What it says before it is asked cannot outlive the first request."""

    async def first(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(SURPLUS + SURPLUS)
        await reader.read()
        writer.close()

    listening = await asyncio.start_server(first, "127.0.0.1", 0)
    engine = HttpEngine(Anywhere())
    url = f"http://localhost:{listening.sockets[0].getsockname()[1]}"
    for _ in range(3):
        with contextlib.suppress(httpx2.TransportError):
            assert await get(engine, url) == (200, b"evil")
    await engine.aclose()
    listening.close()


# Connections


async def test_a_connection_that_ended_with_the_last_answer_carries_no_other_request(monkeypatch: Any) -> None:
    """A server may hang up after each answer without a word: a POST that follows at once is not lost with it."""
    theirs: list[socket.socket] = []

    async def connect(self: Any, host: str, port: int, *_: Any, **how: Any) -> Any:
        ours, other = socket.socketpair()
        theirs.append(other)
        other.sendall(OK)
        other.shutdown(socket.SHUT_WR)
        return await stream_of(ours)

    monkeypatch.setattr(connections.Network, "connect_tcp", connect)
    engine = HttpEngine(Anywhere())
    for _ in range(5):
        assert await get(engine, "http://a/", "POST", content=b"x") == (200, b"ok")
    assert len(theirs) == 5
    for each in theirs:
        each.close()


async def test_a_scheme_may_be_written_in_capitals() -> None:
    """As a server may write it that redirects."""
    async with serving(OK) as (_, engine, url):
        assert await get(engine, url.replace("http", "HTTP")) == (200, b"ok")


@pytest.mark.slow
async def test_a_cancelled_request_ends_its_connection() -> None:
    """Before its answer and within it; the next request has one of its own, and no place is lost."""

    async def halfway(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nno")
        await asyncio.Event().wait()

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    async with serving(silent, halfway, OK, OK) as (server, engine, url):
        for asked in (1, 2):
            waiting = asyncio.ensure_future(get(engine, url))
            while len(server.asked) < asked:
                await asyncio.sleep(0.01)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
        for _ in range(2):
            assert await get(engine, url) == (200, b"ok")
    assert server.connections == 3


async def test_an_answer_that_is_dropped_ends_its_connection() -> None:
    async def halfway(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nno")
        await reader.read()

    async with serving(halfway, OK) as (server, engine, url):
        answer = await engine.send("GET", url, [])
        assert await answer.read() == b"no"
        await answer.aclose()
        await server.ended.wait()
        assert await get(engine, url) == (200, b"ok")
    assert server.connections == 2


async def test_errors_have_the_meaning_that_they_have_in_httpx2() -> None:
    """Refused, too slow to answer, gone before the answer."""

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    async with serving(silent, ends, OK) as (_, engine, url):
        with pytest.raises(httpx2.ReadTimeout):
            await get(engine, url, timeouts={"read": 0.05})
        with pytest.raises(httpx2.RemoteProtocolError):
            await get(engine, url)
        with pytest.raises(httpx2.ConnectError):
            await get(engine, f"http://127.0.0.1:{reserve_port()}")
        with pytest.raises(httpx2.UnsupportedProtocol):
            await get(engine, "ftp://localhost/")
        with pytest.raises(httpx2.InvalidURL):
            await get(engine, "http://localhost:port/")
        assert await get(engine, url) == (200, b"ok")


async def test_a_server_that_has_hung_up_meanwhile_is_called_again() -> None:
    """An idle connection that the server has ended is not used: nothing fails, whatever the method."""

    gone = asyncio.Event()

    async def last(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(OK)
        await writer.drain()
        writer.close()
        await writer.wait_closed()
        gone.set()

    async with serving(last, OK) as (server, engine, url):
        assert await get(engine, url) == (200, b"ok")
        await gone.wait()
        for _ in range(5):
            await asyncio.sleep(0)
        assert await get(engine, url, "POST", content=b"x") == (200, b"ok")
    assert server.connections == 2


async def test_the_end_of_a_connection_counts_at_once() -> None:
    """Between what the server says last and what asyncio makes of it, nobody takes the connection."""
    ours, theirs = socket.socketpair()
    stream = await stream_of(ours)
    theirs.close()
    plain, seen = stream.connection_lost, list[bool]()
    stream.connection_lost = lambda error: (seen.append(stream.get_extra_info("is_readable")), plain(error))[1]  # type: ignore[method-assign]
    while not seen:
        await asyncio.sleep(0)
    assert seen == [True]


@pytest.mark.slow
async def test_connections_are_few() -> None:
    """No more than a hundred at once, and of those no more than twenty are kept."""

    async def slow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(0.05)
        writer.write(OK)

    async with serving(*[slow] * 150) as (server, engine, url):
        assert await asyncio.gather(*[get(engine, url) for _ in range(150)]) == [(200, b"ok")] * 150
        assert server.most <= pool.MAX_CONNECTIONS
        while server.open > pool.MAX_IDLE_CONNECTIONS:
            await asyncio.sleep(0.01)


@pytest.mark.slow
async def test_who_waits_for_a_connection_waits_no_longer_than_it_wants(monkeypatch: Any) -> None:
    monkeypatch.setattr(pool, "MAX_CONNECTIONS", 1)

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    async with serving(silent, OK) as (server, engine, url):
        first = asyncio.ensure_future(get(engine, url))
        while not server.asked:
            await asyncio.sleep(0.01)
        with pytest.raises(httpx2.PoolTimeout):
            await get(engine, url, timeouts={"pool": 0.05})
        first.cancel()
        assert await get(engine, url) == (200, b"ok")


async def test_idle_connections_are_not_kept_for_long(monkeypatch: Any) -> None:
    """And those of one origin make room for another's."""
    async with serving(OK, OK) as (server, engine, url):
        monkeypatch.setattr(pool, "MAX_IDLE_SECONDS", -1.0)
        await get(engine, url)
        await get(engine, url)
        assert server.connections == 2
    monkeypatch.undo()
    monkeypatch.setattr(pool, "MAX_CONNECTIONS", 1)
    async with serving(OK, OK) as (server, engine, url):
        await get(engine, url)
        await get(engine, url.replace("localhost", "other"))
        await server.ended.wait()


@pytest.mark.slow
async def test_a_closed_engine_leaves_nobody_waiting() -> None:
    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    async with serving(silent) as (server, engine, url):
        waiting = asyncio.ensure_future(get(engine, url))
        while not server.asked:
            await asyncio.sleep(0.01)
        await engine.aclose()
        with pytest.raises(httpx2.ReadError):
            await waiting


async def test_a_unix_socket(tmp_path: Path) -> None:
    server = Server(OK, OK)
    listening = await asyncio.start_unix_server(server, tmp_path / "s")
    engine = HttpEngine(Anywhere(), lambda url: str(tmp_path / ("s" if "one" in url else "none")))
    assert await get(engine, "http://one/x") == (200, b"ok")
    assert await get(engine, "http://one/x") == (200, b"ok")
    with pytest.raises(httpx2.ConnectError):
        await get(engine, "http://two/x")
    assert server.connections == 1
    await engine.aclose()
    listening.close()


async def test_the_transport_of_httpx2_sends_by_the_engine() -> None:
    """Streams both ways, errors, what it says of the answer."""

    async def parts() -> AsyncIterator[bytes]:
        yield b"abc"

    async def read(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        assert await reader.readuntil(b"0\r\n\r\n") == b"3\r\nabc\r\n0\r\n\r\n"
        writer.write(b"HTTP/1.1 201 Made\r\nContent-Length: 2\r\n\r\nok")

    async with serving(read, ends) as (_, _, url), httpx2.AsyncClient(transport=GuardedTransport(Anywhere())) as client:
        answer = await client.post(url, content=parts())
        assert (answer.status_code, answer.reason_phrase, answer.text) == (201, "Made", "ok")
        assert answer.http_version == "HTTP/1.1"
        with pytest.raises(httpx2.RemoteProtocolError):
            await client.get(url)


async def test_a_request_over_a_kept_connection_takes_few_turns() -> None:
    """Of the event loop: one to receive the answer, which wakes the task; no timer, no other task."""
    async with serving(*[OK] * 3) as (_, engine, url):
        await get(engine, url)
        loop = asyncio.get_running_loop()
        made: list[Any] = []
        plain = loop.call_later
        loop.call_later = lambda *args, **more: (made.append(args), plain(*args, **more))[1]  # type: ignore[method-assign]
        try:
            coroutine, turns = get(engine, url), 0
            while True:
                try:
                    waits = coroutine.send(None)
                except StopIteration as end:
                    found = end.value
                    break
                turns += 1
                while not waits.done():
                    await asyncio.sleep(0)
        finally:
            del loop.call_later  # type: ignore[method-assign]
    assert found == (200, b"ok")
    assert turns == 1
    assert made == []


# Where connections go, and what is watched


@pytest.mark.slow
async def test_what_comes_before_the_connection_is_secured_is_no_answer(monkeypatch: Any) -> None:
    """Somebody in between could put it there, without a certificate."""

    async def plain(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(SURPLUS)
        await reader.read()
        writer.close()

    listening = await asyncio.start_server(plain, "127.0.0.1", 0)
    engine = HttpEngine(Anywhere(), http2=True)
    with pytest.raises(httpx2.ConnectError):
        await get(engine, f"https://localhost:{listening.sockets[0].getsockname()[1]}")

    async def upgraded(transport: Any, protocol: connections.Stream, *_: Any, **how: Any) -> Any:
        return transport  # as if the rest had been secured

    ours, theirs = socket.socketpair()
    stream = await stream_of(ours)
    theirs.sendall(SURPLUS)
    await asyncio.sleep(0.01)
    monkeypatch.setattr(asyncio.get_running_loop(), "start_tls", upgraded)
    with pytest.raises(Exception, match="before the connection was secured"):
        await stream.start_tls(Any)
    theirs.close()
    await engine.aclose()
    listening.close()


async def test_a_connection_goes_to_the_address_that_was_checked() -> None:
    """Each is asked for again, and nothing else resolves names; what may not be reached is not."""

    class Rebinding(Anywhere):
        asked = 0

        async def addresses(self, host: str, port: int) -> list[str]:
            self.asked += 1
            if self.asked > 1:
                raise ServerError("this may not be reached")
            return ["127.0.0.1"]

    async def last(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(OK)
        writer.close()

    async with serving(last, OK) as (server, _, url):
        engine = HttpEngine(Rebinding())
        url = url.replace("localhost", "name.invalid")
        assert await get(engine, url) == (200, b"ok")
        with pytest.raises(ServerError, match="may not be reached"):
            await get(engine, url)
        await engine.aclose()
    assert server.connections == 1


async def test_named_hosts_are_all_that_may_be_reached() -> None:
    """Whatever their addresses are; their ports count, too."""
    async with serving(OK) as (_, _, url):
        engine = HttpEngine(NamedHosts([url], "texts"))
        assert await get(engine, url) == (200, b"ok")
        for other in (url.replace("localhost", "127.0.0.1"), "http://localhost:1/"):
            with pytest.raises(ServerError, match="is not where the configuration sends texts"):
                await get(engine, other)
        await engine.aclose()


async def test_a_library_that_hides_what_it_has_received_carries_one_exchange_a_connection(monkeypatch: Any) -> None:
    """Whether more has come than an answer is asked where httpcore2 has no public name for it: without an answer to
    that, no connection is used again."""
    async with serving(OK, OK, OK, OK) as (server, engine, url):
        for _ in range(2):
            await get(engine, url)
        assert server.connections == 1
        monkeypatch.setattr(httpcore2.AsyncHTTP11Connection, "_h11_state", None, raising=False)
        stream = next(iter(engine._pools.values()))._open[0]
        monkeypatch.delattr(stream._connection, "_h11_state")
        await get(engine, url)
    assert server.connections == 2


async def test_a_request_is_followed(monkeypatch: Any) -> None:
    """It carries the context that it has not of its own, and its end is told, whatever that is."""
    told: list[Any] = []

    class Followed:
        headers: ClassVar[dict[str, str]] = {"traceparent": "00-1-2-01", "tracestate": "a=b"}

        def request(self, method: str, url: str) -> Followed:
            told.append(method)
            return self

        def end(self, status: int | None, error: str) -> None:
            told.append((status, error))

    monkeypatch.setattr(engine_module, "current_trace", Followed)
    async with serving(OK, ends) as (server, engine, url):
        await get(engine, url, headers=[(b"TraceState", b"own")])
        with pytest.raises(httpx2.RemoteProtocolError):
            await get(engine, url, "POST")
    assert told == ["GET", (200, ""), "POST", (None, "RemoteProtocolError")]
    assert b"\r\ntraceparent: 00-1-2-01\r\n" in server.asked[0]
    assert b"a=b" not in server.asked[0]
