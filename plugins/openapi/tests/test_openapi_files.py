"""Every way in which a document says that something is a file, or base64: what a function takes, and what is sent."""

from __future__ import annotations

import base64

import pytest
from doorward import File, InvalidArguments, Reply
from doorward_openapi.schemas import binary
from doorward_text import signature

from .test_openapi_bodies import named

pytestmark = pytest.mark.anyio

BINARY = {"type": "string", "format": "binary"}
OCTETS = {"type": "string", "contentMediaType": "application/octet-stream"}
NULL = {"type": "null"}
IMAGE = File(b"\x89\xff", "image/png", "a.png")
ENCODED = {"base64": base64.b64encode(IMAGE.content).decode(), "name": "a.png", "type": "image/png"}
SCHEMAS = {"Upload": OCTETS, "Loop": {"anyOf": [{"$ref": "#/components/schemas/Loop"}, BINARY]}}

FILES = {
    "binary": BINARY,
    "octets": OCTETS,
    "octets without a type": {"contentMediaType": "application/octet-stream"},
    "an image": {"type": "string", "contentMediaType": "image/png"},
    "without an encoding": {**OCTETS, "contentEncoding": "binary"},
    "optional in FastAPI": {"anyOf": [OCTETS, NULL], "title": "File"},
    "oneOf": {"oneOf": [BINARY, NULL]},
    "enum of null": {"anyOf": [BINARY, {"enum": [None]}]},
    "a list of types": {"type": ["string", "null"], "format": "binary"},
    "a list of types, octets": {"type": ["string", "null"], "contentMediaType": "application/octet-stream"},
    "nullable": {**BINARY, "nullable": True},
    "allOf": {"allOf": [BINARY], "description": "A file."},
    "allOf, nullable": {"allOf": [BINARY], "nullable": True},
    "allOf with words": {"allOf": [{"description": "A file."}, {"$ref": "#/components/schemas/Upload"}]},
    "a reference": {"$ref": "#/components/schemas/Upload"},
    "a reference or null": {"anyOf": [{"$ref": "#/components/schemas/Upload"}, NULL]},
    "nested alternatives": {"anyOf": [{"oneOf": [BINARY, NULL]}, OCTETS]},
    "type file": {"type": "file"},
    "format file": {"type": "object", "format": "file"},
}
LISTS = {
    "a list": {"type": "array", "items": BINARY},
    "a list of octets": {"type": "array", "items": OCTETS},
    "an optional list": {"anyOf": [{"type": "array", "items": OCTETS}, NULL]},
    "a list of types": {"type": ["array", "null"], "items": BINARY},
    "a list of references": {"type": "array", "items": {"$ref": "#/components/schemas/Upload"}},
    "one or a list": {"oneOf": [OCTETS, {"type": "array", "items": OCTETS}]},
    "a list of nullable files": {"type": "array", "items": {"anyOf": [BINARY, NULL]}},
}


def multipart(version, schema, encoding=None, **more):
    entry = {
        "schema": {"type": "object", "properties": {"f": schema, "note": {"type": "string"}}, **more},
        "encoding": encoding or {},
    }
    post = {"operationId": "op", "requestBody": {"required": True, "content": {"multipart/form-data": entry}}}
    return {"openapi": version, "info": {}, "paths": {"/x": {"post": post}}, "components": {"schemas": SCHEMAS}}


def parameter(made, name="f"):
    return made.functions["op"].parameters["properties"][name]


@pytest.mark.slow
@pytest.mark.parametrize("version", ["3.0.3", "3.1.0"])
@pytest.mark.parametrize("schema", FILES.values(), ids=FILES)
async def test_openapi_ways_to_write_a_file(api, version, schema):
    """A file of a form is one however its schema says so: it takes handles, bytes, base64 and text, and is sent as a
    file."""
    made = await api(multipart(version, schema))
    assert "bytes | str | dict[str, Any]" in signature(made.functions["op"], made.compiled.definitions.get)
    assert parameter(made)["format"] == "binary"
    for given, file, media, content in (
        (IMAGE, "a.png", "image/png", IMAGE.content),
        (ENCODED, "a.png", "image/png", IMAGE.content),
        (b"\xff", "f", "image/png" if "image/png" in str(schema) else "application/octet-stream", b"\xff"),
        ("text", "f", "image/png" if "image/png" in str(schema) else "application/octet-stream", b"text"),
    ):
        assert named(await made.call("op", f=given)) == [(f'form-data; name="f"; filename="{file}"', media, content)]
    assert named(await made.call("op", f=None, note="n")) == [('form-data; name="note"', "", b"n")]


@pytest.mark.parametrize("version", ["3.0.3", "3.1.0"])
@pytest.mark.parametrize("schema", LISTS.values(), ids=LISTS)
async def test_openapi_ways_to_write_files(api, version, schema):
    """A list of files is a part for each, of whatever kind; where one may stand for the list, one may."""
    made = await api(multipart(version, schema))
    assert "bytes | str | dict[str, Any]" in signature(made.functions["op"], made.compiled.definitions.get)
    told = named(await made.call("op", f=[IMAGE, ENCODED, b"1", None]))
    assert told == [
        ('form-data; name="f"; filename="a.png"', "image/png", IMAGE.content),
        ('form-data; name="f"; filename="a.png"', "image/png", IMAGE.content),
        ('form-data; name="f"; filename="f"', "application/octet-stream", b"1"),
    ]
    assert len(named(await made.call("op", f=ENCODED))) == 1


@pytest.mark.parametrize(
    ("schema", "kinds"),
    [
        ({"anyOf": [OCTETS, NULL]}, ["string", "null"]),
        ({"type": "string", "format": "binary", "nullable": True}, ["string", "null"]),
        ({"anyOf": [{"type": "array", "items": OCTETS}, NULL]}, ["array", "null"]),
        ({"allOf": [BINARY]}, "string"),
    ],
)
async def test_openapi_nullable_files(api, schema, kinds):
    """A file that may be null says so, and keeps its description."""
    made = await api(multipart("3.1.0", {**schema, "description": "What is sent."}))
    assert (parameter(made)["type"], parameter(made)["description"]) == (kinds, "What is sent.")


@pytest.mark.parametrize("node", [{}, {"description": "Anything."}, {"type": "array", "items": {}}])
async def test_openapi_parts_of_any_type(api, node):
    """What a document says nothing of is a file if a file is given, else JSON or text."""
    made = await api(multipart("3.1.0", node))
    for given, told in (
        (ENCODED, ('form-data; name="f"; filename="a.png"', "image/png", IMAGE.content)),
        (IMAGE, ('form-data; name="f"; filename="a.png"', "image/png", IMAGE.content)),
        ({"base64": "an object", "x": 1}, ('form-data; name="f"', "application/json", b'{"base64":"an object","x":1}')),
        ("text", ('form-data; name="f"', "", b"text")),
    ):
        assert named(await made.call("op", f=[given] if "type" in node else given)) == [told]
    assert "type" in node or "a file" in parameter(made)["description"]


@pytest.mark.parametrize("node", [{}, {"type": "string"}])
@pytest.mark.parametrize("media", ["image/png, image/jpeg", "image/*", "application/octet-stream", "application/pdf"])
async def test_openapi_an_encoding_says_that_a_part_is_a_file(api, node, media):
    """An encoding's media type of a file makes a part of no type, or of text, a file."""
    made = await api(multipart("3.1.0", node, {"f": {"contentType": media}}))
    own = media if "*" not in media and "," not in media else "image/png"
    assert parameter(made)["format"] == "binary"
    assert named(await made.call("op", f=ENCODED)) == [('form-data; name="f"; filename="a.png"', own, IMAGE.content)]


@pytest.mark.parametrize("media", ["application/json", "text/csv", "application/sdp", "image/svg+xml"])
async def test_openapi_an_encoding_of_text_leaves_text(api, media):
    """Text that an encoding gives a type is no file, and has no file name."""
    made = await api(multipart("3.1.0", {"type": "string"}, {"f": {"contentType": media}}))
    assert parameter(made) == {"type": "string"}
    assert named(await made.call("op", f="text")) == [('form-data; name="f"', media, b"text")]
    assert named(await made.call("op", f=IMAGE)) == [('form-data; name="f"; filename="a.png"', media, IMAGE.content)]


async def test_openapi_a_file_or_something_else(api):
    """What may be a file or a text is whichever is given."""
    made = await api(multipart("3.1.0", {"anyOf": [OCTETS, {"type": "string", "format": "uri"}]}))
    assert {"type": "string", "format": "binary"} in parameter(made)["anyOf"]
    assert named(await made.call("op", f=ENCODED)) == [
        ('form-data; name="f"; filename="a.png"', "image/png", IMAGE.content)
    ]
    assert named(await made.call("op", f="https://x.test/")) == [('form-data; name="f"', "", b"https://x.test/")]


async def test_openapi_a_form_with_further_members(api):
    """A form that is one argument has files as well, at the names that the document knows and at others."""
    made = await api(multipart("3.1.0", {"anyOf": [OCTETS, NULL]}, additionalProperties=True))
    schema = str(parameter(made, "body"))
    assert "binary" in schema
    assert named(await made.call("op", body={"f": ENCODED, "more": ENCODED, "o": {"a": 1}})) == [
        ('form-data; name="f"; filename="a.png"', "image/png", IMAGE.content),
        ('form-data; name="more"; filename="a.png"', "image/png", IMAGE.content),
        ('form-data; name="o"', "application/json", b'{"a":1}'),
    ]


@pytest.mark.parametrize("coding", ["base64", "base64url"])
async def test_openapi_base64_in_a_form(api, coding):
    """Bytes of a part that is declared as base64 are sent as that; text is it already."""
    made = await api(multipart("3.1.0", {"type": "string", "contentEncoding": coding, "contentMediaType": "image/png"}))
    content = b"\xfb\xff\xfe\x00"
    wanted = base64.b64encode(content) if coding == "base64" else base64.urlsafe_b64encode(content).rstrip(b"=")
    assert parameter(made)["format"] == "binary"
    for given in (
        content,
        File(content, "image/png"),
        {"base64": base64.b64encode(content).decode(), "name": "a"},
        wanted.decode(),
    ):
        assert named(await made.call("op", f=given)) == [('form-data; name="f"', "image/png", wanted)]


@pytest.mark.slow
@pytest.mark.parametrize("media", ["application/octet-stream", "image/png", "image/*", "application/zip"])
@pytest.mark.parametrize("schema", [None, {}, OCTETS, BINARY, {"anyOf": [OCTETS, NULL]}, {"type": "object"}])
async def test_openapi_whole_files(api, operation, media, schema):
    """A body of bytes is a file with whatever schema, or none; where it may be null, nothing is sent."""
    entry = {} if schema is None else {"schema": schema}
    made = await api(operation("post", requestBody={"content": {media: entry}}))
    assert parameter(made, "body")["format"] == "binary"
    for given in (IMAGE, ENCODED):
        told = await made.call("op", body=given)
        assert (told["body"].encode("latin-1"), dict(told["headers"])["Content-Type"]) == (
            IMAGE.content,
            media.replace("*", "png"),
        )
    if schema and "anyOf" in schema:
        assert parameter(made, "body")["type"] == ["string", "null"]
        assert (await made.call("op", body=None))["body"] == ""


@pytest.mark.parametrize("schema", [BINARY, {"$ref": "#/components/schemas/B"}, {"oneOf": [BINARY, NULL]}])
async def test_openapi_binary_json_is_raw(api, operation, upstream, schema):
    """What is binary is sent and answered as it is, though it be called JSON."""
    content = {"application/json": {"schema": schema}}
    made = await api({**operation("post", requestBody={"content": content}, responses={"200": {"content": content}}),
                      "components": {"schemas": {"B": BINARY}}})  # fmt: skip
    upstream.answers["/x"] = (200, {"Content-Type": "application/json"}, b'{"a": 1}')
    for given in (b'{"b":  2}', '{"b":  2}', {"base64": base64.b64encode(b'{"b":  2}').decode()}):
        assert await made.call("op", body=given) == Reply(b'{"a": 1}', type="application/json")
        assert (upstream.seen[-1]["body"], upstream.header("content-type")) == ('{"b":  2}', ["application/json"])
    assert made.functions["op"].returns["properties"].keys() >= {"artefact"}


async def test_openapi_a_json_text_that_holds_bytes_is_json(api, operation, upstream):
    """FastAPI's `-> bytes` is a JSON text that says what it holds: text it stays, both ways; with an encoding it is
    base64."""
    content = {"application/json": {"schema": OCTETS}}
    made = await api(operation("post", requestBody={"content": content}, responses={"200": {"content": content}}))
    upstream.answers["/x"] = (200, {"Content-Type": "application/json"}, b'"text"')
    assert await made.call("op", body="given") == "text"
    assert upstream.seen[-1]["body"] == '"given"'
    assert parameter(made, "body") == {"type": "string"}
    image = {"type": "string", "contentMediaType": "image/png"}
    coded = {
        "type": "object",
        "properties": {"f": {**OCTETS, "contentEncoding": "base64"}, "g": image, "h": OCTETS, "i": BINARY},
    }
    made = await api(operation("post", requestBody={"content": {"application/json": {"schema": coded}}}))
    upstream.answers.clear()
    assert (await made.call("op", f=b"\xff", g=IMAGE))["body"] == '{"f":"/w==","g":"if8="}'
    assert (await made.call("op", f=ENCODED, g=ENCODED))["body"] == '{"f":"if8=","g":"if8="}'
    assert (await made.call("op", h="text", i=ENCODED))["body"] == '{"h":"text","i":"if8="}'
    assert [parameter(made, name).get("format") for name in "fghi"] == ["binary", "binary", None, "binary"]


BYTES = b"\xfb\xff\xfe"


@pytest.mark.parametrize(
    ("form", "text"),
    [
        ({"format": "byte"}, "+//+"),
        ({"format": "base64url"}, "-__-"),
        ({"format": "base64"}, "+//+"),
        ({"contentEncoding": "base64"}, "+//+"),
    ],
)
async def test_openapi_bytes_outside_of_json(api, document, form, text):
    """Bytes of a parameter, a form's field or a text that is base64 are base64, lists of them too; what is text is it
    already."""
    one = {"type": "string", **form}
    many = {"type": "array", "items": {"anyOf": [one, NULL]}}
    where = [{"name": n, "in": i, "required": True, "schema": s} for n, i, s in (
        ("p", "path", one), ("q", "query", one), ("l", "query", many), ("H", "header", one), ("c", "cookie", one))]  # fmt: skip
    fields = {"type": "object", "properties": {"f": {"$ref": "#/components/schemas/B"}}}
    form_body = {"application/x-www-form-urlencoded": {"schema": fields}}
    paths = {
        "/x/{p}": {"post": {"operationId": "op", "parameters": where, "requestBody": {"content": form_body}}},
        "/t": {"post": {"operationId": "text", "requestBody": {"content": {"text/plain": {"schema": one}}}}},
    }
    made = await api(document(paths, components={"schemas": {"B": one}}))
    quoted = text.replace("+", "%2B").replace("/", "%2F")
    for given in (BYTES, File(BYTES), text):
        told = await made.call("op", p=given, q=given, l=[given, given], H=given, c=given, f=given)
        assert told["path"] == f"/x/{quoted}?q={quoted}&l={quoted}&l={quoted}"
        assert (dict(told["headers"])["H"], dict(told["headers"])["Cookie"]) == (text, f"c={quoted}")
        assert told["body"] == f"f={quoted}"
        assert (await made.call("text", body=given))["body"] == text


async def test_openapi_bytes_of_swagger_2(api):
    """Swagger 2.0: `type: file` is a file, `format: byte` of a form and a query base64."""
    fields = [{"name": "f", "in": "formData", "type": "file"}, {"name": "b", "in": "formData", "type": "string", "format": "byte"},
              {"name": "q", "in": "query", "type": "string", "format": "byte"}]  # fmt: skip
    made = await api(
        {"swagger": "2.0", "info": {}, "paths": {"/x": {"post": {"operationId": "op", "parameters": fields}}}}
    )
    told = await made.call("op", f=ENCODED, b=b"\xff", q=b"\xff")
    assert told["path"] == "/x?q=%2Fw%3D%3D"
    assert named(told) == [
        ('form-data; name="f"; filename="a.png"', "image/png", IMAGE.content),
        ('form-data; name="b"', "", b"/w=="),
    ]


async def test_openapi_swagger_2_answers_with_files(api, upstream):
    """An answer of `type: file` is a file, of whatever media type it comes."""
    get = {
        "operationId": "op",
        "produces": ["application/json"],
        "responses": {"200": {"description": "", "schema": {"type": "file"}}},
    }
    made = await api({"swagger": "2.0", "info": {}, "paths": {"/x": {"get": get}}})
    for media, content in (("application/json", b"[1]"), ("application/pdf", b"%PDF")):
        upstream.answers["/x"] = (200, {"Content-Type": media}, content)
        assert await made.call("op") == Reply(content, type=media)


DECLARED = {
    "octets": {"application/octet-stream": {}},
    "octets of a schema": {"application/octet-stream": {"schema": BINARY}},
    "text": {"text/plain": {"schema": BINARY}},
    "text of 3.1": {"text/csv": {"schema": OCTETS}},
    "lines": {"application/x-ndjson": {"schema": BINARY}},
    "any": {"*/*": {"schema": BINARY}},
    "an archive": {"application/zip": {"schema": {"type": "object"}}},
}


@pytest.mark.slow
@pytest.mark.parametrize("content", DECLARED.values(), ids=DECLARED)
async def test_openapi_what_is_declared_as_bytes_is_a_file(api, operation, upstream, content):
    """Whatever comes: text, JSON, a type that is not declared, or nothing at all; the signature says so."""
    made = await api(operation(responses={"200": {"content": content}}))
    assert made.functions["op"].returns["properties"].keys() >= {"artefact"}
    for media, body in (
        ("text/plain", b"text"),
        ("application/json", b'{"artefact": "doorward://results/x"}'),
        ("application/xml", b"<a/>"),
        ("application/x-ndjson", b"1\n2\n"),
        ("image/png", b"\x89PNG"),
        ("text/plain", b""),
    ):
        upstream.answers["/x"] = (200, {"Content-Type": media}, body)
        assert await made.call("op") == Reply(body, type=media)
    upstream.answers["/x"] = (200, {}, b'{"a": 1}')
    assert await made.call("op") == Reply(b'{"a": 1}', type="application/octet-stream")
    upstream.answers["/x"] = (204, {}, b"")
    assert await made.call("op") is None


async def test_openapi_text_keeps_its_charset_as_a_file(api, operation, upstream):
    """By it the file is read as the text that it is."""
    made = await api(operation(responses={"200": {"content": {"text/plain": {"schema": BINARY}}}}))
    upstream.answers["/x"] = (200, {"Content-Type": "text/plain; charset=ISO-8859-1"}, b"\xe9")
    assert await made.call("op") == Reply(b"\xe9", type="text/plain; charset=iso-8859-1")


async def test_openapi_a_file_that_is_chosen_is_one(api, operation, upstream):
    """Of several media types, the one that a program asks for says whether the answer is bytes."""
    rows = {"schema": {"type": "array", "items": {"type": "object"}}}
    content = {"application/json": rows, "text/csv": {"schema": BINARY}, "application/pdf": {}}
    made = await api(operation(responses={"200": {"content": content}}))
    upstream.answers["/x"] = (200, {"Content-Type": "application/json"}, b"[1]")
    for media, value in (("application/json", [1]), ("text/csv", Reply(b"[1]", type="application/json"))):
        assert await made.call("op", accept=media) == value
    assert await made.call("op") == [1]


@pytest.mark.parametrize(
    "content", [{"text/plain": {"schema": {"type": "string", "format": "byte"}}}, {"text/plain": {}},
                {"application/vnd.acme": {"schema": {"type": "object"}}}]
)  # fmt: skip
async def test_openapi_what_is_not_declared_as_bytes_is_what_it_says(api, operation, upstream, content):
    """Text is text, and an object of an unknown media type is what comes."""
    made = await api(operation(responses={"200": {"content": content}}))
    for media, body, value in (("text/plain", b"aGk=", "aGk="), ("application/json", b"[1]", [1])):
        upstream.answers["/x"] = (200, {"Content-Type": media}, body)
        assert await made.call("op") == value


@pytest.mark.parametrize("schema", [{}, {"contentMediaType": "*/*"}, {"type": "string", "contentMediaType": "image/*"}])
async def test_openapi_a_body_of_any_media_type_is_a_file(api, operation, schema):
    """A body of which range of media types is said twice, beside it and in its schema, is a file of its own type; where
    only one place says it, any value may be meant, and a file is sent as it is, too."""
    made = await api(operation("post", requestBody={"required": True, "content": {"*/*": {"schema": schema}}}))
    told = await made.call("op", body=ENCODED)
    assert (dict(told["headers"])["Content-Type"], told["body"].encode("latin-1")) == ("image/png", IMAGE.content)
    if not schema:
        assert (await made.call("op", body={"a": 1}))["body"] == '{"a":1}'


@pytest.mark.parametrize(
    "schema", [{"contentMediaType": "application/json"}, {"contentMediaType": "application/problem+json", "title": "A"}]
)
async def test_openapi_a_body_whose_schema_repeats_that_it_is_json(api, operation, schema):
    """It is any value, or a file that holds it; a string that holds JSON, if it says that it is one."""
    media = schema["contentMediaType"]
    made = await api(operation("post", requestBody={"required": True, "content": {media: {"schema": schema}}}))
    for given in ({"a": 1}, File(b'{"a":1}', media), {"base64": base64.b64encode(b'{"a":1}').decode(), "type": media}):
        told = await made.call("op", body=given)
        assert (dict(told["headers"])["Content-Type"], told["body"]) == (media, '{"a":1}')
    made = await api(operation("post", requestBody={"content": {media: {"schema": {"type": "string", **schema}}}}))
    assert (await made.call("op", body="[1]"))["body"] == '"[1]"'


async def test_openapi_json_holds_no_file_of_any_media_type(api, operation):
    """A field of a JSON body that may hold any media type, and names no encoding, is text."""
    schema = {
        "type": "object",
        "properties": {
            "f": {"type": "string", "contentMediaType": "*/*"},
            "g": {"contentMediaType": "application/json"},
        },
    }
    made = await api(operation("post", requestBody={"content": {"application/json": {"schema": schema}}}))
    assert (await made.call("op", f="text", g={"a": [1]}))["body"] == '{"f":"text","g":{"a":[1]}}'


async def test_openapi_a_form_that_holds_no_files_gives_way(api, operation):
    """Where a form is offered as multipart too, and has files, it is multipart."""
    schema = {"type": "object", "properties": {"f": OCTETS, "n": {"type": "integer"}}}
    content = {"application/x-www-form-urlencoded": {"schema": schema}, "multipart/form-data": {"schema": schema}}
    made = await api(operation("post", requestBody={"content": content}))
    assert named(await made.call("op", f=IMAGE, n=1))[0] == (
        'form-data; name="f"; filename="a.png"',
        "image/png",
        IMAGE.content,
    )
    made = await api(
        operation("post", requestBody={"content": {"application/x-www-form-urlencoded": {"schema": schema}}})
    )
    assert (await made.call("op", f={"base64": "YSBi"}, n=1))["body"] == "f=a+b&n=1"
    with pytest.raises(InvalidArguments, match="no UTF-8"):
        await made.call("op", f=b"\xff")


@pytest.mark.parametrize(
    "node",
    [
        {"$ref": "#/components/schemas/Loop"},
        {"allOf": [{"$ref": "#/components/schemas/Loop"}] * 50},
        {"anyOf": "x", "allOf": [3, None], "type": 7, "format": [], "contentMediaType": 5, "contentEncoding": {}},
        {"type": ["array", 3, None], "items": [BINARY]},
        {"contentMediaType": "\r\nX: 1", "type": "string"},
        {"$ref": "#/nowhere"},
        True,
        [],
    ],
)
async def test_openapi_odd_schemas_of_files(api, node):
    """Circles, nonsense and references to nowhere cost nobody anything."""
    made = await api(multipart("3.1.0", node))
    told = named(await made.call("op", f="text"))
    assert [content for _, _, content in told] == [b"text"]
    assert all("X" not in media for _, media, _ in told)


def test_openapi_schemas_of_files_are_bounded():
    """Each schema is looked at once, however many refer to it: not two to the power of their depth."""

    class Counted:
        count = 0

        def follow(self, node, file):
            self.count += 1
            return node, file

    node = BINARY
    for _ in range(100):
        node = {"anyOf": [node, node], "oneOf": [node, node], "allOf": [node, node], "type": "array", "items": node}
    documents = Counted()
    binaries = binary.Binaries(documents)
    for _ in range(1000):
        binaries.found(node, "")
    assert documents.count < 2000
