"""What a document itself knows of a request: values that need not be given, queries in path keys, operations of
`x-ms-paths`."""

from __future__ import annotations

import json

import pytest
from doorward_openapi.wire import paths

pytestmark = pytest.mark.anyio


def parameter(where, name="v", **schema):
    return {"name": name, "in": where, "required": True, "schema": schema}


def body(schema, *, required=None, media="application/json"):
    return {
        "requestBody": {"content": {media: {"schema": schema}}, **({} if required is None else {"required": required})}
    }


ONE = {"type": "string", "enum": ["2024-01-01"]}


@pytest.mark.parametrize(
    ("schema", "sent"),
    [
        ({"enum": ["a b"]}, "a%20b"),
        ({"const": 3}, "3"),
        ({"const": False}, "false"),
        ({"type": "integer", "enum": ["7"]}, "7"),
        ({"type": "string", "default": "d"}, "d"),
        ({"enum": ["a", "b"], "default": "b"}, "b"),
        ({"$ref": "#/components/schemas/One"}, "2024-01-01"),
        ({"allOf": [{"$ref": "#/components/schemas/One"}]}, "2024-01-01"),
        ({"$ref": "#/components/schemas/Two", "default": "y"}, "y"),
    ],
)
async def test_openapi_what_is_known_need_not_be_given(api, document, schema, sent):
    """A required parameter with one possible value, or with a default, is sent if it is not given, and shown with that
    value."""
    schemas = {"One": ONE, "Two": {"enum": ["x", "y"]}}
    made = await api(
        document(
            {"/x": {"get": {"operationId": "op", "parameters": [parameter("query", **schema)]}}},
            components={"schemas": schemas},
        )
    )
    assert (await made.call("op"))["path"] == f"/x?v={sent}"
    parameters = made.functions["op"].parameters
    assert "required" not in parameters
    assert parameters["properties"]["v"]["default"] is not None
    assert (await made.call("op", v="z"))["path"] == "/x?v=z"


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string"},
        {"enum": ["a", "b"]},
        {"enum": ["a", "b"], "default": "c"},
        {"type": "integer", "default": "many"},
        {"default": ""},
        {"default": None},
        {"default": ["a"]},
        {"enum": [None]},
        {"enum": []},
        {"enum": "a"},
        {"const": {"a": 1}},
        {"$ref": "#/components/schemas/Gone", "description": "d"},
        {"$ref": "#/components/schemas/Circle"},
    ],
)
async def test_openapi_what_is_not_known_has_to_be_given(api, document, schema):
    """What no one plain value fits has to be given."""
    circle = {"Circle": {"$ref": "#/components/schemas/Circle"}}
    made = await api(
        document(
            {"/x": {"get": {"operationId": "op", "parameters": [parameter("query", **schema)]}}},
            components={"schemas": circle},
        )
    )
    assert made.functions["op"].parameters["required"] == ["v"]


async def test_openapi_known_values_in_each_place(api, operation, upstream):
    """Paths, headers and cookies have them as well; a default does not choose what a path names, and an optional value
    is not sent."""
    given = [
        parameter("path", "version", const="v1"),
        parameter("path", "id", type="integer", default=1),
        parameter("header", "X-Kind", enum=[True]),
        parameter("cookie", "c", const="yes"),
        {"name": "q", "in": "query", "schema": {"default": "d"}},
    ]
    made = await api(operation(path="/{version}/{id}", parameters=given))
    assert made.functions["op"].parameters["required"] == ["id"]
    told = await made.call("op", id=5)
    assert told["path"] == "/v1/5"
    assert (upstream.header("X-Kind"), upstream.header("Cookie")) == (["true"], ["c=yes"])


@pytest.mark.parametrize(("required", "arguments", "sent"), [
    (True, {}, {"kind": "card", "size": 3}),
    (None, {"n": 1}, {"kind": "card", "n": 1, "size": 3}),
    (False, {"n": 1}, {"kind": "card", "n": 1, "size": 3}),
    (False, {"size": 4}, {"kind": "card", "size": 4}),
    (False, {}, None),
])  # fmt: skip
async def test_openapi_known_fields_of_a_body(api, operation, required, arguments, sent):
    """The fields that a body needs are in it wherever there is a body."""
    fields = {
        "kind": {"const": "card"},
        "n": {"type": "integer"},
        "size": {"type": "integer", "default": 3},
        "more": {"default": 1},
    }
    schema = {"type": "object", "required": ["kind", "size"], "properties": fields}
    made = await api(operation("post", **body(schema, required=required)))
    told = await made.call("op", **arguments)
    assert (json.loads(told["body"]) if told["body"] else None) == sent
    form = await api(operation("post", **body(schema, required=required, media="application/x-www-form-urlencoded")))
    told = await form.call("op", **arguments)
    assert told["body"] == "&".join(f"{name}={value}" for name, value in (sent or {}).items())


async def test_openapi_a_default_changes_nothing_that_is_there(api, operation):
    """A PATCH has what has one value; what only has a default has to be given, or is left as it is."""
    schema = {
        "type": "object",
        "required": ["kind", "size"],
        "properties": {"kind": {"const": "card"}, "size": {"default": 3}, "n": {}},
    }
    made = await api(operation("patch", **body(schema)))
    assert made.functions["op"].parameters["required"] == ["size"]
    some = await api(operation("patch", **body(schema, required=False)))
    assert json.loads((await some.call("op", n=1))["body"]) == {"kind": "card", "n": 1}


async def test_openapi_none_is_null_in_json_and_nothing_elsewhere(host, upstream, operation):
    """None for an optional field of a JSON body is null, which a PATCH needs to clear it; elsewhere it is left out, or
    what is known."""
    host.install_real("openapi")
    given = [{"name": "q", "in": "query", "schema": {"type": "string"}}, parameter("query", "version", const="v1")]
    fields = body(
        {"type": "object", "required": ["kind"], "properties": {"kind": {"const": "card"}, "who": {"type": "string"}}}
    )
    whole = operation("put", "/y", **body({"type": "array", "items": {"type": "string"}}))
    paths = {
        **operation("patch", parameters=given, **fields)["paths"],
        "/y": {"put": {**whole["paths"]["/y"]["put"], "operationId": "whole"}},
    }
    (host.folder / "d.json").write_text(json.dumps({**operation(), "paths": paths}))
    async with host.gateway(f'[servers.api]\nsource = "openapi"\nspec = "d.json"\nbase_url = "{upstream.url}"') as gate:
        told = await gate.call("api.op", {"who": None, "q": None, "kind": None, "version": None})
        assert (told["path"], told["body"]) == ("/x?version=v1", '{"kind":"card","who":null}')
        assert (await gate.call("api.whole", {"body": None}))["body"] == ""


async def test_openapi_a_method_that_is_known_is_no_word_of_a_reading_request(api, operation, upstream):
    """A constant header that makes a GET something else is not sent."""
    made = await api(operation(parameters=[parameter("header", "X-HTTP-Method-Override", const="DELETE")]))
    await made.call("op")
    assert upstream.header("X-HTTP-Method-Override") == []


async def test_openapi_the_query_of_a_path_key_is_sent_once(api, document):
    """What a path key says of its query is no argument; a variable of it is one."""
    comp, q = (
        parameter("query", "comp", enum=["list"]),
        {"name": "q", "in": "query", "schema": {"type": "array"}, "explode": False},
    )
    made = await api(
        document(
            {
                "/x?comp=list": {"get": {"operationId": "fixed", "parameters": [comp, q]}},
                "/x?comp=acl&b&q={q}": {"get": {"operationId": "acl", "parameters": [comp, q]}},
                "/y?q={q}": {"get": {"operationId": "only", "parameters": [q]}},
                "/z?q={q}&w={w}": {"get": {"operationId": "undeclared"}},
            }
        )
    )
    assert made.functions["fixed"].parameters["properties"].keys() == {"q"}
    assert (await made.call("fixed"))["path"] == "/x?comp=list"
    assert (await made.call("fixed", q=[1, 2]))["path"] == "/x?comp=list&q=1,2"
    assert (await made.call("acl", q=["a b"]))["path"] == "/x?comp=acl&b&q=a%20b"
    assert (await made.call("only"))["path"] == "/y"
    assert (await made.call("undeclared", q="1&w=2", w=3))["path"] == "/z?q=1%26w%3D2&w=3"


@pytest.mark.parametrize(
    ("template", "queries", "settled"),
    [
        ("/x", {"a"}, ("/x", set())),
        ("/x?a=1&b=2#c?d=e", {"a", "d"}, ("/x?a=1&b=2#c?d=e", {"a"})),
        ("/{a}?a={a}", {"a"}, ("/{a}", set())),
        ("/x?%61=1", {"a"}, ("/x?%61=1", {"a"})),
        ("/x?&&", {""}, ("/x?&&", set())),
    ],
)
def test_openapi_settled(template, queries, settled):
    """Parameters give what has a variable, the template the rest."""
    assert paths.settled(template, queries) == settled


async def test_openapi_x_ms_paths_are_operations(api, document):
    """Azure's paths that differ in their query are operations like others."""
    more = {"/x?op=start": {"post": {"operationId": "start"}}, "/x?op=stop": {"post": {"operationId": "stop"}}, "/y": 5}
    made = await api(document({"/x": {"get": {"operationId": "read"}}}, **{"x-ms-paths": more}))
    assert made.functions.keys() == {"read", "start", "stop"}
    assert (await made.call("stop"))["path"] == "/x?op=stop"
    assert [(skipped.where, skipped.why) for skipped in made.compiled.skipped] == [("/y", "is a number, not an object")]
    odd = await api(document({"/x": {"get": {"operationId": "read"}}}, **{"x-ms-paths": []}))
    assert [skipped.where for skipped in odd.compiled.skipped] == ["x-ms-paths"]


@pytest.mark.parametrize(
    "more",
    [{"unevaluatedProperties": {"type": "string"}}, {"unevaluatedProperties": True}, {"unevaluatedProperties": {}}],
)
async def test_openapi_unevaluated_properties_are_additional_ones(api, operation, more):
    """An object that may hold more than its properties is one argument."""
    schema = {"type": "object", "properties": {"id": {"type": "integer"}}, **more}
    made = await api(operation("post", **body(schema)))
    assert json.loads((await made.call("op", body={"id": 1, "color": "red"}))["body"]) == {"id": 1, "color": "red"}
    closed = await api(operation("post", **body({**schema, "unevaluatedProperties": False})))
    assert closed.functions["op"].parameters["properties"].keys() == {"id"}


async def test_openapi_unevaluated_properties_leave_out_what_parts_have(api, operation):
    """They say nothing of what a part of `allOf` describes."""
    parts = {"allOf": [{"properties": {"id": {"type": "integer"}}}], "unevaluatedProperties": {"type": "string"}}
    made = await api(operation("post", **body(parts)))
    shown = made.functions["op"].parameters["properties"]["body"]
    assert shown["unevaluatedProperties"] == {"type": "string"}
    assert "additionalProperties" not in shown


async def test_openapi_numbers_of_any_size_go_there_and_back(api, operation, upstream):
    """A number beyond 64 bits stays one, and is sent as it was received."""
    text = b'{"big":-120000000000000000000,"huge":123456789012345678901234567890,"low":-9223372036854775910}'
    upstream.answers["/x"] = (200, {"Content-Type": "application/json"}, text)
    reading = await api(operation())
    received = await reading.call("op")
    upstream.answers.clear()
    writing = await api(operation("put", **body({"type": "object", "additionalProperties": {"type": "number"}})))
    assert (await writing.call("op", body=received))["body"].encode() == text
