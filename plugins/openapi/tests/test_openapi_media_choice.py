"""Where a document offers several media types: what a value is sent as, and how a program chooses; null in a merge
patch."""

from __future__ import annotations

import base64
import json

import jsonschema_rs
import pytest
from doorward import File, InvalidArguments

pytestmark = pytest.mark.anyio

BINARY = {"type": "string", "format": "binary"}
TEXT = {"type": "string"}
OBJECT = {"type": "object", "required": ["source"], "properties": {"source": TEXT, "n": {"type": "integer"}}}
PNG = {"base64": base64.b64encode(b"\x89PNG").decode(), "type": "image/png"}
JSON, PDF, OCTETS, PLAIN = "application/json", "application/pdf", "application/octet-stream", "text/plain"


def body(**content):
    return {"required": True, "content": {media: {"schema": schema} for media, schema in content.items()}}


def properties(made):
    return made.functions["op"].parameters["properties"]


def sent(told):
    return dict(told["headers"]).get("Content-Type"), told["body"].encode("latin-1")


async def test_openapi_fields_or_a_file(api, operation, upstream):
    """Fields are sent as JSON, a file instead of them as one of the types that are offered: its own if it can be."""
    content = {JSON: OBJECT, PDF: BINARY, "image/png": BINARY}
    made = await api(operation("post", requestBody=body(**content)))
    assert "required" not in made.functions["op"].parameters
    assert "instead of the fields" in properties(made)["body"]["description"]
    assert sent(await made.call("op", source="s", n=1)) == (JSON, b'{"source":"s","n":1}')
    assert sent(await made.call("op", body=PNG)) == ("image/png", b"\x89PNG")
    assert sent(await made.call("op", body=b"%PDF")) == (PDF, b"%PDF")
    assert sent(await made.call("op", body="text")) == (PDF, b"text")
    assert sent(await made.call("op", body=File(b"x", "image/gif"))) == (PDF, b"x")
    assert sent(await made.call("op", body=b"x", content_type="image/png")) == ("image/png", b"x")
    assert sent(await made.call("op", body=b"x", content_type=JSON)) == (PDF, b"x")
    seen = len(upstream.seen)
    for wrong, told in (
        ({"n": 1}, "source must be given, or `body`"),
        ({}, "source must be"),
        ({"body": PNG, "n": 1}, "one or the other"),
    ):
        with pytest.raises(InvalidArguments, match=told):
            await made.call("op", **wrong)
    assert len(upstream.seen) == seen


async def test_openapi_fields_or_text(api, operation):
    """The same with text; of a file it is the text."""
    made = await api(operation("post", requestBody=body(**{JSON: OBJECT, PLAIN: TEXT})))
    assert properties(made)["body"]["type"] == "string"
    assert sent(await made.call("op", body="ids")) == (PLAIN, b"ids")
    assert sent(await made.call("op", source="s")) == (JSON, b'{"source":"s"}')


async def test_openapi_swagger_2_fields_or_a_file(api):
    """Swagger 2.0 has one schema for all types: those of files are files, others the object in another notation."""
    post = {"operationId": "op", "consumes": [PDF, JSON, "image/png", "application/x-protobuf", "application/xml", OCTETS],
            "parameters": [{"in": "body", "name": "input", "schema": OBJECT}], "responses": {}}  # fmt: skip
    made = await api({"swagger": "2.0", "info": {}, "paths": {"/x": {"post": post}}})
    assert properties(made)["content_type"]["enum"] == [JSON, PDF, "image/png"]
    assert sent(await made.call("op", source="s")) == (JSON, b'{"source":"s"}')
    assert sent(await made.call("op", body=PNG)) == ("image/png", b"\x89PNG")
    post["consumes"] = [JSON, OCTETS, "application/x-protobuf"]
    made = await api({"swagger": "2.0", "info": {}, "paths": {"/x": {"post": post}}})
    assert properties(made).keys() == {"source", "n"}


@pytest.mark.parametrize("schema", [BINARY, {}])
async def test_openapi_bytes_text_or_json(api, operation, schema):
    """One body of three types: bytes, text and JSON are each what the value is, or what the program says."""
    made = await api(operation("post", requestBody=body(**{OCTETS: schema, PLAIN: schema, JSON: schema})))
    assert set(properties(made)["content_type"]["enum"]) == {OCTETS, PLAIN, JSON}
    assert sent(await made.call("op", body=b"\xff")) == (OCTETS, b"\xff")
    assert sent(await made.call("op", body="ab")) == (PLAIN, b"ab")
    assert sent(await made.call("op", body=b"[1]", content_type=OCTETS)) == (OCTETS, b"[1]")
    assert sent(await made.call("op", body="ab", content_type=OCTETS)) == (OCTETS, b"ab")
    if schema:
        assert sent(await made.call("op", body='{"a": 1}', content_type=JSON)) == (JSON, b'{"a": 1}')
    else:
        assert sent(await made.call("op", body={"a": 1})) == (JSON, b'{"a":1}')
        assert sent(await made.call("op", body="ab", content_type=JSON)) == (JSON, b'"ab"')


async def test_openapi_text_or_json_text(api, operation):
    """A text that may be JSON or plain is JSON unless the program says otherwise."""
    made = await api(operation("post", requestBody=body(**{PLAIN: TEXT, JSON: TEXT})))
    assert sent(await made.call("op", body="a")) == (JSON, b'"a"')
    assert sent(await made.call("op", body="a", content_type=PLAIN)) == (PLAIN, b"a")


async def test_openapi_what_is_not_offered_cannot_be_chosen(api, operation):
    """A media type that is not in the document changes nothing, whatever it holds; the schema refuses it before."""
    made = await api(operation("post", requestBody=body(**{PLAIN: TEXT, JSON: TEXT})))
    assert sent(await made.call("op", body="a", content_type="text/html")) == (JSON, b'"a"')
    validator = jsonschema_rs.validator_for(made.functions["op"].parameters)
    assert not validator.is_valid({"body": "a", "content_type": "text/html"})


@pytest.mark.parametrize(
    "content",
    [
        {JSON: OBJECT},
        {JSON: OBJECT, "text/json": OBJECT, "application/*+json": OBJECT},
        {
            JSON: OBJECT,
            "application/xml": OBJECT,
            "application/x-www-form-urlencoded": OBJECT,
            "multipart/form-data": OBJECT,
        },
        {JSON: OBJECT, "application/json-patch+json": OBJECT},
        {JSON: OBJECT, "application/cbor": OBJECT, OCTETS: OBJECT, PLAIN: OBJECT},
    ],
)
async def test_openapi_the_same_value_otherwise_written_is_no_choice(api, operation, content):
    """Types that differ in notation only cost no argument."""
    made = await api(
        operation("post", requestBody=body(**content), responses={"200": {"content": body(**content)["content"]}})
    )
    assert properties(made).keys() <= {"source", "n", "accept"}
    assert properties(made).get("accept", {}).get("enum") is None


async def test_openapi_xml_lines_or_a_file(api, operation):
    """A body of XML or of JSON lines that may be a file as well is what its value is, or what the program says."""
    for media, schema, value, written in (
        ("application/xml", OBJECT, {"source": "s"}, b"<root><source>s</source></root>"),
        ("application/x-ndjson", {"type": "array"}, [1, 2], b"1\n2\n"),
    ):
        made = await api(operation("post", requestBody=body(**{media: schema, PDF: BINARY, "image/png": BINARY})))
        assert "binary" in str(properties(made)["body"])
        for chosen in ({}, {"content_type": media}):
            told = sent(await made.call("op", body=value, **chosen))
            assert (told[0], told[1].endswith(written)) == (media, True)
        assert sent(await made.call("op", body=PNG)) == ("image/png", b"\x89PNG")


@pytest.mark.parametrize("media", ["multipart/form-data", "application/x-www-form-urlencoded"])
async def test_openapi_a_form_leaves_no_choice(api, operation, media):
    """Where the fields are a form, files that are offered beside it cost no argument, and change nothing."""
    made = await api(operation("post", requestBody=body(**{media: OBJECT, PDF: BINARY, "image/png": BINARY})))
    assert properties(made).keys() == {"source", "n"}
    assert sent(await made.call("op", source="s"))[0].startswith(media)


async def test_openapi_fields_stay_json_whatever_is_chosen(api, operation):
    """Fields with the media type of a file are still JSON: a choice of files is none for them."""
    made = await api(operation("post", requestBody=body(**{JSON: OBJECT, PDF: BINARY, "image/png": BINARY})))
    assert sent(await made.call("op", source="s", content_type=PDF)) == (JSON, b'{"source":"s"}')


async def test_openapi_many_media_types_are_no_argument(api, operation):
    """A long list of types costs no argument; a file's own type still counts."""
    made = await api(operation("post", requestBody=body(**{f"image/x{i}": BINARY for i in range(50)})))
    assert properties(made).keys() == {"body"}
    assert sent(await made.call("op", body=File(b"x", "image/x7")))[0] == "image/x7"
    assert sent(await made.call("op", body=File(b"x", "image/gif")))[0] == "image/x0"


async def test_openapi_ranges_of_files(api, operation):
    """A range is offered for files, which have their own type in it; a range itself is no choice."""
    made = await api(operation("post", requestBody=body(**{JSON: OBJECT, "image/*": BINARY, "application/*": BINARY})))
    assert properties(made).keys() == {"source", "n", "body"}
    assert sent(await made.call("op", body=PNG)) == ("image/png", b"\x89PNG")
    assert sent(await made.call("op", source="s")) == (JSON, b'{"source":"s"}')
    made = await api(operation("post", requestBody=body(**{"*/*": {}})))
    assert sent(await made.call("op", body=PNG)) == ("image/png", b"\x89PNG")
    assert sent(await made.call("op", body={"a": 1})) == (JSON, b'{"a":1}')


async def test_openapi_kinds_of_patches(api, operation):
    """A list is a JSON patch, an object a merge patch, or what the program says."""
    patch = {"type": "object"}
    kinds = ["application/json-patch+json", "application/merge-patch+json", "application/strategic-merge-patch+json"]
    made = await api(operation("patch", requestBody=body(**dict.fromkeys(kinds, patch))))
    assert sent(await made.call("op", body={"a": None})) == (kinds[1], b'{"a":null}')
    assert sent(await made.call("op", body=[{"op": "remove"}])) == (kinds[0], b'[{"op":"remove"}]')
    assert sent(await made.call("op", body={"a": 1}, content_type=kinds[2])) == (kinds[2], b'{"a":1}')


ANSWERS = {
    JSON: {"schema": OBJECT},
    "text/csv": {},
    "application/vnd.x.more+json": {"schema": {"type": "array"}},
    PDF: {},
    "text/html": {},
}


async def test_openapi_answers_in_several_types(api, operation, upstream):
    """A program chooses the media type of an answer; without a word it is JSON, or whatever comes."""
    made = await api(operation(responses={"200": {"content": ANSWERS}}))
    assert set(properties(made)["accept"]["enum"]) == ANSWERS.keys()
    assert properties(made)["accept"]["enum"][0] == JSON
    for chosen in ANSWERS:
        await made.call("op", accept=chosen)
        assert upstream.header("accept") == [chosen]
    await made.call("op")
    assert upstream.header("accept") == ["application/json, */*;q=0.5"]


@pytest.mark.parametrize(
    ("parameter", "default", "choice"),
    [
        ({"schema": {"type": "string", "enum": ["image/png", "image/jpeg"]}}, "image/png", ["image/png", "image/jpeg"]),
        (
            {"schema": {"$ref": "#/components/schemas/Types"}, "required": True},
            "image/png",
            ["image/png", "image/jpeg"],
        ),
        ({"schema": {"enum": [JSON, "image/png"]}}, "application/json", [JSON, "image/png"]),
        ({"schema": {"enum": ["image/png"]}}, "image/png", None),
        ({"schema": {"const": "image/png"}}, "image/png", None),
        ({"schema": {"type": "string"}}, "application/json", None),
        ({"schema": {"enum": ["image/png\r\nX: 1", "image/jpeg"]}}, "application/json", None),
        ({"schema": {"$ref": "#/nowhere"}}, "application/json", None),
        ({"schema": {"enum": "image/png"}}, "application/json", None),
    ],
)
async def test_openapi_an_accept_parameter_chooses(api, operation, upstream, parameter, default, choice):
    """The header parameter Accept lists what may be asked for; what it does not list cannot break out."""
    made = await api({**operation(parameters=[{"name": "accept", "in": "header", **parameter}], responses={"200": {"content": {JSON: {}}}}),
                      "components": {"schemas": {"Types": {"enum": ["image/png", "image/jpeg"]}}}})  # fmt: skip
    assert properties(made).get("accept", {}).get("enum") == choice
    assert "required" not in made.functions["op"].parameters
    await made.call("op")
    assert upstream.header("accept") == [default]
    for media in choice or ():
        await made.call("op", accept=media)
        assert upstream.header("accept") == [media]


async def test_openapi_swagger_2_accept_parameter(api, upstream):
    """Swagger 2.0 lists the values in the parameter itself."""
    get = {
        "operationId": "op",
        "parameters": [{"name": "Accept", "in": "header", "type": "string", "enum": [JSON, "text/csv"]}],
    }
    made = await api({"swagger": "2.0", "info": {}, "paths": {"/x": {"get": get}}})
    await made.call("op", accept="text/csv")
    assert upstream.header("accept") == ["text/csv"]


async def test_openapi_choices_have_names_of_their_own(api, operation, upstream):
    """A query or a field of the same name stays; what the operator set is not a program's to choose."""
    content = {PLAIN: TEXT, OCTETS: BINARY, "text/html": TEXT}
    node = {"parameters": [{"name": n, "in": "query", "schema": {}} for n in ("accept", "content_type")],
            "requestBody": body(**content), "responses": {"200": {"content": ANSWERS}}}  # fmt: skip
    made = await api(operation("post", **node))
    file = await made.call(
        "op", accept="q", content_type="r", accept_header=PDF, content_type_header="text/html", body="b"
    )
    told = json.loads(file.value)  # who asks for a PDF gets a file, whatever it is
    assert told["path"] == "/x?accept=q&content_type=r"
    assert (upstream.header("accept"), sent(told)) == ([PDF], ("text/html", b"b"))
    made = await api(operation("post", **node), headers={"Accept": "text/csv"})
    assert "accept_header" not in properties(made)


ADDRESS = {
    "type": "object",
    "required": ["city"],
    "properties": {"city": TEXT, "zip": TEXT},
    "additionalProperties": TEXT,
}
PERSON = {"type": "object", "required": ["title"], "properties": {"title": TEXT, "nick": TEXT, "age": {"type": "integer", "enum": [1, 2]},
          "address": {"$ref": "#/components/schemas/Address"}, "all": {"allOf": [{"$ref": "#/components/schemas/Address"}]}}}  # fmt: skip


@pytest.mark.parametrize(
    "media",
    [
        "application/merge-patch+json",
        "application/vnd.x.merge-patch+json",
        "application/merge-patch+json; charset=utf-8",
    ],
)
async def test_openapi_null_deletes_in_a_merge_patch(api, operation, media):
    """Null may stand for what need not be there, at any depth, and is sent; elsewhere the same schemas are as strict as
    before."""
    paths = {"/x": {"patch": {"operationId": "op", "requestBody": body(**{media: PERSON})},
                    "put": {"operationId": "put", "requestBody": body(**{JSON: PERSON})}}}  # fmt: skip
    made = await api({**operation(), "paths": paths, "components": {"schemas": {"Address": ADDRESS}}})
    patch, put = (
        jsonschema_rs.validator_for({**made.functions[n].parameters, "$defs": made.compiled.definitions})
        for n in ("op", "put")
    )
    given = {"title": "n", "nick": None, "age": None, "address": {"zip": None, "more": None}, "all": None}
    assert patch.is_valid(given)
    assert not patch.is_valid({"title": None})
    told = await made.call("op", **given)
    assert json.loads(told["body"]) == given
    assert dict(told["headers"])["Content-Type"] == media
    for wrong in ({"nick": None}, {"address": {"city": "c", "zip": None}}, {"address": {"zip": "z"}}, {"all": None}):
        assert not put.is_valid({"title": "n", **wrong})
        assert patch.is_valid({"title": "n", **wrong})


async def test_openapi_null_where_the_schema_has_it(api, operation):
    """A field of JSON that may be null is sent as null, and only if it is given."""
    schema = {
        "type": "object",
        "properties": {"a": {"type": ["string", "null"]}, "b": {"type": "string", "nullable": True}, "c": TEXT},
    }
    made = await api(operation("post", requestBody=body(**{JSON: schema})))
    assert (await made.call("op", a=None, b=None))["body"] == '{"a":null,"b":null}'
    assert (await made.call("op", c="c"))["body"] == '{"c":"c"}'


async def test_openapi_circular_merge_patches(api, operation):
    """A schema that refers to itself has one variant for patches, however often it is referred to."""
    node = {
        "type": "object",
        "required": ["v"],
        "properties": {"v": TEXT, "next": {"$ref": "#/components/schemas/Node"}},
    }
    ref = {"$ref": "#/components/schemas/Node"}
    post = {"operationId": "post", "requestBody": body(**{JSON: ref})}
    patch = {"operationId": "op", "requestBody": body(**{"application/merge-patch+json": ref})}
    paths = {"/x": {"post": post, "patch": patch}, "/y": {"patch": {**patch, "operationId": "two"}}}
    made = await api({**operation(), "paths": paths, "components": {"schemas": {"Node": node}}})
    assert made.compiled.definitions.keys() - {"paths"} >= {"Node", "NodePatch"}
    assert len([name for name in made.compiled.definitions if name.startswith("Node")]) == 2
    validator = jsonschema_rs.validator_for({**made.functions["op"].parameters, "$defs": made.compiled.definitions})
    assert validator.is_valid({"v": "v", "next": {"next": {"v": None, "next": None}}})
