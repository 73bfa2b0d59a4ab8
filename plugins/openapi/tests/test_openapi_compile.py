"""Documents → functions."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from doorward import ConfigError, ServerError

pytestmark = pytest.mark.anyio


def test_openapi_import_is_light():
    """Importing the plugin imports neither HTTP nor YAML nor msgspec: it is listed without being used."""
    code = "import sys, doorward_openapi; print([m for m in ('httpx2', 'yaml_rs', 'msgspec', 'zstandard') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"


async def test_openapi_function_of_an_operation(api, document):
    """CONTRACT: SRC-01 An operation becomes a function with typed keywords, a summary, tags, route and effect."""
    made = await api(
        document(
            {
                "/repos/{owner}/issues": {
                    "parameters": [{"name": "owner", "in": "path", "required": True, "schema": {"type": "string"}}],
                    "post": {
                        "operationId": "issues/create",
                        "summary": "Create an issue",
                        "description": "With [links](https://x) and <b>tags</b>.",
                        "tags": ["issues"],
                        "parameters": [{"name": "X-Trace-Id", "in": "header", "schema": {"type": "string"}}],
                        "requestBody": {
                            "required": True,
                            "content": {
                                "application/json": {
                                    "schema": {
                                        "type": "object",
                                        "required": ["title", "id"],
                                        "properties": {
                                            "id": {"type": "integer", "readOnly": True},
                                            "title": {"type": "string", "description": "The title"},
                                            "owner": {"type": "string"},
                                        },
                                    }
                                }
                            },
                        },
                        "responses": {"201": {"content": {"application/json": {"schema": {"type": "object"}}}}},
                    },
                    "delete": {"deprecated": True},
                }
            }
        )
    )
    create, delete = made.compiled.functions
    assert (create.name, create.id, create.route) == ("issues_create", "issues/create", "POST /repos/{owner}/issues")
    assert (create.summary, create.description, create.tags) == ("Create an issue", "With links and  tags .", ("issues",))
    assert list(create.parameters["properties"]) == ["owner", "title", "x_trace_id", "owner_body"]
    assert create.parameters["required"] == ["owner", "title"]
    assert create.parameters["additionalProperties"] is False
    assert create.parameters["properties"]["title"] == {"type": "string", "description": "The title"}
    assert create.returns == {"type": "object"}
    assert (create.read_only, create.idempotent, create.destructive) == (False, False, False)
    assert (delete.id, delete.idempotent, delete.destructive, delete.deprecated) == ("DELETE /repos/{owner}/issues", True, True, True)


async def test_openapi_camel_case_ids(api, operation):
    """CONTRACT: SRC-11 A camelCase operationId becomes snake_case, and stays the function's id."""
    made = await api({**operation(), "paths": {"/x": {"get": {"operationId": "getForecast"}}}})
    assert [(f.name, f.id) for f in made.compiled.functions] == [("get_forecast", "getForecast")]


async def test_openapi_bad_operations_are_skipped_alone(api, document):
    """One bad operation is listed with its place and a reason; it never loses the others."""
    made = await api(
        document(
            {
                "/a": {"get": {"operationId": "a"}},
                "/b": {"get": None, "post": {"parameters": {"x": 1}}, "put": {"parameters": [7]}, "patch": {"requestBody": [1]}},
                "/c": [1],
                "/d": {"$ref": "#/nowhere"},
                "/e": {"get": {"parameters": [{"$ref": "#/components/parameters/missing"}]}},
                "/f": {"get": {"parameters": [{"name": "x", "in": "mars"}]}},
            }
        )
    )
    assert list(made.functions) == ["a"]
    where = {s.where for s in made.compiled.skipped}
    assert where == {"GET /b", "PUT /b", "POST /b", "PATCH /b", "GET /e", "GET /f", "/c", "/d"}
    assert all(s.why for s in made.compiled.skipped)


async def test_openapi_duplicate_ids_keep_both(api, document):
    """Two operations with one operationId are two functions: the second is named by its route, with a warning."""
    made = await api(document({"/a": {"get": {"operationId": "same"}}, "/b": {"get": {"operationId": "same"}}}))
    assert list(made.functions) == ["same", "get_b"]
    assert any("twice" in w for w in made.compiled.warnings)


async def test_openapi_colliding_names_stay_apart(api, document):
    """Hundreds of ids that Python writes alike still get a name each."""
    paths = {f"/p{i}": {"get": {"operationId": "a" + "".join("-_."[int(d)] for d in f"{i:09d}" if d < "3") + "b"}} for i in range(1200)}
    made = await api(document(paths))
    assert len({f.name for f in made.compiled.functions}) == 1200


async def test_openapi_names_are_identifiers(api, operation):
    """Wire names that Python can't write get names that it can; clashes carry their location."""
    names = ["filter[a]", "filter_a", "class", "$top", "1st", "перевод", "id"]
    made = await api(
        operation(
            path="/x/{id}",
            parameters=[{"name": n, "in": "query", "schema": {}} for n in names] + [{"name": "id", "in": "cookie", "schema": {}}],
        )
    )
    arguments = list(made.functions["op"].parameters["properties"])
    assert len(arguments) == len(names) + 2
    assert all(a.isidentifier() and a.isascii() for a in arguments)
    assert {"id", "id_query", "id_cookie", "class_", "top", "_1st", "filter_a"} <= set(arguments)


async def test_openapi_references(api, document):
    """Parameters, bodies, responses and path items may be references; circular schemas become definitions."""
    node = {"$ref": "#/components/schemas/Node"}
    content = {"content": {"application/json": {"schema": node}}}
    post = {
        "operationId": "op",
        "parameters": [{"$ref": "#/components/parameters/a~1b"}],
        "requestBody": {"$ref": "#/components/requestBodies/B"},
        "responses": {"200": {"$ref": "#/components/responses/R"}},
    }
    components = {
        "pathItems": {"X": {"post": post}},
        "parameters": {"a/b": {"name": "q", "in": "query", "schema": node}},
        "requestBodies": {"B": content},
        "responses": {"R": content},
        "schemas": {"Node": {"type": "object", "properties": {"next": node, "v": {"type": "integer"}}}},
    }
    made = await api(document({"/x": {"$ref": "#/components/pathItems/X"}}, components=components))
    function = made.functions["op"]
    assert function.returns == {"$ref": "#/$defs/Node"}
    assert function.parameters["properties"]["next"] == {"$ref": "#/$defs/Node"}
    assert made.compiled.definitions["Node"]["properties"]["next"] == {"$ref": "#/$defs/Node"}


async def test_openapi_reference_circles_end(api, operation):
    """A schema that refers to nothing but itself allows anything, with a warning."""
    document = operation(responses={"200": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/A"}}}}})
    document["components"] = {"schemas": {"A": {"$ref": "#/components/schemas/B"}, "B": {"$ref": "#/components/schemas/A"}}}
    made = await api(document)
    assert made.functions["op"].returns is None
    assert any("circle" in w for w in made.compiled.warnings)


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "string", "nullable": True}, {"type": ["string", "null"]}),
        ({"type": "string", "nullable": True, "enum": ["a"]}, {"type": ["string", "null"], "enum": ["a", None]}),
        ({"$ref": "#/components/schemas/S", "nullable": True}, {"anyOf": [{"$ref": "#/$defs/S"}, {"type": "null"}]}),
        ({"type": "integer", "minimum": 1, "exclusiveMinimum": True}, {"type": "integer", "exclusiveMinimum": 1}),
        ({"type": "integer", "minimum": -9223372036854776000, "maximum": 2**64}, {"type": "integer"}),
        ({"type": "integer", "exclusiveMaximum": 9}, {"type": "integer", "exclusiveMaximum": 9}),
        ({"oneOf": [{"type": "string"}, {"type": "integer"}]}, {"anyOf": [{"type": "string"}, {"type": "integer"}]}),
        ({"type": "string", "enum": [True, 1]}, {"type": "string", "enum": ["true", "1"]}),
        ({"type": "integer", "enum": ["1", "2"]}, {"type": "integer", "enum": [1, 2]}),
        ({"type": "array", "items": {"type": "number"}, "maxItems": 3}, {"type": "array", "items": {"type": "number"}, "maxItems": 3}),
        ({"type": "long"}, {"type": "integer"}),
        ({"type": 7, "minimum": "x", "required": "y", "properties": 3, "enum": {}, "pattern": "("}, {}),
        (False, {"not": {}}),
        (None, {}),
    ],
)
async def test_openapi_schemas(api, operation, schema, expected):
    """Schemas of every OpenAPI version become JSON Schema 2020-12; what is wrong in them is left out."""
    document = operation(parameters=[{"name": "q", "in": "query", "schema": schema}])
    document["components"] = {"schemas": {"S": {"type": "object"}}}
    made = await api(document)
    assert made.functions["op"].parameters["properties"]["q"] == expected


@pytest.mark.parametrize(
    ("responses", "expected"),
    [
        ({"200": {"content": {"application/json": {"schema": {"type": "integer"}}}}}, {"type": "integer"}),
        ({"204": {}, "201": {"content": {"application/hal+json": {"schema": {"type": "array"}}}}}, {"type": "array"}),
        ({"2XX": {"content": {"application/json": {"schema": {"type": "boolean"}}}}}, {"type": "boolean"}),
        ({"default": {"content": {"application/json": {"schema": {"type": "null"}}}}}, {"type": "null"}),
        ({"204": {}, "default": {"content": {"application/json": {"schema": {"type": "object"}}}}}, None),
        ({"200": {"content": {"text/csv": {"schema": {"type": "object"}}}}}, {"type": "string"}),
        ({"404": {"content": {"application/json": {"schema": {"type": "object"}}}}}, None),
        (None, None),
    ],
)
async def test_openapi_returns(api, operation, responses, expected):
    """CONTRACT: SRC-10 The result's schema is that of the success answer; None if nobody says."""
    made = await api(operation(responses=responses))
    assert made.functions["op"].returns == expected


async def test_openapi_ignored_headers(api, operation):
    """Accept, Content-Type, Authorization, connection headers and configured ones are no parameters."""
    names = ["Accept", "content-type", "AUTHORIZATION", "Host", "Transfer-Encoding", "X-Version", "X-Other"]
    made = await api(operation(parameters=[{"name": n, "in": "header", "schema": {}} for n in names]), headers={"x-version": "1"})
    assert list(made.functions["op"].parameters["properties"]) == ["x_other"]


async def test_openapi_body_that_is_no_plain_object(api, operation):
    """Bodies of alternatives, free keys or no object are one `body` argument."""
    for schema in (
        {"type": "array"},
        {"oneOf": [{"type": "object"}]},
        {"type": "object", "properties": {"a": {}}, "additionalProperties": True},
    ):
        made = await api(operation("post", requestBody={"required": True, "content": {"application/json": {"schema": schema}}}))
        assert made.functions["op"].parameters["required"] == ["body"]


async def test_openapi_all_of_body_is_flattened(api, operation):
    """The parts of an `allOf` are one set of keywords."""
    schema = {"allOf": [{"$ref": "#/components/schemas/A"}, {"properties": {"b": {}}, "required": ["b"]}]}
    document = operation("post", requestBody={"required": True, "content": {"application/json": {"schema": schema}}})
    document["components"] = {"schemas": {"A": {"type": "object", "properties": {"a": {"type": "integer"}}}}}
    made = await api(document)
    assert set(made.functions["op"].parameters["properties"]) == {"a", "b"}
    assert made.functions["op"].parameters["required"] == ["b"]


@pytest.mark.parametrize(
    ("servers", "settings", "base"),
    [
        ([{"url": "https://a.test/v1/"}], {}, "https://a.test/v1"),
        (
            [{"url": "https://{region}.test/{v}", "variables": {"region": {"default": "eu"}, "v": {"default": "2"}}}],
            {},
            "https://eu.test/2",
        ),
        ([{"url": "https://{unset}.test"}, {"url": "http://b.test"}], {}, "http://b.test"),
        ([{"url": "https://user:password@a.test"}, {"url": "ftp://a.test"}, {"url": "/relative"}], {}, None),
        ([{"url": "https://a.test"}], {"base_url": "https://mine.test/api/"}, "https://mine.test/api"),
        (7, {}, None),
    ],
)
async def test_openapi_base_url(api, operation, servers, settings, base):
    """CONTRACT: SRC-04 Calls go to the configured base URL, else to the document's first usable server."""
    made = await api({**operation(), "servers": servers}, **{"base_url": None, **settings})
    if base is not None:
        assert made.source._base(made.functions["op"].data) == base
        return
    assert any("base_url" in w for w in made.compiled.warnings)
    with pytest.raises(ServerError) as raised:
        await made.call("op")
    assert "base_url" in raised.value.hint


async def test_openapi_other_origins_are_not_trusted(api, document):
    """A server that an operation names counts only within the origin; a document can't send credentials elsewhere."""
    made = await api(
        document(
            {
                "/a": {"get": {"operationId": "a", "servers": [{"url": "https://evil.test"}]}},
                "/b": {"get": {"operationId": "b"}, "servers": [{"url": "https://good.test/v2"}]},
                "/c": {"get": {"operationId": "c", "servers": [{"url": "http://good.test/plain"}]}},
            },
            servers=[{"url": "https://good.test/v1"}],
        ),
        base_url=None,
    )
    bases = {name: made.source._base(f.data) for name, f in made.functions.items()}
    assert bases == {"a": "https://good.test/v1", "b": "https://good.test/v2", "c": "https://good.test/v1"}
    assert sum("another origin" in w for w in made.compiled.warnings) == 2


async def test_openapi_swagger_2(api):
    """CONTRACT: SRC-01 Swagger 2.0: bodies, types, responses, host and basePath."""
    pet = {"$ref": "#/definitions/Pet"}
    put = {
        "operationId": "op",
        "parameters": [
            {"$ref": "#/parameters/limit"},
            {"name": "id", "in": "path", "type": "integer", "required": True},
            {"name": "body", "in": "body", "required": True, "schema": pet},
        ],
        "responses": {"200": {"schema": pet}},
    }
    swagger = {
        "swagger": "2.0",
        "host": "api.test",
        "basePath": "/v1",
        "schemes": ["http", "https"],
        "consumes": ["application/json"],
        "parameters": {"limit": {"name": "limit", "in": "query", "type": "integer", "default": 10}},
        "definitions": {"Pet": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string", "x-nullable": True}}}},
        "paths": {"/pets/{id}": {"put": put}},
    }
    made = await api(swagger, base_url=None)
    function = made.functions["op"]
    assert function.data["base"] == "https://api.test/v1"
    assert function.parameters["properties"] == {
        "id": {"type": "integer"},
        "name": {"type": ["string", "null"]},
        "limit": {"type": "integer", "default": 10},
    }
    assert function.parameters["required"] == ["id", "name"]
    assert function.returns == {"$ref": "#/$defs/Pet"}


async def test_openapi_32_additional_methods(api, document):
    """OpenAPI 3.2: QUERY reads, additionalOperations are functions."""
    made = await api(document({"/x": {"query": {"operationId": "q"}, "additionalOperations": {"COPY": {"operationId": "c"}}}}))
    assert {(f.route, f.read_only) for f in made.compiled.functions} == {("QUERY /x", True), ("COPY /x", False)}


@pytest.mark.parametrize("text", ["", "[]", "x", '{"openapi": "3.0.0"', "{}", "paths: {}", "\x00", "a: [b", '{"a": 1}'])
async def test_openapi_not_a_document(api, text):
    """What is no OpenAPI document is a ConfigError that names it, and nothing else."""
    with pytest.raises(ConfigError, match=r"openapi\.json"):
        await api(text)


async def test_openapi_everything_is_json(api, operation):
    """Functions and definitions are plain JSON: the catalog stores them."""
    schema = "{enum: [1, .nan, 2020-01-01], default: .inf}"
    yaml = f"openapi: 3.0.0\npaths: {{/x: {{get: {{responses: {{200: {{content: {{application/json: {{schema: {schema}}}}}}}}}}}}}}}\n"
    made = await api(yaml, name="openapi.yaml")
    text = json.dumps([made.compiled.functions[0].returns, made.compiled.functions[0].data], allow_nan=False)
    assert "2020-01-01" in text


async def test_openapi_yaml_merge_keys(api):
    """YAML: merge keys are applied, the node's own keys win."""
    made = await api(
        "openapi: 3.0.0\nx: &base {summary: base, tags: [t]}\npaths:\n  /x:\n    get:\n      <<: *base\n      summary: own\n",
        name="openapi.yaml",
    )
    assert [(f.summary, f.tags) for f in made.compiled.functions] == [("own", ("t",))]
