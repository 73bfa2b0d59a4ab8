"""What lets a client in, without a server: a plugin's verifier, and what becomes of one that fails."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from doorward import PluginError, hookimpl
from doorward.plugins.mcp_additions import principal_of
from doorward_mcp_server.settings import OAuthSettings
from doorward_mcp_server.tokens.issuer import Keys, Unavailable
from doorward_mcp_server.tokens.verifiers import Verifiers
from doorward_testing.samples import CONFIG
from jwt.algorithms import ECAlgorithm
from mcp.server.auth.provider import AccessToken

pytestmark = pytest.mark.anyio


class Theirs:
    """A verifier of a plugin: it takes a token for the name of its principal."""

    async def verify_token(self, token: str) -> Any:
        if token == "fails":
            raise RuntimeError(f"cannot verify {token}")
        return AccessToken(token=token, client_id="app", scopes=[], subject=token) if token != "no" else None


class Plugin:
    def __init__(self, made: Any) -> None:
        self._made = made

    @hookimpl
    def token_verifier(self) -> Any:
        if isinstance(self._made, Exception):
            raise self._made
        return self._made


async def test_a_plugin_verifies(doorward_host: Any) -> None:
    """Its subject is the principal, but for names that mean something else. One that fails lets nobody in, and can say
    nothing."""
    async with doorward_host.gateway(CONFIG) as gate:
        assert not Verifiers(gate).wanted()
        gate.plugins.manager.register(Plugin(Theirs()))
        verifiers = Verifiers(gate)
        assert verifiers.wanted()
        found = await verifiers.verify_token("ann")
        assert found is not None
        assert found.subject == "ann"
        for bad in ("no", "local", "*", "", "a\tb", "x" * 201):
            assert await verifiers.verify_token(bad) is None, bad
        with pytest.raises(Unavailable):
            await verifiers.verify_token("fails")
        assert gate.principals.presented("ann") is None, "only what an issuer gave can be exchanged"


@pytest.mark.parametrize("made", [RuntimeError("no key"), "not one", object()])
async def test_a_plugin_that_gives_none_stops_the_start(doorward_host: Any, made: Any) -> None:
    async with doorward_host.gateway(CONFIG) as gate:
        gate.plugins.manager.register(Plugin(made))
        with pytest.raises(PluginError, match="token_verifier"):
            Verifiers(gate)


async def test_what_is_no_access_token_lets_nobody_in(doorward_host: Any) -> None:
    class Odd:
        async def verify_token(self, token: str) -> Any:
            return {"subject": "ann"}

    async with doorward_host.gateway(CONFIG) as gate:
        gate.plugins.manager.register(Plugin(Odd()))
        assert await Verifiers(gate).verify_token("ann") is None


@pytest.mark.parametrize(("issuer", "keys", "taken"), [
    ("https://login.example.com", "http://127.0.0.1:8080/keys", False),
    ("https://login.example.com", "http://login.example.com/keys", False),
    ("https://login.example.com", "https://keys.example.com/keys", True),
    ("http://127.0.0.1:8080", "http://127.0.0.1:8080/keys", True),
])  # fmt: skip
async def test_whose_keys_count(monkeypatch: pytest.MonkeyPatch, issuer: str, keys: str, taken: bool) -> None:
    """An issuer of the internet names no keys that anybody on this machine could serve."""
    asked: list[str] = []

    async def answer(client: Any, url: str) -> dict[str, Any]:
        asked.append(url)
        return {"issuer": issuer, "jwks_uri": keys, "keys": []}

    monkeypatch.setattr("doorward_mcp_server.tokens.issuer._json", answer)
    found = Keys(OAuthSettings(issuer=issuer))
    with contextlib.suppress(Unavailable):
        await found.named("one", "RS256")
    assert (keys in asked) == taken


async def test_what_is_presented_is_scrubbed(doorward_host: Any) -> None:
    """Once somebody wants to send it to be exchanged: an answer may quote it."""
    async with doorward_host.gateway(CONFIG) as gate:
        gate.principals.present("ann", "eyJ-the-token-of-ann")
        assert gate.principals.presented("bob") is None
        assert gate.principals.presented("ann") == "eyJ-the-token-of-ann"
        assert gate.secrets.scrub("not eyJ-the-token-of-ann") == "not [secret]"


def test_a_request_that_nobody_named_is_nobodys() -> None:
    """Never `local`, which is who asks over stdio."""

    class Context:
        request: Any = None

    assert principal_of(Context()) == "local"
    context = Context()
    context.request = type("Request", (), {"scope": {"type": "http"}})()
    with pytest.raises(KeyError):
        principal_of(context)


class Answers(BaseHTTPRequestHandler):
    """An issuer that answers what it is told, by path: a status and content."""

    told: ClassVar[dict[str, tuple[int, Any]]] = {}
    asked: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.asked.append(self.path)
        status, value = self.told.get(self.path, (404, {}))
        content = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *args: Any) -> None:
        pass


@pytest.fixture
def issuer(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Its URL; it has said nothing yet."""
    monkeypatch.setattr(Answers, "told", {})
    monkeypatch.setattr(Answers, "asked", [])
    server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


def public_key(kid: str, **more: Any) -> dict[str, Any]:
    """A key as an issuer publishes it."""
    key = ec.generate_private_key(ec.SECP256R1()).public_key()
    return {**json.loads(ECAlgorithm.to_jwk(key)), "kid": kid, **more}


WELL_KNOWN = "/.well-known/oauth-authorization-server"


@pytest.mark.slow
@pytest.mark.parametrize(
    "said",
    [
        {WELL_KNOWN: (500, {})},
        {WELL_KNOWN: (200, ["no object"])},
        {WELL_KNOWN: (200, {"issuer": "https://other.example", "jwks_uri": "/keys"})},
        {WELL_KNOWN: (200, {"issuer": "…", "jwks_uri": 3})},
        {WELL_KNOWN: (200, {"issuer": "…", "jwks_uri": "…/keys"}), "/keys": (200, {"keys": "none"})},
        {WELL_KNOWN: (200, {"issuer": "…", "jwks_uri": "…/keys"})},
        {},
    ],
    ids=["fails", "list", "another issuer", "no address", "no keys", "keys are gone", "says nothing"],
)
async def test_keys_stay_valid_whatever_the_issuer_says_later(
    issuer: str, said: dict[str, Any], later: Callable[[float], None]
) -> None:
    """An issuer that has never said its keys cannot be asked; keys that it has said once are good for those who have
    them, and another one of its is asked for when it is well again."""
    settings = OAuthSettings(issuer=issuer, audience="doorward")
    Answers.told |= json.loads(json.dumps(said).replace("\\u2026", issuer))
    keys = Keys(settings)
    with pytest.raises(Unavailable, match="cannot be asked"):
        await keys.named("one", "ES256")
    well = {"issuer": issuer, "jwks_uri": f"{issuer}/keys"}
    odd = [3, {"kty": "EC", "kid": "one"}, public_key("one", use="enc"), public_key("one", alg="ES384")]
    Answers.told |= {WELL_KNOWN: (200, well), "/keys": (200, {"keys": [*odd, public_key("one")]})}
    with pytest.raises(Unavailable):  # it is not asked again at once
        await keys.named("one", "ES256")
    later(3600)
    assert len(await keys.named("one", "ES256")) == 1
    assert await keys.named("one", "RS256") == []
    Answers.told.clear()
    Answers.told |= json.loads(json.dumps(said).replace("\\u2026", issuer))
    later(86400)
    for _ in range(3):
        assert len(await keys.named("one", "ES256")) == 1
        if keys._running is not None:
            await keys._running
    later(3600)
    with pytest.raises(Unavailable):
        await keys.named("two", "ES256")
    assert len(await keys.named("one", "ES256")) == 1
