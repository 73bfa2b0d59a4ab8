"""Properties: whatever is passed, an independent reader of the raw request gets it back, and nothing else changes."""

from __future__ import annotations

import email.parser
import email.policy
import json
import re
from http.cookies import SimpleCookie
from urllib.parse import parse_qsl, unquote, urlsplit

import anyio.from_thread
import h11
import pytest
from doorward import Call, File, InvalidArguments, ServerContext
from doorward_openapi import OpenAPI
from doorward_openapi.calls import request
from doorward_openapi.wire import paths
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st
from starlette.routing import compile_path

pytestmark = pytest.mark.slow

BASE = "https://h.test:8443/v1"
MANY = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
NAME = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=10)
EVIL = st.sampled_from(
    ["\r\nX-Evil: 1", "..", "../..", "%2e%2e", "//evil.test", "@evil.test", "#", "?a=b", "\x00", "é/ü", ";p=1", "a&b=c"]
)
VALUE = TEXT | EVIL
SCALAR = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | VALUE
JSONS = st.recursive(
    SCALAR, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(VALUE, inner, max_size=3), max_leaves=8
)
ANYTHING = st.recursive(
    SCALAR | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


def stays(value):
    """Whether a path value may be sent: it is not empty, and has no part that is `.` or `..`."""
    return bool(value.strip("/\\")) and not paths.leads_away(value)


def built(where, wire, value, *, name="p", path="/a/{p}/b", body=None, method="GET"):
    path = path if where == "path" else "/a"
    data = {
        "method": method,
        "path": path,
        "arguments": [{"arg": "p", "name": name, "in": where, **wire}],
        **({"body": body} if body else {}),
    }
    return request.build(BASE, data, {"p": value})


def on_the_wire(made):
    """What a server reads: method, path, query, headers, body; by h11, from the bytes that httpx2 would send."""
    import httpx2

    sent = httpx2.Request(
        made.method, made.url, headers=[(k.encode(), v) for k, v in made.headers.items()], content=made.content
    )
    client, server = h11.Connection(h11.CLIENT), h11.Connection(h11.SERVER)
    raw = client.send(h11.Request(method=made.method, target=sent.url.raw_path, headers=sent.headers.raw)) or b""
    raw += client.send(h11.Data(data=made.content or b"")) or b""
    server.receive_data(raw + (client.send(h11.EndOfMessage()) or b""))
    got = server.next_event()
    body = b""
    while not isinstance(event := server.next_event(), h11.EndOfMessage):
        body += bytes(event.data)
    return got.target.decode(), [(bytes(k).decode(), bytes(v)) for k, v in got.headers], body, sent.url


@MANY
@given(
    st.sampled_from(["path", "query", "header", "cookie"]),
    st.sampled_from(
        [None, "label", "matrix", "simple", "spaceDelimited", "pipeDelimited", "tabDelimited", "deepObject", "cookie"]
    ),
    st.fixed_dictionaries({}, optional={k: st.just(True) for k in ("explode", "reserved", "json", "text", "empty")}),
    ANYTHING,
    NAME,
)
@example("path", "label", {"explode": True}, "", "p")
@example("query", None, {"reserved": True}, "%0d%0aX: 1#?", "p")
def test_openapi_nothing_else_changes(where, style, wire, value, name):
    """Host, port, number of path segments and names of headers stay, and no raw line break gets in, whatever is passed
    in any location and style; what cannot be sent is refused as InvalidArguments."""
    wire = {**wire, **({"style": style} if style else {})}
    try:
        made = built(where, wire, value, name={"path": "p", "header": "X-P"}.get(where, name))
    except InvalidArguments:
        return
    assert made.url.isascii()
    assert made.url.isprintable()
    assert " " not in made.url
    target, headers, body, url = on_the_wire(made)
    segments = urlsplit(target).path.split("/")
    assert (url.scheme, url.host, url.port) == ("https", "h.test", 8443)
    assert segments == (["", "v1", "a", segments[3], "b"] if where == "path" else ["", "v1", "a"])
    assert not {"", ".", ".."} & {unquote(s) for s in segments[1:]}
    allowed = {"host", "accept", "content-length", "transfer-encoding"} | {"header": {"x-p"}, "cookie": {"cookie"}}.get(
        where, set()
    )
    assert {k for k, _ in headers} <= allowed
    assert len({k for k, _ in headers}) == len(headers)
    assert not any(re.search(rb"[\r\n\0]", v) for _, v in headers)
    assert body == b""


@MANY
@given(VALUE.filter(bool), st.sampled_from(["/a/{p}/b", "/a/x-{p}.json", "/{p}"]), st.booleans())
def test_openapi_path_values_come_back(value, template, reserved):
    """A path value comes back through the routing of Starlette, whatever is in it, or is refused."""
    data = {"method": "GET", "path": template, "arguments": [{"arg": "p", "name": "p", "in": "path"}]}
    try:
        made = request.build("https://h.test", data, {"p": value})
    except InvalidArguments:
        assert not stays(value)
        return
    raw = urlsplit(on_the_wire(made)[0]).path
    matched = compile_path(template)[0].match(raw)
    assert matched
    assert unquote(matched["p"]) == value


@MANY
@given(
    st.lists(VALUE.filter(bool), min_size=1, max_size=5), st.sampled_from(["simple", "label", "matrix"]), st.booleans()
)
def test_openapi_path_lists_come_back(values, style, explode):
    """Lists in a path come back in every style: delimiters in values are encoded; only `.` of an exploded label is
    not."""
    assume(not (style == "label" and explode and any("." in v for v in values)))
    try:
        raw = urlsplit(built("path", {"style": style, "explode": explode}, values).url).path.split("/")[3]
    except InvalidArguments:
        assume(False)
    if style == "label":
        parts = raw.removeprefix(".").split("." if explode else ",")
    elif style == "matrix":
        parts = (
            [p.removeprefix("p=") for p in raw.removeprefix(";").split(";")]
            if explode
            else raw.removeprefix(";p=").split(",")
        )
    else:
        parts = raw.split(",")
    assert [unquote(p) for p in parts] == values


@MANY
@given(NAME, st.lists(VALUE, min_size=1, max_size=5), st.sampled_from(["explode", "joined", "json", "deepObject"]))
def test_openapi_query_lists_come_back(name, values, how):
    """Lists in a query come back: repeated, joined by what is encoded inside of values, as JSON, or with indexes."""
    wire = {"explode": {"explode": True}, "joined": {}, "json": {"json": True}, "deepObject": {"style": "deepObject"}}[
        how
    ]
    query = urlsplit(on_the_wire(built("query", wire, values, name=name))[0]).query
    if how == "joined":
        key, _, joined = query.partition("=")
        assert (unquote(key), [unquote(v) for v in joined.split(",")]) == (name, values)
        return
    read = parse_qsl(query, keep_blank_values=True, strict_parsing=True)
    expected = {
        "explode": [(name, v) for v in values],
        "json": [(name, json.dumps(values, ensure_ascii=False, separators=(",", ":")))],
        "deepObject": [(f"{name}[{i}]", v) for i, v in enumerate(values)],
    }
    assert read == expected[how]


@MANY
@given(
    st.dictionaries(NAME, VALUE, min_size=1, max_size=4),
    st.sampled_from(["explode", "joined", "deepObject"]),
    st.booleans(),
)
def test_openapi_query_objects_come_back(value, how, reserved):
    """Objects in a query come back, with `allowReserved` too where nothing in them looks encoded already."""
    assume(not reserved or not any("%" in v or "," in v for v in value.values()))
    wire = {"explode": {"explode": True}, "joined": {}, "deepObject": {"style": "deepObject"}}[how]
    assume(not (reserved and any("%" in k or "," in k for k in value)))
    query = urlsplit(on_the_wire(built("query", {**wire, **({"reserved": True} if reserved else {})}, value))[0]).query
    if how == "joined":
        parts = [unquote(p) for p in query.removeprefix("p=").split(",")]
        assert dict(zip(parts[::2], parts[1::2], strict=True)) == value
        return
    read = dict(parse_qsl(query, keep_blank_values=True, strict_parsing=True))
    assert read == (value if how == "explode" else {f"p[{k}]": v for k, v in value.items()})


@MANY
@given(JSONS)
def test_openapi_json_parameters_come_back(value):
    """`content` parameters hold any JSON: in queries, headers, cookies and paths."""
    assume(value is not None)
    query = urlsplit(on_the_wire(built("query", {"json": True}, value))[0]).query
    assert json.loads(parse_qsl(query, keep_blank_values=True)[0][1]) == value
    assert json.loads(unquote(urlsplit(built("path", {"json": True}, value).url).path.split("/")[3])) == value
    headers = dict(on_the_wire(built("header", {"json": True}, value, name="x-p"))[1])
    assert json.loads(headers["x-p"]) == value
    morsel = SimpleCookie(dict(on_the_wire(built("cookie", {"json": True}, value))[1])["cookie"].decode())["p"]
    assert json.loads(unquote(morsel.value)) == value


@MANY
@given(st.lists(VALUE, min_size=1, max_size=4))
def test_openapi_cookies_come_back(values):
    """Cookies of the style form come back by http.cookies, one pair for each value."""
    data = {
        "method": "GET",
        "path": "/",
        "arguments": [{"arg": f"a{i}", "name": f"c{i}", "in": "cookie"} for i in range(len(values))],
    }
    made = request.build(BASE, data, {f"a{i}": v for i, v in enumerate(values)})
    read = SimpleCookie(dict(on_the_wire(made)[1])["cookie"].decode())
    assert [unquote(read[f"c{i}"].value) for i in range(len(values))] == values


@MANY
@given(st.text(st.characters(min_codepoint=32, exclude_characters="\x7f", exclude_categories=["Cs"]), max_size=20))
def test_openapi_headers_come_back(value):
    """A header value comes back as it was but for white space around it."""
    headers = dict(on_the_wire(built("header", {}, value, name="x-p"))[1])
    assert headers["x-p"].decode().strip() == value.strip()


FIELDS = st.dictionaries(NAME, VALUE | st.lists(VALUE, min_size=1, max_size=3), min_size=1, max_size=4)


def body_of(kind, media, fields, wire=None):
    arguments = [
        {"arg": f"a{i}", "name": name, "in": "body", "explode": True, **(wire or {})} for i, name in enumerate(fields)
    ]
    data = {
        "method": "POST",
        "path": "/",
        "arguments": arguments,
        "body": {"media": media, "kind": kind, "spread": True, "required": True},
    }
    return on_the_wire(request.build(BASE, data, {f"a{i}": v for i, v in enumerate(fields.values())}))


@MANY
@given(FIELDS)
def test_openapi_forms_come_back(fields):
    """Form fields come back by urllib."""
    _, headers, body, _ = body_of("form", "application/x-www-form-urlencoded", fields)
    expected = [(k, v) for k, vs in fields.items() for v in (vs if isinstance(vs, list) else [vs])]
    assert parse_qsl(body.decode(), keep_blank_values=True, strict_parsing=True) == expected
    assert dict(headers)["content-type"] == b"application/x-www-form-urlencoded"


@MANY
@given(st.dictionaries(NAME, JSONS, max_size=4))
def test_openapi_json_bodies_come_back(fields):
    """JSON bodies come back."""
    assert json.loads(body_of("json", "application/json", fields)[2]) == fields


LINE = st.text(
    st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"], exclude_characters='"\\'), min_size=1, max_size=10
)


@MANY
@given(
    st.dictionaries(
        LINE,
        st.binary(max_size=60) | st.builds(File, st.binary(max_size=40), st.just("image/png"), NAME),
        min_size=1,
        max_size=4,
    ),
    VALUE,
)
def test_openapi_multipart_comes_back(files, text):
    """Parts come back by the standard library's mail reader: names, contents, as many as were sent."""
    _, headers, body, _ = body_of("multipart", "multipart/form-data", files)
    head = b"Content-Type: " + dict(headers)["content-type"] + b"\r\n\r\n"
    read = list(email.parser.BytesParser(policy=email.policy.HTTP).parsebytes(head + body).iter_parts())
    assert len(read) == len(files)
    for part, (name, given_) in zip(read, files.items(), strict=True):
        raw = part["Content-Disposition"].encode("utf-8", "surrogateescape").decode()
        assert part.get_payload(decode=True) == (given_ if isinstance(given_, bytes) else given_.content)
        assert raw.startswith(f'form-data; name="{name}"')


SENT = st.tuples(VALUE.filter(lambda v: v not in ("", ".", "..")), VALUE, LINE, VALUE, JSONS)


@pytest.mark.slow
def test_openapi_round_trip_over_a_real_server(upstream, tmp_path):
    """The same over real connections: a value in every location arrives as it was passed."""
    parameters = [
        {"name": n, "in": n, "required": n == "path", "schema": {}} for n in ("path", "query", "header", "cookie")
    ]
    body = {"content": {"application/json": {"schema": {"type": "object", "properties": {"body": {}}}}}}
    node = {"operationId": "op", "parameters": parameters, "requestBody": body}
    (tmp_path / "api.json").write_text(json.dumps({"openapi": "3.1.0", "paths": {"/x/{path}/y": {"post": node}}}))
    source = OpenAPI(
        ServerContext("api", OpenAPI.Settings(spec="api.json", base_url=upstream.url), tmp_path, tmp_path, lambda: None)
    )

    with anyio.from_thread.start_blocking_portal() as portal:
        function = portal.call(source.compile).functions[0]

        @settings(deadline=None, suppress_health_check=list(HealthCheck))
        @given(SENT.filter(lambda values: stays(values[0])))
        def arrives(values):
            call = Call(function, dict(zip(("path", "query", "header", "cookie", "body"), values, strict=True)))
            told = portal.call(source.call, call).value
            path, query, header, cookie, value = values
            target, _, asked = told["path"].partition("?")
            assert [unquote(s) for s in target.split("/")] == ["", "x", path, "y"]
            assert dict(parse_qsl(asked, keep_blank_values=True)) == {"query": query}
            sent = {k.lower(): v for k, v in told["headers"]}
            assert sent["header"].encode("latin-1").decode().strip() == header.strip()
            assert unquote(SimpleCookie(sent["cookie"])["cookie"].value) == cookie
            assert json.loads(told["body"].encode("latin-1")) == {"body": value}

        arrives()
        portal.call(source.close)
