"""Principals with credentials of their own at a real API: each request carries those of whoever asks, and nothing of
anybody else."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from doorward import DoorwardError
from doorward_testing import Host

from .conftest import Upstream, document

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

PATHS = {f"/{name}": {"get": {"operationId": name}} for name in ("echo", "login", "list")}


def _config(url: str) -> str:
    secrets = "".join(f'[principals.{who}.secrets]\ntoken = "token-of-{who}"\n' for who in ("alice", "bob"))
    auth = 'headers = { X-Who = "${principal:name}", Authorization = "Bearer ${principal:token}" }\n'
    return f'[servers.api]\nsource = "openapi"\nspec = "api.json"\nbase_url = "{url}"\n{auth}{secrets}'


async def test_requests_carry_the_credentials_of_who_asks(host: Host, upstream: Upstream) -> None:
    """A document in a file is compiled without any of them. Cookies that the API sets for one are sent by nobody; who
    has no token is told, without a request. CONTRACT: AUT-09, AUT-18."""
    host.install_real("openapi")
    (host.folder / "api.json").write_text(json.dumps(document(PATHS)))
    upstream.answers["/login"] = (
        200,
        {"Set-Cookie": "session=alices; Path=/", "Content-Type": "application/json"},
        b"{}",
    )
    async with host.gateway(_config(upstream.url)) as gate:
        await gate.ready()
        assert not gate.servers.broken
        assert upstream.seen == []
        await gate.call("api.login", principal="alice")
        whose = ("alice", "bob") * 15
        await asyncio.gather(*(gate.call("api.echo", principal=who) for who in whose))
        with pytest.raises(DoorwardError, match="the principal 'carol' has no 'token'") as missing:
            await gate.call("api.echo", principal="carol")
        assert "[principals.carol.secrets]" in str(missing.value.hint)
    sent: list[dict[str, Any]] = [{k.lower(): v for k, v in each["headers"]} for each in upstream.seen]
    assert len(sent) == 31
    assert [each for each in sent if "cookie" in each] == []
    assert sorted((each["x-who"], each["authorization"]) for each in sent[1:]) == sorted(
        (who, f"Bearer token-of-{who}") for who in whose
    )
