"""Sign-in at the authorization server of the endpoint: over real HTTP, with a server that holds every request against
what the standards say."""

from __future__ import annotations

import base64
import hashlib
import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
SECRET = "the secret of the console"


class Issuer(ThreadingHTTPServer):
    """An authorization server. `change` is what it does wrong; `codes` are those that it gave, each good for once."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        self.user, self.audience = "ann", ""
        self.codes: dict[str, dict[str, str]] = {}
        self.change: dict[str, Any] = {}
        self.asked: list[dict[str, str]] = []

    def signed(self, **claims: Any) -> str:
        now = int(time.time())
        about = {"iss": self.url, "sub": self.user, "iat": now, "exp": now + 300, **claims}
        return jwt.encode(about, KEY, "RS256", {"kid": "k", "typ": "at+jwt"})


class Handler(BaseHTTPRequestHandler):
    server: Issuer

    def log_message(self, *given: object) -> None:
        pass

    def answer(self, told: Any, status: int = 200, **headers: str) -> None:
        content = json.dumps(told).encode()
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", "Content-Length": str(len(content)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def do_GET(self) -> None:
        issuer, parts = self.server, urlsplit(self.path)
        if parts.path == "/.well-known/openid-configuration":
            about = {"issuer": issuer.url, "authorization_endpoint": f"{issuer.url}/authorize", "jwks_uri": f"{issuer.url}/keys",
                     "token_endpoint": f"{issuer.url}/token", "authorization_response_iss_parameter_supported": True}  # fmt: skip
            self.answer(about | issuer.change.get("metadata", {}))
        elif parts.path == "/keys":
            public = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(KEY.public_key()))
            self.answer({"keys": [{**public, "kid": "k", "use": "sig"}]})
        elif parts.path == "/authorize":
            asked = {name: values[0] for name, values in parse_qs(parts.query).items()}
            issuer.asked.append(asked)
            code = f"code-{len(issuer.codes)}"
            issuer.codes[code] = asked
            back = {"code": code, "state": asked["state"], "iss": issuer.url} | issuer.change.get("back", {})
            self.answer({}, 302, Location=f"{asked['redirect_uri']}?{urlencode(back)}")
        else:
            self.answer({}, 404)

    def do_POST(self) -> None:
        issuer = self.server
        content = self.rfile.read(int(self.headers["Content-Length"])).decode()
        given = {name: values[0] for name, values in parse_qs(content).items()}
        asked = issuer.codes.pop(given["code"], None)
        digest = hashlib.sha256(given["code_verifier"].encode()).digest()
        client = base64.b64encode(f"console:{SECRET.replace(' ', '%20')}".encode()).decode()
        if (
            asked is None
            or asked["code_challenge"] != base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
            or (asked["code_challenge_method"], asked["response_type"]) != ("S256", "code")
            or (given["redirect_uri"], given["client_id"]) != (asked["redirect_uri"], "console")
            or self.headers["Authorization"] != f"Basic {client}"
        ):
            self.answer({"error": "invalid_grant"}, 400)
            return
        access = issuer.signed(aud=issuer.audience, client_id="console", jti="j", **issuer.change.get("access", {}))
        identity = issuer.signed(**{"aud": "console", "nonce": asked["nonce"], **issuer.change.get("id", {})})
        self.answer(
            {"access_token": access, "token_type": "Bearer", "id_token": identity} | issuer.change.get("token", {})
        )


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    made = Issuer()
    thread = threading.Thread(target=made.serve_forever, daemon=True)
    thread.start()
    yield made
    made.shutdown()
    thread.join()
    made.server_close()


def config(issuer: Issuer) -> str:
    return (
        f'[console.oauth]\nclient_id = "console"\nclient_secret = "${{CONSOLE_SECRET}}"\n'
        f'[http.oauth]\nissuer = "{issuer.url}"\naudience = "gateway"\n'
    )


async def sign_in(person: Any, onward: str = "/console/runs") -> Any:
    """What a browser does: to the server, and back."""
    begun = await person.get(f"/console/oauth?next={onward}")
    assert begun.status_code == 303, begun.text
    return await person.get((await person.get(begun.headers["location"])).headers["location"])


async def test_a_person_signs_in_there(served: Any, issuer: Issuer, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a cookie as after any sign-in; an operator as well. No secret is shown, and no code is good twice."""
    monkeypatch.setenv("CONSOLE_SECRET", SECRET)
    issuer.audience = "gateway"
    async with served('operators = ["olga"]', more=config(issuer)) as at:
        assert "Sign in at 127.0.0.1" in (await at.person().get("/console/sign-in?next=/console/runs")).text
        for user, is_operator in (("ann", False), ("olga", True)):
            issuer.user = user
            person = at.person()
            done = await sign_in(person)
            assert done.status_code == 200, done.text
            assert 'href="/console/runs"' in done.text
            cookie = next(each for each in done.headers.get_list("set-cookie") if each.startswith("doorward_console="))
            assert all(part in cookie.lower() for part in ("httponly", "samesite=strict", "path=/console"))
            page = await person.get("/console/runs")
            assert (user in page.text, "· operator" in page.text) == (True, is_operator)
            assert SECRET not in done.text + page.text
            again = await person.get(
                f"/console/callback?code=code-0&state={issuer.asked[-1]['state']}&iss={issuer.url}"
            )
            assert again.status_code in (400, 403)
        assert len({each["state"] for each in issuer.asked} | {each["nonce"] for each in issuer.asked}) == 4
        for onward in ("https://evil.test", "//evil.test", "/console/../x"):
            assert "evil.test" not in (await sign_in(at.person(), onward)).text


async def test_what_is_no_answer_to_it_is_refused(served: Any, issuer: Issuer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another browser's answer, another issuer's, a token for somebody else, a wrong nonce or subject: nobody is signed
    in, and a session that there was stays as it is."""
    monkeypatch.setenv("CONSOLE_SECRET", SECRET)
    issuer.audience = "gateway"
    hour_ago = int(time.time()) - 3600
    async with served(more=config(issuer)) as at:
        victim, attacker = at.person(), at.person()
        begun = await attacker.get("/console/oauth")
        theirs = (await attacker.get(begun.headers["location"])).headers["location"]
        assert (await victim.get(theirs)).status_code == 403
        await victim.get("/console/oauth")
        assert (await victim.get(theirs)).status_code == 403
        for change in (
            {"back": {"state": "x"}}, {"back": {"iss": "https://evil.test"}}, {"back": {"iss": ""}},
            {"back": {"error": "<b>access_denied"}}, {"back": {"code": "x"}}, {"back": {"code": ""}},
            {"access": {"aud": "other"}}, {"access": {"exp": hour_ago}}, {"token": {"access_token": "x"}},
            {"access": {"sub": "bob"}}, {"id": {"nonce": "x"}}, {"id": {"aud": "other"}}, {"id": {"exp": hour_ago}},
            {"id": {"aud": ["console", "other"]}}, {"id": {"iss": "https://evil.test"}}, {"token": {"id_token": "x.y"}},
            {"token": {"id_token": None}}, {"access": {"sub": "local"}},
        ):  # fmt: skip
            issuer.change = change
            person = at.person()
            answer = await sign_in(person)
            assert answer.status_code in (403, 503), change
            assert "<b>access" not in answer.text
            assert (await person.get("/console/runs")).status_code == 303, change
        issuer.user, issuer.change = "local", {}
        assert (await sign_in(at.person())).status_code == 403


@pytest.mark.parametrize("wrong", [{"issuer": "https://evil.test"}, {"token_endpoint": "http://evil.test/token"}])
async def test_no_secret_goes_to_another_server(
    served: Any, issuer: Issuer, monkeypatch: pytest.MonkeyPatch, wrong: dict[str, str]
) -> None:
    """Metadata of another issuer, or that name an address without TLS elsewhere, begin no sign-in."""
    monkeypatch.setenv("CONSOLE_SECRET", SECRET)
    issuer.change = {"metadata": wrong}
    async with served(more=config(issuer)) as at:
        assert (await at.person().get("/console/oauth")).status_code == 503
        issuer.change = {}  # it is not asked again at once, however many ask us
        assert "a moment ago" in (await at.person().get("/console/oauth")).text
    async with served() as at:
        page = await at.person().get("/console/oauth")
        assert page.headers["location"].startswith("/console/sign-in")
