"""The programs of `ExecutorConformance` in Python."""

from __future__ import annotations

from doorward_testing.programs import errors, other_systems, program_api
from doorward_testing.programs.suite import Suite

RAISING = """
found = []
for given in ((5,), ("a", 2)):
    try:
        raise ValueError(*given)
    except ValueError as e:
        found.append(str(e))
try:
    raise ValueError(
        "x"
    )
except ValueError as e:
    found.append(repr(e))
found"""

OBJECTS = """
class Thing:
    def __init__(self, x):
        self.x = x

    def double(self):
        return self.x * 2

[Thing([1]), map(str, [1])]"""
"""An object of the program's own class is its attributes; what can be iterated over once is a list."""

PYTHON = Suite(
    values={
        "1 + 1": 2,
        "result = [1]\n2": [1],
        "x = 1": None,
        "{'a': (1, 2)}['a'][1]": 2,
        OBJECTS: [{"x": [1]}, ["1"]],
        "result = 5\nif result:\n    exit()\nresult = 6": 5,
        "import sys\nresult = 5\nsys.exit(0)": 5,
        RAISING: ["5", "('a', 2)", "ValueError('x')"],
    },
    calls=[
        "import calc\ncalc.add(1, b=2)",
        "from calc import add\nadd(1, 2)",
        "import calc\nawait calc.add(1, 2)",
        "import asyncio, calc\nsum(await asyncio.gather(calc.add(1), calc.add(2)))",
    ],
    catching_api_errors=errors.CATCHING_API_ERRORS,
    raising_api_errors=errors.RAISING_API_ERRORS,
    catching_tool_errors=errors.CATCHING_TOOL_ERRORS,
    raising_tool_errors=errors.RAISING_TOOL_ERRORS,
    other_systems=other_systems.CALL_STYLES,
    handing="import calc, doorward\n[doorward.pages(f, x=1)[0] for f in (calc.add, calc.add, 'calc.add')]",
    describing=program_api.DESCRIBING,
    helping=(program_api.HELP, ["doorward.pages", "doorward.path", "calc.add", "doorward"]),
    reading="import doorward\nfile = {'artefact': 'doorward://results/1'}\n"
    "[doorward.read(file), (await doorward.read(file))[:3]]",
    paging=program_api.PAGING,
    replying=program_api.REPLYING,
    reply="import calc, doorward\ndoorward.reply(calc.add, a=1)",
    parameter='city: str = "London"\nresult = city',
    failing=("print('before')\n\ndef f():\n    return 1 / 0\n\nf()", "ZeroDivisionError", 4),
    reaching=["import os\nresult = os.environ['HOST_CANARY']", "result = open(PATH).read()"],
    filling="x = [0] * 10\nwhile True:\n    x = x + x",
    meeting="import asyncio, calc\nresult = await asyncio.gather(*[calc.meet(n=50) for _ in range(50)])",
    waiting="import asyncio, calc\nresult = await asyncio.gather(*[calc.wait(ms=ms) for ms in (60, 1, 30)])",
    going_on="import asyncio, calc\nasync def f(n):\n    await calc.wait(ms=n)\n    await calc.echo(n)\n"
    "await asyncio.gather(f(1), f(2), f(3))",
    echoing="import calc\nx = 0\n[calc.echo(one) for one in x]",
    numbers="import calc\nn = calc.echo(-12 * 10**40)\n[n == -12 * 10**40, calc.echo([n]) == [n], calc.add(n, 1) - n]",
    printing="import calc\nfor i in range(2000):\n    print(i)\ncalc.add(1)\nprint('ä', 'b', sep='-', end='.')",
    flooding="for i in range(3000): print(i)\n5",
    misspelt=("print('x')\nx = = 1", 2),
    endless={
        "a loop": "print('begun')\nwhile True: pass",
        "a sleep": "print('begun')\nimport time\ntime.sleep(1000)",
        "a call": "print('begun')\nimport calc\ncalc.wait(ms=100000)",
    },
    repeating="""import calc, random, time
from datetime import datetime, timezone
found = []
for read in (
    time.time, time.time_ns, time.monotonic, time.perf_counter,
    lambda: datetime.now(), lambda: datetime.now(timezone.utc),
    random.random, lambda: random.choice(range(10**9)), lambda: random.Random().random(),
    lambda: random.sample(range(10**9), 3),
):
    found.append(str(read()))
    print(found[-1])
    await calc.echo(found[-1])
found""",
    session=(
        "import calc, json\nx = 40\ndef f(y): return calc.add(x, y)\nresult = 1",
        "1 / 0",
        "x = x + 1\njson.dumps(f(1))",
        "y = 5",
        "x",
    ),
    session_errors=("ZeroDivisionError", "NameError"),
)
