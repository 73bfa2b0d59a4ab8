"""The Docker Engine API over its Unix socket, by its own document."""

from __future__ import annotations

import base64
import hashlib
import http.client
import io
import json
import shutil
import socket
import tarfile
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from doorward import ApiError, Gateway

from .peer import absent, document, gateway, program, run, running, whole

pytestmark = [pytest.mark.anyio]


class Engine(http.client.HTTPConnection):
    """The engine asked directly, without Doorward."""

    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=30)
        self.path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self.path))

    def get(self, path: str) -> tuple[int, bytes]:
        try:
            self.request("GET", f"/v1.41{path}")
            answer = self.getresponse()
            return answer.status, answer.read()
        finally:
            self.close()

    def json(self, path: str) -> Any:
        return json.loads(self.get(path)[1])


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    """An engine of its own, with nothing in it. A socket's path must be short."""
    dockerd = program("dockerd")
    document("docker-engine-v1.41.yaml.zst")
    with tempfile.TemporaryDirectory(prefix="dw", dir="/tmp", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        at = folder / "docker.sock"
        command = [dockerd, "--host", f"unix://{at}", "--pidfile", str(folder / "pid")]
        command += ["--data-root", str(folder / "data"), "--exec-root", str(folder / "exec")]
        command += ["--bridge", "none", "--iptables=false", "--ip6tables=false"]
        asked = Engine(at)

        def ready() -> bool:
            try:
                return asked.get("/_ping") == (200, b"OK")
            except OSError:
                return False

        with running(command, folder, ready):
            yield asked


@pytest.fixture
async def gate(engine: Engine, tmp_path: Path, anyio_backend: str) -> AsyncIterator[Gateway]:
    spec = str(document("docker-engine-v1.41.yaml.zst"))
    async with gateway(tmp_path, spec=spec, socket=str(engine.path), timeout=30) as gate:
        yield gate


def tarred(**files: bytes) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name, content in files.items():
            entry = tarfile.TarInfo(name.replace("__", "/"))
            entry.size, entry.mode = len(content), 0o755
            tar.addfile(entry, io.BytesIO(content))
    return out.getvalue()


def image(name: str) -> bytes:
    """What `docker save` would write of an image that holds busybox alone."""
    busybox = Path(shutil.which("busybox") or absent("busybox")).resolve()
    layer = tarred(bin__busybox=busybox.read_bytes())
    about = {"architecture": "amd64", "os": "linux", "config": {"Entrypoint": ["/bin/busybox"]}}
    about["rootfs"] = {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(layer).hexdigest()}"]}
    manifest = [{"Config": "config.json", "RepoTags": [name], "Layers": ["layer.tar"]}]
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for file, content in {
            "config.json": json.dumps(about),
            "manifest.json": json.dumps(manifest),
            "layer.tar": layer,
        }.items():
            data = content.encode() if isinstance(content, str) else content
            entry = tarfile.TarInfo(file)
            entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data))
    return out.getvalue()


def encoded(content: bytes) -> dict[str, str]:
    return {"base64": base64.b64encode(content).decode()}


async def test_what_the_engine_says_of_itself(gate: Gateway, engine: Engine) -> None:
    """`/version` and `/_ping`: JSON and text, as plain HTTP has them."""
    assert await run(gate, "import api\nresult = [api.system_version(), api.system_ping()]") == [
        engine.json("/version"),
        "OK",
    ]


async def test_a_volume_from_creation_to_removal(gate: Gateway, engine: Engine) -> None:
    """Created, found by a filter in JSON, inspected, removed; gone is an ApiError of 404 that a program catches."""
    code = """
import api, json
from doorward import ApiError
made = api.volume_create(Name="data", Labels={"team": "a&b=c"})
found = api.volume_list(filters=json.dumps({"label": ["team=a&b=c"]}))["Volumes"]
other = api.volume_list(filters=json.dumps({"label": ["team=z"]}))["Volumes"]
result = [made["Name"], [v["Name"] for v in found], other, api.volume_inspect(name="data")["Labels"]]
"""
    assert await run(gate, code) == ["data", ["data"], [], {"team": "a&b=c"}]
    assert engine.json("/volumes/data")["Labels"] == {"team": "a&b=c"}
    gone = """
import api
from doorward import ApiError
removed = api.volume_delete(name="data")
try:
    api.volume_inspect(name="data")
except ApiError as error:
    result = [removed, error.status, "data" in str(error)]
"""
    assert await run(gate, gone) == [None, 404, True]
    assert engine.get("/volumes/data")[0] == 404


async def test_an_image_and_a_container(gate: Gateway, engine: Engine) -> None:
    """An image is uploaded as a tar archive, a container made of it, files put in and read back, run, its log read, and
    all removed: bytes are the same on both sides, and the engine's state is what the calls said."""
    await gate.call("api.image_load", {"body": encoded(image("door/ward:1")), "quiet": True})
    assert (await gate.call("api.image_inspect", {"name": "door/ward:1"}))["Id"] == engine.json(
        "/images/door/ward:1/json"
    )["Id"]

    code = """
import api
made = api.container_create(
    name="first", Image="door/ward:1", Cmd=["cat", "/in.txt"], HostConfig={"NetworkMode": "none"}, Labels={"a b": "é"}
)
result = made["Id"]
"""
    made = await run(gate, code)
    assert engine.json("/containers/first/json")["Config"]["Labels"] == {"a b": "é"}
    assert engine.json("/containers/first/json")["Id"] == made

    sent = bytes(range(256)) * 300
    assert (
        await gate.call(
            "api.put_container_archive", {"id": "first", "path": "/", "body": encoded(tarred(**{"in.txt": sent}))}
        )
        is None
    )
    handle = await gate.call("api.container_archive", {"id": "first", "path": "/in.txt"})
    archive = await whole(gate, handle)
    assert archive == engine.get("/containers/first/archive?path=/in.txt")[1]
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        assert tar.extractfile("in.txt").read() == sent

    ran = """
import api
api.container_start(id="first")
ended = api.container_wait(id="first")
api.container_rename(id="first", name="second")
result = [ended["StatusCode"], [c["Names"] for c in api.container_list(all=True)], api.container_inspect(id="second")["State"]["Status"]]
"""
    assert await run(gate, ran) == [0, [["/second"]], "exited"]
    assert engine.json("/containers/second/json")["Name"] == "/second"
    assert engine.json("/containers/json") == []
    assert [c["Names"] for c in engine.json("/containers/json?all=true")] == [["/second"]]

    assert await run(gate, "import api\nresult = api.container_delete(id='second', v=True)") is None
    assert engine.json("/containers/json?all=1") == []
    removed = await gate.call("api.image_delete", {"name": "door/ward:1"})
    assert {"Untagged": "door/ward:1"} in removed
    assert engine.json("/images/json") == []


async def test_an_archive_goes_from_one_container_to_another(gate: Gateway, engine: Engine) -> None:
    """What a program downloads it uploads by its handle: the bytes never enter the sandbox."""
    await gate.call("api.image_load", {"body": encoded(image("copy:1")), "quiet": True})
    code = """
import api
for name in ("from", "to"):
    api.container_create(name=name, Image="copy:1", HostConfig={"NetworkMode": "none"})
file = api.container_archive(id="from", path="/bin/busybox")
api.put_container_archive(id="to", path="/", body=file)
result = file
"""
    handle = await run(gate, code)
    there = engine.get("/containers/to/archive?path=/busybox")[1]
    assert handle["bytes"] == len(there)
    assert await whole(gate, handle) == there
    await run(
        gate,
        "import api\nfor name in ('from', 'to'):\n    api.container_delete(id=name)\napi.image_delete(name='copy:1')",
    )
    assert engine.json("/containers/json?all=1") == engine.json("/images/json") == []


async def test_what_the_engine_refuses_is_told(gate: Gateway, engine: Engine) -> None:
    """The engine's own message comes with its status, and a missing argument never reaches it."""
    with pytest.raises(ApiError, match="No such image: none:1") as error:
        await gate.call("api.container_create", {"Image": "none:1"})
    assert error.value.status == 404
    outcome = await gate.execute("import api\napi.container_start()")
    assert outcome.error
    assert "needs the argument 'id'" in outcome.error.message
