"""Functions under the names that they had: what was written for those goes on."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from doorward import Gateway

from .product import BASE, Answering, web

pytestmark = pytest.mark.anyio

LONG, BRIEF = "read_user_users_user_id_get", "read_user"
IDS = {"/users/{user_id}": {"get": "read_user_users__user_id__get", "delete": "remove_user_users__user_id__delete"}}
IDS |= {"/users": {"get": "list_all_users_get"}, "/teams": {"get": "list_all_teams_get"}}
USER = [{"name": "user_id", "in": "path", "required": True, "schema": {"type": "integer"}}]


class Users(Answering):
    """Answers with the path."""

    def do_GET(self) -> None:
        self.answer(self.path)

    do_DELETE = do_GET


def configured(folder: Path, url: str, more: str = "", server: str = "") -> Path:
    """A configuration of one server, whose document has ids as FastAPI makes them."""
    paths: dict[str, Any] = {
        path: {method: {"operationId": id} for method, id in methods.items()}
        | ({"parameters": USER} if "{" in path else {})
        for path, methods in IDS.items()
    }
    document = {"openapi": "3.1.0", "info": {"title": "Users", "version": "1"}, "paths": paths}
    (folder / "api.json").write_text(json.dumps(document))
    file = folder / "doorward.toml"
    file.write_text(f'{BASE}{more}\n[servers.api]\nsource = "openapi"\nspec = "api.json"\nbase_url = "{url}"\n{server}')
    return file


async def as_before(file: Path) -> None:
    """Compile, and leave the catalog as an earlier version would have: with the ids as names."""
    async with Gateway.open(file) as gate:
        await gate.compile()
    with contextlib.closing(sqlite3.connect(file.parent / "state" / "catalog.db")) as db:
        for id in (id for methods in IDS.values() for id in methods.values()):
            db.execute("UPDATE functions SET name = ? WHERE original = ?", [id.replace("__", "_"), id])
        db.execute("UPDATE functions SET record = json_remove(record, '$.aliases')")
        db.commit()


async def test_names_of_an_earlier_version_go_on(tmp_path: Path) -> None:
    """A catalog of an earlier version gets the brief names with its next compile; a program that it kept runs, and one
    that imports by the old name, in whatever way. CONTRACT: SRC-11."""
    with web(Users) as url:
        file = configured(tmp_path, url)
        await as_before(file)
        async with Gateway.open(file, compile=False) as gate:
            kept = await gate.execute(f"import api\nuser = 1\nresult = api.{LONG}(user_id=user)")
            assert kept.value == "/users/1", kept.error
        async with Gateway.open(file) as gate:
            await gate.compile(force=True)
            assert {*gate.catalog.names("api")} == {BRIEF, "remove_user", "list_all_users_get", "list_all_teams_get"}
            assert (await gate.run_cached(kept.cache_id, {"user": 2})).value == "/users/2"
            for code in (
                f"from api import {LONG}\nresult = {LONG}(user_id=3)",
                f"import api\nresult = api.{LONG}(user_id=3)",
                f"import doorward\nresult = doorward.call('api.{LONG}', {{'user_id': 3}})",
            ):
                ran = await gate.execute(code, functions=[f"api.{LONG}"])
                assert ran.value == "/users/3", ran.error
                assert [call["function"] for call in ran.calls] == [f"api.{BRIEF}"]
            [card] = await gate.get_functions([f"api.{LONG}"])
            assert card["function"] == f"api.{BRIEF}"
            assert await gate.call(f"api.{LONG}", {"user_id": 4}) == "/users/4"


@pytest.mark.filterwarnings("ignore:Duplicate Operation ID")
async def test_functions_of_fastapi_are_called_as_in_its_source(tmp_path: Path) -> None:
    """An application of FastAPI has the names that its author gave, and calls arrive; where two routers have the same,
    the long ones."""
    fastapi = pytest.importorskip("fastapi")
    uvicorn = pytest.importorskip("uvicorn")
    app, first, second = fastapi.FastAPI(), fastapi.APIRouter(prefix="/v1/teams"), fastapi.APIRouter(prefix="/v1/zones")

    @app.get("/users/{user_id}")
    def read_user(user_id: int) -> dict[str, int]:
        return {"user": user_id}

    @app.get("/files/{path:path}")
    def readFile(path: str) -> str:
        return path

    @app.api_route("/both", methods=["GET", "POST"])
    def either() -> str:
        return "both"

    for router in (first, second):

        @router.get("/{name}/members")
        def list_members(name: str) -> str:
            return name

        @router.post("")
        def create(name: str) -> str:
            return name

        app.include_router(router)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = uvicorn.Server(uvicorn.Config(app, log_config=None, lifespan="off"))
        serving = asyncio.ensure_future(server.serve(sockets=[listener]))
        file = tmp_path / "doorward.toml"
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        file.write_text(f'{BASE}[servers.api]\nsource = "openapi"\nspec = "{url}/openapi.json"\n')
        async with Gateway.open(file) as gate:
            await gate.compile()
            names = {f.route: f.name for f in gate.catalog.functions("api")}
            assert names.pop("GET /both") != names.pop("POST /both")
            assert names == {
                "GET /users/{user_id}": "read_user",
                "GET /files/{path}": "read_file",
                "GET /v1/teams/{name}/members": "list_members_v1_teams_name_members_get",
                "GET /v1/zones/{name}/members": "list_members_v1_zones_name_members_get",
                "POST /v1/teams": "create_v1_teams",
                "POST /v1/zones": "create_v1_zones",
            }
            ran = await gate.execute("import api\nresult = [api.read_user(user_id=1), api.create_v1_teams(name='x')]")
            assert ran.value == [{"user": 1}, "x"], ran.error
        server.should_exit = server.force_exit = True
        await serving


@pytest.mark.parametrize(
    "pattern", ["api.remove_user_users_user_id_delete", "*_delete", "api.remove_user_users__user_id__delete"]
)
async def test_a_policy_means_old_names(tmp_path: Path, pattern: str) -> None:
    """What `deny`, `exclude` and a principal's rights forbid by an old name, or a pattern of such, stays forbidden; so
    does what only an old name allows. CONTRACT: SRC-11."""
    bare = pattern.removeprefix("api.")
    asked = "import api\nresult = api.remove_user(user_id=1)"
    with web(Users) as url:
        async with Gateway.open(configured(tmp_path, url, f'[policy]\ndeny = ["{pattern}"]\n')) as gate:
            ran = await gate.execute(asked)
            assert "policy" in str(ran.error)
        async with Gateway.open(configured(tmp_path, url, f'[policy]\nallow = ["{pattern}"]\n')) as gate:
            assert (await gate.execute(asked)).value == "/users/1"
            assert not (await gate.execute("import api\nresult = api.read_user(user_id=1)")).ok
        async with Gateway.open(configured(tmp_path, url, f'[principals.local]\ndeny = ["{pattern}"]\n')) as gate:
            assert not (await gate.execute(asked)).ok
        async with Gateway.open(configured(tmp_path, url, server=f'exclude = ["{bare}"]\n')) as gate:
            await gate.compile()
            assert "remove_user" not in gate.catalog.names("api")
            assert BRIEF in gate.catalog.names("api")
