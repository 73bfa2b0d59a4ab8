"""Programs in the call styles of other systems."""

from __future__ import annotations

CALL_STYLES = [
    "from calc.functions import add\nadd(1, 2)",
    "from calc.functions import add as plus\nawait plus(1, 2)",
    "import calc.functions\ncalc.functions.add(1, b=2)",
    "import calc.functions as c\nc.add(1, 2)",
    "import calc\ncalc.functions.add(1, 2)",
    'mcp_servers["calc"].add(1, 2)',
    'await mcp_servers["calc-1"].add(1, 2)',
    "[await s.add(1, 2) for s in mcp_servers.values()][0]",
    "mcp_calc.add(1, 2)",
    "import asyncio\nsum(await asyncio.gather(mcp_calc.add(1), mcp_calc.add(2)))",
    "async def f():\n    return await mcp_calc.add(1, 2)\nawait f()",
    "from mcp.servers.calc import *\nadd(1, 2)",
    "from calc import *\nadd(1, 2)",
    "from mcp.servers.calc import add, echo\nawait add(1, 2)",
    "import mcp.servers.calc as calc\ncalc.add(1, 2)",
    "from mcp.servers import calc\ncalc.add(1, 2)",
    "import mcp\nmcp.servers.calc.add(1, 2)",
    'call_mcp_tool("mcp__calc__add", {"a": 1, "b": 2})',
    'f = call_mcp_tool\nawait f("calc__add", {"a": 1, "b": 2})',
    'from mcp import runtime\nawait runtime.call_mcp_tool("calc__add", {"a": 3})',
    'import mcp.runtime as runtime\n3 if runtime.discovered_servers() == ["calc-1"] else 0',
    'import mcp.runtime\nawait mcp.runtime.call_mcp_tool("calc__add", {"a": 3})',
    "from mcp.runtime import discovered_servers\n3 if await discovered_servers() == ['calc-1'] else 0",
    'import doorward\ndoorward.server("calc-1").add(1, 2)',
    'from doorward import server\nawait server("calc").add(1, 2)',
    'import doorward as d\nname = "calc-1"\nd.server(name).add(1, 2)',
    # A program's own names
    'mcp_servers = {"calc": 3}\nmcp_servers["calc"]',
    "def mcp_calc(mcp=3):\n    return mcp\nmcp_calc()",
    "def call_mcp_tool(name):\n    return len(name)\ncall_mcp_tool('abc')",
    "functions = [1, 2]\nsum(functions)",
]
"""Each has the value 3."""
