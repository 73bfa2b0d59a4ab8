"""Images that a program leaves, as clients see them."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from doorward import DoorwardError, Failure, Program, ProgramResult, StateError
from doorward_mcp_server.server import build
from doorward_testing.samples import CONFIG, InProcess
from mcp.client.client import Client

pytestmark = pytest.mark.anyio

PNG = b"\x89PNG\r\n\x1a\n" + b"\x00" * 20
WEBP = b"RIFF\x00\x00\x00\x00WEBPVP8 "
FILES = CONFIG.replace('"inprocess"', '"files"')


class Leaving:
    """A sandbox whose program is an expression that uses the door, as executors do for files in ./out."""

    async def run(self, program: Program, door: Any) -> ProgramResult:
        try:
            return ProgramResult(eval(program.code, {"door": door, "PNG": PNG, "WEBP": WEBP}))
        except DoorwardError as error:
            return ProgramResult(error=Failure(error.kind, type(error).__name__, error.message, hint=error.hint))

    async def close(self) -> None:
        pass


class Files(InProcess):
    async def open(self, program: Program, *, session: bool = False) -> Any:
        return Leaving()


@pytest.fixture
def files(doorward_host: Any) -> Any:
    doorward_host.install("executor", "files", Files)
    return doorward_host


@pytest.mark.slow
async def test_images_are_shown_to_the_client(files: Any) -> None:
    """PNG, JPEG, GIF and WebP as image content behind the text, few and small ones; never what only claims to be one.
    CONTRACT: OUT-04."""
    async with files.gateway(FILES) as gate, Client(build(gate)) as client:

        async def answer(code: str) -> Any:
            return await client.call_tool("execute_code", {"code": code})

        one = await answer("door.keep(PNG, 'image/png', 'plot.png') and 5")
        assert [c.type for c in one.content] == ["text", "image"]
        assert base64.b64decode(one.content[1].data) == PNG
        assert one.content[1].mime_type == "image/png"
        assert "plot.png" in one.content[0].text
        assert one.structured_content["value"] == 5
        assert "notes" not in one.structured_content
        webp = await answer("door.keep(WEBP, 'image/webp') and 1")
        assert webp.content[1].mime_type == "image/webp"
        for hidden in (
            "(b'<svg/>', 'image/svg+xml')",
            "(b'rubbish', 'image/png')",
            "(PNG, 'text/plain')",
            "(b'RIFF1234WAVE', 'image/webp')",
        ):
            assert [c.type for c in (await answer(f"door.keep{hidden} and 1")).content] == ["text"], hidden
        many = await answer("[door.keep(PNG + b'0' * n, 'image/png') for n in (2**20, 1, 2, 3, 4, 5)] and 1")
        assert [c.type for c in many.content] == ["text"] + ["image"] * 4
        assert "2 more images are not shown" in many.content[0].text
        assert "2 more images are not shown" in many.structured_content["notes"][0]
        failed = await answer("[door.keep(PNG, 'image/png'), 1 / 0]")
        assert failed.is_error


async def test_bytes_in_a_value_are_an_image(doorward_host: Any) -> None:
    """What a program's value holds is shown as what it left in a file."""
    async with doorward_host.gateway(CONFIG) as gate, Client(build(gate)) as client:
        shown = await client.call_tool("execute_code", {"code": "{'plot': b'\\x89PNG\\r\\n\\x1a\\n' + bytes(2000)}"})
        assert [c.type for c in shown.content] == ["text", "image"]


async def test_an_image_that_cannot_be_read_takes_no_answer_away(files: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The run has succeeded, and its client sees what it answered."""

    async def locked(*given: Any, **named: Any) -> Any:
        raise StateError("the store is locked")

    async with files.gateway(FILES) as gate, Client(build(gate)) as client:
        monkeypatch.setattr(gate, "file", locked)
        told = await client.call_tool("execute_code", {"code": "door.keep(PNG, 'image/png', 'plot.png') and 5"})
        assert ([c.type for c in told.content], told.structured_content["value"]) == (["text"], 5)
