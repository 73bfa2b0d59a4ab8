"""What an error of a program means, and what to do about it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from doorward import Capabilities, Failure, InvalidProgram, Program, Settings, Unsupported, hookimpl
from doorward.helping import PROGRAM_NAMES
from doorward.model.program_names import ProgramNames
from doorward_testing.samples import CONFIG, InProcess

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


async def test_hints_fit_the_executor(jail: Any) -> None:
    """A package that another one has; no files, a network."""
    async with jail.gateway(CONFIG.replace('"inprocess"', '["inprocess", "jail"]')) as gate:
        error = (await gate.execute("raise ModuleNotFoundError(\"No module named 'package7'\")")).error
        assert "as an import at the top does, jail takes the program" in error.hint
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


@pytest.mark.parametrize(
    ("setting", "name", "key"),
    [
        ("read_only = true", "add_station", "read_only"),
        ("read_only = true", "addStation", "read_only"),
        ('include = ["get*"]', "sleep", "include"),
        ('exclude = ["get*"]', "get_forecast", "exclude"),
        ('exclude = ["get*"]', "get_forecasts", ""),
    ],
)
async def test_what_a_server_leaves_out_is_said_to_be_left_out(
    doorward_host: Any, setting: str, name: str, key: str
) -> None:
    """A program that looks for a function which is left out hears by which key."""
    async with doorward_host.gateway(CONFIG + setting) as gate:
        error = (await gate.execute(f"raise AttributeError(\"module 'weather' has no attribute '{name}'\")")).error
        assert error is not None
        assert (f"is left out by `{key}` of [servers.weather]" in (error.hint or "")) is bool(key)


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


async def test_a_script_where_only_python_runs_is_told_so(doorward_host: Any) -> None:
    """Its error of syntax alone would not say what to do."""

    class Strict(InProcess):
        async def open(self, program: Program, *, session: bool = False) -> Any:
            raise InvalidProgram("invalid syntax", line=1, type="SyntaxError")

    doorward_host.install("executor", "strict", Strict)
    async with doorward_host.gateway(CONFIG.replace('"inprocess"', '"strict"')) as gate:
        for code in ("const x = 1", "import { a } from 'b'", "x = 1\nasync function f() {}"):
            assert "Programs are Python here" in (await gate.execute(code)).error.hint
        assert not (await gate.execute("function = 1\nlet = (")).error.hint


class Nicknames(ProgramNames):
    """A capability for which `sky` is another name of the server `weather`."""

    @hookimpl
    def gateway_made(self, gateway: Any) -> None:
        gateway.services.give(PROGRAM_NAMES, self)

    def server(self, name: str) -> str:
        return "weather" if name == "sky" else name

    def missed_server(self, failure: Failure) -> str:
        return "skies" if "sky" in failure.message else ""

    def hint(self, name: str) -> str:
        return "Look up." if name == "stars" else ""


async def test_a_capability_says_what_other_names_mean(doorward_host: Any) -> None:
    """Of servers and of helpers."""
    doorward_host.install("plugin", "nicknames", Nicknames())
    async with doorward_host.gateway(CONFIG.replace("plugins = []", 'plugins = ["nicknames"]')) as gate:
        await gate.ready()
        for code, hint in (("stars.count()", "Look up."), ("print(sky)", "skies")):
            error = (await gate.execute(code)).error
            assert error is not None
            assert hint in str(error.hint)
