"""Programs that use what `import doorward` offers: help, pagination, whole replies."""

from __future__ import annotations

DESCRIBING = {
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
"""Programs that ask for descriptions, and their values."""

HELP = """
import calc, doorward as d
from doorward import pages as p
help(p)
help(d.path)
help(calc.add)
help(d)
"""
"""A program that prints the description of each of them."""

PAGING = [
    "import calc, doorward\nfound = []\nfor item in doorward.items(calc.add, x=1): found.append(item['x'])\nsum(found)",
    "import calc, doorward\nsum([item['x'] for item in doorward.items('calc.add', x=1)])",
    "import calc, doorward\nsum([item['x'] for item in await doorward.items(calc.add, x=1)])",
    "from doorward import items\nsum([item['x'] for item in items('calc.add', x=1)])",
    "import calc, doorward\nfound = 0\n"
    "async for item in doorward.items(calc.add, x=1):\n    found = found + item['x']\nfound",
    "import doorward\nsum([item['x'] async for item in doorward.items('calc.add', x=1)])",
    "import doorward\nasync def f():\n    n = 0\n"
    "    async for page in doorward.pages('calc.add', x=1):\n        n += 1\n    return n\nawait f()",
]
"""Each has the value 2: the sum or count of two items or pages, in loops of both kinds."""

REPLYING = [
    "import calc, doorward\nreply = await doorward.reply(calc.add, a=1, b=2)\n"
    "[reply.value, reply.status, reply.headers['location']]",
    "import doorward\nreply = doorward.reply('calc.add', a=1, b=2)\n"
    "[reply['value'], reply['status'], reply['headers']['location']]",
    "from doorward import reply\nr = reply('calc.add', a=1, b=2)\n[r.value, r.status, r.headers.get('location')]",
    "import asyncio, calc, doorward\n"
    "a, b = await asyncio.gather(doorward.reply(calc.add, a=3), doorward.reply(calc.add, a=4))\n"
    "[a.value, b.status, b.headers['location']]",
    "import calc, doorward\ndef f():\n    return doorward.reply(calc.add, a=1, b=2)\n"
    "[f().value, f().status, f().headers['location']]",
    "import calc, doorward\nr = doorward.reply(calc.add, a=1, b=2)\n"
    "[int(f'{r.value}'), r.status, f\"{r.headers['location']}\"]",
    "import calc, doorward\nr = doorward.reply(calc.add, a=1, b=2)\n"
    "[getattr(r, 'value'), getattr(r, 'status', 0), getattr(r, 'headers')['location']]",
    # A program's own names
    "class A:\n    def __init__(self):\n        self.value = 3\n        self.headers = {'location': '/sums/7'}\n"
    "a = A()\n[a.value, 201, a.headers['location']]",
]
"""Each has the value `[3, 201, "/sums/7"]`."""
