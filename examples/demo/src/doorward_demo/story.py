"""The demo's steps: what the agent sends, what it sees, and whether that is as it should be."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from doorward_demo import data, programs
from doorward_demo.leaks import holds
from doorward_demo.stage import AUDIT, Failed, Stage, compile
from doorward_demo.tokens import Account
from doorward_demo.told import Told

if TYPE_CHECKING:
    from mcp.client import Client

FUNCTIONS = 15
"""The number of operations in `openapi.json`."""


async def play(told: Told, place: Stage) -> None:
    """Play all steps. Raises: the error that ended the demo early, which the step shows too."""
    async with place.service() as url:
        place.configure(url)
        tools = await _compile(told, place, url)
        async with place.client() as client:
            agent = Agent(told, client)
            await agent.connect()
            await agent.work()
            told.tokens = agent.account.tokens(tools, place.audit())  # before the thief, who is not part of the work
            await agent.steal(place, url)
    _search(told, place, agent.received)
    told.stop("all")


async def _compile(told: Told, place: Stage, url: str) -> list[dict[str, Any]]:
    with told.step("compile", "An API with a key becomes functions") as step:
        report, tools = await compile(place)
        step.seen = f"{url}/openapi.json\n{report.functions} functions: {', '.join(tool['name'] for tool in tools)}"
        step.checks["every operation is a function"] = report.functions == FUNCTIONS and not report.skipped
        return tools


class Agent:
    """The demo's agent and its client. It keeps everything that it receives, for the search at the end."""

    def __init__(self, told: Told, client: Client) -> None:
        self.told = told
        self.received: list[str] = []
        self.account = Account()
        self._client = client

    async def connect(self) -> None:
        with self.told.step("connect", "An MCP client connects to `doorward serve` over stdio") as step:
            listed = await self._client.list_tools()
            names = [tool.name for tool in listed.tools]
            tools, instructions = (
                listed.model_dump_json(by_alias=True, exclude_none=True),
                self._client.instructions or "",
            )
            self.received += [tools, instructions]
            self.account.add("tools and instructions", tools, instructions)
            step.seen = f"{', '.join(names)}\n{instructions}"
            wanted = {"list_servers", "search_functions", "get_functions", "execute_code", "run_cached_code"}
            step.checks["the five tools are there"] = wanted <= set(names)

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> tuple[Any, str]:
        """Call a tool: the structured content of the answer, and its text."""
        answer = await self._client.call_tool(tool, dict(arguments))
        self.received.append(answer.model_dump_json(by_alias=True))
        text = "\n".join(block.text for block in answer.content if block.type == "text")
        if answer.structured_content is None:
            raise Failed(f"{tool} answered: {text}")
        return answer.structured_content, text

    async def work(self) -> None:
        """From a question to its answer, and to the answer to the same question about another branch."""
        ask = self._ask
        first, second = data.BRANCHES[:2]

        with self.told.step("search", "The agent looks for what it needs") as step:
            found = await ask(step, "search_functions", query="list overdue loans")
            step.checks["library.list_loans is the first that it finds"] = (
                found["functions"][0]["function"] == "library.list_loans"
            )

        with self.told.step("get", "It reads how these functions are called") as step:
            wanted = ["library.list_loans", "library.get_member", "library.get_book"]
            cards = await ask(step, "get_functions", functions=wanted)
            step.checks["all three are described"] = [
                c["function"] for c in cards["functions"] if "text" in c
            ] == wanted

        with self.told.step("execute", "It writes one program: what does a branch miss?") as step:
            run = await ask(step, "execute_code", code=programs.OVERDUE, description="overdue loans of a branch")
            made = sum(call["count"] for call in run.get("calls", ()))
            step.checks[f"one program, {made} calls, one small answer"] = made > 40
            step.checks["the answer is right"] = run.get("value") == data.missing(first)

        with self.told.step("again", "It runs that again for another branch, sending no code") as step:
            again = await ask(step, "run_cached_code", cache_id=run["cache_id"], params={"branch": second})
            step.checks["this answer is right, too"] = again.get("value") == data.missing(second)

    async def _ask(self, step: Any, tool: str, **arguments: Any) -> Any:
        step.sent = {"tool": tool, "arguments": arguments}
        structured, step.seen = await self.call(tool, arguments)
        # Clients show their model one of the two; the longer one is counted.
        longer = max(step.seen, json.dumps(structured, ensure_ascii=False), key=len)
        self.account.add(step.name, json.dumps(arguments, ensure_ascii=False), longer)
        return structured

    async def steal(self, place: Stage, url: str) -> None:
        """Try to steal the key, first bluntly, then slyly; for comparison, call the API with the key."""
        import httpx2

        with self.told.step("guard", "A thief asks for the key: the guard refuses") as step:
            blunt = await self._ask(step, "execute_code", code=programs.BLUNT)
            step.checks["refused by the guard, with the line"] = (
                blunt.get("error", {}).get("kind") == "guard" and blunt["error"].get("line") == 2
            )

        with self.told.step("wall", "A sly thief gets past the guard, and meets the wall") as step:
            sly = programs.SLY.replace("CONFIGURATION", str(place.configuration))
            ways = dict((await self._ask(step, "execute_code", code=sly)).get("value") or {})
            echo = ways.pop("the API's echo", "")
            step.checks[f"{len(ways)} ways, nothing found"] = len(ways) == 8 and all(
                re.match(r"\w+Error: ", got) for got in ways.values()
            )
            step.checks["the echo comes back with [secret] in the key's place"] = "'x-api-key': '[secret]'" in echo
            async with httpx2.AsyncClient() as direct:
                plain = await direct.get(f"{url}/debug/echo", headers={"X-Api-Key": place.key})
            step.checks["asked without Doorward, the echo does tell the key"] = holds(
                place.key, plain.json()["headers"]["x-api-key"]
            )


def _search(told: Told, place: Stage, received: list[str]) -> None:
    """Search for the key in everything that came out. `serve` has ended, so everything is written."""
    with told.step("key", "Did the key get out?") as step:
        state = place.state_files()
        places = {
            f"{len(received)} answers to the client": "\n".join(received).encode(),
            "stderr of serve": place.stderr.read_bytes(),
        }
        places |= {str(file.relative_to(place.folder)): file.read_bytes() for file in [place.configuration, *state]}
        step.seen = "looked for plain, backwards, in hex, percent-encoded and in base64"
        for name, content in places.items():
            step.checks[f"not in {name} ({len(content):,} bytes)"] = not holds(place.key, content)
        written = {file.name for file in state}
        step.checks["catalog, kept programs and audit log were among them"] = {
            "catalog.db",
            "store.db",
            AUDIT,
        } <= written
