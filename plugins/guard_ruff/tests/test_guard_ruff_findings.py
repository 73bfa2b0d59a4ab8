"""What the guard finds, what it lets pass, and what its author reads."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from doorward import Program
from doorward_guard_ruff.rules import REFUSED, RULES

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

FREE = [
    "",
    "import github\nresult = github.issues_list(owner='a')",
    "from github import issues_list as f, repos\nimport doorward\nf(), doorward.servers(), repos.get()",
    "import asyncio, github\nresult = await asyncio.gather(*[github.a(id=i) for i in range(3)])",
    "from x import y, z, b\nasync for x in y():\n    async with z as w:\n        result = [await a async for a in b]",
    "__name__, __file__, __doc__, __builtins__, __import__, __debug__",
    "try:\n    cached\nexcept NameError:\n    cached = 1",
    "def f():\n    global total\n    total = 1\nf()\nprint(total)",
    "from math import *\nsqrt(2)",
    "def later():\n    return helper()\ndef helper():\n    return 1\nlater()",
    "class Node:\n    next: 'Node | None' = None",
    "if False:\n    x = 1\nprint(x)",
    "import pandas as pd\nfor n, row in pd.DataFrame().iterrows(): print(row)",
    "match {'a': 1}:\n    case {'a': x, **rest}: print(x, rest)\n    case [first, *others]: print(first, others)",
    "print([n for n in range(3) if (last := n)], last)",
    "try:\n    raise ExceptionGroup('x', [ValueError()])\nexcept* ValueError as group:\n    print(group)",
    "a = 1\na == 1",
    "help(print)",
]


@pytest.mark.parametrize("code", FREE)
async def test_what_a_program_gets_for_free_is_said_nothing_of(check: Any, code: str) -> None:
    """Servers, top-level `await`, results, module names, and Python as it is."""
    assert await check(code) == []


@pytest.mark.parametrize("code", ["Path('x')", "rows = [1]\nprint(row)", "def f():\n    return totl\nf()", "f'{wrng}'"])
async def test_an_undefined_name_is_refused(check: Any, code: str) -> None:
    """CONTRACT: SEC-03. As the error that Python itself would raise in the middle of the run."""
    (found,) = await check(code)
    assert (found.refuse, found.error) == (True, "NameError")
    assert re.match(r"name '\w+' is not defined \(ruff F821\): ", found.message)


async def test_the_author_reads_line_code_rule_and_what_to_do(check: Any) -> None:
    """CONTRACT: SEC-03. One finding for each thing, sorted by line."""
    code = (
        "import github\nissues = github.list()\nfor one in isues:\n    print(one)\nprint(json.dumps(isues))\nreturn 1"
    )
    assert [(one.line, one.message, one.instead) for one in await check(code)] == [
        (3, "name 'isues' is not defined (ruff F821): for one in isues:", "did you mean `issues`?"),
        (5, "name 'json' is not defined (ruff F821): print(json.dumps(isues))", "write `import json` first"),
        (6, "`return` statement outside of a function/method (ruff F706): return 1", "set `result = …` instead of return"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "code",
    [
        "exec('made = 1')\nprint(made)",
        "globals()['made'] = 1\nprint(made)",
        "import builtins\nbuiltins.made = 1\nprint(made)",
        "x = 1\ndef f():\n    return x\nprint(f())\ndel x",
        "def f():\n    for n in range(2):\n        if n:\n            print(k)\n        k = n\nf()",
        "def f(rows: Unknown) -> 'Other':\n    local: Third = 1\n    return local\nf(1)",
        "from typing import cast\nprint(cast('Unknown', 1))",
    ],
)
async def test_a_name_that_may_be_there_does_not_refuse(check: Any, code: str) -> None:
    """Names that are made, deleted, set later, or only said of types: the program may work, and is not refused."""
    assert [one.refuse for one in await check(code) if one.refuse] == []


async def test_names_that_only_the_caller_knows(check: Any) -> None:
    """Parameters are defined, and so is whatever earlier runs of a session may have left."""
    assert await check(Program("print(city)", params={"city": "Oslo"})) == []
    assert await check(Program("print(left)", continues=True)) == []
    assert await check(Program("return 1", continues=True)) != []


async def test_other_languages_are_not_read(check: Any) -> None:
    """Ruff knows Python alone."""
    assert await check(Program("const x: number = nothing", language="typescript")) == []


ADVICE = {
    "F632": "x = input\nx is 'a'",
    "F631": "x = 1\nassert (x, 'no')",
    "F634": "if (1, 2): pass",
    "PLW0177": "x = 1.0\nx == float('nan')",
    "B006": "def f(rows=[]): return rows",
    "B020": "rows = [1]\nfor rows in rows: print(rows)",
    "RUF006": "import asyncio\nasyncio.create_task(asyncio.sleep(1))",
    "ASYNC251": "import time\nasync def f():\n    time.sleep(1)",
    "B016": "raise 'no'",
    "F901": "raise NotImplemented",
    "PLE0704": "def f():\n    raise",
    "B030": "try: pass\nexcept (ValueError, 'x'): pass",
    "PLW0711": "try: pass\nexcept ValueError or KeyError: pass",
    "PLE0643": "[1, 2][5]",
    "F823": "def f():\n    total += 1\ntotal = 1",
    "F501": "'%(a' % {'a': 1}", "F502": "'%(a)s' % (1,)", "F503": "'%s %s' % {'a': 1}", "F505": "'%(a)s' % {'b': 1}",
    "F506": "'%(a)s %s' % {'a': 1}", "F507": "'%s %s' % (1,)", "F508": "'%*s' % {'a': 1}", "F509": "'%y' % 1",
    "F521": "'{'.format(1)", "F524": "'{} {}'.format(1)", "F525": "'{} {0}'.format(1)", "PLE1307": "'%d' % 'x'",
}  # fmt: skip
REFUSALS = {"F821": "print(x)", "F701": "break", "F702": "continue", "F706": "return 1"}


@pytest.mark.parametrize(("rule", "code"), [*ADVICE.items(), *REFUSALS.items()], ids=lambda text: text[:8])
async def test_each_rule_finds_its_example(check: Any, rule: str, code: str) -> None:
    """CONTRACT: SEC-03. Refused is what certainly fails, of the rest the author is told; each says what to do."""
    found = {re.search(r"\(ruff (.*?)\)", one.message)[1]: one for one in await check(code)}  # type: ignore[index]
    assert rule in found
    assert found[rule].refuse is (rule in REFUSED)
    assert found[rule].instead or rule == "F821"


def test_there_is_an_example_of_each_rule() -> None:
    """And the README shows each, with its reason."""
    assert {*ADVICE, *REFUSALS, "invalid-syntax"} == {*RULES}
    shown = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
    for rule, about in RULES.items():
        (line,) = [line for line in shown.splitlines() if line.startswith("|") and f"`{rule}`" in line]
        assert f"| {about.why} |" in line
        assert ("| refused |" in line) is (rule in REFUSED)


async def test_newer_syntax(check: Any) -> None:
    """CONTRACT: SEC-03. Syntax that the executor's Python does not have is told, or refused where the operator says so."""
    code = "type Row = dict"
    (found,) = await check(code, python="3.11")
    assert (found.line, found.refuse) == (1, False)
    assert "on Python 3.11 (syntax was added in Python 3.12) (ruff invalid-syntax): type Row = dict" in found.message
    assert await check(code, python="3.12") == []
    (refused,) = await check(code, python="3.11", refuse=["invalid-syntax"])
    assert (refused.refuse, refused.error) == (True, "SyntaxError")
    assert await check(code, python="3.11", ignore=["invalid-syntax"]) == []


@pytest.mark.parametrize("code", ["x = = undefned", "if x:\npass", "(((("])
async def test_a_syntax_error_is_pythons_to_tell(check: Any, code: str) -> None:
    """It has its own message, and what ruff would make of the rest is guesswork."""
    assert await check(code) == []


async def test_select_ignore_and_refuse(check: Any) -> None:
    """CONTRACT: SEC-03. The operator adds rules, leaves some out, and says which refuse; what refuses is looked at."""
    code = "import os\nexec('x')\nprint(undefned)"
    told = [(one.message.split(":")[0], one.refuse) for one in await check(code, select=["S1", "F401"])]
    assert told == [
        ("`os` imported but unused (ruff F401)", False),
        ("Use of `exec` detected (ruff S102)", False),
        ("name 'undefned' may not be defined here (ruff F821)", False),
    ]
    (only,) = await check("exec('x')", refuse=["S"])
    assert only.refuse
    assert await check("print(undefned)", ignore=["F821"]) == []
    assert all(one.refuse for one in await check("import os\nexec('x')", select=[], refuse=["ALL"]))
    (fixed,) = await check("import os", select=["F401"])
    assert fixed.instead == "Remove unused import: `os`"


async def test_rules_that_do_not_know_programs(check: Any) -> None:
    """An operator may select whole families: top-level `await` and the value of a program are still no findings."""
    code = "from x import f, rows\nawait f()\n[await each async for each in rows]"
    assert await check(code, select=["F7", "PLE", "B"]) == []
    assert [one.line for one in await check("a = 1\na == 1\na", select=["B"])] == [2]
    assert len(await check("yield 1", select=["F7"])) == 1


@pytest.mark.parametrize(
    "code",
    [
        "print(undefned)  # noqa", "print(undefned)  # NoQA: F821", "# ruff: noqa\nprint(undefned)",
        "# flake8: noqa\nprint(undefned)", "# ruff: disable[F821]\nprint(undefned)\n# ruff: enable[F821]",
        "print(undefned)  # ruff: ignore[F821]", "# ruff: file-ignore[F821]\nprint(undefned)", "'--ignore=F821'\nundefned",
        "# /// script\n# [tool.ruff.lint]\n# ignore = ['F821']\n# ///\nprint(undefned)", "'''\n[lint]\nignore=['F821']\n'''\nundefned",
    ],
)  # fmt: skip
async def test_a_program_cannot_switch_rules_off(check: Any, code: str) -> None:
    """CONTRACT: SEC-03. Whatever comments or text it has."""
    assert [one.message.split("(")[0] for one in await check(code) if one.refuse] == ["name 'undefned' is not defined "]


async def test_names_that_look_like_switches_are_shown_as_they_are(check: Any) -> None:
    """Ruff gets these words in pieces; nobody else does."""
    assert await check("noqa = ruff = 1\nprint(noqa, ruff)") == []
    assert [one.message for one in await check("print(NoQa_ruff)")] == [
        "name 'NoQa_ruff' is not defined (ruff F821): print(NoQa_ruff)"
    ]
