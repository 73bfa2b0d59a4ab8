"""The setting of the demo: the API in a process of its own, a configuration in a temporary folder, and
`doorward serve` with a client."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
from anyio.streams.buffered import BufferedByteReceiveStream

if TYPE_CHECKING:
    from mcp.client import Client

CONFIGURATION = """\
state = "state"
executor = "monty"
cache = "sqlite"
plugins = ["ast", "audit_jsonl"]

[servers.library]
source = "openapi"
spec = "{url}/openapi.json"
base_url = "{url}"
auth = {{ type = "api_key", in = "header", name = "X-Api-Key", value = "${{DEMO_API_KEY}}" }}
"""
AUDIT = "doorward.audit.jsonl"
PATIENCE = 20.0
"""How long a process may take to start, or a step to end, before the demo gives up."""


class Failed(Exception):
    """The demo cannot go on; shown without a traceback."""


@dataclass(frozen=True, slots=True)
class Stage:
    """The folder of one demo, and the key that must never be seen."""

    folder: Path
    key: str

    @property
    def configuration(self) -> Path:
        return self.folder / "doorward.toml"

    @property
    def stderr(self) -> Path:
        """The file with the standard error of `doorward serve`."""
        return self.folder / "serve.stderr"

    def configure(self, url: str) -> None:
        """Write `doorward.toml` for the API at this address. It refers to the key and does not contain it."""
        self.configuration.write_text(CONFIGURATION.format(url=url))

    def audit(self) -> list[dict[str, Any]]:
        """The lines of the audit log so far."""
        return [json.loads(line) for line in (self.folder / "state" / AUDIT).read_text().splitlines()]

    def state_files(self) -> list[Path]:
        """The files that Doorward has written: catalog, cached programs, audit log."""
        return sorted(file for file in (self.folder / "state").rglob("*") if file.is_file())

    @contextlib.asynccontextmanager
    async def service(self) -> AsyncIterator[str]:
        """Run the API. Yields: its base URL. It ends with its standard input, so also if we are killed."""
        with (self.folder / "service.stderr").open("wb") as errors:
            process = await anyio.open_process(
                [sys.executable, "-m", "doorward_demo.service"],
                env={**os.environ, "DEMO_API_KEY": self.key},
                stderr=errors,
                start_new_session=True,  # Ctrl-C goes to us, and we end it
            )
        try:
            import mcp.client  # noqa: F401  (imported while the service starts: both take about as long)
            from doorward import Gateway  # noqa: F401

            assert process.stdout is not None
            try:
                with anyio.fail_after(PATIENCE):
                    line = await BufferedByteReceiveStream(process.stdout).receive_until(b"\n", 200)
            except (anyio.IncompleteRead, TimeoutError):
                said = (self.folder / "service.stderr").read_text()[-500:]
                raise Failed(f"the demo's API did not start. {said}") from None
            yield line.decode().strip()
        finally:
            with anyio.CancelScope(shield=True), anyio.move_on_after(3):
                await process.aclose()  # this kills it if it does not end by itself

    @contextlib.asynccontextmanager
    async def client(self) -> AsyncIterator[Client]:
        """The SDK's client, connected by stdio to `doorward serve`, which gets the key in its environment."""
        from mcp.client import Client
        from mcp.client.stdio import StdioServerParameters, stdio_client

        arguments = ["-m", "doorward", "serve", "--config", str(self.configuration)]
        server = StdioServerParameters(command=sys.executable, args=arguments, env={"DEMO_API_KEY": self.key})
        try:
            with self.stderr.open("w") as errors:
                async with Client(stdio_client(server, errlog=errors), read_timeout_seconds=PATIENCE) as client:
                    yield client
        except Exception as error:
            while isinstance(error, ExceptionGroup):
                error = error.exceptions[0]
            said = self.stderr.read_text(errors="replace").strip()[-1000:]
            raise Failed(
                f"{type(error).__name__}: {error}" + (f"; doorward serve said: {said}" if said else "")
            ) from error


@contextlib.contextmanager
def stage() -> Iterator[Stage]:
    """A key of its own, and a folder that is gone afterwards, whatever happens."""
    with tempfile.TemporaryDirectory(prefix="doorward-demo-") as folder:
        yield Stage(Path(folder), f"demo-{secrets.token_urlsafe(24)}")


async def compile(stage: Stage) -> tuple[Any, list[dict[str, Any]]]:
    """Compile the API into the catalog, in this process. Returns: the report, and each function as the MCP tool that it
    would be without Doorward."""
    from doorward import Gateway

    async with Gateway.open(stage.configuration, environ={"DEMO_API_KEY": stage.key}, compile=False) as gate:
        report = (await gate.compile()).get("library")
        if report is None:
            raise Failed(f"the API was not compiled: {gate.servers.broken['library']}")
        tools = []
        for function in gate.catalog.functions("library"):
            text = "\n".join(filter(None, (function.summary, function.description)))
            schema = {
                **function.parameters,
                **({"$defs": found} if (found := _definitions(gate.catalog, function.parameters)) else {}),
            }
            tools.append({"name": function.name, "description": text, "input_schema": schema})
        return report, tools


def _definitions(catalog: Any, schema: Any) -> dict[str, Any]:
    """Every definition that a schema refers to, directly or not."""
    found: dict[str, Any] = {}
    wanted = [schema]
    while wanted:
        match wanted.pop():
            case {"$ref": str(ref)} if (name := ref.removeprefix("#/$defs/")) not in found:
                found[name] = catalog.definition("library", name)
                wanted.append(found[name])
            case dict() as part:
                wanted += part.values()
            case list() as parts:
                wanted += parts
    return found
