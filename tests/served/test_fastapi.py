"""Files of an API made with FastAPI, through the whole product: every way in which FastAPI takes a file, by the
document that it writes."""

from __future__ import annotations

import asyncio
import hashlib
import socket
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import jsonschema_rs
import pytest
import uvicorn
from fastapi import FastAPI, File, Form, Request, Response, UploadFile
from fastapi.responses import PlainTextResponse
from pydantic import Base64Bytes, BaseModel

from .conftest import LIMITS
from .forked import Forked
from .product import Project, needs_proc, until

pytestmark = pytest.mark.anyio

IMAGE = b"\x89PNG\r\n\x1a\n" + bytes(range(256))
DIGEST = hashlib.sha256(IMAGE).hexdigest()[:8]
ANY = {"requestBody": {"content": {"application/octet-stream": {}}, "required": True}}
OCTETS = {
    "requestBody": {
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
        "required": True,
    }
}
MIXED = {"content": {"image/png": {}, "text/csv": {}}, "description": "In several types."}

app = FastAPI()


def digest(content: bytes | None) -> str | None:
    return None if content is None else hashlib.sha256(content).hexdigest()[:8]


async def told(file: UploadFile | None) -> Any:
    return None if file is None else [file.filename, file.content_type, digest(await file.read())]


class Album(BaseModel):
    model_config = {"extra": "forbid"}

    title: str
    cover: UploadFile
    more: list[UploadFile] = []
    back: UploadFile | None = None


class Blob(BaseModel):
    data: Base64Bytes
    maybe: Base64Bytes | None = None


@app.post("/upload", operation_id="upload")
async def upload(file: UploadFile, note: Annotated[str, Form()] = "") -> Any:
    return [await told(file), note]


@app.post("/optional", operation_id="optional")
async def optional(file: UploadFile | None = None, note: Annotated[str | None, Form()] = None) -> Any:
    return [await told(file), note]


@app.post("/several", operation_id="several")
async def several(files: list[UploadFile]) -> Any:
    return [await told(file) for file in files]


@app.post("/several-optional", operation_id="several_optional")
async def several_optional(files: list[UploadFile] | None = None) -> Any:
    return [await told(file) for file in files or []]


@app.post("/content", operation_id="content")
async def content(file: Annotated[bytes, File()]) -> Any:
    return digest(file)


@app.post("/content-optional", operation_id="content_optional")
async def content_optional(file: Annotated[bytes | None, File()] = None) -> Any:
    return digest(file)


@app.post("/contents", operation_id="contents")
async def contents(files: Annotated[list[bytes], File()]) -> Any:
    return [digest(file) for file in files]


@app.post("/album", operation_id="album")
async def album(album: Annotated[Album, Form(media_type="multipart/form-data")]) -> Any:
    return [album.title, await told(album.cover), [await told(file) for file in album.more], await told(album.back)]


@app.put("/raw", operation_id="raw", openapi_extra=OCTETS)
async def raw(request: Request) -> Any:
    return [request.headers["content-type"], digest(await request.body())]


@app.put("/raw-any", operation_id="raw_any", openapi_extra=ANY)
async def raw_any(request: Request) -> Any:
    return [request.headers["content-type"], digest(await request.body())]


@app.post("/blob", operation_id="blob")
async def blob(blob: Blob) -> Any:
    return [digest(blob.data), digest(blob.maybe)]


@app.get("/image", operation_id="image", response_class=Response, responses={200: {"content": {"image/png": {}}}})
async def image() -> Response:
    return Response(IMAGE, media_type="image/png", headers={"Content-Disposition": 'attachment; filename="cat.png"'})


@app.get("/report", operation_id="report", responses={200: MIXED})
async def report(request: Request) -> Any:
    match request.headers["accept"]:
        case "image/png":
            return await image()
        case "text/csv":
            return PlainTextResponse("a,b", media_type="text/csv")
    return {"a": 1}


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """Where the API is, in a thread of this process."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = uvicorn.Server(uvicorn.Config(app, log_level="critical", timeout_graceful_shutdown=1))
        thread = threading.Thread(target=lambda: asyncio.run(server.serve([listener])))
        thread.start()
        try:
            assert until(lambda: server.started)
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = server.force_exit = True
            thread.join()


@pytest.fixture(
    params=[
        "monty",
        pytest.param("nsjail", marks=[needs_proc, pytest.mark.skipif(sys.platform != "linux", reason="needs Linux")]),
    ]
)
def project(request: Any, tmp_path: Path, url: str) -> Project:
    made = Forked(tmp_path, f'{LIMITS}[servers.photos]\nsource = "openapi"\nspec = "{url}/openapi.json"\n')
    made.change('executor = "monty"', f'executor = "{request.param}"')
    return made


PNG = ["cat.png", "image/png", DIGEST]
UPLOADS = {
    "photos.upload(file=image, note='n')": [PNG, "n"],
    "photos.upload(file=image['artefact'])": [PNG, ""],
    "photos.upload(file={**image, 'name': 'b.jpg', 'type': 'image/jpeg'})": [["b.jpg", "image/jpeg", DIGEST], ""],
    "photos.upload(file=b'ab')": [["file", "application/octet-stream", digest(b"ab")], ""],
    "photos.upload(file='ab')": [["file", "application/octet-stream", digest(b"ab")], ""],
    "photos.upload(file={'base64': 'YWI=', 'name': 'a.txt', 'type': 'text/plain'})": [
        ["a.txt", "text/plain", digest(b"ab")],
        "",
    ],
    "photos.optional(file=image)": [PNG, None],
    "photos.optional(file=None, note='n')": [None, "n"],
    "photos.optional(note='n')": [None, "n"],
    "photos.several(files=[image, b'ab'])": [PNG, ["files", "application/octet-stream", digest(b"ab")]],
    "photos.several_optional(files=[image])": [PNG],
    "photos.several_optional(files=None)": [],
    "photos.several_optional()": [],
    "photos.content(file=image)": DIGEST,
    "photos.content_optional(file=image)": DIGEST,
    "photos.content_optional(file=None)": None,
    "photos.contents(files=[image, image['artefact']])": [DIGEST, DIGEST],
    "photos.album(title='t', cover=image)": ["t", PNG, [], None],
    "photos.album(title='t', cover=image, more=[image, image], back=image)": ["t", PNG, [PNG, PNG], PNG],
    "photos.album(title='t', cover=image, back=None)": ["t", PNG, [], None],
    "photos.raw(body=image)": ["application/octet-stream", DIGEST],
    "photos.raw_any(body=image)": ["application/octet-stream", DIGEST],
    "photos.raw_any(body=b'ab')": ["application/octet-stream", digest(b"ab")],
    "photos.blob(data=image)": [DIGEST, None],
    "photos.blob(data=b'ab', maybe=image)": [digest(b"ab"), DIGEST],
    "photos.blob(data='YWI=', maybe=None)": [digest(b"ab"), None],
    "photos.report()": {"a": 1},
    "photos.report(accept='text/csv')": "a,b",
    "photos.report(accept='image/png')['bytes']": len(IMAGE),
}


async def test_every_file_of_fastapi(project: Project) -> None:
    """Handles, their URIs, bytes, text and base64 reach every kind of upload; what is optional may be null or left
    out."""
    async with project.stdio() as agent:
        code = (
            "import photos\nimage = photos.image()\nresult = [\n" + "".join(f"    {call},\n" for call in UPLOADS) + "]"
        )
        value = await agent.value(code)
        assert dict(zip(UPLOADS, value, strict=True)) == UPLOADS


async def test_an_agent_is_told_of_files(project: Project) -> None:
    """What an agent reads of such a function says that it takes a file, and whether null may be."""
    async with project.stdio() as agent:
        names = [f"photos.{name}" for name in ("upload", "optional", "several", "raw_any", "report")]
        shown = str(await agent.call("get_functions", functions=names))
        assert "file: bytes | str | dict[str, Any]" in shown
        assert "file: bytes | str | dict[str, Any] | None" in shown
        assert "files: list[bytes | str | dict[str, Any]]" in shown
        assert "body: bytes | str | dict[str, Any]" in shown
        assert 'accept: Literal["application/json", "text/csv", "image/png"]' in shown


async def test_mistakes_with_files_are_told(project: Project) -> None:
    """What is no file is refused before anything is sent, and the message says what a file is."""
    async with project.stdio() as agent:
        for given in ("3", "{'path': 'x'}", "[b'x']", "None"):
            answer = await agent.run(f"import photos\nphotos.upload(file={given})")
            assert (answer["error"]["type"], "file" in answer["error"]["message"]) == ("InvalidArguments", True)
            assert answer["calls"] == [] or not answer["calls"][0]["ok"]


async def test_direct_tools_take_what_may_be_null(tmp_path: Path, url: str) -> None:
    """The schema of a tool allows a handle, base64, text and null where a file or a list of files is optional; each
    arrives."""
    made = Forked(tmp_path, f'{LIMITS}[servers.photos]\nsource = "openapi"\nspec = "{url}/openapi.json"\n')
    made.change(last='expose = ["image", "optional", "several_optional"]\n')
    async with made.stdio() as agent:
        tools = {tool.name: tool for tool in (await agent.client.list_tools()).tools}
        handle = await agent.call("photos_image")
        encoded = {"base64": "YWI=", "name": "a.txt", "type": "text/plain"}
        text = ["a.txt", "text/plain", digest(b"ab")]
        for tool, key, given, wanted in (
            ("photos_optional", "file", handle, PNG),
            ("photos_optional", "file", encoded, text),
            ("photos_optional", "file", None, None),
            ("photos_several_optional", "files", [handle, encoded], [PNG, text]),
            ("photos_several_optional", "files", None, []),
        ):
            schema = jsonschema_rs.validator_for(tools[tool].input_schema)
            assert schema.is_valid({key: given})
            assert not schema.is_valid({key: 1})
            answer = (await agent.call(tool, **{key: given}))["result"]
            assert (answer[0] if tool == "photos_optional" else answer) == wanted


@needs_proc
async def test_a_path_is_its_file(tmp_path: Path, url: str) -> None:
    """In full CPython a path stands for the file that it leads to: one that was fetched, and one that the program
    wrote."""
    made = Forked(tmp_path, f'{LIMITS}[servers.photos]\nsource = "openapi"\nspec = "{url}/openapi.json"\n')
    made.change('executor = "monty"', 'executor = "nsjail"')
    code = """\
import doorward, pathlib, photos
fetched = doorward.path(photos.image())
pathlib.Path("mine.png").write_bytes(pathlib.Path(fetched).read_bytes())
mine = pathlib.Path("mine.png")
uploads = [photos.optional(file=fetched)[0], photos.several_optional(files=[mine])]
result = [*uploads, photos.raw_any(body=mine), photos.content_optional(file=mine), photos.blob(data=mine)[0]]"""
    async with made.stdio() as agent:
        png = ["mine.png", "image/png", DIGEST]
        assert await agent.value(code) == [PNG, [png], ["application/octet-stream", DIGEST], DIGEST, DIGEST]
