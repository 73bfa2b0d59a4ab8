"""What has not changed is not compiled again; what has, is; what cannot be had any more goes on with the last
compile."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from doorward import Gateway
from doorward.catalog.catalog import Catalog
from doorward.config.installed_plugins import Index
from doorward_store_sqlite.catalog import SqliteCatalog

from .forked import Forked
from .product import Api, Project, web_of

pytestmark = pytest.mark.anyio

DOCUMENT = {
    "openapi": "3.1.0",
    "info": {"title": "Parts"},
    "paths": {"/parts": {"get": {"operationId": "list_parts", "parameters": [{"$ref": "parts.json"}]}}},
}


@pytest.fixture
def parts(tmp_path: Path) -> Project:
    (tmp_path / "api").mkdir()
    (tmp_path / "api" / "openapi.json").write_text(json.dumps(DOCUMENT))
    (tmp_path / "api" / "parts.json").write_text('{"name": "first", "in": "query", "schema": {}}')
    return Forked(
        tmp_path, '[servers.parts]\nsource = "openapi"\nspec = "api/openapi.json"\nbase_url = "http://127.0.0.1:9"\n'
    )


def compiled(project: Project) -> float:
    """When the server was compiled last, after `doorward compile`."""
    assert project.run("compile").returncode == 0
    catalog = Catalog(SqliteCatalog(project.folder / "state" / "catalog.db"))
    when = catalog.reports()["parts"].compiled
    catalog.close()
    return when


def test_compiled_only_when_something_changed(parts: Project) -> None:
    """The same document and configuration are compiled once; a change of the document, of a file it refers to, or of
    the configuration is seen. CONTRACT: SRC-12."""
    times = [compiled(parts), compiled(parts)]
    assert times[0] == times[1]
    for change in (
        lambda: (parts.folder / "api" / "parts.json").write_text('{"name": "second", "in": "query", "schema": {}}'),
        lambda: (parts.folder / "api" / "openapi.json").write_text(json.dumps({**DOCUMENT, "x-changed": True})),
        lambda: parts.change('base_url = "http://127.0.0.1:9"', 'base_url = "http://127.0.0.1:10"'),
    ):
        change()
        times.append(compiled(parts))
    assert times[1:] == sorted(set(times[1:]))
    assert compiled(parts) == times[-1]
    assert "second" in parts.run("show", "parts.list_parts").stdout


def test_a_document_is_a_file_or_at_a_url_in_json_or_yaml(tmp_path: Path) -> None:
    """Each of the four is the same function. CONTRACT: SRC-03."""
    served = tmp_path / "api"
    served.mkdir()
    (served / "parts.json").write_text(
        '{"openapi": "3.1.0", "paths": {"/parts": {"get": {"operationId": "listParts"}}}}'
    )
    (served / "parts.yaml").write_text("openapi: 3.1.0\npaths:\n  /parts:\n    get: {operationId: listParts}\n")
    with web_of(served) as url:
        places = {"a": "api/parts.json", "b": "api/parts.yaml", "c": f"{url}/parts.json", "d": f"{url}/parts.yaml"}
        base = f'source = "openapi"\nbase_url = "{url}"\n'
        project = Forked(tmp_path, "".join(f'[servers.{n}]\n{base}spec = "{at}"\n' for n, at in places.items()))
        assert project.run("compile").returncode == 0
    listed = json.loads(project.run("search", "parts", "--json").stdout)["functions"]
    assert sorted(found["function"] for found in listed) == [f"{name}.list_parts" for name in places]


def test_a_swagger_document_becomes_typed_functions(tmp_path: Path, api: Api) -> None:
    """Version 2 too: what a function takes and gives, and a call of it. CONTRACT: SRC-01."""
    item = {"type": "object", "properties": {"itemName": {"type": "string"}}}
    one = {
        "operationId": "getItem",
        "parameters": [{"name": "id", "in": "path", "required": True, "type": "integer"}],
        "responses": {"200": {"description": "it", "schema": item}},
    }
    more = {
        "operationId": "createItem",
        "parameters": [{"name": "item", "in": "body", "required": True, "schema": item}],
    }
    document = {"swagger": "2.0", "paths": {"/items/{id}": {"get": one}, "/items": {"post": more}}}
    (tmp_path / "old.json").write_text(json.dumps(document))
    project = Forked(tmp_path, f'[servers.old]\nsource = "openapi"\nspec = "old.json"\nbase_url = "{api.url}"\n')
    assert project.run("compile").returncode == 0
    shown = project.run("show", "old.get_item").stdout
    assert "id: int" in shown
    assert "itemName: str" in shown
    assert json.loads(project.run("call", "old.get_item", "id=7").stdout)["itemName"] == "item 7"
    made = json.loads(project.run("call", "old.create_item", "itemName=new").stdout)
    assert made["itemName"] == "new", made


def test_what_is_compiled_is_one_file_in_the_state_folder(parts: Project) -> None:
    """Which `state` or `DOORWARD_STATE_DIR` names; functions are printed from there without the document. CONTRACT: SRC-07,
    SBX-23."""
    assert parts.run("compile").returncode == 0
    parts.env["DOORWARD_STATE_DIR"] = str(parts.folder / "another")
    assert parts.run("compile").returncode == 0
    (parts.folder / "api" / "openapi.json").unlink()
    for state in (parts.folder / "another", parts.state):
        assert (state / "catalog.db").stat().st_size > 0
        assert not [*state.rglob("*.py")]
        assert "def list_parts(" in parts.run("show", "parts.list_parts").stdout
        (state / "catalog.db").unlink()
        assert "def list_parts(" not in parts.run("show", "parts.list_parts").stdout
        parts.env.pop("DOORWARD_STATE_DIR", None)


async def test_newer_plugin_compiles_anew(parts: Project) -> None:
    """What another version of the source compiled is stale."""
    async with Gateway.open(parts.folder / "doorward.toml") as gate:
        await gate.compile()
        assert gate.compiler.stale() == []
        plugins = gate.servers._plugins
        entries = plugins.index.entries
        plugins.index = Index([e._replace(version="99") if e.name == "openapi" else e for e in entries])
        assert gate.compiler.stale() == ["parts"]


async def test_dead_url_goes_on_with_the_last_compile(parts: Project) -> None:
    """A document that cannot be downloaded at the start: the last compile is served."""
    with web_of(parts.folder / "api") as url:
        parts.change('spec = "api/openapi.json"', f'spec = "{url}/openapi.json"')
        compiled(parts)
    async with parts.stdio() as agent:
        found = await agent.call("search_functions", query="list parts")
        assert [f["function"] for f in found["functions"]] == ["parts.list_parts"]
        (server,) = (await agent.call("list_servers"))["servers"]
        assert "broken" not in server
