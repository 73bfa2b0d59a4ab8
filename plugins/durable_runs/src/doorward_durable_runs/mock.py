"""`doorward mock`: serves APIs and MCP servers on this machine out of recorded runs, for tests of programs, and for
CI."""

from __future__ import annotations

import json
import socket
from functools import partial
from pathlib import Path

import anyio
import click
from doorward import LOCAL, ApiError, ConfigError, DoorwardError, Gateway, RateLimited
from doorward.abilities import TellsRequests
from doorward.administration import bind_arguments, plain_value
from doorward.configuration import module_name
from doorward.recording import RECORDINGS, RecordedCall
from doorward_cli import Project, common, print_json, say

from doorward_durable_runs.journal.entries import HELPERS
from doorward_durable_runs.mock_answers import HOST, JSON, TOOL, Answer, Mock
from doorward_durable_runs.mock_tools import result_of, tool_of


def _answer(call: RecordedCall, *, latency: bool) -> Answer:
    """How an API answered a call."""
    seconds = call.ms / 1000 if latency else 0.0
    match call.error:
        case ApiError(status=status, body=body):
            later = getattr(call.error, "retry_after", None)
            headers = {**JSON} | ({"Retry-After": f"{later:g}"} if later is not None else {})
            return Answer(status, json.dumps(body).encode(), headers, seconds)
        case RateLimited(retry_after=later):
            return Answer(429, b"{}", {**JSON, "Retry-After": f"{later or 0:g}"}, seconds)
        case None:
            value, status = (call.reply.value, call.reply.status or 200) if call.reply else (None, 200)
            if isinstance(value, bytes):
                return Answer(status, value, {"Content-Type": "application/octet-stream"}, seconds)
            body = b"" if status == 204 else json.dumps(plain_value(value)).encode()
            return Answer(status, body, JSON, seconds)
        case error:
            return Answer(502, json.dumps({"error": error.message}).encode(), JSON, seconds)


def _add(gate: Gateway, mock: Mock, latency: bool, call: RecordedCall) -> None:
    """Have a recorded call answered, if its function is still there and takes it."""
    if call.function.startswith(HELPERS):
        return
    kinds = {module_name(name): settings["source"] for name, settings in gate.config.servers.items()}
    try:
        function = gate.broker.functions.find(call.function, LOCAL)
        accounts = gate.servers.accounts.get(function.server)
        arguments = bind_arguments(function, call.args, call.kwargs, gate.catalog)
        server = module_name(function.server)
        if accounts:
            server += f"@{accounts.choose(call.account or None, arguments, LOCAL)}"
        driver: object = gate.plugins.driver("source", kinds[module_name(function.server)])
        if not isinstance(driver, TellsRequests):
            mock.unserved[call.function] = "its source cannot say by which requests it is reached"
            return
        method, target, body = driver.sent(function, arguments)
    except DoorwardError as error:
        mock.unserved[call.function] = error.message
        return
    if method == TOOL:
        schemas = gate.catalog.reached(function.server, [function.parameters, function.returns])
        mock.tools.setdefault(server, {})[target] = tool_of(function, schemas)
        result = json.dumps(result_of(function, call)).encode()
        mock.add(server, TOOL, f"/{target}", body, Answer(200, result, JSON, call.ms / 1000 if latency else 0.0))
    else:
        mock.add(server, method, target, body, _answer(call, latency=latency))


async def mock_of(project: Project, runs: tuple[str, ...], *, latency: bool) -> Mock:
    """What runs, or files of recordings, were answered. Their programs run again on these answers, so that the
    arguments of each call are known whole. Raises: DoorwardError."""
    mock, files = Mock(), {run: Path(run).read_text("utf-8") for run in runs if Path(run).is_file()}  # noqa: ASYNC240
    async with project.gateway() as gate:
        recordings = gate.services[RECORDINGS]
        for run in runs:
            recording = files.get(run) or await recordings.of_run(run)
            calls: list[RecordedCall] = []
            await recordings.replay(recording, None, calls.append)
            for call in calls:
                _add(gate, mock, latency, call)
    return mock


@click.command()
@common
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0, help="The port on 127.0.0.1; any free one if not given."
)
@click.option("--stdio", metavar="SERVER", help="Be this MCP server, on standard input and output, and serve no HTTP.")
@click.option("--latency/--no-latency", default=True, help="Whether answers take as long as they took.")
def mock(project: Project, runs: tuple[str, ...], port: int, stdio: str | None, latency: bool) -> None:
    """Serve the APIs and MCP servers that RUNs have called, on this machine alone, out of what was recorded: answers,
    how long they took, and failures. RUN is the id of a stored run, or a file of `doorward runs replay --bundle` or
    `doorward save`.

    Each server is at the URL that is printed: set it as its `base_url`, or as the `url` of an MCP server, or give it to
    any other client. A request that is not recorded is answered with 501, a call of a tool with an error.
    """
    try:
        from doorward_durable_runs.mock_server import serve, serve_stdio
    except ImportError:
        hint = "pip install 'doorward-durable-runs[mock]'"
        raise ConfigError("what serves HTTP and MCP is not installed", hint=hint) from None
    found = anyio.run(partial(mock_of, project, runs, latency=latency))
    for name, why in sorted(found.unserved.items()):
        say(f"warning: {name} is not served: {why}", err=True)
    if stdio is not None:
        if stdio not in found.tools:
            there = ", ".join(sorted(found.tools)) or "no MCP server"
            raise click.UsageError(f"{stdio} is no MCP server of these runs; they called {there}")
        anyio.run(serve_stdio, found, stdio)
        return
    with socket.create_server((HOST, port)) as listening:
        at = {name: f"http://{HOST}:{listening.getsockname()[1]}/{name}" for name in sorted(found.servers)}
        if project.json:
            print_json({"servers": at, "answers": found.count, "unserved": sorted(found.unserved)})
        else:
            say("\n".join([f"{found.count} recorded answers", *(f"{name}: {url}" for name, url in at.items())]))
        anyio.run(serve, found, listening)
