"""Doorward as a library: open a configuration, find functions, run a program, run it again with another parameter.

python examples/library_use.py [doorward.toml]
"""

import asyncio
import sys

from doorward import Gateway

PROGRAM = """
import doorward

words = "list"

found = doorward.search(words)["functions"]
result = [function["function"] for function in found]
"""


async def main(configuration: str) -> None:
    async with Gateway.open(configuration) as gate:
        for server in (await gate.list_servers())["servers"]:
            print(server["name"], server.get("broken") or f"{server['functions']} functions")

        for found in (await gate.search_functions("list", limit=3))["functions"]:
            print("-", found["function"], found["summary"])

        outcome = await gate.execute(PROGRAM, description="functions by words")
        print(outcome.value if outcome.ok else outcome.error)

        again = await gate.run_cached(outcome.cache_id, {"words": "create"})
        print(again.value if again.ok else again.error)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:] or ["doorward.toml"]))
