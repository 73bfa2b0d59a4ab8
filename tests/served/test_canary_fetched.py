"""Credentials that are got at run time, by each flow of OAuth and by a session: they reach the API, and come out
nowhere."""

from __future__ import annotations

import json
import secrets
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from .product import Api, module
from .test_canary import HUGE, leaks, own_api, steal, written
from .test_login import project

__all__ = ["own_api"]

pytestmark = pytest.mark.anyio


@pytest.fixture
def provider() -> Iterator[Any]:
    """Authlib's authorization server, with all its grants."""
    more = module("plugins/auth_oauth2/tests/more_grants.py").register
    yield from module("plugins/auth_oauth2/tests/provider.py").running(more)


def flows(provider: Any, known: dict[str, str]) -> dict[str, str]:
    """An `auth` for each way to get a credential; `known` gets what the variables in them are to hold."""
    client, signer = provider.client(), provider.client("none")
    key = ec.generate_private_key(ec.SECP256R1())
    signer.client_secret, signer.key = (
        "",
        key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode(),
    )
    provider.users["alice"] = f"{secrets.token_urlsafe(9)}/+&=%<~!? :{secrets.token_hex(6)}"
    brought = provider.issue("alice")
    known["CLIENT_SECRET"], known["USER_PASSWORD"] = client.client_secret, provider.users["alice"]
    known["REFRESH"], known["SUBJECT"] = brought.refresh_token, provider.issue("alice").access_token
    known["SIGNING_KEY"] = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    known["LOGIN_PASSWORD"] = f"{secrets.token_urlsafe(9)}/+&=%<~!? :{secrets.token_hex(6)}"
    issuer = f'type = "oauth2", issuer = "{provider.issuer}", scope = "read"'
    own = f'{issuer}, client_id = "{client.client_id}", client_secret = "${{CLIENT_SECRET}}"'
    signed = f'type = "oauth2", token_url = "{provider.issuer}/token", assertion_issuer = "{signer.client_id}", scope = "read"'
    session = 'type = "session", login_url = "/login", username = "alice", password = "${LOGIN_PASSWORD}"'
    brought.client_id = client.client_id
    return {
        "by_code": issuer,
        "by_device": f'{own}, flow = "device_code"',
        "by_client": f'{own}, flow = "client_credentials"',
        "by_password": f'{own}, flow = "password", username = "alice", password = "${{USER_PASSWORD}}"',
        "by_refresh": f'{own}, flow = "refresh_token", refresh_token = "${{REFRESH}}"',
        "by_key": f'{signed}, flow = "jwt_bearer", private_key = "${{SIGNING_KEY}}", signing_algorithm = "ES256"',
        "by_exchange": f'{own}, flow = "token_exchange", subject_token = "${{SUBJECT}}"',
        "by_cookie": session,
        "by_token": f'{session}, token_field = "token"',
    }


async def test_no_fetched_credential_comes_out(own_api: Api, provider: Any, tmp_path: Path) -> None:
    """Nor what they were got with: not in an answer, on the wire, standard error at level debug, the audit log or the
    catalog, in any encoding, nor out of 10 MB; and a redirect takes them nowhere. CONTRACT: AUT-05, AUT-07, AUT-12,
    AUT-17."""
    known: dict[str, str] = {}
    auths = flows(provider, known)
    servers = "".join(
        f'[servers.{name}]\nsource = "openapi"\nspec = "openapi.json"\nbase_url = "{own_api.url}"\nauth = {{ {auth} '
        f"}}\n"
        for name, auth in auths.items()
    )
    place = project(tmp_path, servers, 'log_level = "debug"\n', DOORWARD_DEBUG="1", **known)
    (tmp_path / "openapi.json").write_text(json.dumps(own_api.get("/openapi.json")))
    printed = [place.run("login", name) for name in ("by_code", "by_device")]
    assert [ran.returncode for ran in printed] == [0, 0], printed
    wire = ["sh", "-c", f"{shlex.join(place.command('serve'))} | tee wire"]
    async with place.stdio(command=wire) as agent:
        each = ["by_code", "by_client", "by_cookie", "by_token"]
        await steal(agent, tmp_path, each, [name for name in auths if name not in each])
        for name in ("by_client", "by_cookie", "by_token"):
            answer = await agent.value(HUGE.replace("SERVER", name))
            assert answer[0] > 2_500_000
            assert "[secret]" in answer[-1]
    out = {f"printed {n}": f"{ran.stdout}{ran.stderr}".encode() for n, ran in enumerate(printed)} | written(
        place, agent
    )
    kept = {
        place for place in out if place.startswith("state/credentials/")
    }  # they are for logins: nobody else reads them
    assert kept
    assert {"wire", "stderr", "state/catalog.db", "state/store.db", "state/doorward.audit.jsonl"} <= set(out)
    sent = {told.split()[-1] for one in own_api.seen() for told in one["credentials"]}
    assert {one["origin"] for one in own_api.seen() if one["credentials"]} == {0}
    assert len(sent) >= len(auths)
    hidden = (
        provider.secrets() | known | {f"sent {n}": told.removeprefix("sid=") for n, told in enumerate(sorted(sent))}
    )
    assert leaks(hidden, {place: content for place, content in out.items() if place not in kept}) == []
