"""doorward.pages against a server that pages in the ways that APIs do."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from doorward import InvalidArguments
from doorward_openapi import OpenAPI

pytestmark = pytest.mark.anyio
ITEMS = [{"id": f"i{n}"} for n in range(7)]


def answer(value: Any, **headers: str) -> Any:
    return 200, {"Content-Type": "application/json", **headers}, json.dumps(value).encode()


def link(query: dict[str, Any], size: int = 3) -> Any:
    """GitHub: numbered pages, told by links, that lead to another path than was asked for."""
    page = int(query.get("page", 1))
    there = (
        f'<https://api.example/repositories/7/x?page={page + 1}&per_page=3>; rel="next", '
        if page * size < len(ITEMS)
        else ""
    )
    first = '<https://api.example/repositories/7/x?page=1>; rel="first"'
    return answer(ITEMS[(page - 1) * size : page * size], Link=there + first)


def stripe(query: dict[str, Any]) -> Any:
    start = next((n + 1 for n, item in enumerate(ITEMS) if item["id"] == query.get("starting_after")), 0)
    return answer(
        {"object": "list", "data": ITEMS[start : start + 3], "has_more": start + 3 < len(ITEMS), "url": "/v1/x"}
    )


def cursor(holder: str, name: str, taken: str) -> Any:
    def style(query: dict[str, Any]) -> Any:
        start = int(query.get(taken, "c0")[1:])
        following = f"c{start + 3}" if start + 3 < len(ITEMS) else ""
        told = {name: following}
        return answer({"items": ITEMS[start : start + 3], **({holder: told} if holder else told)})

    return style


def url_in_body(holder: str, name: str, start_name: str) -> Any:
    def style(query: dict[str, Any]) -> Any:
        start = int(query.get(start_name, 0))
        following = f"http://internal.example/x?{start_name}={start + 3}&limit=3" if start + 3 < len(ITEMS) else None
        told = {name: following}
        return answer({"results": ITEMS[start : start + 3], "count": 7, **({holder: told} if holder else told)})

    return style


def offset(name: str, total: str | None, base: int = 0) -> Any:
    def style(query: dict[str, Any]) -> Any:
        start = int(query.get(name, base)) - base
        return answer({"values": ITEMS[start : start + 3], **({total: len(ITEMS)} if total else {})})

    return style


def numbered(told: Any, first: int = 1) -> Any:
    def style(query: dict[str, Any]) -> Any:
        page = int(query.get("page", first)) - first
        return answer({"data": ITEMS[page * 3 : page * 3 + 3], **told(page)})

    return style


def total_header(query: dict[str, Any]) -> Any:
    page = int(query.get("page", 1))
    return answer(ITEMS[page * 3 - 3 : page * 3], **{"X-Total-Pages": "3"})


TEXT, NUMBER = {"type": "string"}, {"type": "integer"}
STYLES: dict[str, tuple[Any, dict[str, Any], dict[str, Any]]] = {
    "GitHub: Link": (link, {"page": NUMBER, "per_page": NUMBER}, {"per_page": 3}),
    "Link, page not asked for": (link, {"page": NUMBER}, {}),
    "Stripe: has_more and starting_after": (
        stripe,
        {"limit": NUMBER, "starting_after": TEXT, "ending_before": TEXT},
        {"limit": 3},
    ),
    "Slack: response_metadata.next_cursor": (
        cursor("response_metadata", "next_cursor", "cursor"),
        {"cursor": TEXT, "limit": NUMBER},
        {},
    ),
    "Google: nextPageToken": (cursor("", "nextPageToken", "pageToken"), {"pageToken": TEXT}, {}),
    "AIP: next_page_token": (cursor("", "next_page_token", "page_token"), {"page_token": TEXT}, {}),
    "AWS: NextToken": (cursor("", "NextToken", "NextToken"), {"NextToken": TEXT}, {}),
    "Kubernetes: metadata.continue": (
        cursor("metadata", "continue", "continue"),
        {"continue": TEXT, "limit": NUMBER},
        {"limit": 3},
    ),
    "Relay: page_info.end_cursor": (cursor("page_info", "end_cursor", "after"), {"after": TEXT, "first": NUMBER}, {}),
    "Datadog: meta.page.after": (
        lambda q: (lambda a: answer({**a, "meta": {"page": {"after": a["next"]}}, "next": None}))(
            json.loads(cursor("", "next", "page[cursor]")(q)[2])
        ),
        {"page[cursor]": TEXT, "page[limit]": NUMBER},
        {},
    ),
    "Notion: next_cursor, start_cursor": (cursor("", "next_cursor", "start_cursor"), {"start_cursor": TEXT}, {}),
    "OData: @odata.nextLink": (url_in_body("", "@odata.nextLink", "$skip"), {"$skip": NUMBER, "$top": NUMBER}, {}),
    "JSON:API: links.next": (url_in_body("links", "next", "page[offset]"), {"page[offset]": NUMBER}, {}),
    "HAL: _links.next.href": (
        lambda q: (lambda a: answer({**json.loads(a[2]), "_links": {"next": {"href": json.loads(a[2])["n"]}}}))(
            url_in_body("", "n", "start")(q)
        ),
        {"start": NUMBER},
        {},
    ),
    "Django: next": (url_in_body("", "next", "offset"), {"offset": NUMBER, "limit": NUMBER}, {}),
    "Jira: startAt and total": (offset("startAt", "total"), {"startAt": NUMBER, "maxResults": NUMBER}, {}),
    "offset and limit, no total": (
        offset("offset", None),
        {"offset": {"type": "integer", "default": 0}, "limit": NUMBER},
        {"limit": 3},
    ),
    "offset alone": (offset("skip", None), {"skip": NUMBER}, {}),
    "Box: total_count, where markers were not asked for": (
        lambda q: answer({**json.loads(offset("offset", "total_count")(q)[2]), "next_marker": None}),
        {"offset": NUMBER, "limit": NUMBER, "marker": TEXT, "usemarker": {"type": "boolean"}},
        {"limit": 3},
    ),
    "SCIM: startIndex": (offset("startIndex", "totalResults", 1), {"startIndex": NUMBER, "count": NUMBER}, {}),
    "page and total_pages": (numbered(lambda page: {"meta": {"total_pages": 3}}), {"page": NUMBER}, {}),
    "page, per_page and total": (
        numbered(lambda page: {"total": 7}),
        {"page": NUMBER, "per_page": NUMBER},
        {"per_page": 3},
    ),
    "page, full pages": (
        numbered(lambda page: {}),
        {"page": NUMBER, "per_page": {"type": "integer", "default": 3}},
        {},
    ),
    "Spring: last, pages from 0": (
        numbered(lambda page: {"last": page == 2}, 0),
        {"page": {"type": "integer", "minimum": 0}, "size": NUMBER},
        {},
    ),
    "nextPage": (numbered(lambda page: {"nextPage": page + 2 if page < 2 else None}), {"page": NUMBER}, {}),
    "X-Total-Pages": (total_header, {"page": NUMBER}, {}),
}


def paged(style: Any) -> Any:
    return lambda told: style({k: v[0] for k, v in parse_qs(urlsplit(told["path"]).query).items()})


@pytest.fixture
def gateway(host: Any, upstream: Any, document: Any) -> Any:
    """A gateway with one function `api.op` of these query parameters."""

    def make(parameters: dict[str, Any], limits: str = "", method: str = "get") -> Any:
        listed = [{"name": name, "in": "query", "schema": schema} for name, schema in parameters.items()]
        made = document({"/x": {method: {"operationId": "op", "parameters": listed}}})
        (host.folder / "openapi.json").write_text(json.dumps(made))
        host.install("source", "openapi", OpenAPI)
        config = f'cache = "none"\nplugins = []\n{limits}\n[servers.api]\nsource = "openapi"\nspec = "openapi.json"\n'
        config += f'base_url = "{upstream.url}"\n'
        return host.gateway(config)

    return make


async def pages(gate: Any, arguments: dict[str, Any] | None = None, **options: Any) -> Any:
    return await gate.call("doorward.pages", {"function": "api.op", "arguments": arguments or {}, **options})


def ids(found: list[Any]) -> list[str]:
    """Of the items of all pages."""
    return [
        item["id"]
        for page in found
        for item in (page if isinstance(page, list) else next(v for v in page.values() if isinstance(v, list)))
    ]


@pytest.mark.slow
@pytest.mark.parametrize("name", STYLES)
async def test_openapi_pages_are_followed_to_their_end(gateway: Any, upstream: Any, name: str) -> None:
    """Every item once, in order, in whatever way the API tells where the next page is."""
    style, parameters, arguments = STYLES[name]
    upstream.answers["/x"] = paged(style)
    async with gateway(parameters) as gate:
        found = await pages(gate, arguments)
    assert ids(found) == [item["id"] for item in ITEMS]
    assert 3 <= len(upstream.seen) <= 4


@pytest.mark.parametrize(
    ("style", "parameters"),
    [
        (lambda q: answer({"items": ITEMS, "next_cursor": "same"}), {"cursor": TEXT}),
        (lambda q: answer({"items": ITEMS, "next_cursor": "b" if q.get("cursor") == "a" else "a"}), {"cursor": TEXT}),
        (lambda q: answer(ITEMS), {"offset": NUMBER}),
        (lambda q: answer(ITEMS, Link='</x?page=1>; rel="next"'), {"page": NUMBER}),
        (lambda q: answer({"data": ITEMS, "has_more": True}), {"starting_after": TEXT}),
        (lambda q: answer({"data": [], "total": 900}), {"page": NUMBER, "per_page": NUMBER}),
        (lambda q: answer({"a": 1}), {"page": NUMBER}),
        (lambda q: answer([]), {"page": NUMBER}),
        (lambda q: answer(ITEMS), {"q": TEXT}),
        (lambda q: answer("text"), {"page": NUMBER}),
    ],
)
async def test_openapi_pages_always_end(gateway: Any, upstream: Any, style: Any, parameters: Any) -> None:
    """The same page or cursor again, nothing on a page, or nothing that looks like paging: the end."""
    upstream.answers["/x"] = paged(style)
    async with gateway(parameters) as gate:
        found = await pages(gate)
    assert 1 <= len(found) <= 3
    assert len(upstream.seen) <= 3


@pytest.mark.slow
async def test_openapi_pages_are_bounded(gateway: Any, upstream: Any) -> None:
    """By `most`, and by the calls that the run may make."""
    upstream.answers["/x"] = paged(lambda q: answer({"items": [q], "next_cursor": f"c{q.get('cursor', '')}"}))
    async with gateway({"cursor": TEXT}, "[limits]\ncalls = 10") as gate:
        assert len(await pages(gate, most=2)) == 2
        assert len(await pages(gate)) == 10
        with pytest.raises(InvalidArguments, match="needs a function or its name"):
            await gate.call("doorward.pages", {"function": 3})


async def test_openapi_a_next_page_is_never_elsewhere(gateway: Any, upstream: Any) -> None:
    """An answer can change query arguments of the same function, and neither the host nor the path."""
    told = '<http://169.254.169.254/latest/meta-data?page=2&token=x&other=1>; rel="next"'
    upstream.answers["/x"] = paged(
        lambda q: answer([q] if q.get("page") != "3" else [], **({} if "page" in q else {"Link": told}))
    )
    async with gateway({"page": NUMBER}) as gate:
        assert await pages(gate) == [[{}], [{"page": "2"}], []]
    assert [seen["path"] for seen in upstream.seen] == ["/x", "/x?page=2", "/x?page=3"]


@pytest.mark.slow
@pytest.mark.parametrize("told", ["link", "next", "paging", "@odata.nextLink"])
@pytest.mark.parametrize(
    "place",
    [
        "{elsewhere}/x",
        "//evil.test/x",
        "{home}/admin/keys",
        "/admin/keys",
        "/x/../admin/keys",
        "http://u:p@{elsewhere_host}/x",
        "file:///x",
    ],
)
async def test_openapi_foreign_links_turn_pages_and_nothing_else(
    gateway: Any, upstream: Any, elsewhere: Any, told: str, place: str
) -> None:
    """Whatever place a link names, the same function is asked with the same method, and nobody else sees a request."""
    place = place.format(
        elsewhere=elsewhere.url, home=upstream.url, elsewhere_host=elsewhere.url.removeprefix("http://")
    )
    url = f"{place}?page={{}}&owner=mallory&flag=true&size=7&_method=DELETE&X-HTTP-Method-Override=DELETE"

    def style(query: dict[str, Any]) -> Any:
        page = int(query.get("page", 1))
        link = url.format(page + 1) if page < 3 else ""
        if told == "link":
            return answer([query], **({"Link": f'<{link}>; rel="next"'} if link else {}))
        return answer({"items": [query], **({"paging": {"next": link}} if told == "paging" else {told: link})})

    upstream.answers["/x"] = paged(style)
    flag = {"type": "boolean"}
    async with gateway({"page": NUMBER, "owner": TEXT, "flag": flag, "size": NUMBER, "_method": TEXT}) as gate:
        await pages(gate, {"owner": "me", "flag": False})
    assert elsewhere.seen == []
    assert {(seen["method"], urlsplit(seen["path"]).path) for seen in upstream.seen} == {("GET", "/x")}
    asked = [parse_qs(urlsplit(seen["path"]).query) for seen in upstream.seen]
    assert [one.get("page") for one in asked] == [None, ["2"], ["3"]]
    assert all((one["owner"], one["flag"]) == (["me"], ["false"]) and "_method" not in one for one in asked)


@pytest.mark.parametrize("method", ["post", "delete"])
async def test_openapi_links_of_writes_turn_pages_at_most(gateway: Any, upstream: Any, method: str) -> None:
    """An answer to what may change something adds no argument; what deletes is never repeated for the sake of a
    page."""
    told = '</x?page=2&notify=all>; rel="next"'
    upstream.answers["/x"] = paged(lambda q: answer([q] if "page" not in q else [], Link=told))
    async with gateway({"page": NUMBER, "notify": TEXT}, method=method) as gate:
        await pages(gate)
    assert [seen["path"] for seen in upstream.seen] == ["/x", "/x?page=2"][: 2 if method == "post" else 1]


async def test_openapi_links_that_never_end_are_bounded(gateway: Any, upstream: Any) -> None:
    """Another link on every page ends with the calls of the run."""
    upstream.answers["/x"] = paged(
        lambda q: answer([q], Link=f'</x?cursor={len(q.get("cursor", "")) * "a"}b>; rel="next"')
    )
    async with gateway({"cursor": TEXT}, "[limits]\ncalls = 5") as gate:
        assert len(await pages(gate)) == 5


async def test_openapi_a_token_of_megabytes_is_none(gateway: Any, upstream: Any) -> None:
    """It would be sent with each page."""
    upstream.answers["/x"] = paged(lambda q: answer({"items": [q], "next_cursor": "a" * 2**20}))
    async with gateway({"cursor": TEXT}) as gate:
        assert len(await pages(gate)) == 1


@pytest.mark.skipif(
    not os.environ.get("DOORWARD_SPECS"), reason="the folder of documents is absent: DOORWARD_SPECS names it"
)
@pytest.mark.parametrize(
    ("file", "function", "path", "style", "arguments"),
    [
        (
            "github.json.zst",
            "issues_list_for_repo",
            "/repos/o/r/issues",
            link,
            {"owner": "o", "repo": "r", "per_page": 3},
        ),
        ("stripe-2023-09-12.yaml.zst", "get_customers", "/v1/customers", stripe, {"limit": 3}),
        (
            "kubernetes-swagger.json.zst",
            "list_core_v1_node",
            "/api/v1/nodes",
            cursor("metadata", "continue", "continue"),
            {"limit": 3},
        ),
        (
            "slack_web_v2.json.zst",
            "conversations_list",
            "/conversations.list",
            cursor("response_metadata", "next_cursor", "cursor"),
            {},
        ),
        ("jira-guru.json.zst", "search_projects", "/rest/api/3/project/search", offset("startAt", "total"), {}),
    ],
)
@pytest.mark.slow
async def test_openapi_pages_of_real_documents(
    host: Any, upstream: Any, file: str, function: str, path: str, style: Any, arguments: Any
) -> None:
    """The functions of GitHub's, Stripe's, Kubernetes', Slack's and Jira's own documents, against their ways of
    paging."""
    host.install("source", "openapi", OpenAPI)
    spec = Path(os.environ["DOORWARD_SPECS"]) / file
    config = f'cache = "none"\nplugins = []\n[servers.api]\nsource = "openapi"\nspec = "{spec}"\nbase_url = "{upstream.url}"\n'
    upstream.answers[path] = paged(style)
    async with host.gateway(config) as gate:
        await gate.readiness.compiled.wait()  # on a busy machine that takes longer than callers wait
        found = await gate.call("doorward.pages", {"function": f"api.{function}", "arguments": arguments})
    assert ids(found) == [item["id"] for item in ITEMS]
    assert len(upstream.seen) == 3
