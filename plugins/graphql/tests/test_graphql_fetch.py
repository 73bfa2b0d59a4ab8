"""Where schemas come from."""

from __future__ import annotations

import json

import graphql
import pytest
from doorward import ServerError
from doorward_graphql import GraphQL
from pydantic import ValidationError

pytestmark = pytest.mark.anyio
SMALL = "type Query { a: Int }"
TOLD = {"data": graphql.introspection_from_schema(graphql.build_schema(SMALL))}


async def test_graphql_introspection_of_old_servers(api, upstream):
    """A server that does not know newer parts of introspection is asked for what each server knows."""

    def answers(seen):
        if "isOneOf" in seen["body"]:
            return 400, {}, {"errors": [{"message": "Cannot query field 'isOneOf' on type '__Type'."}]}
        return 200, {}, TOLD

    upstream.answers = [answers]
    assert "a" in (await api(upstream.url)).functions
    assert len(upstream.seen) == 2


@pytest.mark.slow
async def test_graphql_no_introspection(api, closed_shop, sdl):
    """Where introspection is not allowed, the error says what the server said, and that a schema can be given; with it,
    calls work."""
    with pytest.raises(ServerError, match="ntrospection") as caught:
        await api(closed_shop)
    assert "`schema`" in caught.value.hint
    assert await (await api(closed_shop, sdl=sdl)).call("today")


@pytest.mark.parametrize(
    "answer",
    [(401, {}, b""), (200, {}, {"errors": [{"message": "who?", "extensions": {"code": "UNAUTHENTICATED"}}]})],
)
async def test_graphql_credentials_are_suggested(api, upstream, answer):
    """A server that wants credentials before it tells its schema is suggested a bearer token, named after the server."""
    upstream.answers = [answer]
    with pytest.raises(ServerError) as caught:
        await api(upstream.url)
    assert [each.auth for each in caught.value.auth] == [[{"type": "bearer", "token": "${SHOP_TOKEN}"}]]


@pytest.mark.parametrize(
    ("without", "more", "sent"),
    [
        ((200, {}, TOLD), False, [False]),
        ((200, {}, TOLD), True, [True]),
        ((401, {}, b""), False, [False, True]),
        ((200, {}, b"<html>"), False, [False, True]),
        ((200, {}, {"data": {}}), False, [False, False, True]),
    ],
)
async def test_graphql_credentials_of_introspection(api, upstream, without, more, sent):
    """CONTRACT: AUT-18 Credentials are sent for a schema only if it is not told without them, or the operator says that
    there is more with them."""
    upstream.answers = [lambda seen: (200, {}, TOLD) if "x-key" in seen["headers"] else without]
    assert "a" in (await api(upstream.url, headers={"X-Key": "k"}, schema_auth=more)).functions
    assert ["x-key" in told["headers"] for told in upstream.seen] == sent


async def test_graphql_schema_by_url(api, upstream):
    """A schema may be a URL; credentials and headers go there only if it is where the endpoint is, and refused without."""
    place = upstream.url.replace("/graphql", "/schema")
    upstream.answers = [
        lambda seen: (200, {}, SMALL.encode()) if "x-key" in seen["headers"] else (403, {}, b""),
    ]
    assert "a" in (await api(upstream.url, schema=place, headers={"X-Key": "k"})).functions
    assert [(told["method"], told["path"]) for told in upstream.seen] == [("GET", "/schema")] * 2
    assert upstream.seen[-1]["headers"]["x-key"] == "k"
    upstream.answers = [(200, {}, SMALL.encode())]
    assert "a" in (await api("http://127.0.0.1:9/graphql", schema=place, headers={"X-Key": "k"})).functions
    assert "x-key" not in upstream.seen[-1]["headers"]
    upstream.answers = [(302, {"Location": "/other"}, b"")]
    with pytest.raises(ServerError, match=r"302.*'/other'"):
        await api(upstream.url, schema=place)


async def test_graphql_fingerprint_is_of_the_schema(api, upstream):
    """It stays when members of the JSON change places, and changes with the schema."""

    async def fingerprint(value):
        upstream.answers = [(200, {}, value)]
        made = await api(upstream.url)
        return await made.source.fingerprint()

    swapped = json.loads(json.dumps(TOLD), object_pairs_hook=lambda pairs: dict(reversed(pairs)))
    other = {"data": graphql.introspection_from_schema(graphql.build_schema("type Query { b: Int }"))}
    assert await fingerprint(TOLD) == await fingerprint(swapped) != await fingerprint(other)


@pytest.mark.parametrize(
    "wrong",
    [
        {"url": "ftp://x.test/"},
        {"url": "graphql"},
        {"url": "https://a:b@x.test/"},
        {"url": "https://x.test/", "schema": "https://a:b@x.test/"},
        {"url": "https://x.test/", "headers": {"X Y": "1"}},
        {"url": "https://x.test/", "depth": 6},
        {"url": "https://x.test/", "schema_": "a"},
    ],
)
async def test_graphql_wrong_settings(wrong):
    """Settings that cannot be meant are refused when the configuration is read."""
    with pytest.raises(ValidationError):
        GraphQL.Settings.model_validate(wrong)
