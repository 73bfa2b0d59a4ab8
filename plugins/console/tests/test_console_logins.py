"""Logins that begin on a page: whose they are, and what they must not do."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator
from typing import Any, ClassVar

import httpx2
import pytest
from doorward import ServerError, Settings

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

SERVERS = """
[servers.own]
source = "fake"
per_principal = true
auth = { type = "person" }

[servers.shared]
source = "fake"
auth = { type = "person" }
"""
MARKUP = "<script>alert(1)</script>"


class PersonAuth:
    """An auth that a person logs in to."""

    Settings = Settings
    page: ClassVar = "https://provider.test/login?state=1"
    ends: ClassVar[dict[tuple[str, str], float]] = {}
    pasted: ClassVar[list[Any]] = []

    def __init__(self, context: Any) -> None:
        self._key = context.name, context.principal

    def create_auth(self) -> httpx2.Auth:
        class Nothing(httpx2.Auth):
            async def async_auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
                yield request

        return Nothing()

    async def login(self, person: Any) -> str:
        person.tell(f"Log in {MARKUP}")
        await person.open(type(self).page)
        self.pasted.append((self._key, answer := await person.ask("Paste:")))
        if answer == "no":
            raise ServerError(f"the login was refused: {MARKUP}")
        self.ends[self._key] = time.time() + 3600
        return "logged in"

    async def login_ends(self) -> float | None:
        return self.ends.get(self._key, 0.0)


@pytest.fixture
def people(doorward_host: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(PersonAuth, "ends", {})
    monkeypatch.setattr(PersonAuth, "pasted", [])
    doorward_host.install("auth", "person", PersonAuth)
    return doorward_host


async def rows(person: Any) -> dict[str, str]:
    servers = (await person.get("/console/servers.json")).json()["servers"]
    return {row["name"]: row["state"] for server in servers for row in server["logins"]}


async def test_whose_logins_are_on_a_page(served: Any, people: Any, tokens: str) -> None:
    """An operator's are those of all; a principal's are their own, where each has one. Nobody begins another's, none
    begins without the token against forgery, and what servers say is text. One that ends soon is in the inbox."""
    async with served(more=SERVERS + tokens) as at:
        person, ann = await at.operator(), await at.signed_in("ann")
        assert (await rows(person), await rows(ann)) == ({"own": "none", "shared": "none"}, {"own": "none"})
        data = {"do": "login", "forgery": at.forgery(await ann.get("/console/servers"))}
        for server in ("shared", "weather", "none", "own@x", "own/../shared"):
            assert (await ann.post(f"/console/servers/{server}", data=data)).status_code == 404, server
        assert (await ann.post("/console/servers/own", data={**data, "forgery": "x"})).status_code == 403
        assert (await ann.post("/console/servers/own", data={**data, "do": "paste"})).status_code == 404
        page = await ann.post("/console/servers/own", data=data)
        assert PersonAuth.page in page.text
        assert MARKUP not in page.text
        bob = await at.signed_in("bob")
        theirs = {**data, "do": "paste", "address": "x", "forgery": at.forgery(await bob.get("/console/servers"))}
        assert (await bob.post("/console/servers/own", data=theirs)).status_code == 404
        went_on = await ann.post("/console/servers/own", data={**data, "do": "paste", "address": "good"})
        assert went_on.status_code == 200
        while (await rows(ann))["own"] != "soon":
            pass
        assert PersonAuth.pasted == [(("own", "ann"), "good")]
        assert await rows(bob) == {"own": "none"}
        inbox = (await ann.get("/console/approvals.json")).json()
        assert [row["name"] for row in inbox["logins"]] == ["own"]
        assert "Log in again" in (await ann.get("/console/approvals")).text
        mine = {**data, "forgery": at.forgery(await person.get("/console/servers"))}
        assert (await person.post("/console/servers/shared", data=mine)).status_code == 200
        await person.post("/console/servers/shared", data={**mine, "do": "paste", "address": "no"})
        while "was refused" not in (page := await person.get("/console/servers")).text:
            pass
        assert MARKUP not in page.text


async def test_no_page_leads_to_a_script(served: Any, people: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """An auth that names no web page begins no login."""
    monkeypatch.setattr(PersonAuth, "page", "javascript:alert(1)")
    async with served(more=SERVERS) as at:
        person = await at.operator()
        data = {"do": "login", "forgery": at.forgery(await person.get("/console/servers"))}
        page = await person.post("/console/servers/shared", data=data)
        assert "javascript:" not in page.text
        assert "no web page" in page.text
