"""Who comes in over HTTP, attacked: tokens that are none, and principals who try for what belongs to another."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import hmac
import json
import re
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

import anyio
import httpx2
import mcp_types as t
import pytest
from mcp import MCPError
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client

from .conftest import LIMITS, SHELF
from .forked import Forked, script
from .issuer import Issuer
from .product import Agent, Api, Project, until
from .test_asking import SERVER, STDIO, person
from .test_http import HELLO

pytestmark = pytest.mark.anyio
ERAS = ("auto", "legacy")
AUDIENCE = "https://doorward.test/mcp"
HTTP = """
[http.oauth]
issuer = "{issuer}"
audience = ["{audience}"]
scopes = ["use"]

[principals.bob]
servers = ["stdio_*"]
"""
EXPOSE = 'expose = ["getItem"]\nskills = "guide.md"\n'


def token(project: Project, name: str, *options: str) -> dict[str, Any]:
    """What `doorward token new` made."""
    ran = project.run("token", "new", name, "--json", *options)
    assert ran.returncode == 0, ran.stderr
    return dict(json.loads(ran.stdout))


def hash_of(token: str) -> str:
    return "sha256:" + hashlib.sha256(token.encode()).hexdigest()


def post(url: str, token: str | None = None, body: Any = HELLO, **headers: str) -> tuple[int, dict[str, str], str]:
    """Status, headers and body of a POST."""
    sent = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    sent |= {"Authorization": f"Bearer {token}"} if token is not None else {}
    sent |= {name.replace("_", "-"): value for name, value in headers.items()}
    try:
        with urlopen(Request(url, json.dumps(body).encode(), sent), timeout=20) as answer:
            return answer.status, {k.lower(): v for k, v in answer.headers.items()}, answer.read().decode()
    except HTTPError as error:
        return error.code, {k.lower(): v for k, v in error.headers.items()}, error.read().decode()


@contextlib.asynccontextmanager
async def connected(
    url: str, token: str, era: str, auth: httpx2.Auth | None = None, **callbacks: Any
) -> AsyncIterator[Agent]:
    """The SDK's client with a token, or with something that gets one."""
    async with (
        httpx2.AsyncClient(
            headers={"Authorization": f"Bearer {token}"} if token else {}, auth=auth, timeout=60
        ) as http,
        Client(streamable_http_client(url, http_client=http), mode=era, read_timeout_seconds=60, **callbacks) as client,
    ):
        yield Agent(client)


@dataclass
class Served:
    """A server that asks for tokens: those of alice and bob in its configuration, and any that the issuer makes."""

    project: Project
    url: str
    issuer: Issuer
    alice: str
    bob: str

    def made(self, subject: Any = "carol", **other: Any) -> str:
        return self.issuer.token(subject, **{"audience": AUDIENCE, **other})

    def status(self, token: str | None, **headers: str) -> int:
        return post(self.url, token, **headers)[0]


@pytest.fixture(scope="module")
def issuer() -> Iterator[Issuer]:
    with Issuer() as issuer:
        yield issuer


@pytest.fixture(scope="module")
def served(api: Api, issuer: Issuer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    asks = STDIO.format(era="modern", command=json.dumps(script(SERVER, "stdio")))
    config = LIMITS + HTTP.format(issuer=issuer.url, audience=AUDIENCE) + SHELF.format(url=api.url) + EXPOSE + asks
    project = Forked(tmp_path_factory.mktemp("guarded"), config)
    project.env["DOORWARD_DEBUG"] = "1"
    (project.folder / "guide.md").write_text("# The shelf\nThere are items.\n")
    alice, bob = token(project, "alice"), token(project, "bob")
    compiled = project.run("compile")
    assert compiled.returncode == 0, compiled.stderr
    with project.http() as (url, _):
        yield Served(project, url, issuer, alice["token"], bob["token"])


# Tokens


def test_good_tokens_come_in(served: Served) -> None:
    """Static ones, and access tokens by the issuer's key. CONTRACT: SEC-11."""
    served.issuer.add_key("curve", curve=True)
    for good in (served.alice, served.bob, served.made()):
        assert served.status(good) == 200
    assert served.status(served.made(kind="JWT", aud=["other", AUDIENCE])) == 200
    assert served.status(served.made(exp=int(time.time()) - 30, nbf=int(time.time()) + 30)) == 200, "clocks differ"
    assert served.status(served.made(scope=None, scp=["use"])) == 200
    assert served.status(served.made(kind="JWT", scope=None, scp="use", azp=AUDIENCE, ver="2.0")) == 200, (
        "its own API, with Entra ID"
    )
    assert (
        served.status(served.made(kind="JWT", azp=None, cid="app", scope=None, scp=["use"], auth_time=int(time.time())))
        == 200
    ), "Okta"
    assert served.status(served.made(kind="JWT", typ="Bearer", azp=AUDIENCE, auth_time=int(time.time()))) == 200, (
        "Keycloak"
    )
    assert served.status(served.made(kind="JWT", azp=None)) == 200, "one with scopes"
    assert re.fullmatch(r"doorward_[\w-]{43}", served.alice)


def test_bad_tokens_do_not(served: Served) -> None:
    """CONTRACT: SEC-11."""
    now = int(time.time())
    strange = Issuer()
    strange.down()
    head, payload = (base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in (
        {"alg": "HS256", "kid": "one", "typ": "at+jwt"},
        {"iss": served.issuer.url, "aud": AUDIENCE, "sub": "carol", "exp": now + 300, "scope": "use"},
    ))  # fmt: skip
    signature = hmac.new(served.issuer.public_pem(), f"{head}.{payload}".encode(), hashlib.sha256).digest()
    confused = f"{head}.{payload}.{base64.urlsafe_b64encode(signature).decode().rstrip('=')}"
    bad = {
        "none": None,
        "empty": "",
        "another": "doorward_" + "a" * 43,
        "begun": served.alice[:-1],
        "its hash": hashlib.sha256(served.alice.encode()).hexdigest(),
        "odd": "\u00ff.\u00fe.x",
        "long": "a." * 6000,
        "unsigned": served.made(key="", alg="none"),
        "signed with the public key": confused,
        "signed by another": served.made(key=strange.private["one"]),
        "for another": served.made(audience="https://other.test/mcp"),
        "for the same and more": served.made(audience=AUDIENCE + "/x"),
        "for nobody": served.made(audience=None),
        "by another": served.made(iss="http://127.0.0.1/realm"),
        "by nobody": served.made(iss=None),
        "ended": served.made(exp=now - 100),
        "without end": served.made(exp=None),
        "not yet": served.made(nbf=now + 100),
        "of an odd end": served.made(exp="soon"),
        "an ID token": served.made(kind="JWT", nonce="n", at_hash="h"),
        "an ID token of Keycloak": served.made(kind="JWT", typ="ID"),
        "an ID token without nonce": served.made(kind="JWT", azp=None, scope=None),
        "one without typ": served.made(
            kind=None, azp=None, scope=None, auth_time=now, acr="1", amr=["pwd"], name="Carol"
        ),
        "one that names its client": served.made(kind="JWT", azp=AUDIENCE, scope=None, auth_time=now),
        "one for several": served.made(kind="JWT", azp=AUDIENCE, aud=["other", AUDIENCE]),
        "one with a scope": served.made(kind="JWT", client_id=AUDIENCE, azp=None),
        "one of Cognito": served.made(kind="JWT", token_use="id"),
        "one of Entra ID": served.made(kind="JWT", azp=None, scope=None, roles=["use"], oid="1", ver="2.0"),
        "a logout token without typ": served.made(
            kind="JWT", events={"http://schemas.openid.net/event/backchannel-logout": {}}
        ),
        "a logout token": served.made(kind="logout+jwt"),
        "bound to a key": served.made(cnf={"jkt": "x"}),
        "key of another kind": served.made(kid="odd", key=served.issuer.private["one"]),
    }
    wrong = {name: status for name, each in bad.items() if (status := served.status(each)) not in (401,)}
    assert wrong == {}
    for subject in ("", "local", "*", "a" * 201, "a\nb", None, 7, ["carol"], "a\u202eb"):
        assert served.status(served.made(subject)) == 401, subject


def test_scopes_are_wanted(served: Served) -> None:
    """RFC 6750: 403 with what is missing; the MCP specification (2025-11-25, basic/authorization) wants `scope`
    said."""
    for scope in ("", "openid", "used", None):
        status, headers, body = post(served.url, served.made(scope=scope))
        assert status == 403
        assert "insufficient_scope" in body
        assert 'scope="use"' in headers["www-authenticate"]


def test_a_refusal_says_where_to_log_in(served: Served) -> None:
    """401 names the metadata (RFC 9728), which names the issuer; both by the configured URL, whatever `Host` says."""
    status, headers, _ = post(served.url)
    assert status == 401
    found = re.search(r'resource_metadata="([^"]+)"', headers["www-authenticate"])
    assert found is not None
    with urlopen(found[1]) as answer:
        metadata = json.load(answer)
    assert metadata["resource"] == served.url
    assert metadata["authorization_servers"] == [served.issuer.url]
    assert metadata["scopes_supported"] == ["use"]
    assert 'scope="use"' in headers["www-authenticate"]


def test_a_token_in_the_query_is_none(served: Served) -> None:
    for name in ("access_token", "token", "authorization"):
        assert post(f"{served.url}?{name}={served.alice}")[0] == 401
    assert post(served.url, None, {**HELLO, "access_token": served.alice})[0] == 401
    assert served.status(None, Authorization=f"Basic {served.alice}") == 401
    assert served.status(None, Cookie=f"Authorization=Bearer {served.alice}") == 401


def test_two_tokens_are_none(served: Served) -> None:
    """A proxy might have looked at the other one (RFC 9110, section 5.3)."""
    at = urlsplit(served.url)
    for other in (served.bob, served.alice, "none"):
        link = HTTPConnection(at.hostname or "", at.port, timeout=20)
        link.putrequest("POST", at.path)
        for name, value in (
            ("Content-Type", "application/json"),
            ("Authorization", served.alice),
            ("authorization", other),
        ):
            link.putheader(name, f"Bearer {value}" if name.lower() == "authorization" else value)
        link.endheaders()
        assert link.getresponse().status == 400
        link.close()


def test_hosts_and_origins_are_looked_at_with_a_token_too(served: Served) -> None:
    """CONTRACT: SEC-11."""
    assert served.status(served.alice, Host="evil.example") == 421
    assert served.status(served.alice, Origin="https://evil.example") == 403
    assert served.status(served.alice, X_Forwarded_Host="evil.example", X_Forwarded_For="127.0.0.1") == 200
    assert served.status(None, X_Forwarded_User="alice", X_Forwarded_For="127.0.0.1") == 401


def test_made_revoked_and_ended_while_it_runs(served: Served) -> None:
    """`doorward token` works on a server that runs: no restart. What ends, ends."""
    made = token(served.project, "dave")
    assert served.status(made["token"]) == 200
    ran = served.project.run("token", "revoke", made["id"])
    assert ran.returncode == 0, ran.stderr
    assert served.status(made["token"]) == 401
    brief = token(served.project, "dave", "--expires", "8s")
    assert served.status(brief["token"]) == 200
    assert until(lambda: served.status(brief["token"]) == 401)
    listed = json.loads(served.project.run("token", "list", "--json").stdout)["tokens"]
    assert {each["principal"]: each["expired"] for each in listed} == {"alice": False, "bob": False, "dave": True}
    assert served.status(served.alice) == 200


def test_what_the_file_says_else_waits_for_a_restart(served: Served) -> None:
    """A token of somebody whose rights are not known yet is not taken: it could open more than it should. A file that
    cannot be read changes nothing."""
    before = served.project.file.read_text()
    try:
        new = token(served.project, "erin")["token"]
        assert served.status(new) == 200
        served.project.file.write_text(before)
        assert served.status(new) == 401
        made = "doorward_" + "b" * 43
        table = f'\n[principals.fred]\nservers = []\ntokens = [{{ id = "x", hash = "{hash_of(made)}" }}]\n'
        served.project.file.write_text(before + table)
        assert served.status(made) == 401
        stolen = f'\n[principals.fred]\nservers = []\ntokens = [{{ id = "y", hash = "{hash_of(served.alice)}" }}]\n'
        served.project.file.write_text(before.replace(hash_of(served.alice), hash_of("x")) + stolen)
        assert served.status(served.alice) == 401, "nor one that changes hands"
        assert "token_needs_restart" in served.project.said()
        served.project.file.write_text(before)
        assert served.status(served.alice) == 200
        served.project.file.write_text(before + "\nnonsense [")
        assert served.status(served.alice) == 200
        assert served.status(made) == 401
    finally:
        served.project.file.write_text(before)


def test_keys_change_and_strangers_make_no_work(served: Served) -> None:
    """A token with a new key makes us ask once; a thousand with keys that do not exist do not."""
    issuer = served.issuer
    assert served.status(served.made()) == 200
    asked = len(issuer.asked)
    stranger = Issuer()
    stranger.down()
    for n in range(100):
        assert served.status(served.made(kid=f"no-{n}", key=stranger.private["one"])) == 401
    assert len(issuer.asked) - asked <= 4, "one look at the metadata and the keys"


def test_no_log_line_holds_a_token(served: Served) -> None:
    """Whatever happened above; everything is logged."""
    made = served.made()
    assert served.status(made) == 200
    assert served.status("doorward_" + "w" * 43) == 401
    said = served.project.said()
    assert "token_refused" in said
    assert served.alice not in said
    assert served.bob not in said
    assert "eyJ" not in said
    assert made not in served.project.said()


# Principals


@pytest.mark.parametrize("era", ERAS)
async def test_each_sees_what_is_theirs(served: Served, era: str) -> None:
    """Tools, instructions, resources, functions and programs: bob has no shelf."""
    async with connected(served.url, served.alice, era) as alice, connected(served.url, served.bob, era) as bob:
        for agent, has in ((alice, True), (bob, False)):
            client = agent.client
            listed = await client.list_tools()
            assert listed.cache_scope == "private"
            tools = [tool.name for tool in listed.tools]
            assert ("shelf_get_item" in tools) == has
            assert ("shelf" in (client.instructions or "")) == has
            assert "search_functions" in (client.instructions or "")
            assert ("skills://shelf" in [str(r.uri) for r in (await client.list_resources()).resources]) == has
            named = [server["name"] for server in (await agent.call("list_servers"))["servers"]]
            assert named == (["shelf", "stdio_modern"] if has else ["stdio_modern"])
            found = await agent.call("search_functions", query="item of the shelf")
            assert any("shelf" in f["function"] for f in found["functions"]) == has
            assert ("signature" in str(await agent.call("get_functions", functions=["shelf.get_item"])) or has) == has
            assert (await agent.run("import shelf\nshelf.get_item(id=1)['id']"))["ok"] == has
            assert ("shelf" in (await client.read_resource("doorward://capabilities")).contents[0].text) == has
            direct = await client.call_tool("shelf_get_item", {"id": 7})
            assert bool(direct.is_error) != has
        for uri in ("skills://shelf", "doorward://functions/shelf/get_item"):
            await alice.client.read_resource(uri)
            with pytest.raises(MCPError):
                await bob.client.read_resource(uri)


@pytest.mark.parametrize("era", ERAS)
async def test_what_one_has_another_cannot_name(served: Served, era: str) -> None:
    """Sessions, kept programs and results, with ids that leaked. The issuer's alice is the same as the
    configuration's. CONTRACT: EXE-09."""
    async with connected(served.url, served.alice, era) as alice, connected(served.url, served.bob, era) as bob:
        mine = await alice.run("secret = 41\nsecret", session_id="new")
        kept = await alice.run("n = 7\nresult = n * 6")
        large = await alice.run("result = ['x' * 100] * 5000")
        uri = large["truncated"]["rest"]
        for other in (bob,):
            assert "no session" in str((await other.run("secret", session_id=mine["session_id"]))["error"]).lower()
            tried = await other.call("run_cached_code", cache_id=kept["cache_id"])
            assert not tried["ok"], tried
            assert (await other.run("data = ''\ndata", params={"data": uri})).get("value") in (None, uri), (
                "not what it names"
            )
            with pytest.raises(MCPError, match="not found"):
                await other.client.read_resource(uri)
        async with connected(served.url, served.made("alice"), era) as herself:
            assert await herself.value("secret + 1", session_id=mine["session_id"]) == 42
            assert (await herself.call("run_cached_code", cache_id=kept["cache_id"]))["value"] == 42
            assert (await herself.client.read_resource(uri)).contents
        assert await alice.value("secret + 1", session_id=mine["session_id"]) == 42


def test_an_http_session_is_its_owners(served: Served) -> None:
    """The older era's `mcp-session-id` with another's token is unknown, for each method."""
    _, headers, _ = post(served.url, served.alice)
    session = headers["mcp-session-id"]
    listing = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
    named = {"Mcp_Session_Id": session, "Mcp_Protocol_Version": "2025-06-18"}
    assert post(served.url, served.alice, {"jsonrpc": "2.0", "method": "notifications/initialized"}, **named)[0] == 202
    for other in (served.bob, served.made("carol")):
        assert post(served.url, other, listing, **named)[0] == 404
        for method in ("GET", "DELETE"):
            sent = {
                "Authorization": f"Bearer {other}",
                "Accept": "text/event-stream",
                **{k.replace("_", "-"): v for k, v in named.items()},
            }
            with pytest.raises(HTTPError) as refused:
                urlopen(Request(served.url, headers=sent, method=method), timeout=20)
            assert refused.value.code == 404
    assert post(served.url, None, listing, **named)[0] == 401
    assert post(served.url, served.alice, listing, **named)[0] == 200


async def test_a_parked_run_is_its_owners(served: Served) -> None:
    """A `requestState` that leaked, and one that is guessed, go on with nothing; its owner goes on."""
    code = "import stdio_modern as it\nit.ask()['action']"
    call: dict[str, Any] = {"name": "execute_code", "arguments": {"code": code}}
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "x", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}},
    }

    def ask(token: str, **more: Any) -> Any:
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {**call, "_meta": meta, **more}}
        named = {"Mcp_Protocol_Version": "2026-07-28", "Mcp_Method": "tools/call", "Mcp_Name": "execute_code"}
        answer = post(served.url, token, body, **named)[2]
        return json.loads(answer.partition("data: ")[2].splitlines()[0] if "data: " in answer else answer)

    def tried(token: str, state: str) -> Any:
        given = {"1": {"action": "accept", "content": {"name": "x"}}}
        return ask(token, requestState=state, inputResponses=given)

    asked = (await anyio.to_thread.run_sync(ask, served.alice))["result"]
    assert asked["resultType"] == "input_required", asked
    state = asked["requestState"]
    for other in (served.bob, served.made("carol")):
        refused = await anyio.to_thread.run_sync(tried, other, state)
        assert refused["error"]["code"] == t.INVALID_PARAMS
    assert "error" in await anyio.to_thread.run_sync(tried, served.alice, state[:-4] + "AAAA")
    answered = await anyio.to_thread.run_sync(tried, served.alice, state)
    assert answered["result"]["structuredContent"]["value"] == "accept"


@pytest.mark.parametrize("era", ERAS)
async def test_who_is_asked_is_who_asked(served: Served, era: str) -> None:
    """Questions in both eras go to the one whose program it is."""
    async with connected(served.url, served.bob, era, elicitation_callback=person) as bob:
        assert await bob.value("import stdio_modern as it\nit.ask()['action']") == "accept"


# The issuer


def test_an_issuer_that_is_down(api: Api, tmp_path: Path) -> None:
    """Clear refusal while its keys are unknown, and recovery; keys that are known go on working. Static tokens never
    mind."""
    with Issuer() as issuer:
        issuer.down()
        project = Forked(tmp_path, LIMITS + HTTP.format(issuer=issuer.url, audience=AUDIENCE))
        alice = token(project, "alice")["token"]
        with project.http() as (url, _):
            good = issuer.token(audience=AUDIENCE)
            status, headers, body = post(url, good)
            assert status == 503
            assert int(headers["retry-after"]) > 0
            assert "authorization server" in body
            assert post(url, alice)[0] == 200
            assert post(url, "x")[0] == 401
            issuer.up()
            assert until(lambda: post(url, good)[0] == 200)
            issuer.down()
            assert post(url, issuer.token("dan", audience=AUDIENCE))[0] == 200
            assert post(url, issuer.token(audience=AUDIENCE, exp=1))[0] == 401


def test_metadata_of_another_issuer_is_refused(tmp_path: Path) -> None:
    """RFC 8414, section 3.3: who can put a document there could be anybody otherwise."""
    with Issuer() as issuer:
        issuer.claimed = "https://other.example"
        project = Forked(tmp_path, LIMITS + HTTP.format(issuer=issuer.url, audience=AUDIENCE))
        with project.http() as (url, _):
            assert post(url, issuer.token(audience=AUDIENCE))[0] == 503
            assert "another issuer" in project.said()


def test_the_audience_is_this_endpoint_if_nothing_else_is_said(tmp_path: Path) -> None:
    """And the principal may be another claim."""
    with Issuer() as issuer:
        project = Forked(
            tmp_path,
            LIMITS + f'\n[http.oauth]\nissuer = "{issuer.url}"\nprincipal = "email"\njwks_url = "{issuer.url}/keys"\n',
        )
        with project.http() as (url, _):
            assert post(url, issuer.token(audience=url, email="a@b.example"))[0] == 200
            assert post(url, issuer.token(audience=url))[0] == 401, "no such claim"
            assert post(url, issuer.token(audience=AUDIENCE, email="a@b.example"))[0] == 401
            assert issuer.asked == ["/realm/keys"]
