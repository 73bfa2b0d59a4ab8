"""What the guard says of programs: what it refuses, what it advises, what it lets alone."""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from typing import Any

import pluggy
import pytest
from doorward import Finding, Limits, PluginContext, Program
from doorward.plugins import hookspecs
from doorward_guard_ast import AstGuard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st


def check(code: str, limits: Limits | None = None, **options: Any) -> list[Finding]:
    guard = AstGuard(PluginContext("ast", AstGuard.Settings.model_validate(options), Path("unused")))
    return guard.guard_program(Program(code, limits=limits or Limits()))


def only(code: str, **options: Any) -> Finding:
    findings = check(code, **options)
    assert len(findings) == 1, findings
    return findings[0]


def test_it_is_a_hook_plugin() -> None:
    """pluggy accepts the guard for its hook, and the hook gives its findings."""
    hooks = pluggy.PluginManager("doorward")
    for spec in hookspecs.SPECS:
        hooks.add_hookspecs(spec)
    hooks.register(AstGuard(PluginContext("ast", AstGuard.Settings(), Path("unused"))), "ast")
    hooks.check_pending()
    assert [
        f.line for findings in hooks.hook.guard_program(program=Program("\nimport requests")) for f in findings
    ] == [2]


HONEST = [
    "",
    "# nothing\n",
    "import github\nresult = github.issues_list(owner='a')",
    "import io, pathlib, os, sys, json, re, urllib.parse, http, concurrent.futures\nresult = io.StringIO('x').read()",
    "def f():\n    global a\n    a = 1\n    def g():\n        nonlocal_ = 1\n    return g\nf()",
    "def f():\n    x = 1\n    def g():\n        nonlocal x\n        x = 2\n    g()\nf()",
    "import github\nresult = [r.system for r in github.hosts() if r.environ.kill('x') or r.exec()]",
    "import pandas as pd\nimport re\nresult = pd.DataFrame().eval('a + b'), re.compile('x')",
    "import github\nrequests = github.requests()\nresult = requests.get('KEY'), requests['API_KEY']",
    "def input(text):\n    return text\nresult = input('x')",
    "def compile(spec, open):\n    return open('/etc/passwd')\ncompile(1, print)",
    "import os\nresult = os.environ['HOME'], os.environ.get('MONKEY'), os.getenv('AUTHOR'), os.path.join('/etc', 'x')",
    "import os\nos.environ['API_KEY'] = 'x'",
    "open('data.csv'), open('/tmp/x', 'w'), open('/dev/null')",
    "import asyncio, github\nresult = await asyncio.gather(github.a(), github.b())",
    "async for x in y():\n    async with z as w:\n        result = [await a async for a in b]",
    "def main():\n    return 1\nresult = main()",
    "async def main():\n    return 1\nresult = await main()",
    "def main():\n    return 1\nif __name__ == '__main__':\n    main()",
    "from __future__ import annotations\nx: int = 1",
    "re = r'\\d'\nbad = '\\d'",
    "import pickle\nresult = pickle.dumps(1)",
    "class A:\n    def main(self): ...\nresult = A",
]


@pytest.mark.parametrize("code", HONEST)
def test_honest_code_passes(code: str) -> None:
    """LESSONS 6: names that merely look dangerous, top-level await and ordinary modules are not spoken of."""
    assert check(code) == []


@pytest.mark.parametrize(
    ("code", "line", "name"),
    [
        ("import requests", 1, "requests"),
        ("x = 1\nimport httpx as h\nh.get('x')", 2, "httpx"),
        ("import json, httpx2", 1, "httpx2"),
        ("import urllib.request", 1, "urllib.request"),
        ("from urllib import request, parse", 1, "urllib.request"),
        ("from urllib.request import urlopen", 1, "urllib.request"),
        ("import urllib.parse, urllib\n\nurllib.request.urlopen('x')", 3, "urllib.request"),
        ("import urllib3", 1, "urllib3"),
        ("import aiohttp", 1, "aiohttp"),
        ("from socket import *", 1, "socket"),
        ("from http.client import HTTPSConnection", 1, "http.client"),
        ("import ftplib", 1, "ftplib"),
        ("import smtplib", 1, "smtplib"),
    ],
)
def test_network_modules_are_refused(code: str, line: int, name: str) -> None:
    """CONTRACT: SEC-01. A module that needs a network is refused in its line, with the way that works, however it is
    imported."""
    finding = only(code)
    assert (finding.line, finding.refuse) == (line, True)
    assert finding.message == f"`{name}`: there is no network"
    assert "import github" in finding.instead
    assert "search_functions" in finding.instead


@pytest.mark.parametrize(
    "code",
    [
        "import subprocess",
        "from subprocess import run",
        "import os\nos.system('ls')",
        "import os as o\no.popen('x')",
        "from os import system as s\ns('ls')",
        "import pty",
        "import os\nf = os.execvp",
    ],
)
def test_processes_are_refused(code: str) -> None:
    """CONTRACT: SEC-01. Starting processes is refused, by the module or by the functions of os."""
    finding = only(code)
    assert finding.refuse
    assert finding.message.endswith("the guard lets programs start no processes")
    assert "`[hooks.ast] allow`" in finding.instead


@pytest.mark.parametrize(
    "code",
    [
        "import pickle\npickle.loads(b'')",
        "from pickle import load",
        "import pickle as p\np.Unpickler(None).load()",
        "import marshal\nmarshal.loads(b'')",
        "import pandas as pd\npd.read_pickle('x')",
        "import joblib\njoblib.load('x')",
        "import shelve",
        "import builtins\nbuiltins.exec('x')",
    ],
)
def test_data_that_is_code_is_refused(code: str) -> None:
    """CONTRACT: SEC-02. What is read back by running it is refused, by whichever module."""
    finding = only(code)
    assert finding.refuse
    assert "`[hooks.ast] allow`" in finding.instead


def granted(code: str, *words: str, **options: Any) -> list[Finding]:
    guard = AstGuard(PluginContext("ast", AstGuard.Settings.model_validate(options), Path("unused")))
    return guard.guard_program(Program(code, granted=frozenset(words)))


def test_what_the_operator_gave_is_not_refused() -> None:
    """A shell, a network and packages that executors were given need no `allow`; `refuse` stays the stronger."""
    shell, package, network = (
        "import subprocess, os\nos.system('ls')",
        "from httpx import URL",
        "import socket, requests",
    )
    assert granted(shell, "shell") == granted(package, "httpx") == granted(network, "network") == []
    assert all(finding.refuse for finding in granted(shell, "network", "httpx"))
    assert [f.refuse for f in granted(network, "requests")] == [True]
    assert [f.refuse for f in granted("import pandas\npandas.read_pickle('x')", "pandas")] == [True]
    assert [f.refuse for f in granted(shell, "shell", refuse=["subprocess"])] == [True]


def test_how_the_operator_gives_it_is_said() -> None:
    """The refusal names the one line or the one command by which the operator gives what was refused."""
    assert "`shell = true`" in only("import subprocess").instead
    assert "`doorward sandbox add EXECUTOR httpx`" in only("import httpx").instead
    assert "sandbox add" not in only("import socket").instead


@pytest.mark.parametrize("name", ["eval", "exec", "compile", "__import__"])
def test_made_code_is_refused(name: str) -> None:
    """CONTRACT: SEC-02. Calls of the built-ins that make code are refused."""
    finding = only(f"x = 1\n\n{name}('x')")
    assert (finding.line, finding.refuse, finding.instead) == (
        3,
        True,
        "write the code plainly; the operator can allow it: `[hooks.ast] allow`",
    )


@pytest.mark.parametrize("name", ["input", "breakpoint"])
def test_questions_are_refused(name: str) -> None:
    """Nobody sits before a sandbox."""
    finding = only(f"x = {name}()")
    assert (finding.refuse, "nobody can answer" in finding.message, "params" in finding.instead) == (True, True, True)


@pytest.mark.parametrize(
    ("code", "refuse"),
    [
        ("import os\nt = os.environ['GITHUB_TOKEN']", True),
        ("from os import environ as e\nt = e['API_KEY']", True),
        ("import os\ntry:\n    t = os.environ['DB_PASSWORD']\nexcept KeyError:\n    t = None", False),
        ("import os\nt = os.environ.get('apikey', '')", False),
        ("import os\nt = os.getenv('CLIENT_SECRET')", False),
        ("from os import getenv\nt = getenv('X_TOKEN')", False),
    ],
)
def test_reading_credentials(code: str, refuse: bool) -> None:
    """A program that looks for a credential is told that calls get theirs from Doorward; refused where it must fail."""
    finding = only(code)
    assert finding.refuse is refuse
    assert "holds no credentials" in finding.message
    assert "Doorward adds" in finding.instead


@pytest.mark.parametrize(
    "code",
    [
        "open('/etc/passwd')",
        "from pathlib import Path\nPath('/home/me/x').read_text()",
        r"open('C:\\x')",
        "open('~/x')",
        "import multiprocessing",
        "import ctypes",
        "def main():\n    pass",
        "import json\nasync def main():\n    result = 1\nx = 1",
    ],
)
def test_what_is_doubtful_is_advice(code: str) -> None:
    """CONTRACT: SEC-02. What may work somewhere does not stop a program; its author is told."""
    assert only(code).refuse is False


def test_main_is_never_called() -> None:
    """The author of a script learns how to give a result."""
    finding = only("def main():\n    return 1")
    assert "main() is never called" in finding.message
    assert "`result = main()`" in finding.instead


def test_an_optional_import_is_advice() -> None:
    """A program that can do without a module is not refused, neither for the import nor for its uses."""
    assert (
        only(
            "try:\n    import requests\nexcept ImportError:\n    requests = None\nif requests:\n    requests.get('x')"
        ).refuse
        is False
    )
    assert (
        only("try:\n    import urllib.request\nexcept* OSError:\n    pass\nurllib.request.urlopen('x')").refuse is False
    )
    assert only("try:\n    import requests\nfinally:\n    pass").refuse is True


def test_allow_and_refuse() -> None:
    """The operator's lists adjust the rules, modules and names in them; `refuse` is the stronger."""
    assert (
        check(
            "import socket, http.client\neval('1')\nimport os\nos.system('x')",
            allow=["socket", "http", "eval", "os.system"],
        )
        == []
    )
    assert check("import os\nos.environ['API_KEY']", allow=["os"]) == []
    found = only("from sqlite3.dbapi2 import connect", refuse=["sqlite3"])
    assert (found.message, found.refuse) == ("`sqlite3`: the operator does not allow it", True)
    assert only("import socket", allow=["socket"], refuse=["socket"]).refuse
    assert only("try:\n    import sqlite3\nexcept ImportError:\n    pass", refuse=["sqlite3"]).refuse
    assert only("open('x')", refuse=["open"]).refuse
    assert only("import os\nos.environ.copy()", refuse=["os.environ"]).line == 2


def test_size_comes_before_everything() -> None:
    """CONTRACT: SBX-09. Code above the limit, in bytes of UTF-8, is refused before it is read."""
    assert check("é" * 10, Limits(code_bytes=20)) == []
    finding = only("é" * 10 + "\0é", limits=Limits(code_bytes=20))
    assert (finding.message, finding.refuse) == ("the code has 23 bytes; 20 are allowed", True)
    assert only("\ud800" * 10, limits=Limits(code_bytes=20)).message == "the code has 30 bytes; 20 are allowed"


@pytest.mark.parametrize(
    ("code", "line", "message", "instead"),
    [
        ("x = 1\ny = = 2\n", 2, "invalid syntax: y = = 2", ""),
        ("if x:\npass", 2, "expected an indented block after 'if' statement on line 1: pass", ""),
        ("x = 1\nreturn x", 2, "'return' outside function: return x", "set `result = …` instead of return"),
        ("def f():\n    await g()", 2, "'await' outside async function: await g()", "make it `async def`"),
        ("```python\nx = 1\n```", 1, "invalid syntax: ```python", "without ``` fences"),
        ("x = 'a\0b'", 1, "the code holds a NUL character", r"\x00"),
        ("\nx = '\ud800'", 2, "the code holds half of a surrogate pair", r"\ud800"),
        ("\n" + "-" * 60000 + "1", None, "nested too deeply", "split"),
        ("x" + ".a" * 30000, None, "nested too deeply", "split"),
        ("(" * 60000, 1, "too many nested parentheses", ""),
        ("def f(a, a): pass", 1, "duplicate argument 'a'", ""),
        ("break", 1, "'break' outside loop: break", ""),
    ],
)
def test_what_cannot_be_read(code: str, line: int | None, message: str, instead: str) -> None:
    """Syntax errors say the line, the source and, where it is known, the remedy."""
    finding = only(code)
    assert finding.refuse
    assert finding.line == line
    assert message in finding.message
    assert instead in finding.instead
    assert len(finding.message) < 500
    of_python = "nested too deeply" not in message and "the code holds" not in message
    assert finding.error == (("IndentationError" if "indented" in message else "SyntaxError") if of_python else "")


@pytest.mark.parametrize("code", ['d = {"x": 1}\nf"{d["x"]}"', "type X = int", "def f[T](x: T) -> T:\n    return x"])
def test_newer_syntax_is_not_refused(code: str) -> None:
    """What a newer Python reads is left to the executor, whatever Python the host runs on."""
    assert check(code) == []


def test_findings_are_few_and_in_order() -> None:
    """Each name is told once, by line; of very many findings those that refuse are kept."""
    code = (
        "open('/etc/1')\n"
        + "".join(f"open('/etc/{n}')\n" for n in range(100))
        + "eval('1')\neval('2')\nimport requests\nimport requests"
    )
    findings = check(code)
    assert len(findings) == 20
    assert [f.line for f in findings if f.refuse] == [102, 104]
    assert [f.line for f in findings] == sorted(f.line for f in findings if f.line)


PIECES = [
    "import ", "from ", "os", ".", "environ", "[", "]", "(", ")", "'KEY'", "=", "\n", "    ", "def ", "main", ":",
    "await ", "async ", "try", "except", "lambda ", "f'{", "}'", "eval", "return ", "*", "{", "}", "\0", "\\", "#", '"""',
    "match x:\n case ", "\ud800", "ü", "\x0c", "\r", "nonlocal x", "type X = ",
]  # fmt: skip


@pytest.mark.slow
@settings(deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.one_of(
        st.text(st.characters(exclude_categories=[])), st.lists(st.sampled_from(PIECES), max_size=40).map("".join)
    )
)
def test_any_text_has_an_answer(code: str) -> None:
    """Whatever the text, the guard gives findings with sensible lines, and neither raises nor warns."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for finding in check(code):
            assert finding.message
            assert finding.line is None or finding.line >= 0


@pytest.mark.slow
@pytest.mark.parametrize(
    "code",
    [
        "x\n" * 32768,
        "a." * 32767 + "a",
        "[" * 190 + "1 2",
        "import " + "a." * 32000 + "a",
        "import " + "a.\\\n" * 16000 + "a",
        ("import " + "a." * 1999 + "a\n") * 16,
        "a" * 65536,
        "a " * 32768,
        "a. " * 21000,
        "from " + "a" * 30000 + " import " + ",".join(f"b{n}" for n in range(5000)),
        "from " + "a." * 15000 + "a import " + ",".join(f"b{n}" for n in range(5000)),
        "from m import " + "a" * 30000 + " as x\n" + "x.a\n" * 8000,
        "import os\n" + "os.environ['API_KEY'];" * 2900,
        "try:\n import os\n" + "\n".join(f" eval({n})" for n in range(4000)) + "\nexcept E:0",
        "f'{x}'" * 10000,
        "".join(" " * n + "for x in x:\n" for n in range(99)) + " " * 100 + "0",
        "9**9**9**9,'a'*1000*1000*1000*1000",
        "1<" * 32000 + "1",
        "\\\n" * 32000,
        "\u0661" * 20000,
        "elif x:\n" * 8000,
        "with (" + "a as b," * 9000 + "):0",
        "x=" * 32000 + "1",
        ("import os\n" + "os.a.b.c.d;" * 6000)[:65536],
    ],
    ids=lambda code: code[:8].encode("unicode_escape").decode(),
)
def test_hostile_text_takes_no_time(code: str) -> None:
    """64 KiB that were made to be slow or deep are answered in moments of the processor."""
    start = time.process_time()
    check(code)
    assert time.process_time() - start < 3


SCRIPT = """import * as fs from "node:fs/promises";
const { Socket } = await import('node:net');
// Deno is only named here, and so is eval
const evaluate = eval("1"), run = Deno["Command"], mine = x.eval(1);
"""


def script(code: str, **options: Any) -> list[Finding]:
    guard = AstGuard(PluginContext("ast", AstGuard.Settings.model_validate(options), Path("unused")))
    return guard.guard_program(Program(code, limits=Limits(code_bytes=1000), language="typescript"))


def test_other_languages_are_not_read_as_python() -> None:
    """Nothing is said of a program in TypeScript but what holds for any text, and what the operator refuses by name."""
    assert script(SCRIPT) == script(SCRIPT, allow=["eval"]) == []
    assert [f.line for f in script("\n\0")] == [2]
    assert "1000 are allowed" in script("x" * 1001)[0].message.replace(",", "")
    found = script(SCRIPT, refuse=["node:fs", "node:net", "eval", "Deno", "node:os"])
    assert [(f.line, f.refuse) for f in found] == [(1, True), (2, True), (4, True), (4, True)]
    assert [f.message for f in found] == [
        f"`{name}`: the operator does not allow it" for name in ("node:fs", "node:net", "eval", "Deno")
    ]
