"""Files through the whole product: what a program downloads, it uploads again, and its bytes never enter the
sandbox."""

from __future__ import annotations

import base64
import email.parser
import email.policy
import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from .conftest import LIMITS
from .forked import Forked
from .product import Project, web

pytestmark = pytest.mark.anyio

IMAGE = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 10
BINARY = {"type": "string", "format": "binary"}
UPLOAD = {
    "multipart/form-data": {
        "schema": {"type": "object", "required": ["file"], "properties": {"file": BINARY, "note": {"type": "string"}}}
    }
}
DOCUMENT = {
    "openapi": "3.1.0",
    "paths": {
        "/image": {"get": {"operationId": "getImage", "responses": {"200": {"content": {"image/png": {}}}}}},
        "/events": {"get": {"operationId": "getEvents", "responses": {"200": {"content": {"text/event-stream": {}}}}}},
        "/upload": {"post": {"operationId": "upload", "requestBody": {"required": True, "content": UPLOAD}}},
        "/raw": {"put": {"operationId": "putRaw", "requestBody": {"required": True, "content": {"image/*": {}}}}},
    },
}


class Photos(BaseHTTPRequestHandler):
    """An API with one image, which tells what it is given."""

    def do_GET(self) -> None:
        if self.path == "/events":
            return self._answer("text/event-stream", b'data: {"n": 1}\n\ndata: {"n": 2}\n\ndata: [DONE]\n\n')
        return self._answer("image/png", IMAGE, **{"Content-Disposition": 'attachment; filename="../cat.png"'})

    def do_PUT(self) -> None:
        media = self.headers["Content-Type"]
        body = self.rfile.read(int(self.headers["Content-Length"]))
        parts = []
        if media.startswith("multipart/"):
            message = email.parser.BytesParser(policy=email.policy.HTTP).parsebytes(
                f"Content-Type: {media}\r\n\r\n".encode() + body
            )
            for part in message.iter_parts():
                content = part.get_payload(decode=True)
                parts.append([part.get_filename(), part.get_content_type(), len(content), content == IMAGE])
        self._answer("application/json", json.dumps({"type": media, "same": body == IMAGE, "parts": parts}).encode())

    do_POST = do_PUT

    def _answer(self, media: str, body: bytes, **headers: str) -> None:
        self.send_response(200)
        for name, value in {"Content-Type": media, "Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: Any) -> None:
        pass


@pytest.fixture
def photos(tmp_path: Path) -> Iterator[Project]:
    (tmp_path / "photos.json").write_text(json.dumps(DOCUMENT))
    with web(Photos) as url:
        yield Forked(
            tmp_path, f'{LIMITS}[servers.photos]\nsource = "openapi"\nspec = "photos.json"\nbase_url = "{url}"\n'
        )


async def test_a_download_is_uploaded_by_its_handle(photos: Project) -> None:
    """An image goes from one call to the next by its handle, with name and type; text and base64 work too; others are
    refused."""
    async with photos.stdio() as agent:
        shown = (await agent.call("get_functions", functions=["photos.upload"]))["functions"][0]
        assert "file: bytes | str | dict" in json.dumps(shown)
        ran = await agent.run(
            "import photos\nimage = photos.get_image()\n"
            "result = [image, photos.upload(file=image, note='n'), photos.put_raw(body=image), "
            "photos.upload(file='text'),\n"
            "          photos.upload(file={'base64': 'AAE=', 'name': 'x.bin'})]"
        )
        assert ran["ok"], ran
        image, uploaded, put, text, encoded = ran["value"]
        assert (image["type"], image["bytes"], image["name"]) == ("image/png", len(IMAGE), "cat.png")
        assert uploaded["parts"] == [["cat.png", "image/png", len(IMAGE), True], [None, "text/plain", 1, False]]
        assert (put["type"], put["same"]) == ("image/png", True)
        assert text["parts"] == [["file", "application/octet-stream", 4, False]]
        assert encoded["parts"] == [["x.bin", "application/octet-stream", 2, False]]
        wrong = await agent.run("import photos\nphotos.upload(file={'artefact': 'doorward://results/none'})")
        assert (wrong["error"]["type"], wrong["error"]["kind"]) == ("InvalidArguments", "program")


async def test_an_image_is_shown_and_is_a_parameter(photos: Project) -> None:
    """The client gets it as image content beside the text; its handle is a parameter of another program, and kept for a
    third.
    CONTRACT: OUT-04."""
    async with photos.stdio() as agent:
        answer = await agent.client.call_tool("execute_code", {"code": "import photos\nresult = photos.get_image()"})
        text, image = answer.content
        assert (image.type, image.mime_type, base64.b64decode(image.data) == IMAGE) == ("image", "image/png", True)
        assert '"type":"image/png","bytes":2568,"name":"cat.png"' in text.text
        handle = answer.structured_content["value"]
        code = "import photos\nimage = ''\nresult = photos.upload(file=image)['parts'][0]"
        uploaded = await agent.run(code, params={"image": handle})
        assert uploaded["value"] == ["cat.png", "image/png", len(IMAGE), True]
        again = await agent.call("run_cached_code", cache_id=uploaded["cache_id"], params={"image": handle})
        assert again["value"] == uploaded["value"]
        wrong = await agent.run(code, params={"image": {"artefact": "doorward://results/none"}})
        assert (wrong["error"]["type"], "'image'" in wrong["error"]["message"]) == ("InvalidArguments", True)


async def test_a_program_closes_its_session(photos: Project) -> None:
    """`doorward.close_session()`: the answer has no id any more, nor is there such a session. CONTRACT: EXE-09."""
    async with photos.stdio() as agent:
        session = (await agent.run("x = 1", session_id="new"))["session_id"]
        last = await agent.run("import doorward\ndoorward.close_session()\nx", session_id=session)
        assert (last["value"], "session_id" in last) == (1, False)
        assert "no session" in (await agent.run("x", session_id=session))["error"]["message"]
        assert "no session" in (await agent.run("import doorward\ndoorward.close_session()"))["error"]["message"]


async def test_events_are_a_list(photos: Project) -> None:
    """Server-sent events come as a list of their data."""
    async with photos.stdio() as agent:
        assert (await agent.run("import photos\nresult = photos.get_events()"))["value"] == [{"n": 1}, {"n": 2}]


async def test_a_direct_tool_tells_how_a_file_is_given(photos: Project) -> None:
    """Its schema allows text, a handle and base64, each of which the call takes."""
    photos.change(last='expose = ["getImage", "upload"]\n')
    async with photos.stdio() as agent:
        tools = {tool.name: tool for tool in (await agent.client.list_tools()).tools}
        schema = jsonschema_rs.validator_for(tools["photos_upload"].input_schema)
        image = await agent.call("photos_get_image")
        for file, same in ((image, True), ({"base64": "AAEC", "name": "a.bin"}, False), ("text", False)):
            assert schema.is_valid({"file": file})
            assert [part[3] for part in (await agent.call("photos_upload", file=file))["parts"]] == [same]
    assert not schema.is_valid({"file": 1})
