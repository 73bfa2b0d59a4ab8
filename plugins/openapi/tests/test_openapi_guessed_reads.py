"""POST operations that are taken for reads by convention."""

from __future__ import annotations

import pytest
from doorward_text import cards

pytestmark = pytest.mark.anyio


def posting(document, path, *, field="limit", paths=None, **node):
    schema = {"type": "object", "properties": {field: {"type": "string"}}}
    body = {"content": {"application/json": {"schema": schema}}}
    return document({path: {"post": {"requestBody": body, "responses": {"200": {}}, **node}}, **(paths or {})})


@pytest.mark.parametrize(
    ("path", "node"),
    [
        ("/flows/filter", {"summary": "Read Flows", "description": "Query for flows."}),
        ("/flows/count", {}),
        ("/stores/{id}/search", {"summary": "Search a vector store"}),
        ("/points/query", {"operationId": "queryPoints"}),
        ("/index/_search", {}),
        ("/v1/documents:lookup", {}),
    ],
)
async def test_openapi_a_question_is_a_read_by_a_guess(api, document, path, node):
    """Its path says that something is asked for, and nothing speaks of an effect. The card says that it is a guess;
    its calls are repeated only as those of a write are."""
    (function,) = (await api(posting(document, path, **node))).functions.values()
    assert (function.guessed_read, function.read_only, function.idempotent) == (True, False, False)
    assert "read-only by a guess" in cards.describe(function, {}.get, module="api")


@pytest.mark.parametrize(
    ("path", "more"),
    [
        ("/filter", {"summary": "Create filter"}),
        ("/filter", {"operationId": "createFilter"}),
        ("/filter", {"paths": {"/filter/{id}": {"get": {}}}}),
        ("/search", {"description": "Searches, and saves the search."}),
        ("/find", {"responses": {"202": {}}}),
        ("/query", {"field": "sql"}),
        ("/query", {"field": "query"}),
        ("/search", {"requestBody": {}}),
        ("/searches", {}),
        ("/saved-search", {}),
        ("/search/{id}", {}),
    ],
)
async def test_openapi_what_may_write_is_no_guess(api, document, path, more):
    """Words of an effect, a thing that is called so, an answer that something was made, a language that can write, no
    question, or another path: a write."""
    assert not any(each.guessed_read for each in (await api(posting(document, path, **more))).functions.values())


async def test_openapi_a_thing_that_is_changed_at_its_path_is_made_there(api, document):
    """`PUT /filter` beside `POST /filter`: no question."""
    made = posting(document, "/filter")
    made["paths"]["/filter"]["put"] = {}
    assert not any(each.guessed_read for each in (await api(made)).functions.values())
