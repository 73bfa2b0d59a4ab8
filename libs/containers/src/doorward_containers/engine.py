"""The container engine: where it listens, its client, and what its errors mean.

The SDK blocks, so everything here that sends requests runs in a thread. It is imported when first
needed, since that takes 0.1 s.
"""

from __future__ import annotations

import contextlib
import os
import socket
import stat
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import anyio
from anyio.to_thread import run_sync
from doorward import ExecutorError

if TYPE_CHECKING:
    from docker import APIClient

T = TypeVar("T")

_OLDEST_API = "1.41"  # of the API; the engine's first answer says which version it speaks
_MAX_REQUESTS = 16
"""Requests to the engine at the same time. These threads have a limit of their own, so that a hanging engine does not
keep other work waiting."""


@dataclass(frozen=True, slots=True)
class EngineAddress:
    """Where an engine is, and how its errors name that.

    `host` is as DOCKER_HOST; empty: DOCKER_HOST, the Docker context, or the first that answers. `table` is the table of
    the configuration that has `host` and `timeout`. `refused` explains a refusal: it is given what the engine said, and
    whether an image is missing; `None`: the engine's words suffice.
    """

    host: str = ""
    timeout: float = 60.0
    table: str = ""
    refused: Callable[[str, bool], ExecutorError | None] = lambda said, missing: None

    @property
    def named(self) -> str:
        """The place, for messages."""
        return self.host or os.environ.get("DOCKER_HOST") or "its socket"


class Engine:
    """One engine, found at the first request, and again after it could not be reached."""

    def __init__(self, address: EngineAddress) -> None:
        self._address = address
        self._client: APIClient | None = None
        self._lock = threading.Lock()
        self._slots: anyio.CapacityLimiter | None = None

    async def ask(self, work: Callable[[APIClient], T], *, timeout: float | None = None) -> T:
        """Run the work with the client, in a thread. If cancelled, it does not wait: the work goes on.

        Raises: ExecutorError, with advice.
        """
        self._slots = self._slots or anyio.CapacityLimiter(_MAX_REQUESTS)
        return await run_sync(self.wait, work, timeout, limiter=self._slots, abandon_on_cancel=True)

    def wait(self, work: Callable[[APIClient], T], timeout: float | None = None) -> T:
        """The same in this thread."""
        import requests
        from docker.errors import DockerException

        try:
            if timeout is None:
                return work(self._connected())
            with contextlib.closing(connect(self._address, timeout)) as client:
                return work(client)
        except (DockerException, requests.RequestException, OSError) as error:
            if not hasattr(error, "response") or error.response is None:
                self.close()
            raise explained(error, self._address) from error

    def _connected(self) -> APIClient:
        with self._lock:
            if self._client is None:
                self._client = connect(self._address, self._address.timeout)
            return self._client

    def close(self) -> None:
        """Close the client; the next request makes another."""
        client, self._client = self._client, None
        if client is not None:
            client.close()


def connect(address: EngineAddress, timeout: float) -> APIClient:
    """A client of the engine. Raises: ExecutorError, DockerException."""
    from docker import APIClient

    given = place(address)
    ssh = given["base_url"].startswith("ssh://")
    given |= {"timeout": timeout, "use_ssh_client": ssh, "max_pool_size": _MAX_REQUESTS}

    def client(version: str) -> APIClient:
        made = APIClient(version=version, **given)
        made.trust_env = False  # no proxy, and no certificate authorities but the engine's own
        return made

    with contextlib.closing(client(_OLDEST_API)) as asking:
        version = asking.version(api_version=False)["ApiVersion"]
    return client(version)


def place(address: EngineAddress) -> dict[str, Any]:
    """The SDK's arguments for the configured engine, or for the first one that answers. Raises: ExecutorError."""
    from docker.utils import kwargs_from_env

    environ = dict(os.environ)
    if address.host:
        environ["DOCKER_HOST"] = address.host
    given: dict[str, Any] = kwargs_from_env(environ)
    if "base_url" not in given:
        given |= _context() or {"base_url": _found(address)}
    return given


def _context() -> dict[str, Any]:
    """The engine that `docker context use` chose, if any."""
    from docker.context import ContextAPI

    with contextlib.suppress(Exception):  # whatever is wrong with the user's contexts, there are other ways
        chosen = ContextAPI.get_current_context()
        if chosen is not None and chosen.Name != "default" and chosen.Host:
            return {"base_url": chosen.Host, "tls": chosen.TLSConfig}
    return {}


def sockets() -> Iterator[str]:
    """The sockets of engines in the order in which they are tried: Docker, then Podman; each first the
    system's, then the user's."""
    home, runtime = Path.home(), os.environ.get("XDG_RUNTIME_DIR") or f"/run/user/{os.getuid()}"
    yield "/var/run/docker.sock"
    yield f"{runtime}/docker.sock"
    for name in (
        ".docker/run",
        ".docker/desktop",
        ".colima/default",
        ".config/colima/default",
        ".orbstack/run",
        ".rd",
        ".lima/docker/sock",
    ):
        yield str(home / name / "docker.sock")
    yield "/run/podman/podman.sock"
    yield f"{runtime}/podman/podman.sock"
    yield f"{tempfile.gettempdir()}/podman/podman-machine-default-api.sock"
    yield str(home / ".local/share/containers/podman/machine/podman.sock")


def _found(address: EngineAddress) -> str:
    if os.name == "nt":
        return "npipe:////./pipe/docker_engine"
    refused = foreign = ""
    for path in sockets():
        if not _is_ours(Path(path).parent):
            foreign = path
            continue
        with socket.socket(socket.AF_UNIX) as tried:
            tried.settimeout(5)
            try:
                tried.connect(path)
                return f"unix://{path}"
            except PermissionError:
                refused = refused or path
            except OSError:
                continue
    if refused:
        raise _not_permitted(refused)
    if foreign:
        raise ExecutorError(
            f"the folder of {foreign} is another user's, who would run the programs and make their calls",
            hint=f"Start an engine of your own; or name that one, if you trust it: [executors.docker] host = "
            f'"unix://{foreign}".',
        )
    also = f'{address.table} host = "unix:///…", or ' if address.table else ""
    raise ExecutorError(
        "no container engine answers on this machine",
        hint=f"Install and start Docker or Podman, or name one: {also}DOCKER_HOST.",
    )


def _is_ours(folder: Path) -> bool:
    """Whether nobody but this user and root can put a socket there. One in `/tmp` may be anybody's, who is given all
    programs then, and makes calls in their place. Of a folder that is not there nobody is warned."""
    try:
        for found in (folder.lstat(), folder.stat()):
            if found.st_uid not in (0, os.getuid()) or (stat.S_ISDIR(found.st_mode) and found.st_mode & 0o002):
                return False
    except OSError:
        pass
    return True


def _not_permitted(where: str) -> ExecutorError:
    hint = (
        "Add the user to the socket's group (`docker`), or use a rootless engine. "
        "Either way this user can then start containers."
    )
    return ExecutorError(f"this user may not use the container engine at {where}", hint=hint)


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """An error and the errors that caused it: the SDK and its HTTP library wrap them in many ways."""
    seen: list[BaseException] = []
    waiting = [error]
    while waiting:
        one = waiting.pop()
        if isinstance(one, BaseException) and one not in seen:
            seen.append(one)
            yield one
            waiting += [one.__cause__, one.__context__, *one.args]
            waiting += [inner for part in one.args if isinstance(part, tuple) for inner in part]


def explained(error: Exception, address: EngineAddress) -> ExecutorError:
    """An error that says what went wrong and what to do."""
    import requests
    from docker.errors import APIError, ImageNotFound

    causes = list(_causes(error))
    if isinstance(error, APIError):
        said = str(error.explanation or error)
        missing = isinstance(error, ImageNotFound) or "no such image" in said.lower()
        return address.refused(said, missing) or ExecutorError(f"the container engine refused: {said}")
    if any(isinstance(cause, PermissionError) for cause in causes):
        return _not_permitted(address.named)
    if any(isinstance(cause, (requests.Timeout, TimeoutError)) for cause in causes):
        longer = f" {address.table} timeout is how long it may take." if address.table else ""
        return ExecutorError(
            f"the container engine at {address.named} did not answer within {address.timeout:g} s",
            hint=f"It may be overloaded: see its log.{longer}",
        )
    if any(isinstance(cause, (requests.ConnectionError, OSError)) for cause in causes):
        why = next((c.strerror for c in causes if isinstance(c, OSError) and c.strerror), "") or str(error)
        where = f"{address.table} host and DOCKER_HOST say" if address.table else "DOCKER_HOST says"
        return ExecutorError(
            f"the container engine at {address.named} cannot be reached: {why}",
            hint=f"Start the engine; the next request uses it. {where} where it is.",
        )
    return ExecutorError(f"the container engine: {error}")


def is_podman(version: Mapping[str, Any]) -> bool:
    """Whether what an engine says of its version is what Podman says."""
    return any("Podman" in part.get("Name", "") for part in version.get("Components") or ())
