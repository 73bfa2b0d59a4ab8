"""Probes tell an executor that isolates from one that does not, and the command line shows what they found."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import signal
import stat
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from doorward import (
    Capabilities,
    Door,
    ExecutorError,
    Failure,
    LimitExceeded,
    Limits,
    PluginContext,
    Program,
    ProgramResult,
    Settings,
)
from doorward_jail import bind, devices
from doorward_jail.probes import probe, summary, trials_of_limits, trials_of_network
from doorward_jail.probes.trial import Asked
from doorward_jail.probes.trials import TRIALS
from doorward_testing import Cli

LIMITS = Limits(memory_bytes=64 * 2**20, processes=16)
pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="the executor below, which isolates nothing, is for Linux"),
    pytest.mark.slow,
]


class Bare:
    """An executor that isolates nothing: a plain process, whose children are left alone at its deadline. For these
    tests only."""

    Settings = Settings

    def __init__(self, context: PluginContext) -> None:
        self.settings = SimpleNamespace(scratch=8 * 2**20)

    def capabilities(self) -> Capabilities:
        return Capabilities("Python", "none: for tests", packages=["pandas"], shell=True, limits={"time": "host"})

    async def check(self) -> list[str]:
        return ["a plain process"]

    async def build(self, tell: Callable[[str], None]) -> str:
        tell("pulling nothing")
        return "made nothing of 0 bytes"

    async def open(self, program: Program, *, session: bool = False) -> Bare:
        return self

    async def run(self, program: Program, door: Door) -> ProgramResult:
        code, params = bind(program.code, program.params)
        code = "\n".join(
            [*(f"{name} = {value!r}" for name, value in params.items()), "result = None", code, "import json, sys"]
        )
        with tempfile.TemporaryFile() as out:  # no pipe: children would keep it open
            code += "\njson.dump(result, sys.stdout)"
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-c", code, stdout=out, stderr=out, start_new_session=True, close_fds=False
            )
            try:
                await process.wait()
            except asyncio.CancelledError:
                process.kill()
                await process.wait()
                raise
            finally:
                if "MOST" in program.params:
                    with contextlib.suppress(OSError):
                        os.killpg(process.pid, signal.SIGKILL)
            out.seek(0)
            said = out.read().decode()
        if process.returncode:
            return ProgramResult(error=Failure("program", said.splitlines()[-1].partition(":")[0], said))
        return ProgramResult(json.loads(said))

    async def close(self) -> None:
        pass


class Dying(Bare):
    """Runs `1 + 1`, and dies of everything else."""

    async def run(self, program: Program, door: Door) -> ProgramResult:
        if program.code != "1 + 1":
            raise ExecutorError("it died")
        return ProgramResult(2)


class Holding(Bare):
    """What the host sees of an executor that holds: nothing; limits end what they should."""

    async def run(self, program: Program, door: Door) -> ProgramResult:
        match program.params:
            case {"MIB": _}:
                raise LimitExceeded("the program needed more memory than its limit of 64 MiB")
            case {"MOST": _}:
                raise LimitExceeded("the program started more processes than its limit")
            case {"NAME": _, **others} if not others:
                await asyncio.sleep(60)
        return ProgramResult([])


@pytest.fixture
def project(cli: Cli, doorward_host: Any) -> Cli:
    """The command line with `doorward sandbox`."""
    doorward_host.install_real("sandbox")
    return cli


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trials_of_limits, "DEADLINE_SECONDS", 0.3)
    monkeypatch.setattr(trials_of_limits, "GONE_SECONDS", 1.0)


@pytest.fixture
def _few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few probes, where a test is not about what they find."""
    few = {name: TRIALS[name] for name in ("network", "earlier programs", "open files", "memory")}
    monkeypatch.setitem(probe.__globals__, "TRIALS", few)


@pytest.mark.anyio
async def test_nothing_holds_without_isolation(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every probe finds what it looks for, and says what. Nothing of it stays on the host."""
    monkeypatch.setattr(trials_of_limits, "DEADLINE_SECONDS", 2.0)  # a busy machine starts the program late
    places = ["/", "/tmp", "/usr", "/etc", "/dev", "/var/tmp", "/dev/shm", Path.home(), Path.cwd(), sys.prefix]

    def ours() -> set[Path]:
        return {path for at in places for path in Path(at).glob(f"*doorward-{os.getpid()}-*")}

    before = ours()
    found = {p.probe: p for p in await probe(Bare(None), LIMITS)}  # type: ignore[arg-type]
    assert {name for name, p in found.items() if p.held is not False} == set()
    assert "port of the host" in found["network"].says
    assert "/canary" in found["host files"].says
    assert "on the host" in found["writing outside"].says
    assert "killed" in found["other processes"].says
    assert "variable" in found["environment"].says
    assert "read the host's file" in found["system files"].says
    assert "open file of the gateway" in found["open files"].says
    assert "programs that gain privileges" in found["privileges"].says
    assert "its limit is 8 MiB" in found["scratch"].says
    assert "its limit is 64 MiB" in found["memory"].says
    assert "its limit is 16" in found["processes"].says
    assert "lived on" in found["deadline"].says
    assert "DOORWARD_PROBE" not in os.environ
    assert ours() - before == set()
    assert not list(Path.cwd().glob("probe-*"))


@pytest.mark.anyio
async def test_each_listener_is_told_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a program reaches is found wherever only one way is open; a network that the operator gives is none."""
    ways = {
        "the host's loopback": "a port of",
        "the host's loopback by IPv6": "a port by IPv6",
        "an abstract Unix socket": "an abstract Unix socket",
        "a Unix socket": "a Unix socket",
    }
    code = trials_of_network._NETWORK
    lines = [line for line in code.splitlines() if line.startswith(("attempt(", "    attempt("))]
    for line in lines:
        rest = code
        for other in lines:
            rest = (
                rest
                if other == line
                else rest.replace(f"{other}\n", f"{other[: len(other) - len(other.lstrip())]}pass\n")
            )
        monkeypatch.setattr(trials_of_network, "_NETWORK", rest)
        asked = Asked("doorward-way", LIMITS)
        with trials_of_network.network(asked) as trial:
            ended = await Bare(None).run(Program(trial.code, trial.params), None)  # type: ignore[arg-type]
            wrong = trial.judge(ended.value, ended.error)
        what = line.split('"')[1]
        if what in ways:
            assert ways[what] in wrong, line
        elif not what:
            assert "a port by UDP" in wrong
        with trials_of_network.network(replace(asked, network=True)) as trial:
            assert trial.params["ROUTES"] is False
            assert trial.judge([], None) == ""


@pytest.mark.anyio
async def test_what_holds_is_told() -> None:
    """Also in one line; a limit that ends its probe holds."""
    found = await probe(Holding(None), LIMITS)  # type: ignore[arg-type]
    assert [p for p in found if not p.held] == []
    assert summary(found).startswith("holds: network, host files, ")
    assert summary([replace(found[0], held=None)]) == "has no way to try: network"


@pytest.mark.anyio
async def test_an_end_that_is_no_limit_is_no_proof() -> None:
    """A sandbox that dies of a probe has not shown that it holds."""
    found = await probe(Dying(None), LIMITS)  # type: ignore[arg-type]
    assert {p.held for p in found} == {False}
    assert all("it died" in p.says for p in found)


@pytest.mark.slow
@pytest.mark.usefixtures("_few")
def test_the_command(project: Cli, doorward_host: Any) -> None:
    """`doorward sandbox` lists, builds and probes executors, and ends with 1 if isolation does not hold."""
    doorward_host.install("executor", "bare", Bare)
    doorward_host.install("executor", "holding", Holding)
    doorward_host.write('executor = ["holding"]\nplugins = []\n[limits]\nmemory = "64MiB"\nprocesses = 16')
    rows = {row["executor"]: row for row in project("sandbox", "list", "--json").json["executors"]}
    assert {name: row["used"] for name, row in rows.items()} == {"holding": True, "bare": False, "inprocess": False}
    assert (rows["bare"]["packages"], rows["bare"]["limits"]) == (["pandas"], {"time": "host"})
    assert (rows["bare"]["shell"], rows["bare"]["network"]) == (True, False)
    assert "bare\tno\tPython\tnone: for tests\tpandas\tshell\ttime: host\n" in project("sandbox", "list").out

    built = project("sandbox", "build", "bare")
    assert (built.code, built.out, built.err) == (0, "bare: made nothing of 0 bytes\n", "pulling nothing\n")
    assert project("sandbox", "build", "inprocess", "--json").json == {"built": {"inprocess": "has nothing to build"}}

    held = project("sandbox", "probe")
    assert held.code == 0
    assert held.out.startswith("holding · a plain process\n✓ network: neither a listener")
    ended = project("sandbox", "probe", "bare", "--json")
    about = ended.json["executors"][0]
    assert (ended.code, ended.json["ok"], about["ok"], about["uses"]) == (1, False, False, ["a plain process"])
    assert about["probes"][0].keys() == {"probe", "held", "says", "ms"}
    assert "✗ network: " in project("sandbox", "probe", "bare").out

    doorward_host.install("executor", "sick", type("Sick", (Bare,), {"check": _sick}))
    ended = project("sandbox", "probe", "sick")
    assert (ended.code, "it is not there\n    Install it." in ended.out) == (1, True)
    ended = project("sandbox", "probe", "nope")
    assert (ended.code, "Installed: bare, holding, inprocess, sick." in ended.err + ended.out) == (1, True)


@pytest.mark.parametrize("action", ["probe", "build"])
def test_the_command_without_an_executor(project: Cli, doorward_host: Any, action: str) -> None:
    """As `doctor` says it: nothing is no success."""
    doorward_host.install_real("text")
    doorward_host.write("executor = []\nplugins = []")
    ended = project("sandbox", action)
    assert (ended.code, "no executor" in ended.err, "Installed but not configured: inprocess" in ended.err) == (
        1,
        True,
        True,
    )


async def _sick(self: Any) -> list[str]:
    raise ExecutorError("it is not there", hint="Install it.")


@pytest.mark.slow
@pytest.mark.usefixtures("_few")
def test_doctor_shows_what_holds(project: Cli, doorward_host: Any) -> None:
    """What each executor uses, then one line of what held; what did not, with its sentence."""
    doorward_host.install("executor", "bare", Bare)
    doorward_host.install("executor", "holding", Holding)
    doorward_host.write('executor = ["holding", "bare"]\nplugins = []\n[limits]\nmemory = "64MiB"\nprocesses = 16')
    out = project("doctor").out
    assert "✓ executor holding: a plain process\n✓ executor holding holds: network, " in out
    assert "✗ executor bare does not hold: network\n    a program reached a port of the host" in out
    assert "not probed" not in out


def test_doctor_probes_no_executor_that_runs_nothing(project: Cli, doorward_host: Any) -> None:
    """What is wrong with it is told once."""
    doorward_host.install("executor", "broken", type("Broken", (Bare,), {"open": None}))
    doorward_host.write('executor = ["broken"]\nplugins = []')
    checks = [check for check in project("doctor", "--json").json["checks"] if "executor broken" in check["check"]]
    assert [check["ok"] for check in checks] == [False]


@pytest.mark.skipif(sys.platform != "linux", reason="devices of Linux")
def test_a_broken_null_device_is_told(
    project: Cli, doorward_host: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sandboxes do not start where /dev/null is none, or closed: `doctor` and the error say so, and how to mend it."""
    assert devices.trouble() is None
    monkeypatch.setattr(devices, "NULL_DEVICE", tmp_path / "null")
    assert "No such file" in (devices.trouble() or "")[0]
    (tmp_path / "null").touch()
    assert "is not the device" in (devices.trouble() or "")[0]
    doorward_host.write("executor = []\nplugins = []")
    told = {check["check"]: check["advice"] for check in project("doctor", "--json").json["checks"]}
    assert told[f"{tmp_path}/null is not the device that it should be"] == devices.MEND_HINT
    (tmp_path / "null").unlink()
    try:
        os.mknod(tmp_path / "null", 0o600 | stat.S_IFCHR, os.makedev(1, 3))
    except PermissionError:
        pytest.skip("only root makes devices")
    assert devices.trouble() == (f"{tmp_path}/null has the mode 600, so programs cannot open it", devices.MEND_HINT)


def test_the_program_of_the_readme(
    project: Cli, doorward_host: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whether an executor isolates can be asked by a program, too."""
    doorward_host.install("executor", "holding", Holding)
    config = doorward_host.write('executor = ["holding"]\nplugins = []\n[limits]\nmemory = "64MiB"\nprocesses = 16')
    text = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
    program = next(p for p in re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL) if "probe(" in p)
    monkeypatch.setattr(sys, "argv", ["probing.py", str(config)])
    exec(compile(program, "README.md", "exec"), {"__name__": "readme"})
    assert capsys.readouterr().out.startswith("holding holds: network, ")
