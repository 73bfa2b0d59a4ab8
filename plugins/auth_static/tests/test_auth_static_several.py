"""Several auths of one server, as `auth = [{…}, {…}]` has them, over real HTTP."""

from __future__ import annotations

import base64
import json
import ssl
from collections.abc import AsyncGenerator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx2
import pytest
from doorward import ConfigError, ServerError, Settings
from doorward.servers.auths import Auths
from doorward_testing import Host

from .conftest import Api

NOBODY = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""Whom clients on loopback trust: reading the authorities of this machine takes 20 ms for each client."""

pytestmark = pytest.mark.anyio
KEY, APP, PASSWORD = "k3y-of-the-door", "id-of-the-app", "p4ssword-of-me"


class Fetching:
    """An auth as OAuth plugins are: it fetches a token on its own account, and another one when that is refused."""

    Settings = Settings

    def __init__(self, context: Any) -> None:
        self._url = context.url

    def create_auth(self) -> httpx2.Auth:
        url = self._url

        class Flow(httpx2.Auth):
            async def async_auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
                request.headers["X-Fetched"] = "old"
                response = yield request
                if response.status_code == 401:
                    assert (yield httpx2.Request("GET", f"{url}/token")).status_code == 200
                    request.headers["X-Fetched"] = "new"
                    yield request

        return Flow()


KEYED = f'{{ type = "api_key", name = "X-Api-Key", value = "{KEY}" }}'
APPED = f'{{ type = "api_key", name = "X-App-Id", value = "{APP}" }}'
QUERIED = f'{{ type = "api_key", name = "app id", value = "{APP}", in = "query" }}'
BASIC = f'{{ type = "basic", username = "me", password = "{PASSWORD}" }}'
FETCHED = '{ type = "fetching" }'
SENT = {
    KEYED: ("x-api-key", KEY),
    APPED: ("x-app-id", APP),
    BASIC: ("authorization", "Basic " + base64.b64encode(f"me:{PASSWORD}".encode()).decode()),
    FETCHED: ("x-fetched", "new"),
}


async def asked(door: Api, host: Host, auths: list[str], path: str = "/x") -> Any:
    """What the API saw last, asked with these auths."""
    url = f"http://127.0.0.1:{door.server_port}"
    host.install_real("openapi", "api_key", "basic")
    host.install("auth", "fetching", Fetching)
    config = f'[servers.api]\nsource = "openapi"\nspec = "x.json"\nauth = [{", ".join(auths)}]\n'
    async with host.gateway(config, compile=False) as gate:
        made = Auths(gate.loaded, gate.plugins, gate.principals, gate.state)
        auth = made.open(gate.servers.configured["api"], SimpleNamespace(base_url=url))
        async with httpx2.AsyncClient(auth=auth, verify=NOBODY, follow_redirects=False) as client:
            response = await client.get(url + path)
            if response.is_redirect:  # a source that follows it makes a new request
                response = await client.get(response.headers["Location"])
            answer = response.json()
        scrubbed = gate.secrets.scrub(json.dumps(answer))
    assert not any(value in scrubbed for value in (KEY, APP, PASSWORD))
    return {"path": answer["path"], **{key.lower(): value for key, value in answer["headers"].items()}}


@pytest.mark.parametrize(
    "auths",
    [
        [KEYED, BASIC],
        [KEYED, APPED],
        [BASIC, KEYED, APPED],
        [FETCHED, KEYED],
        [KEYED, FETCHED],
        [APPED, FETCHED, BASIC, KEYED],
    ],
    ids=lambda auths: f"{len(auths)}",
)
async def test_all_are_sent(door: Api, tmp_path: Path, auths: list[str]) -> None:
    """Each adds its own, in whatever order; when one renews its credential after a 401 the others are there again, and
    the request for a token carries none of them. CONTRACT: AUT-01."""
    got = await asked(door, Host(tmp_path), auths)
    assert {SENT[auth][0]: got.get(SENT[auth][0]) for auth in auths} == dict(SENT[auth] for auth in auths)
    tokens = [headers for path, headers in door.seen if path == "/token"]
    assert len(tokens) == (FETCHED in auths)
    assert not any(value in str(tokens) for value in (KEY, APP, PASSWORD))


async def test_a_key_in_the_query_and_one_in_a_header(door: Api, tmp_path: Path) -> None:
    """What one changes of the URL, the next one sees."""
    got = await asked(door, Host(tmp_path), [QUERIED, KEYED], "/x?a=1")
    assert (got["path"], got["x-api-key"]) == (f"/x?a=1&app%20id={APP}", KEY)


@pytest.mark.parametrize("auths", [[KEYED], [KEYED, BASIC], [FETCHED, APPED], [APPED, KEYED, QUERIED]], ids=len)
async def test_none_of_them_goes_elsewhere(door: Api, tmp_path: Path, auths: list[str]) -> None:
    """A request to another origin, where a redirect leads, is not made. CONTRACT: AUT-12."""
    with pytest.raises(ServerError, match="were not sent to http://localhost"):
        await asked(door, Host(tmp_path), auths, "/away")
    assert [path for path, _ in door.seen if path.startswith("/stolen")] == []


async def test_a_list_without_a_type_is_refused(door: Api, tmp_path: Path) -> None:
    """The one that is wrong is named by its number."""
    with pytest.raises(ConfigError, match="auth 2: has no type"):
        await asked(door, Host(tmp_path), [KEYED, '{ token = "x" }'])
