"""Servers in containers of a real engine: what they can do, and what hostile ones try in vain."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from doorward import ServerError
from doorward_mcp_upstream.connections import egress

pytestmark = [pytest.mark.slow, pytest.mark.anyio]

SERVER = (Path(__file__).parent / "servers/contained.py").read_text()
CANARY = "canary-5b1f0c77"


@pytest.fixture(scope="module", params=["docker", "podman"])
def engine(request: pytest.FixtureRequest, docker_engine: Any) -> Iterator[Any]:
    if request.param == "docker":
        yield docker_engine.shared()
    else:
        with docker_engine.podman() as podman:
            yield podman


@pytest.fixture
async def contained(engine: Any, upstreams: Any) -> AsyncIterator[Callable[..., Any]]:
    """Makes upstreams whose server runs in a container; when they are closed, none is left."""

    def contained(container: dict[str, Any] | None = None, **settings: Any) -> Any:
        given = {"image": engine.image(), "command": ["python3"], "args": ["-c", SERVER]}
        table = {"host": engine.host, "relay": engine.image(), **(container or {})}
        return upstreams(**given | settings, container=table)

    yield contained
    await upstreams.close()
    assert listed(engine) == []


def listed(engine: Any) -> list[dict[str, Any]]:
    """The containers of servers, and of what carries their connections."""
    found = engine.json(f"/containers/json?all=1&filters={quote(json.dumps({'label': ['doorward=upstream']}))}")
    return [engine.json(f"/containers/{one['Id']}/json") for one in found]


async def call(upstream: Any, tool: str, **arguments: Any) -> Any:
    result = await upstream.request("tools/call", {"name": tool, "arguments": arguments})
    return json.loads(result["content"][0]["text"])


@contextlib.asynccontextmanager
async def listening(echoes: bool = False) -> AsyncIterator[int]:
    """The port of a service on this machine."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"" if echoes else b"secret service")
        while echoes and (data := await reader.read(2**16)):
            writer.write(data)
            await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]


async def test_what_a_hostile_server_finds(
    engine: Any, contained: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No network, no file and no variable of the gateway, no engine, no privilege; its credential is on no command line
    and in no log."""
    monkeypatch.setenv("GATEWAY_CANARY", CANARY)
    monkeypatch.setenv("TOKEN", "s3cret-of-the-server")
    (tmp_path / "file").write_text(CANARY)
    (tmp_path / "file").chmod(0o644)
    async with listening() as port:
        upstream = contained(env={"TOKEN": "${TOKEN}"}, container={"processes": 20, "memory": "192MiB"})
        seen = await call(upstream, "look", port=port, path=str(tmp_path / "file"))
        lines = [file.read_bytes() for file in Path("/proc").glob("[0-9]*/cmdline") if os.access(file, os.R_OK)]
    assert seen["env"]["TOKEN"] == "s3cret-of-the-server"
    assert CANARY not in json.dumps(seen)
    assert (seen["uid"], seen["capabilities"], seen["no_new_privileges"]) == (65534, 0, "1")
    assert (seen["interfaces"], seen["routes"], seen["engines"], seen["devices"]) == (["lo"], [], [], [])
    assert (seen["processes"], seen["sockets"]) == ([1], [])
    tried = {"loopback", "gateway", "file", "through init", "write", "setuid", "raw", "namespace", "kernel"}
    tried -= {"namespace"} if engine.at.endswith("podman.sock") else set()  # its own profile lets anybody have some
    assert [name for name in tried if seen[name].startswith("got")] == []
    assert await call(upstream, "forks") < 20
    _, servers = await call(upstream, "hosts")
    assert servers.count("nameserver") == servers.count("nameserver 127.0.0.1")
    assert await call(upstream, "fill") == "OSError"
    [one] = listed(engine)
    assert one["HostConfig"]["ReadonlyRootfs"]
    assert not one["HostConfig"]["Privileged"]
    assert not [mount for mount in one["Mounts"] if mount["Type"] == "bind"]
    assert not [line for line in lines if b"s3cret-of-the-server" in line and b"pytest" not in line]
    logged = (tmp_path / "state/stderr.log").read_text()
    assert "it is up" in logged
    assert "s3cret" not in logged


async def test_it_connects_to_what_egress_names(
    engine: Any, contained: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To these names and ports by any client, at addresses that were checked; to nothing else, and not to what another
    server may reach."""
    asked = []

    async def resolved(host: str, port: int) -> list[str]:
        asked.append((host, port))
        return ["127.0.0.1"]

    monkeypatch.setattr(egress, "resolved", resolved)
    async with listening() as port, listening(echoes=True) as other:
        places = [f"api.example.com:{port}", f"api.example.com:{other}"]
        upstream, neighbour = contained(egress=places, egress_private=True), contained(egress=places[:1])
        assert await call(upstream, "reach", host="api.example.com", port=port) == "got b'secret service'"
        assert await call(upstream, "echo", host="api.example.com", port=other, size=5_000_000) == 5_000_000
        assert set(asked) == {("api.example.com", port), ("api.example.com", other)}
        assert await call(upstream, "reach", host="api.example.com", port=22) == "ConnectionRefusedError"
        assert not (await call(upstream, "reach", host="other.example.com", port=port)).startswith("got")
        assert not (await call(upstream, "reach", host="127.0.0.1", port=port)).startswith("got")
        hosts, servers = await call(upstream, "hosts")
        assert "127.1.0.1" in hosts
        assert (servers.count("nameserver"), servers.count("nameserver 127.0.0.1")) == (1, 1)

        assert await call(neighbour, "reach", host="api.example.com", port=port) == "got b''"
        assert await call(neighbour, "reach", host="api.example.com", port=other) == "ConnectionRefusedError"
        assert "takes egress_private = true" in (tmp_path / "state/stderr.log").read_text()
        assert len(listed(engine)) == 4


async def test_its_end(engine: Any, contained: Any) -> None:
    """It ends by itself, by too much memory, or not at all: the call says so, and the next one gets another."""
    upstream = contained(container={"memory": "128MiB"})
    with pytest.raises(ServerError, match=r"status 3|container has ended"):
        await call(upstream, "leave")
    with pytest.raises(ServerError, match=r"more memory than|status 137|container has ended"):
        await call(upstream, "eat")
    assert await call(upstream, "reach", host="localhost", port=1) == "ConnectionRefusedError"
    assert len(listed(engine)) == 1


async def test_images(engine: Any, contained: Any, tmp_path: Path) -> None:
    """None is pulled in silence, a program that is not in it is named, and a tag that has moved is refused."""
    with pytest.raises(ServerError, match=r"no image 'doorward-test/none:1'") as error:
        await call(contained(image="doorward-test/none:1"), "hosts")
    assert "docker pull doorward-test/none:1" in (error.value.hint or "")
    (tmp_path / "state/image.json").unlink(missing_ok=True)
    with pytest.raises(ServerError, match="no-such-program"):
        await call(contained(command=["no-such-program"]), "hosts")
    pinned = json.loads((tmp_path / "state/image.json").read_text())
    assert engine.json(f"/images/{engine.image()}/json")["Id"].endswith(pinned["id"])
    (tmp_path / "state/image.json").write_text(json.dumps(pinned | {"id": "0" * 64}))
    with pytest.raises(ServerError, match="its tag has moved") as error:
        await call(contained(), "hosts")
    assert "@sha256:" in (error.value.hint or "") or f"sha256:{pinned['id']}" in (error.value.hint or "")
    assert await call(contained(image=f"sha256:{pinned['id']}"), "hosts")


_KILLED = """
import asyncio, json, sys
from pathlib import Path
sys.path.insert(0, {tests!r})
from conftest import Upstreams

async def main():
    upstream = Upstreams(Path({folder!r}))(**json.loads({settings!r}))
    await upstream.request("tools/call", {{"name": "hosts", "arguments": {{}}}})
    print("called", flush=True)
    await asyncio.sleep(600)

asyncio.run(main())
"""


async def test_a_killed_gateway(engine: Any, contained: Any, tmp_path: Path) -> None:
    """What its servers left, and would not end, the next gateway removes."""
    settings = {
        "image": engine.image(), "command": ["python3"], "args": ["-c", SERVER], "env": {"MODE": "stays"},
        "egress": ["api.example.com:443"], "container": {"host": engine.host, "relay": engine.image()},
    }  # fmt: skip
    code = _KILLED.format(tests=str(Path(__file__).parent), folder=str(tmp_path), settings=json.dumps(settings))
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert await asyncio.to_thread(process.stdout.readline) == "called\n"
        process.send_signal(signal.SIGKILL)
    left = {one["Id"] for one in listed(engine)}
    assert left
    assert await call(contained(), "hosts")
    assert not left & {one["Id"] for one in listed(engine)}


async def test_doctor(engine: Any, contained: Any, host: Any) -> None:
    """It says which engine runs a server's container, and what the server reaches; or what is missing."""
    from doorward_mcp_upstream.connections.container import about_engine

    what, ok, _ = await about_engine(contained()._context)
    assert ok
    assert "it has no network" in what
    what, ok, advice = await about_engine(contained(container={"host": "unix:///none.sock"})._context)
    assert not ok
    assert "cannot be reached" in what
    assert "[servers.x.container]" in advice


async def test_what_carries_its_connections_dies(engine: Any, contained: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server ends with it, and the next call has both again."""

    async def resolved(host: str, port: int) -> list[str]:
        return ["127.0.0.1"]

    monkeypatch.setattr(egress, "resolved", resolved)
    async with listening() as port:
        upstream = contained(egress=[f"api.example.com:{port}"], egress_private=True)
        assert (await call(upstream, "reach", host="api.example.com", port=port)).startswith("got")
        before = {one["Id"] for one in listed(engine)}
        [relay] = [one["Id"] for one in listed(engine) if "-I" in one["Config"]["Cmd"]]
        ended = upstream._connection.ended
        assert engine.ask("POST", f"/containers/{relay}/kill")[0] == 204
        await ended.wait()
        assert (await call(upstream, "reach", host="api.example.com", port=port)).startswith("got")
        while before & {one["Id"] for one in listed(engine)}:
            await asyncio.sleep(0.02)
