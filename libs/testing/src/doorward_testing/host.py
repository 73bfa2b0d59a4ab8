"""An empty Doorward, in which a test installs what it needs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest
from doorward import Gateway, PluginContext, ServerContext
from doorward.configuration import Entry, Index, Secrets, installed, validate
from doorward.engines import MemoryStore


class _Given(EntryPoint):
    """An entry point that gives an object of the test instead of importing one."""

    def load(self) -> Any:
        thing = _THINGS[self.value]
        if isinstance(thing, BaseException):
            raise thing
        return thing


_THINGS: dict[str, Any] = {}


class Host:
    """An empty Doorward in `folder`, with the engine of the environment that keeps the catalog, if there is one.

    async def test_mine(host):
        host.install("source", "mine", MySource)
        async with host.gateway('[servers.x]\\nsource = "mine"') as gate:
            ...
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.entries: list[Entry] = [entry for entry in installed() if entry.kind == "catalog"]
        self._secrets: dict[tuple[tuple[str, str], ...], Secrets] = {}

    def install(
        self, kind: str, name: str, thing: Any, *, distribution: str = "test-plugin", version: str = "1.0"
    ) -> None:
        """Install a driver class, a hook module or a hook class. An exception is raised when it is imported."""
        value = f"given:{kind}_{name}_{id(thing)}"
        _THINGS[value] = thing
        self.entries.append(Entry(kind, name, _Given(name, value, "doorward.test"), distribution, version))

    def install_real(self, *names: str) -> None:
        """Install the plugins of these names, or of these distributions, that the environment of the test has: for
        example `"monty"`, or `"doorward-sandbox-monty"`."""
        self.entries += [
            e for e in installed() if (e.name in names or e.distribution in names) and e not in self.entries
        ]

    def write(self, config: str | Mapping[str, Any], name: str = "doorward.toml") -> Path:
        """Write a configuration, a text or its tables, whose state lies in the host's folder."""
        import tomlkit

        text = config if isinstance(config, str) else tomlkit.dumps(config)
        path = self.folder / name
        path.write_text(text if "state =" in text else f'state = "state"\n{text}', encoding="utf-8")
        return path

    @asynccontextmanager
    async def gateway(self, config: str | Mapping[str, Any], **options: Any) -> AsyncIterator[Gateway]:
        """A gateway with this configuration, and with the plugins that are installed here (with `index=None`: those of
        the environment)."""
        ended, given = None, {"index": Index(self.entries), **options}
        async with Gateway.open(self.write(config), **given) as gate:
            try:
                yield gate
            except (pytest.fail.Exception, pytest.skip.Exception) as outcome:  # a task group would wrap it
                ended = outcome
        if ended is not None:
            raise ended

    def context(
        self,
        model: Any,
        settings: dict[str, Any] | None = None,
        *,
        environ: Mapping[str, str] | None = None,
        name: str = "test",
        **more: Any,
    ) -> Any:
        """A `PluginContext` with validated settings and a store in memory, to make a driver or a hook class by hand.
        `more` are any of its other fields: `url`, `origins`, `principal`, `per_principal`, …"""
        redact = self.secrets(environ).redaction()
        given = {"state": self.folder, "folder": self.folder, "redact": redact, "store": MemoryStore(), **more}
        return PluginContext(name, self.validated(model, settings, environ=environ), **given)

    def server(
        self,
        model: Any,
        settings: dict[str, Any] | None = None,
        *,
        environ: Mapping[str, str] | None = None,
        name: str = "test",
        **more: Any,
    ) -> Any:
        """The same for a source: a `ServerContext`. `more` are any of its other fields: `auth`, `changed`, …"""
        secrets = self.secrets(environ)
        state, store = self.folder / "servers" / name, MemoryStore()
        given = {"folder": self.folder, "state": state, "scrub": secrets.scrub, "store": store, **more}
        return ServerContext(name, self.validated(model, settings, environ=environ), **given)

    def validated(
        self, model: Any, settings: dict[str, Any] | None = None, *, environ: Mapping[str, str] | None = None
    ) -> Any:
        """Settings, as core validates them. Raises: ConfigError."""
        return validate(model, settings or {}, secrets=self.secrets(environ), place="test")

    def secrets(self, environ: Mapping[str, str] | None = None) -> Secrets:
        """The values of `${…}` in this host: one object for each environment."""
        key = tuple(sorted((environ or {}).items()))
        if key not in self._secrets:
            self._secrets[key] = Secrets(environ=dict(environ or {}))
        return self._secrets[key]
