"""Every GET and POST of real documents against Prism, started from the same document: it has nothing to object to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from .prism import Call, called, mocked

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(240)]

BEARER = {"Authorization": "Bearer token"}
BASIC = {"Authorization": "Basic dXNlcjpwYXNz"}

DOCUMENTS: dict[str, tuple[int, dict[str, str]]] = {
    "petstore-3.0.yaml": (14, {**BEARER, "api_key": "key"}),
}
"""How many operations read or post, and the credentials that Prism wants to see."""

FORM_LISTS = "Prism keeps the last of a form's repeated names, unless `encoding` gives their style"
JSON_PARTS = "Prism reads every part of a multipart body as text, JSON too"

FAULTS: dict[str, dict[str, str]] = {}
"""By document and operation: why what Prism objects to is not the request's fault."""


@pytest.mark.parametrize("name", DOCUMENTS)
async def test_nothing_to_object_to(name: str, tmp_path: Path) -> None:
    """With required arguments, and with all of them. CONTRACT: SRC-07."""
    operations, headers = DOCUMENTS[name]
    async with mocked(name, tmp_path, headers=headers) as (gate, tap):
        functions = [f for f in gate.catalog.functions("api") if f.route.split()[0] in ("GET", "POST")]
        calls = [await called(gate, tap, function, full=full) for function in functions for full in (False, True)]
    assert len(functions) == operations
    faults = FAULTS.get(name, {})
    wrong = [call for call in calls if call.wrong and call.route not in faults]
    assert not wrong, "\n".join(call.told() for call in wrong)
    assert faults.keys() == {call.route for call in calls if call.wrong}, "a fault is gone: take it off the list"
