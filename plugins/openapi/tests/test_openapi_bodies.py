"""Request bodies on the wire: forms, multipart with files, XML, JSON lines, and which kind is chosen."""

from __future__ import annotations

import base64
import json
from xml.etree import ElementTree

import pytest
from doorward import File, InvalidArguments
from doorward_openapi.calls import payload
from doorward_text import signature
from python_multipart.multipart import MultipartParser, parse_options_header

pytestmark = pytest.mark.anyio

BINARY = {"type": "string", "format": "binary"}


def body(media, schema=None, **entry):
    return {"required": True, "content": {media: {"schema": schema or {}, **entry}}}


def parts(told):
    """The parts of a multipart request as an independent parser reads them: (headers, content)."""
    boundary = parse_options_header(dict(told["headers"])["Content-Type"])[1][b"boundary"]
    found, state = [], {}

    def end_header():
        found[-1][0][bytes(state.pop("name")).decode().lower()] = bytes(state.pop("value")).decode()

    parser = MultipartParser(boundary, {
        "on_part_begin": lambda: found.append(({}, bytearray())),
        "on_header_field": lambda d, s, e: state.setdefault("name", bytearray()).extend(d[s:e]),
        "on_header_value": lambda d, s, e: state.setdefault("value", bytearray()).extend(d[s:e]),
        "on_header_end": end_header,
        "on_part_data": lambda d, s, e: found[-1][1].extend(d[s:e]),
    })  # fmt: skip
    parser.write(told["body"].encode("latin-1"))
    parser.finalize()
    return [(headers, bytes(content)) for headers, content in found]


def named(told):
    return [(h["content-disposition"], h.get("content-type", ""), content) for h, content in parts(told)]


@pytest.mark.slow
async def test_openapi_files_keep_names_and_types(api, operation):
    """A file part has the name and the media type of its file; unnamed ones are named after the field, with the type's
    suffix."""
    made = await api(
        operation("post", requestBody=body("multipart/form-data", {"type": "object", "properties": {"f": BINARY}}))
    )
    encoded = base64.b64encode(b"\x00\r\n--").decode()
    for given, disposition, media, content in (
        (File(b"png", "image/png", "a b.png"), 'name="f"; filename="a b.png"', "image/png", b"png"),
        (File(b"png", "image/png"), 'name="f"; filename="f.png"', "image/png", b"png"),
        (
            {"base64": encoded, "name": 'e"vil\r\nX: 1.wav'},
            'name="f"; filename="e%22vil%0D%0AX: 1.wav"',
            "audio/x-wav",
            b"\x00\r\n--",
        ),
        ({"base64": encoded, "name": "ä.pdf"}, 'name="f"; filename="ä.pdf"', "application/pdf", b"\x00\r\n--"),
        (b"\xff", 'name="f"; filename="f"', "application/octet-stream", b"\xff"),
        ("text", 'name="f"; filename="f"', "application/octet-stream", b"text"),
        (b"", 'name="f"; filename="f"', "application/octet-stream", b""),
    ):
        assert named(await made.call("op", f=given)) == [(f"form-data; {disposition}", media, content)]


async def test_openapi_multipart_parts(api, operation):
    """Lists of files become parts, objects JSON, null nothing; the encoding's types, headers and styles count."""
    schema = {"type": "object", "properties": {
        "files": {"type": "array", "items": BINARY}, "icon": BINARY, "meta": {"type": "object"}, "tags": {"type": "array"},
        "csv": {"type": "array"}, "deep": {"type": "object"}, "n": {"type": "integer"}, "svg": {}, "none": {},
    }}  # fmt: skip
    encoding = {
        "icon": {"contentType": "image/png, image/jpeg"},
        "svg": {"contentType": "image/svg+xml"},
        "meta": {
            "contentType": "application/vnd.m+json",
            "headers": {
                "X-Version": {"schema": {"type": "string", "default": "2"}},
                "X-Free": {"schema": {"type": "string"}},
                "X-Bad": {"schema": {"default": "a\r\nb"}},
            },
        },
        "csv": {"style": "form", "explode": False},
        "deep": {"style": "deepObject", "explode": True},
    }
    made = await api(operation("post", requestBody=body("multipart/form-data", schema, encoding=encoding)))
    icon = File(b"gif", "image/gif")
    told = await made.call("op", files=[b"1", File(b"2", name="two.txt")], icon=icon, meta={"a": [1]}, tags=["x", {"y": 1}, None],
                           csv=[1, 2], deep={"a": {"b": True}}, n=5, svg="<svg/>", none=None)  # fmt: skip
    assert named(told) == [
        ('form-data; name="files"; filename="files"', "application/octet-stream", b"1"),
        ('form-data; name="files"; filename="two.txt"', "text/plain", b"2"),
        ('form-data; name="icon"; filename="icon.gif"', "image/png", b"gif"),
        ('form-data; name="meta"', "application/vnd.m+json", b'{"a":[1]}'),
        ('form-data; name="tags"', "", b"x"),
        ('form-data; name="tags"', "application/json", b'{"y":1}'),
        ('form-data; name="csv"', "", b"1,2"),
        ('form-data; name="deep[a][b]"', "", b"true"),
        ('form-data; name="n"', "", b"5"),
        ('form-data; name="svg"', "image/svg+xml", b"<svg/>"),
    ]
    meta = parts(told)[3][0]
    assert meta["x-version"] == "2"
    assert meta.keys().isdisjoint({"x-free", "x-bad"})


async def test_openapi_multipart_without_parts(api, operation):
    """A required multipart body without fields is still one; a list is parts without names (multipart/mixed)."""
    made = await api(
        operation("post", requestBody=body("multipart/form-data", {"type": "object", "properties": {"a": {}}}))
    )
    assert parts(await made.call("op")) == []
    made = await api(operation("post", requestBody=body("multipart/mixed", {"type": "array"})))
    told = await made.call("op", body=[{"a": 1}, "t", File(b"x", "image/png")])
    assert parts(told) == [
        ({"content-type": "application/json"}, b'{"a":1}'),
        ({}, b"t"),
        ({"content-type": "image/png"}, b"x"),
    ]


async def test_openapi_media_types_of_files_cannot_break_out(api, operation, upstream):
    """The media type that a program gives a file is a media type, or is refused."""
    made = await api(
        operation("post", requestBody=body("multipart/form-data", {"type": "object", "properties": {"f": BINARY}}))
    )
    for media in ("image/png\r\nX-Evil: 1", "png", "a/b\n"):
        with pytest.raises(InvalidArguments, match="no media type"):
            await made.call("op", f={"base64": "", "type": media})
    assert upstream.seen == []


@pytest.mark.parametrize("given", [{"base64": "?"}, {"base64": "YQ"}, {"base64": "YQ==\u00e9"}])
async def test_openapi_broken_base64_is_refused(given):
    """What is no base64 is refused, and says so."""
    with pytest.raises(InvalidArguments, match="no base64"):
        payload.as_file(given)


async def test_openapi_form_fields(api, operation):
    """Forms: nested objects as JSON or deep by the document, lists repeated or joined, reserved characters, nothing for
    null."""
    schema = {"type": "object", "properties": {
        "o": {"type": "object"}, "deep": {"type": "array"}, "csv": {"type": "array"}, "many": {"type": "array"},
        "j": {"type": "array"}, "url": {"type": "string"}, "n": {}, "e": {}, "t": {},
    }}  # fmt: skip
    encoding = {
        "deep": {"style": "deepObject", "explode": True},
        "csv": {"style": "form", "explode": False},
        "j": {"contentType": "application/json"},
        "url": {"allowReserved": True},
    }
    made = await api(
        operation("post", requestBody=body("application/x-www-form-urlencoded", schema, encoding=encoding))
    )
    told = await made.call("op", o={"a": [1]}, deep=[{"x": 1}, "y"], csv=["a", "b,c"], many=[1, True], j=[1, 2],
                           url="http://h/?a=b&c d+", n=None, e="", t="ü +&=")  # fmt: skip
    assert told["body"] == (
        "o=%7B%22a%22%3A%5B1%5D%7D&deep%5B0%5D%5Bx%5D=1&deep%5B1%5D=y&csv=a,b%2Cc&many=1&many=true&j=%5B1%2C2%5D"
        "&url=http://h/?a=b%26c+d%2B&e=&t=%C3%BC+%2B%26%3D"
    )


@pytest.mark.parametrize(
    ("media", "value", "content_type", "sent"),
    [
        ("image/*", File(b"x", "image/png"), "image/png", b"x"),
        ("*/*", File(b"x", "image/png"), "image/png", b"x"),
        ("image/*", b"x", "application/octet-stream", b"x"),
        ("application/octet-stream", File(b"x", "image/png"), "application/octet-stream", b"x"),
        ("application/zip", {"base64": "UEs="}, "application/zip", b"PK"),
        ("text/plain", "ü", "text/plain; charset=utf-8", "ü".encode()),
        ("text/plain", File("ü".encode()), "text/plain", "ü".encode()),
        ("application/x-ndjson", [{"a": 1}, "ü", None], "application/x-ndjson", '{"a":1}\n"ü"\nnull\n'.encode()),
        ("application/x-ndjson", '{"raw": 1}\n', "application/x-ndjson", b'{"raw": 1}\n'),
        ("application/json-seq", [1, {"b": 2}], "application/json-seq", b'\x1e1\n\x1e{"b":2}\n'),
        ("application/jsonl", [], "application/jsonl", b""),
        ("application/json", {"f": File(b"\xff"), "b": b"\x00"}, "application/json", b'{"f":"/w==","b":"AA=="}'),
        ("application/json", {"n": 2**70, "x": 1e300}, "application/json", b'{"n":1180591620717411303424,"x":1e+300}'),
    ],
)
async def test_openapi_whole_bodies_of_files_and_lines(api, operation, media, value, content_type, sent):
    """Bytes go as their type where the document leaves it open, lists as lines, bytes in JSON as base64."""
    schema = {} if media != "*/*" else BINARY
    made = await api(operation("post", requestBody=body(media, schema)))
    told = await made.call("op", body=value)
    assert (dict(told["headers"])["Content-Type"], told["body"].encode("latin-1")) == (content_type, sent)


async def test_openapi_lines_that_the_document_calls_a_text(api, operation):
    """Before 3.2, the schema of JSON lines is that of the whole: where it is a string, the lines may be anything."""
    lines = {"type": "object", "properties": {"n": {"type": "integer"}}}
    for entry, items in (
        ({"schema": {"type": "string"}}, {}),
        ({"schema": {"$ref": "#/components/schemas/Text"}}, {}),
        ({"schema": lines}, lines),
        ({"itemSchema": {"type": "string"}}, {"type": "string"}),
        ({"schema": {"type": "string"}, "itemSchema": lines}, lines),
        ({"itemSchema": {"type": "array", "items": {}}}, {"type": "array", "items": {}}),
    ):
        document = operation("post", requestBody={"required": True, "content": {"application/jsonl": entry}})
        document |= {"components": {"schemas": {"Text": {"type": "string"}}}}
        made = await api(document)
        assert made.functions["op"].parameters["properties"]["body"] == {
            "anyOf": [{"type": "array", "items": items}, {"type": "string"}]
        }


async def test_openapi_json_or_bytes(api, operation):
    """A body that may be JSON or a file is what its value is."""
    content = {"application/json": {"schema": {"type": "array"}}, "application/zip": {"schema": BINARY}}
    made = await api(operation("post", requestBody={"required": True, "content": content}))
    for value, media, sent in (([1], "application/json", "[1]"), (b"PK", "application/zip", "PK")):
        told = await made.call("op", body=value)
        assert (dict(told["headers"])["Content-Type"], told["body"]) == (media, sent)


async def test_openapi_json_or_multipart(api, operation):
    """A body that is offered as JSON and, with files, as multipart is JSON until a file is given (Discord's
    messages)."""
    plain = {"type": "object", "properties": {"content": {"type": "string"}, "embed": {"type": "object"}}}
    files = {"allOf": [plain, {"type": "object", "properties": {"files[0]": BINARY}}]}
    encoding = {"content": {"contentType": "text/markdown"}, "files[0]": {"contentType": "image/*"}}
    content = {"application/json": {"schema": plain}, "multipart/form-data": {"schema": files, "encoding": encoding}}
    made = await api(operation("post", requestBody={"required": True, "content": content}))
    told = await made.call("op", content="hi", embed={"a": 1})
    assert json.loads(told["body"]) == {"content": "hi", "embed": {"a": 1}}
    assert named(await made.call("op", content="hi", embed={"a": 1}, files_0=File(b"x", "image/png", "x.png"))) == [
        ('form-data; name="content"', "text/markdown", b"hi"),
        ('form-data; name="embed"', "application/json", b'{"a":1}'),
        ('form-data; name="files[0]"; filename="x.png"', "image/png", b"x"),
    ]


PET = {
    "type": "object",
    "xml": {"name": "pet", "namespace": "http://x.test/ns", "prefix": "p"},
    "properties": {
        "id": {"type": "integer", "xml": {"attribute": True}},
        "name": {"type": "string", "xml": {"name": "title"}},
        "photoUrls": {"type": "array", "xml": {"wrapped": True}, "items": {"type": "string", "xml": {"name": "photo"}}},
        "aliases": {"type": "array", "xml": {"name": "outer", "wrapped": True}, "items": {"type": "string"}},
        "tags": {"type": "array", "items": {"$ref": "#/components/schemas/Tag"}},
        "parent": {"$ref": "#/components/schemas/Pet"},
    },
}
TAG = {"type": "object", "xml": {"name": "tag"}, "properties": {"label": {"type": "string"}}}


async def test_openapi_xml_body(api, operation):
    """An object becomes XML by the `xml` keywords: name, attribute, wrapped, namespace, prefix; escaped, and
    well-formed."""
    made = await api({**operation("post", requestBody=body("application/xml", {"$ref": "#/components/schemas/Pet"})),
                      "components": {"schemas": {"Pet": PET, "Tag": TAG}}})  # fmt: skip
    told = await made.call("op", body={"id": 7, "name": "a<&>\"'ü", "photoUrls": ["u", "v"], "aliases": ["x"], "none": None, "ok": True,
                                       "tags": [{"label": 1}, {}], "parent": {"id": 1}})  # fmt: skip
    assert dict(told["headers"])["Content-Type"] == "application/xml"
    text = told["body"].encode("latin-1").decode()
    assert ElementTree.fromstring(text).tag == "{http://x.test/ns}pet"
    assert text.partition("\n")[2] == (
        '<p:pet xmlns:p="http://x.test/ns" id="7"><title>a&lt;&amp;&gt;"\'ü</title>'
        "<photoUrls><photo>u</photo><photo>v</photo></photoUrls><outer><outer>x</outer></outer>"
        '<ok>true</ok><tag><label>1</label></tag><tag /><p:pet xmlns:p="http://x.test/ns" id="1" /></p:pet>'
    )


async def test_openapi_xml_body_as_text(api, operation):
    """A text is sent as it is; names and characters that XML cannot hold are refused."""
    made = await api(
        operation("post", requestBody=body("text/xml", {"type": "object", "properties": {"a": {"type": "string"}}}))
    )
    assert (await made.call("op", body="<any/>"))["body"] == "<any/>"
    assert (await made.call("op", body={"a": 1}))["body"].endswith("<root><a>1</a></root>")
    for value in ({"a b": 1}, {"a><b": 1}, {"a": "\x00"}, {"a": "\x0b"}):
        with pytest.raises(InvalidArguments, match="XML"):
            await made.call("op", body=value)


async def test_openapi_files_are_announced(api, document):
    """What a function says of files is what a program gives and gets: bytes in several ways, and a handle."""
    put = {"operationId": "put", "requestBody": body("image/png")}
    get = {"operationId": "get", "responses": {"200": {"content": {"image/png": {"schema": BINARY}}}}}
    made = await api(document({"/x": {"put": put, "get": get}}))
    assert "body: bytes | str | dict[str, Any]" in signature(made.functions["put"], lambda name: None)
    assert made.functions["get"].returns["properties"].keys() == {"artefact", "type", "bytes", "name"}
