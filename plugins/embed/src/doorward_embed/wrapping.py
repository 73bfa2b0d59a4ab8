"""`wrap`: Doorward in front of a server object."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from doorward import ConfigError
from doorward.configuration import RESERVED_NAMES, Loaded, load_config

from doorward_embed.source import OBJECTS

if TYPE_CHECKING:
    from doorward_embed.toolbox import Toolbox

_LOW_LEVEL = ("_mcp_server", "_lowlevel_server")
"""Where FastMCP, and the SDK's own high-level server, have the low-level one: neither has a public name for it."""


def wrap(
    server: Any, config: Path | str | None = None, *, name: str = "", options: Mapping[str, Any] | None = None
) -> Wrapped:
    """Doorward in front of `server`: a FastMCP, or a server of the MCP SDK, high-level or low-level.

    `config` is the configuration file. If none is given, it is `doorward.toml` beside the program that runs, and may be
    missing. `name` is what programs import; the server's own name if it is empty. `options` are stronger than the file:
    `{"surface": "minimal"}`.

    Raises: TypeError for anything else than a server; ConfigError for a name that no server can have.
    """
    low = next((getattr(server, each) for each in _LOW_LEVEL if hasattr(server, each)), server)
    if not (callable(getattr(low, "run", None)) and callable(getattr(low, "create_initialization_options", None))):
        raise TypeError(f"{type(server).__name__} is no MCP server: wrap takes a FastMCP, or a server of the MCP SDK")
    return Wrapped(low, config, name or _name_for(str(getattr(low, "name", ""))), options or {})


class Wrapped:
    """A server behind Doorward. Nothing is opened before it is served, or its tools are asked for."""

    def __init__(self, server: Any, config: Path | str | None, name: str, options: Mapping[str, Any]) -> None:
        self.name, self._server = name, server
        self._config, self._options = config, options
        key, number = name, 1
        while OBJECTS.get(key, server) is not server:
            key, number = f"{name}#{(number := number + 1)}", number
        OBJECTS[key] = server
        self._key = key

    def load(self, options: Mapping[str, Any] | None = None) -> Loaded:
        """The configuration with the server in it. Raises: ConfigError."""
        given = {**self._options, **(options or {})}
        servers = given.get("servers", {})
        own = {**servers.get(self.name, {}), "source": "embed", "object": self._key}
        given["servers"] = {**servers, self.name: own}
        file = self._config
        if file is None:
            file = (
                Path(getattr(sys.modules["__main__"], "__file__", None) or "program").absolute().parent
                / "doorward.toml"
            )
            loaded = load_config(file, text=None if file.exists() else "", options=given)
        else:
            loaded = load_config(file, options=given)
        if error := loaded.broken.get(self.name):
            raise error
        return loaded

    def run(self, transport: str = "stdio", *, host: str = "", port: int | None = None) -> None:
        """Serve it by "stdio" or "http", until the client goes or the process is told to end, as `doorward serve` does.
        Raises: ConfigError."""
        from doorward_mcp_server import run_server

        if transport not in ("stdio", "http"):
            raise ConfigError(f"there is no transport {transport!r}", hint='There are "stdio" and "http".')
        http = {key: value for key, value in (("host", host), ("port", port)) if value not in ("", None)}
        run_server(self.load({"http": {**self._options.get("http", {}), **http}} if http else None), transport)

    def tools(self, *, principal: str = "local", **client: Any) -> AbstractAsyncContextManager[Toolbox]:
        """The tools for an agent of this process; see `open_tools`."""
        from doorward_embed.toolbox import open_tools

        return open_tools(self.load(), principal=principal, **client)


def _name_for(name: str) -> str:
    """A name for programs to import, from the one that a server gives itself."""
    found = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")[:40] or "server"
    found = f"server_{found}" if found[0].isdigit() else found
    return f"{found}_mcp" if found in RESERVED_NAMES else found
