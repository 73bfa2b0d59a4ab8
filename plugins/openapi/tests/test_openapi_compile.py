"""Documents → functions."""

from __future__ import annotations

import json
import subprocess
import sys

import jsonschema_rs
import pytest
from doorward import ConfigError, ServerError
from doorward_openapi.operations import routes
from doorward_openapi.schemas import variants
from doorward_text import cards

pytestmark = pytest.mark.anyio


@pytest.mark.slow
def test_openapi_import_is_light():
    """Importing the plugin imports neither HTTP nor YAML nor msgspec: it is listed without being used."""
    code = "import sys, doorward_openapi; print([m for m in ('httpx2', 'yaml_rs', 'msgspec', 'backports.zstd', 'compression.zstd') if m in sys.modules])"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"
    )


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
    assert (create.summary, create.description, create.tags) == (
        "Create an issue",
        "With links and  tags .",
        ("issues",),
    )
    assert list(create.parameters["properties"]) == ["owner", "title", "x_trace_id", "owner_body"]
    assert create.parameters["required"] == ["owner", "title"]
    assert create.parameters["additionalProperties"] is False
    assert create.parameters["properties"]["title"] == {"type": "string", "description": "The title"}
    assert create.returns == {"type": "object"}
    assert (create.read_only, create.idempotent, create.destructive) == (False, False, False)
    assert (delete.id, delete.idempotent, delete.destructive, delete.deprecated) == (
        "DELETE /repos/{owner}/issues",
        True,
        True,
        True,
    )


@pytest.mark.parametrize(
    ("node", "summary"),
    [
        (
            {"operationId": "flaky_flaky_get", "summary": "Flaky", "description": "Fails now and then."},
            "Fails now and then.",
        ),
        ({"operationId": "flaky_flaky_get", "summary": "Flaky"}, "Flaky"),
        ({"operationId": "flaky_flaky_get", "summary": "Fails at times", "description": "Why."}, "Fails at times"),
    ],
)
async def test_openapi_a_summary_says_more_than_the_name(api, operation, node, summary):
    """One that was made of the operation's name, as FastAPI does, gives way to a description."""
    made = await api({**operation(), "paths": {"/x": {"get": node}}})
    assert [f.summary for f in made.compiled.functions] == [summary]


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
                "/b": {
                    "get": None,
                    "post": {"parameters": {"x": 1}},
                    "put": {"parameters": [7]},
                    "patch": {"requestBody": [1]},
                },
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


@pytest.mark.slow
async def test_openapi_colliding_names_stay_apart(api, document):
    """Hundreds of ids that Python writes alike still get a name each."""
    paths = {
        f"/p{i}": {"get": {"operationId": "a" + "".join("-_."[int(d)] for d in f"{i:09d}" if d < "3") + "b"}}
        for i in range(1200)
    }
    made = await api(document(paths))
    assert len({f.name for f in made.compiled.functions}) == 1200


async def test_openapi_names_are_identifiers(api, operation):
    """Wire names that Python can't write get names that it can; clashes carry their location."""
    names = ["filter[a]", "filter_a", "class", "$top", "1st", "перевод", "id"]
    made = await api(
        operation(
            path="/x/{id}",
            parameters=[{"name": n, "in": "query", "schema": {}} for n in names]
            + [{"name": "id", "in": "cookie", "schema": {}}],
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
    document = operation(
        responses={"200": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/A"}}}}}
    )
    document["components"] = {
        "schemas": {"A": {"$ref": "#/components/schemas/B"}, "B": {"$ref": "#/components/schemas/A"}}
    }
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
        (
            {"type": "array", "items": {"type": "number"}, "maxItems": 3},
            {"type": "array", "items": {"type": "number"}, "maxItems": 3},
        ),
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
        ({"200": {"content": {"application/javascript": {}}}}, {"type": "string"}),
        ({"200": {"content": {"application/stream+json": {"schema": {"type": "object"}}}}}, {"type": "array"}),
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
    made = await api(
        operation(parameters=[{"name": n, "in": "header", "schema": {}} for n in names]), headers={"x-version": "1"}
    )
    assert list(made.functions["op"].parameters["properties"]) == ["x_other"]


async def test_openapi_parameters_that_the_auth_sends(api, operation):
    """No program knows them, though a document requires them."""
    places = [("header", "Api-Key"), ("query", "appid"), ("query", "Api-Key"), ("cookie", "sid"), ("header", "appid")]
    made = await api(
        operation(parameters=[{"name": n, "in": place, "required": True, "schema": {}} for place, n in places]),
        filled=[("header", "api_key"), ("query", "appid"), ("cookie", "sid")],
    )
    assert made.functions["op"].parameters["required"] == ["api_key", "appid"]
    assert [(wire["in"], wire["name"]) for wire in made.functions["op"].data["arguments"]] == [
        ("query", "Api-Key"),
        ("header", "appid"),
    ]


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("The ID or URL-encoded path", "Percent-encoded once when it is sent. The ID or URL-encoded path"),
        ("With a slash, encode it twice", "Percent-encoded once when it is sent. With a slash, encode it twice"),
        ("The encoding of a video", "The encoding of a video"),
    ],
)
async def test_openapi_path_that_its_readers_have_to_encode(api, operation, said, shown):
    """A program that did so would send it encoded twice."""
    variable = {"name": "id", "in": "path", "required": True, "description": said, "schema": {"type": "string"}}
    made = await api(operation(path="/x/{id}", parameters=[variable]))
    assert made.functions["op"].parameters["properties"]["id"]["description"] == shown


async def test_openapi_body_that_is_no_plain_object(api, operation):
    """Bodies of alternatives, free keys or no object are one `body` argument."""
    for schema in (
        {"type": "array"},
        {"oneOf": [{"type": "object"}]},
        {"type": "object", "properties": {"a": {}}, "additionalProperties": True},
    ):
        made = await api(
            operation("post", requestBody={"required": True, "content": {"application/json": {"schema": schema}}})
        )
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


REGIONS = [
    {
        "url": "https://{region}.test/{v}",
        "variables": {"region": {"default": "us", "enum": ["us", "eu"]}, "v": {"default": 1}},
    }
]


@pytest.mark.parametrize("kind", ["integer", ["integer", "null"]])
async def test_openapi_integers_are_written_as_such(api, operation, kind):
    """Whatever the document has: no signature says `int = 10.0`, and no message `the minimum of 0.0`."""
    schema = {"type": kind, "minimum": 0.0, "default": 10.0, "example": 5.0, "enum": [5.0, 10.0]}
    made = await api(operation(parameters=[{"name": "q", "in": "query", "schema": schema}]))
    assert ".0" not in json.dumps(made.functions["op"].parameters["properties"]["q"])


async def test_openapi_server_variables(api, document):
    """CONTRACT: SRC-04 Configured variables win over defaults in the servers of document, path and operation; others
    are told."""
    paths = {
        "/a": {"get": {"operationId": "a"}},
        "/b": {"get": {"operationId": "b", "servers": [{"url": "https://{region}.test/own"}]}},
        "/c": {
            "get": {"operationId": "c"},
            "servers": [{"url": "https://{region}.test/{v}/path", "variables": {"v": {"default": "3"}}}],
        },
    }
    made = await api(document(paths, servers=REGIONS), base_url=None, variables={"region": "eu", "v": "2", "none": "x"})
    bases = {name: f.data["base"] for name, f in made.functions.items()}
    assert bases == {"a": "https://eu.test/2", "b": "https://eu.test/own", "c": "https://eu.test/2/path"}
    assert [w for w in made.compiled.warnings if "none" in w]
    assert not [w for w in made.compiled.warnings if "region" in w]


async def test_openapi_server_variables_are_checked(api, document):
    """A value that the document does not allow is refused with those that it does; in an operation's server it costs
    the operation."""
    with pytest.raises(ConfigError, match=r"variables\.region.*'asia'") as raised:
        await api(document({}, servers=REGIONS), base_url=None, variables={"region": "asia"})
    assert "us, eu" in raised.value.hint
    made = await api(document({"/a": {"get": {"servers": REGIONS}}, "/b": {"get": {}}}), variables={"region": "asia"})
    assert list(made.functions) == ["get_b"]
    assert [s.where for s in made.compiled.skipped] == ["GET /a"]


@pytest.mark.parametrize(
    ("url", "settings", "warned"),
    [
        ("http://127.0.0.1:8080/v1", {}, True),
        ("http://localhost:8080", {}, True),
        ("http://[::1]:8080", {}, True),
        ("http://10.0.0.1", {}, True),
        ("https://api.example.com", {}, False),
        ("http://127.0.0.1:8080/v1", {"base_url": "http://127.0.0.1:8080/v1"}, False),
        ("http://127.0.0.1:8080/v1", {"origins": ["http://127.0.0.1:8080"]}, False),
    ],
)
async def test_openapi_a_server_that_no_call_may_reach(api, operation, url, settings, warned):
    """What each call would be refused for is told when the document is compiled."""
    made = await api({**operation(), "servers": [{"url": url}]}, **{"base_url": None, **settings})
    assert any("no call can be made" in w for w in made.compiled.warnings) is warned


async def test_openapi_origins_that_belong_to_the_api(api, document, upstream):
    """Servers of an origin that the operator names are honoured, with and without base_url, and called."""
    paths = {
        "/up": {"post": {"operationId": "up", "servers": [{"url": f"{upstream.url}/uploads"}]}},
        "/evil": {"post": {"operationId": "evil", "servers": [{"url": "https://evil.test"}]}},
    }
    for base in (None, "https://good.test/v1"):
        made = await api(
            document(paths, servers=[{"url": "https://good.test/v1"}]), base_url=base, origins=[upstream.url]
        )
        assert made.source._base(made.functions["evil"].data) == "https://good.test/v1"
        await made.call("up")
        assert upstream.seen[-1]["path"] == "/uploads/up"
        assert [w for w in made.compiled.warnings if "evil.test" in w]
        assert not [w for w in made.compiled.warnings if "127.0.0.1" in w]


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
        "definitions": {
            "Pet": {
                "type": "object",
                "required": ["name"],
                "properties": {"name": {"type": "string", "x-nullable": True}},
            }
        },
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
    made = await api(
        document({"/x": {"query": {"operationId": "q"}, "additionalOperations": {"COPY": {"operationId": "c"}}}})
    )
    assert {(f.route, f.read_only) for f in made.compiled.functions} == {("QUERY /x", True), ("COPY /x", False)}


async def test_openapi_discriminators_tell_the_variants_apart(api, operation):
    """Each variant of a union shows which values of the discriminator mean it, unless it says so itself; nothing is
    refused by that."""
    ref = "#/components/schemas/"
    union = {
        "oneOf": [{"$ref": f"{ref}Cat"}, {"$ref": f"{ref}Dog"}, {"$ref": f"{ref}Cow"}],
        "discriminator": {
            "propertyName": "kind",
            "mapping": {"cat": f"{ref}Cat", "kitten": "Cat", "dog": f"{ref}Dog", "cow": "Cow"},
        },
    }
    animal = {"type": "object", "required": ["kind"], "properties": {"kind": {"type": "string"}}}
    own = {"type": "object", "properties": {"kind": {"const": "COW"}}}
    document = operation("post", requestBody={"required": True, "content": {"application/json": {"schema": union}}})
    dog = {"allOf": [{"$ref": f"{ref}Animal"}, {"properties": {"bark": {"type": "boolean"}}}]}
    document["components"] = {"schemas": {"Animal": animal, "Cat": dict(animal), "Dog": dog, "Cow": own}}
    made = await api(document)
    card = cards.describe(made.functions["op"], made.compiled.definitions.get, module="api")
    assert "body: Cat | Dog | Cow" in card
    kinds = [line.strip() for line in card.splitlines() if line.strip().startswith("kind:")]
    assert kinds == [
        'kind: Required[Literal["cat", "kitten"]]',
        'kind: Required[Literal["dog"]]',
        'kind: Literal["COW"]',
    ]
    assert "enum" not in json.dumps(made.compiled.definitions)


def zoo(keyword, ref, animal, *names):
    """Schemas of animals, each with a field of its own, that extend one with a discriminator."""
    kinds = {
        name: {"allOf": [{"$ref": f"{ref}Animal"}], "properties": {f"own_{name}": {"type": "integer"}}}
        for name in names
    }
    base = {
        "type": "object",
        "required": ["kind"],
        "properties": {"kind": {"type": "string"}},
        "discriminator": keyword,
        **animal,
    }
    return {"Animal": base, **kinds}


@pytest.mark.parametrize("by", ["mapping", "extension", "swagger"])
async def test_openapi_what_extends_a_schema_may_stand_for_it(api, operation, by):
    """Where a schema with a discriminator is asked for, in a body or within it, cards show what extends it, and what
    tells them apart."""
    ref = "#/definitions/" if by == "swagger" else "#/components/schemas/"
    mapping = {"cat": f"{ref}Cat", "dog": "Dog"}
    keyword = (
        "kind" if by == "swagger" else {"propertyName": "kind", **({"mapping": mapping} if by == "mapping" else {})}
    )
    partner = {"partner": {"allOf": [{"$ref": f"{ref}Animal"}], "description": "of any kind"}}
    schemas = zoo(keyword, ref, {}, "Cat", "Dog") | {"Stone": {"type": "object"}}
    schemas["Dog"]["properties"] |= partner
    schema = {"$ref": f"{ref}Animal"}
    if by == "swagger":
        listed = [{"name": "body", "in": "body", "required": True, "schema": schema}]
        document = operation("post", parameters=listed) | {"swagger": "2.0", "definitions": schemas}
        del document["openapi"]
    else:
        document = operation(
            "post", requestBody={"required": True, "content": {"application/json": {"schema": schema}}}
        )
        document["components"] = {"schemas": schemas}
    made = await api(document)
    card = cards.describe(made.functions["op"], made.compiled.definitions.get, module="api")
    assert "body: Cat | Dog | Animal" in card
    assert "partner: Cat | Dog | Animal  # of any kind" in card
    first, second = ("cat", "dog") if by == "mapping" else ("Cat", "Dog")
    kinds = [line.strip() for line in card.splitlines() if line.strip().startswith("kind:")]
    assert kinds == [
        f'kind: Required[Literal["{first}"]]',
        f'kind: Required[Literal["{second}"]]',
        "kind: Required[str]",
    ]
    assert made.compiled.definitions["Cat"]["allOf"] == [{"$ref": "#/$defs/Animal"}]
    assert set(made.compiled.definitions) == {"AnyAnimal", "Animal", "Cat", "Dog", routes.NAME}


async def test_openapi_variants_of_variants_and_circles(api, operation):
    """Variants of a variant count as well; schemas that extend each other in a circle end; too many are not listed."""
    ref = "#/components/schemas/"
    body = {"required": True, "content": {"application/json": {"schema": {"$ref": f"{ref}Animal"}}}}

    async def listed(schemas):
        made = await api(operation("post", requestBody=body) | {"components": {"schemas": schemas}})
        name = made.functions["op"].parameters["properties"]["body"]["$ref"].removeprefix("#/$defs/")
        return [one["$ref"].removeprefix("#/$defs/") for one in made.compiled.definitions[name].get("anyOf", ())] or [
            name
        ]

    keyword = {"propertyName": "kind"}
    schemas = zoo(keyword, ref, {}, "Cat", "Dog")
    schemas["Lion"] = {"allOf": [{"$ref": f"{ref}Cat"}], "x-ms-discriminator-value": "leo"}
    schemas["Cat"]["discriminator"] = keyword
    assert await listed(schemas) == ["Cat", "Dog", "Lion", "Animal"]
    schemas["Animal"]["allOf"] = [{"$ref": f"{ref}Lion"}]
    assert await listed(schemas) == ["Cat", "Dog", "Lion", "Animal"]
    schemas = zoo({"propertyName": "kind", "mapping": {"a": f"{ref}Animal", "b": "Nobody", "c": 7}}, ref, {})
    assert await listed(schemas) == ["Animal"]
    assert await listed(zoo(keyword, ref, {}, *(f"Cat{n}" for n in range(51)))) == ["Animal"]
    assert len(await listed(zoo(keyword, ref, {}, *(f"Cat{n}" for n in range(50))))) == 51
    assert await listed(zoo({"propertyName": ["kind"], "mapping": []}, ref, {}, "Cat")) == ["Animal"]


async def test_openapi_variants_cost_once(api, operation):
    """However often a schema is asked for, what may stand for it is listed once."""
    ref = "#/components/schemas/"
    schemas = zoo({"propertyName": "kind"}, ref, {}, *(f"Cat{n}" for n in range(50)))
    schemas["Herd"] = {"type": "object", "properties": {f"p{n}": {"$ref": f"{ref}Animal"} for n in range(1000)}}
    body = {
        "required": True,
        "content": {"application/json": {"schema": {"type": "array", "items": {"$ref": f"{ref}Herd"}}}},
    }
    made = await api(operation("post", requestBody=body) | {"components": {"schemas": schemas}})
    assert len(json.dumps(made.compiled.definitions)) < 2 * len(json.dumps(schemas))


@pytest.mark.slow
async def test_openapi_chains_of_variants_end(api, operation):
    """Many chains of schemas, each with the next one as its variant, do not become as many long lists of them."""
    places = [(chain, n) for chain in range(40) for n in range(45)]
    schemas = {
        f"A{c}.{n}": {"discriminator": {"propertyName": "k", "mapping": {"x": f"A{c}.{n + 1}"}}} for c, n in places
    }
    listed = [{"name": name, "in": "query", "schema": {"$ref": f"#/components/schemas/{name}"}} for name in schemas]
    made = await api(operation(parameters=listed) | {"components": {"schemas": schemas}})
    lists = [schema["anyOf"] for schema in made.compiled.definitions.values() if "anyOf" in schema]
    assert len(lists[0]) == 45
    assert sum(len(each) - 1 for each in lists) <= variants.MAX_VARIANTS_OF_DOCUMENT


async def test_openapi_open_enumerations_refuse_nothing(api, operation):
    """Values that a document only calls known (Azure's `modelAsString`, Zalando's `x-extensible-enum`) are shown;
    others may be given."""
    azure = {"type": "string", "enum": ["S", "M"], "x-ms-enum": {"name": "Size", "modelAsString": True}}
    schemas = {
        "azure": azure,
        "fixed": {**azure, "x-ms-enum": {"name": "Size", "modelAsString": False}},
        "zalando": {"type": "string", "x-extensible-enum": ["S"]},
        "nullable": {**azure, "nullable": True},
        "odd": {"type": "string", "x-extensible-enum": "S", "x-ms-enum": []},
    }
    made = await api(
        operation(parameters=[{"name": name, "in": "query", "schema": schema} for name, schema in schemas.items()])
    )
    card = cards.describe(made.functions["op"], made.compiled.definitions.get, module="api")
    for line in (
        'azure: str = ...,  # "S", "M"',
        'fixed: Literal["S", "M"] = ...,',
        'zalando: str = ...,  # "S"',
        'nullable: str | None = ...,  # "S", "M"',
        "odd: str = ...,",
    ):
        assert f"    {line}" in card
    made = await api(operation(parameters=[{"name": "q", "in": "query", "schema": azure}]))
    checked = jsonschema_rs.validator_for(made.functions["op"].parameters)
    assert [checked.is_valid({"q": value}) for value in ("S", "XXL", 7)] == [True, True, False]


@pytest.mark.slow
async def test_openapi_thousands_of_warnings_are_few(api, document):
    """Warnings that say the same are a few and their number; where calls go comes first."""
    broken = {
        f"/{i}": {"post": {"operationId": "same", "requestBody": {"content": {"application/json": {"schema": {}}}}}}
        for i in range(900)
    }
    for i, item in enumerate(broken.values()):
        item["post"]["requestBody"]["content"]["application/json"]["schema"] = {"$ref": f"#/components/schemas/None{i}"}
    made = await api(document(broken), base_url=None)
    warnings = made.compiled.warnings
    assert "base_url" in warnings[0]
    assert len(warnings) < 15
    assert "… and 895 more: a schema is unknown: … leads nowhere" in warnings
    assert [w for w in warnings if w.startswith("… and 894 more: operationId … stands there twice")]


async def test_openapi_32_sequences_are_lists(api, operation):
    """OpenAPI 3.2: the answer of a sequential media type is a list of what `itemSchema` says; before 3.2, of
    anything."""
    item = {"type": "object", "properties": {"n": {"type": "integer"}}}
    for media in ("application/jsonl", "application/x-ndjson", "text/event-stream", "application/json-seq"):
        made = await api(operation(responses={"200": {"content": {media: {"itemSchema": item}}}}))
        assert made.functions["op"].returns == {"type": "array", "items": item}
        made = await api(operation(responses={"200": {"content": {media: {"schema": {"type": "string"}}}}}))
        assert made.functions["op"].returns == {"type": "array"}


async def test_openapi_32_tags_have_parents(api, operation):
    """OpenAPI 3.2: a function has the tags above its own, whatever circle they stand in."""
    tags = [
        {"name": "cats", "parent": "pets"},
        {"name": "pets", "parent": "animals"},
        {"name": "animals", "parent": "cats"},
        7,
    ]
    made = await api({**operation(tags=["cats", "x"]), "tags": tags})
    assert made.functions["op"].tags == ("cats", "x", "pets", "animals")


async def test_openapi_32_self(api, operation):
    """OpenAPI 3.2: references to what the document calls itself lead into it; to other addresses they lead nowhere."""
    schema = {"$ref": "https://example.com/api#/components/schemas/A"}
    document = operation(parameters=[{"name": "q", "in": "query", "schema": schema}])
    document |= {"$self": "https://example.com/api", "components": {"schemas": {"A": {"type": "integer"}}}}
    made = await api(document)
    assert made.compiled.definitions["A"] == {"type": "integer"}
    del document["$self"]
    assert [s.where for s in (await api(document)).compiled.skipped] == ["GET /x"]


async def test_openapi_what_is_no_function_does_no_harm(api, operation):
    """Webhooks, callbacks, links, security flows and extensions, of whatever form, make no function and cost none."""
    odd = {
        "x-paths": 7,
        "webhooks": {"new": {"post": {"operationId": "hook"}}, "bad": 7},
        "x-webhooks": [],
        "security": "yes",
    }
    flows = {
        "deviceAuthorization": {"deviceAuthorizationUrl": "https://a.test", "tokenUrl": "https://a.test", "scopes": {}}
    }
    components = {
        "securitySchemes": {"o": {"type": "oauth2", "flows": flows}, "b": 1},
        "callbacks": [],
        "links": 1,
        "x-y": {},
    }
    callbacks = {"on": {"{$request.body#/url}": {"post": {"operationId": "called"}}}, "x": 1}
    document = operation(callbacks=callbacks, security=[7], **{"x-codeSamples": {"$ref": "file:///etc/passwd"}})
    document["paths"] |= {"x-hidden": {"get": {"operationId": "hidden"}}}
    made = await api({**document, **odd, "components": components})
    assert list(made.functions) == ["op"]
    assert made.compiled.skipped == []
    assert made.compiled.warnings == []


async def test_openapi_a_parameter_without_a_name_is_left_out(api, operation):
    """A nameless parameter that may be left out is; one that is required costs the operation."""
    nameless = {"name": "", "in": "query", "schema": {}}
    assert list((await api(operation(parameters=[nameless]))).functions) == ["op"]
    assert (await api(operation(parameters=[{**nameless, "required": True}]))).compiled.skipped


@pytest.mark.filterwarnings("error")
async def test_openapi_odd_patterns_are_quiet(api, operation):
    """A pattern that Python may read otherwise one day writes nothing to the terminal."""
    made = await api(
        operation(parameters=[{"name": "q", "in": "query", "schema": {"type": "string", "pattern": "[[a]--b||c]"}}])
    )
    assert made.functions["op"].parameters["properties"]["q"]["pattern"]


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
        "openapi: 3.0.0\nx: &base {summary: base, tags: [t]}\npaths:\n  /x:\n    get:\n      <<: *base\n      "
        "summary: own\n",
        name="openapi.yaml",
    )
    assert [(f.summary, f.tags) for f in made.compiled.functions] == [("own", ("t",))]


TRAPS = """\
openapi: 3.0.0
info: {title: t, version: 2024-01-31}
paths:
  /x:
    get:
      operationId: op
      parameters:
        - {name: on, in: query, schema: {type: string, enum: [on, off, yes, no, y, n]}}
        - {name: date, in: query, schema: {type: string, default: 2024-01-31, enum: [2024-01-31]}}
        - {name: time, in: query, schema: {type: string, enum: [1:30:00, 12:30]}}
        - {name: octal, in: query, schema: {type: string, pattern: "^0", enum: ["010"]}}
        - {name: number, in: query, schema: {type: integer, minimum: 010, maximum: 0x1F}}
        - {name: nothing, in: query, schema: {type: string, description: ~}}
        - {name: sign, in: query, schema: {type: string, enum: [=, <, "<<"]}}
      responses:
        200: {content: {application/json: {schema: {type: object, properties: {on: {}, 1: {type: integer}, null: {type: string}}}}}}
        200: {content: {application/json: {schema: {type: array}}}}
"""


async def test_openapi_yaml_1_1_traps(api):
    """CONTRACT: SRC-03 `on`, `yes`, dates, times and octals are what YAML 1.2 says: text, and decimal numbers; the last
    of two equal keys counts, as in JSON."""
    made = await api(TRAPS, name="openapi.yaml")
    schemas = made.functions["op"].parameters["properties"]
    assert schemas["on"]["enum"] == ["on", "off", "yes", "no", "y", "n"]
    assert schemas["date"] == {"type": "string", "default": "2024-01-31", "enum": ["2024-01-31"]}
    assert schemas["time"]["enum"] == ["1:30:00", "12:30"]
    assert schemas["octal"]["enum"] == ["010"]
    assert (schemas["number"]["minimum"], schemas["number"]["maximum"]) == (10, 31)
    assert schemas["sign"]["enum"] == ["=", "<", "<<"]
    assert made.functions["op"].returns == {"type": "array"}


async def test_openapi_yaml_keys_are_text(api):
    """Keys that YAML reads as numbers, flags or nothing are the text that stands there."""
    text = TRAPS.replace("        200: {content: {application/json: {schema: {type: array}}}}\n", "")
    returns = (await api(text, name="openapi.yaml")).functions["op"].returns
    assert list(returns["properties"]) == ["on", "1", "null"]


async def test_openapi_equal_parameters_stay_apart(api, document):
    """Parameters that differ only in the type of a value (1, true, 1.0) or in a nested one are not taken for each
    other."""
    schemas = [
        {"type": "number", "default": 1},
        {"type": "number", "default": True},
        {"type": "number", "default": 1.0},
    ]
    paths = {
        f"/{i}": {"get": {"parameters": [{"name": "q", "in": "query", "schema": s}]}}
        for i, s in enumerate([*schemas, schemas[0]])
    }
    made = await api(document(paths))
    found = [f.parameters["properties"]["q"]["default"] for f in made.compiled.functions]
    assert [(type(v), v) for v in found] == [(int, 1), (bool, True), (float, 1.0), (int, 1)]


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
async def test_openapi_yaml_line_breaks(api, newline):
    """YAML with the line breaks of any system."""
    made = await api(
        "openapi: 3.0.0\npaths:\n  /x:\n    get:\n      operationId: op\n".replace("\n", newline), name="openapi.yaml"
    )
    assert list(made.functions) == ["op"]


@pytest.mark.parametrize(
    ("version", "known"),
    [
        *((("openapi", v), True) for v in ("3.0.0", "3.0.4", "3.1.1", "3.2.0", "3.1.0-rc0", 3.0)),
        *((("swagger", v), True) for v in ("2.0", 2.0, 2)),
        *((pair, False) for pair in (("openapi", "4.0.0"), ("openapi", "3.9.0"), ("swagger", "1.2"))),
    ],
)
async def test_openapi_an_unknown_version_is_told(api, version, known):
    """A document of a version that is not known is read as far as it goes, and the operator is told."""
    key, value = version
    made = await api(
        {key: value, "info": {"title": "t", "version": "1"}, "paths": {"/a": {"get": {"operationId": "a"}}}}
    )
    assert list(made.functions) == ["a"]
    assert any("is not known" in warning for warning in made.compiled.warnings) is not known


async def test_openapi_descriptions_are_kept_to_their_end(api, operation):
    """What a field must be stands at the end of what is said of it, too; a hostile document has no more than that."""
    about = "MUST be added. " + "It says what is done with all that is there. " * 15 + "One of REPLACE, DELETE."
    fields = {"kind": {"type": "string", "description": about}, "odd": {"type": "string", "description": "x" * 10**6}}
    body = {"content": {"application/json": {"schema": {"type": "object", "properties": fields}}}}
    parameter = {"name": "kind2", "in": "query", "description": about, "schema": {"type": "string"}}
    found = (
        (await api(operation("post", requestBody=body, parameters=[parameter])))
        .functions["op"]
        .parameters["properties"]
    )
    assert found["kind"]["description"] == found["kind2"]["description"] == about
    assert len(found["odd"]["description"]) == 1000
