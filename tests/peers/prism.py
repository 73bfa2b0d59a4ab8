"""Prism, a mock server that holds every request against the document that it was started from."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import anyio
from doorward import DoorwardError, Function, Gateway
from doorward_testing import reserve_port

from . import generate
from .peer import CACHE, answers, gateway, program, running, unpacked
from .tap import Tap, tapped

_ANSWERED = ("Cannot find serializer", "Cannot serialise", "without saying where to go")
"""What is wrong with an answer that Prism made up (it holds requests against the document first): media types that it
cannot write, redirects to nowhere."""


@dataclass(frozen=True)
class Call:
    """One call and what Prism said of it: `violations` are those of the request."""

    route: str
    arguments: dict[str, Any]
    violations: tuple[str, ...]
    codes: frozenset[str]
    error: str
    sent: bytes

    @property
    def wrong(self) -> str:
        """What is wrong with the request, empty if nothing is."""
        if self.violations:
            return "; ".join(self.violations)
        return "" if any(text in self.error for text in _ANSWERED) else self.error

    def told(self) -> str:
        return f"{self.route}: {self.wrong}\n  arguments: {str(self.arguments)[:1000]}\n  sent: {self.sent[:1000]!r}"


@contextlib.asynccontextmanager
async def mocked(name: str, folder: Path, **settings: Any) -> AsyncIterator[tuple[Gateway, Tap]]:
    """A gateway whose server is Prism, both with the same document, and the wire between them."""
    prism = program("prism", CACHE / "prism/node_modules/.bin")
    plain, port = unpacked(name, folder), reserve_port()
    mock = plain.with_name(f"mock-{plain.name}")
    mock.write_bytes(_staying(plain) if plain.suffix == ".json" else plain.read_bytes())
    command = [prism, "mock", "--multiprocess", "false", "--verboseLevel", "fatal", "--port", str(port), str(mock)]
    with running(command, folder, answers(f"http://127.0.0.1:{port}/")):
        async with (
            tapped(port) as tap,
            gateway(folder, spec=str(plain), base_url=tap.url, timeout=20, **settings) as gate,
        ):
            yield gate, tap


def _staying(document: Path) -> bytes:
    """A document that leads nowhere: examples of `Location` are places in the world, and Prism would send callbacks
    there."""

    def without(node: dict[str, Any]) -> dict[str, Any]:
        if isinstance(headers := node.get("headers"), dict):
            headers.pop("Location", None)
        if "responses" in node:
            node.pop("callbacks", None)
        return node

    return json.dumps(json.loads(document.read_bytes(), object_hook=without)).encode()


async def both(gate: Gateway, tap: Tap, function: Function) -> list[Call]:
    """Call a function with its required arguments, and with all of them if there are more."""
    properties, required = function.parameters.get("properties", {}), function.parameters.get("required", ())
    varied = len(properties) > len(required) or any(not generate.plain(schema) for schema in properties.values())
    return [await called(gate, tap, function, full=full) for full in ((False, True) if varied else (False,))]


async def called(gate: Gateway, tap: Tap, function: Function, *, full: bool) -> Call:
    """Call a function with generated arguments. Where a value fits several of the document's alternatives and Prism
    wants it to fit one alone (a function knows `oneOf` as `anyOf`), the next alternative is tried."""
    for choice in range(6):
        call = await _call(gate, tap, function, full=full, choice=choice)
        if "oneOf" not in call.codes:
            break
    return call


async def _call(gate: Gateway, tap: Tap, function: Function, *, full: bool, choice: int) -> Call:
    def definition(name: str) -> Any:
        return gate.catalog.definition(function.server, name)

    # In a thread: a long search for a text that has a pattern must not keep the tap from seeing that a connection was
    # closed.
    arguments = await anyio.to_thread.run_sync(
        partial(generate.arguments, function.parameters, definition, full=full, choice=choice)
    )
    error = ""
    try:
        await gate.call(function.qualified, arguments)
    except DoorwardError as raised:
        error = f"{type(raised).__name__}: {raised}"
    sent, received = tap.take()
    found = list(_violations(received))
    texts = tuple(f"{'.'.join(map(str, v['location']))}: {v['message']}" for v in found)
    return Call(function.route, arguments, texts, frozenset(str(v["code"]) for v in found), error, sent)


def _violations(received: bytes) -> Iterator[dict[str, Any]]:
    """The violations of the request in an answer: in the header `sl-violations`, where they may be cut, or where the
    document has no answer for them, as `validation` of a problem."""
    head, _, body = received.decode("latin-1").partition("\r\n\r\n")
    listed = re.search(r"^sl-violations: (.*)$", head, re.MULTILINE)
    if listed is None and '"validation":[' in body:
        yield from json.loads(body)["validation"]
    decoder, text, place = json.JSONDecoder(), listed[1] if listed else "", 0
    while (place := text.find('{"location":', place)) >= 0:
        try:
            violation, place = decoder.raw_decode(text, place)
        except ValueError:
            return
        if violation["location"][0] == "request" and violation["severity"] == "Error":
            yield violation
