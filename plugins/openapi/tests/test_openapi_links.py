"""doorward.pages and doorward.items where the next page is a link that no parameter can say."""

from __future__ import annotations

import importlib
import json
import re
import threading
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from doorward import Call, InvalidArguments
from doorward_openapi import OpenAPI
from doorward_openapi.calls import links
from doorward_openapi.calls.request import Request

pytestmark = pytest.mark.anyio
TEXT, NUMBER = {"type": "string"}, {"type": "integer"}
PAGES = {"": ["a", "b"], "t1": ["c", "d"], "t2": ["e"]}
AFTER = {"": "t1", "t1": "t2"}
ALL = ["a", "b", "c", "d", "e"]


def answer(value: Any, **headers: str) -> Any:
    return 200, {"Content-Type": "application/json", **headers}, json.dumps(value).encode()


def query(told: Any) -> dict[str, str]:
    return {k: v[0] for k, v in parse_qs(urlsplit(told["path"]).query).items()}


@pytest.fixture
def gateway(host: Any, upstream: Any, document: Any) -> Any:
    """A gateway with `api.op` (GET /base/x with these query parameters), and what else a document has."""

    host.install("source", "openapi", OpenAPI)

    def make(parameters: dict[str, Any] | None = None, *, config: str = "", paths: Any = None, **node: Any) -> Any:
        listed = [{"name": name, "in": "query", "schema": schema} for name, schema in (parameters or {}).items()]
        made = document({"/x": {"get": {"operationId": "op", "parameters": listed, **node}}, **(paths or {})})
        (host.folder / "openapi.json").write_text(json.dumps(made))
        text = f'cache = "none"\nplugins = []\n{config}\n[servers.api]\nsource = "openapi"\nspec = "openapi.json"\n'
        return host.gateway(f'{text}base_url = "{upstream.url}/base"\nheaders = {{ X-Ours = "yes" }}\n')

    return make


async def got(gate: Any, helper: str, function: str = "api.op", **arguments: Any) -> Any:
    """What `doorward.pages` or `doorward.items` comes to, as a run."""
    outcome = await gate.answer(f"doorward.{helper}", {"function": function, **arguments})
    assert outcome.ok, outcome.error
    return outcome


def by_token(shape: Any, name: str = "$skiptoken", url: str = "{home}/base/x") -> Any:
    """A server whose next link has a token of a name that no document knows."""

    def make(upstream: Any) -> Any:
        def style(told: Any) -> Any:
            token = query(told).get(name, "")
            link = f"{url.format(home=upstream.url)}?{name}={AFTER[token]}" if token in AFTER else ""
            return shape(PAGES[token], link)

        return style

    return make


def below(upstream: Any) -> Any:
    """A server whose next link is another path, below the first one."""

    def style(told: Any) -> Any:
        token = told["path"].partition("?")[0].removeprefix("/base/x").removeprefix("/page/")
        return answer({"items": PAGES[token], "next": f"/base/x/page/{AFTER[token]}" if token in AFTER else None})

    return style


def odata(items: Any, link: str) -> Any:
    return answer({"@odata.context": "…", "value": items, **({"@odata.nextLink": link} if link else {})})


def rfc8288(items: Any, link: str) -> Any:
    return answer(items, **({"Link": f'<{link}>; rel="next"'} if link else {}))


def says(make: Any) -> Any:
    """An answer that has its link where `make` puts it."""
    return lambda items, link: answer({"data": items, **make(link)})


STYLES = {
    "Microsoft Graph: $skiptoken": (by_token(odata), {"$skip": NUMBER, "$top": NUMBER, "$filter": TEXT}),
    "Graph, behind a proxy's path": (by_token(odata, url="/x"), {"$skip": NUMBER}),
    "Link header": (by_token(rfc8288, "cursor"), {"limit": NUMBER}),
    "Link header, without parameters": (by_token(rfc8288, "page_info"), {}),
    "relative Link header": (by_token(rfc8288, "after", ""), {"limit": NUMBER}),
    "nextLink": (by_token(says(lambda link: {"nextLink": link or None}), "c"), {}),
    "links.next": (
        by_token(says(lambda link: {"links": {"next": link or None}}), "page[after]"),
        {"page[size]": NUMBER},
    ),
    "_links.next.href": (by_token(says(lambda link: {"_links": {"next": {"href": link}} if link else {}}), "m"), {}),
    "links, a list": (by_token(says(lambda link: {"links": [{"rel": "next", "href": link}] if link else []}), "m"), {}),
    "paging.next": (by_token(says(lambda link: {"paging": {"next": link} if link else {}}), "__after"), {"q": TEXT}),
    "paging.next.link": (by_token(says(lambda link: {"paging": {"next": {"link": link}} if link else {}}), "z"), {}),
    "nextPage.next": (by_token(says(lambda link: {"nextPage": {"next": link} if link else None}), "z"), {}),
    "meta.links.next": (by_token(says(lambda link: {"meta": {"links": {"next": link}}}), "z"), {"page": NUMBER}),
    "next, a path": (below, {"page": NUMBER}),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", STYLES)
async def test_openapi_links_are_followed(gateway: Any, upstream: Any, name: str) -> None:
    """To the end, each page once, with the configured headers; nothing is made up, and there is nothing to note."""
    make, parameters = STYLES[name]
    for path in ("/base/x", "/base/x/page/t1", "/base/x/page/t2"):
        upstream.answers[path] = make(upstream)
    async with gateway(parameters) as gate:
        pages, items = await got(gate, "pages"), await got(gate, "items")
    assert (len(pages.value), items.value) == (3, ALL)
    assert pages.notes == items.notes == ()
    assert len(upstream.seen) == 6
    assert all(["X-Ours", "yes"] in seen["headers"] and seen["method"] == "GET" for seen in upstream.seen)


ASTRAY = [
    *("{elsewhere}/base/x", "//evil.test/base/x", "http://u:p@{home_host}/base/x", "file:///base/x"),
    *(
        "{home}/x",
        "/other/x",
        "{home}/base/y",
        "{home}/base/xy",
        "{home}/base/x;/y",
        "/base/x%00",
        "{home}/base/x\\..\\y",
    ),
    *("{home}/base/x/../y", "{home}/base/x/%2e%2e/y", "{home}/base/x/%252e%252e/y"),
]


@pytest.mark.slow
@pytest.mark.parametrize("place", ASTRAY)
@pytest.mark.parametrize("told", ["link", "next"])
async def test_openapi_links_that_lead_astray_are_said(
    gateway: Any, upstream: Any, elsewhere: Any, place: str, told: str
) -> None:
    """Nobody is asked there, the first page is not the whole in silence, and the note says where the rest is."""
    link = (
        place.format(elsewhere=elsewhere.url, home=upstream.url, home_host=upstream.url.removeprefix("http://"))
        + "?cursor=abc"
    )
    given = answer(["a"], Link=f'<{link}>; rel="next"') if told == "link" else answer({"items": ["a"], "next": link})
    upstream.answers["/base/x"] = lambda told: given
    async with gateway({"limit": NUMBER}) as gate:
        outcome, whole = await got(gate, "items"), await got(gate, "pages")
    assert (outcome.value, len(whole.value)) == (["a"], 1)
    assert elsewhere.seen == []
    assert {urlsplit(seen["path"]).path for seen in upstream.seen} == {"/base/x"}
    assert len(upstream.seen) == 2
    assert outcome.notes[0].startswith(
        "doorward.items got 1 page of api.op; there is another that it did not get: its link "
    )


async def test_openapi_links_of_a_path_without_a_name(gateway: Any, upstream: Any) -> None:
    """From `/` everything in the API is below: there a link turns pages of that very path."""
    upstream.answers["/base/"] = lambda told: answer({"items": ["a"], "next": f"{upstream.url}/base/secret?cursor=1"})
    async with gateway(paths={"/": {"get": {"operationId": "root"}}}) as gate:
        outcome = await got(gate, "items", "api.root")
    assert (outcome.value, len(outcome.notes), len(upstream.seen)) == (["a"], 1, 1)


CLOSED = {
    "/x/keys": {"get": {"operationId": "keys"}},
    "/x/{id}/purge": {"get": {"operationId": "purge"}},
    "/x?do=wipe": {"get": {"operationId": "wipe"}},
    "/x/a/b": {"get": {"operationId": "under", "servers": [{"url": "{home}/base/x/far"}]}},
}
NARROWINGS = ["[policy]\ndeny = ['api.keys', 'api.purge', 'api.wipe', 'api.under']", "[policy]\nallow = ['api.op']"]


@pytest.mark.slow
@pytest.mark.parametrize("config", NARROWINGS)
@pytest.mark.parametrize(
    "place",
    [
        "/keys",
        "/KEYS/",
        "/%6beys",
        "//keys",
        "/;a/keys",
        "/keys;a",
        "/7/purge",
        "/7%2Fpurge",
        "?do=wipe",
        "?DO=wipe&x=1",
        "/far/x/a/b",
    ],
)
async def test_openapi_links_reach_no_function_that_is_closed(
    gateway: Any, upstream: Any, config: str, place: str
) -> None:
    """Below the path of a call, too, `deny` holds, however the path is written; the note names the route."""
    link = f"{upstream.url}/base/x{place}{'&' if '?' in place else '?'}cursor=abc"
    upstream.answers["/base/x"] = lambda told: answer({"items": ["a"], "next": link})
    paths = json.loads(json.dumps(CLOSED).replace("{home}", upstream.url))
    async with gateway({"limit": NUMBER}, config=config, paths=paths) as gate:
        outcome = await got(gate, "items")
    assert outcome.value == ["a"]
    assert len(upstream.seen) == 1, upstream.seen
    assert "its link leads to what may not be called: " in outcome.notes[0]


async def test_openapi_links_may_lead_to_what_may_be_called(gateway: Any, upstream: Any) -> None:
    """Where that function is open."""
    upstream.answers["/base/x"] = lambda told: answer({"items": ["a"], "next": "/base/x/keys?cursor=abc"})
    upstream.answers["/base/x/keys"] = answer({"items": ["k"]})
    async with gateway({"limit": NUMBER}, paths={"/x/keys": CLOSED["/x/keys"]}) as gate:
        assert (await got(gate, "items")).value == ["a", "k"]


@pytest.mark.slow
async def test_openapi_links_change_nothing_that_the_program_gave(gateway: Any, upstream: Any) -> None:
    """But for what turns pages: neither its filter, nor by a field that is taken for a method."""
    link = "/base/x?owner=mallory&owner=eve&cursor={}&size=9&n=3"
    upstream.answers["/base/x"] = lambda told: answer(
        {"items": [1], "next": link.format(len(upstream.seen)) if len(upstream.seen) < 3 else ""}
    )
    async with gateway({"owner": TEXT, "size": NUMBER}) as gate:
        await got(gate, "items", owner="me", size=2)
        asked = [parse_qs(urlsplit(seen["path"]).query) for seen in upstream.seen]
        assert asked == [
            {"owner": ["me"], "size": ["2"]},
            *({"owner": ["me"], "size": ["2"], "cursor": [c], "n": ["3"]} for c in ("1", "2")),
        ]
        for name in ("_method", "_HttpMethod", "%5fmethod", "x;_method"):
            upstream.seen.clear()
            upstream.answers["/base/x"] = answer({"items": [1], "next": f"/base/x?cursor=1&{name}=DELETE"})
            assert "servers take it for the method" in (await got(gate, "items")).notes[0]
            assert len(upstream.seen) == 1


async def test_openapi_links_of_a_post_are_got(gateway: Any, upstream: Any) -> None:
    """By GET, without its body; what was asked by PUT is said to have more, and a DELETE is asked once."""

    def listed(told: Any) -> Any:
        return answer(
            {"items": [query(told).get("cursor", "0")], **({"next": "/base/y?cursor=1"} if told["body"] else {})}
        )

    upstream.answers["/base/y"] = listed
    content = {"application/json": {"schema": {"type": "object", "properties": {"a": NUMBER}}}}
    ask = {"operationId": "ask", "requestBody": {"content": content}}
    paths = {"/y": {"post": ask, "put": {**ask, "operationId": "put"}, "delete": {"operationId": "end"}}}
    async with gateway(paths=paths) as gate:
        asked = await got(gate, "items", "api.ask", arguments={"a": 7})
        first, second = upstream.seen
        put, ended = await got(gate, "items", "api.put", arguments={"a": 7}), await got(gate, "items", "api.end")
    assert (asked.value, asked.notes) == (["0", "1"], ())
    assert [(seen["method"], seen["path"], seen["body"]) for seen in (first, second)] == [
        ("POST", "/base/y", '{"a":7}'),
        ("GET", "/base/y?cursor=1", ""),
    ]
    assert "content-type" not in {name.lower() for name, _ in second["headers"]}
    assert dict(second["headers"])["X-Ours"] == "yes"
    assert (put.value, ended.value, len(upstream.seen)) == (["0"], ["0"], 4)
    assert "its link is to be got, and this is a PUT" in put.notes[0]


@pytest.mark.parametrize(("config", "followed"), [('[policy]\ndeny = ["api.peek"]', False), ("", True)])
async def test_openapi_links_of_a_post_reach_no_closed_function(
    gateway: Any, upstream: Any, config: str, followed: bool
) -> None:
    """The GET of that path may be another function: who may not call it does not reach it by a link."""
    upstream.answers["/base/y"] = lambda told: answer(
        {"items": [1], "next": "" if "?" in told["path"] else "/base/y?cursor=1"}
    )
    paths = {"/y": {"post": {"operationId": "ask"}, "get": {"operationId": "peek"}}}
    async with gateway(config=config, paths=paths) as gate:
        asked = await got(gate, "items", "api.ask")
    assert (len(asked.value), [seen["method"] for seen in upstream.seen]) == (
        (2, ["POST", "GET"]) if followed else (1, ["POST"])
    )
    assert followed or "its link leads to what may not be called" in asked.notes[0]


@pytest.mark.slow
async def test_openapi_links_end(gateway: Any, upstream: Any) -> None:
    """One to the page that it stands in is the end; those that never end meet the limit of calls, and `most`."""
    upstream.answers["/base/x"] = lambda told: answer(
        {"items": [1], "next": f"/base/x?b=2&a=1&cursor={query(told).get('cursor', 0)}"}
    )
    async with gateway() as gate:
        assert (await got(gate, "items")).value == [1]
    upstream.answers["/base/x"] = lambda told: answer(
        {"items": [len(upstream.seen)], "next": f"/base/x?cursor={len(upstream.seen)}"}
    )
    async with gateway(config="[limits]\ncalls = 5") as gate:
        outcome = await got(gate, "pages")
        assert len(outcome.value) == 5
        assert "stopped after 5 pages of api.op" in outcome.notes[0]
        outcome = await got(gate, "items", most=3)
        assert len(outcome.value) == 3
        assert "stopped after 3 items of api.op" in outcome.notes[0]


@pytest.mark.parametrize(
    ("told", "says"),
    [
        ({"items": [1], "next_page_token": "abc"}, "no parameter for what the answer calls nextpagetoken"),
        ({"items": [1], "has_more": True}, "it says that there is more"),
        ({"items": [1], "next_cursor": "a" * 10_000}, "no parameter for what the answer calls nextcursor"),
    ],
)
async def test_openapi_what_cannot_be_got_is_said(gateway: Any, upstream: Any, told: Any, says: str) -> None:
    """A token for which there is no parameter, or the bare word that there is more."""
    upstream.answers["/base/x"] = answer(told)
    async with gateway({"q": TEXT}) as gate:
        outcome = await got(gate, "items")
    assert outcome.value == [1]
    assert says in outcome.notes[0]


async def test_openapi_what_an_answer_calls_next_of_a_parameter(gateway: Any, upstream: Any) -> None:
    """Is its next value; of a function that may change something it is not, and a note says so."""
    upstream.answers["/base/x"] = lambda told: answer(
        {"rows": [1], "next_range": None if query(told).get("range") else "A3"}
    )
    upstream.answers["/base/y"] = lambda told: answer({"rows": [1], "next_range": "A3"})
    listed = [{"name": "range", "in": "query", "schema": TEXT}]
    paths = {"/y": {"post": {"operationId": "change", "parameters": listed}}}
    async with gateway({"range": TEXT}, paths=paths) as gate:
        outcome = await got(gate, "items")
        assert (outcome.value, outcome.notes) == ([1, 1], ())
        changed = await got(gate, "items", "api.change")
    assert changed.value == [1]
    assert "the answer has next_range, but the function may change something" in changed.notes[0]


async def test_openapi_tokens_in_headers(host: Any, upstream: Any, document: Any) -> None:
    """A token of the next page may come in a header, and go in one."""

    def style(told: Any) -> Any:
        token = dict(told["headers"]).get("X-Ms-Continuation-Token", "")
        return answer({"items": PAGES[token]}, **({"x-ms-continuation-token": AFTER[token]} if token in AFTER else {}))

    upstream.answers["/x"] = style
    parameter = {"name": "X-Ms-Continuation-Token", "in": "header", "schema": TEXT}
    (host.folder / "openapi.json").write_text(
        json.dumps(document({"/x": {"get": {"operationId": "op", "parameters": [parameter]}}}))
    )
    host.install("source", "openapi", OpenAPI)
    async with host.gateway(
        f'cache = "none"\nplugins = []\n[servers.api]\nsource = "openapi"\nspec = "openapi.json"\nbase_url = '
        f'"{upstream.url}"\n'
    ) as gate:
        assert await gate.call("doorward.items", {"function": "api.op"}) == ALL


# x-ms-pageable


def azure(upstream: Any) -> Any:
    """The pages of Azure's test server, in small."""

    def style(told: Any) -> Any:
        path, asked, home = told["path"].partition("?")[0].removeprefix("/base"), query(told), upstream.url + "/base"
        match path:
            case "/x":
                return answer({"stuff": ["a"], "other": [0], "go.on": f"{home}/pages/2"})
            case "/pages/2":
                return answer({"stuff": ["b"], "other": [0], "go.on": f"{home}/pages/3?x=%20y"})
            case "/pages/3":
                return answer({"stuff": None, "go.on": ""})
            case "/one":
                return answer({"value": ["a"], "nextLink": f"{home}/gone"})
            case "/frag/me" | "/frag/me/next" if asked.get("v") == "1":
                page = int(asked.get("page", "1"))
                return answer({"values": [page], **({"odata.nextLink": f"next?page={page + 1}"} if page < 3 else {})})
            case "/dup" if asked.get("$filter", "mine") == "mine":
                return answer({"values": ["a"], "nextLink": f"{home}/dup?$filter=theirs&$skiptoken=1&api-version=1"})
            case "/dup" if asked == {"$filter": "theirs", "$skiptoken": "1", "api-version": "2"}:
                return answer({"values": ["b"]})
            case "/query":
                return answer({"values": ["a"], "nextLink": "/base/query/next"})
            case "/query/next" if asked == {"constant": "true"}:
                return answer({"values": ["b"]})
        return 404, {}, b""

    return style


def said(path: str, id: str, pageable: Any = None, **parameters: Any) -> Any:
    listed = [{"name": n, "in": where, "required": True, "schema": TEXT} for n, where in parameters.items()]
    return {
        path: {"get": {"operationId": id, "parameters": listed} | ({"x-ms-pageable": pageable} if pageable else {})}
    }


def pageable(link: str, operation: str) -> Any:
    return {"nextLinkName": link, "itemName": "values", "operationName": operation}


AZURE = {
    **said("/frag/{tenant}", "frag", pageable("odata.nextLink", "Next"), tenant="path", v="query"),
    **said("/frag/{tenant}/{nextLink}", "Next", tenant="path", v="query", nextLink="path"),
    **said(
        "/dup",
        "dup",
        {"nextLinkName": "nextLink", "itemName": "values"},
        **{"$filter": "query", "api-version": "query"},
    ),
    **said("/one", "one", {"nextLinkName": None}),
    **said("/query", "ask", pageable("nextLink", "Ask_Next"), needed="query", constant="query"),
    **said("/query/next", "Ask_Next", constant="query"),
    **said("/pages/{n}", "page", n="path"),
}


@pytest.mark.slow
async def test_openapi_x_ms_pageable_is_honoured(gateway: Any, upstream: Any) -> None:
    """The name of the link, of the items, and of the operation that gets the next page; a null one is the end."""
    for path in ("/x", "/pages/2", "/pages/3", "/one", "/frag/me", "/frag/me/next", "/query", "/query/next", "/dup"):
        upstream.answers["/base" + path] = azure(upstream)
    async with gateway(paths=AZURE, **{"x-ms-pageable": {"nextLinkName": "go.on", "itemName": "stuff"}}) as gate:
        outcomes = [
            await got(gate, "items"),
            await got(gate, "items", "api.one"),
            await got(gate, "items", "api.frag", tenant="me", v="1"),
        ]
        outcomes.append(await got(gate, "items", "api.ask", needed="100", constant="true"))
        outcomes.append(await got(gate, "items", "api.dup", filter="mine", api_version="2"))
    assert [outcome.value for outcome in outcomes] == [["a", "b"], ["a"], [1, 2, 3], ["a", "b"], ["a", "b"]]
    assert not any(outcome.notes for outcome in outcomes)
    assert not any(seen["path"] == "/base/gone" for seen in upstream.seen)


async def test_openapi_x_ms_pageable_opens_no_door(gateway: Any, upstream: Any) -> None:
    """What the document says of links does not make up for what is denied, nor lead out of the API."""
    for path in ("/x", "/frag/me", "/query"):
        upstream.answers["/base" + path] = azure(upstream)
    config = "[policy]\ndeny = ['api.page', 'api.next_', 'api.ask_next']"
    async with gateway(
        paths=AZURE, config=config, **{"x-ms-pageable": {"nextLinkName": "go.on", "itemName": "stuff"}}
    ) as gate:
        outcomes = [await got(gate, "items"), await got(gate, "items", "api.frag", tenant="me", v="1")]
        outcomes.append(await got(gate, "items", "api.ask", needed="1", constant="true"))
    assert [outcome.value for outcome in outcomes] == [["a"], [1], ["a"]]
    assert len(upstream.seen) == 3
    assert [note.rpartition("its link leads to ")[2] for outcome in outcomes for note in outcome.notes] == [
        f"what may not be called: api.{name} is not allowed by the operator's policy: [policy] deny"
        for name in ("page", "next_", "ask_next")
    ]


# Items


@pytest.mark.parametrize(
    ("value", "items"),
    [
        ([1, 2], [1, 2]),
        ({"issues": [1], "total": 1}, [1]),
        ({"items": [1], "labels": [2]}, [1]),
        ({"data": {"nodes": [1], "pageInfo": {}}}, [1]),
        ({"_embedded": {"orders": [1]}, "_links": {}}, [1]),
        ({"things": {"pets": [1]}, "next": {"x": 1}}, [1]),
        ({"result": [1], "errors": [], "messages": []}, [1]),
        (None, []),
    ],
)
async def test_openapi_items_of_answers(gateway: Any, upstream: Any, value: Any, items: list[Any]) -> None:
    """The list in an answer, whatever it is called, where it is clear which."""
    upstream.answers["/base/x"] = answer(value) if value is not None else (204, {}, b"")
    async with gateway() as gate:
        assert await gate.call("doorward.items", {"function": "api.op"}) == items


async def test_openapi_items_by_schema(gateway: Any, upstream: Any) -> None:
    """The only list of the schema is meant, whatever else comes; null, and one that is left out, are empty."""
    upstream.answers["/base/x"] = answer({"rows": None, "more": [1], "others": [2]})
    schema = {
        "type": "object",
        "properties": {"rows": {"anyOf": [{"type": "array"}, {"type": "null"}]}, "total": NUMBER},
    }
    async with gateway(
        responses={"200": {"description": "", "content": {"application/json": {"schema": schema}}}}
    ) as gate:
        assert await gate.call("doorward.items", {"function": "api.op"}) == []


@pytest.mark.parametrize(
    ("value", "says"),
    [({"a": [1], "b": [2]}, "has several lists: a, b"), ({"a": 1}, "has no list"), ("x", "has no list; it is a str")],
)
async def test_openapi_items_that_are_none(gateway: Any, upstream: Any, value: Any, says: str) -> None:
    """It is said, with the way to write it."""
    upstream.answers["/base/x"] = answer(value)
    async with gateway() as gate:
        with pytest.raises(InvalidArguments, match=says) as raised:
            await gate.call("doorward.items", {"function": "api.op"})
        assert "doorward.pages" in str(raised.value.hint)


# Without a network


def test_openapi_links_behind_a_proxy_that_ends_tls() -> None:
    """A server that knows itself as http is asked by https, at its usual port."""
    request, data = Request("GET", "https://api.test/v1/x?a=1", "/x"), {"method": "GET", "path": "/x"}
    found = links.followed("http://api.test/v1/x?a=2&c=3", request.url, request, "https://api.test/v1", data)
    assert found == "https://api.test/v1/x?c=3&a=1"
    for link in ("http://api.test:8080/v1/x?c=3", "https://api.test.evil/v1/x?c=3", "https://api.test:444/v1/x?c=3"):
        with pytest.raises(links.LinkRefused, match="is not the API's"):
            links.followed(link, request.url, request, "https://api.test/v1", data)


async def test_openapi_links_of_calls_stay_at_home(api: Any, upstream: Any, elsewhere: Any, document: Any) -> None:
    """A link that did not come from an answer of this server is not asked, whoever says it."""
    made = await api(document({"/x": {"get": {"operationId": "op"}}}))
    await made.source.call(Call(made.functions["op"], {}, link=f"{elsewhere.url}/x"))
    assert (len(upstream.seen), elsewhere.seen) == (1, [])


def test_openapi_links_to_paths_with_many_variables_take_no_time() -> None:
    """A document can have many variables in one part of a path, and a link a long part that fits none of its ends."""
    request, data = (
        Request("GET", "https://api.test/v1/x/ab/end", "/x/ab/end"),
        {"method": "GET", "path": "/x/{a}{b}{c}{d}{page}/end"},
    )
    with pytest.raises(links.LinkRefused, match="is not below"):
        links.followed(f"/v1/x/{'a' * 7000}/no", request.url, request, "https://api.test/v1", data)


@pytest.mark.slow
async def test_openapi_large_answers_are_read_for_the_next_page_aside(
    gateway: Any, upstream: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a thread: what tells of pages is looked for under each key, and nobody else waits for that."""
    threads: list[bool] = []
    for where, name in (
        ("doorward_openapi.calls.pages.following", "following"),
        ("doorward_program_helpers.pagination.keys_to_items", "keys_to_items"),
    ):
        real = importlib.import_module(where.rpartition(".")[0]).__dict__[name]

        def seen(*given: Any, real: Any = real, **more: Any) -> Any:
            threads.append(threading.current_thread() is threading.main_thread())
            return real(*given, **more)

        monkeypatch.setattr(where, seen)
    upstream.answers["/base/x"] = answer({"items": [{f"key {n}": 1} for n in range(20_000)]})
    async with gateway() as gate:
        assert len((await got(gate, "items")).value or ()) > 0
    assert threads == [False, False]


@pytest.mark.parametrize(
    "piece", ["OWNER=you", "owner[]=you", "owner%00=you", "t=1;owner=you", "t=1%3Bowner=you&%6Fwner=you"]
)
def test_openapi_links_change_nothing_by_another_spelling(piece: str) -> None:
    """Servers take capitals for small letters, lists for their items, and semicolons for what is between two pieces."""
    base = "https://api.test/v1"
    request, data = Request("GET", f"{base}/x?owner=me", "/x"), {"method": "GET", "path": "/x"}
    found = urlsplit(links.followed(f"/v1/x?cursor=2&{piece}", request.url, request, base, data)).query
    assert [
        each for each in re.split("[&;]", found) if each.casefold().startswith("owner") and each != "owner=me"
    ] == []


@pytest.mark.parametrize("query", ["action=export", "Action=EXPORT", "cursor=1;action=export"])
async def test_openapi_links_reach_no_path_with_a_query_that_is_closed(gateway: Any, upstream: Any, query: str) -> None:
    """However its query is spelt."""
    answers = {"value": [1], "@odata.nextLink": f"{upstream.url}/base/x?$skiptoken=1&{query}"}
    upstream.answers.setdefault(
        "/base/x", lambda told: answer(answers if "skiptoken" not in told["path"] else {"value": [2]})
    )
    more = {"/x?action=export": {"get": {"operationId": "export"}}}
    async with gateway(config='[policy]\ndeny = ["api.export"]', paths=more) as gate:
        await got(gate, "pages")
    assert not any(re.search("[?&;]action=export", told["path"].casefold()) for told in upstream.seen)
