"""Further requests of a call: a redirect or a link leads to no function that may not be called."""

from __future__ import annotations

import json
from typing import Any

import pytest
from doorward import Call, Refused
from doorward_openapi import OpenAPI
from doorward_testing.samples import InProcess

pytestmark = pytest.mark.anyio

NEXT = [{"name": "next", "in": "query", "schema": {"type": "string"}}]
ID = [{"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}]
PATHS: dict[str, Any] = {
    "/go": {
        "get": {"operationId": "go", "parameters": NEXT},
        "head": {"operationId": "look", "parameters": NEXT},
        "post": {"operationId": "send", "parameters": NEXT},
    },
    "/admin/secret": {"get": {"operationId": "secret"}, "delete": {"operationId": "wipe"}},
    "/admin/{id}/keys": {"get": {"operationId": "keys", "parameters": ID}},
    "/pay": {"post": {"operationId": "pay"}},
    "/notes": {"post": {"operationId": "note"}},
    "/items/{id}": {"get": {"operationId": "item", "parameters": ID}},
}
DENIALS = {
    "a list": ("[policy]\ndeny = ['api.secret', 'api.keys', 'api.pay']", ""),
    "a list of what is allowed": ("[policy]\nallow = ['api.go', 'api.look', 'api.send']", ""),
    "a rule": ("[[policy.rules]]\nmatch = ['api.secret', 'api.keys', 'api.pay']\nthen = 'deny'", ""),
    "a person": ("[[policy.rules]]\nmatch = ['api.secret', 'api.keys', 'api.pay']\nthen = 'confirm'", ""),
    "the default": (
        "[policy]\ndefault = 'deny'\n[[policy.rules]]\nmatch = ['api.go', 'api.look', 'api.send']\nthen = 'allow'",
        "",
    ),
    "exclude": ("", "exclude = ['secret', 'keys', 'pay']"),
    "include": ("", "include = ['go', 'look', 'send', 'item']"),
}


@pytest.fixture(autouse=True)
def _rules(host: Any) -> None:
    host.install_real("doorward-policy-rules")


@pytest.fixture
def gateway(host: Any, upstream: Any, document: Any) -> Any:
    """A gateway with the functions above; `/go` redirects to `next`, by the status in `upstream.status`."""
    host.install("source", "openapi", OpenAPI)
    host.install("executor", "inprocess", InProcess)
    (host.folder / "openapi.json").write_text(json.dumps(document(PATHS)))
    upstream.status = 302

    def go(told: Any) -> Any:
        from urllib.parse import parse_qs, urlsplit

        target = parse_qs(urlsplit(told["path"]).query).get("next")
        return (upstream.status, {"Location": target[0]}, b"") if target else (200, {}, b"")

    upstream.answers["/base/go"] = go

    def make(config: str = "", server: str = "") -> Any:
        text = f'executor = "inprocess"\ncache = "none"\nplugins = []\n{config}\n[servers.api]\nsource = "openapi"\nspec = "openapi.json"\n'
        return host.gateway(f'{text}base_url = "{upstream.url}/base"\n{server}\n')

    return make


def sent(upstream: Any) -> list[str]:
    """The requests that were made, but for those to `/go`."""
    made = [f"{seen['method']} {seen['path']}" for seen in upstream.seen]
    return [each for each in made if not each.split(" ")[1].startswith("/base/go")]


@pytest.mark.parametrize("by", DENIALS)
@pytest.mark.parametrize("function", ["go", "look"])
async def test_openapi_no_redirect_leads_to_what_may_not_be_called(
    gateway: Any, upstream: Any, by: str, function: str
) -> None:
    """Whoever says so: the request is not made, and the error names what it would have been."""
    async with gateway(*DENIALS[by]) as gate:
        for place, name in (("/admin/secret", "secret"), ("/admin/7/keys", "keys")):
            with pytest.raises(Refused, match=rf"redirects to .*{place}, which is not followed: .*{name}"):
                await gate.call(f"api.{function}", {"next": f"/base{place}"})
    assert sent(upstream) == []


@pytest.mark.parametrize("by", DENIALS)
async def test_openapi_no_write_is_redirected_to_what_may_not_be_called(gateway: Any, upstream: Any, by: str) -> None:
    """Nor is it made anew as another one (307, 308), or as a read (303)."""
    async with gateway(*DENIALS[by]) as gate:
        for upstream.status, place in ((307, "/pay"), (308, "/pay"), (303, "/admin/secret")):
            with pytest.raises(Refused, match="which is not followed"):
                await gate.call("api.send", {"next": f"/base{place}"})
    assert sent(upstream) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "place",
    [
        *("/base//admin/secret", "//{host}/base/admin/secret", "{url}/base/admin/secret?a=1#b", "admin/secret"),
        *("/base/admin/secret/", "/base/ADMIN/Secret", "/BASE/admin/secret", "/base/%61dmin/secret"),
        *("/%62ase/admin/secret", "/base/admin%2Fsecret", "/base/admin%252Fsecret", "/base;a/admin;b=1/secret;c"),
        *("/base/admin/secret%3Fa", "/base/x/../admin/secret", "/base/x/%2e%2e/admin/secret", "{url}/base/./admin/secret"),
        *("{url}/base/x/..;/admin/secret", "/base/admin/secret%00", "/base/admin/%73ecret%20", "/base/admin/7%2Fkeys"),
        *("/base/items/3?_method=DELETE", "/base/admin/secret%EF%BC%9Fa", "/base/items/3?a=1;_method=DELETE"),
        "/base/go?next=/base/admin/secret",
    ],
)  # fmt: skip
async def test_openapi_no_spelling_gets_around(gateway: Any, upstream: Any, place: str) -> None:
    """However its path is written, by way of whatever other redirect, and whatever its query makes of it."""
    config = "[policy]\ndeny = ['api.secret', 'api.keys', 'api.wipe']"
    async with gateway(config) as gate:
        with pytest.raises(Refused, match="which is not followed"):
            await gate.call("api.go", {"next": place.format(url=upstream.url, host=upstream.url.partition("//")[2])})
    assert sent(upstream) == []


async def test_openapi_redirects_to_what_may_be_called_are_followed(gateway: Any, upstream: Any) -> None:
    """To another function that is allowed, and to the same request with a slash at its end."""
    upstream.answers["/base/go/"] = (200, {}, b"")
    config = "[policy]\ndeny = ['api.secret']\n[[policy.rules]]\nmatch = 'api.send'\nwhen = 'false'\nthen = 'deny'"
    async with gateway(config) as gate:
        await gate.call("api.go", {"next": "/base/items/3"})
        upstream.status = 307
        await gate.call("api.send", {"next": "/base/notes"})
        upstream.answers["/base/go"] = (307, {"Location": "/base/go/?next=a"}, b"")
        await gate.call("api.send", {"next": "a"})
    assert sent(upstream) == ["GET /base/items/3", "POST /base/notes"]
    assert upstream.seen[-1]["path"] == "/base/go/?next=a"


NOTHING = "/base/nothing/of/the/document"
ALLOWED = "[[policy.rules]]\nmatch = ['api.go', 'api.send']\nthen = 'allow'"


@pytest.mark.parametrize(
    ("config", "server", "why"),
    [
        ("", "", ""),
        ("[policy]\ndeny = ['api.secret']", "include = ['go']", ""),
        (f"[policy]\ndefault = 'deny'\n{ALLOWED}", "", "[policy] default"),
        (f"[policy]\ndefault = 'confirm'\n{ALLOWED}", "", "may need a person's approval"),
        (f"[policy]\ndefault = 'deny'\n{ALLOWED}\n[[policy.rules]]\nmatch='GET {NOTHING}'\nthen='allow'", "", ""),
        (f"[policy]\ndefault = 'deny'\n{ALLOWED}\n[[policy.rules]]\nmatch='GET /base/n'\nthen='allow'", "", "default"),
        ("[policy]\nallow = ['api.go', 'api.send']", "", "[policy] allow"),
        ("[[policy.rules]]\nmatch = 'GET /**/document'\nthen = 'deny'", "", "[[policy.rules]] 1"),
        ("[[policy.rules]]\nmatch = 'GET /**/document'\nthen = 'confirm'", "", "approval"),
        ("", "exclude = ['GET /nothing/**']", "is left out"),
        ("", "exclude = ['/base/nothing/**']", "is left out"),
    ],
)
async def test_openapi_a_route_of_no_function_is_as_the_default_says(
    gateway: Any, upstream: Any, config: str, server: str, why: str
) -> None:
    """A read of what the document does not have is decided like a function of that route that no rule names."""
    async with gateway(config, server) as gate:
        if why:
            with pytest.raises(Refused, match="which is not followed") as refused:
                await gate.call("api.go", {"next": NOTHING})
            assert why in str(refused.value)
        else:
            await gate.call("api.go", {"next": NOTHING})
    assert sent(upstream) == ([] if why else [f"GET {NOTHING}"])


async def test_openapi_no_write_goes_to_what_is_no_function(gateway: Any, upstream: Any) -> None:
    """What the API would do with it, nobody has said. To narrow a run to functions narrows nothing of that."""
    upstream.status = 307
    async with gateway() as gate:
        with pytest.raises(Refused, match=r"POST /base/nothing\S* is no function of api, and may change something"):
            await gate.call("api.send", {"next": NOTHING})
        assert sent(upstream) == []
        upstream.status = 302
        outcome = await gate.execute(f"await doorward.call('api.go', next={NOTHING!r})", functions=["api.go"])
        assert outcome.ok, outcome.error
    assert sent(upstream) == [f"GET {NOTHING}"]


async def test_openapi_what_was_decided_of_arguments_holds(gateway: Any, upstream: Any) -> None:
    """The same function with other arguments is another call, where its arguments decide."""
    upstream.answers["/base/items/1"] = (302, {"Location": "/base/items/2"}, b"")
    rule = "[[policy.rules]]\nmatch = 'api.item'\nwhen = \"args.id == '2'\"\nthen = 'deny'"
    async with gateway(rule) as gate:
        with pytest.raises(Refused, match=r"calls of api\.item are decided one by one"):
            await gate.call("api.item", {"id": "1"})
    assert sent(upstream) == ["GET /base/items/1"]
    async with gateway() as gate:
        await gate.call("api.item", {"id": "1"})
    assert sent(upstream)[1:] == ["GET /base/items/1", "GET /base/items/2"]


async def test_openapi_a_link_and_a_retry_are_asked_about_when_they_are_sent(
    api: Any, operation: Any, document: Any, upstream: Any
) -> None:
    """Not only when the link is found, or the request is made first: the policy may have changed."""
    made = await api(document({"/x": {"get": {"operationId": "op"}}, "/y": {"get": {"operationId": "other"}}}))
    asked: list[Any] = []

    def refuses(request: str, functions: Any) -> str:
        asked.append((request, functions))
        return "not now"

    call = Call(made.functions["op"], {}, link=f"{upstream.url}/y?cursor=1", refuses_further=refuses)
    with pytest.raises(Refused, match="not now"):
        await made.source.call(call)
    assert (asked, upstream.seen) == ([("GET /y", [("other", "GET /y")])], [])
    upstream.answers["/x"] = (503, {"Retry-After": "0"}, b"")
    answers = iter(("", "closed by now"))
    with pytest.raises(Refused, match="closed by now"):
        await made.source.call(Call(made.functions["op"], {}, forbids=lambda route: next(answers)))
    assert len(upstream.seen) == 1


async def test_openapi_by_way_of_another_place_and_back(
    gateway: Any, upstream: Any, host: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing leads to a denied function without credentials either, nor by https. (The other place is behind a proxy.)"""
    upstream.answers["http://files.example/there"] = (302, {"Location": f"{upstream.url}/base/admin/secret"}, b"")
    async with gateway("[policy]\ndeny = ['api.secret']") as gate:
        monkeypatch.setenv("HTTP_PROXY", upstream.url)
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        for place in ("http://files.example/there", f"https{upstream.url[4:]}/base/admin/secret"):
            with pytest.raises(Refused, match="which is not followed"):
                await gate.call("api.go", {"next": place})
    assert sent(upstream) == ["GET http://files.example/there"]
