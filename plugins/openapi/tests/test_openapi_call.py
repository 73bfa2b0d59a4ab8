"""Calls: arguments → HTTP requests → values or errors, against a server that tells what it received."""

from __future__ import annotations

import json
from urllib.parse import parse_qsl

import anyio
import httpx2
import pytest
from doorward import ApiError, Call, InvalidArguments, Reply, ServerError
from doorward.values import quoted
from doorward_openapi.calls import request
from doorward_testing import reserve_port
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pytestmark = pytest.mark.anyio

JSON = {"Content-Type": "application/json"}


def query(name, **wire):
    return {"name": name, "in": "query", "schema": {}, **wire}


async def test_openapi_get_and_post(api, document):
    """CONTRACT: SRC-01 Path, query, header, cookie and body arguments arrive where the document says."""
    made = await api(
        document(
            {
                "/items/{id}": {
                    "post": {
                        "operationId": "op",
                        "parameters": [
                            {"name": "id", "in": "path", "required": True, "schema": {}},
                            query("q"),
                            {"name": "X-Trace", "in": "header", "schema": {}},
                            {"name": "session", "in": "cookie", "schema": {}},
                        ],
                        "requestBody": {
                            "content": {
                                "application/json": {"schema": {"type": "object", "properties": {"title": {}, "n": {}}}}
                            }
                        },
                    }
                }
            }
        )
    )
    told = await made.call("op", id=7, q="a&b=c", x_trace="t", session="s; x", title="ü", n=None)
    headers = dict(told["headers"])
    assert (told["method"], told["path"]) == ("POST", "/items/7?q=a%26b%3Dc")
    assert (headers["X-Trace"], headers["Cookie"], headers["Content-Type"]) == (
        "t",
        "session=s%3B%20x",
        "application/json",
    )
    assert json.loads(told["body"].encode("latin-1")) == {"title": "ü", "n": None}


@pytest.mark.parametrize(
    ("wire", "value", "expected"),
    [
        ({}, [1, "a b"], "q=1&q=a%20b"),
        ({"explode": False}, ["a,b", 2], "q=a%2Cb,2"),
        ({"style": "spaceDelimited"}, ["a", "b"], "q=a%20b"),
        ({"style": "pipeDelimited"}, ["a", "b"], "q=a%7Cb"),
        ({"style": "deepObject"}, {"a": 1, "b": {"c": [True]}}, "q%5Ba%5D=1&q%5Bb%5D%5Bc%5D%5B0%5D=true"),
        ({}, {"a": 1, "b": "x"}, "a=1&b=x"),
        ({"explode": False}, {"a": 1, "b": "x"}, "q=a,1,b,x"),
        ({"allowReserved": True}, "a/b?c#d&e", "q=a/b?c%23d%26e"),
        ({}, True, "q=true"),
        ({}, 1.0, "q=1"),
        ({}, None, ""),
        ({}, [], ""),
    ],
)
async def test_openapi_query_styles(api, operation, upstream, wire, value, expected):
    """Queries are written in the style of the parameter, every value encoded."""
    made = await api(operation(parameters=[query("q", **wire)]))
    await made.call("op", q=value)
    assert upstream.seen[-1]["path"].partition("?")[2] == expected


async def test_openapi_query_content_is_json(api, operation):
    """A parameter with `content` is written as JSON."""
    made = await api(
        operation(parameters=[{"name": "f", "in": "query", "content": {"application/json": {"schema": {}}}}])
    )
    told = await made.call("op", f={"a": [1]})
    assert parse_qsl(told["path"].partition("?")[2]) == [("f", '{"a":[1]}')]


@pytest.mark.parametrize(
    ("wire", "value", "expected"),
    [
        ({}, ["a", "b/c"], "a,b%2Fc"),
        ({"style": "label"}, ["a", "b"], ".a,b"),
        ({"style": "label", "explode": True}, ["a", "b"], ".a.b"),
        ({"style": "matrix"}, ["a", "b"], ";p=a,b"),
        ({"style": "matrix", "explode": True}, {"a": 1, "b": 2}, ";a=1;b=2"),
        ({}, {"a": 1}, "a,1"),
        ({"explode": True}, {"a": 1}, "a=1"),
    ],
)
async def test_openapi_path_styles(api, operation, upstream, wire, value, expected):
    """Path values are written in the style of the parameter."""
    made = await api(
        operation(path="/x/{p}/y", parameters=[{"name": "p", "in": "path", "required": True, "schema": {}, **wire}])
    )
    await made.call("op", p=value)
    assert upstream.seen[-1]["path"] == f"/x/{expected}/y"


SCALARS = st.text().filter(lambda t: not any("\ud800" <= c <= "\udfff" for c in t))


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.too_slow])
@given(
    st.text(min_size=1).filter(lambda t: not any("\ud800" <= c <= "\udfff" for c in t)), st.lists(SCALARS, min_size=1)
)
def test_openapi_query_round_trip(name, values):
    """Property: names and values of a query arrive as they were, and nothing else arrives."""
    data = {"method": "GET", "path": "/a", "arguments": [{"arg": "q", "name": name, "in": "query", "explode": True}]}
    url = httpx2.URL(request.build("https://h.test", data, {"q": values}).url)
    assert url.path == "/a"
    assert parse_qsl(url.query.decode(), keep_blank_values=True) == [(name, v) for v in values]


async def test_openapi_header_injection_is_refused(api, operation, upstream):
    """A header value with a line break or a control character is refused before anything is sent."""
    made = await api(operation(parameters=[{"name": "X-A", "in": "header", "schema": {}}]))
    for value in ("a\r\nX-Evil: 1", "a\nb", "a\x00"):
        with pytest.raises(InvalidArguments, match="x_a"):
            await made.call("op", x_a=value)
    assert upstream.seen == []


async def test_openapi_host_is_fixed(api, document):
    """A path of the document that looks like another host stays a path of the base URL."""
    made = await api(
        document({"//evil.test/x": {"get": {"operationId": "a"}}, "@evil.test/x": {"get": {"operationId": "b"}}})
    )
    assert (await made.call("a"))["path"] == "/evil.test/x"  # http.server folds the two slashes
    assert (await made.call("b"))["path"] == "/@evil.test/x"


async def test_openapi_query_of_the_path(api, document):
    """A fixed query in a path is kept, a fragment is not sent."""
    made = await api(document({"/x?action=list#top": {"get": {"operationId": "op", "parameters": [query("q")]}}}))
    assert (await made.call("op", q=1))["path"] == "/x?action=list&q=1"


async def test_openapi_form_body(api, operation):
    """Form bodies: values encoded, lists repeated or deep, objects as the encoding says."""
    body = {
        "content": {
            "application/x-www-form-urlencoded": {
                "schema": {
                    "type": "object",
                    "properties": {"a": {}, "meta": {"type": "object"}, "tags": {"type": "array"}},
                },
                "encoding": {"meta": {"style": "deepObject", "explode": True}},
            }
        }
    }
    made = await api(operation("post", requestBody=body))
    told = await made.call("op", a="x & y", meta={"k": "v"}, tags=["1", "2"])
    assert told["body"] == "a=x+%26+y&meta%5Bk%5D=v&tags=1&tags=2"
    assert dict(told["headers"])["Content-Type"] == "application/x-www-form-urlencoded"


async def test_openapi_multipart_body(api, operation):
    """Multipart bodies: files as bytes, text as text, objects as JSON; names can't break out."""
    schema = {
        "type": "object",
        "properties": {
            'f"\r\n': {"type": "string", "format": "binary"},
            "note": {"type": "string"},
            "meta": {"type": "object"},
        },
    }
    made = await api(operation("post", requestBody={"content": {"multipart/form-data": {"schema": schema}}}))
    told = await made.call("op", f=b"\x00\xff", note="hi", meta={"a": 1})
    body = told["body"]
    assert (
        'name="f%22%0D%0A"; filename="f%22%0D%0A"\r\nContent-Type: application/octet-stream\r\n\r\n\x00\xff\r\n' in body
    )
    assert 'name="note"\r\n\r\nhi\r\n' in body
    assert 'name="meta"\r\nContent-Type: application/json\r\n\r\n{"a":1}\r\n' in body


async def test_openapi_bytes_go_into_a_form_where_one_is_offered(api, operation):
    """A body with a file that may be sent as JSON or as a form is sent as the form once it is given: JSON holds no
    bytes."""
    binary = {"type": "string", "format": "binary"}
    for file in (binary, {"oneOf": [{"type": "array", "items": binary}, binary]}):
        schema = {"schema": {"type": "object", "properties": {"file": file, "note": {"type": "string"}}}}
        made = await api(
            operation("post", requestBody={"content": {"application/json": schema, "multipart/form-data": schema}})
        )
        told = await made.call("op", file=b"\x00\xff", note="hi")
        assert dict(told["headers"])["Content-Type"].startswith("multipart/form-data; boundary=")
        assert "\r\n\r\n\x00\xff\r\n" in told["body"]
        assert (await made.call("op", note="hi"))["body"] == '{"note":"hi"}'


async def test_openapi_what_is_only_written_can_be_required(api, operation):
    """A required property that is writeOnly is required of a body; one that is readOnly is not."""
    write, read = {"type": "string", "writeOnly": True}, {"type": "string", "readOnly": True}
    schema = {
        "type": "object",
        "properties": {"password": write, "id": read},
        "required": ["password", "id"],
        "additionalProperties": True,
    }
    made = await api(
        operation("post", requestBody={"required": True, "content": {"application/json": {"schema": schema}}})
    )
    assert made.functions["op"].parameters["properties"]["body"]["required"] == ["password"]


@pytest.mark.parametrize(
    ("media", "value", "sent"),
    [
        ("application/octet-stream", b"\x00\x01", "\x00\x01"),
        ("application/octet-stream", "text", "text"),
        ("text/plain", "hello", "hello"),
        ("application/x-unheard-of", b"raw", "raw"),
        ("application/json", [1, None], "[1,null]"),
        ("application/merge-patch+json", {"a": None}, '{"a":null}'),
    ],
)
async def test_openapi_whole_bodies(api, operation, media, value, sent):
    """A body that is one argument is sent as its media type."""
    made = await api(operation("post", requestBody={"required": True, "content": {media: {"schema": {}}}}))
    told = await made.call("op", body=value)
    assert (told["body"], dict(told["headers"])["Content-Type"]) == (sent, media)


async def test_openapi_nan_cannot_be_sent(api, operation):
    """NaN is no JSON: the call is refused, not silently changed."""
    made = await api(operation("post", requestBody={"content": {"application/json": {"schema": {}}}}))
    with pytest.raises(InvalidArguments):
        await made.call("op", body=float("nan"))


async def test_openapi_swagger_form_and_collections(api):
    """Swagger 2.0: formData, files and every collectionFormat."""
    parameters = [{"name": n, "in": "query", "type": "array", "items": {}, "collectionFormat": f} for n, f in
                  (("c", "csv"), ("m", "multi"), ("p", "pipes"), ("t", "tsv"))]  # fmt: skip
    form = [
        {"name": "file", "in": "formData", "type": "file", "required": True},
        {"name": "n", "in": "formData", "type": "integer"},
    ]
    made = await api(
        {"swagger": "2.0", "paths": {"/x": {"post": {"operationId": "op", "parameters": parameters + form}}}}
    )
    told = await made.call("op", c=[1, 2], m=[1, 2], p=[1, 2], t=[1, 2], file=b"data", n=3)
    assert told["path"] == "/x?c=1,2&m=1&m=2&p=1%7C2&t=1%092"
    assert "data" in told["body"]
    assert dict(told["headers"])["Content-Type"].startswith("multipart/form-data; boundary=")


@pytest.mark.parametrize(
    ("headers", "body", "value"),
    [
        (JSON, b'{"a": [1, 2.5, null]}', {"a": [1, 2.5, None]}),
        (JSON, b'{"a": NaN, "b": 1e999}', {"a": None, "b": None}),
        ({"Content-Type": "application/problem+json; charset=utf-8"}, b"[]", []),
        ({"Content-Type": "text/plain; charset=latin-1"}, b"\xe9", "é"),
        ({"Content-Type": "text/plain; charset=nonsense"}, b"x", "x"),
        ({"Content-Type": "image/png"}, b"\x89PNG", Reply(b"\x89PNG", type="image/png")),
        ({}, b'{"a": 1}', {"a": 1}),
        (JSON, b"", None),
    ],
)
async def test_openapi_answers(api, operation, upstream, headers, body, value):
    """JSON becomes its value, text a string, nothing None, anything else bytes."""
    upstream.answers["/x"] = (200, headers, body)
    made = await api(operation())
    assert await made.call("op") == value


@pytest.mark.slow
@pytest.mark.parametrize("body", [b"{", b"[" * 100_000, b"nope", b"<html>502</html>"])
async def test_openapi_broken_json_is_text(api, operation, upstream, body):
    """An answer that says JSON and is none does not hide what it holds: it is text."""
    upstream.answers["/x"] = (200, JSON, body)
    made = await api(operation())
    assert await made.call("op") == body.decode()


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ({"title": "Out of credit", "detail": "30 needed", "status": 403}, "Out of credit: 30 needed"),
        ({"message": "Bad credentials", "documentation_url": "x"}, "Bad credentials"),
        ({"error": {"code": 1, "message": "quota"}}, "quota"),
        ({"errors": [{"message": "a"}, {"message": "b"}]}, "a; b"),
        ({"detail": [{"loc": ["body", "x"], "msg": "missing"}]}, "body.x: missing"),
        ([], ""),
        ({"title": "Conflict", "status": 409}, ""),
        ("conflict.", ""),
        ("409 Conflict", ""),
        ("con", "con"),
        ({"error": "No room", "message": "No room in shelf 7"}, "No room in shelf 7"),
        ({"title": "No room in shelf 7", "detail": "shelf 7"}, "No room in shelf 7"),
    ],
)
async def test_openapi_errors_say_why(api, operation, upstream, body, told):
    """An answer of 400 and above is an ApiError with status, reason, what the API says, and the body."""
    upstream.answers["/x"] = (409, {"Content-Type": "application/json", "Retry-After": "7"}, json.dumps(body).encode())
    made = await api(operation())
    with pytest.raises(ApiError) as raised:
        await made.call("op")
    error = raised.value
    assert (error.status, error.body, error.retry_after) == (409, body, 7.0)
    assert str(error) == "api.op (GET /x) answered 409 Conflict" + (f": {quoted(told)}" if told else "")


async def test_openapi_configured_headers(api, operation, upstream, monkeypatch):
    """CONTRACT: SRC-06 Configured headers go with every request, resolved when it is sent, and win."""
    monkeypatch.setenv("OPENAPI_TEST_VERSION", "2022-11-28")
    made = await api(
        operation(parameters=[{"name": "X-Api", "in": "header", "schema": {}}]),
        headers={"x-version": "${OPENAPI_TEST_VERSION}"},
    )
    await made.call("op")
    assert upstream.header("X-Version") == ["2022-11-28"]


class Bearer(httpx2.Auth):
    def auth_flow(self, request):
        request.headers["Authorization"] = "Bearer token-of-the-test"
        yield request


async def test_openapi_auth_is_applied(api, operation, upstream):
    """The configured auth object authenticates each request."""
    made = await api(operation(), auth=Bearer())
    await made.call("op")
    assert upstream.header("Authorization") == ["Bearer token-of-the-test"]


async def test_openapi_redirects_within_the_origin(api, operation, upstream):
    """GET follows redirects of the same origin, with credentials, five at most."""
    upstream.answers["/x"] = (302, {"Location": "/y?a=1"}, b"")
    made = await api(operation(), auth=Bearer())
    assert (await made.call("op"))["path"] == "/y?a=1"
    assert upstream.header("Authorization")
    upstream.answers["/y"] = (302, {"Location": "/x"}, b"")
    with pytest.raises(ServerError, match="more than 5"):
        await made.call("op")


@pytest.mark.parametrize(
    "location",
    ["http://localhost:{port}/steal", "//127.0.0.2/steal", "https://127.0.0.1:{port}/steal", "file:///etc/passwd"],
)
async def test_openapi_redirects_to_other_origins_are_refused(api, operation, upstream, location):
    """A redirect to another host, port or scheme is not followed: credentials stay where they belong."""
    upstream.answers["/x"] = (302, {"Location": location.format(port=upstream.url.rpartition(":")[2])}, b"")
    made = await api(operation(), auth=Bearer())
    with pytest.raises(ServerError):
        await made.call("op")
    assert len(upstream.seen) == 1


async def test_openapi_cookies_are_not_kept(api, operation, upstream):
    """A cookie that one answer sets does not go along with the next request."""
    upstream.answers["/x"] = (200, {"Set-Cookie": "session=1; Path=/"}, b"")
    made = await api(operation())
    await made.call("op")
    await made.call("op")
    assert upstream.header("Cookie") == []


async def test_openapi_answers_are_bounded(api, operation, upstream, monkeypatch):
    """An answer beyond the limit stops, instead of filling the memory."""
    from doorward_openapi.calls import client

    monkeypatch.setattr(client, "MAX_RESPONSE_BYTES", 1000)
    upstream.answers["/x"] = (200, JSON, b"[" + b"1," * 2000 + b"1]")
    made = await api(operation())
    with pytest.raises(ServerError, match="more than"):
        await made.call("op")


@pytest.mark.slow
async def test_openapi_unreachable_server(api, operation):
    """A server that does not listen is a ServerError with its address and advice, without query strings."""
    url = f"http://127.0.0.1:{reserve_port()}"
    made = await api(operation(parameters=[query("secret")]), base_url=url)
    with pytest.raises(ServerError, match=rf"{url} cannot be reached") as raised:
        await made.call("op", secret="do-not-tell")
    assert "do-not-tell" not in str(raised.value) + str(raised.value.hint)
    assert "base_url" in raised.value.hint


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (b"", "the connection ended before the answer was there"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc", "the connection ended before the answer was there"),
        (b"SSH-2.0-OpenSSH_9.9\r\n", "what came is no HTTP"),
        (b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc", "the answer cannot be unpacked"),
    ],
)
async def test_openapi_a_lost_answer_is_told_in_words(api, operation, answer, why):
    """What went wrong with the connection is said in words, never by the name of a Python class."""

    async def serve(stream):
        async with stream:
            await stream.receive()
            await stream.send(answer)

    async with await anyio.create_tcp_listener(local_host="127.0.0.1") as listener, anyio.create_task_group() as tasks:
        port = listener.extra(anyio.abc.SocketAttribute.local_port)
        tasks.start_soon(listener.serve, serve)
        made = await api(operation(), base_url=f"http://127.0.0.1:{port}", retries=0)
        with pytest.raises(ServerError) as raised:
            await made.call("op")
        tasks.cancel_scope.cancel()
    assert str(raised.value).startswith(f"api.op (GET /x): the exchange with http://127.0.0.1:{port} failed: ")
    assert why in str(raised.value)
    assert "Error" not in str(raised.value)


@pytest.mark.slow
@pytest.mark.parametrize(("method", "said"), [("get", "Try again"), ("put", "Try again"), ("post", "look at what is")])
@pytest.mark.parametrize("lost", [True, False])
async def test_openapi_a_write_that_may_have_been_made_is_not_to_be_made_again(api, operation, method, said, lost):
    """Where the answer is lost, or late, nobody is told to try again what may change something twice."""

    async def serve(stream):
        async with stream:
            await stream.receive()
            await anyio.sleep(0 if lost else 30)

    async with await anyio.create_tcp_listener(local_host="127.0.0.1") as listener, anyio.create_task_group() as tasks:
        port = listener.extra(anyio.abc.SocketAttribute.local_port)
        tasks.start_soon(listener.serve, serve)
        made = await api(operation(method), base_url=f"http://127.0.0.1:{port}", retries=0, timeout=0.3)
        with pytest.raises(ServerError) as raised:
            await made.call("op")
        tasks.cancel_scope.cancel()
    assert said in raised.value.hint


async def test_openapi_a_write_that_was_not_sent_says_what_to_check(api, operation):
    made = await api(operation("post"), base_url=f"http://127.0.0.1:{reserve_port()}", retries=0)
    with pytest.raises(ServerError) as raised:
        await made.call("op")
    assert "base_url" in raised.value.hint


async def test_openapi_timeout(api, operation):
    """A server that accepts and says nothing is given up after `timeout`, or when the run's time is over."""
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    port = listener.extra(anyio.abc.SocketAttribute.local_port)
    made = await api(operation(), base_url=f"http://127.0.0.1:{port}", timeout=0.2)
    with pytest.raises(ServerError, match=r"within 0\.2 seconds"):
        await made.call("op")
    with pytest.raises(ServerError, match="within 0 seconds"):
        await made.source.call(Call(made.functions["op"], {}, deadline=0.0))
    await listener.aclose()


async def test_openapi_a_whole_answer_is_preferred_to_events(api, operation, upstream):
    """Where an answer can be had as a file or as a stream of events (OpenAI's speech), the file is asked for."""
    content = {"text/event-stream": {"schema": {}}, "audio/mpeg": {"schema": {"type": "string", "format": "binary"}}}
    made = await api(operation("post", responses={"200": {"description": "", "content": content}}))
    await made.call("op")
    assert upstream.header("Accept") == ["audio/mpeg"]


async def test_openapi_accept_says_what_the_document_says(api, operation, upstream):
    """`Accept` is the type of the answer, then those of errors that come in another; anything only where the document
    names none."""
    for responses, accept in (
        ({"200": ["text/plain"]}, "text/plain"),
        ({"200": ["application/json", "text/event-stream", "application/xml"]}, "application/json"),
        ({"200": ["application/json"], "404": ["application/json", "text/html"]}, "application/json"),
        (
            {"200": ["image/png"], "default": ["text/html", "application/problem+json"]},
            "image/png, application/problem+json;q=0.5",
        ),
        (
            {"200": ["image/png"], "202": ["text/plain"], "400": ["*/*"], "500": ["*/*"]},
            "image/png, text/plain;q=0.5, */*;q=0.5",
        ),
        ({"200": ["application/dicom", "application/dicom+json"]}, "application/dicom+json, */*;q=0.5"),
        ({"200": ["application/json"], "206": ["application/pdf"]}, "application/json, application/pdf;q=0.5"),
        ({"200": ["*/*"]}, "application/json, */*;q=0.5"),
        ({"204": []}, "application/json, */*;q=0.5"),
        ({}, "application/json, */*;q=0.5"),
    ):
        contents = {
            code: {"description": "", "content": {media: {} for media in listed}} for code, listed in responses.items()
        }
        await (await api(operation(responses=contents))).call("op")
        assert upstream.header("Accept") == [accept]


@pytest.mark.parametrize("method", ["get", "post"])
async def test_openapi_not_acceptable(api, operation, upstream, method):
    """Where the server has none of the types that the document names, what it has is asked for, if that may be done
    twice."""

    def negotiated(told):
        anything = "*/*" in dict(told["headers"])["Accept"]
        return (200, {"Content-Type": "text/csv"}, b"a,b") if anything else (406, {}, b"")

    upstream.answers["/x"] = negotiated
    made = await api(
        operation(method, responses={"200": {"description": "", "content": {"application/json": {"schema": {}}}}})
    )
    if method == "get":
        assert await made.call("op") == "a,b"
        assert [dict(told["headers"])["Accept"] for told in upstream.seen] == ["application/json", "*/*"]
    else:
        with pytest.raises(ApiError, match="406") as raised:
            await made.call("op")
        assert "Accept" in raised.value.hint
        assert len(upstream.seen) == 1
    upstream.seen.clear()
    made = await api(operation(method), headers={"accept": "text/html"})
    with pytest.raises(ApiError, match="406"):
        await made.call("op")
    assert [dict(told["headers"])["Accept"] for told in upstream.seen] == ["text/html"]
