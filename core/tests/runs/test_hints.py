"""What an error of a sandbox means, and what executors say of themselves."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
import structlog
from doorward import Capabilities, ExecutorError, InvalidProgram, Program, Settings, Unsupported, hookimpl

from ..conftest import CONFIG, InProcess

pytestmark = pytest.mark.anyio


class Packages(Settings):
    packages: tuple[str, ...] = ()


class Jail(InProcess):
    """As an executor of CPython with files and packages."""

    Settings = Packages

    def capabilities(self) -> Capabilities:
        packages = [f"package{n}" for n in range(30)]
        return Capabilities(
            "CPython 3.13", "none: for tests", packages, files=True, limits={"memory": "cgroup"}, network=self.network
        )

    network = False


class Network(Jail):
    network = True


JAIL = CONFIG.replace('"inprocess"', '["jail", "inprocess"]')


@pytest.fixture
def jail(doorward_host: Any) -> Any:
    doorward_host.install("executor", "jail", Jail)
    doorward_host.install("executor", "network", Network)
    return doorward_host


NETWORK = "There is no network in a sandbox: call the functions of the catalog."


@pytest.mark.parametrize(
    ("raised", "hint"),
    [
        ("__import__('socket').gaierror(-2, 'Name or service not known')", NETWORK),
        ("OSError(101, 'Network is unreachable')", NETWORK),
        ("OSError(97, 'Address family not supported by protocol')", NETWORK),
        ("__import__('urllib.error').error.URLError('x')", NETWORK),
        ("type('ConnectError', (Exception,), {})('[Errno -3] Temporary failure in name resolution')", NETWORK),
        ("type('ConnectionError', (Exception,), {})('Max retries exceeded')", NETWORK),
        ("ModuleNotFoundError(\"No module named 'polars'\")", "`[executors.jail] packages`"),
        ("ModuleNotFoundError(\"No module named 'polars.io'\")", "`[executors.jail] packages`"),
        ("ModuleNotFoundError(\"No module named 'polars'\")", "`doorward sandbox add jail polars`"),
        ("ModuleNotFoundError(\"No module named 'sklearn.svm'\")", "`doorward sandbox add jail scikit-learn`"),
        ("ModuleNotFoundError(\"No module named 'evil_name'\")", "`doorward sandbox add jail PACKAGE`"),
        ("ModuleNotFoundError(\"No module named 'weathr'\")", "Near: weather."),
        ("PermissionError(13, 'Permission denied', '/etc/x')", "./out"),
        ("OSError(30, 'Read-only file system', '/usr/x')", "./out"),
        ("OSError(28, 'No space left on device')", "disk of the sandbox is full"),
        ("OSError(27, 'File too large')", "disk of the sandbox is full"),
        ('RuntimeError("can\'t start new thread")', "`[limits] processes`"),
        ("BlockingIOError(11, 'Resource temporarily unavailable')", "`[limits] processes`"),
        ("EOFError('EOF when reading a line')", "`params`"),
        (
            "FileNotFoundError(2, 'No such file or directory', 'doorward://results/abc')",
            "A handle is no path: doorward.read(handle)",
        ),
        ("TypeError(\"a bytes-like object is required, not 'Answer'\")", "A handle is no bytes: doorward.read(handle)"),
        ("TypeError(\"'list' object is not an iterator\")", "next(iter(values))"),
    ],
)
async def test_errors_of_the_system(jail: Any, raised: str, hint: str) -> None:
    """No network, package, permission, disk, threads or input: what to do in place of it. CONTRACT: EXE-19."""
    async with jail.gateway(JAIL) as gate:
        outcome = await gate.execute(f"raise {raised}")
        assert outcome.error.kind == "program"
        assert hint in outcome.error.hint


async def test_memory_that_the_program_ran_out_of_is_a_limit(jail: Any) -> None:
    """Also where the interpreter lives on; NumPy's error is one too."""
    async with jail.gateway(JAIL + '[limits]\nmemory = "64MiB"\n') as gate:
        for raised in ("MemoryError()", "type('_ArrayMemoryError', (MemoryError,), {})('Unable to allocate 8. GiB')"):
            error = (await gate.execute(f"print('before')\nraise {raised}")).error
            assert (error.kind, error.type, error.line) == ("limit", "LimitExceeded", 2)
            assert error.message == "the program needed more memory than its limit of 64 MiB"


async def test_hints_fit_the_executor(jail: Any) -> None:
    """A package that another one has; no files, a network."""
    async with jail.gateway(CONFIG.replace('"inprocess"', '["inprocess", "jail"]')) as gate:
        error = (await gate.execute("raise ModuleNotFoundError(\"No module named 'package7'\")")).error
        assert "jail takes the program" in error.hint
        assert (
            "There are no files here: doorward.read(handle)"
            in (await gate.execute("raise PermissionError()")).error.hint
        )
    async with jail.gateway(CONFIG.replace('"inprocess"', '"network"')) as gate:
        assert (await gate.execute("raise OSError(101, 'Network is unreachable')")).error.hint is None
        upstream = (await gate.execute("await weather.fail()")).error
        assert upstream.kind == "server"


async def test_a_package_that_only_another_executor_takes(jail: Any) -> None:
    """An executor that takes packages and is not configured is named with its command, for well-known packages only."""
    async with jail.gateway(CONFIG) as gate:
        known = (await gate.execute("raise ModuleNotFoundError(\"No module named 'yaml'\")")).error.hint
        assert "The operator can add it: `doorward sandbox add jail pyyaml` or " in known
        other = (await gate.execute("raise ModuleNotFoundError(\"No module named 'evil_name'\")")).error.hint
        assert "sandbox add" not in other


class Given(Jail):
    """As one with a shell and a network, and less than the standard library."""

    class Settings(Packages):
        shell: bool = False

    def __init__(self, context: Any) -> None:
        super().__init__(context)
        self.settings = context.settings

    def capabilities(self) -> Capabilities:
        packages = ("Scikit_Learn[extra]>=1", "httpx")
        return Capabilities(
            "CPython", "none", packages, shell=self.settings.shell, network=True, modules=("json", "re")
        )


async def test_what_executors_were_given_is_told(jail: Any) -> None:
    """Guards learn which packages, network and shell the operator has given, agents read that and the modules."""
    seen: list[Program] = []
    jail.install("executor", "given", Given)
    jail.install("plugin", "looks", SimpleNamespace(guard_program=hookimpl(lambda program: seen.append(program))))
    config = CONFIG.replace('"inprocess"', '["given", "inprocess"]').replace("plugins = []", 'plugins = ["looks"]')
    for table, granted in (
        ("", set()),
        ("[executors.given]\nshell = true\n", {"sklearn", "scikit_learn", "httpx", "shell", "network"}),
    ):
        async with jail.gateway(config + table) as gate:
            assert (await gate.execute("1")).ok
            assert seen.pop().granted == granted
            assert gate.executors.told().startswith("given: CPython, packages: ")
            assert (
                "modules: json, re, a shell, no files" if table else "modules: json, re, no files"
            ) in gate.executors.told()


class Alone(Jail):
    """As one that holds a program to one process, whatever its sentences say; and that lacks a module."""

    class Settings(Packages):
        paths: tuple[str, ...] = ()

    def capabilities(self) -> Capabilities:
        return replace(super().capabilities(), one_process=True, limits={"processes": "somehow"})

    async def open(self, program: Program, *, session: bool = False) -> Any:
        if "import weathr" in program.code:
            raise Unsupported("that is not to be had", module="weathr")
        return await super().open(program, session=session)


async def test_what_an_executor_says_is_no_sentence(jail: Any) -> None:
    """One process, paths to be shown and a missing module are told by fields, and by no words of a text."""
    jail.install("executor", "alone", Alone)
    started = "import subprocess\nraise {}"
    async with jail.gateway(CONFIG.replace('"inprocess"', '"alone"')) as gate:
        refused = await gate.execute(started.format("PermissionError(1, 'Operation not permitted')"))
        assert "may start no process here" in refused.error.hint
        absent = await gate.execute(started.format("FileNotFoundError(2, 'No such file', 'ls')"))
        assert "`[executors.alone] paths`" in absent.error.hint
        assert "Near: weather." in (await gate.execute("import weathr")).error.hint
    async with jail.gateway(JAIL) as gate:
        assert (
            "./out" in (await gate.execute(started.format("PermissionError(1, 'Operation not permitted')"))).error.hint
        )
        assert (await gate.execute(started.format("FileNotFoundError(2, 'No such file', 'ls')"))).error.hint is None


async def test_executors_say_what_they_can(jail: Any) -> None:
    """Language, packages, network in few words; limits and the rest as structure. CONTRACT: EXE-21."""
    async with jail.gateway(CONFIG.replace('"inprocess"', '["jail", "network"]')) as gate:
        first, second = (await gate.list_servers())["executors"]
        assert (first["limits"], first["files"], first["network"], len(first["packages"])) == (
            {"memory": "cgroup"},
            True,
            False,
            30,
        )
        assert second["network"]
        line = gate.executors.told()
        assert line.startswith("jail: CPython 3.13, packages: package0, package1, ")
        assert "package19 …; network: " in line
        assert line.endswith("with network")
        assert "no files" not in line
        about = gate.capabilities()
        assert "jail: CPython 3.13, packages: package0" in about


@pytest.mark.parametrize(
    ("code", "hint"),
    [
        ("import doorward\ndoorward.parallel([])", "It has ApiError, call, capabilities, "),
        ("import doorward\ndoorward.serch('x')", "Near: search."),
        (
            "raise AttributeError(\"module 'weather' has no attribute 'get_tides'\")",
            "an operator compiles again by `doorward compile weather`.",
        ),
        ("await doorward.call('weather.get_tides')", "weather was compiled just now"),
        ("await doorward.call('weather.qqq')", "weather has "),
        ("await doorward.call('weather.get_forcast')", "Near: weather.get_forecast"),
        ("raise AttributeError(\"module 'weather' has no attribute 'ApiError'\")", "It is doorward.ApiError: import"),
        ("raise AttributeError(\"module 'weather' has no attribute 'read'\")", "It is doorward.read: import doorward."),
        ("mcp__weather__get_forecast(city='Oslo')", "Write `from weather import get_forecast` and call it so."),
    ],
)
async def test_names_that_are_not_there(doorward_host: Any, code: str, hint: str) -> None:
    """What `doorward` has is listed, not looked for in the catalog; a client's name of a tool is told in Python."""
    async with doorward_host.gateway(CONFIG) as gate:
        error = (await gate.execute(code)).error
        assert error is not None
        assert hint in (error.hint or ""), error


class Scripts(InProcess):
    """One of another language."""

    def capabilities(self) -> Any:
        return replace(super().capabilities(), languages=("typescript", "javascript"))

    async def open(self, program: Program, *, session: bool = False) -> Any:
        raise InvalidProgram("Expected a semicolon", line=1, type="SyntaxError")


async def test_a_syntax_error_says_in_which_language_it_was_read(doorward_host: Any) -> None:
    """Where programs may be in several, with what says otherwise; else it says nothing of languages."""
    doorward_host.install("executor", "scripts", Scripts)
    async with doorward_host.gateway(CONFIG.replace('"inprocess"', '["inprocess", "scripts"]')) as gate:
        of_python = (await gate.execute("raise SyntaxError('invalid syntax')")).error
        assert of_python.hint == 'It was read as python. For typescript, give language="typescript".'
        of_script = (await gate.execute("import a", language="typescript")).error
        assert of_script.hint == 'It was read as typescript. For python, give language="python".'
    async with doorward_host.gateway(CONFIG) as gate:
        assert "language" not in ((await gate.execute("raise SyntaxError('invalid syntax')")).error.hint or "")


class Sick(InProcess):
    """As one on a machine that refuses it."""

    async def open(self, program: Program, *, session: bool = False) -> Any:
        raise ExecutorError("no jail can be made: there is no user namespace", hint="Allow user namespaces.")


@pytest.mark.parametrize("session", ["", "new"])
async def test_a_sandbox_that_cannot_be_had(doorward_host: Any, session: str) -> None:
    """The agent gets the reason and the hint; the log has them with the executor's name, also where another executor
    takes the program."""
    doorward_host.install("executor", "sick", Sick)
    for executors, taken in (('"sick"', False), ('["sick", "inprocess"]', True)):
        with structlog.testing.capture_logs() as logs:
            async with doorward_host.gateway(CONFIG.replace('"inprocess"', executors)) as gate:
                outcome = await gate.execute("1 + 1", session_id=session or None)
        assert outcome.ok is taken, outcome.error
        if outcome.error:
            assert (outcome.error.kind, outcome.error.message) == (
                "executor",
                "sick: no jail can be made: there is no user namespace",
            )
        told = [each for each in logs if each["event"] == "sandbox_not_opened"]
        assert [(each["executor"], each["hint"]) for each in told] == [("sick", "Allow user namespaces.")]
