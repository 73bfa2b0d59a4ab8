"""Servers and providers that want tokens, codes or secrets that are not theirs, or to do harm otherwise."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast

import anyio
import httpx2
import pytest
from doorward import ConfigError, ServerError
from doorward_auth_kit import due
from doorward_auth_oauth2.login_store import Login
from doorward_auth_oauth2.redirect import Redirect
from doorward_auth_oauth2.wire import Destinations, Wire
from hypothesis import example, given
from hypothesis import strategies as st

from .conftest import Doorward, LoginPrompt
from .provider import Provider

pytestmark = pytest.mark.anyio


class Liar:
    """A server whose answers a test makes up: path → (status, headers, body). It keeps what it is sent."""

    def __init__(self) -> None:
        self.answers: dict[str, tuple[int, dict[str, str], bytes]] = {}
        self.got: list[tuple[str, str, bytes]] = []
        liar = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                liar.got.append((self.command, self.path, self.rfile.read(length)))
                status, headers, body = liar.answers.get(self.path.partition("?")[0], (404, {}, b""))
                self.send_response(status)
                for name, value in {"Content-Length": str(len(body)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            do_POST = do_GET

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    def says(self, path: str, told: Any, status: int = 200, **headers: str) -> None:
        self.answers[path] = (status, headers, told if isinstance(told, bytes) else json.dumps(told).encode())

    def issues(self, **other: Any) -> None:
        """It is a provider, and the API's at that."""
        self.says(
            "/.well-known/oauth-protected-resource/api",
            {"resource": f"{self.url}/api", "authorization_servers": [self.url]},
        )
        told = {
            "issuer": self.url,
            "authorization_endpoint": f"{self.url}/authorize",
            "token_endpoint": f"{self.url}/token",
        }
        more = {"registration_endpoint": f"{self.url}/register", "code_challenge_methods_supported": ["S256"]}
        self.says("/.well-known/oauth-authorization-server", told | more | other)
        self.says("/register", {"client_id": "c", "redirect_uris": []}, 201)

    def posted(self) -> list[str]:
        return [path for method, path, _ in self.got if method == "POST"]

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def liar() -> Iterator[Liar]:
    liar = Liar()
    yield liar
    liar.close()


@pytest.fixture
def victim(tmp_path: Any, liar: Liar) -> Doorward:
    """Who has configured the liar as a server."""
    return Doorward(tmp_path, f"{liar.url}/api")


class Code(LoginPrompt):
    """A person who does log in: the provider sends them back with a code, and what else `change` makes of it."""

    async def open(self, page: str) -> None:
        self.pages.append(page)
        query = httpx2.URL(page).params
        self._ends = f"{query['redirect_uri']}?code=the-code-of-this-login&state={query['state']}"
        await self.visit(self.change(self._ends))


async def test_a_code_for_somebody_else(victim: Doorward, liar: Liar, provider: Provider) -> None:
    """A mix-up: the login page of an honest provider, and a token endpoint that is not its. Nobody is sent to that
    page."""
    liar.issues(authorization_endpoint=f"{provider.issuer}/authorize")
    person = Code()
    with pytest.raises(
        ServerError, match=r"wants logins at .*, which is neither its own nor that of its token endpoint"
    ):
        await victim.auth().login(person)
    assert person.pages == []
    assert liar.posted() == []


@pytest.mark.parametrize("where", ["resource", "issuer", "pkce", "absent pkce"])
async def test_metadata_that_does_not_fit(victim: Doorward, liar: Liar, where: str) -> None:
    """Metadata of another resource or issuer, or of a provider without PKCE, ends the login before anything is sent."""
    liar.issues(
        **{
            "issuer": {"issuer": "https://login.example.com"},
            "pkce": {"code_challenge_methods_supported": ["plain"]},
        }.get(where, {})
    )
    if where == "resource":
        other = {"resource": "https://bank.example.com/api", "authorization_servers": [liar.url]}
        liar.says("/.well-known/oauth-protected-resource/api", other)
    if where == "absent pkce":
        liar.issues(code_challenge_methods_supported=None)
    person = Code()
    with pytest.raises(ServerError, match=r"is about|is the metadata of|does not offer PKCE"):
        await victim.auth().login(person)
    assert (person.pages, liar.posted()) == ([], [])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("endpoint", "url"),
    [
        ("token_endpoint", "http://login.example.com/token"),
        ("authorization_endpoint", "http://login.example.com/authorize"),
        ("registration_endpoint", "http://169.254.169.254/latest"),
        ("token_endpoint", "https://user:pw@login.example.com/token"),
    ],
)
async def test_places_that_are_not_asked(victim: Doorward, liar: Liar, endpoint: str, url: str) -> None:
    """Plain HTTP, other than on loopback, and URLs with a password in them."""
    both = {"authorization_endpoint": url, "token_endpoint": url} if "auth" in endpoint else {}
    liar.issues(**{endpoint: url, "issuer": liar.url, **both})
    with pytest.raises(ServerError, match=r"was not asked|neither its own") as caught:
        await victim.auth().login(Code())
    assert "pw" not in str(caught.value)


async def test_loopback_is_for_those_who_are_there() -> None:
    """A server of the internet names nobody on this machine."""
    async with Wire(str, ["https://api.example.com"]) as wire:
        for url in ("http://127.0.0.1:1/x", "https://localhost/x", "http://[::1]/x", "http://127.9.9.9/"):
            with pytest.raises(ServerError, match="was not asked"):
                await wire.send(httpx2.Request("GET", url))


NEAR = [
    *(
        "127.1",
        "0",
        "2130706433",
        "0x7f.1",
        "0177.0.0.1",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[::]",
        "[64:ff9b::127.0.0.1]",
    ),
    *(
        "localhost.",
        "127.0.0.1.",
        "10.0.0.5",
        "169.254.169.254",
        "192.168.1",
        "[fd00::1]",
        "100.64.0.1",
        socket.gethostname(),
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize("host", NEAR)
async def test_addresses_are_judged_and_not_names(host: str) -> None:
    """However an address of this machine or its network is written, a server of the internet sends nobody there: no
    request, no browser."""
    async with Wire(str, ["https://api.example.com"]) as wire:
        with pytest.raises(ServerError, match=r"was not asked|is no URL|the name cannot be resolved"):
            await wire.get(f"https://{host}:1/x")
        with pytest.raises(ServerError, match="was not asked"):
            await wire.check_page("https://127.1:1/authorize")


async def test_what_was_judged_is_what_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that is public once, and this machine from then on, is asked for once: nothing is connected to what was
    not judged."""
    addresses, made = ["93.184.215.14", "127.0.0.1"], list[str]()

    async def getaddrinfo(host: str, port: int, **_: Any) -> list[Any]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (addresses.pop(0), port))]

    async def sock_connect(_: socket.socket, address: tuple[str, int]) -> None:
        made.append(address[0])
        raise ConnectionRefusedError("nobody is there")

    monkeypatch.setattr(anyio, "getaddrinfo", getaddrinfo)
    monkeypatch.setattr(asyncio.get_running_loop(), "sock_connect", sock_connect)
    async with Wire(str, ["https://api.example.com"]) as wire:
        url = "https://rebinds.example.com/x"
        with pytest.raises(ServerError, match="cannot be reached"):
            await wire.get(url)
        with pytest.raises(ServerError, match="is a loopback address"):
            await wire.get(url)
    assert made == ["93.184.215.14"]


async def test_a_name_that_leads_here_opens_nothing_here() -> None:
    """The server's own name is its owner's, and leads where they like: that it leads here lets it name nobody else
    here. What the operator writes as an address is another matter."""
    async with Wire(str, ["https://localhost.example.com", f"https://{socket.gethostname()}:8443/mcp"]) as wire:
        with pytest.raises(ServerError, match="was not asked"):
            await wire.get("https://127.1:1/x")
    for configured, asked in (
        ("https://10.0.0.5/mcp", "10.0.0.6"),
        ("http://localhost:1/", "127.1"),
        ("http://127.0.0.1/", "10.9.9.9"),
    ):
        assert await Destinations([configured]).addresses(asked, 443)
    for configured, asked in (
        ("https://10.0.0.5/mcp", "127.0.0.1"),
        ("http://localhost:1/", "169.254.1.1"),
        ("http://127.0.0.1/", "0"),
    ):
        with pytest.raises(ServerError, match="only the configuration"):
            await Destinations([configured]).addresses(asked, 443)


@pytest.mark.parametrize("path", ["/token", "/register"])
@pytest.mark.parametrize("status", [302, 307])
async def test_redirects_of_posts(victim: Doorward, liar: Liar, provider: Provider, path: str, status: int) -> None:
    """A code or a secret follows no redirect."""
    liar.issues()
    liar.says(path, b"", status, Location=f"{provider.issuer}{path}")
    with pytest.raises(ServerError, match="redirects, which is not followed"):
        await victim.auth().login(Code())
    assert provider.requests == []
    assert victim.files() == []


@pytest.mark.slow
async def test_redirects_of_metadata(victim: Doorward, liar: Liar, provider: Provider) -> None:
    """Metadata is fetched through redirects of its own origin only, and not for ever."""
    liar.issues()
    liar.answers["/moved"] = liar.answers["/.well-known/oauth-authorization-server"]
    liar.says("/.well-known/oauth-authorization-server", b"", 308, Location="/moved")
    liar.says("/token", {"access_token": "a-token-of-the-liar", "token_type": "Bearer"})
    await victim.auth().login(Code())
    liar.says(
        "/.well-known/oauth-authorization-server",
        b"",
        302,
        Location=f"{provider.issuer}/.well-known/oauth-authorization-server",
    )
    with pytest.raises(ConfigError, match="has no metadata"):
        await victim.auth().login(Code())
    assert provider.requests == []
    liar.says("/.well-known/oauth-authorization-server", b"", 302, Location="/.well-known/oauth-authorization-server")
    with pytest.raises(ConfigError, match="has no metadata"):
        await victim.auth().login(Code())
    assert len(liar.got) < 60


@pytest.mark.parametrize(
    "path",
    ["/.well-known/oauth-protected-resource/api", "/.well-known/oauth-authorization-server", "/register", "/token"],
)
async def test_huge_answers(victim: Doorward, liar: Liar, path: str) -> None:
    liar.issues()
    liar.says("/token", {"access_token": "a-token-of-the-liar", "token_type": "Bearer"})
    liar.says(path, b'{"a": "' + b"x" * 2**18 + b'"}')
    with pytest.raises(ServerError, match="answered with more than 256 KiB"):
        await victim.auth().login(Code())


@pytest.mark.parametrize(
    "told",
    [
        {},
        [],
        b"",
        b"[" * 100_000,
        {"access_token": ""},
        {"access_token": 7},
        {"access_token": "two words", "token_type": "Bearer"},
        {"access_token": "line\r\nX-Evil: 1", "token_type": "Bearer"},
        {"access_token": "fine-but-of-another-type", "token_type": "mac"},
        {"refresh_token": "half-of-an-answer-and-quite-long-too", "token_type": "Bearer"},
    ],
)
async def test_no_usable_token(victim: Doorward, liar: Liar, told: Any) -> None:
    """What is no token is not kept, and the message does not quote it."""
    liar.issues()
    liar.says("/token", told)
    with pytest.raises(ServerError, match=r"no usable answer|no header may hold") as caught:
        await victim.auth().login(Code())
    assert "half-of" not in str(caught.value)
    assert victim.files() == []


async def test_what_a_provider_says_is_told(victim: Doorward, liar: Liar) -> None:
    """Its error and description: cut, on one line, without what would steer a terminal, and without the secrets that it
    quotes."""
    liar.issues()
    text = "no \x1b[31mway\r\nfor the-code-of-this-login " + "x" * 2000
    liar.says("/token", {"error": "invalid_grant", "error_description": text}, 400)
    with pytest.raises(ServerError, match=r'/token refused: "invalid_grant: no .31mway for') as caught:
        await victim.auth().login(Code())
    victim.secrets.scrub_error(caught.value)
    assert "the-code" not in str(caught.value)
    assert len(str(caught.value)) < 450
    assert "\x1b" not in str(caught.value)
    liar.says("/token", b"<html>", 403)
    with pytest.raises(ServerError, match="refused: status 403"):
        await victim.auth().login(Code())
    liar.says("/token", b"", 503)
    with pytest.raises(ServerError, match="answered with 503"):
        await victim.auth().login(Code())


async def test_another_state(victim: Doorward, liar: Liar, until: Any) -> None:
    """An address with another state, or none, is no answer: it gets an error, and the login goes on waiting."""
    liar.issues()
    for change in (lambda end: end[:-1] + "x", lambda end: end.partition("&state")[0], lambda end: end + "&state=two"):
        person = Code(change)
        login = asyncio.ensure_future(victim.auth().login(person))
        await until(lambda person=person: person.seen)
        assert person.seen[0][0] == 400
        assert not login.done()
        login.cancel()
        await asyncio.wait([login])
    assert "/token" not in liar.posted()


async def test_a_login_that_nobody_ends(victim: Doorward, liar: Liar, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is given up after a while, and says so."""
    from doorward_auth_oauth2 import redirect

    monkeypatch.setattr(redirect, "MAX_LOGIN_SECONDS", 0.0)
    liar.issues()
    with pytest.raises(ServerError, match="nobody has logged in"):
        await victim.auth().login(Code(lambda end: end.partition("&state")[0]))


async def test_another_issuer(victim: Doorward, liar: Liar) -> None:
    """The answer of another provider than the one that was asked (RFC 9207) is refused."""
    liar.issues()
    with pytest.raises(ServerError, match="iss mismatch"):
        await victim.auth().login(Code(lambda end: f"{end}&iss=https://login.example.com"))
    assert "/token" not in liar.posted()


@pytest.mark.slow
async def test_the_receiver() -> None:
    """It answers one request, to the right path, on loopback; whatever else comes does it no harm."""
    async with Redirect(0) as redirect, httpx2.AsyncClient(timeout=None) as client:
        redirect.expect("https://login.example.com/authorize?state=expected-state")
        base = redirect.uri.removesuffix("/callback")
        assert base.startswith("http://127.0.0.1:")
        for method, path, status in [
            ("GET", "/", 404),
            ("GET", "/favicon.ico", 404),
            ("POST", "/callback?state=expected-state&code=x", 404),
            ("GET", "/callback", 400),
            ("GET", "/callback?state=&code=x", 400),
            ("GET", "/callback?state=%F0%9F&code=x", 400),
            ("GET", "/callback?" + "&".join(f"a{n}=1" for n in range(100)), 400),
        ]:
            assert (await client.request(method, base + path)).status_code == status, path
        with pytest.raises(httpx2.HTTPError):
            await client.get(base + "/callback?" + "x" * 20_000)
        page = await client.get(base + "/callback?state=expected-state&error=<script>alert(1)</script>")
        assert page.status_code == 200
        assert "<script>" not in page.text
        assert "default-src 'none'" in page.headers["Content-Security-Policy"]
        assert (await client.get(base + "/callback?state=expected-state&code=second")).status_code == 404
        with pytest.raises(ServerError, match="refused"):
            await redirect.answer(asyncio.sleep(0, None))


@pytest.mark.slow
async def test_hostile_challenges(victim: Doorward, liar: Liar) -> None:
    """Scopes that are none, a body without end, and metadata elsewhere."""
    liar.issues()
    liar.says("/token", {"access_token": "a-token-of-the-liar", "token_type": "Bearer", "expires_in": 3600})
    liar.says("/api", b"", 401, **{"WWW-Authenticate": 'Bearer scope="a b\\ \x07 <c> \xe9"'})
    person = Code()
    await victim.auth().login(person)
    assert httpx2.URL(person.pages[0]).params["scope"] == "a <c>"
    async with victim.http(victim.auth()) as client:
        liar.says("/api/me", b"x" * 2**18, 401)
        with pytest.raises(ServerError, match="the login to mine has ended"):
            await client.get("/me")
        liar.says("/api/me", b"", 403, **{"WWW-Authenticate": 'Bearer error="insufficient_scope"'})
        with pytest.raises(ServerError, match="wants a scope, which"):
            await client.get("/me")
        liar.says(
            "/api/me", b"", 403, **{"WWW-Authenticate": 'Bearer error="insufficient_scope", scope="' + "y" * 500 + '"'}
        )
        with pytest.raises(ServerError, match="wants a scope, which"):
            await client.get("/me")
        liar.says("/api/me", b"plainly forbidden", 403)
        assert (await client.get("/me")).text == "plainly forbidden"
    liar.says("/api", b"", 401, **{"WWW-Authenticate": 'Bearer resource_metadata="http://metadata.example.com/x"'})
    with pytest.raises(ServerError, match="was not asked"):
        await victim.auth().login(Code())
    for nonsense in (
        "http://[",
        "nowhere",
        "/relative",
        "http://x:99999/",
        "http://%zz/",
        "https://",
        "https://xn--\x80",
    ):
        liar.says("/api", b"", 401, **{"WWW-Authenticate": f'Bearer resource_metadata="{nonsense}"'})
        with pytest.raises(ServerError, match=r"was not asked|is no URL"):
            await victim.auth().login(Code())


MACHINE = {
    "flow": "password",
    "username": "bob",
    "password": "password of bob",
    "client_id": "c",
    "client_secret": "secret of the client",
}


@pytest.mark.parametrize(
    ("told", "status", "why"),
    [
        (b'{"access_token": "' + b"x" * 10_000_000 + b'"}', 200, "answered with more than 256 KiB"),
        (b"[" * 100_000, 200, "no usable answer"),
        ({"access_token": "line\r\nX-Evil: 1"}, 200, "no header may hold"),
        ({"access_token": "with a key of its own", "token_type": "DPoP"}, 200, "no usable answer"),
        ({"access_token": ["x"]}, 200, "no usable answer"),
        (
            {
                "error": "invalid_grant",
                "error_description": "password of bob is not the password of bob, secret of the client",
            },
            400,
            "invalid_grant",
        ),
        ({"error": ["x"], "error_description": {"a": 1}}, 401, "status 401"),
        (b"password of bob", 500, "answered with 500"),
        (b"slow down", 429, "answered with 429"),
    ],
)
async def test_token_endpoints(victim: Doorward, liar: Liar, told: Any, status: int, why: str) -> None:
    """Whatever a token endpoint says, a call fails with the server's name and the endpoint's, and without a secret."""
    liar.says("/token", told, status)
    async with victim.http(victim.auth(token_url=f"{liar.url}/token", **MACHINE)) as http:
        with pytest.raises(ServerError, match=f"no token for mine: .*{why}") as caught:
            await http.get("/me")
    victim.secrets.scrub_error(caught.value)
    assert "of bob" not in str(caught.value)
    assert "of the client" not in str(caught.value)
    assert len(str(caught.value)) < 500
    assert [path for _, path, _ in liar.got] == ["/token"]


@pytest.mark.parametrize("status", [301, 302, 307, 308])
async def test_a_token_endpoint_elsewhere(victim: Doorward, liar: Liar, provider: Provider, status: int) -> None:
    """A password follows no redirect."""
    liar.says("/token", b"", status, Location=f"{provider.issuer}/token")
    async with victim.http(victim.auth(token_url=f"{liar.url}/token", **MACHINE)) as http:
        with pytest.raises(ServerError, match="redirects, which is not followed"):
            await http.get("/me")
    assert provider.requests == []


async def test_a_password_goes_only_where_it_is_configured_to(victim: Doorward, liar: Liar, provider: Provider) -> None:
    """A server that names a provider does not get a password, an assertion, or what a principal brought, sent there."""
    told = {"resource": f"{liar.url}/api", "authorization_servers": [provider.issuer]}
    liar.says("/.well-known/oauth-protected-resource/api", told)
    victim.presented["alice"] = "what-alice-brought"
    for settings in (
        MACHINE,
        {"flow": "token_exchange", "principal": "alice"},
        {"flow": "refresh_token", "refresh_token": "r"},
    ):
        async with victim.http(victim.auth(**cast("Any", settings))) as http:
            with pytest.raises(ConfigError, match="nothing says that"):
                await http.get("/me")
    assert provider.asked("/token") == []


@pytest.mark.parametrize(
    "told",
    [
        {},
        {"device_code": "d", "user_code": "u"},
        {"device_code": 1, "user_code": "u", "verification_uri": "http://127.0.0.1:1/"},
        {"device_code": "d", "user_code": "u", "verification_uri": "http://login.example.com/"},
        {"device_code": "d", "user_code": "u", "verification_uri": "file:///etc/passwd"},
        {
            "device_code": "d",
            "user_code": "u",
            "verification_uri": "https://a.example.com",
            "verification_uri_complete": "javascript:alert(1)",
        },
    ],
)
async def test_pages_for_devices(victim: Doorward, liar: Liar, told: Any) -> None:
    """Nobody is sent to a page that is not https, or for a code that is none."""
    liar.says("/device", told)
    urls = {"token_url": f"{liar.url}/token", "device_authorization_url": f"{liar.url}/device"}
    person = LoginPrompt()
    with pytest.raises(ServerError, match=r"was not asked|no usable answer"):
        await victim.auth(flow="device_code", client_id="c", **urls).login(person)
    assert (person.pages, person.told) == ([], [])


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(), lambda inner: st.lists(inner, max_size=2)
)


@pytest.mark.slow
@given(
    told=JSON | st.integers(-(10**400), 10**400) | st.floats().map(str) | st.integers().map(str), now=st.floats(0, 4e9)
)
@example(told=0, now=1.0)
@example(told=-1, now=1.0)
@example(told="1e-311", now=1.0)
@example(told="3600", now=1.0)
@example(told="3.8e-81", now=1.0)
@example(told=float("nan"), now=1.0)
@example(told=10**400, now=1.0)
@example(told="2.2250738585072014e-308", now=1.0)
def test_when_a_token_ends(told: Any, now: float) -> None:
    """Whatever `expires_in` is, a token ends after it came, or nobody knows when; and it is due before that."""
    login = Login({"access_token": "x", "expires_in": told}, got=now)
    assert login.ends > now
    assert login.ends == float("inf") or login.ends <= now + 10**9
    assert now <= due(login) <= login.ends
    if isinstance(told, int) and not isinstance(told, bool) and 0 < told <= 10**9:
        assert login.ends == now + told


@pytest.mark.parametrize(
    ("told", "requests"), [(0, 1), (-5, 1), ("3600", 1), ("soon", 1), (None, 1), (10**300, 1), (1e-9, 1)]
)
async def test_odd_lives(victim: Doorward, liar: Liar, told: Any, requests: int) -> None:
    """A life that makes no sense is none: the token is used until it is refused, and not fetched with each call."""
    liar.says("/token", {"access_token": "fine", "expires_in": told}, Date="Thu, 01 Jan 1970 00:00:00 GMT")
    liar.says("/api/me", b"fine")
    async with victim.http(victim.auth(token_url=f"{liar.url}/token", **MACHINE)) as http:
        for _ in range(4):
            assert (await http.get("/me")).text == "fine"
    assert liar.posted() == ["/token"] * requests
