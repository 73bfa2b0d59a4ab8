"""Tasks with files, as an agent does them that knows the tools' texts: in every executor, by what works there."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import tomli_w

from .conftest import LIMITS
from .forked import Forked
from .product import Project, web
from .test_files import BINARY, IMAGE, UPLOAD, Photos

pytestmark = pytest.mark.anyio

ROWS = [{"id": n, "name": f"row {n}", "open": n % 3 == 0} for n in range(2000)]
TABLE = b"id,name\n1,a\n2,b\n"


def _get(operation: str, media: str, schema: Any) -> dict[str, Any]:
    return {"get": {"operationId": operation, "responses": {"200": {"content": {media: {"schema": schema}}}}}}


DOCUMENT = {
    "openapi": "3.1.0",
    "paths": {
        "/image": _get("getImage", "image/png", BINARY),
        "/rows": _get("listRows", "application/json", {"type": "array", "items": {"type": "object"}}),
        "/table": _get("exportTable", "application/octet-stream", BINARY),
        "/inline": _get("renderImage", "application/json", {"type": "object"}),
        "/upload": {"post": {"operationId": "upload", "requestBody": {"required": True, "content": UPLOAD}}},
    },
}


class Store(Photos):
    def do_GET(self) -> None:
        match self.path:
            case "/rows":
                self._answer("application/json", json.dumps(ROWS).encode())
            case "/table":
                self._answer(
                    "application/octet-stream", TABLE, **{"Content-Disposition": 'attachment; filename="table.csv"'}
                )
            case "/inline":
                self._answer(
                    "application/json", json.dumps({"seed": 7, "png": base64.b64encode(IMAGE).decode()}).encode()
                )
            case _:
                super().do_GET()


@pytest.fixture(params=["monty", "nsjail", "docker"])
def executor(request: Any) -> str:
    return str(request.param)


@pytest.fixture
def store(tmp_path: Path, executor: str, request: Any) -> Iterator[Project]:
    """An API twice, as two servers, and programs in one executor."""
    (tmp_path / "store.json").write_text(json.dumps(DOCUMENT))
    settings = request.getfixturevalue("engine").settings(pool=1) if executor == "docker" else {}
    with web(Store) as url:
        servers = "".join(
            f'[servers.{name}]\nsource = "openapi"\nspec = "store.json"\nbase_url = "{url}"\n'
            for name in ("store", "vault")
        )
        project = Forked(tmp_path, LIMITS + servers)
        project.change('"monty"', f'"{executor}"', last=f"\n{tomli_w.dumps({'executors': {executor: settings}})}")
        yield project


async def test_tasks_with_files(store: Project) -> None:
    """A cut result is read, a table written, a file uploaded with name and type, a download passed on, an image shown.
    CONTRACT: OUT-04."""
    async with store.stdio() as agent:
        cut = await agent.run("import store\nresult = store.list_rows()")
        read = await agent.run(
            f"import doorward\nrows = {cut['truncated']['read']}\nresult = [r['id'] for r in rows if r['open']][-2:]"
        )
        assert read["value"] == [1995, 1998], read
        made = await agent.run(
            "import store\nlines = [f\"{r['id']},{r['name']}\" for r in store.list_rows()]\nresult = "
            "'\\n'.join(lines).encode()"
        )
        assert (made["value"]["type"], made["value"]["bytes"] > 20_000) == ("text/plain", True)
        code = "import store\ntable = ''\nresult = store.upload(file={'content': b'id,name', 'name': 'a.csv', 'type': 'text/csv'})['parts']"
        assert (await agent.run(code))["value"] == [["a.csv", "text/csv", 7, False]]
        passed = await agent.run("import store, vault\nresult = vault.upload(file=store.get_image())['parts']")
        assert passed["value"] == [["cat.png", "image/png", len(IMAGE), True]]
        assert "artefacts" not in passed
        table = await agent.run(
            "import doorward, store\nresult = doorward.read(store.export_table()).decode().splitlines()"
        )
        assert table["value"] == TABLE.decode().splitlines()
        answer = await agent.client.call_tool("execute_code", {"code": "import store\nresult = store.render_image()"})
        assert [part.type for part in answer.content] == ["text", "image"]
        assert answer.structured_content["value"]["png"]["bytes"] == len(IMAGE)
        again = await agent.run(
            "image = ''\nimport vault\nresult = vault.upload(file=image)['parts'][0][3]",
            params={"image": made["value"]},
        )
        assert again["value"] is False


async def test_what_wants_files(store: Project, executor: str) -> None:
    """Paths, ./out and archives work where there are files; elsewhere the answer says what to do, before a call is
    made."""
    zipped = """
import doorward, store
from zipfile import ZipFile
with ZipFile("out/all.zip", "w") as archive:
    archive.write(doorward.path(store.get_image()), "cat.png")
    archive.writestr("table.csv", doorward.read(store.export_table()))
result = ZipFile("out/all.zip").namelist()
"""
    written = "import store\nrows = store.list_rows()\nwith open('out/n.txt', 'w') as file:\n    file.write(str(len(rows)))\nresult = len(rows)"
    async with store.stdio() as agent:
        for code, value, name in ((zipped, ["cat.png", "table.csv"], "all.zip"), (written, 2000, "n.txt")):
            ran = await agent.run(code)
            if executor == "monty":
                assert (ran["error"]["type"], "calls" in ran) == ("Unsupported", False)
                assert "doorward.read(handle)" in ran["error"]["hint"]
                assert "docker" in ran["error"]["hint"]
            else:
                assert (ran["value"], [a["name"] for a in ran["artefacts"]]) == (value, [name]), ran


async def test_helpers_are_told(store: Project) -> None:
    """By `get_functions`, and by `help`, `dir` and `__doc__` in a program, the same everywhere."""
    async with store.stdio() as agent:
        shown = (await agent.call("get_functions", functions=["doorward", "doorward.pages", "doorward.read"]))[
            "functions"
        ]
        texts = {card["function"]: card["text"] for card in shown}
        assert "path(file)" in texts["doorward"]
        ran = await agent.run(
            "import doorward\nhelp(doorward.pages)\nresult = [doorward.read.__doc__, doorward.__doc__, dir(doorward)]"
        )
        assert ran["printed"].strip() == texts["doorward.pages"].strip()
        assert ran["value"][:2] == [texts["doorward.read"], texts["doorward"]]
        assert {"path", "ApiError", "ToolError", "pages", "read"} <= set(ran["value"][2])


async def test_a_program_with_calls_and_files_goes_where_files_are(store: Project, executor: str) -> None:
    """Behind `monty` another executor takes it, though its first call comes before its first file."""
    if executor == "monty":
        pytest.skip("another executor is needed")
    store.change(f'"{executor}"', f'["monty", "{executor}"]')
    async with store.stdio() as agent:
        ran = await agent.run(
            "import store\nrows = store.list_rows()\nopen('out/n.txt', 'w').write('x')\nresult = len(rows)"
        )
        assert (ran["executor"], ran["value"], ran["calls"][0]["count"]) == (executor, 2000, 1)
