"""A call that needs a yes, made by an agent of the same process: the callback of who opened the tools is asked."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import mcp_types as t
import pytest
from doorward_embed import open_tools

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

SHOP = """
import sys
from mcp.server.mcpserver import MCPServer
server = MCPServer("Shop")
@server.tool()
def buy(item: str) -> str:
    with open(sys.argv[1], "a") as file:
        file.write(item + " ")
    return f"bought {item}"
server.run()
"""
CONFIG = """
state = "state"
executor = "monty"
[servers.shop]
source = "mcp"
command = {command}
[[policy.rules]]
match = "shop.buy"
then = "confirm"
"""


async def test_open_tools_asks_who_opened_them(tmp_path: Path) -> None:
    """With all arguments, once for each call; a no, and what is no answer, let nothing through; without a callback the
    request waits for whoever answers elsewhere."""
    bought = tmp_path / "bought"
    bought.write_text("")
    (tmp_path / "shop.py").write_text(SHOP)
    command = json.dumps([sys.executable, str(tmp_path / "shop.py"), str(bought)])
    config = tmp_path / "doorward.toml"
    config.write_text(CONFIG.format(command=command))
    asked: list[str] = []
    answers = iter(["approve once", "deny", "yes"])

    async def ask(context: Any, params: t.ElicitRequestParams) -> t.ElicitResult:
        asked.append(params.message)
        return t.ElicitResult(action="accept", content={"answer": next(answers)})

    async with open_tools(config, elicitation_callback=ask) as box:
        said = [
            await box.call("execute_code", {"code": f"import shop\nresult = shop.buy(item='{item}')"})
            for item in ("milk", "bread", "salt")
        ]
    assert ("bought milk" in said[0], bought.read_text()) == (True, "milk ")
    assert [item in text for item, text in zip(("milk", "bread", "salt"), asked, strict=True)] == [True] * 3
    assert not [text for text in said[1:] if "bought" in text]
    async with open_tools(config) as box:
        waits = await box.call("execute_code", {"code": "import shop\nresult = shop.buy(item='tea')"})
    assert "approv" in waits
    assert bought.read_text() == "milk "
