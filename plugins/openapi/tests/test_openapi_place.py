"""Where an API is: what a document says of it, what is found out about it, and what an operator is told."""

from __future__ import annotations

import json
from typing import Any

import httpx2
import pytest
from doorward import ApiError, ServerContext
from doorward_openapi import OpenAPI
from doorward_openapi.document.servers import with_scheme
from doorward_openapi.settings import OpenAPISettings
from doorward_testing import reserve_port

pytestmark = pytest.mark.anyio

PATHS = {f"/{word}": {"get": {"operationId": word}} for word in ("flows", "runs", "health")}
NOTHING = 404, {"Content-Type": "text/plain"}, b"no such route"
PAGE = 200, {"Content-Type": "text/html"}, b"<html>the user interface"


class Routes:
    """The answers of a server that knows the paths of PATHS below these folders, and answers all others alike."""

    def __init__(self, *folders: str, others: Any = NOTHING) -> None:
        self._known = {f"{folder}{path}" for folder in folders for path in PATHS}
        self._others = others

    def get(self, path: str, default: Any) -> Any:
        return (200, {"Content-Type": "application/json"}, b"[]") if path in self._known else self._others


@pytest.mark.parametrize(
    ("written", "document", "meant"),
    [
        ("127.0.0.1:8604/api", "", "http://127.0.0.1:8604/api"),
        ("localhost:8055", "", "http://localhost:8055"),
        ("[::1]:8055", "", "http://[::1]:8055"),
        ("api.example.com/v1", "", "https://api.example.com/v1"),
        ("api.example.com:8443", "http://api.example.com:8443/openapi.json", "http://api.example.com:8443"),
        ("//api.example.com", "", "https://api.example.com"),
        ("//api.example.com", "http://api.example.com/openapi.json", "//api.example.com"),
        ("https://api.example.com", "", "https://api.example.com"),
        ("/v1.0", "", "/v1.0"),
        ("v1.beta", "", "v1.beta"),
        ("../api", "", "../api"),
    ],
)
def test_openapi_forgotten_scheme(written, document, meant):
    """A base URL without a scheme is a host, and no path."""
    assert with_scheme(written, document) == meant


async def test_openapi_documents_without_schemes(api, document):
    """A host that a document writes without a scheme gets one; a 2.0 host that is a URL keeps its own."""
    for given, base in (
        (document(PATHS, servers=[{"url": "127.0.0.1:8604"}]), "http://127.0.0.1:8604"),
        ({"swagger": "2.0", "host": "http://a.test/", "basePath": "/v1", "paths": PATHS}, "http://a.test/v1"),
    ):
        made = await api(given, base_url=None)
        assert made.functions["flows"].data["base"] == base
    with pytest.raises(ValueError, match=r"for example http://127\.0\.0\.1:8604"):
        OpenAPISettings(spec="a", base_url="127.0.0.1:8604")


async def test_openapi_most_operations_decide(api, document):
    """Without `servers` of the document the API is where most operations are, and the line to paste allows the others:
    then each call goes to its own server."""
    maps = {f"/{word}": {"get": {"operationId": word}, "servers": [{"url": "https://maps.test"}]} for word in "bcd"}
    roads = {"/a": {"post": {"operationId": "a", "servers": [{"url": "https://roads.test/v1"}]}}}
    made = await api(document({**roads, **maps}), base_url=None)
    assert {name: made.source._base(f.data) for name, f in made.functions.items()} == {
        **dict.fromkeys("bcd", "https://maps.test"),
        "a": "https://maps.test",
    }
    assert any("1 of 4 operations names the server https://roads.test/v1" in each for each in made.compiled.warnings)
    line = 'add origins = ["https://roads.test"] to [servers.api]'
    assert any(line in each for each in made.compiled.warnings)
    made = await api(document({**roads, **maps}), base_url=None, origins=["https://roads.test"])
    assert made.source._base(made.functions["a"].data) == "https://roads.test/v1"


@pytest.mark.parametrize("path", ["/flows", "/flows/{id}"])
async def test_openapi_suspects_the_base_url(api, upstream, operation, path):
    """A 404 of a path without variables names the whole URL, without its query, and suspects the base URL; one of a
    path with variables is about these."""
    upstream.answers |= {"/v2/flows": NOTHING, "/v2/flows/7": NOTHING}
    query = [{"name": "key", "in": "query", "schema": {"type": "string"}}]
    ids = [{"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}] if "{" in path else []
    made = await api(operation(path=path, parameters=[*query, *ids]), base_url=f"{upstream.url}/v2")
    with pytest.raises(ApiError) as raised:
        await made.call("op", key="k", **({"id": "7"} if ids else {}))
    suspected = f"nothing is at {upstream.url}/v2/flows at all, the base URL {upstream.url}/v2 is wrong"
    assert (suspected in raised.value.hint) is not bool(ids)
    assert "Look up the names and ids" in raised.value.hint
    assert "key=" not in raised.value.hint


@pytest.mark.parametrize("others", [NOTHING, PAGE])
async def test_openapi_finds_the_api(api, upstream, document, others):
    """Where the base URL has none of the routes, or a page for each, the place that has them is proposed."""
    upstream.answers = Routes("/api", others=others)
    made = await api(document(PATHS))
    assert await made.source.check(made.compiled.functions) == [
        (
            f"calls go to {upstream.url}, but the API is at {upstream.url}/api",
            False,
            f'Add base_url = "{upstream.url}/api" to [servers.api].',
        )
    ]


@pytest.mark.slow
async def test_openapi_looks_beside_the_document(tmp_path, upstream, document):
    """The folders of a downloaded document are places where its API may be."""
    raw = json.dumps(document(PATHS)).encode()
    upstream.answers["/engine/rest/docs/openapi.json"] = 200, {"Content-Type": "application/json"}, raw
    settings = OpenAPI.Settings(spec=f"{upstream.url}/engine/rest/docs/openapi.json")
    source = OpenAPI(ServerContext("api", settings, tmp_path, tmp_path / "state", lambda: None))
    functions = (await source.compile()).functions
    upstream.answers = Routes("/engine/rest")
    [(_, ok, advice)] = await source.check(functions)
    await source.close()
    assert not ok
    assert f"{upstream.url}/engine/rest" in advice


@pytest.mark.slow
@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ((200, {"Content-Type": "application/json"}, b"[]"), ("calls go to BASE", True, "")),
        ((401, {"Content-Type": "text/html"}, b""), ("calls go to BASE", True, "")),
        (
            NOTHING,
            (
                "calls go to BASE, where nothing is at GET BASE/flows and GET BASE/runs and GET BASE/health",
                True,
                "See whether base_url of [servers.api] is right.",
            ),
        ),
    ],
)
async def test_openapi_says_what_it_finds(api, upstream, document, answer, says):
    """A base URL where anything answers is right; one that nothing answers, here and beside it, is told."""
    upstream.answers = Routes(others=answer)
    made = await api(document(PATHS))
    [found] = await made.source.check(made.compiled.functions)
    assert found == tuple(part.replace("BASE", upstream.url) if isinstance(part, str) else part for part in says)


async def test_openapi_asks_nobody_whom_only_the_document_names(api, upstream, document):
    """Servers that only a document names are not asked, nor routes that need arguments; credentials are not sent."""
    made = await api(document(PATHS, servers=[{"url": upstream.url}]), base_url=None)
    [(_, ok, advice)] = await made.source.check(made.compiled.functions)
    assert (ok, advice) == (False, f'If the API is there, add base_url = "{upstream.url}" to [servers.api].')
    made = await api(document(PATHS, servers=[{"url": "https://api.test"}]), base_url=None)
    assert await made.source.check(made.compiled.functions) == []
    made = await api(document({"/a/{id}": {"get": {"operationId": "a"}}, "/b": {"post": {"operationId": "b"}}}))
    assert await made.source.check(made.compiled.functions) == [(f"calls go to {upstream.url}", True, "")]
    assert upstream.seen == []
    made = await api(document(PATHS), auth=httpx2.BasicAuth("u", "p"))
    await made.source.check(made.compiled.functions)
    assert upstream.header("Authorization") == []


async def test_openapi_without_a_place(api, document):
    """No call can work where nothing says where the API is; a server that cannot be reached may be there tomorrow."""
    made = await api(document(PATHS), base_url=None)
    [(_, ok, advice)] = await made.source.check(made.compiled.functions)
    assert (ok, advice) == (False, 'Add base_url = "https://…" to [servers.api].')
    made = await api(document(PATHS), base_url=f"http://127.0.0.1:{reserve_port()}", retries=0)
    [(what, ok, advice)] = await made.source.check(made.compiled.functions)
    assert ok
    assert "cannot be reached" in what
    assert "base_url" in advice
