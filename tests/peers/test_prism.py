"""Every GET and POST of real documents against Prism, started from the same document: it has nothing to object to."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

from .prism import both, mocked

pytestmark = [pytest.mark.anyio]

BEARER = {"Authorization": "Bearer token"}
BASIC = {"Authorization": "Basic dXNlcjpwYXNz"}

DOCUMENTS: dict[str, tuple[int, dict[str, str]]] = {
    # Swagger 2.0
    "alertmanager-swagger.yaml": (8, {}),
    "docker-engine-v1.41.yaml.zst": (94, {}),
    "etcd-rpc-swagger.json": (44, {"Authorization": "token"}),
    "gettyimages-swagger.yaml.zst": (35, {"Api-Key": "key", **BEARER}),
    "harbor-swagger.yaml.zst": (148, BASIC),
    "live-httpbin-swagger.json": (55, {}),
    # OpenAPI 3.0
    "asana.yaml.zst": (198, BEARER),
    "box.json.zst": (202, BEARER),
    "gitea-guru.json.zst": (248, {"Authorization": "token token"}),
    "github.json.zst": (832, BEARER),
    "petstore-3.0.yaml": (14, {"api_key": "key", **BEARER}),
    "qdrant.json.zst": (50, {"api-key": "key", **BEARER}),
    "slack_web_v2.json.zst": (174, {"token": "token", **BEARER}),
    "telnyx.json.zst": (288, BEARER),
    "twilio_api_v2010.json.zst": (165, BASIC),
    "xero-files.yaml": (13, BEARER),
    # OpenAPI 3.1
    "adyen-checkout-v71.yaml.zst": (26, {"X-API-Key": "key", **BASIC}),
    "museum.yaml": (6, BASIC),
    "powerdns-auth.yaml": (27, {"X-API-Key": "key"}),
    "prefect.json.zst": (137, {}),
}
"""How many operations read or post, and the credentials that Prism wants to see."""

FORM_LISTS = "Prism keeps the last of a form's repeated names, unless `encoding` gives their style"
JSON_PARTS = "Prism reads every part of a multipart body as text, JSON too"
BRACKETS = "Prism looks for a required `filter[x]` under its percent-encoded name, which it has decoded before"
UNTOLD = "the document requires a property that it does not describe: a function has no argument for it"
ONE_OF_THEM = (
    "the body needs one of several properties, of which none is required: required arguments alone are too few"
)
IGNORED = "the document declares the header Content-Type as a parameter, which it says (Parameter Object) is ignored"

FAULTS: dict[str, dict[str, str]] = {
    "docker-engine-v1.41.yaml.zst": {
        "POST /build": IGNORED,
        "POST /session": "Prism answers 101, which is what the document says: the connection is no longer HTTP",
    },
    "live-httpbin-swagger.json": {
        "POST /redirect-to": "the document has form parameters and says nothing of `consumes`: Prism allows no media "
        "type at all",
    },
    "box.json.zst": {
        "POST /oauth2/revoke": UNTOLD,
        "POST /files/{file_id}/content": JSON_PARTS,
        "POST /files/content": JSON_PARTS,
        "GET /search": "a query parameter that is a list of objects, which OpenAPI leaves undefined: Prism does not "
        "read it as JSON",
    },
    "github.json.zst": {
        "POST /orgs/{org}/campaigns": ONE_OF_THEM,
        "POST /orgs/{org}/projectsV2/{project_number}/items": ONE_OF_THEM,
        "POST /repos/{owner}/{repo}/code-scanning/codeql/variant-analyses": ONE_OF_THEM,
        "POST /repos/{owner}/{repo}/pages": ONE_OF_THEM,
        "POST /users/{username}/projectsV2/{project_number}/items": ONE_OF_THEM,
    },
    "telnyx.json.zst": {
        "POST /actions/{action}/telephony_credentials": BRACKETS,
        "GET /comments": BRACKETS,
        "GET /detail_records": BRACKETS,
        "GET /inventory_coverage": BRACKETS,
    },
    "twilio_api_v2010.json.zst": {
        "POST /2010-04-01/Accounts/{AccountSid}/Calls.json": FORM_LISTS,
        "POST /2010-04-01/Accounts/{AccountSid}/Calls/{CallSid}/Recordings.json": FORM_LISTS,
        "POST /2010-04-01/Accounts/{AccountSid}/ConnectApps/{Sid}.json": FORM_LISTS,
        "POST /2010-04-01/Accounts/{AccountSid}/Messages.json": FORM_LISTS,
        "POST /2010-04-01/Accounts/{AccountSid}/Conferences/{ConferenceSid}/Participants.json": FORM_LISTS,
    },
    "xero-files.yaml": {"POST /Folders": UNTOLD},
}
"""By document and operation: why what Prism objects to is not the fault of the request."""

MOST = settings.default.max_examples * 5 // 8
"""Of the operations of a document, so many are called at most, spread over it, and each that Prism objects to: 25, and
in `make shuffle` 625."""


@pytest.mark.parametrize("name", DOCUMENTS)
async def test_prism_objects_to_nothing(name: str, tmp_path: Path) -> None:
    """With required arguments, and with all of them."""
    operations, headers = DOCUMENTS[name]
    faults = FAULTS.get(name, {})
    async with mocked(name, tmp_path, headers=headers) as (gate, tap):
        functions = [f for f in gate.catalog.functions("api") if f.route.split()[0] in ("GET", "POST")]
        assert len(functions) == operations
        some = [f for number, f in enumerate(functions) if number % -(-operations // MOST) == 0 or f.route in faults]
        calls = [call for function in some for call in await both(gate, tap, function)]
    wrong = [call for call in calls if call.wrong and call.route not in faults]
    assert not wrong, "\n".join(call.told() for call in wrong)
    assert faults.keys() == {call.route for call in calls if call.wrong}, "a fault is gone: take it off the list"
