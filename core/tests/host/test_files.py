"""Files among arguments: handles are opened on the host, for whom they belong to, within the limits."""

from __future__ import annotations

from typing import Any

import pytest
from doorward import Call, Compiled, File, Function, Reply, Settings

from ..conftest import InProcess

pytestmark = pytest.mark.anyio

BINARY = {"type": "string", "format": "binary"}
CONFIG = """
executor = "inprocess"
cache = "none"
plugins = []
[servers.weather]
source = "drive"
"""


class Drive:
    """A source that hands out bytes, and remembers what it was given."""

    Settings = Settings
    given: Any = None

    def __init__(self, server: Any) -> None:
        pass

    async def fingerprint(self) -> str:
        return "1"

    async def compile(self) -> Compiled:
        parameters = {
            "type": "object",
            "properties": {"file": BINARY, "more": {"type": "array", "items": BINARY}, "note": {}},
        }
        parameters["properties"]["either"] = {"anyOf": [BINARY, {"type": "array", "items": BINARY}, {"type": "null"}]}
        size = {"type": "object", "properties": {"size": {"type": "integer"}}}
        return Compiled(
            [
                Function("weather", "get", parameters=size, read_only=True),
                Function("weather", "put", parameters=parameters),
            ]
        )

    async def call(self, call: Call) -> Any:
        if call.function.name == "get":
            return Reply(b"\xff" * call.arguments.get("size", 3), type="image/png", name="a.png")
        type(self).given = call.arguments
        return sorted(call.arguments)

    async def close(self) -> None:
        pass


@pytest.fixture
def drive(host: Any) -> Any:
    host.install("source", "drive", Drive)
    host.install("executor", "inprocess", InProcess)
    Drive.given = None
    return host


async def test_handles_become_files(drive: Any) -> None:
    """A handle that one call answered with is a file for the next: alone, in lists and objects, or by its URI where
    bytes go."""
    image = File(b"\xff\xff\xff", "image/png", "a.png")
    async with drive.gateway(CONFIG) as gate:
        for written, given in (
            ("file=h", {"file": image}),
            ("file={**h, 'name': 'b.jpg', 'type': 'image/jpeg'}", {"file": File(image.content, "image/jpeg", "b.jpg")}),
            ("file=h['artefact']", {"file": image}),
            ("more=[h, 'text', b'x', h['artefact']]", {"more": [image, "text", b"x", image]}),
            ("note={'deep': [h]}", {"note": {"deep": [image]}}),
            ("either=h['artefact']", {"either": image}),
            ("either=[h['artefact']]", {"either": [image]}),
        ):
            outcome = await gate.execute(f"h = await weather.get()\nawait weather.put({written})")
            assert outcome.ok, outcome.error
            assert Drive.given == given


async def test_what_is_no_handle_stays(drive: Any) -> None:
    """Values that only look like handles, and URIs in texts, are data."""
    async with drive.gateway(CONFIG) as gate:
        uri = (await gate.execute("result = await weather.get()")).value["artefact"]
        for note in (uri, {"artefact": "a pot"}, {"artefact": uri, "age": 3}, {"artefact": 5}):
            assert (await gate.execute(f"await weather.put(note={note!r})")).ok
            assert Drive.given == {"note": note}


@pytest.mark.parametrize("uri", ["doorward://results/nonsense", "doorward://results/"])
async def test_unknown_handles_are_refused(drive: Any, uri: str) -> None:
    """A handle of nobody's, or of somebody else's, is a mistake of the program, with advice; nothing is called."""
    async with drive.gateway(CONFIG) as gate:
        error = (await gate.execute(f"await weather.put(file={{'artefact': {uri!r}}})")).error
        assert error is not None
        assert (error.kind, error.type) == ("program", "InvalidArguments")
        assert "there is no result" in error.message
        assert "handle" in str(error.hint)
        theirs = (await gate.execute("result = await weather.get()", principal="ann")).value
        assert (await gate.execute(f"await weather.put(file={theirs!r})", principal="ann")).ok
        Drive.given = None
        assert not (await gate.execute(f"await weather.put(file={theirs!r})", principal="bob")).ok
        assert Drive.given is None


async def test_files_are_bounded(drive: Any) -> None:
    """All files of a call together are bounded like its other arguments."""
    async with drive.gateway(CONFIG + "[limits]\nresult = 100_000\n") as gate:
        error = (await gate.execute("h = await weather.get(size=40_000)\nawait weather.put(more=[h, h, h])")).error
        assert error is not None
        assert error.type == "LimitExceeded"
        assert Drive.given is None
        assert (await gate.execute("h = await weather.get(size=40_000)\nawait weather.put(more=[h, h])")).ok
