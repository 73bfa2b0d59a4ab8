"""Keycloak, an identity provider: started on loopback with a realm of its own, and what its administrator can do to it.

The realm `doorward` has a client for each way to get a token, and the users `alice` and `bob`; `CLIENTS` and
`PASSWORDS` are what they log in with. Tests use the fixture `keycloak`: it has the realm as it was made, whatever the
test before did to it.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import socket
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
from doorward_testing import reserve_port

from .guarded import AUDIENCE, key_pair
from .peer import CACHE, absent, program, running

SCOPES = ("read", "write")
"""What a client may ask for besides `openid`, `offline_access` …"""
LIFESPAN = 300
"""Seconds that access tokens live; `lifespan` changes it."""
SECRET = "keycloak-client-secret-2f9d1c"
"""The secret of every confidential client."""
PASSWORDS = {"alice": "alice-password-77ab", "bob": "bob-password-81cd"}
KEY, _PUBLIC = key_pair()
"""The key of the client `signed`."""

CLIENTS: dict[str, dict[str, Any]] = {
    "service": {"serviceAccountsEnabled": True},
    "signed": {
        "serviceAccountsEnabled": True,
        "clientAuthenticatorType": "client-jwt",
        "attributes": {"use.jwks.string": "true", "jwks.string": json.dumps({"keys": [_PUBLIC]})},
    },
    "legacy": {"directAccessGrantsEnabled": True},
    "browser": {
        "publicClient": True,
        "standardFlowEnabled": True,
        "redirectUris": ["http://127.0.0.1/*"],  # any port, as RFC 8252 has it
        "attributes": {"pkce.code.challenge.method": "S256"},
    },
    "device": {"publicClient": True, "attributes": {"oauth2.device.authorization.grant.enabled": "true"}},
    "exchange": {"serviceAccountsEnabled": True, "attributes": {"standard.token.exchange.enabled": "true"}},
    "target": {},
}
"""By client id, what is special about it. Tokens of all clients may be given to `exchange`, whose own may be for
`target`."""

_EVENTS = ["CLIENT_LOGIN", "CODE_TO_TOKEN", "LOGIN", "LOGOUT", "REFRESH_TOKEN", "REVOKE_GRANT", "TOKEN_EXCHANGE"]
_EVENTS += ["OAUTH2_DEVICE_AUTH", "OAUTH2_DEVICE_CODE_TO_TOKEN"]


class Front:
    """Passes each connection to one port of loopback on to another one, while it is open."""

    def __init__(self) -> None:
        self.port, self.behind = reserve_port(), reserve_port()
        self._listening: socket.socket | None = None
        self._connected: set[socket.socket] = set()

    def open(self) -> None:
        self._listening = socket.create_server(("127.0.0.1", self.port), backlog=512)
        threading.Thread(target=self._accept, args=(self._listening,), daemon=True).start()

    def close(self) -> None:
        if self._listening is not None:
            for each in (self._listening, *self._connected):
                with contextlib.suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)
            self._listening.close()
        self._listening = None

    def _accept(self, listening: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                here, _ = listening.accept()
                there = socket.create_connection(("127.0.0.1", self.behind))
                for pair in ((here, there), (there, here)):
                    self._connected.add(pair[0])
                    threading.Thread(target=self._pass_on, args=pair, daemon=True).start()

    def _pass_on(self, source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(2**16):
                sink.sendall(data)
        with contextlib.suppress(OSError):
            sink.shutdown(socket.SHUT_WR)
        self._connected.discard(source)


class Keycloak:
    """A server in a folder of its own, behind a front at its address."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._process = folder, contextlib.ExitStack()
        self._changed: set[str] = set()
        self._front = Front()
        self._administrator = ("", float("-inf"))
        self.url = f"http://127.0.0.1:{self._front.port}"
        self.issuer = f"{self.url}/realms/doorward"
        self.token_url = f"{self.issuer}/protocol/openid-connect/token"
        self.jwks_url = f"{self.issuer}/protocol/openid-connect/certs"
        self._http = httpx2.Client(base_url=self.url, timeout=60, trust_env=False)

    # The process

    def start(self) -> None:
        """Start it. What it calls its address is that of the front."""
        server = CACHE / "keycloak/server/bin/kc.sh"
        if not (CACHE / "keycloak/ready").exists():
            absent("Keycloak")
        program("java")
        options = {
            "http-enabled": "true",
            "http-host": "127.0.0.1",
            "http-port": self._front.behind,
            "hostname": self.url,
            "cache": "local",
            "db-url": f"jdbc:h2:file:{self._folder}/h2;NON_KEYWORDS=VALUE;DB_CLOSE_ON_EXIT=FALSE",
        }
        command = [str(server), "start", "--optimized", *(f"--{name}={value}" for name, value in options.items())]
        environ = {
            "KC_BOOTSTRAP_ADMIN_CLIENT_ID": "admin",
            "KC_BOOTSTRAP_ADMIN_CLIENT_SECRET": SECRET,
            "JAVA_OPTS_KC_HEAP": "-Xms64m -Xmx512m",
            "JAVA_OPTS_GC": "-XX:+UseSerialGC",
            "JAVA_OPTS_APPEND": f"-XX:TieredStopAtLevel=1 -Djava.io.tmpdir={self._folder}",  # it starts quicker
        }
        self._process.enter_context(running(command, self._folder, self._ready, **environ))
        self._front.open()
        self._process.callback(self._front.close)

    def stop(self) -> None:
        self._process.close()

    @contextlib.contextmanager
    def down(self) -> Iterator[None]:
        """Nothing listens at its address for the length of a block, and what was connected is not any more. (It runs on
        behind its front: another start of it takes as long as several tests.)"""
        self._front.close()
        try:
            yield
        finally:
            self._front.open()

    def _ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self._front.behind}/realms/master", timeout=5) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    # What its administrator does

    def admin(self, method: str, path: str, value: Any = None, **params: Any) -> Any:
        """Ask the admin REST API about the realm; "" is the realm itself. Raises: httpx2.HTTPStatusError."""
        return self._asked(method, f"/admin/realms/doorward{path}", value, **params)

    def administrator(self) -> str:
        """The administrator's token, of the realm `master`."""
        data = {"grant_type": "client_credentials", "client_id": "admin", "client_secret": SECRET}
        answer = self._http.post("/realms/master/protocol/openid-connect/token", data=data).raise_for_status()
        return str(answer.json()["access_token"])

    def _asked(self, method: str, path: str, value: Any = None, **params: Any) -> Any:
        token, got = self._administrator
        if time.monotonic() > got + 20:  # it lives for a minute
            token, got = self._administrator = self.administrator(), time.monotonic()
        headers = {"Authorization": f"Bearer {token}"}
        answer = self._http.request(method, path, json=value, params=params, headers=headers)
        answer.raise_for_status()
        return answer.json() if answer.content else None

    def make(self) -> None:
        """Make the realm."""
        realm = {
            "realm": "doorward",
            "enabled": True,
            "accessTokenLifespan": LIFESPAN,
            "revokeRefreshToken": True,  # a refresh token is used once
            "bruteForceProtected": True,  # two wrong passwords lock an account, as two at once do
            "failureFactor": 2,
            "oauth2DevicePollingInterval": 1,
            "eventsEnabled": True,
            "enabledEventTypes": [name for event in _EVENTS for name in (event, f"{event}_ERROR")],
            "users": [_user(name, password) for name, password in PASSWORDS.items()],
        }
        self._asked("POST", "/admin/realms", realm)
        for name in SCOPES:
            scope = {"name": name, "protocol": "openid-connect", "attributes": {"include.in.token.scope": "true"}}
            self.admin("POST", "/client-scopes", scope)
        for scope in self.admin("GET", "/client-scopes"):
            if scope["name"] in SCOPES:
                self.admin("PUT", f"/default-optional-client-scopes/{scope['id']}")
        for name in CLIENTS:
            self.admin("POST", "/clients", _client(name))

    def reset(self) -> None:
        """The realm as it was made: nobody is logged in, there are no events, and what was changed by the methods below
        is undone."""
        for name in self._changed:
            self.admin("DELETE", f"/clients/{self._client(name)['id']}")
            self.admin("POST", "/clients", _client(name))
        self._changed.clear()
        self.lifespan(LIFESPAN)
        for user in PASSWORDS:
            self.log_out(user)
        self.admin("DELETE", "/attack-detection/brute-force/users")
        self.admin("DELETE", "/events")

    def _client(self, name: str) -> dict[str, Any]:
        (known,) = self.admin("GET", "/clients", clientId=name)
        return dict(known)

    def lifespan(self, seconds: int) -> None:
        """How long access tokens live that are given from now on."""
        self.admin("PUT", "", {"accessTokenLifespan": seconds})

    def change(self, client: str, **values: Any) -> None:
        """Change a client, as `CLIENTS` describes it: `enabled=False` turns it off, `secret="…"` gives it another
        secret."""
        known = self._client(client)
        self.admin("PUT", f"/clients/{known['id']}", {**known, **values})
        self._changed.add(client)

    def audience(self, client: str, audience: str) -> None:
        """For whom the access tokens of a client are, besides other clients."""
        known = self._client(client)
        (mapper,) = (one for one in known["protocolMappers"] if one["name"] == "audience")
        mapper["config"]["included.custom.audience"] = audience
        self.admin("PUT", f"/clients/{known['id']}/protocol-mappers/models/{mapper['id']}", mapper)
        self._changed.add(client)

    def log_out(self, user: str) -> None:
        """End all sessions of a user: refresh tokens are refused from now on."""
        (known,) = self.admin("GET", "/users", username=user, exact=True)
        self.admin("POST", f"/users/{known['id']}/logout")

    def events(self, *types: str) -> list[dict[str, Any]]:
        """What happened since `reset`, the newest first: `CLIENT_LOGIN`, `CODE_TO_TOKEN`, `REFRESH_TOKEN`,
        `LOGIN_ERROR` …"""
        return list(self.admin("GET", "/events", type=types, max=10_000))

    # What a client does, without Doorward

    def grant(self, client: str, grant_type: str, **data: str) -> Any:
        """The answer of the token endpoint, whatever it is."""
        secret = {} if CLIENTS[client].get("publicClient") else {"client_secret": SECRET}
        return self._http.post(
            self.token_url, data={"grant_type": grant_type, "client_id": client, **secret, **data}
        ).json()


def _user(name: str, password: str) -> dict[str, Any]:
    return {
        "username": name,
        "enabled": True,
        "email": f"{name}@example.com",
        "emailVerified": True,
        "firstName": name.title(),
        "lastName": "Example",
        "realmRoles": ["default-roles-doorward"],
        "credentials": [{"type": "password", "value": password, "temporary": False}],
    }


def _client(name: str) -> dict[str, Any]:
    audiences = {"audience": ("custom", AUDIENCE)}
    audiences |= {"exchange": ("client", "exchange")} if name != "target" else {}
    audiences |= {"target": ("client", "target")} if name == "exchange" else {}
    return {
        "clientId": name,
        "secret": SECRET,
        "standardFlowEnabled": False,
        "protocolMappers": [
            {
                "name": mapper,
                "protocol": "openid-connect",
                "protocolMapper": "oidc-audience-mapper",
                "config": {f"included.{kind}.audience": value, "access.token.claim": "true"},
            }
            for mapper, (kind, value) in audiences.items()
        ],
        **CLIENTS[name],
    }


@contextlib.contextmanager
def keycloak(folder: Path) -> Iterator[Keycloak]:
    """Keycloak with its realm, until the end of the block."""
    server = Keycloak(folder)
    try:
        server.start()
        server.make()
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)
