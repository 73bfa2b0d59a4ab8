"""What executors say of themselves, and of a sandbox that they cannot open."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import structlog
from doorward import Capabilities, ExecutorError, Program, Settings, hookimpl

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


async def test_memory_that_the_program_ran_out_of_is_a_limit(jail: Any) -> None:
    """Also where the interpreter lives on; NumPy's error is one too."""
    async with jail.gateway(JAIL + '[limits]\nmemory = "64MiB"\n') as gate:
        for raised in ("MemoryError()", "type('_ArrayMemoryError', (MemoryError,), {})('Unable to allocate 8. GiB')"):
            error = (await gate.execute(f"print('before')\nraise {raised}")).error
            assert (error.kind, error.type, error.line) == ("limit", "LimitExceeded", 2)
            assert error.message == "the program needed more memory than its limit of 64 MiB"


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
            (given, _) = gate.executors.describe()
            assert (given["modules"], given["shell"], given["files"]) == (["json", "re"], bool(table), False)


async def test_executors_say_what_they_can(jail: Any) -> None:
    """Limits, files, packages and network, as structure. CONTRACT: EXE-21."""
    async with jail.gateway(CONFIG.replace('"inprocess"', '["jail", "network"]')) as gate:
        first, second = (await gate.list_servers())["executors"]
        assert (first["limits"], first["files"], first["network"], len(first["packages"])) == (
            {"memory": "cgroup"},
            True,
            False,
            30,
        )
        assert second["network"]


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
