"""What an answer has besides its value: doorward.reply, and what stands for a body that is not there."""

from __future__ import annotations

import json
from typing import Any

import pytest
from doorward import ApiError, DoorwardError, GuardRefused, hookimpl
from doorward_openapi import OpenAPI

pytestmark = pytest.mark.anyio
KEY = "k3y-4f9c2b7d1e8a6053"
JSON = {"Content-Type": "application/json"}
TEXT = {"type": "string"}


@pytest.fixture
def gateway(host: Any, upstream: Any, document: Any) -> Any:
    """A gateway with `api.op`, of this method and these responses, behind an API key."""
    host.install("source", "openapi", OpenAPI)

    def make(responses: Any = None, *, method: str = "get", plugins: str = "", **node: Any) -> Any:
        made = document({"/x": {method: {"operationId": "op", "responses": responses or {}, **node}}})
        (host.folder / "openapi.json").write_text(json.dumps(made))
        (host.folder / ".env").write_text(f"KEY={KEY}\n")
        auth = 'headers = { X-Api-Key = "${KEY}" }'
        server = f'[servers.api]\nsource = "openapi"\nspec = "openapi.json"\nbase_url = "{upstream.url}"\n{auth}\n'
        return host.gateway(f'cache = "none"\nplugins = [{plugins}]\n{server}')

    return make


async def test_openapi_reply_has_status_and_headers(gateway: Any, upstream: Any) -> None:
    """By names in small letters, beside the value, in one call that counts and is told like any other."""
    upstream.answers["/x"] = 200, {**JSON, "ETag": '"7"', "X-RateLimit-Remaining": "41", "X-Two": "ä"}, b'{"a": 1}'
    async with gateway() as gate:
        reply = await gate.call("doorward.reply", {"function": "api.op", "arguments": {}})
        assert set(reply) == {"value", "status", "headers"}
        assert (reply["value"], reply["status"]) == ({"a": 1}, 200)
        names = ("etag", "x-ratelimit-remaining", "x-two", "content-type")
        assert [reply["headers"][name] for name in names] == ['"7"', "41", "ä", "application/json"]
    assert len(upstream.seen) == 1


HIDDEN = (
    *(
        "Set-Cookie",
        "Cookie",
        "WWW-Authenticate",
        "Proxy-Authenticate",
        "Authorization",
        "Authentication-Info",
        "Connection",
        "X-Token",
    ),
    *(
        "X-Api-Key",
        "X-Auth-Token",
        "X-Subject-Token",
        "X-CSRF-Token",
        "X-Vault-Token",
        "X-Session-Id",
        "X-Amz-Security-Token",
        "X-Client-Secret",
    ),
)


@pytest.mark.slow
@pytest.mark.parametrize("name", HIDDEN)
async def test_openapi_headers_that_are_credentials_are_left_out(gateway: Any, upstream: Any, name: str) -> None:
    """Whatever they hold: who has one is somebody."""
    upstream.answers["/x"] = (
        200,
        {**JSON, name: "anything-at-all-9f3b", "X-Next-Token": "t", "X-Request-Id": "r"},
        b"1",
    )
    async with gateway() as gate:
        headers = (await gate.call("doorward.reply", {"function": "api.op"}))["headers"]
    assert "anything-at-all-9f3b" not in json.dumps(headers)
    assert (headers["x-next-token"], headers["x-request-id"]) == ("t", "r")


@pytest.mark.parametrize("shown", ["{}", "Bearer {}", "https://api.test/?key={}&x=1"])
async def test_openapi_headers_are_scrubbed(gateway: Any, upstream: Any, shown: str) -> None:
    """A credential that was sent does not come back in a header, whatever it is called, nor in the place of what was
    made."""
    upstream.answers["/x"] = 201, {"X-Echo": shown.format(KEY), "Location": "/x/" + shown.format(KEY)}, b""
    async with gateway(method="post") as gate:
        reply = await gate.call("doorward.reply", {"function": "api.op"})
        value = await gate.call("api.op")
    assert KEY not in json.dumps([reply, value])
    assert "[secret]" in reply["headers"]["x-echo"]
    assert "[secret]" in value


async def test_openapi_a_guess_is_withheld_in_headers_too(gateway: Any, upstream: Any) -> None:
    """A program that sends what it guesses is not told by a header whether that was right, nor by what is said of a
    link."""
    parameters = [{"name": "q", "in": "query", "schema": TEXT}]
    for headers in ({"X-Echo": KEY}, {"Link": f'<http://elsewhere.test/{KEY}?cursor=1>; rel="next"'}):
        upstream.answers["/x"] = 200, {**JSON, **headers}, b"[1]"
        async with gateway(parameters=parameters) as gate:
            with pytest.raises(DoorwardError, match="credential"):
                await gate.call("doorward.reply", {"function": "api.op", "q": KEY})
        upstream.answers.clear()


async def test_openapi_a_token_of_the_next_page_shows_no_credential(gateway: Any, upstream: Any) -> None:
    """What an answer gives as the next page's is no program's to read, not in what is said of an argument that does not
    fit either."""
    parameters = [{"name": "cursor", "in": "query", "schema": {**TEXT, "pattern": "^c[0-9]*$"}}]
    upstream.answers["/x"] = 200, JSON, json.dumps({"items": [1], "next_cursor": KEY}).encode()
    async with gateway(parameters=parameters) as gate:
        with pytest.raises(DoorwardError) as caught:
            await gate.call("doorward.pages", {"function": "api.op"})
    assert KEY not in str(caught.value)
    assert "[secret]" in str(caught.value)


async def test_openapi_headers_are_bounded(gateway: Any, upstream: Any) -> None:
    """Those that are too long are left out whole: half of a credential would not be found."""
    upstream.answers["/x"] = 200, {**JSON, **{f"X-{n}": "v" * 5000 for n in range(10)}, "X-Last": "1"}, b"1"
    async with gateway() as gate:
        headers = (await gate.call("doorward.reply", {"function": "api.op"}))["headers"]
    assert sum(len(name) + len(value) for name, value in headers.items()) <= 32 * 2**10
    assert all(len(value) == 5000 for name, value in headers.items() if name.startswith("x-"))


async def test_openapi_guards_see_headers(gateway: Any, host: Any, upstream: Any) -> None:
    """A guard of results is asked about the headers that a program wants, and about none that it does not."""

    class Guard:
        @hookimpl
        def guard_result(self, call: Any, result: Any) -> str | None:
            return "no" if isinstance(result, dict) and "x-internal" in result else None

    host.install("plugin", "guard", Guard())
    upstream.answers["/x"] = 200, {**JSON, "X-Internal": "1"}, b"1"
    async with gateway(plugins='"guard"') as gate:
        assert await gate.call("api.op") == 1
        with pytest.raises(GuardRefused):
            await gate.call("doorward.reply", {"function": "api.op"})


async def test_openapi_what_a_plugin_takes_out_is_not_in_an_error_either(
    gateway: Any, host: Any, upstream: Any
) -> None:
    """A field that is kept out of results does not come back by a 422, in its message or its body."""

    class Redacts:
        @hookimpl
        def change_result(self, result: Any) -> Any:
            if isinstance(result, ApiError):
                body = json.loads(json.dumps(result.body).replace("078-05", "…"))
                return ApiError(result.message.replace("078-05", "…"), status=result.status, body=body)
            return json.loads(json.dumps(result).replace("078-05", "…"))

    host.install("plugin", "redacts", Redacts())
    async with gateway(plugins='"redacts"') as gate:
        upstream.answers["/x"] = 200, JSON, b'{"ssn": "078-05"}'
        assert await gate.call("api.op") == {"ssn": "…"}
        upstream.answers["/x"] = 422, JSON, b'{"message": "078-05 is taken", "input": {"ssn": "078-05"}}'
        with pytest.raises(ApiError) as raised:
            await gate.call("api.op")
    assert raised.value.status == 422
    assert raised.value.body == {"message": "… is taken", "input": {"ssn": "…"}}
    assert "078-05" not in repr([str(raised.value), vars(raised.value)])


@pytest.mark.parametrize(
    ("method", "status", "headers", "value"),
    [
        ("post", 201, {"Location": "/x/7"}, "/x/7"),
        ("put", 201, {"Location": "https://api.test/x/7"}, "https://api.test/x/7"),
        ("post", 202, {"Operation-Location": "/jobs/7", "Location": "/x/7"}, "/jobs/7"),
        ("post", 202, {"Azure-AsyncOperation": "/jobs/7"}, "/jobs/7"),
        ("post", 202, {"Location": "/jobs/7"}, "/jobs/7"),
        ("post", 201, {}, None),
        ("post", 204, {"Location": "/x/7"}, None),
        ("delete", 200, {"Location": "/x/7"}, None),
    ],
)
async def test_openapi_the_place_of_what_was_made_is_the_value(
    gateway: Any, upstream: Any, method: str, status: int, headers: dict[str, str], value: Any
) -> None:
    """Of an answer without a body, for 201 and 202; a body is the value where there is one."""
    upstream.answers["/x"] = status, headers, b""
    async with gateway(method=method) as gate:
        assert await gate.call("api.op") == value
        reply = await gate.call("doorward.reply", {"function": "api.op"})
        assert (reply["value"], reply["status"]) == (value, status)
        if status in (200, 201, 202):
            upstream.answers["/x"] = status, {**JSON, **headers}, b'{"id": 7}'
            assert await gate.call("api.op") == {"id": 7}


async def test_openapi_the_value_of_head_are_its_headers(gateway: Any, upstream: Any) -> None:
    """Which is all that it answers."""
    upstream.answers["/x"] = 200, {"ETag": '"7"', "Set-Cookie": "a=b"}, b""
    async with gateway(method="head") as gate:
        value = await gate.call("api.op")
    assert value["etag"] == '"7"'
    assert "set-cookie" not in value


async def test_openapi_errors_are_raised_by_reply_too(gateway: Any, upstream: Any) -> None:
    """As by the call itself."""
    upstream.answers["/x"] = 404, JSON, b'{"detail": "none"}'
    async with gateway() as gate:
        with pytest.raises(ApiError) as raised:
            await gate.call("doorward.reply", {"function": "api.op"})
    assert raised.value.status == 404


async def test_openapi_bytes_have_headers_too(gateway: Any, upstream: Any) -> None:
    """The value of a reply with a file is its handle."""
    upstream.answers["/x"] = 200, {"Content-Type": "image/png", "Last-Modified": "now"}, b"\x89PNG"
    async with gateway() as gate:
        reply = await gate.call("doorward.reply", {"function": "api.op"})
    assert reply["value"]["artefact"].startswith("doorward://results/")
    assert reply["headers"]["last-modified"] == "now"


DECLARED: dict[str, Any] = {
    "description": "",
    "headers": {n: {"schema": TEXT} for n in ("ETag", "X-Total", "Set-Cookie", "X-Api-Key", "Bad\nName")},
}


async def test_openapi_cards_name_the_headers(gateway: Any) -> None:
    """Of a document that declares them, without those that nobody gets."""
    async with gateway({"200": DECLARED, "404": {"headers": {"X-Error": {}}}}) as gate:
        text = (await gate.get_functions(["api.op"]))[0]["text"]
        compile(text, "card", "exec")
    assert "headers by doorward.reply: etag, x-total" in text
    assert "x-api-key" not in text
    assert "x-error" not in text


async def test_openapi_cards_say_nothing_of_headers_that_nobody_declares(gateway: Any) -> None:
    """It would cost tokens."""
    async with gateway({"200": {"description": ""}}) as gate:
        assert "doorward.reply" not in (await gate.get_functions(["api.op"]))[0]["text"]


@pytest.mark.parametrize(("responses", "method", "returns"), [
    ({"201": {"headers": {"Location": {}}}}, "post", "-> str"),
    ({"202": {"headers": {"Operation-Location": {}, "Location": {}}}}, "post", "-> str"),
    ({"200": {"headers": {"ETag": {}}}}, "head", "-> dict"),
    ({"201": {"headers": {"Location": {}}, "content": {"application/json": {"schema": {"type": "integer"}}}}}, "post", "-> int"),
    ({"201": {}}, "post", "-> Any"),
])  # fmt: skip
async def test_openapi_signatures_say_what_stands_for_a_body(
    gateway: Any, responses: Any, method: str, returns: str
) -> None:
    """The place where a document declares it, the headers of a HEAD; else what the document says."""
    async with gateway(responses, method=method) as gate:
        assert returns in (await gate.get_functions(["api.op"]))[0]["signature"]
