"""Bytes and files as arguments of planned writes."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from typing import Any

import pytest
from doorward import File
from doorward_approvals.shown import as_text as request_text
from doorward_durable_runs import STORED_RUNS
from doorward_durable_runs.plans import PLANS
from doorward_text import outcome_as_text

from .conftest import CONFIG, requests
from .test_commits import planned

pytestmark = pytest.mark.anyio

RAW = b"\x00\xff" * 3000
TOLD = f"6000 bytes, sha256 {hashlib.sha256(RAW).hexdigest()}"
CODE = f"made = await weather.picture(picture={RAW[:2]!r} * 3000, about='x')"
ASKS = CONFIG + '[plans]\napprove = "always"\n'


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (f"{RAW[:2]!r} * 3000", TOLD),
        (f"{{'content': {RAW[:2]!r} * 3000, 'name': 'a.png'}}", f'{TOLD}, name "a.png"'),
        (
            "{'base64': 'AP8A/w==', 'type': 'image/png'}",
            f'4 bytes, sha256 {hashlib.sha256(RAW[:4]).hexdigest()}, type "image/png"',
        ),
    ],
)
async def test_bytes_are_told_by_their_size_and_hash(doorward_host: Any, writes: Any, given: str, told: str) -> None:
    """Everywhere, and committed as they were, by another process; a text does not pass for them."""
    code = f"await weather.picture(picture={given}, about={told!r})"
    async with doorward_host.gateway(ASKS) as gate:
        outcome = await gate.execute(code, mode="plan")
        (call,) = outcome.parts["plan"].changes[0].calls
        assert call == {"n": 1, "arguments": {"picture": told, "about": told}, "files": ("/picture",)}
        assert f'"picture": {json.dumps(told)} (a file), "about": {json.dumps(told)}}}' in outcome_as_text(outcome)
        assert (await gate.services[PLANS].commit(outcome.parts["plan"].id)).waiting
        (request,) = requests(gate)
        assert f'"picture": {json.dumps(told)} (a file)' in request_text(request)
        assert f'"about": {json.dumps(told)}}}' in request_text(request)
        assert "AP8A" not in str(outcome) + str(request)
    async with doorward_host.gateway(CONFIG) as gate:
        assert (await gate.services[PLANS].commit(outcome.parts["plan"].id)).ok
    ((name, arguments),) = writes()
    assert name == "picture"
    sent = arguments["picture"]
    assert (sent.content if isinstance(sent, File) else sent) in (RAW, {"base64": "AP8A/w==", "type": "image/png"})


async def test_changed_bytes_are_another_call(doorward_host: Any, writes: Any) -> None:
    async with doorward_host.gateway(CONFIG) as gate:
        plan, given = await planned(gate, CODE), gate.services[STORED_RUNS].again

        async def again(*asked: Any) -> Any:
            return replace(await given(*asked), code=CODE.replace("3000", "2999"))

        gate.services[STORED_RUNS].again = again
        done = await gate.services[PLANS].commit(plan)
        assert done.error.type == "ProgramDiverged"
    assert writes() == []


async def test_the_file_of_a_handle_is_kept_with_the_plan(doorward_host: Any, writes: Any) -> None:
    """It is told by its size and hash, and is what the commit of another process sends; there is no plan with a file
    that nobody has."""
    async with doorward_host.gateway(CONFIG) as gate:
        kept = await gate.artefacts.keep(gate.artefacts.made(RAW, "image/png", "a.png"), "local")
        code = f"await weather.picture(picture={{'artefact': {kept.uri!r}}}, about='x')"
        outcome = await gate.execute(code, mode="plan")
        (call,) = outcome.parts["plan"].changes[0].calls
        assert call["arguments"]["picture"] == f'{TOLD}, type "image/png", name "a.png"'
        none = await gate.execute(code.replace(kept.uri, "doorward://results/none"), mode="plan")
        assert (none.error.type, none.parts.get("plan")) == ("InvalidArguments", None)
    async with doorward_host.gateway(CONFIG) as gate:
        assert (await gate.services[PLANS].commit(outcome.parts["plan"].id)).error is None
    ((_, arguments),) = writes()
    assert arguments["picture"] == File(RAW, "image/png", "a.png")


async def test_a_plan_has_no_more_than_is_stored_of_a_run(doorward_host: Any, writes: Any) -> None:
    """What its calls are made with counts: it is kept."""
    config = CONFIG + '[runs]\nmax_bytes = "100kB"\n'
    code = "for n in range(20):\n    await weather.picture(picture=b'a' * 5000, about=str(n))"
    async with doorward_host.gateway(config) as gate:
        outcome = await gate.execute(code, mode="plan")
        assert (outcome.parts["plan"].id, outcome.parts["plan"].counts) == ("", {"weather.picture": 20})
        assert "this plan cannot be committed" in outcome.notes[0]
        assert (await gate.services[STORED_RUNS].journals.store.all()) == []
