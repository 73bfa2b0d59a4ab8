"""The scenarios of the conformance suite in which a server wants a login: what Doorward says that a person should do,
is done here."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx2
import tomli_w
from doorward import Gateway
from doorward.config.config import load

CALL = "name = ''\nimport doorward\nresult = await doorward.call(name, {})"
LOGINS = 3
"""How often a person logs in before they give up."""


class LoginPrompt:
    """Somebody with a browser that has no window: it visits the page, and where that sends it."""

    def __init__(self) -> None:
        self._visiting: set[asyncio.Task[httpx2.Response]] = set()

    def tell(self, text: str) -> None:
        print(text)

    async def open(self, page: str) -> None:
        self._visiting.add(asyncio.create_task(self._visit((await self._visit(page)).headers["Location"])))

    async def _visit(self, address: str) -> httpx2.Response:
        async with httpx2.AsyncClient() as client:
            return await client.get(address)

    async def ask(self, question: str) -> None:
        return None


async def settings(name: str, url: str, context: Mapping[str, Any]) -> dict[str, Any]:
    """The `auth` that somebody who knows the context of a scenario writes."""
    auth: dict[str, Any] = {"type": "oauth2", "store": "file"}
    auth |= {
        key: context[key] for key in ("client_id", "client_secret", "signing_algorithm", "issuer") if key in context
    }
    if "private_key_pem" in context:
        auth["private_key"] = context["private_key_pem"]
    if name == "auth/basic-cimd":
        auth["client_metadata_url"] = "https://conformance-test.local/client-metadata.json"
    if "client-credentials" in name:
        auth["flow"] = "client_credentials"
        async with httpx2.AsyncClient() as client:  # whose client that is: the context does not say
            told = await client.get(str(httpx2.URL(url).copy_with(path="/.well-known/oauth-protected-resource/mcp")))
        auth["issuer"] = told.json()["authorization_servers"][0]
    return auth


async def scenario(name: str, url: str, context: Mapping[str, Any]) -> None:
    """Compile the server and call its functions; log in whenever a hint says so.

    Raises: what Doorward says last, if that does not help.
    """
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "doorward.toml"
        server = {"source": "mcp", "url": url, "auth": await settings(name, url, context)}
        file.write_text(
            tomli_w.dumps({"state": "state", "executor": "monty", "plugins": [], "servers": {"upstream": server}})
        )
        async with Gateway.open(load(file), compile=False) as gate:
            for attempt in range(LOGINS + 1):
                said = await _all(gate)
                if said is None:
                    return
                print(said)
                if "doorward login upstream" not in said or attempt == LOGINS:
                    break
                print(await gate.servers.auths_of("upstream")[0].login(LoginPrompt()))
            raise RuntimeError(said)


async def _all(gate: Gateway) -> str | None:
    """Use every function; what was told with the first error."""
    if not await gate.compile():
        error = gate.servers.broken["upstream"]
        return f"{error} {error.hint}"
    for function in gate.catalog.functions("upstream"):
        outcome = await gate.execute(CALL, params={"name": function.qualified})
        if not outcome.ok:
            assert outcome.error is not None
            return f"{outcome.error.message} {outcome.error.hint}"
    return None
