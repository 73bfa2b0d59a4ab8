"""Where documents come from: files, compressed files, several files, URLs."""

from __future__ import annotations

import gzip
import json
import os

import anyio
import httpx2
import pytest
from doorward import ConfigError, MissingSecret, ServerContext, ServerError
from doorward_http import zstd_module as zstd
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
    "pack",
    [
        lambda b: b,
        zstd().compress,
        gzip.compress,
        lambda b: b"\xef\xbb\xbf" + b,
        lambda b: b.decode().encode("utf-16"),
    ],
)
async def test_openapi_packed_documents(tmp_path, operation, pack):
    """CONTRACT: SRC-03 Plain, zstd, gzip, with byte order mark or in UTF-16: the same functions."""
    (tmp_path / "d.json").write_bytes(pack(json.dumps(operation()).encode()))
    made = await source(tmp_path, spec="d.json").compile()
    assert [f.name for f in made.functions] == ["op"]


@pytest.mark.parametrize(
    ("spec", "advice"),
    [
        ("127.0.0.1:8604/openapi.json", "it begins with http://"),
        ("localhost:8604/openapi.json", "it begins with http://"),
        ("api.example.com/openapi.json", "it begins with https://"),
        ("specs/api.json", "It is a path"),
        ("api.json", "It is a path"),
    ],
)
async def test_openapi_url_without_a_scheme(tmp_path, spec, advice):
    """It is taken for a path, and the error says what is missing."""
    with pytest.raises(ConfigError, match="there is no file") as raised:
        await source(tmp_path, spec=spec).compile()
    assert advice in raised.value.hint


async def test_openapi_missing_file(tmp_path):
    """A file that is not there is a ConfigError with its whole path."""
    with pytest.raises(ConfigError, match="nowhere") as raised:
        await source(tmp_path, spec="nowhere.json").fingerprint()
    assert str(tmp_path) in str(raised.value)


async def test_openapi_device_is_no_document(tmp_path):
    """What is no regular file is not read: it might never end."""
    with pytest.raises(ConfigError):
        await source(tmp_path, spec="/dev/zero").fingerprint()


@pytest.mark.slow
@pytest.mark.parametrize("pack", [zstd().compress, gzip.compress])
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
            "/deep": {
                "get": {
                    "responses": {
                        "200": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Deep"}}}}
                    }
                }
            },
        },
        "components": {
            "schemas": {
                "Deep": {"type": "array", "items": {"$ref": "#/components/schemas/Evil"}},
                "Evil": {"$ref": "file:///etc/passwd"},
            }
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
    """References reach the files of the document's folder; those that leave it, however written, lose only their
    operation."""
    made = await several(tmp_path).compile()
    assert [(f.name, list(f.parameters["properties"])) for f in made.functions] == [("a", ["q"])]
    assert {s.where for s in made.skipped} == {"GET /up", "GET /abs", "GET /enc", "GET /link", "GET /http", "GET /deep"}
    assert made.definitions[made.functions[0].returns["$ref"].removeprefix("#/$defs/")] == {"type": "object"}


async def test_openapi_an_operation_in_a_file_of_its_own(tmp_path):
    """Its id is its name, its server is seen, its references start where it stands; one that is nowhere is skipped
    alone."""
    (tmp_path / "parts").mkdir()
    listed = {
        "operationId": "droplets_list",
        "servers": [{"url": "https://other.example"}],
        "parameters": [{"$ref": "page.json"}],
    }
    (tmp_path / "parts" / "list.json").write_text(json.dumps(listed))
    (tmp_path / "parts" / "page.json").write_text(
        json.dumps({"name": "page", "in": "query", "schema": {"type": "integer"}})
    )
    paths = {"/droplets": {"get": {"$ref": "parts/list.json"}, "post": {"$ref": "parts/nowhere.json"}}}
    api = {"openapi": "3.0.3", "servers": [{"url": "https://api.example"}], "paths": paths}
    (tmp_path / "api.json").write_text(json.dumps(api))
    made = await source(tmp_path, spec="api.json").compile()
    assert [(f.name, f.id, list(f.parameters["properties"])) for f in made.functions] == [
        ("droplets_list", "droplets_list", ["page"])
    ]
    assert [s.where for s in made.skipped] == ["POST /droplets"]
    assert any("https://other.example" in warning for warning in made.warnings)


async def test_openapi_fingerprint_covers_all_files(tmp_path):
    """CONTRACT: SRC-12 The fingerprint changes with the document and with each file it refers to, and only then."""
    first = await several(tmp_path).fingerprint()
    again = source(tmp_path, spec="api/root.json")
    assert await again.fingerprint() == first
    part = tmp_path / "api" / "parts" / "more.json"
    part.write_text(part.read_text() + " ")
    assert await again.fingerprint() != first


async def test_openapi_a_document_that_has_not_changed_is_not_held(tmp_path, operation, until, monkeypatch):
    """What was read for the fingerprint waits a moment to be compiled: most documents are not, and they are large."""
    monkeypatch.setattr("doorward_openapi.source._HELD_SECONDS", 0.01)
    (tmp_path / "d.json").write_text(json.dumps(operation()))
    made = source(tmp_path, spec="d.json")
    await made.fingerprint()
    assert made._read is not None
    await until(lambda: made._read is None)
    assert len((await made.compile()).functions) == 1


@pytest.mark.slow
async def test_openapi_a_document_stays_as_it_was_read_for_its_fingerprint(tmp_path, operation, monkeypatch):
    """Though one that was read before is let go meanwhile: a server could give another one to be compiled."""
    (tmp_path / "d.json").write_text(json.dumps(operation()))
    made = source(tmp_path, spec="d.json")
    for seconds in (0.05, 1000):
        monkeypatch.setattr("doorward_openapi.source._HELD_SECONDS", seconds)
        await made.fingerprint()
    await anyio.sleep(0.1)
    (tmp_path / "d.json").write_text(json.dumps(operation(path="/other")))
    assert [function.route for function in (await made.compile()).functions] == ["GET /x"]


async def test_openapi_from_a_url(tmp_path, upstream, operation):
    """CONTRACT: SRC-03 A document is downloaded, with the files of its origin that it refers to; relative servers are
    resolved."""
    root = {**operation(parameters=[{"$ref": "parts/p.json"}]), "servers": [{"url": "/v2"}]}
    upstream.answers["/docs/api.json"] = (200, {}, json.dumps(root).encode())
    upstream.answers["/docs/parts/p.json"] = (200, {}, b'{"name": "q", "in": "query", "schema": {}}')
    server = source(tmp_path, spec=f"{upstream.url}/docs/api.json")
    made = await server.compile()
    await server.close()
    assert made.functions[0].data["base"] == f"{upstream.url}/v2"
    assert list(made.functions[0].parameters["properties"]) == ["q"]


@pytest.mark.parametrize(
    ("settings", "warned"), [({}, True), ({"socket": "/x.sock"}, False), ({"base_url": "http://127.0.0.1:9"}, False)]
)
async def test_openapi_a_url_that_says_where_calls_go(tmp_path, upstream, document, settings, warned):
    """It is told that a document from elsewhere decides that, unless the operator has: by `base_url`, or by a
    socket."""
    described = document({"/a": {"get": {}}}, servers=[{"url": "https://api.example"}])
    upstream.answers["/d.json"] = (200, {}, json.dumps(described).encode())
    server = source(tmp_path, spec=f"{upstream.url}/d.json", **settings)
    made = await server.compile()
    await server.close()
    assert any("calls go to" in warning for warning in made.warnings) is warned


@pytest.mark.parametrize(
    ("base_url", "server", "answered", "sent"),
    [
        ("same", None, "alike", [False]),
        ("same", None, "varies", [False, True]),
        ("same", None, "more", [False, True]),
        ("same", None, "page", [False, True]),
        ("same", None, "refused", [False, True]),
        ("same", None, "wants a header", [False, True]),
        ("https://other.test", None, "varies", [False]),
        ("https://other.test", "/v1", "more", [False]),
        ("https://other.test", "/v1", "page", [False]),
        ("https://other.test", None, "refused", [False]),
        (None, None, "alike", [False]),
        (None, None, "varies", [False, True]),
        (None, "/v1", "alike", [False]),
        (None, "/v1", "more", [False, True]),
        (None, "https://other.test", "varies", [False]),
        (None, "https://other.test", "refused", [False, True]),
    ],
)
async def test_openapi_download_credentials(tmp_path, upstream, operation, base_url, server, answered, sent):
    """CONTRACT: AUT-18 Credentials go with a download only where it is refused without, or depends on them, as its `Vary`
    or the operator says; and then to the API's own origin, as the operator or the document there says, never to another
    one, and to an unknown one only if it asks."""
    described = json.dumps({**operation(), **({"servers": [{"url": server}]} if server else {})}).encode()
    upstream.answers["/api.json"] = {
        "varies": (200, {"Vary": "Accept, authorization"}, described),
        "page": (200, {}, b"\n<!DOCTYPE html>"),
        "refused": (401, {}, b""),
        "wants a header": lambda told: (200, {}, described) if upstream.header("Authorization") else (400, {}, b""),
    }.get(answered, (200, {"Vary": "Accept, Origin"}, described))
    settings = {"spec": f"{upstream.url}/api.json", "base_url": upstream.url if base_url == "same" else base_url}
    server = source(tmp_path, Bearer(), **settings, spec_auth=answered == "more")
    if answered == "refused":
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
        {"spec": "http:///y"},
        {"spec": "https://x:port/y"},
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
    """Credentials go to the origin of a downloaded document, or where `base_url` says; never where only the document
    says."""
    made = source(tmp_path, auth, **{"spec": "http://127.0.0.1:1/openapi.json", **settings})
    if allowed:
        assert made._base({"base": "http://evil.example"}) == "http://evil.example"
    else:
        with pytest.raises(ServerError, match="on its word alone"):
            made._base({"base": "http://evil.example"})


@pytest.mark.parametrize(
    ("server", "base"),
    [
        ({"url": "https://api.example.org/v1"}, "https://api.example.org/v1"),
        ({"url": "https://{r}.example.org", "variables": {"r": {"default": "eu"}}}, "https://eu.example.org"),
    ],
)
async def test_openapi_a_changed_catalog_cannot_lead_credentials_away(tmp_path, server, base):
    """Without `base_url` credentials go where the document says, read anew, and not where only what was compiled of it
    says."""
    made = {"openapi": "3.1.0", "info": {}, "servers": [server], "paths": {"/x": {"get": {"responses": {}}}}}
    (tmp_path / "api.json").write_text(json.dumps(made))
    bearer = source(tmp_path, Bearer(), spec="api.json")
    await bearer._vouch(base)
    with pytest.raises(ServerError, match=r"does not name https://evil\.example"):
        await bearer._vouch("https://evil.example")
    await source(tmp_path, None, spec="api.json")._vouch("https://evil.example")  # there is nothing to be led away


@pytest.mark.slow
async def test_openapi_first_calls_and_a_compile_do_not_disturb_each_other(tmp_path, operation, monkeypatch):
    """What a call reads to see where credentials go is none of a compile that runs meanwhile; calls that begin together
    read once."""
    from doorward_openapi.fetching import fetch

    base, action = "https://api.example.org", {"target": "$.paths['/x'].get", "update": {"operationId": "corrected"}}
    (tmp_path / "api.json").write_text(json.dumps({**operation(), "servers": [{"url": base}]}))
    (tmp_path / "fix.json").write_text(json.dumps({"overlay": "1.0.0", "info": {}, "actions": [action]}))
    bearer = source(tmp_path, Bearer(), spec="api.json", overlay="fix.json")
    await bearer.fingerprint()
    read, gate, original = [], anyio.Event(), fetch.fetch

    async def slow(place, *rest, **more):
        read.append(place)
        await gate.wait()
        return await original(place, *rest, **more)

    monkeypatch.setattr(fetch, "fetch", slow)
    async with anyio.create_task_group() as group:
        for _ in range(3):
            group.start_soon(bearer._vouch, base)
        await anyio.wait_all_tasks_blocked()
        gate.set()
        while "fix.json" not in read:
            await anyio.sleep(0)
        assert [function.name for function in (await bearer.compile()).functions] == ["corrected"]
    assert read == ["api.json", "fix.json"]


def answer(upstream, path, document, **headers):
    upstream.answers[path] = (200, {k.replace("_", "-"): v for k, v in headers.items()}, json.dumps(document).encode())


class Revalidated:
    """A document with an ETag; it tells what it was asked with."""

    def __init__(self, upstream, document):
        self.url = f"{upstream.url}/api?key=do-not-write"
        self.document, self.etag, self.headers = document, '"1"', {}
        self.asked: list[str | None] = []
        upstream.answers["/api"] = self.answer

    def answer(self, told):
        known = dict(told["headers"]).get("If-None-Match")
        self.asked.append(known)
        return (
            (304, {}, b"")
            if known == self.etag
            else (200, {"ETag": self.etag, **self.headers}, json.dumps(self.document).encode())
        )


@pytest.fixture
def revalidating(upstream, operation):
    return Revalidated(upstream, operation())


async def names(tmp_path, *auth, **settings):
    """The functions of a source that was made anew, as after a restart."""
    made = source(tmp_path, *auth, **settings)
    try:
        return [f.name for f in (await made.compile()).functions]
    finally:
        await made.close()


async def test_openapi_unchanged_document_is_not_sent_again(tmp_path, revalidating):
    """CONTRACT: SRC-03 A document that was kept is asked for with its ETag; what a 304 stands for is used, and a new
    one replaces it."""
    assert await names(tmp_path, spec=revalidating.url) == ["op"]
    assert await names(tmp_path, spec=revalidating.url) == ["op"]
    assert revalidating.asked == [None, '"1"']
    revalidating.etag, revalidating.document["paths"]["/x"]["get"]["operationId"] = '"2"', "changed"
    assert await names(tmp_path, spec=revalidating.url) == ["changed"]
    assert await names(tmp_path, spec=revalidating.url) == ["changed"]
    assert revalidating.asked[2:] == ['"1"', '"2"']


async def test_openapi_kept_documents_are_private(tmp_path, revalidating):
    """What is kept is readable for nobody else, and holds nothing of the URL's query."""
    await names(tmp_path, spec=revalidating.url)
    (kept,) = (tmp_path / "documents").iterdir()
    assert (kept.stat().st_mode & 0o777, kept.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert b"do-not-write" not in kept.read_bytes()


@pytest.mark.skipif(os.name != "posix", reason="pipes and links of POSIX")
@pytest.mark.parametrize(
    "put", [lambda path: os.mkfifo(path), lambda path: path.symlink_to(path.parent.parent / "victim")]
)
async def test_openapi_kept_documents_are_ours(tmp_path, revalidating, put):
    """What lies in the place of a kept document is neither waited for nor read: the document is downloaded in full."""
    await names(tmp_path, spec=revalidating.url)
    (kept,) = (tmp_path / "documents").iterdir()
    kept.rename(tmp_path / "victim")
    put(kept)
    before = (tmp_path / "victim").read_bytes()
    assert await names(tmp_path, spec=revalidating.url) == ["op"]
    assert revalidating.asked == [None, None]
    assert (tmp_path / "victim").read_bytes() == before


async def test_openapi_the_query_of_a_url_is_in_nothing_that_is_told(tmp_path, upstream, revalidating, operation):
    """It may hold a key: no name of a definition, and no place in an error, has it."""
    revalidating.document = operation(parameters=[{"name": "q", "in": "query", "schema": {"$ref": "#"}}])
    made = source(tmp_path, spec=revalidating.url)
    assert list((await made.compile()).definitions) == ["api", "routes of the document"]
    upstream.answers["/api"] = (200, {}, b"{")
    with pytest.raises(ConfigError) as raised:
        await made.compile()
    await made.close()
    assert "do-not-write" not in f"{raised.value} {raised.value.place} {raised.value.hint}"


@pytest.mark.parametrize(
    "damage", [lambda b: b[:-5], lambda b: b"", lambda b: b"[]\n" + b, lambda b: b.replace(b'"op"', b'"no"')]
)
async def test_openapi_damaged_copy_is_ignored(tmp_path, revalidating, damage):
    """A kept document that is cut, empty, no such file, or changed is fetched again in full."""
    await names(tmp_path, spec=revalidating.url)
    (kept,) = (tmp_path / "documents").iterdir()
    kept.write_bytes(damage(kept.read_bytes()))
    assert await names(tmp_path, spec=revalidating.url) == ["op"]
    assert revalidating.asked == [None, None]


async def test_openapi_no_store_is_not_kept(tmp_path, revalidating):
    """`Cache-Control: no-store` is obeyed; what was kept before goes."""
    await names(tmp_path, spec=revalidating.url)
    revalidating.etag, revalidating.headers = '"2"', {"Cache-Control": "private, No-Store"}
    await names(tmp_path, spec=revalidating.url)
    assert list((tmp_path / "documents").iterdir()) == []


async def test_openapi_kept_documents_are_bounded(tmp_path, monkeypatch):
    """The oldest go when there are too many."""
    from doorward_openapi.fetching import document_cache

    monkeypatch.setattr(document_cache, "MAX_CACHED_DOCUMENTS", 3)
    kept = document_cache.DocumentCache(tmp_path)
    for number in range(6):
        kept.write(f"http://a/{number}", f"http://a/{number}", {"etag": '"1"'}, b"x")
    assert len(list(tmp_path.iterdir())) == 3
    assert kept.read("http://a/5").body == b"x"
    assert kept.read("http://a/0") is None


async def test_openapi_redirect_within_the_origin(tmp_path, upstream, operation):
    """A document is where its redirects end: relative references and servers start there."""
    root = {**operation(parameters=[{"$ref": "p.json"}]), "servers": [{"url": "v2"}]}
    upstream.answers["/latest"] = (302, {"Location": "/docs/1/api.json"}, b"")
    answer(upstream, "/docs/1/api.json", root)
    answer(upstream, "/docs/1/p.json", {"name": "q", "in": "query", "schema": {}})
    server = source(tmp_path, spec=f"{upstream.url}/latest")
    made = await server.compile()
    await server.close()
    assert list(made.functions[0].parameters["properties"]) == ["q"]
    assert made.functions[0].data["base"] == f"{upstream.url}/docs/1/v2"


@pytest.mark.parametrize(
    ("location", "why"),
    [
        ("/loop", "more than 5 times"),
        ("http://[", "no plain http"),
        ("ftp://a/b", "no plain http"),
        ("", "without saying where"),
    ],
)
async def test_openapi_redirect_that_leads_nowhere(tmp_path, upstream, location, why):
    """Redirects in a circle, and to what is no http URL, are refused with the reason."""
    upstream.answers["/loop"] = (302, {"Location": location} if location else {}, b"")
    server = source(tmp_path, spec=f"{upstream.url}/loop")
    with pytest.raises(ServerError, match=why):
        await server.fingerprint()
    await server.close()


async def test_openapi_redirect_to_a_private_address(tmp_path, upstream, elsewhere, operation):
    """A redirect may not lead to a private address of another origin, unless `origins` has it."""
    upstream.answers["/api.json"] = (302, {"Location": f"{elsewhere.url}/api.json"}, b"")
    answer(elsewhere, "/api.json", operation())
    for target in (elsewhere.url, "http://169.254.169.254", "http://localhost", "http://[::1]"):
        upstream.answers["/api.json"] = (302, {"Location": f"{target}/api.json"}, b"")
        server = source(tmp_path, spec=f"{upstream.url}/api.json")
        with pytest.raises(ServerError, match="only the configuration"):
            await server.fingerprint()
        await server.close()
    assert elsewhere.seen == []
    upstream.answers["/api.json"] = (302, {"Location": f"{elsewhere.url}/api.json"}, b"")
    assert await names(tmp_path, spec=f"{upstream.url}/api.json", origins=[elsewhere.url]) == ["op"]


async def test_openapi_redirect_carries_credentials_only_to_origins(
    tmp_path, upstream, elsewhere, operation, monkeypatch
):
    """Another origin, though public, gets no credentials, not even if it refuses without; one of `origins` does."""
    from doorward_openapi.calls import destinations

    monkeypatch.setattr(destinations, "not_public", lambda address: "")  # loopback is all that a test has
    upstream.answers["/api.json"] = (302, {"Location": f"{elsewhere.url}/api.json"}, b"")
    answer(elsewhere, "/api.json", operation())
    for origins, expected in (([], False), ([elsewhere.url], True)):
        server = source(
            tmp_path,
            Bearer(),
            spec=f"{upstream.url}/api.json",
            base_url=upstream.url,
            origins=origins,
            spec_auth=True,
        )
        await server.fingerprint()
        await server.close()
        assert upstream.header("Authorization") == ["Bearer token-of-the-test"]
        assert bool(elsewhere.header("Authorization")) is expected
    elsewhere.answers["/api.json"] = (401, {}, b"")
    server = source(tmp_path, Bearer(), spec=f"{upstream.url}/api.json")
    with pytest.raises(ServerError, match="401"):
        await server.fingerprint()
    await server.close()
    assert elsewhere.header("Authorization") == []


async def test_openapi_references_to_other_origins(tmp_path, upstream, elsewhere, operation):
    """A reference to another origin is followed only if `origins` has it; from a file as from a URL."""
    answer(elsewhere, "/shared/p.json", {"$ref": "q.json"})
    answer(elsewhere, "/shared/q.json", {"name": "q", "in": "query", "schema": {}})
    root = operation(parameters=[{"$ref": f"{elsewhere.url}/shared/p.json"}])
    answer(upstream, "/api.json", root)
    (tmp_path / "api.json").write_text(json.dumps(root))
    for spec in ("api.json", f"{upstream.url}/api.json"):
        server = source(tmp_path, spec=spec)
        made = await server.compile()
        await server.close()
        assert not made.functions
        assert "`origins`" in made.skipped[0].why
        assert elsewhere.seen == []
    for spec in ("api.json", f"{upstream.url}/api.json"):
        server = source(tmp_path, spec=spec, origins=[elsewhere.url])
        made = await server.compile()
        await server.close()
        assert list(made.functions[0].parameters["properties"]) == ["q"]


async def test_openapi_other_origins_cannot_refer_to_files(tmp_path, elsewhere, operation):
    """What was downloaded from an allowed origin still reaches no local file and no other host."""
    answer(elsewhere, "/p.json", {"$ref": "file:///etc/passwd"})
    answer(elsewhere, "/q.json", {"$ref": "http://169.254.169.254/latest"})
    (tmp_path / "api.json").write_text(
        json.dumps(operation(parameters=[{"$ref": f"{elsewhere.url}/{n}.json"} for n in "pq"]))
    )
    server = source(tmp_path, spec="api.json", origins=[elsewhere.url])
    made = await server.compile()
    await server.close()
    assert not made.functions
    assert "outside" in made.skipped[0].why


@pytest.mark.parametrize("name", ["openapi.yaml", "swagger.json", "The API v2.yml", "openapi.json.gz"])
async def test_openapi_folder(tmp_path, operation, name):
    """CONTRACT: SRC-03 Of a folder, the document in it is taken, by its name or because nothing else there is one."""
    (tmp_path / "api" / "parts").mkdir(parents=True)
    raw = json.dumps(operation(parameters=[{"$ref": "parts/p.json"}])).encode()
    (tmp_path / "api" / name).write_bytes(gzip.compress(raw) if name.endswith("gz") else raw)
    (tmp_path / "api" / "other.json").write_text('{"paths": {}}')
    (tmp_path / "api" / "parts" / "p.json").write_text('{"name": "q", "in": "query", "schema": {}}')
    made = await source(tmp_path, spec="api").compile()
    assert list(made.functions[0].parameters["properties"]) == ["q"]


async def test_openapi_folder_without_one_document(tmp_path, operation):
    """A folder with no document, or several, is refused with what there is."""
    with pytest.raises(ConfigError, match="no OpenAPI document"):
        await source(tmp_path, spec=".").compile()
    for name in ("a.json", "b.json"):
        (tmp_path / name).write_text(json.dumps(operation()))
    with pytest.raises(ConfigError, match=r"a\.json, b\.json"):
        await source(tmp_path, spec=".").compile()


NAMED = {
    "Node": {
        "$id": "https://schemas.test/node",
        "$anchor": "node",
        "type": "object",
        "properties": {"n": {"$ref": "#leaf"}},
    },
    "Leaf": {"$anchor": "leaf", "$dynamicAnchor": "leaves", "type": "string", "maxLength": 7},
    "Short": {"$id": "short.json", "$defs": {"deep": {"type": "boolean"}}},
}


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"$ref": "#leaf"}, {"type": "string", "maxLength": 7}),
        ({"$dynamicRef": "#leaves"}, {"type": "string", "maxLength": 7}),
        ({"$ref": "https://schemas.test/node#leaf"}, {"type": "string", "maxLength": 7}),
        ({"$ref": "short.json#/$defs/deep"}, {"type": "boolean"}),
        ({"$ref": "https://schemas.test/node#/properties/n"}, {"type": "string", "maxLength": 7}),
    ],
)
async def test_openapi_named_schemas(api, operation, schema, expected):
    """`$anchor`, `$dynamicAnchor` and `$id` of 3.1 are found in the document."""
    content = {"application/json": {"schema": schema}}
    made = await api({**operation(responses={"200": {"content": content}}), "components": {"schemas": NAMED}})
    assert made.compiled.definitions[made.functions["op"].returns["$ref"].removeprefix("#/$defs/")] == expected


async def test_openapi_unknown_anchor(api, operation):
    """An anchor that is not there makes the schema unknown, with a warning; the function works."""
    made = await api(operation(responses={"200": {"content": {"application/json": {"schema": {"$ref": "#gone"}}}}}))
    assert "op" in made.functions
    assert any("#gone" in warning for warning in made.compiled.warnings)


async def test_openapi_files_are_bounded_together(tmp_path, operation, monkeypatch):
    """Many files that are too large altogether are refused."""
    from doorward_openapi.fetching import fetch

    monkeypatch.setattr(fetch, "MAX_DOCUMENT_BYTES", 2_000)
    parts = [{"$ref": f"{n}.json"} for n in range(10)]
    for n in range(10):
        (tmp_path / f"{n}.json").write_text(json.dumps({"name": f"q{n}", "in": "query", "description": "x" * 500}))
    (tmp_path / "api.json").write_text(json.dumps(operation(parameters=parts)))
    with pytest.raises(ConfigError, match="too large altogether"):
        await source(tmp_path, spec="api.json").fingerprint()


def public(operation, more=(), **root):
    """A document that has more for those who come with credentials."""
    whole = operation()
    paths = {**whole["paths"], **{path: {"get": {"operationId": path.strip("/")}} for path in more}}
    return json.dumps({**whole, "paths": paths, **root}).encode()


def by_credentials(open_to_all, own, **headers):
    """An answer with an ETag of its own for those with credentials, as the text of the document is another; it says that
    it depends on them, but not again where nothing has changed."""

    def answer(told):
        asked = {name.lower(): value for name, value in told["headers"]}
        body, etag = (own, '"own"') if "authorization" in asked else (open_to_all, '"open"')
        return (
            (304, {}, b"")
            if asked.get("if-none-match") == etag
            else (200, {"ETag": etag, "Vary": "Authorization", **headers}, body)
        )

    return answer


async def test_openapi_a_document_that_has_more_with_credentials(tmp_path, upstream, operation):
    """A document of the API's own origin is that which credentials show, and it is told what they bring; kept apart
    from what all see."""
    upstream.answers["/api.json"] = by_credentials(public(operation), public(operation, ["/a", "/b"]))
    for _ in range(2):  # as after a restart: what was kept is used
        server = source(tmp_path, Bearer(), spec=f"{upstream.url}/api.json")
        await server.fingerprint()
        made = await server.compile()
        await server.close()
        assert len(made.functions) == 3
        assert made.warnings[0] == "the document was asked for with credentials: 3 operations, 1 without"
    assert [dict(told["headers"]).get("If-None-Match") for told in upstream.seen] == [None, None, '"open"', '"own"']
    assert await names(tmp_path, spec=f"{upstream.url}/api.json") == ["op"]


async def test_openapi_a_document_that_is_the_same_for_all_is_not_told(tmp_path, upstream, operation):
    """Where credentials make no difference, nothing is said of them."""
    upstream.answers["/api.json"] = (200, {}, public(operation))
    server = source(tmp_path, Bearer(), spec=f"{upstream.url}/api.json", spec_auth=True)
    assert not (await server.compile()).warnings
    await server.close()


@pytest.mark.parametrize(("status", "why"), [(401, "401"), (500, "500")])
async def test_openapi_credentials_that_do_not_serve(tmp_path, upstream, operation, status, why):
    """If the document cannot be had with credentials, it is read as everybody sees it, and that is told."""
    refused = (status, {}, b"")
    upstream.answers["/api.json"] = lambda told: (
        refused if upstream.header("Authorization") else (200, {}, public(operation))
    )
    server = source(tmp_path, Bearer(), spec=f"{upstream.url}/api.json", retries=0, spec_auth=True)
    made = await server.compile()
    await server.close()
    assert [f.id for f in made.functions] == ["op"]
    assert "as everybody sees it" in made.warnings[0]
    assert why in made.warnings[0]


@pytest.mark.parametrize("base_url", [True, False])
async def test_openapi_credentials_that_are_not_there_yet(tmp_path, upstream, operation, base_url):
    """A variable that is not set is told with a document that would have more, which is read without; another document
    does not need it."""

    class Lacking(httpx2.Auth):
        def auth_flow(self, request):
            raise MissingSecret("${API_TOKEN} is not set", hint="Set it.")
            yield request

    upstream.answers["/api.json"] = (200, {}, public(operation))
    settings = {"spec": f"{upstream.url}/api.json", **({"base_url": upstream.url} if base_url else {})}
    server = source(tmp_path, Lacking(), **settings)
    assert not (await server.compile()).warnings
    await server.close()
    server = source(tmp_path, Lacking(), **settings, spec_auth=True)
    made = await server.compile()
    await server.close()
    assert "may have more with" in made.warnings[0]
    assert "${API_TOKEN} is not set" in made.warnings[0]


@pytest.mark.parametrize("says", ["own", "spec", "nothing"])
async def test_openapi_a_document_elsewhere_gets_no_credentials(
    tmp_path, upstream, elsewhere, operation, monkeypatch, says
):
    """A document to which the configured URL redirects has none, whatever servers it names; nor does its origin."""
    from doorward_openapi.calls import destinations

    monkeypatch.setattr(destinations, "not_public", lambda address: "")  # loopback is all that a test has
    upstream.answers["/api.json"] = (302, {"Location": f"{elsewhere.url}/api.json"}, b"")
    url = {"own": elsewhere.url, "spec": upstream.url}.get(says)
    elsewhere.answers["/api.json"] = (200, {}, public(operation, **({"servers": [{"url": url}]} if url else {})))
    server = source(tmp_path, Bearer(), spec=f"{upstream.url}/api.json")
    await server.compile()
    await server.close()
    assert not any(
        name == "Authorization" for at in (upstream, elsewhere) for told in at.seen for name, _ in told["headers"]
    )


async def test_openapi_a_redirect_of_those_with_credentials(tmp_path, upstream, elsewhere, operation, monkeypatch):
    """A server that sends those who come with credentials elsewhere gets them nowhere else."""
    from doorward_openapi.calls import destinations

    monkeypatch.setattr(destinations, "not_public", lambda address: "")
    away = (302, {"Location": f"{elsewhere.url}/api.json"}, b"")
    upstream.answers["/api.json"] = lambda told: (
        away if upstream.header("Authorization") else (200, {}, public(operation))
    )
    elsewhere.answers["/api.json"] = (200, {}, public(operation, ["/more"]))
    server = source(tmp_path, Bearer(), spec=f"{upstream.url}/api.json", spec_auth=True)
    await server.compile()
    await server.close()
    assert elsewhere.seen
    assert elsewhere.header("Authorization") == []


async def test_openapi_a_redirect_to_where_people_log_in(tmp_path, upstream, elsewhere, operation):
    """Where those without credentials are led to an address that only the operator may name, the document is asked for with
    credentials, if it is of the API's own origin."""
    away = (302, {"Location": f"{elsewhere.url}/login"}, b"")
    upstream.answers["/api.json"] = lambda told: (
        (200, {}, public(operation)) if upstream.header("Authorization") else away
    )
    assert await names(tmp_path, Bearer(), spec=f"{upstream.url}/api.json", base_url=upstream.url) == ["op"]
    with pytest.raises(ServerError, match="redirects to"):
        await names(tmp_path, Bearer(), spec=f"{upstream.url}/api.json", base_url="https://other.test")


@pytest.mark.parametrize(
    "more",
    [
        {"servers": [{"url": "https://{tenant}.api.test"}]},
        {"servers": [{"url": "{host}/v1"}, {"url": "https://api.other.test/{x}"}]},
        {"paths": {"/x": {"get": {"operationId": "op", "servers": [{"url": "https://api.other.test"}]}}}},
        {"paths": {"/x": {"servers": [{"url": "https://api.other.test"}], "get": {"operationId": "op"}}}},
    ],
    ids=["a variable", "two variables", "of an operation", "of a path"],
)
async def test_openapi_a_document_that_names_other_places_is_not_at_home(tmp_path, upstream, operation, more):
    """Where it is from is the API's place only if it names none at all."""
    upstream.answers["/api.json"] = (200, {}, public(operation, **more))
    server = source(tmp_path, Bearer(), spec=f"{upstream.url}/api.json", spec_auth=True)
    await server.compile()
    await server.close()
    assert upstream.header("Authorization") == []


@pytest.mark.parametrize("where", ["/v1", "https://api.other.test"])
async def test_openapi_files_of_a_document_come_as_it_does(tmp_path, upstream, operation, where):
    """What a document refers to is asked for with credentials where itself says that the API is, not because a file
    says nothing."""
    upstream.answers["/api.json"] = (
        200,
        {},
        json.dumps({**operation(parameters=[{"$ref": "p.json"}]), "servers": [{"url": where}]}).encode(),
    )
    upstream.answers["/p.json"] = (200, {}, b'{"name": "q", "in": "query", "schema": {}}')
    server = source(tmp_path, Bearer(), spec=f"{upstream.url}/api.json", spec_auth=True)
    await server.compile()
    await server.close()
    sent = [(told["path"], any(name == "Authorization" for name, _ in told["headers"])) for told in upstream.seen]
    home = where == "/v1"
    first = [("/api.json", False), *([("/api.json", True)] if home else []), ("/p.json", False)]
    assert sent[: len(first)] == first
    assert sent[len(first) :] == ([("/p.json", True)] if home else [])
