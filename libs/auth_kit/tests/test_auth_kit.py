"""What auths that fetch credentials share: renewal, patience with providers, where credentials go, and the vault."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import re
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import ModuleType
from typing import Any

import anyio
import httpx2
import pytest
from doorward import ConfigError, LoginRefused, PluginContext, ServerError
from doorward.configuration import Secrets, validate
from doorward.engines import MemoryStore
from doorward_auth_kit import (
    Backoff,
    CredentialHome,
    FetchedAuth,
    Renewal,
    SharedVault,
    UnreadableEntry,
    Vault,
    due,
    entry,
    exchange,
    fetched_auth,
    plain_client,
    renewal,
    vault,
)
from doorward_auth_kit.exchange import MAX_ANSWER_BYTES
from doorward_testing import reserve_port

pytestmark = pytest.mark.anyio


@dataclass(frozen=True)
class Token:
    text: str
    got: float
    ends: float


class Provider:
    """Gives numbered tokens that live for `life` seconds, each after `delay`."""

    def __init__(self, life: float = 3600, delay: float = 0.02) -> None:
        self.life, self.delay, self.given = life, delay, 0
        self.ready = asyncio.Event()
        self.ready.set()
        self.error: Exception | None = None
        self.refused: list[Token | None] = []

    async def fetch(self, refused: Token | None) -> Token:
        self.refused.append(refused)
        await anyio.sleep(self.delay)
        await self.ready.wait()
        if self.error is not None:
            raise self.error
        self.given += 1
        return Token(f"token {self.given}", time.time(), time.time() + self.life)


@pytest.mark.slow
async def test_single_flight() -> None:
    """A hundred who wait are one request: for the first token, when it ends, and when the server refuses it. CONTRACT:
    AUT-10."""
    provider = Provider()
    renew = Renewal(provider.fetch)
    first = await asyncio.gather(*(renew.get() for _ in range(100)))
    assert {token.text for token in first} == {"token 1"}
    second = await asyncio.gather(*(renew.get(first[0]) for _ in range(100)))
    assert {token.text for token in second} == {"token 2"}
    assert (
        await renew.get(first[0])
    ).text == "token 2"  # who learns late that the old one is refused asks for no other
    renew.held = Token("ended", time.time() - 60, time.time() - 1)
    third = await asyncio.gather(*(renew.get() for _ in range(100)))
    assert {token.text for token in third} == {"token 3"}


@pytest.mark.parametrize(("life", "left"), [(3600, 30), (61, 30), (60, 30), (20, 10), (1, 0.5)])
def test_margin(life: float, left: float) -> None:
    """Renewal is due 30 seconds before the end, at half of a life that is shorter, and never where nobody said when.
    CONTRACT: AUT-10."""
    assert due(Token("", 1000, 1000 + life)) == 1000 + life - left
    assert due(Token("", 1000, float("inf"))) == float("inf")


@pytest.mark.slow
async def test_nobody_waits_for_a_successor(until: Any) -> None:
    """Within the margin the token is used on, also if it cannot be renewed; then the successor."""
    provider = Provider()
    renew = Renewal(provider.fetch)
    old = renew.held = Token("old", time.time() - 3600, time.time() + 25)
    provider.error = ServerError("not now")
    assert await renew.get() is old
    await until(lambda: renew._running is not None and renew._running.done())
    provider.error = None
    assert await renew.get() is old
    await until(lambda: renew.held is not old)
    assert (await renew.get()).text == "token 1"
    gc.collect()  # a failure that nobody waited for is no "exception was never retrieved"


async def test_a_waiter_that_is_gone() -> None:
    """Who asked first is cancelled; the others get what was asked for, and nothing is asked twice."""
    provider = Provider(delay=0)
    provider.ready.clear()
    renew = Renewal(provider.fetch)
    first = asyncio.ensure_future(renew.get())
    await anyio.wait_all_tasks_blocked()
    others = [asyncio.ensure_future(renew.get()) for _ in range(10)]
    await anyio.wait_all_tasks_blocked()
    first.cancel()
    provider.ready.set()
    assert {token.text for token in await asyncio.gather(*others)} == {"token 1"}
    assert first.cancelled()
    assert provider.given == 1


async def test_a_renewal_that_did_not_know() -> None:
    """One that began before the server refused what it comes to is not the answer to that refusal."""
    stale = Token("stale", time.time(), time.time() + 100)

    go = asyncio.Event()

    async def fetch(refused: Token | None) -> Token:
        await go.wait()
        return stale if refused is None else Token("fresh", time.time(), time.time() + 100)

    renew = Renewal(fetch)
    first = asyncio.ensure_future(renew.get())
    await anyio.wait_all_tasks_blocked()
    other = asyncio.ensure_future(renew.get(stale))
    await anyio.wait_all_tasks_blocked()
    go.set()
    assert (await other).text == "fresh"
    assert await first is stale


@pytest.mark.slow
async def test_a_provider_that_gives_the_same_again() -> None:
    """A hundred who were refused ask once, though it is of no use."""
    same = Token("always", 0.0, float("inf"))
    asked = 0

    async def fetch(refused: Token | None) -> Token:
        nonlocal asked
        asked += 1
        await anyio.sleep(0.01)
        return same

    renew = Renewal(fetch)
    await renew.get()
    assert await asyncio.gather(*(renew.get(same) for _ in range(100))) == [same] * 100
    assert asked == 2


async def test_each_has_an_error_of_their_own() -> None:
    """An error that two calls raise would gather the traces of both. Its kind and its hint remain."""
    provider = Provider()
    provider.error = LoginRefused("no", hint="ask")
    renew = Renewal(provider.fetch)
    errors = await asyncio.gather(*(renew.get() for _ in range(10)), return_exceptions=True)
    assert len({id(error) for error in errors}) == 10
    assert {(type(error), str(error), error.hint) for error in errors if isinstance(error, ServerError)} == {
        (LoginRefused, "no", "ask")
    }


@pytest.mark.parametrize(("error", "least", "most"), [(ServerError, 1.0, 10.0), (LoginRefused, 30.0, 900.0)])
async def test_backoff(monkeypatch: pytest.MonkeyPatch, error: type[ServerError], least: float, most: float) -> None:
    """Pauses double up to a bound; other secrets, and a success, begin anew."""
    now, asked = 0.0, 0
    monkeypatch.setattr(renewal.time, "monotonic", lambda: now)
    backoff, fails = Backoff("mine"), True

    async def work() -> Token:
        nonlocal asked
        asked += 1
        if fails:
            raise error("the provider says no")
        return Token("fine", 0, 1)

    for number in range(14):
        start, pause = now, min(most, least * 2**number)
        for now in (start, start + pause / 2, start + pause * 0.99):  # noqa: B007 - it is the clock
            with pytest.raises(error, match="the provider says no"):
                await backoff.ask("one", work)
        assert asked == number + 1
        now = start + pause
    with pytest.raises(error):
        await backoff.ask("two", work)
    assert asked == 15
    now += least
    fails = False
    assert (await backoff.ask("two", work)).text == "fine"
    fails = True
    with pytest.raises(error):
        await backoff.ask("two", work)
    now += least
    with pytest.raises(error):
        await backoff.ask("two", work)
    assert asked == 18


class Server:
    """A server that takes one token, and says what it is asked."""

    def __init__(self) -> None:
        self.takes, self.asked, self.refusal, self.headers = "token 1", list[str](), b"no", dict[str, str]()
        this = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                sent = self.headers.get("Authorization", "")
                this.asked.append(sent)
                fine = sent == this.takes
                body = b"fine" if fine else this.refusal
                self.send_response(200 if fine else 302 if this.headers else 401)
                for name, value in {**this.headers, "Content-Length": str(len(body))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            do_POST = do_GET

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/"
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture(scope="module")
def running() -> Iterator[Server]:
    server = Server()
    yield server
    server.close()


@pytest.fixture
def server(running: Server) -> Server:
    running.takes, running.asked, running.refusal, running.headers = "token 1", [], b"no", {}
    return running


def client(server: Server, provider: Provider) -> httpx2.AsyncClient:
    def put(request: httpx2.Request, token: Token) -> None:
        request.headers["Authorization"] = token.text

    auth = FetchedAuth("mine", CredentialHome("mine", server.url), Renewal(provider.fetch), put, advice="Ask somebody.")
    return httpx2.AsyncClient(auth=auth, base_url=server.url, timeout=100)


@pytest.mark.slow
async def test_401(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """A refusal means one other credential and one other try; a second refusal is an error, with what to do."""
    async with client(server, Provider()) as http:
        assert (await http.post("/", content=b"body")).text == "fine"
        server.takes = "token 2"
        assert (await http.post("/", content=b"body")).text == "fine"
        assert server.asked == ["token 1", "token 1", "token 2"]
        server.takes = "none"
        with pytest.raises(ServerError, match="mine refuses the credentials that it was given") as caught:
            await http.get("/")
        assert caught.value.hint == "Ask somebody."
        assert server.asked[3:] == ["token 2", "token 3"]
        with pytest.raises(ServerError, match="refuses the credentials"):  # not a login with each call
            await http.get("/")
        assert server.asked[5:] == ["token 3"]
        monkeypatch.setattr(fetched_auth.time, "monotonic", lambda: time.perf_counter() + 1e9)
        server.refusal = b"x" * (MAX_ANSWER_BYTES + 1)
        with pytest.raises(ServerError, match="with more than 256 KiB of text"):
            await http.get("/")


@pytest.mark.slow
async def test_a_server_that_refuses_each_after_its_first_use(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """It does not have us ask the provider with every call; after a while it is tried again."""
    provider = Provider(delay=0)
    async with client(server, provider) as http:
        fine = 0
        for number in range(1, 30):
            server.takes = f"token {number}"
            with contextlib.suppress(ServerError):
                fine += (await http.get("/")).text == "fine"
        assert (fine, provider.given) == (
            fetched_auth.MAX_REFUSED_CREDENTIALS + 1,
            fetched_auth.MAX_REFUSED_CREDENTIALS + 1,
        )
        monkeypatch.setattr(fetched_auth.time, "monotonic", lambda: time.perf_counter() + 1e9)
        server.takes = f"token {provider.given + 1}"
        assert (await http.get("/")).text == "fine"


@pytest.mark.slow
async def test_other_origins(server: Server) -> None:
    """Credentials go to their home and nowhere else, whoever asks. CONTRACT: AUT-12."""
    provider = Provider()
    async with client(server, provider) as http:
        for url in (
            server.url.replace("127.0.0.1", "localhost"),
            server.url.replace("http:", "https:"),
            "http://127.0.0.1:1/secret?a=b",
        ):
            with pytest.raises(
                ServerError, match=r"are for http://127.0.0.1:\d+/ and were not sent to \w+://"
            ) as caught:
                await http.get(url)
            assert "secret" not in str(caught.value)
        server.takes, server.headers = "none", {"Location": server.url.replace("127.0.0.1", "localhost")}
        server.asked.clear()
        with pytest.raises(httpx2.TooManyRedirects):
            await http.get("/", follow_redirects=True)
    assert server.asked[0] == "token 1"
    assert set(server.asked[1:]) == {""}
    assert provider.given == 1


@pytest.mark.parametrize(
    "url", ["http://api.example.com/v1", "ftp://api.example.com", "http://10.0.0.1", "http://localhost.example.com"]
)
def test_home_is_private(url: str) -> None:
    """https, or loopback."""
    with pytest.raises(ConfigError, match="go over https only"):
        CredentialHome("mine", url)
    for fine in ("https://api.example.com", "http://localhost:1", "http://127.0.0.9", "http://[::1]:8/x"):
        CredentialHome("mine", fine)
    for nothing in ("", "api.example.com", "https://"):
        with pytest.raises(ConfigError, match="not known"):
            CredentialHome("mine", nothing)
    both = CredentialHome("mine", "https://api.example.com/v1", ["https://uploads.example.com"])
    both.check(httpx2.Request("GET", "https://uploads.example.com/x"))
    with pytest.raises(ServerError, match=r"were not sent to https://example\.com/"):
        both.check(httpx2.Request("GET", "https://example.com/x"))
    with pytest.raises(ConfigError, match="go over https only"):
        CredentialHome("mine", "https://api.example.com/v1", [url])
    with pytest.raises(ConfigError, match=r"its URL is http://api\.example\.com/x$"):
        CredentialHome("mine", "http://me:password@api.example.com/x?token=y")


@pytest.mark.slow
async def test_exchange(server: Server) -> None:
    """One answer, bounded, and no redirect is followed; what cannot be reached is named without what is secret in its
    URL."""
    async with httpx2.AsyncClient(timeout=60) as http:
        server.headers = {"Location": "/elsewhere"}
        answer = await exchange(http, httpx2.Request("POST", server.url))
        assert (answer.status_code, str(answer.next_request.url if answer.next_request else "")) == (
            302,
            f"{server.url}elsewhere",
        )
        assert len(server.asked) == 1
        server.headers, server.refusal = {}, b"x" * 10_000_000
        with pytest.raises(ServerError, match="answered with more than 256 KiB"):
            await exchange(http, httpx2.Request("GET", server.url))
        nobody = f"127.0.0.1:{reserve_port()}"
        with pytest.raises(ServerError, match=rf"http://{nobody}/ cannot be reached: ") as caught:
            await exchange(http, httpx2.Request("GET", f"http://me:pw@{nobody}/?token=secret"))
        assert "pw" not in str(caught.value)
        assert "Error" not in str(caught.value)


async def test_a_plain_client_has_no_proxy_for_this_machine(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """Passwords, and the keys of an issuer, go there by plain http. A proxy that is none is told without its password."""
    monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{reserve_port()}")
    monkeypatch.setenv("NO_PROXY", "")
    async with plain_client(server.url) as client:
        assert (await exchange(client, httpx2.Request("GET", server.url))).status_code
        with pytest.raises(ServerError, match="cannot be reached"):
            await exchange(client, httpx2.Request("GET", "http://api.example/"))
    for bad, said in (("ftp://joe:s3cret@x", "is no URL"), ("socks5://joe:s3cret@x", "socksio")):
        monkeypatch.setenv("HTTP_PROXY", bad)
        with pytest.raises(ConfigError, match=said) as caught:
            plain_client()
        assert "s3cret" not in str(caught.value)


def keyed(folder: Path, key: str = "a key of any length") -> Vault:
    return Vault(folder, lambda: key)


def test_vault(tmp_path: Path) -> None:
    """What is saved is there, until it is forgotten; only its owner can read it; nothing half-written ever lies
    there."""
    kept = Vault(tmp_path / "v")
    assert kept.load("one") is None
    assert not kept.forget("one")
    file = kept.save("one", "first")
    assert kept.save("one", '{"json": "too"}') == file
    assert kept.load("one") == '{"json": "too"}'
    assert kept.load("two") is None
    if sys.platform != "win32":
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert [path.name for path in file.parent.iterdir()] == ["one.json"]
    assert not kept.encrypted
    assert kept.forget("one")
    assert kept.load("one") is None


@pytest.mark.slow
def test_the_vault_of_a_configuration(tmp_path: Path) -> None:
    """It lies in the state folder, and is encrypted where there is a key."""
    open_to_the_user = PluginContext("mine", None, tmp_path)
    assert not Vault.of(open_to_the_user).encrypted
    assert Vault.of(open_to_the_user).save("one", "text").parent == tmp_path / "credentials"
    sealed = Vault.of(PluginContext("mine", None, tmp_path, vault_key=lambda: "a key"))
    assert sealed.encrypted
    assert "secret text" not in sealed.save("two", "secret text").read_text()
    assert sealed.load("two") == "secret text"


def test_vault_is_atomic(tmp_path: Path) -> None:
    """Who reads while others write sees one whole text or another."""
    kept = Vault(tmp_path)
    texts = [letter * 200_000 for letter in "abcd"]
    kept.save("one", texts[0])
    threads = [threading.Thread(target=lambda text=text: [kept.save("one", text) for _ in range(15)]) for text in texts]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        assert kept.load("one") in texts
    for thread in threads:
        thread.join()
    assert kept.load("one") in texts


@pytest.mark.slow
def test_vault_is_encrypted(tmp_path: Path) -> None:
    """With a key nothing can be read without it, nor at the place of another entry; what was plain before can still be
    read."""
    kept = keyed(tmp_path)
    assert kept.encrypted
    file = kept.save("alice", "the secret")
    again = file.read_text()
    assert "the secret" not in again
    kept.save("alice", "the secret")
    assert file.read_text() != again
    assert kept.load("alice") == "the secret"
    file.with_name("bob.json").write_text(file.read_text())
    for other, name in ((keyed(tmp_path, "another key"), "alice"), (Vault(tmp_path), "alice"), (kept, "bob")):
        with pytest.raises(UnreadableEntry, match=rf"{name}\.json: cannot be read: .* another `vault_key`") as caught:
            other.load(name)
        assert "Set vault_key" in str(caught.value.hint)
    told = json.loads(again)
    for broken in (
        {**told, "box": told["box"][:-4]},
        {**told, "box": ""},
        {**told, "salt": "00"},
        {**told, "box": "é"},
    ):
        file.write_text(json.dumps(broken))
        with pytest.raises(UnreadableEntry):
            kept.load("alice")
    file.write_text(again[: len(again) // 2])
    with pytest.raises(UnreadableEntry):
        kept.load("alice")
    Vault(tmp_path).save("alice", "plain")
    assert kept.load("alice") == "plain"


@pytest.mark.slow
@pytest.mark.anyio
async def test_a_key_is_changed(tmp_path: Path) -> None:
    """What only the key before opens is read, and is encrypted with the new one then: unless somebody uses it just now,
    who may have written it since. The same in a store."""
    keyed(tmp_path, "the old").save("alice", "the secret")
    both = Vault(tmp_path, lambda: "the new", lambda: "the old")
    async with both.lock("alice"):
        assert both.load("alice") == await anyio.to_thread.run_sync(both.load, "alice") == "the secret"
    with pytest.raises(UnreadableEntry):
        keyed(tmp_path, "the new").load("alice")
    assert both.load("alice") == "the secret"
    assert keyed(tmp_path, "the new").load("alice") == "the secret"
    with pytest.raises(UnreadableEntry):
        Vault(tmp_path, lambda: "a third", lambda: "the old").load("alice")

    store = MemoryStore(None)
    old, new, shared = (
        SharedVault(store, lambda key=key: key, "alice", before)
        for key, before in (("the old", None), ("the new", None), ("the new", lambda: "the old"))
    )
    await old.save("the secret")
    with pytest.raises(UnreadableEntry):
        await new.load()
    async with shared.lock():
        assert await shared.load() == "the secret"
    assert await new.load() == "the secret"
    with pytest.raises(UnreadableEntry):
        await old.load()


def test_vault_that_cannot_be_used(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for work in (lambda: Vault(tmp_path / "file").save("one", "x"), lambda: Vault(tmp_path / "file" / "v").load("one")):
        with pytest.raises(ConfigError, match="cannot be used"):
            work()
    (tmp_path / "bytes.json").write_bytes(b"\xff\xfe")
    with pytest.raises(UnreadableEntry):
        Vault(tmp_path).load("bytes")


@pytest.mark.skipif(sys.platform == "win32", reason="links of POSIX")
async def test_a_vault_follows_no_link(tmp_path: Path) -> None:
    """What is put in the place of an entry, its mark or its lock leads to no other file; nor does one in the place of
    the folder."""
    victim = tmp_path / "victim"
    victim.write_text("mine")
    before = victim.stat().st_mtime_ns
    folder = tmp_path / "v"
    folder.mkdir(mode=0o700)
    for end in ("json", "changed", "lock"):
        (folder / f"one.{end}").symlink_to(victim)
    kept = Vault(folder)
    with pytest.raises(ConfigError, match="is a link"):
        kept.load("one")
    with pytest.raises(ConfigError, match="is a link"):
        kept.mark("one")
    with pytest.raises(ConfigError, match="is a link"):
        async with kept.lock("one"):
            pass
    kept.save("one", "new")
    assert kept.load("one") == "new"
    assert (victim.read_text(), victim.stat().st_mtime_ns) == ("mine", before)
    folder.chmod(0o770)
    with pytest.raises(ConfigError, match="other users may write"):
        kept.save("one", "newer")
    folder.chmod(0o700)
    folder.rename(tmp_path / "elsewhere")
    folder.symlink_to("elsewhere")
    works: list[Callable[[], object]] = [
        lambda: kept.load("one"), lambda: kept.save("one", "newer"), lambda: kept.forget("one"),
        lambda: kept.mark("one"),
    ]  # fmt: skip
    for work in works:
        with pytest.raises(ConfigError, match="is a link"):
            work()
    assert (tmp_path / "elsewhere/one.json").read_text() == "new"


OTHER = """
import asyncio, sys
from pathlib import Path
from doorward_auth_kit import Vault

async def main():
    vault = Vault(Path(sys.argv[1]))
    print("ready", flush=True)
    sys.stdin.readline()
    for _ in range(25):
        async with vault.lock("count"):
            vault.save("count", str(int(vault.load("count")) + 1))

asyncio.run(main())
"""


@pytest.mark.slow
async def test_lock_between_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is alone with an entry; nobody waits for ever; other entries are not locked."""
    kept = Vault(tmp_path)
    kept.save("count", "0")
    others = [
        subprocess.Popen(
            [sys.executable, "-c", OTHER, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    for other in others:
        assert other.stdout is not None
        assert other.stdout.readline() == "ready\n"
    for other in others:
        assert other.stdin is not None
        other.stdin.write("\n")
        other.stdin.flush()
    for other in others:
        other.communicate(timeout=60)
    assert kept.load("count") == "50"
    monkeypatch.setattr(vault, "LOCK_SECONDS", 0.1)
    async with kept.lock("count"), kept.lock("other"):
        with pytest.raises(ServerError, match="another process"):
            async with Vault(tmp_path).lock("count"):
                pass
    async with kept.lock("count"):
        pass


def test_entries(tmp_path: Path) -> None:
    """The name of an entry is that of one principal, server, URL and provider; it shows nothing of the principal."""

    def named(principal: str = "alice", url: str = "https://a", state: str = "x", *about: str) -> str:
        return entry(PluginContext("mine", None, tmp_path / state, url, principal=principal), *about)

    names = {named(), named("bob"), named("ali", "ce"), named("local"), named(url="https://b"), named(state="y")}
    names |= {
        named("alice", "https://a", "x", "p", "q"),
        named("alice", "https://a", "x", "pq"),
        named("alice\nhttps://a"),
    }
    assert len(names) == 9
    assert named() == named()
    assert all(name.startswith("mine-") and name.replace("-", "").isalnum() and "alice" not in name for name in names)


@pytest.mark.slow
async def test_the_auth_of_the_readme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It fetches one badge for all requests, and keeps it where what is kept is encrypted."""
    asked: list[tuple[str, str | None]] = []

    class Desk(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.answer("badge-1234")

        def do_GET(self) -> None:
            self.answer("here")

        def answer(self, text: str) -> None:
            asked.append((self.path, self.headers["X-Badge"]))
            self.send_response(200)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_: Any) -> None:
            pass

    text = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
    module = ModuleType("badges")
    monkeypatch.setitem(sys.modules, "badges", module)
    names = vars(module)
    exec(
        compile(
            re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)[0],
            "README.md",
            "exec",
            dont_inherit=True,
        ),
        names,
    )
    with ThreadingHTTPServer(("127.0.0.1", 0), Desk) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}"
        secrets = Secrets(environ={"PIN": "a-long-pin"})
        settings = validate(
            names["BadgeSettings"], {"desk": f"{url}/desk", "pin": "${PIN}"}, secrets=secrets, place="test"
        )
        told: list[str] = []
        context = PluginContext("notes", settings, tmp_path, url, redact=told.append, vault_key=lambda: "a key")
        badges = names["Badges"](context)
        async with httpx2.AsyncClient(auth=badges.create_auth()) as client:
            assert [(await client.get(f"{url}/notes")).text for _ in range(2)] == ["here", "here"]
            with pytest.raises(ServerError, match="were not sent to"):
                await client.get("https://other.example/notes")
        server.shutdown()
    assert asked == [("/desk", None), ("/notes", "badge-1234"), ("/notes", "badge-1234")]
    assert told[0] == "badge-1234"
    assert badges.vault.load(badges.entry) == "badge-1234"
    assert "badge-1234" not in "".join(file.read_text() for file in (tmp_path / "credentials").glob("*.json"))
