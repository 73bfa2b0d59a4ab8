"""Paths: what a program gives for a variable stays in its place, however servers decode it."""

from __future__ import annotations

from urllib.parse import unquote

import httpx2
import pytest
from doorward import InvalidArguments
from doorward_openapi.calls import request
from doorward_openapi.wire import paths
from hypothesis import given
from hypothesis import strategies as st

pytestmark = pytest.mark.anyio

AWAY = [
    *("", ".", "..", "...", None, [], [""], "/", "\\", "//"),
    *(
        "../admin/keys",
        "a/../../admin",
        "a/..",
        "./a",
        "..\\admin",
        "a\\..\\..\\admin",
        "..;/admin",
        "..;x=1/admin",
        "..;",
    ),
    *(
        "%2e",
        "%2e%2e/admin",
        "..%2fadmin",
        "%252e%252e%252fadmin",
        ".. /admin",
        "..\x00/admin",
        ".\t./admin",
        "a/ .. /b",
    ),
    *(
        "\uff0e\uff0e\uff0fadmin",
        "\u2025/admin",
        "..\uff0fadmin",
        ["..", "x"][:1],
        ["../admin", "x"],
        {"..": "/../admin"},
    ),
]


def path(parameter, template="/users/{id}/keys"):
    return {"path": template, "parameters": [{"name": "id", "in": "path", "required": True, "schema": {}, **parameter}]}


@pytest.mark.parametrize("value", AWAY, ids=repr)
async def test_openapi_path_values_cannot_leave_their_place(api, operation, upstream, value):
    """A value that has a part `.` or `..` for any server that decodes it, or none at all, is refused before anything is
    sent."""
    made = await api(operation(**path({})))
    with pytest.raises(InvalidArguments):
        await made.call("op", id=value)
    assert upstream.seen == []


@pytest.mark.slow
@pytest.mark.parametrize("style", ["simple", "label", "matrix"])
@pytest.mark.parametrize("explode", [False, True])
@pytest.mark.parametrize("reserved", [False, True])
@pytest.mark.parametrize(
    "value",
    [
        "x/../../admin",
        "x\\..\\..\\admin",
        "x/%2e%2E/admin",
        ["x", "y/../../admin"],
        {"x/..": "/../admin"},
        {"a": "x/../.."},
    ],
    ids=repr,
)
async def test_openapi_no_style_lets_a_value_leave_its_place(api, operation, upstream, style, explode, reserved, value):
    """Lists, objects, prefixes and reserved characters make no difference."""
    made = await api(operation(**path({"style": style, "explode": explode, "allowReserved": reserved})))
    with pytest.raises(InvalidArguments, match="another function"):
        await made.call("op", id=value)
    assert upstream.seen == []


@pytest.mark.parametrize(
    ("template", "values"),
    [
        ("/x/{a}{b}/y", {"a": ".", "b": "."}),
        ("/x/.{a}/y", {"a": "."}),
        ("/x/{a}.{b}/y", {"a": "z/.", "b": "/y"}),
        ("/x/{a}.{b}", {"a": ".", "b": ";"}),
        ("/x/{a}{b}/y", {"a": "%2", "b": "e%2e"}),
        ("/x/%2e{a}/y", {"a": "."}),
        ("/x/{a}/y?of={a}", {"a": "../z"}),
    ],
)
async def test_openapi_values_cannot_leave_their_place_together(api, operation, upstream, template, values):
    """What several values and the template make together is judged, not each value alone."""
    made = await api(operation(path=template))
    with pytest.raises(InvalidArguments, match="another function"):
        await made.call("op", **values)
    assert upstream.seen == []


@pytest.mark.parametrize(
    "value",
    [
        "main...topic",
        "v1.0..v2",
        ".env",
        "a/b",
        "a b",
        "1.2.3",
        "..a",
        "a..",
        "x;..y",
        "100%",
        "docs/.well-known",
        "…a",
    ],
)
async def test_openapi_plain_path_values_are_sent(api, operation, upstream, value):
    """Dots within parts, and slashes, are data."""
    made = await api(operation(path="/files/{id}"))
    await made.call("op", id=value)
    assert unquote(upstream.seen[-1]["path"]) == f"/files/{value}"


@pytest.mark.parametrize(
    "template",
    [
        "/users/../admin",
        "/users/%2e%2E/admin",
        "/users/..%2Fadmin",
        "/a/..;/b",
        "/a/./b",
        "/..",
        "/a\\..\\b",
        "/{a}/../b",
        "/..#x",
    ],
)
async def test_openapi_templates_cannot_leave_their_place(api, document, template):
    """A document whose path pretends to be below another one is not believed: `include` and `exclude` go by routes."""
    made = await api(document({template: {"get": {"operationId": "op"}}, "/ok": {"get": {"operationId": "ok"}}}))
    assert list(made.functions) == ["ok"]
    assert "`.` or `..`" in made.compiled.skipped[0].why


async def test_openapi_queries_of_paths_take_no_more_parameters(api, operation, upstream):
    """A variable in the fixed query of a path is one value, reserved or not."""
    made = await api(operation(**path({"allowReserved": True}, "/x?action={id}")))
    await made.call("op", id="list&admin=1;all#+")
    assert upstream.seen[-1]["path"] == "/x?action=list%26admin%3D1%3Ball%23%2B"


@pytest.mark.slow
@given(st.text(min_size=1).filter(lambda t: not any("\ud800" <= c <= "\udfff" for c in t)))
def test_openapi_path_round_trip(value):
    """Property: whatever text a path value is, it is refused, or is one segment and decodes to itself."""
    data = {"method": "GET", "path": "/a/{p}/b", "arguments": [{"arg": "p", "name": "p", "in": "path"}]}
    try:
        url = httpx2.URL(request.build("https://h.test/base", data, {"p": value}).url)
    except InvalidArguments:
        assert not value.strip("/\\") or paths.leads_away(value)
        return
    segments = url.raw_path.decode().split("/")
    assert url.host == "h.test"
    assert (segments[:3], len(segments), segments[4]) == (["", "base", "a"], 5, "b")
    assert unquote(segments[3]) == value


@pytest.mark.slow
@given(
    st.lists(
        st.sampled_from(["a", ".", "..", "/", "\\", "%2e", "%2F", "%5c", "%25", ";", " ", "\t", "\uff0e", "\x00", "x"]),
        min_size=1,
        max_size=8,
    )
)
def test_openapi_no_value_leads_away(parts):
    """Property: what is sent, decoded once or twice and made plain as a server does, is below the place of the
    variable."""
    data = {"method": "GET", "path": "/a/{p}", "arguments": [{"arg": "p", "name": "p", "in": "path"}]}
    try:
        sent = request.build("https://h.test", data, {"p": "".join(parts)}).url.removeprefix("https://h.test")
    except InvalidArguments:
        return
    for _ in range(2):
        sent = unquote(sent)
        assert not {".", ".."}.intersection(sent.replace("\\", "/").split("/"))
