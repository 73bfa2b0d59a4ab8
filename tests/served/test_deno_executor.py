"""The executor deno through the served product: what a program in JavaScript can reach of the host, and its limits."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import AsyncIterator

import pytest

from .conftest import LIMITS, SHELF
from .forked import Forked
from .product import Agent, Api, apart

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="the executor needs Linux"),
    pytest.mark.skipif(importlib.util.find_spec("deno") is None, reason="deno is absent: `pip install deno` brings it"),
    pytest.mark.anyio,
]

REACHING = """
const tried: Record<string, () => unknown> = {
  "a file": () => Deno.readTextFileSync("/proc/self/environ"),
  "a folder": () => [...Deno.readDirSync("/")],
  "a variable": () => Deno.env.get("PATH"),
  "a process": () => new Deno.Command("true").outputSync(),
  "a signal": () => Deno.kill(1, "SIGKILL"),
  "a library": () => Deno.dlopen("libc.so.6", { getuid: { parameters: [], result: "u32" } }),
  "the host's name": () => Deno.hostname(),
  "a port": () => Deno.listen({ port: 0 }),
  "an address": () => Deno.connect({ hostname: "127.0.0.1", port: 80 }),
  "a page": () => fetch("http://127.0.0.1/"),
  "a module of the network": () => (0, eval)("import('https://example.com/x.js')"),
  "a module of npm": () => (0, eval)("import('npm:lodash')"),
  "a file as a module": () => (0, eval)("import('file:///etc/passwd')"),
};
const reached: string[] = [];
for (const [what, reach] of Object.entries(tried)) {
  try {
    await reach();
    reached.push(what);
  } catch { /* refused */ }
}
export const result = reached;
"""


STATES = """
const kinds = ["read", "write", "net", "env", "run", "ffi", "import"];
export const result = Object.fromEntries(kinds.map((name) => [name, Deno.permissions.querySync({ name }).state]));
"""


@pytest.fixture(scope="module")
async def agent(anyio_backend: str, api: Api, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Agent]:
    """A client of a gateway whose executor is deno."""
    project = Forked(tmp_path_factory.mktemp("deno"), LIMITS + SHELF.format(url=api.url))
    project.change('executor = "monty"', 'executor = "deno"')
    async with apart(project.stdio()) as agent:
        yield agent


async def test_nothing_of_the_host(agent: Agent) -> None:
    """No file, variable, process, network or foreign code is there, and functions of the catalog are. CONTRACT: SBX-19."""
    answer = await agent.run(REACHING)
    assert (answer.get("value"), answer.get("executor")) == ([], "deno"), answer
    states = await agent.value(STATES)
    assert states == dict.fromkeys(states, "denied"), "not even for a part of it"
    answer = await agent.run('import { get_item } from "shelf";\n(await get_item({ id: 7 })).id')
    assert answer.get("value") == 7, answer


async def test_limits(agent: Agent) -> None:
    """Memory and time end a program, and the next one runs."""
    answer = await agent.run("const a = []; for (;;) a.push(new Uint8Array(4 << 20).fill(1));")
    assert answer["error"]["kind"] == "limit", answer
    assert "memory" in answer["error"]["message"]
    answer = await agent.run("for (;;);", timeout=1)
    assert answer["error"]["kind"] == "limit", answer
    assert (await agent.run("1 + 1"))["value"] == 2
