"""What can be done with a gateway, as agents read it."""

from __future__ import annotations

from typing import Any

import pytest
from doorward import Capabilities, Settings
from doorward_testing.samples import CONFIG, InProcess
from doorward_text import capabilities, executors_in_brief

pytestmark = pytest.mark.anyio


class Jail(InProcess):
    """As an executor of CPython with files and packages."""

    def capabilities(self) -> Capabilities:
        packages = [f"package{n}" for n in range(30)]
        return Capabilities("CPython 3.13", "none: for tests", packages, files=True)


class ShellSettings(Settings):
    shell: bool = False


class Given(InProcess):
    """As one to which the operator can give a shell."""

    Settings = ShellSettings

    def __init__(self, context: Any) -> None:
        super().__init__(context)
        self.settings = context.settings

    def capabilities(self) -> Capabilities:
        return Capabilities(
            "Python", "none: for tests", network=True, modules=("json", "re"), shell=self.settings.shell
        )


JAIL = CONFIG.replace('"inprocess"', '["jail", "given"]')


@pytest.fixture
def jails(doorward_host: Any) -> Any:
    doorward_host.install("executor", "jail", Jail)
    doorward_host.install("executor", "given", Given)
    return doorward_host


@pytest.mark.parametrize("shell", [False, True])
async def test_executors_say_what_they_can(jails: Any, shell: bool) -> None:
    """Language, the first packages, modules and network in few words; a shell and files where there are any. CONTRACT:
    SEC-16."""
    config = JAIL + f"[executors.given]\nshell = {str(shell).lower()}\n"
    async with jails.gateway(config) as gate:
        jail, given = executors_in_brief(gate).split("; ")
        assert jail.startswith("jail: CPython 3.13, packages: package0, package1, ")
        assert jail.endswith("package19 …")
        assert given == f"given: Python, modules: json, re, {'a shell, ' if shell else ''}no files, with network"
        assert f"in a sandbox without credentials ({jail}" in capabilities(gate, "local")


async def test_what_can_be_done_is_told_of_theirs_in_their_language(jails: Any) -> None:
    """The servers of the principal, the limits of a run, and how calls are written; or made without a program."""
    async with jails.gateway(JAIL) as gate:
        python, script, calls = (capabilities(gate, "local", each) for each in ("python", "typescript", "json"))
        assert "these servers: weather. `import SERVER` and call" in python
        assert "`await SERVER.FUNCTION({ name: value })`" in script
        assert f"Limits of a run: {gate.limits.timeout:g} s, {gate.limits.calls} calls" in python
        assert calls.startswith("What can be called are the functions of these servers: weather. search_functions")
        assert capabilities(gate, "local") == python
