"""Programs that every executor of full CPython must run, with their values or errors."""

from __future__ import annotations

from typing import Any

VALUES: dict[str, tuple[str, Any]] = {
    "generators": ("def f(n):\n    yield from range(n)\nsum(f(5)) + sum(x for x in f(3))", 13),
    "classes": (
        "class Base:\n    def __init__(self, x): self.x = x\n    @property\n    def twice(self): return 2 * self.x\n"
        "class Mine(Base):\n    @classmethod\n    def of(cls, x): return cls(x)\n"
        "    @staticmethod\n    def one(): return 1\nMine.of(4).twice + Mine.one()",
        9,
    ),
    "exceptions with attributes": (
        "class Odd(ValueError):\n    def __init__(self, n):\n        super().__init__(f'odd {n}')\n        self.n = n\n"
        "try:\n    raise Odd(3) from KeyError('k')\n"
        "except Odd as e:\n    result = [e.n, str(e), type(e.__cause__).__name__]",
        [3, "odd 3", "KeyError"],
    ),
    "del, global, nonlocal, walrus, match": (
        "n = 1\ndef f():\n    global n\n    n += 1\n    k = 1\n"
        "    def g():\n        nonlocal k\n        k += 1\n    g()\n    return k\n"
        "x = f()\ndel f\nmatch {'a': [1, 2]}:\n"
        "    case {'a': [first, *rest]} if (y := first):\n        result = [n, x, y, rest]",
        [2, 2, 1, [2]],
    ),
    "the standard library": (
        "import collections, csv, datetime, decimal, enum, io, itertools, re, statistics, string, textwrap, uuid\n"
        "import urllib.parse, zlib\n"
        "class Colour(enum.Enum):\n    RED = 'red'\n"
        "rows = list(csv.DictReader(io.StringIO('a,b\\n1,2')))\n"
        "result = [rows[0]['b'], statistics.mean([1, 2, 3]), urllib.parse.quote('a b'), Colour('red').name,\n"
        "  uuid.UUID(int=5).int, str(decimal.Decimal('0.1') * 3), len(zlib.compress(b'x' * 1000)) < 100]",
        ["2", 2, "a%20b", "RED", 5, "0.3", True],
    ),
    "dataclasses and type hints": (
        "from __future__ import annotations\nimport typing\nfrom dataclasses import asdict, dataclass, field\n"
        "@dataclass(frozen=True)\nclass Point:\n    x: int\n    tags: list[str] = field(default_factory=list)\n"
        "hints = typing.get_type_hints(Point)\nresult = [asdict(Point(1)), hints['x'] is int, Point(1) == Point(1)]",
        [{"x": 1, "tags": []}, True, True],
    ),
    "from __future__ import annotations": (
        '"""What it does."""\nfrom __future__ import annotations\n'
        'def f(x: Nothing) -> None: ...\nf.__annotations__["x"]',
        "Nothing",
    ),
    "a docstring alone": ('"""Only words."""', "Only words."),
    "comments alone": ("# nothing\n", None),
    "the last expression over many lines": (
        "x = [\n  1,\n]\n(\n    {\n        'a': x,\n        'b': [y for y in\n              x],\n    }\n)\n",
        {"a": [1], "b": [1]},
    ),
    "the last expression behind a semicolon": ("x = 1; x + 1", 2),
    "__name__ is __main__": ("result = 'no'\nif __name__ == '__main__':\n    result = 'yes'", "yes"),
    "pickling": (
        "import copy, pickle\nclass Row:\n    def __init__(self, n): self.n = n\n"
        "    def __eq__(self, other): return self.n == other.n\n"
        "import calc\nanswer = calc.echo({'a': [1]})\n"
        "result = [pickle.loads(pickle.dumps(Row(3))) == Row(3), pickle.loads(pickle.dumps(answer)),\n"
        "  copy.deepcopy(answer)]",
        [True, {"a": [1]}, {"a": [1]}],
    ),
    "the program's own text": (
        "import inspect\ndef f():\n    return 1\ninspect.getsource(f)",
        "def f():\n    return 1\n",
    ),
    "import *": ("from calc import *\nadd(1, 2)", 3),
    "answers by attribute": (
        "import calc\nx = calc.echo({'items': [{'id': 7, 'keys': 1}], 'none': None})\n"
        "result = [x['items'][0].id, isinstance(x, dict), x.get('none', 5), hasattr(x, 'nope')]",
        [7, True, None, False],
    ),
    "a call in a thread": (
        "import calc, threading\nfound = []\n"
        "threads = [threading.Thread(target=lambda n=n: found.append(calc.add(n, 1))) for n in range(8)]\n"
        "[t.start() for t in threads]\n[t.join() for t in threads]\nsorted(found)",
        list(range(1, 9)),
    ),
    "calls of a pool of threads": (
        "import calc\nfrom concurrent.futures import ThreadPoolExecutor\n"
        "with ThreadPoolExecutor(8) as pool:\n    result = list(pool.map(lambda n: calc.meet(n=8), range(8)))",
        [8] * 8,
    ),
    "asyncio.run": (
        "import asyncio, calc\nasync def main():\n    a = await calc.add(1, 2)\n"
        "    b = await asyncio.gather(calc.meet(n=2), calc.meet(n=2))\n"
        "    return a + sum(b)\nresult = asyncio.run(main())",
        7,
    ),
    "asyncio.run behind __main__": (
        "import asyncio, calc\nasync def main():\n    return await calc.add(1, 2)\n"
        "if __name__ == '__main__':\n    result = asyncio.run(main())",
        3,
    ),
    "tasks, timeouts and threads of asyncio": (
        "import asyncio, calc\n"
        "async def late():\n    try:\n        await asyncio.wait_for(calc.wait(ms=5000), 0.05)\n"
        "    except asyncio.TimeoutError:\n        return 'late'\n"
        "task = asyncio.create_task(late())\nn = await asyncio.to_thread(calc.add, 1, 2)\nresult = [await task, n]",
        ["late", 3],
    ),
    "an error of an API has attributes": (
        "import calc, doorward\ntry:\n    calc.fail(status=418)\nexcept doorward.ApiError as e:\n"
        "    result = [type(e).__name__, e.status, e.body['why'], e.retry_after, isinstance(e, RuntimeError)]",
        ["ApiError", 418, ["gone"], 1.5, True],
    ),
    "wrong arguments are a TypeError": (
        "import calc\ntry:\n    calc.refuse(x=1)\nexcept TypeError as e:\n    result = str(e)",
        "calc.refuse takes nothing",
    ),
    "arguments that are no JSON": (
        "import calc\ntry:\n    calc.echo(object())\nexcept TypeError:\n    result = 'told'",
        "told",
    ),
    "breakpoint": ("breakpoint()\n1", 1),
    "exit with 0": ("import sys\nresult = 3\nsys.exit(0)", 3),
    "exit()": ("result = 3\nexit()", 3),
    "files of its own": (
        "import os, tempfile\nos.makedirs('a/b')\nopen('a/b/c.txt', 'w').write('hello')\n"
        "with tempfile.NamedTemporaryFile('w+') as f:\n    f.write('x')\n"
        "result = [open('a/b/c.txt').read(), sorted(os.listdir('a')), os.path.basename(os.getcwd()) != '']",
        ["hello", ["b"], True],
    ),
    "sqlite": (
        "import sqlite3\ndb = sqlite3.connect('x.db')\ndb.execute('create table t (n)')\n"
        "db.execute('insert into t values (3)')\ndb.commit()\ndb.execute('select n from t').fetchone()[0]",
        3,
    ),
    "locks of files of its own": (
        "import fcntl\nfile = open('lock', 'w')\nfcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)\n"
        "fcntl.lockf(file, fcntl.LOCK_UN)\n7",
        7,
    ),
    "what is in memory as a file": ("import io\n[io.StringIO('abc'), io.BytesIO(b'abc')]", ["abc", b"abc"]),
    "warnings and logging are printed": (
        "import logging, warnings\nwarnings.warn('careful')\nlogging.warning('beware')\n5",
        5,
    ),
}
"""By subject: the program, and its value."""

ERRORS: dict[str, tuple[str, str, int | None]] = {
    "in a comprehension": ("def f(n):\n    return 1 / n\n\n[f(n) for n in\n    (1, 0)]", "ZeroDivisionError", 2),
    "in a generator": ("def f():\n    yield 1\n    raise KeyError('x')\nlist(f())", "KeyError", 3),
    "in an async function": (
        "import calc\nasync def f():\n    await calc.add(1)\n    return {}['x']\nawait f()",
        "KeyError",
        4,
    ),
    "in a thread's result": (
        "from concurrent.futures import ThreadPoolExecutor\ndef f():\n    raise ValueError('x')\n"
        "ThreadPoolExecutor().submit(f).result()",
        "ValueError",
        3,
    ),
    "in a lambda, of a library": (
        "import functools\nfunctools.reduce(\n    lambda a, b: a + b,\n    [1, 'x'])",
        "TypeError",
        3,
    ),
    "of a class of its own": ("class Odd(Exception):\n    pass\nraise Odd('x')", "Odd", 3),
    "syntax": ("x = 1\ndef f(:\n    pass", "SyntaxError", 2),
    "indentation": ("if True:\nx = 1", "IndentationError", 2),
    "recursion": ("def f():\n    return f()\nf()", "RecursionError", 2),
    "input": ("x = 1\ninput('who? ')", "EOFError", 2),
    "exit with a code": ("import sys\nsys.exit(3)", "SystemExit", 2),
    "no such module": ("import nowhere_to_be_found", "ModuleNotFoundError", 1),
    "no such function": ("import calc\ncalc.nope()", "AttributeError", 2),
    "no such attribute of an answer": ("import calc\ncalc.echo({'a': 1}).b", "AttributeError", 2),
}
"""By subject: the program, the type of its error, and its line."""

STUBBORN: dict[str, str] = {
    "swallows everything": (
        "import time\nwhile True:\n    try:\n        time.sleep(100)\n    except BaseException:\n        pass"
    ),
    "masks signals": (
        "import signal\n"
        "for s in set(signal.Signals) - {9, 19}:\n    try: signal.signal(s, signal.SIG_IGN)\n"
        "    except Exception: pass\nwhile True: pass"
    ),
    "threads": (
        "import threading\ndef f():\n    while True: pass\nfor _ in range(4): threading.Thread(target=f).start()\nf()"
    ),
    "children": (
        "import os, time\nfor _ in range(4):\n    try: os.fork()\n    except OSError: break\nwhile True: time.sleep(1)"
    ),
    "children in sessions of their own": (
        "import os, time\ntry:\n    if os.fork() == 0: os.setsid()\nexcept OSError: pass\nwhile True: time.sleep(1)"
    ),
    "a regular expression": "import re\nre.match(r'(a+)+$', 'a' * 60 + 'b')",
    "a large number": "10 ** 10 ** 9",
}
"""Programs that do not end by themselves, and resist being ended."""

REPEATING = """
import datetime, logging, os, random, secrets, tempfile, time, uuid
logging.basicConfig(format="%(created)f")
logging.warning("now")
shuffled = list(range(50))
random.shuffle(shuffled)
class Own(datetime.datetime): pass
result = [str(read()) for read in (
    time.time, time.time_ns, time.localtime, time.gmtime, time.ctime, time.asctime, lambda: time.strftime("%c"),
    lambda: time.clock_gettime(time.CLOCK_REALTIME), time.monotonic_ns, time.perf_counter,
    datetime.datetime.now, datetime.datetime.utcnow, datetime.datetime.today, datetime.date.today, Own.now,
    lambda: datetime.datetime.now().astimezone(), lambda: os.urandom(5), lambda: os.getrandom(5), uuid.uuid1,
    uuid.uuid4, secrets.token_hex, random.SystemRandom().random, tempfile.mkdtemp, lambda: shuffled,
    lambda: [hash("text"), *{"a", "b", b"c", ("d", 1.5), frozenset("efgh"), None}][:5],
)]
"""
"""It has all that it finds for its value."""
