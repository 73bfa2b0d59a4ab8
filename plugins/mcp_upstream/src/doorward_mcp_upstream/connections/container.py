"""A server in a container: without a network but what `egress` allows, without files of this machine, without
privileges. Its messages travel over the container's standard input and output, as those of any started server."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
from doorward import ExecutorError, ServerContext
from doorward import log as logger
from doorward.files import own_folder, write_own

from doorward_mcp_upstream.connections import relay
from doorward_mcp_upstream.connections.egress import Egress
from doorward_mcp_upstream.connections.environment import NESTED_VARIABLE
from doorward_mcp_upstream.connections.settings import MCPSettings
from doorward_mcp_upstream.connections.stderr import StderrLog
from doorward_mcp_upstream.connections.stdio import END_SECONDS, Lines, Messages
from doorward_mcp_upstream.connections.troubles import Trouble
from doorward_mcp_upstream.connections.wire import MAX_MESSAGE_BYTES, Wire

if TYPE_CHECKING:
    from docker import APIClient
    from doorward_containers import Container, Engine

KIND = "upstream"
"""What the labels of these containers say that they are."""
NOBODY = "65534:65534"
_RELAY_BYTES = 96 * 2**20
_PULL_SECONDS = 3600.0
_PIECE_BYTES = 2**16


@dataclass(frozen=True, slots=True)
class Prepared:
    """The image of a server as the engine has it, that of the relay, and which kind of engine it is."""

    image: Mapping[str, Any]
    relay: str
    podman: bool


@contextlib.asynccontextmanager
async def contained(context: ServerContext[MCPSettings], log: StderrLog) -> AsyncIterator[Wire]:
    """The wire to a server in a container. At the end, the container is removed.

    Raises: Trouble if it cannot be started; MissingSecret.
    """
    settings = context.settings
    engine = engine_of(context)
    env = {"HOME": "/tmp"} | {name: await value.get() for name, value in settings.env.items()}  # noqa: S108
    if not settings.allow_self:
        env[NESTED_VARIABLE] = "1"
    log.forget()
    async with contextlib.AsyncExitStack() as stack:
        stack.callback(engine.close)
        try:
            prepared = await engine.ask(
                lambda client: _prepare(client, context), timeout=_PULL_SECONDS if settings.pull else None
            )
            network, carrying = _NO_NETWORK, None
            if settings.egress:
                egress = Egress(settings.places, log, private=settings.egress_private)
                network, carrying = await stack.enter_async_context(
                    _relayed(engine, prepared, context.name, egress, log)
                )
            options = server_options(context, prepared, env, network)
            started = await stack.enter_async_context(_started(engine, options, log))
            if carrying is not None:  # without what carries its connections, a server is of no use
                carrying.add_done_callback(lambda _: started.writer.close())
        except ExecutorError as error:
            raise Trouble(context.scrub(error.message), error.hint or "", sent=False) from None
        if not started.container.held:
            logger.warning("engine_holds_no_limits", server=context.name, effect="memory of the server has no bound")
        yield Wire(Lines(started.reader, log), Messages(started.writer), started.reason)


def engine_of(context: ServerContext[MCPSettings]) -> Engine:
    """The engine of a server. Raises: Trouble if what asks one is not installed."""
    try:
        from doorward_containers import Engine, EngineAddress
    except ImportError:
        raise Trouble(
            "servers in containers need doorward-containers", "pip install 'doorward[containers]'", sent=False
        ) from None
    return Engine(EngineAddress(context.settings.container.host, table=f"[servers.{context.name}.container]"))


def _prepare(client: APIClient, context: ServerContext[MCPSettings]) -> Prepared:
    """Remove what dead gateways left behind, and find the images. Raises: ExecutorError, DockerException."""
    from doorward_containers import is_podman, sweep

    settings = context.settings
    sweep(client, KIND)
    image = _image(client, settings.image or "", pull=settings.pull)
    _compare_with_pin(context.state / "image.json", settings.image or "", image)
    carries = _image(client, settings.container.relay, pull=settings.pull)["Id"] if settings.egress else ""
    return Prepared(image, carries, is_podman(client.version()))


def _image(client: APIClient, name: str, *, pull: bool) -> Mapping[str, Any]:
    """An image. It is pulled if that is allowed, and never otherwise. Raises: ExecutorError, DockerException."""
    from docker.errors import ImageNotFound

    with contextlib.suppress(ImageNotFound):
        return dict(client.inspect_image(name))
    if pull:
        said = client.pull(name)
        with contextlib.suppress(ImageNotFound):
            return dict(client.inspect_image(name))
        errors = [str(json.loads(line).get("error", "")) for line in str(said).splitlines() if '"error"' in line]
        raise ExecutorError(f"the image {name!r} cannot be pulled: {' '.join(errors)[:500] or 'it is not there'}")
    raise ExecutorError(
        f"the container engine has no image {name!r}",
        hint=f"Run `docker pull {name}` (or `podman pull`), or set `pull = true` to have it pulled when it is missing.",
    )


def _compare_with_pin(file: Path, name: str, image: Mapping[str, Any]) -> None:
    """A tag is what it was when it was first used. Raises: ExecutorError, ConfigError."""
    id = str(image["Id"]).removeprefix("sha256:")
    if "sha256:" in name:
        return
    known = {}
    with contextlib.suppress(OSError, ValueError):
        known = json.loads(file.read_text())
    if known.get("image") != name:
        own_folder(file.parent)
        write_own(file, json.dumps({"image": name, "id": id}).encode())
    elif known.get("id") != id:
        digest = next(iter(image.get("RepoDigests") or ()), f"sha256:{id}")
        raise ExecutorError(
            f"the image {name!r} is not the one that was used first: its tag has moved",
            hint=f'If the new one is meant, set image = "{digest}", or remove {file}.',
        )


def server_options(
    context: ServerContext[MCPSettings], prepared: Prepared, env: Mapping[str, str], network: Mapping[str, Any]
) -> dict[str, Any]:
    """The options of a server's container: the body of `ContainerCreate` (Docker Engine API v1.41)."""
    from doorward_containers import hardened, labels

    settings, given = context.settings, context.settings.container
    about = prepared.image.get("Config") or {}
    user = str(about.get("User") or "")
    if not all(part.isascii() and part.isdigit() and int(part) for part in user.split(":")):
        user = NOBODY  # a name may be that of root in the image
    scratch = f"rw,noexec,nosuid,nodev,size={int(given.scratch)},mode=1777"
    folders = dict.fromkeys([*(about.get("Volumes") or ()), "/tmp"], scratch)  # noqa: S108
    if prepared.podman:  # which mounts its own on these, without bounds
        folders |= dict.fromkeys(("/run", "/var/tmp"), scratch)  # noqa: S108
    limits = hardened("", memory=int(given.memory), cpus=given.cpus, processes=given.processes, tmpfs=folders)
    return {
        "Image": prepared.image["Id"],
        **({"Entrypoint": settings.command} if settings.command else {}),
        **({"Cmd": settings.args} if settings.command or settings.args else {}),
        "Env": [f"{name}={value}" for name, value in env.items()],
        "User": given.user or user,
        "Labels": labels(KIND) | {"doorward.server": context.name},
        **_ATTACHED,
        **({} if prepared.podman else {"Healthcheck": {"Test": ["NONE"]}}),
        "HostConfig": {**limits, **network, "ShmSize": int(given.scratch)},
    }


_NO_NETWORK: Mapping[str, Any] = {"NetworkMode": "none", "Dns": ["127.0.0.1"]}
"""No name server of this machine is known there, either."""
_ATTACHED = {
    "OpenStdin": True,
    "StdinOnce": True,  # when our connection ends, so does its input
    "AttachStdin": True,
    "AttachStdout": True,
    "AttachStderr": True,
}


def _relay_program() -> str:
    return Path(relay.__file__).read_text(encoding="utf-8")


@contextlib.asynccontextmanager
async def _relayed(
    engine: Engine, prepared: Prepared, name: str, egress: Egress, log: StderrLog
) -> AsyncIterator[tuple[Mapping[str, Any], asyncio.Future[None]]]:
    """A container of ours whose only network is its loopback, which the server's shares: it hands connections to the
    gateway, which makes them. Yields: what joins the server's container to it, and what ends with it."""
    from doorward_containers import RUNTIME_PROCESSES, hardened, labels

    names = {"ExtraHosts": egress.hosts, "Dns": ["127.0.0.1"]}  # no name server of this machine is known there
    options = {
        "Image": prepared.relay,
        "Entrypoint": ["python3"],
        "Cmd": ["-I", "-c", _relay_program(), json.dumps(egress.listening)],
        "User": NOBODY,
        "Labels": labels(KIND) | {"doorward.server": name},
        **_ATTACHED,
        "HostConfig": hardened("", memory=_RELAY_BYTES, cpus=1.0, processes=RUNTIME_PROCESSES, tmpfs={})
        | names
        | {"Sysctls": {"net.ipv4.ip_unprivileged_port_start": "0"}},
    }
    async with _started(engine, options, log) as started:
        carrier = relay.Carrier(started.reader, started.writer, egress.connect)
        carrying = asyncio.ensure_future(_carried(carrier, log))
        ready = asyncio.ensure_future(carrier.ready.wait())
        try:
            await asyncio.wait([carrying, ready], return_when=asyncio.FIRST_COMPLETED)
            if not carrier.ready.is_set():
                raise ExecutorError(
                    f"what carries `egress` did not start: {await started.reason()}",
                    hint=f"Set `relay` of [servers.{name}.container] to an image with Python 3.9 or newer.",
                )
            if prepared.podman:  # which gives names to no container that joins another one's network by its id
                yield {"NetworkMode": f"ns:/proc/{started.container.pid}/ns/net", **names}, carrying
            else:
                yield {"NetworkMode": f"container:{started.container.id}"}, carrying
        finally:
            for task in (ready, carrying):
                task.cancel()
            await asyncio.gather(ready, carrying, return_exceptions=True)


async def _carried(carrier: relay.Carrier, log: StderrLog) -> None:
    try:
        await carrier.run()
    except (relay.Broken, OSError) as error:
        log.add(f"[its connections have ended: {error}]")


class _Started:
    """A running container, with its standard output and input as streams."""

    def __init__(
        self,
        container: Container,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        ended: asyncio.Future[None],
    ) -> None:
        self.container = container
        self.reader = reader
        self.writer = writer
        self.ended = ended
        self._since = int(time.time()) - 5  # the engine's clock may be another

    async def reason(self) -> str:
        """Why it has ended, as far as its engine knows."""
        try:
            return await self.container.engine.ask(lambda client: _end_of(client, self.container.id, self._since))
        except ExecutorError:
            return "its container has ended"

    async def end(self) -> None:
        """End its input, then send SIGTERM, then SIGKILL. Returns when it is removed."""
        with contextlib.suppress(OSError, RuntimeError):
            self.writer.write_eof()
        if not await self._has_ended():
            with contextlib.suppress(ExecutorError):
                await self.container.engine.ask(lambda client: client.kill(self.container.id, "SIGTERM"))
            await self._has_ended()
        await self.container.kill()

    async def _has_ended(self) -> bool:
        return bool((await asyncio.wait([self.ended], timeout=END_SECONDS))[0])


@contextlib.asynccontextmanager
async def _started(engine: Engine, options: dict[str, Any], log: StderrLog) -> AsyncIterator[_Started]:
    """A container until the end of the block. Raises: ExecutorError."""
    from doorward_containers import start

    making = asyncio.ensure_future(engine.ask(lambda client: start(engine, client, options)))
    try:
        container = await asyncio.shield(making)
    except asyncio.CancelledError:
        with anyio.CancelScope(shield=True), contextlib.suppress(ExecutorError):
            unwanted = await making
            unwanted.socket.close()
            await unwanted.kill()
        raise
    from_engine, to_engine = await asyncio.open_connection(sock=container.socket)
    ours, theirs = socket.socketpair()
    reader, back = await asyncio.open_connection(sock=ours, limit=MAX_MESSAGE_BYTES)
    _, forth = await asyncio.open_connection(sock=theirs)
    pump = asyncio.ensure_future(_pump(from_engine, forth, container, log))
    started = _Started(container, reader, to_engine, pump)
    try:
        yield started
    finally:
        with anyio.CancelScope(shield=True):
            try:
                await started.end()
            finally:
                pump.cancel()
                await asyncio.gather(pump, return_exceptions=True)
                for writer in (to_engine, back, forth):
                    writer.close()
                log.flush()


async def _pump(
    from_engine: asyncio.StreamReader, forth: asyncio.StreamWriter, container: Container, log: StderrLog
) -> None:
    """Take the engine's frames apart: standard output goes on, no faster than it is read; standard error is logged."""
    unwrap = container.unwrap
    with contextlib.suppress(OSError):
        while data := await from_engine.read(_PIECE_BYTES):
            forth.write(unwrap(data))
            if unwrap.said:
                said, unwrap.said = unwrap.said, b""
                log.feed(said)
            await forth.drain()
    forth.close()


def _end_of(client: APIClient, id: str, since: int) -> str:
    """What the engine has noted at the end of a container."""
    wanted = {"container": id, "event": ["oom", "die"]}
    memory = False
    for event in client.events(since=since, until=int(time.time()) + 2, filters=wanted, decode=True):
        memory = memory or event.get("Action") == "oom"
        if event.get("Action") == "die":
            code = (event.get("Actor") or {}).get("Attributes", {}).get("exitCode", "")
            if memory:
                return "it took more memory than `container.memory` allows"
            return f"it exited with status {code}" if str(code).isdigit() else "its container has ended"
    return "its container has ended"


async def about_engine(context: ServerContext[MCPSettings]) -> tuple[str, bool, str]:
    """What `doorward doctor` says of a server's engine and image."""
    engine = engine_of(context)
    try:
        return await engine.ask(lambda client: _about(client, context.settings))
    except ExecutorError as error:
        return error.message, False, error.hint or ""
    finally:
        engine.close()


def _about(client: APIClient, settings: MCPSettings) -> tuple[str, bool, str]:
    from doorward_containers import is_podman

    version, info = client.version(), client.info()
    kind = "Podman" if is_podman(version) else "Docker"
    image = client.inspect_image(settings.image)
    reach = f"it reaches {', '.join(settings.egress)}" if settings.egress else "it has no network"
    unheld = [key for key in ("MemoryLimit", "PidsLimit", "CpuCfsQuota") if info.get(key) is False]
    advice = f"This engine does not hold {', '.join(unheld)}: the server has no such limit." if unheld else ""
    id = str(image["Id"]).removeprefix("sha256:")[:12]
    return f"in a container of {kind} {version['Version']}, image {id}; {reach}", True, advice
