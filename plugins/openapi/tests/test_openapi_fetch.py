"""Where documents come from: files, compressed files, several files, URLs."""

from __future__ import annotations

import gzip
import json

import httpx2
import pytest
import zstandard
from doorward import ConfigError, ServerContext, ServerError
from doorward_openapi import OpenAPI
from pydantic import ValidationError

pytestmark = pytest.mark.anyio


def source(folder, auth=None, **settings):
    return OpenAPI(ServerContext("api", OpenAPI.Settings(**settings), folder, folder, lambda: auth))


class Bearer(httpx2.Auth):
    def auth_flow(self, request):
        request.headers["Authorization"] = "Bearer token-of-the-test"
        yield request


@pytest.mark.parametrize(
    "pack", [lambda b: b, zstandard.compress, gzip.compress, lambda b: b"\xef\xbb\xbf" + b, lambda b: b.decode().encode("utf-16")]
)
async def test_openapi_packed_documents(tmp_path, operation, pack):
    """CONTRACT: SRC-03 Plain, zstd, gzip, with byte order mark or in UTF-16: the same functions."""
    (tmp_path / "d.json").write_bytes(pack(json.dumps(operation()).encode()))
    made = await source(tmp_path, spec="d.json").compile()
    assert [f.name for f in made.functions] == ["op"]


async def test_openapi_missing_file(tmp_path):
    """A file that is not there is a ConfigError with its whole path."""
    with pytest.raises(ConfigError, match="nowhere") as raised:
        await source(tmp_path, spec="nowhere.json").fingerprint()
    assert str(tmp_path) in str(raised.value)


async def test_openapi_device_is_no_document(tmp_path):
    """What is no regular file is not read: it might never end."""
    with pytest.raises(ConfigError):
        await source(tmp_path, spec="/dev/zero").fingerprint()


@pytest.mark.parametrize("pack", [zstandard.compress, gzip.compress])
async def test_openapi_decompression_bomb(tmp_path, pack):
    """A small file that unpacks to more than the limit is refused."""
    (tmp_path / "d.json").write_bytes(pack(b" " * (65 * 2**20)))
    with pytest.raises(ConfigError, match="larger"):
        await source(tmp_path, spec="d.json").fingerprint()


def several(tmp_path):
    (tmp_path / "api" / "parts").mkdir(parents=True)
    root = {
        "openapi": "3.0.0",
        "paths": {
            "/a": {"$ref": "parts/paths.yaml#/a"},
            "/up": {"get": {"parameters": [{"$ref": "../secret.json#/p"}]}},
            "/abs": {"get": {"parameters": [{"$ref": "file:///etc/passwd"}]}},
            "/enc": {"get": {"parameters": [{"$ref": "%2e%2e/secret.json#/p"}]}},
            "/link": {"get": {"parameters": [{"$ref": "link.json#/p"}]}},
            "/http": {"get": {"parameters": [{"$ref": "http://127.0.0.1:9/x.json"}]}},
            "/deep": {"get": {"responses": {"200": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Deep"}}}}}}},
        },
        "components": {
            "schemas": {"Deep": {"type": "array", "items": {"$ref": "#/components/schemas/Evil"}}, "Evil": {"$ref": "file:///etc/passwd"}}
        },
    }
    (tmp_path / "api" / "root.json").write_text(json.dumps(root))
    (tmp_path / "api" / "parts" / "paths.yaml").write_text(
        "a:\n  get:\n    operationId: a\n    parameters: [{$ref: 'more.json#/p'}]\n"
        "    responses: {200: {content: {application/json: {schema: {$ref: 'more.json#/s'}}}}}\n"
    )
    (tmp_path / "api" / "parts" / "more.json").write_text(
        json.dumps({"p": {"name": "q", "in": "query", "schema": {}}, "s": {"type": "object"}})
    )
    (tmp_path / "secret.json").write_text(json.dumps({"p": {"name": "stolen", "in": "query", "schema": {}}}))
    (tmp_path / "api" / "link.json").symlink_to(tmp_path / "secret.json")
    return source(tmp_path, spec="api/root.json")


async def test_openapi_several_files(tmp_path):
    """References reach the files of the document's folder; those that leave it, however written, lose only their operation."""
    made = await several(tmp_path).compile()
    assert [(f.name, list(f.parameters["properties"])) for f in made.functions] == [("a", ["q"])]
    assert {s.where for s in made.skipped} == {"GET /up", "GET /abs", "GET /enc", "GET /link", "GET /http", "GET /deep"}
    assert made.definitions[made.functions[0].returns["$ref"].removeprefix("#/$defs/")] == {"type": "object"}


async def test_openapi_fingerprint_covers_all_files(tmp_path):
    """CONTRACT: SRC-12 The fingerprint changes with the document and with each file it refers to, and only then."""
    first = await several(tmp_path).fingerprint()
    again = source(tmp_path, spec="api/root.json")
    assert await again.fingerprint() == first
    part = tmp_path / "api" / "parts" / "more.json"
    part.write_text(part.read_text() + " ")
    assert await again.fingerprint() != first


async def test_openapi_from_a_url(tmp_path, upstream, operation):
    """CONTRACT: SRC-03 A document is downloaded, with the files of its origin that it refers to; relative servers are resolved."""
    root = {**operation(parameters=[{"$ref": "parts/p.json"}]), "servers": [{"url": "/v2"}]}
    upstream.answers["/docs/api.json"] = (200, {}, json.dumps(root).encode())
    upstream.answers["/docs/parts/p.json"] = (200, {}, b'{"name": "q", "in": "query", "schema": {}}')
    server = source(tmp_path, spec=f"{upstream.url}/docs/api.json")
    made = await server.compile()
    await server.close()
    assert made.functions[0].data["base"] == f"{upstream.url}/v2"
    assert list(made.functions[0].parameters["properties"]) == ["q"]


@pytest.mark.parametrize(
    ("base_url", "refuses", "sent"),
    [("same", False, [True]), ("https://other.test", False, [False]), (None, False, [False]), (None, True, [False, True])],
)
async def test_openapi_download_credentials(tmp_path, upstream, operation, base_url, refuses, sent):
    """Credentials go with a download to the API's own origin, never to another one, and to an unknown one only if it asks."""
    upstream.answers["/api.json"] = (200, {}, json.dumps(operation()).encode())
    if refuses:
        upstream.answers["/api.json"] = (401, {}, b"")
    settings = {"spec": f"{upstream.url}/api.json", "base_url": upstream.url if base_url == "same" else base_url}
    server = source(tmp_path, Bearer(), **settings)
    if refuses:
        with pytest.raises(ServerError, match="401"):
            await server.fingerprint()
    else:
        await server.fingerprint()
    await server.close()
    assert [any(k == "Authorization" for k, _ in told["headers"]) for told in upstream.seen] == sent


async def test_openapi_download_fails_clearly(tmp_path, upstream):
    """A document that can't be downloaded is a ServerError without the query of its URL."""
    upstream.answers["/api.json"] = (500, {}, b"")
    server = source(tmp_path, spec=f"{upstream.url}/api.json?key=do-not-tell")
    with pytest.raises(ServerError, match="500") as raised:
        await server.fingerprint()
    await server.close()
    assert "do-not-tell" not in str(raised.value)


@pytest.mark.parametrize(
    "settings",
    [
        {"spec": "x", "base_url": "ftp://x"},
        {"spec": "x", "base_url": "https://u:p@x"},
        {"spec": "x", "base_url": "https://x?a=1"},
        {"spec": "https://u:p@x/y"},
        {"spec": ""},
        {"spec": "x", "timeout": 0},
        {"spec": "x", "origins": ["https://a.test/path"]},
        {"spec": "x", "origins": ["a.test"]},
        {"spec": "x", "headers": {"a b": "c"}},
        {"spec": "x", "verify": False},
    ],
)
def test_openapi_settings_are_checked(settings):
    """Settings that can't work, or would be unsafe, are refused; TLS verification has no switch."""
    with pytest.raises(ValidationError):
        OpenAPI.Settings(**settings)


@pytest.mark.parametrize(
    ("auth", "settings", "allowed"),
    [
        (None, {}, True),
        (Bearer(), {}, False),
        (Bearer(), {"spec": "http://evil.example/openapi.json"}, True),
        (Bearer(), {"base_url": "http://evil.example"}, True),
    ],
)
def test_openapi_a_document_cannot_lead_credentials_away(tmp_path, auth, settings, allowed):
    """Credentials go to the origin of a downloaded document, or where `base_url` says; never where only the document says."""
    made = source(tmp_path, auth, **{"spec": "http://127.0.0.1:1/openapi.json", **settings})
    if allowed:
        assert made._base({"base": "http://evil.example"}) == "http://evil.example"
    else:
        with pytest.raises(ServerError, match="on its word alone"):
            made._base({"base": "http://evil.example"})
