"""The "Style Examples" of OpenAPI 3.0.4, 3.1.1 and 3.2 and what else the specifications say of writing values, as
vectors."""

from __future__ import annotations

import pytest
from doorward import InvalidArguments
from doorward_openapi.calls import request
from doorward_openapi.operations.swagger2 import upgraded_parameter
from doorward_openapi.wire import styles

COLORS = ["blue", "black", "brown"]
RGB = {"R": 100, "G": 200, "B": 150}

TABLE = [
    # style, explode, where; empty text, "blue", array, object. None: n/a, for which the specification wants nothing.
    ("matrix", False, "path", ";color", ";color=blue", ";color=blue,black,brown", ";color=R,100,G,200,B,150"),
    ("matrix", True, "path", ";color", ";color=blue", ";color=blue;color=black;color=brown", ";R=100;G=200;B=150"),
    ("label", False, "path", ".", ".blue", ".blue,black,brown", ".R,100,G,200,B,150"),
    ("label", True, "path", ".", ".blue", ".blue.black.brown", ".R=100.G=200.B=150"),
    ("simple", False, "path", "", "blue", "blue,black,brown", "R,100,G,200,B,150"),
    ("simple", True, "path", "", "blue", "blue,black,brown", "R=100,G=200,B=150"),
    ("simple", False, "header", "", "blue", "blue,black,brown", "R,100,G,200,B,150"),
    ("simple", True, "header", "", "blue", "blue,black,brown", "R=100,G=200,B=150"),
    ("form", False, "query", "color=", "color=blue", "color=blue,black,brown", "color=R,100,G,200,B,150"),
    ("form", True, "query", "color=", "color=blue", "color=blue&color=black&color=brown", "R=100&G=200&B=150"),
    ("spaceDelimited", False, "query", None, None, "color=blue%20black%20brown", "color=R%20100%20G%20200%20B%20150"),
    ("spaceDelimited", True, "query", None, None, None, None),
    ("pipeDelimited", False, "query", None, None, "color=blue%7Cblack%7Cbrown", "color=R%7C100%7CG%7C200%7CB%7C150"),
    ("pipeDelimited", True, "query", None, None, None, None),
    ("deepObject", False, "query", None, None, None, None),
    ("deepObject", True, "query", None, None, None, "color%5BR%5D=100&color%5BG%5D=200&color%5BB%5D=150"),
    ("cookie", False, "cookie", "color=", "color=blue", "color=blue,black,brown", "color=R,100,G,200,B,150"),
    ("cookie", True, "cookie", "color=", "color=blue", "color=blue; color=black; color=brown", "R=100; G=200; B=150"),
    # 3.x before 3.2 has `form` in cookies only; its `&` between exploded pairs is what 3.2 appendix D warns of.
    ("form", False, "cookie", "color=", "color=blue", "color=blue,black,brown", "color=R,100,G,200,B,150"),
    ("form", True, "cookie", "color=", "color=blue", "color=blue; color=black; color=brown", "R=100; G=200; B=150"),
]
CELLS = [
    pytest.param(
        version,
        style,
        explode,
        where,
        value,
        cell,
        id=f"{version}-{where}-{style}-{'explode' if explode else 'joined'}-{kind}",
    )
    for version in ("3.0.4", "3.1.1", "3.2.0")
    for style, explode, where, *cells in TABLE
    if style != "cookie" or version == "3.2.0"
    for kind, value, cell in zip(("empty", "string", "array", "object"), ("", "blue", COLORS, RGB), cells, strict=True)
    if cell is not None
]


def written(where, wire, value, name="color"):
    """The part of a request that a parameter becomes."""
    if where == "path":  # the empty value of a whole segment is refused there, so the style itself is asked
        return styles.in_path(name, value, wire)
    data = {"method": "GET", "path": "/x", "arguments": [{"arg": "color", "name": name, "in": where, **wire}]}
    made = request.build("https://h.test", data, {"color": value})
    if where == "query":
        return made.url.partition("?")[2]
    return made.headers.get(name if where == "header" else "Cookie", b"<none>").decode()


async def compiled(api, operation, where, parameter):
    path = "/x/{color}" if where == "path" else "/x"
    made = await api(
        operation(path=path, parameters=[{"name": "color", "in": where, "required": where == "path", **parameter}])
    )
    return made.functions["op"].data["arguments"][0]


@pytest.mark.slow
@pytest.mark.anyio
@pytest.mark.parametrize(("version", "style", "explode", "where", "value", "cell"), CELLS)
async def test_openapi_style_table(api, operation, version, style, explode, where, value, cell):
    """Every cell of the style tables, from the document to the wire."""
    document = operation(
        path="/x/{color}" if where == "path" else "/x",
        parameters=[
            {
                "name": "color",
                "in": where,
                "required": where == "path",
                "schema": {},
                "style": style,
                "explode": explode,
            }
        ],
    )
    made = await api({**document, "openapi": version})
    wire = made.functions["op"].data["arguments"][0]
    assert written(where, wire, value) == cell


@pytest.mark.parametrize("where", ["query", "header", "cookie"])
@pytest.mark.parametrize("explode", [True, False])
@pytest.mark.parametrize("value", [None, [], {}, [None], {"a": None}])
def test_openapi_undefined_is_left_out(where, explode, value):
    """Null, and what has no member that is not null, is what RFC 6570 calls undefined: nothing is sent."""
    assert written(where, {"explode": explode}, value) == ("" if where == "query" else "<none>")


@pytest.mark.parametrize("wire", [{}, {"style": "label"}, {"style": "matrix"}, {"style": "matrix", "explode": True}])
@pytest.mark.parametrize("value", [None, [], {}, [None], {"a": None}])
def test_openapi_path_without_a_value_is_refused(wire, value):
    """A path cannot leave its value out."""
    data = {"method": "GET", "path": "/x/{p}/y", "arguments": [{"arg": "p", "name": "p", "in": "path", **wire}]}
    with pytest.raises(InvalidArguments, match="must not be empty"):
        request.build("https://h.test", data, {"p": value})


@pytest.mark.parametrize("value", ["", ".", ["", ""]])
def test_openapi_label_cannot_climb(value):
    """A label that would be the segment `.` or `..` is refused."""
    data = {
        "method": "GET",
        "path": "/x/{p}/y",
        "arguments": [{"arg": "p", "name": "p", "in": "path", "style": "label", "explode": True}],
    }
    with pytest.raises(InvalidArguments, match="another function"):
        request.build("https://h.test", data, {"p": value})


@pytest.mark.anyio
async def test_openapi_allow_empty_value(api, operation):
    """`allowEmptyValue`: the empty text is valid whatever the schema is, and empty lists and objects are sent as it."""
    parameter = {
        "name": "q",
        "in": "query",
        "allowEmptyValue": True,
        "schema": {"type": "array", "items": {"type": "integer"}},
    }
    made = await api(operation(parameters=[parameter]))
    assert {"const": ""} in made.functions["op"].parameters["properties"]["q"]["anyOf"]
    assert [(await made.call("op", q=value))["path"] for value in ("", [], [1])] == ["/x?q=", "/x?q=", "/x?q=1"]


@pytest.mark.parametrize(
    ("where", "wire", "value", "cell"),
    [
        ("query", {}, True, "color=true"),
        ("query", {}, False, "color=false"),
        ("query", {}, 1.0, "color=1"),
        ("query", {}, 1.5, "color=1.5"),
        ("query", {}, -0.25, "color=-0.25"),
        ("query", {}, 2**70, "color=1180591620717411303424"),
        ("query", {}, 1e22, "color=1e%2B22"),
        ("query", {}, "ü€😀", "color=%C3%BC%E2%82%AC%F0%9F%98%80"),
        ("query", {}, ":/?#[]@!$&'()*+,;=", "color=%3A%2F%3F%23%5B%5D%40%21%24%26%27%28%29%2A%2B%2C%3B%3D"),
        ("query", {}, "-._~ %", "color=-._~%20%25"),
        ("query", {"explode": True}, ["", None, "b"], "color=&color=b"),
        ("query", {"explode": True}, {"a": "", "b": None, "c": [1, {"d": 2}]}, "a=&c=%5B1%2C%7B%22d%22%3A2%7D%5D"),
        ("query", {}, ["a,b", "c d"], "color=a%2Cb,c%20d"),
        ("query", {"style": "pipeDelimited"}, ["a|b", "c"], "color=a%7Cb%7Cc"),
        ("query", {"style": "tabDelimited"}, ["a", "b"], "color=a%09b"),
        ("query", {"reserved": True}, ":/?#[]@!$&'()*+,;= é", "color=:/?%23%5B%5D@!$%26'()*%2B,;=%20%C3%A9"),
        ("query", {"reserved": True}, "50% %2F %zz", "color=50%25%20%2F%20%25zz"),
        ("query", {"reserved": True, "explode": True}, {"a=b&c": "d=e&f"}, "a%3Db%26c=d=e%26f"),
        ("path", {"reserved": True}, "a/b?c#d:e@f;g=h", "a%2Fb%3Fc%23d:e@f;g=h"),
        ("path", {}, "a/b;c=d,e", "a%2Fb%3Bc%3Dd%2Ce"),
        ("path", {"style": "matrix", "explode": True}, ["", "a"], ";color;color=a"),
        ("path", {"style": "matrix", "explode": True}, {"a": "", "b": 1}, ";a;b=1"),
        ("path", {"json": True}, {"a": [1]}, "%7B%22a%22%3A%5B1%5D%7D"),
        ("query", {"json": True}, {"a": [1, None]}, "color=%7B%22a%22%3A%5B1%2Cnull%5D%7D"),
        ("query", {"json": True}, [], "color=%5B%5D"),
        ("query", {"text": True}, "a b", "color=a%20b"),
        ("header", {"json": True}, {"a": "ü"}, '{"a":"\\u00fc"}'),
        ("header", {}, [1, None, True], "1,true"),
        ("cookie", {"json": True}, {"a": 1}, "color=%7B%22a%22%3A1%7D"),
        ("cookie", {}, "a; b=c", "color=a%3B%20b%3Dc"),
        ("cookie", {"reserved": True}, "a/b;c", "color=a/b%3Bc"),
        ("cookie", {"style": "cookie"}, "dark blue", "color=dark blue"),
        # Nesting and lists in deepObject, as Stripe's clients write them (`arrayFormat: 'indices'`).
        ("query", {"style": "deepObject"}, {"a": {"b": 1, "c": [True, {"d": "x"}]}, "e": None},
         "color%5Ba%5D%5Bb%5D=1&color%5Ba%5D%5Bc%5D%5B0%5D=true&color%5Ba%5D%5Bc%5D%5B1%5D%5Bd%5D=x"),
        ("query", {"style": "deepObject"}, ["a", "b"], "color%5B0%5D=a&color%5B1%5D=b"),
        ("query", {"style": "deepObject"}, "plain", "color=plain"),
        ("query", {"style": "deepObject"}, {"]&": "="}, "color%5B%5D%26%5D=%3D"),
    ],
)  # fmt: skip
def test_openapi_written_values(where, wire, value, cell):
    """What the tables leave open: types, encoding, reserved characters, JSON, nesting."""
    assert written(where, wire, value) == cell


@pytest.mark.anyio
@pytest.mark.parametrize("media", ["application/json", "application/vnd.x+json", "text/plain"])
@pytest.mark.parametrize(
    ("where", "told"), [("query", "color={}"), ("header", "{}"), ("path", "{}"), ("cookie", "color={}")]
)
async def test_openapi_content_parameters(api, operation, where, told, media):
    """A parameter with `content` is written as its media type says, whatever the location."""
    wire = await compiled(api, operation, where, {"content": {media: {"schema": {}}}})
    assert written(where, wire, "a") == told.format(
        "a" if media == "text/plain" else '"a"' if where == "header" else "%22a%22"
    )


COLLECTIONS = {"csv": "1,2", "ssv": "1{0}2", "tsv": "1{1}2", "pipes": "1{2}2", None: "1,2"}


@pytest.mark.parametrize("form", [*COLLECTIONS, "multi"])
@pytest.mark.parametrize("where", ["query", "path", "header", "formData"])
@pytest.mark.anyio
async def test_openapi_collection_format(api, form, where):
    """Swagger 2.0 `collectionFormat` in every location; `multi` is for queries and forms, csv elsewhere and by
    default."""
    parameter = {"name": "v", "in": where, "required": True, "type": "array", "items": {"type": "integer"}}
    path = "/x/{v}" if where == "path" else "/x"
    made = await api({"swagger": "2.0", "paths": {path: {"post": {"operationId": "op", "parameters": [
        {**parameter, **({"collectionFormat": form} if form else {})}]}}}})  # fmt: skip
    told = await made.call("op", v=[1, 2])
    found = {
        "query": told["path"].partition("?")[2],
        "path": told["path"].removeprefix("/x/"),
        "header": dict(told["headers"]).get("v"),
        "formData": told["body"],
    }[where]
    named = "" if where in ("path", "header") else "v="
    if form == "multi":
        assert found == ("v=1&v=2" if named else "1,2")
    else:
        delimiters = (" ", "\t", "|") if where == "header" else ("%20", "%09", "%7C")
        assert found == named + COLLECTIONS[form].format(*delimiters)


def test_openapi_collections_have_styles():
    """`collectionFormat` of a scalar means nothing."""
    assert "style" not in upgraded_parameter(
        {"name": "a", "in": "query", "type": "string", "collectionFormat": "pipes"}
    )
