"""The executors that `init` writes: those that are shown to work on this machine."""

from __future__ import annotations

import tomllib
from collections.abc import AsyncIterator
from typing import Any

import click
import pytest
from doorward import Capabilities, ExecutorError, Gateway
from doorward.config import install_hints

from .conftest import Cli, InProcess


class Sick(InProcess):
    async def open(self, program: Any, *, session: bool = False) -> Any:
        raise ExecutorError("there is no user namespace")


class Untold(InProcess):
    """One of nobody's extras: it is not even asked what it can."""

    def capabilities(self) -> Capabilities:
        raise AssertionError


class Probing(click.Command):
    async def checks(self, gateway: Gateway) -> AsyncIterator[tuple[str, bool, str]]:
        for name in gateway.executors.names:
            yield f"executor {name} does not hold: network", name != "leaky", ""


@pytest.fixture
def init(cli: Cli, doorward_host: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """What `init` writes as `executor`, and says of it, where the extras of core bring these executors."""

    def run(*extras: str) -> tuple[Any, str]:
        brought = dict.fromkeys(extras, "x")
        monkeypatch.setattr(install_hints, "executors_of", lambda extra="": {} if extra else brought)
        said = "".join(line for line in cli("init", "--force").out.splitlines(keepends=True) if "wrote" not in line)
        said = said.partition("\nNext:")[0]
        return tomllib.loads((doorward_host.folder / "doorward.toml").read_text()).get("executor"), said

    for name, driver in (("monty", InProcess), ("leaky", InProcess), ("sick", Sick), ("untold", Untold)):
        doorward_host.install("executor", name, driver)
    doorward_host.install("command", "sandbox", Probing("sandbox"))
    return run


def test_what_holds_stands_behind_the_default(init: Any) -> None:
    """The default comes first; what does not start, or is shown not to isolate, is not written, nor what is strange."""
    assert init("monty", "sick", "leaky", "inprocess") == (
        ["monty", "inprocess"],
        "programs run in monty, else in inprocess: tried, and it isolates\n",
    )


def test_without_one_that_holds_the_default_stays(init: Any) -> None:
    """The reasons are said."""
    names, said = init("sick", "leaky")
    assert names == ["monty"]
    assert "left out, for it does not work here: sick: there is no user namespace" in said
    assert "left out, for it does not work here: executor leaky does not hold: network" in said
    assert init() == (["monty"], "")


def test_who_has_chosen_is_not_advised(init: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is tried where the environment says which executor it is."""
    monkeypatch.setenv("DOORWARD_EXECUTOR", '["monty"]')
    assert init("inprocess") == (["monty"], "")
