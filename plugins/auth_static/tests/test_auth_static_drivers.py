"""The four auth types against a real HTTP server on the loopback."""

from __future__ import annotations

import base64
import json
import ssl
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import httpx2
import pytest
import structlog
from doorward import ConfigError, MissingSecret, PluginContext, ServerError
from doorward.config.config import validate
from doorward.secrets.store import Secrets
from doorward_auth_static import ApiKeyAuth, BasicAuth, JwtAuth, StaticAuth, expiry

NOBODY = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""Whom clients on loopback trust: reading the authorities of this machine takes 20 ms for each client."""

KEY = "k3y-of-the-door"


class Host:
    """What core does for an auth plugin: an environment, secrets, validated settings."""

    def __init__(self, **environ: str) -> None:
        self.environ = environ
        self.secrets = Secrets(environ=environ)

    def driver(
        self, kind: Any, settings: dict[str, Any], *, url: str = "", origins: tuple[str, ...] = (), **more: Any
    ) -> Any:
        valid = validate(kind.Settings, settings, secrets=self.secrets, place="test")
        return kind(PluginContext("api", valid, Path("unused"), url, origins=origins), **more)

    def auth(self, kind: Any, **settings: Any) -> httpx2.Auth:
        return self.driver(kind, settings).create_auth()


async def seen(url: str, auth: httpx2.Auth, **request: Any) -> dict[str, Any]:
    async with httpx2.AsyncClient(auth=auth, verify=NOBODY) as client:
        answer = (await client.get(url, **request)).json()
    return {"path": answer["path"], **{k.lower(): v for k, v in answer["headers"].items()}}


def jwt(exp: Any) -> str:
    def part(value: Any) -> str:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")

    return f"{part({'alg': 'none'})}.{part({'exp': exp})}.signature"


@pytest.mark.anyio
async def test_static_sets_authorization(url: str) -> None:
    """CONTRACT: AUT-02. The value, with its reference resolved, is the Authorization header."""
    answer = await seen(url, Host(X=KEY).auth(StaticAuth, value="Bearer ${X}"))
    assert answer["authorization"] == f"Bearer {KEY}"


@pytest.mark.anyio
async def test_static_sets_another_header(url: str) -> None:
    """CONTRACT: AUT-02. `header` names another header, and Authorization stays away."""
    answer = await seen(url, Host(X=KEY).auth(StaticAuth, value="${X}", header="X-Token"))
    assert answer["x-token"] == KEY
    assert "authorization" not in answer


def test_what_an_auth_fills_is_said() -> None:
    """Functions of its server then have no such parameters."""
    host = Host(X=KEY)
    assert host.driver(StaticAuth, {"value": "${X}", "header": "X-Token"}).filled_parameters() == [
        ("header", "X-Token")
    ]
    for place in ("header", "query", "cookie"):
        driver = host.driver(ApiKeyAuth, {"name": "key", "value": "${X}", "in": place})
        assert driver.filled_parameters() == [(place, "key")]


@pytest.mark.anyio
async def test_static_replaces_what_the_program_sent(url: str) -> None:
    """A header that a program set under the credential's name does not win."""
    answer = await seen(url, Host(X=KEY).auth(StaticAuth, value="${X}", header="X-Token"), headers={"x-token": "mine"})
    assert answer["x-token"] == KEY


@pytest.mark.anyio
async def test_a_rotated_secret_is_used_at_once(url: str) -> None:
    """CONTRACT: AUT-09. The next request after a change of the environment carries the new value."""
    host = Host(X="first-value")
    auth = host.auth(StaticAuth, value="${X}")
    await seen(url, auth)
    host.environ["X"] = "second-value"
    assert (await seen(url, auth))["authorization"] == "second-value"


@pytest.mark.anyio
async def test_jwt_puts_bearer_before_the_token(url: str) -> None:
    """CONTRACT: AUT-03. The token is sent as a bearer token, also when the value already says Bearer."""
    assert (await seen(url, Host(X=KEY).auth(JwtAuth, token="${X}")))["authorization"] == f"Bearer {KEY}"
    assert (await seen(url, Host(X=f"Bearer {KEY}").auth(JwtAuth, token="${X}")))["authorization"] == f"Bearer {KEY}"


@pytest.mark.anyio
async def test_jwt_warns_once_before_its_end(url: str) -> None:
    """A token that is far from its end is silent; within five minutes it warns once; a new token may warn again."""
    now = 1_000_000.0
    host = Host(X=jwt(now + 1000))
    auth = host.driver(JwtAuth, {"token": "${X}"}, clock=lambda: now).create_auth()
    with structlog.testing.capture_logs() as logs:
        await seen(url, auth)
        assert logs == []
        now += 701
        await seen(url, auth)
        await seen(url, auth)
        assert [(e["event"], e["seconds_left"]) for e in logs] == [("jwt_ends_soon", 299)]
        host.environ["X"] = jwt(now - 1)
        await seen(url, auth)
    assert [e["event"] for e in logs[1:]] == ["jwt_ended"]
    assert not any(host.environ["X"] in str(e) for e in logs)


@pytest.mark.parametrize(
    "token", ["opaque", "a.b.c", "a.e30.c", jwt("soon"), jwt(None), jwt([1]), "..", "é.ü.ö", "a." + "W" * 4000 + ".c"]
)
def test_a_token_that_says_no_end_has_none(token: str) -> None:
    """What is no JWT, or has no numeric `exp`, is sent without a word."""
    assert expiry(token) is None


@pytest.mark.anyio
async def test_basic(url: str) -> None:
    """CONTRACT: AUT-04. Username and password are joined and encoded in UTF-8."""
    answer = await seen(url, Host(P="pässwörd").auth(BasicAuth, username="me", password="${P}"))
    assert answer["authorization"] == "Basic " + base64.b64encode("me:pässwörd".encode()).decode()


@pytest.mark.anyio
async def test_basic_with_an_empty_password(url: str) -> None:
    """An API that takes its key as the username and no password is served."""
    answer = await seen(url, Host(K=KEY).auth(BasicAuth, username="${K}", password=""))
    assert answer["authorization"] == "Basic " + base64.b64encode(f"{KEY}:".encode()).decode()


@pytest.mark.anyio
async def test_api_key_in_a_header(url: str) -> None:
    """An API key goes into the header that is named; that is the default place."""
    assert (await seen(url, Host(K=KEY).auth(ApiKeyAuth, name="X-Api-Key", value="${K}")))["x-api-key"] == KEY


@pytest.mark.anyio
async def test_api_key_in_the_query(url: str) -> None:
    """A key in the query is percent-encoded, replaces one of that name, and leaves the rest as it was written."""
    auth = Host(K="a b&c=ä").auth(ApiKeyAuth, name="key", value="${K}", **{"in": "query"})
    answer = await seen(f"{url}/x?flag&q=a%20b&k%65y=mine", auth)
    assert answer["path"] == "/x?flag&q=a%20b&key=a%20b%26c%3D%C3%A4"
    assert (await seen(f"{url}/y", auth))["path"] == "/y?key=a%20b%26c%3D%C3%A4"


@pytest.mark.anyio
async def test_api_key_in_a_cookie(url: str) -> None:
    """A key in a cookie joins other cookies and replaces one of its name."""
    auth = Host(K=KEY).auth(ApiKeyAuth, name="sid", value="${K}", **{"in": "cookie"})
    assert (await seen(url, auth, headers={"Cookie": "a=1; sid=mine"}))["cookie"] == f"a=1; sid={KEY}"
    assert (await seen(url, auth))["cookie"] == f"sid={KEY}"


CASES: list[tuple[Any, dict[str, Any]]] = [
    (StaticAuth, {"value": "Bearer ${X}"}),
    (JwtAuth, {"token": "${X}"}),
    (BasicAuth, {"username": "me", "password": "${X}"}),
    (ApiKeyAuth, {"name": "k", "value": "${X}"}),
    (ApiKeyAuth, {"name": "k", "value": "${X}", "in": "cookie"}),
]


@pytest.mark.anyio
@pytest.mark.parametrize(("kind", "settings"), CASES)
@pytest.mark.parametrize("bad", ["sec\r\nX-Evil: ret", "secret\nvalue", "secret\x00value"])
async def test_a_value_that_would_break_a_header_is_refused(
    url: str, kind: Any, settings: dict[str, Any], bad: str
) -> None:
    """Line breaks and control characters never reach a header, and the message does not show the value."""
    with pytest.raises(ConfigError) as caught:
        await seen(url, Host(X=bad).auth(kind, **settings))
    assert str(caught.value).startswith("test: the ")
    assert "sec" not in str(caught.value)


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("kind", "settings"),
    [c for c in CASES if c[0] in (JwtAuth, ApiKeyAuth)] + [(ApiKeyAuth, {"name": "k", "value": "${X}", "in": "query"})],
)
async def test_an_empty_credential_is_refused(url: str, kind: Any, settings: dict[str, Any]) -> None:
    """A variable that is set to nothing is said to be so, not sent."""
    with pytest.raises(ConfigError, match="is empty"):
        await seen(url, Host(X="").auth(kind, **settings))


@pytest.mark.anyio
@pytest.mark.parametrize(("kind", "settings"), CASES)
async def test_a_missing_secret_is_named(url: str, kind: Any, settings: dict[str, Any]) -> None:
    """CONTRACT: AUT-18. Making the auth needs no secret; a request without one names the reference."""
    auth = Host().auth(kind, **settings)
    with pytest.raises(MissingSecret, match=r"\$\{X\}"):
        await seen(url, auth)


@pytest.mark.anyio
@pytest.mark.parametrize(("kind", "settings"), CASES)
async def test_everything_sent_is_scrubbed(url: str, kind: Any, settings: dict[str, Any]) -> None:
    """CONTRACT: AUT-12. An API that echoes the request shows neither the secret nor what was made of it."""
    host = Host(X=KEY)
    answer = await seen(url, host.auth(kind, **settings))
    shown = host.secrets.scrub(json.dumps(answer))
    assert KEY not in shown
    assert base64.b64encode(f"me:{KEY}".encode()).decode() not in shown
    assert "[secret]" in shown


@pytest.mark.anyio
async def test_credentials_stay_with_one_origin(url: str) -> None:
    """A request to another origin than the first fails before credentials are added."""
    auth = Host(X=KEY).auth(StaticAuth, value="${X}")
    await seen(url, auth)
    with pytest.raises(ServerError, match="were not sent to http://localhost:"):
        await seen(url.replace("127.0.0.1", "localhost"), auth)
    assert (await seen(url, auth))["authorization"] == KEY


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        (StaticAuth, {"value": "x", "header": "X Y"}),
        (StaticAuth, {"value": "x", "header": "X\n"}),
        (StaticAuth, {"value": "x", "heeder": "X"}),
        (StaticAuth, {}),
        (ApiKeyAuth, {"name": "a b", "value": "x"}),
        (ApiKeyAuth, {"name": "a\n", "value": "x"}),
        (ApiKeyAuth, {"name": "a;b", "value": "x", "in": "cookie"}),
        (ApiKeyAuth, {"name": "", "value": "x", "in": "query"}),
        (ApiKeyAuth, {"name": "a", "value": "x", "in": "body"}),
        (BasicAuth, {"username": "a"}),
    ],
)
def test_settings_that_cannot_work_are_refused(kind: Any, settings: dict[str, Any]) -> None:
    """A wrong header name, an unknown key or a missing one is found when the configuration is read."""
    with pytest.raises(ConfigError, match=r"^test: "):
        Host().driver(kind, settings)


@pytest.mark.anyio
async def test_a_username_with_a_colon_is_refused(url: str) -> None:
    """A colon would move the border between username and password (RFC 7617 section 2)."""
    with pytest.raises(ConfigError, match="colon"):
        await seen(url, Host().auth(BasicAuth, username="a:b", password="c"))


@pytest.mark.parametrize("kind", [StaticAuth, JwtAuth, BasicAuth, ApiKeyAuth])
def test_settings_have_a_schema_without_values(kind: Any) -> None:
    """`doorward schema` can print each driver's settings."""
    assert kind.Settings.model_json_schema()["additionalProperties"] is False


@pytest.mark.slow
def test_the_import_is_light() -> None:
    """Importing the plugin imports no HTTP client and no logger."""
    code = "import sys, doorward_auth_static; print(*({'httpx2', 'structlog', 'anyio', 'mcp'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == ""


@pytest.mark.anyio
async def test_credentials_stay_with_the_configured_origins(url: str) -> None:
    """Where the server's URL is configured, its origin counts, not that of the first request; `origins` belong to
    it."""
    host, elsewhere = Host(X=KEY), url.replace("127.0.0.1", "localhost")
    auth = host.driver(StaticAuth, {"value": "${X}"}, url=f"{url}/api?a=b").create_auth()
    with pytest.raises(ServerError, match="were not sent to http://localhost:"):
        await seen(elsewhere, auth)
    assert (await seen(url, auth))["authorization"] == KEY
    both = host.driver(StaticAuth, {"value": "${X}"}, url=url, origins=(elsewhere,)).create_auth()
    assert (await seen(elsewhere, both))["authorization"] == (await seen(url, both))["authorization"] == KEY


@pytest.mark.anyio
@pytest.mark.parametrize(("kind", "settings"), CASES)
async def test_a_value_that_takes_time_is_waited_for(url: str, kind: Any, settings: dict[str, Any]) -> None:
    """What a plugin fetches is fetched in a thread of its own."""
    threads = []

    def resolve(scheme: str, name: str) -> str:
        threads.append(threading.current_thread())
        return KEY

    host = Host()
    host.secrets.resolve = resolve
    fetched = {key: value.replace("${X}", "${vault:x}") for key, value in settings.items()}
    answer = await seen(url, host.auth(kind, **fetched))
    assert KEY in str(answer) or base64.b64encode(f"me:{KEY}".encode()).decode() in answer["authorization"]
    assert threads
    assert threading.main_thread() not in threads
