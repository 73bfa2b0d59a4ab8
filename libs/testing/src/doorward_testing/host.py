"""An empty Doorward, in which a test installs what it needs."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

from doorward import Entry, Gateway, Index, PluginContext, Secrets, installed, validate


class _Given(EntryPoint):
    """An entry point that gives an object of the test instead of importing one."""

    def load(self) -> Any:
        thing = _THINGS[self.value]
        if isinstance(thing, Exception):
            raise thing
        return thing


_THINGS: dict[str, Any] = {}


class Host:
    """An empty Doorward in `folder`.

    async def test_mine(host):
        host.install("source", "mine", MySource)
        async with host.gateway('[servers.x]\\nsource = "mine"') as gate:
            ...
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.entries: list[Entry] = []

    def install(
        self, kind: str, name: str, thing: Any, *, distribution: str = "test-plugin", version: str = "1.0"
    ) -> None:
        """Install a driver class, a hook module or a hook class. An exception is raised when it is imported."""
        value = f"given:{kind}_{name}_{id(thing)}"
        _THINGS[value] = thing
        self.entries.append(Entry(kind, name, _Given(name, value, "doorward.test"), distribution, version))

    def install_real(self, *names: str) -> None:
        """Install the plugins of these names that the environment of the test has, for example `"monty"`."""
        self.entries += [e for e in installed() if e.name in names]

    def write(self, config: str, name: str = "doorward.toml") -> Path:
        """Write a configuration whose state lies in the host's folder."""
        path = self.folder / name
        path.write_text(config if "state =" in config else f'state = "state"\n{config}', encoding="utf-8")
        return path

    def gateway(self, config: str, **options: Any) -> AbstractAsyncContextManager[Gateway]:
        """A gateway with this configuration, and with the plugins that are installed here."""
        return Gateway.open(self.write(config), index=Index(self.entries), **options)

    def context(
        self,
        model: Any,
        settings: dict[str, Any] | None = None,
        *,
        environ: dict[str, str] | None = None,
        name: str = "test",
    ) -> Any:
        """A `PluginContext` with validated settings, to make a driver by hand."""
        checked = validate(model, settings or {}, secrets=Secrets(environ=environ or {}), place="test")
        return PluginContext(name, checked, self.folder)
