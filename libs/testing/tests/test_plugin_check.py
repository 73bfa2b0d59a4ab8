"""`doorward plugin check` says of any plugin, installed or not, what is well, what is to do and what is wrong."""

from __future__ import annotations

import contextlib
import os
import re
import textwrap
import time
from collections import defaultdict
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from doorward_testing import Cli, Host
from doorward_testing.authoring import suite
from doorward_testing.authoring.candidate import KIND_OF, candidate
from doorward_testing.authoring.checking import checked
from doorward_testing.authoring.command import plugin
from doorward_testing.authoring.findings import Found
from doorward_testing.authoring.probe import _probed
from doorward_testing.authoring.subprocesses import place

pytestmark = pytest.mark.slow

PROJECT = """
[project]
name = "acme-doorward-x"
version = "1.2"
requires-python = ">=3.11"
dependencies = ["doorward>=0.1,<0.2"]
"""

CACHE = """
from doorward import Settings
PLUGIN_API = 1
class X:
    Settings = Settings
    def __init__(self, context): ...
    async def put(self, program): ...
    async def get(self, cache_id, principal): ...
    async def close(self): ...
"""

GUARD = """
from doorward import hookimpl
PLUGIN_API = 1
class X:
    def __init__(self, context): ...
    @hookimpl
    def guard_call(self, call): ...
"""


OWNED = 'x = "acme_x:{}"\n[project.entry-points."doorward.plugins"]\nx = "acme_x:X"'
"""The entry points of a table, and of the plugin that owns it."""

LATER = "import time\nclock = time.perf_counter\ntime.perf_counter = lambda: clock() + 200\n"
"""A module that seems to take that long to import, to whoever measures it."""


class Mistake(NamedTuple):
    """A package with one mistake; what is said of it, and of what to do."""

    group: str
    code: str
    says: str
    do: str = ""
    status: str = "wrong"
    point: str = "acme_x:X"
    project: str = PROJECT
    points: str = ""


def without(text: str, part: str, by: str = "") -> str:
    assert part in text
    return text.replace(part, by)


NO_DEPENDENCY = without(PROJECT, 'dependencies = ["doorward>=0.1,<0.2"]\n')
MISTAKES = {
    "a wrong group": Mistake("doorward.caches", CACHE, "no group 'doorward.caches', so", r"mean doorward\.cache\?"),
    "another wrong group": Mistake("doorward_hooks", GUARD, "no group 'doorward_hooks', so", r"doorward\.plugins"),
    "no group": Mistake("console_scripts", CACHE, "has none of Doorward's", r"doorward\.auth, doorward\.cache"),
    "no entry point": Mistake("", CACHE, "has none of Doorward's"),
    "an entry point without a module": Mistake(
        "doorward.cache", CACHE, "does not import: ModuleNotFoundError", "Is acme_y:X what", point="acme_y:X"
    ),
    "an entry point without its class": Mistake(
        "doorward.cache", CACHE, "does not import: AttributeError", r"Is acme_x\d+:Y what", point="acme_x:Y"
    ),
    "an odd entry point": Mistake("doorward.cache", CACHE, "'acme x' names nothing", point="acme x"),
    "an odd name": Mistake("doorward.cache", CACHE, "cannot be written", points='"a b" = "acme_x:X"'),
    "a name that is taken": Mistake("doorward.command", CACHE, "by doorward-testing", points='plugin = "acme_x:X"'),
    "a syntax error": Mistake("doorward.cache", "def", "does not import: SyntaxError"),
    "an import that fails": Mistake("doorward.cache", "\n1 / 0", r"ZeroDivisionError: .*\(__init__\.py:2\)", "last line"),
    "an import that ends": Mistake("doorward.cache", "raise SystemExit(3)", "does not import: SystemExit"),
    "an import that kills": Mistake("doorward.cache", "import os\nos._exit(7)", "ended with exit code 7"),
    "an import that prints": Mistake("doorward.cache", CACHE + "print('ha')", "prints when .*: ha", "log", "to do"),
    "a heavy import": Mistake("doorward.cache", "import httpx2\n" + CACHE, "imports httpx2", "functions that use"),
    "a slow import": Mistake("doorward.cache", CACHE + LATER, "imports in 2..... ms", "", "to do"),
    "threads that go on": Mistake(
        "doorward.cache",
        CACHE + "import threading, time\nthreading.Thread(target=lambda: time.sleep(1000)).start()",
        "is complete, and can be made",
        status="ok",
    ),
    "another plugin API": Mistake("doorward.cache", without(CACHE, "API = 1", "API = 2"), "plugin API 2, this is 1"),
    "no plugin API": Mistake("doorward.cache", without(CACHE, "PLUGIN_API = 1"), "for which plugin API", "= 1", "to do"),
    "a missing method": Mistake("doorward.cache", without(CACHE, "async def get(", "async def got("), "lacks .*get"),
    "a wrong signature": Mistake("doorward.cache", without(CACHE, ", principal"), "get.*principal"),
    "a method that is not async": Mistake("doorward.cache", without(CACHE, "async def put", "def put"), "put.*async"),
    "an object": Mistake("doorward.cache", CACHE + "X = X(None)", "no class"),
    "no settings": Mistake("doorward.cache", without(CACHE, "    Settings = Settings\n"), "lacks .*Settings"),
    "settings of another kind": Mistake("doorward.cache", without(CACHE, "= Settings", "= dict"), "Settings"),
    "bare settings": Mistake(
        "doorward.cache",
        without(CACHE, "class X:", "class S(Settings):\n    depth: int = 1\nclass X:").replace("= Settings", "= S"),
        "without a description: depth",
        "Field",
        "to do",
    ),
    "a constructor that fails": Mistake(
        "doorward.cache", without(CACHE, "context): ...", "context): open('/nowhere')"), "made: FileNotFoundError"
    ),
    "a constructor of hooks that fails": Mistake(
        "doorward.plugins", without(GUARD, "context): ...", "context): context.setings"), "AttributeError.*setings"
    ),
    "an async hook": Mistake("doorward.plugins", without(GUARD, "def guard", "async def guard"), "guard_call.*async"),
    "a hook with a wrong signature": Mistake(
        "doorward.plugins", without(GUARD, "self, call", "self, program"), "guard_call.* program"
    ),
    "an unknown hook": Mistake(
        "doorward.plugins", without(GUARD, "guard_call", "guard_cal"), "no hook guard_cal|unknown hook 'guard_cal'"
    ),
    "no hook": Mistake("doorward.plugins", without(GUARD, "    @hookimpl\n"), "hookimpl|no hook"),
    "a function instead of hooks": Mistake("doorward.plugins", "def X(context): ...", "hookimpl|no hook"),
    "no command": Mistake("doorward.command", "def X(): ...", "no click command"),
    "no dependency": Mistake("doorward.cache", CACHE, "not depend", r"doorward>=0\.1,<0\.2", "to do", project=NO_DEPENDENCY),
    "a dependency without an end": Mistake(
        "doorward.cache", CACHE, "every later Doorward", "<0.2", "to do", project=without(PROJECT, ",<0.2")
    ),
    "a dependency on another Doorward": Mistake(
        "doorward.cache", CACHE, "is for doorward.*, this is 0", project=without(PROJECT, ">=0.1,<0.2", ">=7")
    ),
    "an odd dependency": Mistake(
        "doorward.cache", CACHE, "is no requirement", project=without(PROJECT, "doorward>=0.1", "door ward;")
    ),
    "another Python": Mistake(
        "doorward.cache", CACHE, "Python >=4, this is 3", project=without(PROJECT, ">=3.11", ">=4")
    ),
    "an odd Python": Mistake("doorward.cache", CACHE, "cannot be read", project=without(PROJECT, ">=3.11", "three")),
    "no Python": Mistake(
        "doorward.cache", CACHE, "nothing of Python", status="to do", project=without(PROJECT, 'requires-python = ">=3.11"')
    ),
    "a table without a plugin": Mistake("doorward.table", "X = int", "belongs to one of 0 hook plugins", "the only one"),
    "a key of servers without a plugin": Mistake("doorward.server_key", "X = int", "belongs to one of 0 hook plugins"),
    "a table of no type": Mistake(
        "doorward.table", GUARD + "T = object()", "is no type for pydantic", "Settings class", points=OWNED.format("T")
    ),
    "a table": Mistake("doorward.table", GUARD + "T = list[int]", "has a type", status="ok", points=OWNED.format("T")),
    "no distribution": Mistake("doorward.distro", "", r"distro\.toml", point="acme_x"),
}  # fmt: skip


@pytest.fixture
def package(tmp_path: Path) -> Callable[..., Path]:
    """Writes the source folder of a plugin."""

    def write(group: str, code: str, point: str = "acme_x:X", project: str = PROJECT, points: str = "") -> Path:
        folder = tmp_path / "acme"
        (folder / "src/acme_x").mkdir(parents=True)
        (folder / "src/acme_x/__init__.py").write_text(code, encoding="utf-8")
        table = f'[project.entry-points."{group}"]\n{points or f"x = {point!r}"}\n' if group else ""
        (folder / "pyproject.toml").write_text(project + table, encoding="utf-8")
        return folder

    return write


IN_A_PROCESS = (
    "an import that fails", "an import that kills", "an import that prints", "a heavy import", "a slow import",
    "threads that go on", "a missing method", "an async hook", "no command",
)  # fmt: skip
"""Mistakes that are found in a process as of the command: all that would do something to that of the tests, and one of
each way in which plugins are loaded."""

IN_METADATA = [about for about, wrong in MISTAKES.items() if wrong.project != PROJECT]
ALONE = (
    "a wrong group", "another wrong group", "no group", "no entry point", "an odd entry point", "an odd name",
    "a name that is taken", "no distribution", "a table without a plugin", "a key of servers without a plugin",
    "a table of no type", "a table",
)  # fmt: skip
"""What other plugins of the same package would hide, or suffer from."""

LOADED = [about for about in MISTAKES if about not in (*IN_A_PROCESS, *IN_METADATA, *ALONE)]


def plugins(folder: Path, some: list[str]) -> Path:
    """The source folder of a package with a plugin for each of some mistakes, which is called `x` and its number."""
    tables: dict[str, list[str]] = defaultdict(list)
    for number, about in enumerate(some):
        wrong = MISTAKES[about]
        (folder / f"src/acme_x{number}").mkdir(parents=True)
        (folder / f"src/acme_x{number}/__init__.py").write_text(wrong.code, encoding="utf-8")
        point = wrong.point.replace("acme_x", f"acme_x{number}")
        tables[f'[project.entry-points."{wrong.group}"]'].append(f"x{number} = {point!r}")
    text = "".join(f"{table}\n" + "\n".join(points) + "\n" for table, points in tables.items())
    (folder / "pyproject.toml").write_text(PROJECT + text, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def probed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Found]]:
    """What is found where a process loads each plugin."""
    folder = plugins(tmp_path_factory.mktemp("probed") / "acme", [*IN_A_PROCESS])
    found = [*checked(candidate(str(folder)), tests=False)]
    return {about: [one for one in found if one.check.split()[-1] == f"x{n}"] for n, about in enumerate(IN_A_PROCESS)}


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Found]]:
    """The same, where our own process does what that does."""
    about = candidate(str(plugins(tmp_path_factory.mktemp("loaded") / "acme", LOADED)))
    with place(about) as there, pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(there.environ["PYTHONPATH"].split(os.pathsep)[0])
        return {about: [*_probed(KIND_OF[MISTAKES[about].group], f"x{n}", 1000.0)] for n, about in enumerate(LOADED)}


@pytest.mark.parametrize("about", MISTAKES)
def test_a_mistake(request: Any, package: Any, about: str) -> None:
    """Each is told in one line, with what to do, and never as a traceback."""
    wrong = MISTAKES[about]
    if about in IN_A_PROCESS or about in LOADED:
        found = request.getfixturevalue("probed" if about in IN_A_PROCESS else "loaded")[about]
    else:
        folder = package(wrong.group, wrong.code, wrong.point, wrong.project, wrong.points)
        told_first = 2 if about in IN_METADATA else None  # of Doorward and of Python, before anything is loaded
        found = [*islice(checked(candidate(str(folder)), tests=False), told_first)]
    told = [one for one in found if one.status == wrong.status and re.search(wrong.says, one.says)]
    assert len(told) == 1, found
    assert re.search(wrong.do, told[0].do), told
    assert told[0].do or wrong.status == "ok" or wrong.says, told
    assert not [one for one in found if "Traceback" in f"{one.says} {one.do}"], found
    if wrong.status != "wrong":
        assert [one for one in found if one.status == "wrong"] == []


def is_running(pid: int) -> bool:
    """Whether a process has not ended: one that nobody has waited for is still listed."""
    with contextlib.suppress(OSError):
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    return False


def test_an_import_that_hangs(package: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is ended, with what it has started."""
    code = (
        "import subprocess, sys, time\np = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(1000)'])\n"
    )
    folder = package("doorward.cache", code + "print(p.pid, flush=True)\ntime.sleep(1000)")
    for seconds in (3, 10, 30):  # a busy machine takes longer until it hangs
        monkeypatch.setattr("doorward_testing.authoring.subprocesses.PROBE_SECONDS", float(seconds))
        (line,) = [one for one in checked(candidate(str(folder)), tests=False) if one.status == "wrong"]
        if said := re.search(rf"did not end within {seconds} s: (\d+)$", line.says):
            break
    assert said, line
    while is_running(int(said[1])):  # it was killed: its end may take a moment
        time.sleep(0.01)


def test_nothing_is_written(package: Any) -> None:
    """A folder that is checked, tests and all, is as it was, even for root; what is installed is so too."""
    folder = package("doorward.cache", CACHE)
    (folder / "tests").mkdir()
    (folder / "tests/test_it.py").write_text("import acme_x\ndef test_it(): assert acme_x.X\n")
    before = {file: file.stat().st_mtime_ns for file in (folder, *folder.rglob("*"))}
    found = [*checked(candidate(str(folder)))]
    assert [one.says for one in found if one.check == "its own tests"] == ["1 passed"]
    assert {file: file.stat().st_mtime_ns for file in (folder, *folder.rglob("*"))} == before


TESTS = {
    "def test_it(): assert 1 == 2": ("wrong", r"test_it\.py::test_it"),
    "import nowhere": ("wrong", r"test_it\.py"),
    "import pytest\ndef test_it(): pytest.skip('no')": ("to do", "no test passed, 1 skipped"),
    "import os\ndef test_it(): os._exit(9)": ("wrong", "pytest ended with exit code 9"),
    "": ("to do", "no test passed: there is none"),
    "from doorward_testing import check_driver\ndef test_it(): check_driver('cache', 'x')": ("ok", "1 passed"),
}


@pytest.mark.parametrize("text", TESTS)
def test_its_own_tests(package: Any, text: str) -> None:
    """How they end is told; in them it is installed."""
    folder = package("doorward.cache", CACHE)
    (folder / "tests").mkdir()
    (folder / "tests/test_it.py").write_text(text)
    status, says = TESTS[text]
    about = candidate(str(folder))
    with place(about) as there:
        (line,) = [*suite.tested(about, there)]
    assert line.check == "its own tests"
    assert (line.status, bool(re.search(says, line.says))) == (status, True), line


HANGS = {
    "import time\ndef test_it(): time.sleep(1000)": ("TEST_SECONDS", r"test_it\.py::test_it"),
    "import threading, time\ndef test_it(): threading.Thread(target=time.sleep, args=(1000,)).start()": (
        "END_SECONDS", "the tests",
    ),
}  # fmt: skip


@pytest.mark.parametrize("text", HANGS)
def test_tests_that_hang(package: Any, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """The test that does not end is named, and so is one that keeps the process from ending."""
    patience, says = HANGS[text]
    monkeypatch.setattr(suite, patience, 0.5)
    folder = package("doorward.cache", CACHE)
    (folder / "tests").mkdir()
    (folder / "tests/test_it.py").write_text(text)
    about = candidate(str(folder))
    with place(about) as there:
        (line,) = [*suite.tested(about, there)]
    assert line.status == "wrong"
    assert re.search(says, line.says)
    assert "did not end" in line.do


def test_without_tests(package: Any) -> None:
    """A cache without tests is held against what holds for every cache: this one keeps nothing."""
    found = [*checked(candidate(str(package("doorward.cache", CACHE))))]
    assert [one.check for one in found if one.status == "to do"] == ["tests"]
    assert "cache x: CacheConformance" in {one.check for one in found if one.status == "wrong"}


@pytest.fixture
def check(cli: Cli, doorward_host: Host) -> Any:
    """`doorward plugin check …` in the host's folder."""
    doorward_host.install("command", "plugin", plugin)
    return lambda *words: cli("plugin", "check", "--no-tests", *words)


def test_what_is_installed(check: Any) -> None:
    """By the name of the plugin, with its kind, or by the distribution; as text and as JSON."""
    ended = check("command/plugin")
    assert (ended.code, "wrong" in ended.out) == (0, False), ended
    assert re.search(r"^ok +command plugin: For authors", ended.out, re.MULTILINE), ended.out
    assert check("command/plugin", "--quiet").out == ""
    told = check("plugin", "--json").json
    assert (told["distribution"], told["ok"]) == ("doorward-testing", True)
    assert {"status", "check", "says", "do"} == set(told["checks"][0])
    assert candidate("Doorward_Testing") == candidate("command/plugin")


def test_what_is_wrong_ends_with_1(check: Any, package: Any) -> None:
    """So that CI can use it. What is printed controls no terminal."""
    folder = package("doorward.cache", "raise ValueError('\\x1b[31mred\\nline')")
    ended = check(str(folder))
    assert ended.code == 1
    quiet = check(str(folder), "--quiet")
    assert (quiet.code, {line.split()[0] for line in quiet.out.splitlines() if line[0] != " "}) == (1, {"wrong"})
    assert "ValueError: �[31mred line (__init__.py:1)" in ended.out, ended.out
    pyproject = folder / "pyproject.toml"
    pyproject.write_text(pyproject.read_text().replace("doorward.cache", "doorward.caches"))
    assert check(str(folder), "--json").json["ok"] is False


NO_TARGET = {
    "nowhere": "no plugin and no distribution 'nowhere' is installed",
    "plugn": r"Did you mean 'plugin'\?",
    "./nowhere": "no plugin and no distribution './nowhere' is installed",
    ".": r"\. has no pyproject\.toml",
    "broken": "pyproject.toml cannot be read",
    "unnamed": r"has no \[project\] with a name",
    "odd": "'a/b' is no name for a distribution",
    "dynamic": "the entry points are made when it is built",
    "binary": "pyproject.toml cannot be read",
}


@pytest.mark.parametrize("target", NO_TARGET)
def test_what_cannot_be_checked(check: Any, doorward_host: Host, target: str) -> None:
    """One message, and exit code 2."""
    texts = {
        "broken": "[project",
        "unnamed": "[tool.poetry]\nname = 'x'",
        "odd": "[project]\nname = 'a/b'",
        "dynamic": "[project]\nname = 'x'\ndynamic = ['entry-points']",
        "binary": "\0",
    }
    for name, text in texts.items():
        (doorward_host.folder / name).mkdir()
        (doorward_host.folder / name / "pyproject.toml").write_text(text)
    ended = check(target)
    assert (ended.code, ended.out) == (2, "")
    assert re.search(NO_TARGET[target], ended.err), ended.err


HOSTILE = """
[project]
name = "x"
version = {version!r}
dependencies = ["doorward>=0.1,<0.2", "evil\\nVersion: 9"]
[project.entry-points]
"doorward.cache" = {{ "x]" = "y", "ok" = 3, "a\\n[doorward.auth]\\nstatic" = "acme_x:X" }}
"doorward.cache\\n[x]" = {{ y = "z" }}
doorward = "text"
"""


@pytest.mark.parametrize("version", ["1.0", "../../x", "1\\nName: y"])
def test_a_hostile_folder(package: Any, version: str) -> None:
    """Odd names and versions are wrong, and reach neither paths nor metadata."""
    folder = package("", CACHE, project=textwrap.dedent(HOSTILE).format(version=version))
    (folder / "src/loop").symlink_to(folder)
    found = [*checked(candidate(str(folder)))]
    assert {one.status for one in found} >= {"wrong"}
    assert not [one for one in found if "Traceback" in f"{one.says} {one.do}"]


def test_nothing_of_this_process_is_used(package: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither variables of a user's Doorward nor those of a pytest that is running reach the plugin."""
    monkeypatch.setenv("DOORWARD_STATE_DIR", "/nowhere")
    monkeypatch.setenv("PYTEST_ADDOPTS", "--no-such-option")
    code = CACHE + "import os\nassert not [n for n in os.environ if n.startswith(('DOORWARD_', 'PYTEST_'))]\n"
    found = [*checked(candidate(str(package("doorward.cache", code))), tests=False)]
    assert "wrong" not in {one.status for one in found}, found
    assert "DOORWARD_STATE_DIR" in os.environ
