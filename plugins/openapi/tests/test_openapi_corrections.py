"""Documents that are wrong: fields that they do not name, and fields that they require although the API does not."""

from __future__ import annotations

import json
from typing import Any

import pytest
from doorward import InvalidArguments

pytestmark = pytest.mark.anyio

USER = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "email": {"type": "string"}},
    "required": ["name", "email"],
}
ADMIN = {"type": "boolean", "readOnly": True}
CLOSED = {"allOf": [USER, {"type": "object", "unevaluatedProperties": False}]}


def taking(schema: Any, media: str = "application/json") -> dict[str, Any]:
    return {"requestBody": {"required": True, "content": {media: {"schema": schema}}}}


PATHS = {
    "/users": {"post": {"operationId": "create_user", **taking(USER)}, "get": {"operationId": "list_users"}},
    "/forms": {"post": {"operationId": "fill", **taking(USER, "application/x-www-form-urlencoded")}},
    "/parts": {"post": {"operationId": "send", **taking(USER, "multipart/form-data")}},
    "/closed": {"post": {"operationId": "closed", **taking({**USER, "additionalProperties": False})}},
    "/kept": {
        "post": {"operationId": "kept", **taking({**USER, "properties": {**USER["properties"], "is_admin": ADMIN}})}
    },
    "/unevaluated": {"post": {"operationId": "unevaluated", **taking(CLOSED)}},
}


@pytest.fixture
def gateway(host: Any, upstream: Any) -> Any:
    """Makes a gateway of the document with more settings of the server."""
    host.install_real("openapi", "text", "doorward-corrections")
    document = {"openapi": "3.1.0", "info": {"title": "t", "version": "1"}, "paths": PATHS}
    (host.folder / "api.json").write_text(json.dumps(document))
    head = f'[servers.api]\nsource = "openapi"\nspec = "api.json"\nbase_url = "{upstream.url}"\n'
    return lambda more="": host.gateway(head + more)


async def test_openapi_extra_fields_are_sent(gateway: Any, upstream: Any) -> None:
    """With `extra = "allow"` a field that the document does not name goes into the body, of whatever kind, and the card
    says so."""
    async with gateway('extra = "allow"') as gate:
        await gate.compile()
        given = {"name": "a", "email": "b", "nick": "c"}
        assert json.loads((await gate.call("api.create_user", given))["body"]) == given
        assert (await gate.call("api.fill", given))["body"] == "name=a&email=b&nick=c"
        assert 'name="nick"\r\n\r\nc\r\n' in (await gate.call("api.send", given))["body"]
        [card] = await gate.get_functions(["api.create_user"])
        assert "**kwargs: Any" in card["text"]


@pytest.mark.parametrize("name", ["closed", "unevaluated", "list_users"])
async def test_openapi_extra_is_for_open_bodies_only(gateway: Any, name: str) -> None:
    """What a document closes stays closed, and a request without a body gets none."""
    async with gateway('extra = "allow"') as gate:
        await gate.compile()
        given = {} if name == "list_users" else {"name": "a", "email": "b"}
        with pytest.raises(InvalidArguments, match=r"has no parameter 'nick'$"):
            await gate.call(f"api.{name}", {**given, "nick": "c"})


async def test_openapi_extra_gives_nothing_that_is_only_received(gateway: Any, upstream: Any) -> None:
    """A field that the document names as `readOnly` is not one that it forgot."""
    async with gateway('extra = "allow"') as gate:
        await gate.compile()
        with pytest.raises(InvalidArguments, match="is_admin cannot be given: the document says `readOnly`"):
            await gate.call("api.kept", {"name": "a", "email": "b", "is_admin": True})
        assert await gate.call("api.kept", {"name": "a", "email": "b", "nick": "c"})
    assert len(upstream.seen) == 1


@pytest.mark.parametrize("field", ["_method", "_METHOD", "X-HTTP-Method-Override", "_method\0"])
@pytest.mark.parametrize("name", ["create_user", "fill", "send"])
async def test_openapi_extra_fields_steer_nothing(gateway: Any, upstream: Any, name: str, field: str) -> None:
    """A field that frameworks take for the method is no program's to give, allowed or not."""
    async with gateway('extra = "allow"') as gate:
        await gate.compile()
        with pytest.raises(InvalidArguments, match="the method of the request"):
            await gate.call(f"api.{name}", {"name": "a", "email": "b", field: "DELETE"})
    assert not upstream.seen


@pytest.mark.slow
async def test_openapi_an_error_says_what_the_operator_can_do(gateway: Any) -> None:
    """The agent learns which argument is wrong, and the operator from the same message what to set; that it then
    works."""
    async with gateway() as gate:
        await gate.compile()
        with pytest.raises(InvalidArguments) as missing:
            await gate.call("api.create_user", {"name": "a"})
        with pytest.raises(InvalidArguments) as more:
            await gate.call("api.create_user", {"name": "a", "email": "b", "nick": "c"})
        with pytest.raises(InvalidArguments) as closed:
            await gate.call("api.closed", {"name": "a", "email": "b", "nick": "c"})
    assert "needs the argument 'email'" in str(missing.value)
    assert str(missing.value).endswith('its operator can set optional = ["create_user.email"]')
    assert str(more.value).endswith('its operator can set extra = "allow"')
    assert "operator" not in str(closed.value)
    async with gateway('optional = ["create_user.email", "fill.body.email"]') as gate:
        await gate.compile()
        assert json.loads((await gate.call("api.create_user", {"name": "a"}))["body"]) == {"name": "a"}
        assert (await gate.call("api.fill", {"name": "a"}))["body"] == "name=a"


async def test_openapi_wrong_corrections_are_told(gateway: Any) -> None:
    """`compile` warns of an entry that fits nothing; a value that is none is refused with what may stand there."""
    async with gateway('optional = ["create_usr.email"]') as gate:
        reports = await gate.compile()
        assert reports["api"].warnings == [
            "optional: 'create_usr.email': fits no function; did you mean 'create_user.email'?"
        ]
    async with gateway('extra = "allowed"') as gate:
        await gate.compile()
        assert "'refuse' or 'allow'" in str(gate.servers.broken["api"])
    async with gateway('optinal = ["x.y"]') as gate:
        await gate.compile()
        assert "did you mean 'optional'" in str(gate.servers.broken["api"])
