"""What the access token of a principal says reaches the rules, and nothing else: no program, log or error."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from .conftest import LIMITS, SHELF
from .forked import Forked
from .issuer import Issuer
from .product import Api
from .test_http_auth import AUDIENCE, HTTP, connected

pytestmark = pytest.mark.anyio

RULES = """
[groups]
night = ["erin"]
[principals.dora.attributes]
teams = ["visitors"]
[[policy.rules]]
match = "shelf.get_item"
when = '!("keepers" in attributes.teams) || "night" in groups'
then = "deny"
"""
LOOKS = "import shelf\nresult = [repr(globals()), repr(shelf.get_item), str(dir())]"


@pytest.fixture(scope="module")
def issuer() -> Iterator[Issuer]:
    with Issuer() as issuer:
        yield issuer


async def test_claims_decide_and_stay_here(api: Api, issuer: Issuer, tmp_path: Path) -> None:
    """By the claims of the token that comes with each request, under what the operator says; one that is not there is
    no reason to let a call pass. Who acts for a person is in the audit log, and nothing else of a token."""
    config = LIMITS + HTTP.format(issuer=issuer.url, audience=AUDIENCE) + SHELF.format(url=api.url)
    project = Forked(tmp_path, config + RULES)
    project.env["DOORWARD_DEBUG"] = "1"
    assert project.run("compile").returncode == 0
    received = []
    with project.http() as (url, _):
        for who, claims, allowed in (
            ("carol", {"teams": ["keepers", "others"], "client_id": "desktop", "act": {"sub": "planner"}}, True),
            ("carol", {"teams": ["others"]}, False),
            ("carol", {}, False),
            ("dora", {"teams": ["keepers", "others"]}, False),
            ("erin", {"teams": ["keepers", "others"]}, False),
        ):
            token = issuer.token(who, audience=AUDIENCE, email="canary@example.com", **claims)
            async with connected(url, token, "auto") as agent:
                found = await agent.run("import shelf\nresult = shelf.get_item(id=1)")
                assert found["ok"] is allowed, (who, claims, found)
                assert allowed or "[[policy.rules]] 1" in found["error"]["message"]
                await agent.run(LOOKS)
                received += agent.received
    (log,) = tmp_path.rglob("*.audit.jsonl")
    calls = [line for line in map(json.loads, log.read_text().splitlines()) if line["event"] == "call_finished"]
    assert calls[0]["delegation"][:3] == ["carol", "desktop", "planner"]
    assert calls[0]["delegation"][3].startswith("doorward@")
    files = [file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()]
    assert not any(b"canary@" in content for content in files)
    assert not any("canary@" in each for each in received)
