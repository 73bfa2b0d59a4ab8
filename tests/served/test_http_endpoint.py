"""Where HTTP is served: what must be so before it is, TLS, names, and web pages."""

from __future__ import annotations

import json
import re
import ssl
from contextlib import ExitStack
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

import httpx2
import pytest
from doorward import ConfigError
from doorward.config import config
from doorward_mcp_server.http.endpoint import Endpoint
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client

from .conftest import LIMITS
from .forked import Forked
from .product import Agent, Project
from .test_http import HELLO
from .test_http_attacks import all_of, opened
from .test_http_auth import post, token

pytestmark = pytest.mark.anyio


@pytest.fixture
def guarded(tmp_path: Path) -> Project:
    """A project with a token, and no servers."""
    project = Forked(tmp_path, LIMITS)
    project.env["TOKEN"] = token(project, "alice")["token"]
    return project


def refused(project: Project, *options: str) -> str:
    """What `serve` says when it does not start."""
    ran = project.run("serve", "--transport", "http", "--port", "0", *options, timeout=20)
    assert ran.returncode == 2, ran.stderr
    assert "Traceback" not in ran.stderr
    return ran.stderr


def test_others_are_not_served_without_tokens_and_tls(guarded: Project, tmp_path: Path) -> None:
    """An address that others reach wants clients that are known, and a connection that nobody reads. CONTRACT: SEC-11,
    CLI-02."""
    unguarded = Forked(tmp_path / "unguarded", LIMITS + '\n[http]\nurl = "https://mcp.example.com/mcp"\n')
    assert "with your credentials" in refused(unguarded, "--host", "192.0.2.1")
    assert "plain text" in refused(guarded, "--host", "192.0.2.1")
    assert "url" in refused(guarded, "--host", "0.0.0.0")
    guarded.env["DOORWARD_HTTP__URL"] = "http://mcp.example.com/mcp"
    assert "plain text" in refused(guarded, "--host", "0.0.0.0")
    guarded.env["DOORWARD_HTTP__HOST"] = "0.0.0.0"
    assert "plain text" in refused(guarded)


def test_a_proxy_before_loopback_wants_tokens_too(tmp_path: Path) -> None:
    """A URL of another host says that others come in. CONTRACT: SEC-11."""
    project = Forked(tmp_path, LIMITS + '\n[http]\nurl = "https://mcp.example.com/mcp"\n')
    assert "with your credentials" in refused(project)
    token(project, "alice")
    with project.http() as (url, _):
        assert post(url)[0] == 401


def test_every_address_behind_a_proxy(guarded: Project) -> None:
    """`url` is what clients call it: the only foreign `Host` that is let in, and the only foreign `Origin`."""
    guarded.env["DOORWARD_HTTP__URL"] = "https://mcp.example.com"
    secret = guarded.env["TOKEN"]
    with guarded.http("--host", "0.0.0.0") as (url, _):
        url = url.replace("0.0.0.0", "127.0.0.1")
        for host in ("mcp.example.com", "mcp.example.com:443"):
            assert post(url, secret, Host=host)[0] == 200
            assert post(url, None, Host=host)[0] == 401
        assert post(url, secret, Host="mcp.example.com", Origin="https://mcp.example.com")[0] == 200
        assert post(url, secret, Host="evil.example.com")[0] == 421
        for origin in (
            "http://localhost:3000",
            "https://evil.example",
            "http://mcp.example.com",
            "https://mcp.example.com.evil",
        ):
            assert post(url, secret, Host="mcp.example.com", Origin=origin)[0] == 403, origin


@pytest.mark.parametrize("era", ["auto", "legacy"])
async def test_https(guarded: Project, tls_files: Path, era: str) -> None:
    """The SDK's client by TLS. CONTRACT: CLI-02."""
    guarded.env |= {
        "DOORWARD_HTTP__CERTIFICATE": str(tls_files / "server.pem"),
        "DOORWARD_HTTP__KEY": str(tls_files / "server.key"),
    }
    trusting = ssl.create_default_context(cafile=str(tls_files / "server.pem"))
    with guarded.http() as (url, _):
        assert url.startswith("https://127.0.0.1:")
        async with (
            httpx2.AsyncClient(
                headers={"Authorization": f"Bearer {guarded.env['TOKEN']}"}, verify=trusting, timeout=60
            ) as http,
            Client(streamable_http_client(url, http_client=http), mode=era) as client,
        ):
            assert await Agent(client).value("6 * 7") == 42
        with pytest.raises(URLError):
            urlopen(url, timeout=10)
        with pytest.raises((URLError, ConnectionError)):
            urlopen(url.replace("https:", "http:"), timeout=10)


async def test_half_of_tls_keeps_nobody_out(guarded: Project, tls_files: Path) -> None:
    """Handshakes that do not go on, plain HTTP, half a request within TLS, and clients that would agree anew
    (CVE-2011-1473)."""
    certificate = str(tls_files / "server.pem")
    guarded.env |= {"DOORWARD_HTTP__CERTIFICATE": certificate, "DOORWARD_HTTP__KEY": str(tls_files / "server.key")}
    guarded.env |= {"DOORWARD_HTTP__CONNECTIONS": "60", "DOORWARD_HTTP__HEADER_TIMEOUT": "5"}
    trusting = ssl.create_default_context(cafile=certificate)
    with guarded.http() as (url, _), ExitStack() as held:
        bad = []
        for n in range(300):
            half = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc"[: n % 9]
            bad.append(held.enter_context(opened(url, b"GET / HTTP/1.1\r\n\r\n" if n % 10 == 9 else half)))
        for _ in range(100):
            bad.append(held.enter_context(trusting.wrap_socket(opened(url), server_hostname="127.0.0.1")))
            bad[-1].sendall(b"POST /mcp HTTP/1.1\r\nHost: ")
        async with (
            httpx2.AsyncClient(
                headers={"Authorization": f"Bearer {guarded.env['TOKEN']}"}, verify=trusting, timeout=60
            ) as http,
            Client(streamable_http_client(url, http_client=http)) as client,
        ):
            assert await Agent(client).value("6 * 7") == 42
        for connection in bad:
            all_of(connection)
    assert len(guarded.said()) < 20_000
    context = Endpoint(config.load(guarded.file, environ=guarded.env), "127.0.0.1", 0).tls()
    assert context is not None
    assert context.options & ssl.OP_NO_RENEGOTIATION
    assert context.minimum_version >= ssl.TLSVersion.TLSv1_2


@pytest.mark.parametrize(
    ("certificate", "key", "says"),
    [
        ("server.pem", "other.key", "together"),
        ("server.pem", "locked.key", "password"),
        ("server.key", "server.key", "together"),
        ("none.pem", "server.key", "cannot be read"),
        ("server.pem", "none.key", "cannot be read"),
        ("server.pem", "", "belong together"),
    ],
)
def test_files_that_do_not_fit_are_said(tls_files: Path, certificate: str, key: str, says: str) -> None:
    file = tls_files / "doorward.toml"
    file.write_text(f'[http]\ncertificate = "{certificate}"\n' + (f'key = "{key}"\n' if key else ""))
    with pytest.raises(ConfigError) as caught:
        Endpoint(config.load(file), "127.0.0.1", 0).tls()
    assert says in f"{caught.value} {caught.value.hint}"


@pytest.mark.parametrize(
    ("table", "says"),
    [
        ('issuer = "http://idp.example.com"', "https"),
        ('issuer = "https://idp.example.com"\nalgorithms = ["HS256"]', "RS256"),
        ('issuer = "https://idp.example.com"\nalgorithms = ["none"]', "RS256"),
        ('issuer = "https://idp.example.com"\nalgorithms = []', "at least 1"),
        ('issuer = "https://idp.example.com/?realm=x"', "without query"),
        ('issuer = "https://idp.example.com"\njwks_url = "http://idp.example.com/keys"', "https"),
    ],
)
def test_an_issuer_that_cannot_be_trusted_is_refused(tmp_path: Path, table: str, says: str) -> None:
    """A key that is shared, or none, and keys that come in plain text: whoever knows them makes tokens."""
    (tmp_path / "doorward.toml").write_text(f"[http.oauth]\n{table}\n")
    with pytest.raises(ConfigError, match=says):
        config.load(tmp_path / "doorward.toml")


def test_web_pages_of_an_origin_may_use_it(guarded: Project) -> None:
    """A preflight has no token, and is answered for the origins of the configuration alone."""
    guarded.env["DOORWARD_HTTP__ORIGINS"] = '["https://app.example.com"]'
    with guarded.http() as (url, _):
        asked = {
            "Access-Control-Request-Method": "POST",
            "Access-Control-Request-Headers": "authorization,mcp-session-id",
        }
        sent = Request(url, headers={"Origin": "https://app.example.com", **asked}, method="OPTIONS")
        with urlopen(sent, timeout=20) as answer:
            assert answer.headers["Access-Control-Allow-Origin"] == "https://app.example.com"
            assert "authorization" in answer.headers["Access-Control-Allow-Headers"]
        with pytest.raises(HTTPError) as refusal:
            urlopen(Request(url, headers={"Origin": "https://evil.example", **asked}, method="OPTIONS"), timeout=20)
        assert "Access-Control-Allow-Origin" not in refusal.value.headers
        assert post(url, guarded.env["TOKEN"], HELLO, Origin="https://app.example.com")[0] == 200
        assert post(url, None, HELLO, Origin="https://app.example.com")[0] == 401
        for path, status in (
            ("/.well-known/oauth-protected-resource/mcp", 404),
            ("/other", 401),
            ("/.well-known/../mcp", 404),
        ):
            assert post(url.replace("/mcp", path))[0] == status, (
                "who looks for a way to log in learns that there is none"
            )
        assert post(url, guarded.env["TOKEN"], HELLO, Origin="https://evil.example")[0] == 403


def test_the_first_token_closes_a_server_that_runs(tmp_path: Path) -> None:
    """And it stays closed when the last one is revoked."""
    project = Forked(tmp_path, LIMITS)
    with project.http() as (url, _):
        assert post(url)[0] == 200
        session = post(url)[1]["mcp-session-id"]
        made = token(project, "alice")
        assert post(url)[0] == 401
        assert post(url, made["token"])[0] == 200
        listing = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
        assert post(url, made["token"], listing, Mcp_Session_Id=session)[0] == 404, "that was `local`'s"
        assert project.run("token", "revoke", made["id"]).returncode == 0
        assert post(url, made["token"])[0] == 401
        assert post(url)[0] == 401


def test_doctor_says_who_may_come_in(guarded: Project) -> None:
    def said() -> str:
        checks = json.loads(guarded.run("doctor", "--json").stdout)["checks"]
        return str([f"{check['check']} {check['advice']}" for check in checks if check["check"].startswith("HTTP")])

    assert "1 token of alice" in said()
    guarded.env["DOORWARD_HTTP__HOST"] = "0.0.0.0"
    assert "every address" in said()


def test_tokens_and_the_file_around_them(tmp_path: Path) -> None:
    """`doorward token` changes nothing else in the file, keeps no token there, and refuses names that mean something
    else."""
    project = Forked(tmp_path, LIMITS + '\n[principals.bob] # mine\nservers = ["a"]   # two\n')
    before = project.file.read_text()
    made = [token(project, name) for name in ("alice", "bob", "ann@example.com")]
    text = project.file.read_text()
    assert all(line in text for line in before.splitlines())
    assert not any(one["token"] in text for one in made)
    assert text.count("sha256:") == 3
    for name in ("local", "*", "a\nb"):
        assert project.run("token", "new", name).returncode == 2
    for ends in ("0d", "yesterday", "2020-01-01"):
        assert project.run("token", "new", "x", "--expires", ends).returncode == 2
    assert project.run("token", "revoke", "nosuch").returncode == 2
    assert project.file.read_text() == text
    for one in made:
        assert project.run("token", "revoke", one["id"]).returncode == 0
    assert "sha256" not in project.file.read_text()
    assert all(line in project.file.read_text() for line in before.splitlines())


@pytest.mark.parametrize("tls", [False, True], ids=["http", "https"])
def test_whoever_watches_is_told_that_it_answers(guarded: Project, tls_files: Path, tls: bool) -> None:
    """`/healthz` says so to anyone, by whatever name it is called, and nothing else; `doorward health` asks it where
    the configuration has it listen."""
    if tls:
        certificate, key = str(tls_files / "server.pem"), str(tls_files / "server.key")
        guarded.env |= {"DOORWARD_HTTP__CERTIFICATE": certificate, "DOORWARD_HTTP__KEY": key}
    with guarded.http() as (url, _):
        guarded.env["DOORWARD_HTTP__PORT"] = url.rpartition(":")[2].partition("/")[0]
        answer = httpx2.get(url.replace("/mcp", "/healthz"), headers={"Host": "10.0.0.7"}, verify=False)
        assert (answer.status_code, answer.text, answer.headers["cache-control"]) == (200, "ok\n", "no-store")
        assert httpx2.get(url.replace("/mcp", "/healthz/"), verify=False).status_code == 401
        asked = guarded.run("health", "--json")
        assert (asked.returncode, json.loads(asked.stdout)["ok"]) == (0, True)
    asked = guarded.run("health", "--json")
    assert (asked.returncode, json.loads(asked.stdout)["ok"]) == (1, False)
    assert "does not answer" in asked.stdout


def test_the_first_start_writes_its_configuration(tmp_path: Path) -> None:
    """`serve --init` writes what the environment says, and serves it; what is edited then is there at the second start,
    without the environment. CONTRACT: DEP-03."""
    project = Forked(tmp_path, LIMITS)
    secret = token(project, "alice")
    hashes = re.findall(r"sha256:[0-9a-f]{64}", project.file.read_text())
    project.file.unlink()
    project.env |= {
        "DOORWARD_PRINCIPALS__ALICE__TOKENS": json.dumps([{"id": secret["id"], "hash": hashes[0]}]),
        "DOORWARD_LIMITS__CALLS": "17",
    }
    with project.http("--init") as (url, _):
        assert (post(url, secret["token"])[0], post(url)[0]) == (200, 401)
        assert f"wrote {project.file}" in project.said()
    project.env = {"HOME": str(tmp_path)}
    project.change("calls = 17", "calls = 18")
    edited = project.file.read_bytes()
    with project.http("--init") as (url, _):
        assert (post(url, secret["token"])[0], post(url)[0]) == (200, 401)
    assert project.file.read_bytes() == edited
