"""Programs that meet the error of an API or a tool, or are written for other systems, for the conformance of
executors."""

from __future__ import annotations

CATCHING = [
    """
import calc, doorward
try:
    calc.fail(status=429)
except doorward.ApiError as e:
    result = [e.status, e.retry_after]
""",
    """
import calc
from doorward import ApiError
try:
    calc.fail(status=429)
except ApiError as e:
    result = [getattr(e, "status", 0), e.retry_after]
""",
    """
import calc
from doorward import (
    ApiError as Failed,
    call,
)
try:
    await calc.fail(status=429)
except (KeyError, Failed) as e:
    if e.body["why"] == ["gone"] and str(e) == "calc.fail answered 429":
        result = [e . status, (e).retry_after]
""",
    """
import calc
import doorward as d
def ask():
    try:
        return calc.fail(status=429)
    except d.ApiError as error:
        return [error.status, error.retry_after] if isinstance(error, d.ApiError) else "no"
result = ask()
""",
    """
import asyncio, calc, doorward
async def ask(status):
    try:
        return await calc.fail(status=status)
    except doorward.ApiError as e:
        return e.status
found = await asyncio.gather(ask(400), ask(29))
result = [sum(found), 1.5]
""",
    """
import calc
try:
    calc.fail(status=429)
except Exception as e:
    result = [int(f"{e.status}"), float(f'{e.retry_after:.1f}')]
""",
    """
import calc, doorward
try:
    try:
        calc.fail(status=429)
    except doorward.ApiError:
        raise
except doorward.ApiError as e:
    result = [e.status, e.retry_after]
""",
    """
import calc, doorward
try:
\tcalc.fail(status=429)
except doorward. \\
    ApiError as e:
\tresult = ["äöü😀" and e. \\
        status, (e
            .retry_after)]
""",
    "import calc, doorward\ntry: calc.fail(status=429)\nexcept doorward.ApiError as e: result = [e.status, "
    "e.retry_after]\n",
    """
import calc, doorward
errors = []
for word in ("a", "b", "a"):
    try:
        calc.fail(word, status=429)
    except doorward.ApiError as e:
        errors.append(e)
same = [e.body["args"] for e in errors] == [["a"], ["b"], ["a"]] and hasattr(errors[1], "status")
result = [errors[0].status, errors[1].retry_after] if same else errors
""",
    """
import calc, doorward
class Row:
    def __init__(self):
        self.status = 429
        self.body = {"status": 1.5}
try:
    try:
        calc.refuse()
    except doorward.ApiError:
        result = "a limit is no answer of an API"
except Exception as e:
    result = [Row().status, Row().body["status"]]
""",
    """
import calc, doorward
try:
    try:
        {}["x"]
    except doorward.ApiError:
        result = "a KeyError is none"
except KeyError as e:
    result = [429, 1.5]
""",
]
"""Each has the value `[429, 1.5]`, if what it catches is what it should."""

RAISING = [
    """
import calc, doorward
try:
    calc.fail()
except doorward.ApiError as e:
    if e.status == 404:
        raise
""",
    """
import calc
from doorward import ApiError
def f():
    calc.fail()

try:
    f()
except ApiError as e:
    raise e
""",
    """
import calc
if True:
    calc.fail()
""",
]
"""Each ends by an ApiError of `calc.fail()`."""

OF_TOOLS = [
    """
import calc, doorward
try:
    calc.complain()
except doorward.ToolError as e:
    result = str(e)
""",
    """
import calc
from doorward import ApiError, ToolError
try:
    await calc.complain()
except ApiError:
    result = "not an answer of an HTTP API"
except ToolError as e:
    result = str(e) if isinstance(e, ToolError) and not isinstance(e, ApiError) else "neither"
""",
    """
import calc, doorward as d
def ask():
    try:
        calc.complain()
    except (KeyError, d.ApiError, d.ToolError) as error:
        return f"{error}"
result = ask()
""",
    """
import calc
try:
    calc.complain()
except Exception as e:
    result = str(e)
""",
    """
import calc, doorward
try:
    try:
        calc.fail()
    except doorward.ToolError:
        result = "an answer of an HTTP API is none"
except doorward.ApiError as e:
    result = "the tool says no" if e.status == 404 else "no status"
""",
    """
import calc, doorward
try:
    try:
        calc.refuse()
    except doorward.ToolError:
        result = "a limit is none"
except Exception as e:
    result = "the tool says no"
""",
]
"""Each has the value `the tool says no`, if what it catches is what it should."""

RAISING_OF_TOOLS = [
    "import calc\n\ncalc.complain()\n",
    "import calc, doorward\ntry:\n    calc.complain()\nexcept doorward.ToolError as e:\n    raise\n",
    "import calc, doorward\ntry:\n    calc.complain()\nexcept doorward.ApiError as e:\n    pass\n",
]
"""Each ends by a ToolError of `calc.complain()`, in line 3 or below."""

ASKING = {
    "import calc, doorward\n[doorward.pages.__doc__, doorward.path.__doc__, calc.add.__doc__, calc.__doc__, "
    "doorward.__doc__]": [
        f"what {name} is" for name in ("doorward.pages", "doorward.path", "calc.add", "calc", "doorward")
    ],
    "import calc, doorward as d\n[dir(calc)[:2], {'path', 'ApiError', 'pages'} <= set(dir(d))]": [
        ["add", "complain"],
        True,
    ],
    "from doorward import ApiError, ToolError\n[each.__doc__ != None for each in (ApiError, ToolError)]": [True, True],
    "def help(x):\n    return x\nhelp(3)": 3,
}
"""Programs that ask what there is, and their values."""

HELP = """
import calc, doorward as d
from doorward import pages as p
help(p)
help(d.path)
help(calc.add)
help(d)
"""
"""It prints what each of them is."""

OF_OTHERS = [
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

PAGING = [
    "import calc, doorward\nfound = []\nfor item in doorward.items(calc.add, x=1): found.append(item['x'])\nsum(found)",
    "import calc, doorward\nsum([item['x'] for item in doorward.items('calc.add', x=1)])",
    "import calc, doorward\nsum([item['x'] for item in await doorward.items(calc.add, x=1)])",
    "from doorward import items\nsum([item['x'] for item in items('calc.add', x=1)])",
    "import calc, doorward\nfound = 0\nasync for item in doorward.items(calc.add, x=1):\n    found = found + "
    "item['x']\nfound",
    "import doorward\nsum([item['x'] async for item in doorward.items('calc.add', x=1)])",
    "import doorward\nasync def f():\n    n = 0\n    async for page in doorward.pages('calc.add', x=1):\n        n += "
    "1\n"
    "    return n\nawait f()",
]
"""Each has the value 2: of two items or pages of `doorward.items` and `doorward.pages`, in loops of both kinds."""

REPLYING = [
    "import calc, doorward\nreply = await doorward.reply(calc.add, a=1, b=2)\n[reply.value, reply.status, "
    "reply.headers['location']]",
    "import doorward\nreply = doorward.reply('calc.add', a=1, b=2)\n[reply['value'], reply['status'], "
    "reply['headers']['location']]",
    "from doorward import reply\nr = reply('calc.add', a=1, b=2)\n[r.value, r.status, r.headers.get('location')]",
    "import asyncio, calc, doorward\na, b = await asyncio.gather(doorward.reply(calc.add, a=3), "
    "doorward.reply(calc.add, a=4))\n"
    "[a.value, b.status, b.headers['location']]",
    "import calc, doorward\ndef f():\n    return doorward.reply(calc.add, a=1, b=2)\n[f().value, f().status, "
    "f().headers['location']]",
    "import calc, doorward\nr = doorward.reply(calc.add, a=1, b=2)\n[int(f'{r.value}'), r.status, "
    "f\"{r.headers['location']}\"]",
    "import calc, doorward\nr = doorward.reply(calc.add, a=1, b=2)\n"
    "[getattr(r, 'value'), getattr(r, 'status', 0), getattr(r, 'headers')['location']]",
    # A program's own names
    "class A:\n    def __init__(self):\n        self.value = 3\n        self.headers = {'location': '/sums/7'}\n"
    "a = A()\n[a.value, 201, a.headers['location']]",
]
"""Each has the value `[3, 201, "/sums/7"]`."""
