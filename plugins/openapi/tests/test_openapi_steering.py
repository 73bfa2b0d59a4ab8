"""What says of a request which it is, whose, or where it goes is no program's to give."""

from __future__ import annotations

import tracemalloc

import pytest
from doorward import InvalidArguments
from doorward_openapi.wire import steering

pytestmark = pytest.mark.anyio

HEADERS = [
    *(
        "X-HTTP-Method-Override",
        "X-HTTP-Method",
        "X-Method-Override",
        "x_http_method_override",
        "X.HTTP.Method.Override",
    ),
    *(
        "X-Original-URL",
        "X-Rewrite-URL",
        "X-Original-Method",
        "X_Original_URI",
        "X-Forwarded-For",
        "X-Forwarded-Host",
        "X-Forwarded-Prefix",
    ),
    *(
        "X-Forwarded",
        "Forwarded",
        "X-Real-IP",
        "X_Real_IP",
        "True-Client-IP",
        "CF-Connecting-IP",
        "X-Host",
        "Via",
        "X-Middleware-Subrequest",
    ),
    *(
        "Host",
        "Connection",
        "Keep-Alive",
        "Upgrade",
        "TE",
        "Trailer",
        "Transfer-Encoding",
        "Content-Length",
        "Proxy-Authorization",
        "Expect",
    ),
    *(
        "Cookie",
        "Remote-User",
        "X-Remote-User",
        "X-Proxy-User",
        "HTTP2-Settings",
        "X-Accel-Redirect",
        "X-Auth-Request-User",
    ),
]


def parameter(name, where="header", **schema):
    return {"name": name, "in": where, "schema": {"type": "string", **schema}}


@pytest.mark.slow
@pytest.mark.parametrize("name", HEADERS)
@pytest.mark.parametrize(
    ("required", "schema"), [(False, {}), (True, {"enum": ["DELETE"]}), (True, {"const": "/admin"})]
)
async def test_openapi_headers_that_steer_are_not_offered(api, operation, upstream, name, required, schema):
    """A document that declares one cannot hand it to programs, however it writes it; the operator is told, and may set
    it."""
    made = await api(operation(parameters=[{**parameter(name, **schema), "required": required}, parameter("X-Own")]))
    assert list(made.functions["op"].parameters["properties"]) == ["x_own"]
    assert f"1 operation has the header {name!r}, which programs cannot give" in made.compiled.warnings[0]
    await made.call("op", x_own="a")
    assert upstream.header(name) in ([], upstream.header("Host"), upstream.header("Connection"))
    made = await api(operation(parameters=[parameter(name)]), headers={"X-Own": "1"})
    assert not made.functions["op"].parameters["properties"]


async def test_openapi_the_operator_sets_what_a_program_may_not(api, operation, upstream):
    """A header that the operator configures is sent as it is, and no other spelling of it is a program's."""
    declared = [parameter("X-Forwarded-For"), parameter("X_Tenant"), parameter("x.tenant")]
    made = await api(operation(parameters=declared), headers={"X-Forwarded-For": "10.0.0.1", "X-Tenant": "mine"})
    assert not made.functions["op"].parameters["properties"]
    assert made.compiled.warnings == []
    await made.call("op")
    assert (upstream.header("X-Forwarded-For"), upstream.header("X-Tenant")) == (["10.0.0.1"], ["mine"])


@pytest.mark.parametrize(
    "name", ["_method", "_METHOD", "_HttpMethod", "X-HTTP-Method-Override", ".method", " _method", "[method"]
)
@pytest.mark.parametrize("method", ["get", "post"])
async def test_openapi_fields_that_are_methods_are_not_offered(api, operation, name, method):
    """`_method` in a query or a form makes another request of it in many frameworks."""
    form = {"type": "object", "properties": {name: {"type": "string"}, "a": {"type": "string"}}}
    for media in ("application/x-www-form-urlencoded", "multipart/form-data", "application/json"):
        body = {"requestBody": {"content": {media: {"schema": form}}}} if method == "post" else {}
        made = await api(operation(method, parameters=[parameter(name, "query"), parameter("b", "query")], **body))
        assert set(made.functions["op"].parameters["properties"]) == ({"a", "b"} if body else {"b"})
        assert any(f"the query {name!r}" in warning for warning in made.compiled.warnings)


async def test_openapi_a_method_without_choice_is_the_documents_word(api, operation, upstream):
    """Laravel's documents say `_method: PUT` where a file is sent by POST: that is no program's choice. Of a GET it
    never is one."""
    form = {"type": "object", "required": ["_method"], "properties": {"_method": {"type": "string", "enum": ["PUT"]}}}
    body = {"requestBody": {"content": {"application/x-www-form-urlencoded": {"schema": form}}}}
    made = await api(operation("post", **body))
    (argument,) = made.functions["op"].parameters["properties"]
    await made.call("op", **{argument: "PUT"})
    assert upstream.seen[-1]["body"] == "_method=PUT"
    made = await api(operation(parameters=[parameter("_method", "query", enum=["DELETE"])]))
    assert not made.functions["op"].parameters["properties"]


OBJECT = {"type": "object", "additionalProperties": True}


def media(kind, schema=OBJECT):
    return {"requestBody": {"required": True, "content": {kind: {"schema": schema}}}}


@pytest.mark.parametrize(
    ("declared", "arguments"),
    [
        ({"parameters": [{"name": "q", "in": "query", "schema": OBJECT}]}, {"q": {"_method": "DELETE"}}),
        ({"parameters": [{"name": "q", "in": "query", "schema": OBJECT}]}, {"q": {".METHOD": "DELETE"}}),
        (
            {"parameters": [{"name": "q", "in": "querystring", "content": {"application/x-www-form-urlencoded": {}}}]},
            {"q": {"_method": "PUT"}},
        ),
        (
            {"parameters": [{"name": "q", "in": "querystring", "content": {"application/x-www-form-urlencoded": {}}}]},
            {"q": "a=1&%5Fmethod=PUT"},
        ),
        (media("application/x-www-form-urlencoded"), {"body": {"_method": "DELETE"}}),
        (media("application/x-www-form-urlencoded", {}), {"body": "a=1&_method=DELETE"}),
        (media("application/x-www-form-urlencoded", {}), {"body": b"_method=DELETE"}),
        (
            media("application/x-www-form-urlencoded", {"type": "object", "properties": {"o": OBJECT}}),
            {"o": {"_method": "DELETE"}},
        ),
        (media("multipart/form-data"), {"body": {"_method": "DELETE"}}),
        (media("application/json"), {"body": {"_method": "DELETE"}}),
    ],
)
async def test_openapi_no_object_brings_a_method(api, operation, upstream, declared, arguments):
    """A free object whose members become the names of a query or a form cannot bring `_method` either."""
    made = await api(operation("post", **declared))
    with pytest.raises(InvalidArguments, match="method of the request"):
        await made.call("op", **arguments)
    assert upstream.seen == []


def test_openapi_names_that_programs_choose_are_not_kept():
    """However many and long ones are asked about: the memory of a gateway is all its clients'."""
    tracemalloc.start()
    try:
        for number in range(50):
            steering.check([f"{number}{'x' * 1_000_000}"])
            with pytest.raises(InvalidArguments):
                steering.check([f" _METHOD \0{number}{'x' * 1_000_000}"])
        assert tracemalloc.get_traced_memory()[0] < 5_000_000
    finally:
        tracemalloc.stop()


AMOUNT = {"name": "amount", "in": "query", "schema": {"type": "integer"}}
SPREAD = {"name": "filter", "in": "query", "schema": OBJECT}
FORM = {"type": "object", "properties": {"amount": {"type": "integer"}, "filter": OBJECT}}
SESSION = [{"name": "sid", "in": "cookie", "schema": {}}, {"name": "filter", "in": "cookie", "schema": OBJECT}]


@pytest.mark.parametrize(
    ("declared", "members"),
    [
        ({"parameters": [AMOUNT, SPREAD]}, {"amount": 5000}),
        ({"parameters": [AMOUNT, SPREAD]}, {"x": 1, "Amount[]": [5000]}),
        ({"parameters": [AMOUNT, {**SPREAD, "schema": {}}]}, {"amount ": 5000}),
        ({"parameters": SESSION}, {"sid": "x"}),
        (media("application/x-www-form-urlencoded", FORM), {"amount": 5000}),
    ],
)
async def test_openapi_no_object_gives_another_argument(api, operation, upstream, declared, members):
    """Its members are sent as if they were parameters: a rule that looks at `args.amount` would not see this one."""
    made = await api(operation("post", **declared))
    before = len(upstream.seen)
    with pytest.raises(InvalidArguments, match="would be sent as the argument"):
        await made.call("op", filter=members)
    assert len(upstream.seen) == before
    await made.call("op", filter={"other": 1})


async def test_openapi_an_object_within_a_parameter_is_apart(api, operation, upstream):
    """Its members have a name of their own, or are no names at all."""
    deep = {**SPREAD, "style": "deepObject", "explode": True}
    for parameter in (deep, {**SPREAD, "explode": False}):
        made = await api(operation(parameters=[AMOUNT, parameter]))
        await made.call("op", amount=1, filter={"amount": 5})
