"""What functions are called: readable, the same wherever an operation stands in its document, and kept over
recompiles."""

from __future__ import annotations

import json
from typing import Any

import pytest

pytestmark = pytest.mark.anyio
BEFORE = {"/a": "getUser", "/b": "list_all", "/c": "class"}


def described(paths: dict[str, str]) -> dict[str, Any]:
    operations = {path: {"get": {"operationId": name} if name else {}} for path, name in paths.items()}
    return {
        "openapi": "3.1.0",
        "info": {"title": "t", "version": "1"},
        "servers": [{"url": "http://127.0.0.1:9"}],
        "paths": operations,
    }


async def named(host: Any, paths: dict[str, str], more: str = "") -> dict[str, str]:
    """The names in the catalog by path, after a compile of the document."""
    (host.folder / "api.json").write_text(json.dumps(described(paths)))
    config = f'[servers.api]\nsource = "openapi"\nspec = "api.json"\n{more}'
    async with host.gateway(config) as gate:
        await gate.compile()
        return {f.route.removeprefix("GET "): f.name for f in gate.catalog.functions("api")}


@pytest.fixture(name="host")
def _host(host: Any) -> Any:
    host.install_real("openapi")
    return host


@pytest.mark.slow
@pytest.mark.parametrize(
    "added",
    [
        {"/new": "something_else"},
        {"/new": "get_user"},
        {"/new": "get-user"},
        {"/new": "getUser"},
        {"/": "getUser"},
        {"/new": "GET /a"},
        {"/new": ""},
        {"/new": "list-all", "/new2": "listAll", "/new3": "list.all"},
    ],
    ids=lambda added: " ".join(added.values()) or "no id",
)
@pytest.mark.parametrize("front", [True, False], ids=["in front", "behind"])
async def test_openapi_an_added_operation_renames_no_other(host: Any, added: dict[str, str], front: bool) -> None:
    """Whatever comes to a document, wherever it stands there: who has a name keeps it. CONTRACT: SRC-11."""
    before = await named(host, BEFORE)
    assert before == {"/a": "get_user", "/b": "list_all", "/c": "class_"}
    after = await named(host, {**added, **BEFORE} if front else {**BEFORE, **added})
    assert before.items() <= after.items()
    assert len(set(after.values())) == len(BEFORE) + len(added)
    again = await named(host, {**BEFORE, **added}, "exclude = []")
    assert again == after


async def test_openapi_an_old_duplicate_keeps_the_name(host: Any) -> None:
    """Of operations with one id, the one that was there before has the name, though the newcomer's route is shorter."""
    before = await named(host, {"/long/route": "same"})
    after = await named(host, {"/a": "same", "/long/route": "same"})
    assert before["/long/route"] == after["/long/route"] == "same"
    assert after["/a"].startswith("same_")


async def test_openapi_a_name_stays_with_an_id_that_moves(host: Any) -> None:
    """An operation with a clashing id that gets another route keeps its name."""
    before = await named(host, {"/a": "get_user", "/b": "getUser"})
    after = await named(host, {"/a": "get_user", "/v2/b": "getUser"})
    assert before["/b"] == after["/v2/b"] != "get_user"


async def test_openapi_names_do_not_depend_on_the_order(api: Any) -> None:
    """A fresh compile gives the same names whatever the order of the document."""
    paths = {
        "/a": "get-user",
        "/b": "getUser",
        "/c": "get_user",
        "/dd": "same",
        "/e": "same",
        "/f": "",
        "/g": "日本",
        "/h": "get_f",
    }
    one = {f.route: f.name for f in (await api(described(paths))).compiled.functions}
    other = {f.route: f.name for f in (await api(described(dict(reversed(paths.items()))))).compiled.functions}
    assert one == other
    assert (one["GET /c"], one["GET /e"], one["GET /dd"]) == ("get_user", "same", "get_dd")


async def test_openapi_an_opaque_id_is_no_name(api: Any) -> None:
    """An id that is but a digest or a UUID tells nobody what the function does: its route does. The id still finds
    it."""
    made = await api(
        described(
            {
                "/stations": "5476364f031f5909e4fe3319",
                "/lines": "a7bd4b1e-9c7a-4b62-a36f-46b3a3a4a9a1",
                "/x": "deadbeef",
            }
        )
    )
    assert [(f.name, f.id) for f in made.compiled.functions] == [
        ("get_stations", "5476364f031f5909e4fe3319"),
        ("get_lines", "a7bd4b1e-9c7a-4b62-a36f-46b3a3a4a9a1"),
        ("deadbeef", "deadbeef"),
    ]


async def test_openapi_a_hooks_name_wins(host: Any) -> None:
    """A plugin that renames functions does so at every compile, from what the source calls them."""
    from dataclasses import replace

    from doorward import hookimpl

    class Renames:
        def __init__(self, context: Any) -> None:
            pass

        @hookimpl
        def source_compiled(self, server: str, functions: list[Any]) -> None:
            functions[:] = [replace(f, name=f"{f.name}_v1") for f in functions]

    host.install("plugin", "renames", Renames)
    for paths in (BEFORE, {"/new": "x", **BEFORE}):
        (host.folder / "api.json").write_text(json.dumps(described(paths)))
        async with host.gateway(
            'plugins = ["renames"]\n[servers.api]\nsource = "openapi"\nspec = "api.json"\n'
        ) as gate:
            await gate.compile()
            assert {"get_user_v1", "list_all_v1", "class__v1"} <= set(gate.catalog.names("api"))


async def test_openapi_the_original_id_finds_a_function(host: Any) -> None:
    """get_functions takes names, original ids and routes of operations without one. CONTRACT: SRC-11."""
    (host.folder / "api.json").write_text(
        json.dumps(described({"/a": "issues/get-all", "/long" * 70: "", "/b#c": "x#y"}))
    )
    async with host.gateway('[servers.my-api]\nsource = "openapi"\nspec = "api.json"\n') as gate:
        await gate.compile()
        asked = [
            "my-api.issues/get-all",
            "my_api.issues_get_all",
            "mcp__my-api__issues/get-all",
            f"my-api.GET {'/long' * 70}",
            "my_api.x#y",
        ]
        cards = await gate.get_functions(asked)
        assert [card.get("error") for card in cards] == [None] * 5


async def test_openapi_a_class_of_a_function_is_shown_in_full(host: Any) -> None:
    """get_functions answers `server.function#Class` with the class, and a wrong one with the right names. CONTRACT:
    SRC-10."""
    item = {"type": "object", "properties": {"id": {"type": "integer"}, "next": {"$ref": "#/components/schemas/Item"}}}
    content = {"application/json": {"schema": {"$ref": "#/components/schemas/Item"}}}
    document = described({"/a": "get-item"})
    document["paths"]["/a"]["get"]["responses"] = {"200": {"content": content}}
    document["components"] = {"schemas": {"Item": item}}
    (host.folder / "api.json").write_text(json.dumps(document))
    async with host.gateway('[servers.my-api]\nsource = "openapi"\nspec = "api.json"\n') as gate:
        await gate.compile()
        right, wrong, nobody = await gate.get_functions(
            ["my-api.get-item#GetItemResponse", "my-api.get_item#Else", "my_api.nothing#X"]
        )
    assert right == {"function": "my_api.get_item#GetItemResponse", "text": right["text"]}
    assert "id: int" in right["text"]
    assert "GetItemResponse" in wrong["error"]
    assert "no function" in nobody["error"]
