"""Calls, with a real server and with one that answers anything."""

from __future__ import annotations

import json
import time

import httpx2
import pytest
from doorward import ApiError, File, InvalidArguments, LimitExceeded, Refused, ServerError, UnknownName
from doorward_graphql import answers
from doorward_testing import reserve_port

pytestmark = pytest.mark.anyio
SMALL = "type Query { a(x: String): A n: Int } type Mutation { b: Int } type A { id: ID name: String }"


class Token(httpx2.Auth):
    def __init__(self, token):
        self.token = token

    def auth_flow(self, request):
        request.headers["Authorization"] = f"Bearer {self.token}"
        yield request


@pytest.mark.slow
async def test_graphql_arguments_arrive(api, shop):
    """What is given arrives by the names of the schema, as variables; what is not given keeps its default."""
    made = await api(shop)
    text = '"}) { evil } #'
    given = {"in_": {"and": [{"any": {"k": [1, None]}}], "year": {"in": [1, 2]}, "tags": [["a", None], None]}}
    echoed = json.loads(await made.call("echo", class_=text, id=3, select="s", **given))
    assert echoed == {
        "in": {"and": [{"any": {"k": [1, None]}, "n": 5}], "year": {"in": [1, 2]}, "tags": [["a", None], None], "n": 5},
        "class": text,
        "_id": 3,
        "select": "s",
    }
    assert json.loads(await made.call("echo", class_=File(b"text"))) == {"class": "text"}
    with pytest.raises(InvalidArguments, match="no files"):
        await made.call("echo", class_=File(b"\xff"))


@pytest.mark.slow
async def test_graphql_mutations(api, shop):
    """Input objects, their defaults and null arrive."""
    made = await api(shop)
    review = await made.call("add_review", book_id="2", input={"text": None})
    assert review == {
        "review": {
            "id": "r9",
            "stars": 5,
            "text": None,
            "book": {"id": "2", "title": "Book 2", "published": "2026-01-01T00:00:00Z"},
        }
    }
    assert await made.call("mutation_book", id="1", title=None, select="title") == {"title": "{'title': None}"}
    assert await made.call("mutation_book", id="1", select="title") == {"title": "{}"}


@pytest.mark.slow
async def test_graphql_results(api, shop):
    """Lists, unions, interfaces, null and scalars come back as they are."""
    made = await api(shop)
    assert await made.call("book", id="99") is None
    assert await made.call("today") == "2026-11-22T00:00:00Z"
    kinds = [hit["__typename"] for hit in await made.call("search", text="x")]
    assert kinds == ["Book", "Author"]
    assert await made.call("node", id="a1") == {"__typename": "Author", "id": "a1", "name": "Ada"}


@pytest.mark.slow
async def test_graphql_select(api, shop):
    """A program selects with arguments, aliases and fragments of its own."""
    made = await api(shop)
    assert await made.call("book", id="1", select="{ reviews(first: 2) { stars } who: author { name } }") == {
        "reviews": [{"stars": 0}, {"stars": 1}],
        "who": {"name": "Ada"},
    }
    assert await made.call("node", id="a1", select="... on Author { name } # all of it") == {"name": "Ada"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("select", "why"),
    [
        ("", "Expected Name"),
        ("titel", "Did you mean 'title'"),
        ("author", "must have a selection of subfields"),
        ("title { x }", "must not have a selection"),
        ("reviews { id }", "of type 'Int!' is required"),
        ('reviews(first: "2") { id }', "Int cannot represent"),
        ("reviews(first: $n) { id }", "Variable '\\$n' is not defined"),
        ("title } } mutation { deleteBook(id: 1) ", "."),
        ("{ title } mutation { deleteBook(id: 1) }", "one selection"),
        ("{ title } { title }", "one selection"),
        ("...F } fragment F on Book { title", "."),
        ("... on Author { name }", "can never be of type"),
        ("title @skip", "is required"),
        ("title @nothing", "Unknown directive"),
        ("id " * 5000, "tokens"),
        ("author { books { " * 450 + "id" + "} }" * 450, "nested too deeply"),
        ("x" * 20_001, "more than 20000 characters"),
        ("\0", "Unexpected character"),
    ],
)
async def test_graphql_selections_that_do_not_fit(api, shop, select, why):
    """A selection that is none of this schema, or more than one, is refused before anything is sent."""
    made = await api(shop)
    with pytest.raises(InvalidArguments, match=why):
        await made.call("book", id="1", select=select)


@pytest.mark.parametrize(
    "select", ["shop { secret }", "shop { ...on Query { secret } }", "shop { __schema { types { name } } }"]
)
async def test_graphql_selections_lead_not_back(api, shop, select):
    """A selection may not pass through the type where queries begin: policy knows functions for its fields."""
    made = await api(shop)
    with pytest.raises(Refused, match="is a field of Query"):
        await made.call("book", id="1", select=select)
    assert await made.call("book", id="1", select="shop { __typename }") == {"shop": None}


@pytest.mark.slow
async def test_graphql_the_same_field_many_times(api, upstream, sdl):
    """A selection that repeats a field thousands of times is checked as fast as any: no field is compared with each
    other one."""
    made = await api(upstream.url, sdl=sdl)
    upstream.answers = [(200, {}, {"data": {"book": {"id": "1"}}})]
    assert await made.call("book", id="1", select="id " * 3900) == {"id": "1"}


async def test_graphql_types_are_shown(api, shop):
    """A type is shown as SDL; an unknown one names a similar one."""
    made = await api(shop)
    assert "reviews(first: Int!): [Review!]!" in await made.call("graphql_type", name="Book")
    with pytest.raises(UnknownName, match="did you mean 'Book'"):
        await made.call("graphql_type", name="Boook")


@pytest.mark.slow
async def test_graphql_pages(api, shop):
    """A reply knows the next page, forwards and backwards, whatever is selected, and shows nothing that was not
    selected."""
    made = await api(shop)
    reply = await made.reply("books", first=2, select="edges { node { id } }")
    assert reply.value == {"edges": [{"node": {"id": "1"}}, {"node": {"id": "2"}}]}
    assert (reply.next, list(reply.items)) == ({"first": 2, "select": "edges { node { id } }", "after": "2"}, ["edges"])
    assert (await made.reply("books", first=2, after="3")).next is None
    assert (await made.reply("books", last=2)).next == {"last": 2, "before": "4"}
    assert (await made.reply("books", last=2, before="3")).next is None
    assert (await made.reply("books", select="totalCount")).value == {"totalCount": 5}


async def test_graphql_pages_that_lead_nowhere(api, upstream):
    """A server that says there is more and gives no cursor, or the same again, ends the pages with a reason."""
    sdl = "type Query { every(after: String): C } type C { nodes: [Int] pageInfo: P } type P { hasNextPage: Boolean endCursor: String }"
    made = await api(upstream.url, sdl=sdl)
    for cursor in (None, "x", {}):
        page = {"nodes": [1], "doorward_page": {"hasNextPage": True, "endCursor": cursor}}
        upstream.answers = [(200, {}, {"data": {"every": page}})]
        reply = await made.reply("every", after="x")
        assert (reply.next, reply.value) == (None, {"nodes": [1]})
        assert "leads nowhere" in reply.left
    upstream.answers = [(200, {}, {"data": {"every": "odd"}})]
    assert (await made.reply("every")).value == "odd"


async def test_graphql_errors_with_data(api, shop):
    """An answer with errors is an error that says what and where; its data is in it."""
    made = await api(shop)
    with pytest.raises(
        ApiError, match=r"shop.half \(query half\) answered with errors: .half.broken: it is broken"
    ) as caught:
        await made.call("half")
    assert caught.value.body["data"] == {"half": {"fine": 1, "broken": None}}
    assert 'error.body["data"]' in caught.value.hint


@pytest.mark.slow
async def test_graphql_credentials(api, shop):
    """Credentials are sent; without them, the error says that the operator must set them."""
    made = await api(shop)
    with pytest.raises(ApiError, match="log in first") as caught:
        await made.call("secret")
    assert "`auth`" in caught.value.hint
    assert await (await api(shop, auth=Token("s3cr3t-token"))).call("secret") == "open"
    with pytest.raises(ApiError, match="slow down") as caught:
        await made.call("limited")
    assert caught.value.hint == "Wait before the next call."


@pytest.mark.parametrize(
    ("status", "headers", "body", "kind", "why", "hint"),
    [
        (200, {}, b"<html>hello</html>", ServerError, "no GraphQL", "/graphql"),
        (200, {}, {"a": 1}, ServerError, "no GraphQL", "/graphql"),
        (200, {}, {"data": None}, ServerError, "no GraphQL", "/graphql"),
        (200, {}, [1], ServerError, "no GraphQL", "/graphql"),
        (200, {}, b"", ServerError, "no GraphQL", "/graphql"),
        (302, {"Location": "https://elsewhere.test/"}, b"", ServerError, "redirects to .https://elsewhere.test/", "`url`"),
        (401, {}, {"message": "Bad credentials"}, ApiError, "401 Unauthorized: .Bad credentials", "`auth`"),
        (403, {}, b"no", ApiError, "403 Forbidden: .no", "`auth`"),
        (404, {}, b"not here", ApiError, "404 Not Found", None),
        (429, {"Retry-After": "7"}, {"message": "slow"}, ApiError, "429", "Wait 7 seconds"),
        (400, {}, {"errors": [{"message": "m", "extensions": {"code": "GRAPHQL_VALIDATION_FAILED"}}]}, ApiError, "400.*m", "compiled anew"),
        (200, {}, {"errors": [{"message": "PersistedQueryNotFound", "extensions": {"code": "PERSISTED_QUERY_NOT_FOUND"}}]}, ApiError, "Persisted", "registered"),
        (200, {}, {"data": {"a": None}, "errors": [{"type": "FORBIDDEN", "message": "m", "path": ["a", 0, "id"]}]}, ApiError, "a.0.id: m", "`auth`"),
        (200, {}, {"errors": ["odd", 3, None, {"message": 5}]}, ApiError, "with errors", None),
        (500, {}, {"errors": [{"message": "boom"}]}, ApiError, "500.*boom", None),
    ],
)  # fmt: skip
async def test_graphql_answers_of_all_kinds(api, upstream, status, headers, body, kind, why, hint):
    """What is no answer to a query is an error that says what it is, and what to do."""
    told: list[str] = []
    made = await api(upstream.url, sdl=SMALL, told=told)
    upstream.answers = [(status, headers, body)]
    with pytest.raises(kind, match=why) as caught:
        await made.call("a", x="1")
    assert (hint or "") in (caught.value.hint or "")
    assert type(caught.value) is kind
    assert told == (["changed"] if hint == "compiled anew" else [])


async def test_graphql_what_is_sent(api, upstream):
    """A POST of JSON with a document that has no value in it, the configured headers and the credentials; no cookie."""
    made = await api(upstream.url, sdl=SMALL, auth=Token("t0ken"), headers={"X-Version": "3"})
    upstream.answers = [(200, {"Set-Cookie": "a=b"}, {"data": {"a": {"id": 1}}})]
    await made.call("a", x="value")
    await made.call("a", x="value")
    seen = upstream.seen[-1]
    assert json.loads(seen["body"]) == {
        "query": "query a($x: String) { a(x: $x) { id name } }",
        "variables": {"x": "value"},
    }
    assert seen["method"] == "POST"
    assert seen["headers"]["content-type"] == "application/json"
    assert seen["headers"]["accept"].startswith("application/graphql-response+json")
    assert (seen["headers"]["x-version"], seen["headers"]["authorization"]) == ("3", "Bearer t0ken")
    assert "cookie" not in seen["headers"]


async def test_graphql_repetitions(api, upstream):
    """A query that failed for the moment is repeated, a mutation never after it was sent."""
    made = await api(upstream.url, sdl=SMALL, retries=2)
    upstream.answers = [(503, {}, b""), (503, {"Retry-After": "0"}, b""), (200, {}, {"data": {"n": 1}})]
    assert await made.call("n") == 1
    upstream.answers = [(503, {}, b"")]
    upstream.seen.clear()
    with pytest.raises(ApiError, match="503") as caught:
        await made.call("b")
    assert "look whether it was made all the same" in caught.value.hint
    assert len(upstream.seen) == 1
    upstream.answers = [(429, {"Retry-After": "3600"}, b"")]
    with pytest.raises(ApiError, match="429"):
        await made.call("n")
    assert len(upstream.seen) == 2


@pytest.mark.slow
async def test_graphql_limits_of_the_server(api, upstream):
    """What the server says of its limits is kept to: the next request waits for the reset, and is not refused."""
    made = await api(upstream.url, sdl=SMALL)
    told = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset-After": "0.5"}
    upstream.answers = [(200, told, {"data": {"n": 1}}), (200, {}, {"data": {"n": 2}})]
    assert await made.call("n") == 1
    began = time.monotonic()
    assert await made.call("n") == 2
    assert time.monotonic() - began >= 0.5


async def test_graphql_unreachable(api):
    """A server that is not there is named, with what to check."""
    url = f"http://127.0.0.1:{reserve_port()}"
    made = await api(f"{url}/graphql", sdl=SMALL)
    with pytest.raises(ServerError, match=rf"{url} cannot be reached") as caught:
        await made.call("n")
    assert "`url`" in caught.value.hint


@pytest.mark.slow
async def test_graphql_large_answers(api, upstream):
    """An answer that is too large is cut off."""
    made = await api(upstream.url, sdl=SMALL)
    upstream.answers = [(200, {}, {"data": {"n": "x" * 60_000_000}})]
    with pytest.raises(ServerError, match="more than 50 MiB"):
        await made.call("n")


async def test_graphql_answers_of_many_values(api, upstream, monkeypatch):
    """Their values are counted, and never made."""
    made = await api(upstream.url, sdl=SMALL)
    monkeypatch.setattr(answers, "_MAX_VALUES", 1000)
    monkeypatch.setattr(answers, "read_json", lambda text: pytest.fail("it was read"))
    upstream.answers = [(200, {}, {"data": {"n": [[]] * 600}})]
    with pytest.raises(LimitExceeded, match="more than 1,000 values") as caught:
        await made.call("n")
    assert "`select`" in caught.value.hint
