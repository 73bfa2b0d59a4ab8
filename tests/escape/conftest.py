"""One host for all attacks, and a gateway per executor in front of it, at work in a thread of its own."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import tomli_w
from anyio.from_thread import BlockingPortal, start_blocking_portal
from doorward import Gateway, Outcome
from doorward_testing.host import Host as Environment

from .host import Host, Vault

collect_ignore_glob = [] if sys.platform == "linux" else ["test_*"]
EXECUTORS = ("monty", "nsjail", "docker")
LIMITS = {
    "memory": "256MiB", "processes": 64, "calls": 50, "rate": 1_000_000, "timeout": 10, "output": 65536, "sessions": 100, "result": "8MiB",
}  # fmt: skip


class Gate:
    """A gateway that tests call from outside of its event loop."""

    def __init__(self, executor: str, portal: BlockingPortal, gateway: Gateway) -> None:
        self.executor = executor
        self.gateway = gateway
        self._portal = portal

    def run(self, code: str, *, principal: str = "mallory", timeout: float = 10, session: str = "") -> Outcome:
        execute = partial(self.gateway.execute, code, principal=principal, timeout=timeout, session_id=session)
        return self._portal.call(execute)

    def end(self, session: str, *, principal: str = "alice") -> None:
        self._portal.call(partial(self.gateway.close_session, session, principal=principal))


@pytest.fixture(scope="session")
def host() -> Iterator[Host]:
    with contextlib.closing(Host()) as made:
        yield made


@pytest.fixture(scope="session")
def gates(host: Host, tmp_path_factory: pytest.TempPathFactory, docker_engine: Any) -> Iterator[Callable[..., Gate]]:
    """Makes, and keeps, the gateway of an executor, with these hook plugins and settings. An executor that cannot run
    here is absent. The engine of containers is these tests' own, for others count what is left in theirs."""
    made: dict[str, Gate | str] = {}
    settings: dict[str, dict[str, Any]] = {}
    with contextlib.ExitStack() as opened:
        portal = opened.enter_context(start_blocking_portal())

        def get(executor: str, *plugins: str, **more: Any) -> Gate:
            if executor == "docker" and not settings:
                engine = opened.enter_context(docker_engine.running())
                engine.build()
                settings["docker"] = engine.settings()
            if (key := repr((executor, plugins, more))) not in made:
                folder = tmp_path_factory.mktemp(executor)
                own = settings.get(executor, {}) | more
                made[key] = _open(executor, plugins, own, folder, portal, opened)
            gate = made[key]
            return gate if isinstance(gate, Gate) else pytest.skip(f"the executor {executor} is absent: {gate}")

        yield get


def _open(
    executor: str,
    plugins: tuple[str, ...],
    settings: dict[str, Any],
    folder: Path,
    portal: BlockingPortal,
    opened: contextlib.ExitStack,
) -> Gate | str:
    environment = Environment(folder)
    environment.install("source", "vault", Vault)
    environment.install_real(executor, *plugins)
    if not any(entry.name == executor for entry in environment.entries):
        return f"pip install doorward-sandbox-{executor}"
    config = {
        "executor": [executor], "plugins": list(plugins), "cache": "none", "limits": LIMITS, "executors": {executor: settings},
        "servers": {"vault": {"source": "vault"}}, "policy": {"deny": ["vault.forbidden"]},
    }  # fmt: skip
    gateway = opened.enter_context(portal.wrap_async_context_manager(environment.gateway(tomli_w.dumps(config))))
    gate = Gate(executor, portal, gateway)
    first = gate.run("1 + 1", timeout=120)
    return gate if first.ok else f"{first.error}"
