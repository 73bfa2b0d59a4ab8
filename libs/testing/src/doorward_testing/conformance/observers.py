"""Conformance tests of observers that are hook plugins: inherit `ObserverConformance`, and say which plugin it is."""

from __future__ import annotations

import asyncio
import copy
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest
from doorward import Gateway, hookimpl

from doorward_testing.conformance.base import only, require
from doorward_testing.conformance.hooks import (
    NAME,
    HookConformance,
    ask,
    odd_calls,
    odd_outcomes,
    odd_programs,
    odd_records,
)

CANARY = "canary-hQ7vX2mLw9Zt4Rb8"
"""The credential of the sample server."""


class ObserverConformance(HookConformance):
    """For observers that are hook plugins. Say `plugin`; override `settings`, where it needs any, and `told`, where it
    tells more than files of the host's folder hold."""

    hooks = ("auth_chosen", "run_started", "run_finished", "call_finished")

    def told(self, host: Any) -> str:
        """Everything that it has told anybody until now: the text of all files in the host's folder, but for
        Doorward's own."""
        return files_of(host)

    @pytest.mark.anyio
    async def test_it_raises_nothing(self, host: Any) -> None:
        """Whatever programs, calls and ends there are: an exception would lose what it was told."""
        async with self.opened(host) as plugin:
            for hook, given in _told_of():
                if hook in self.implemented:
                    with only((), f"{hook}, told of {given!r:.200},", "Catch what may fail: nobody else does."):
                        ask(plugin, hook, **given)

    @pytest.mark.anyio
    async def test_it_changes_nothing(self, host: Any) -> None:
        """What it is told is the same afterwards."""
        async with self.opened(host) as plugin:
            for hook, given in _told_of():
                if hook in self.implemented:
                    before = copy.deepcopy(_parts(given))
                    ask(plugin, hook, **given)
                    require(repr(before) == repr(_parts(given)), f"{hook} changed what it was told: {before!r:.200}")

    @pytest.mark.anyio
    async def test_runs_are_the_same_with_it(self, doorward_host: Any) -> None:
        """Outcomes are those of a gateway without it."""
        found = []
        for plugins in ([], [NAME]):
            async with self._gateway(doorward_host, plugins) as gate:
                outcomes = [
                    await gate.execute(code) for code in ("await weather.get_forecast(city='Oslo')", "1 / 0", "")
                ]
                found.append([(o.ok, o.value, o.printed, o.error and o.error.message, o.notes) for o in outcomes])
        require(found[0] == found[1], f"outcomes with the observer: {found[1]}; without it: {found[0]}")

    @pytest.mark.anyio
    async def test_no_secret_is_told(self, doorward_host: Any) -> None:
        """Neither the credential of a server whose answers and errors echo it, nor what programs and answers hold as
        keys."""
        async with self._gateway(doorward_host, [NAME]) as gate:
            for function in ("echo_token", "fail", "crash", "raw"):
                await gate.execute(f"await weather.{function}()")
        require(CANARY not in self.told(doorward_host), "it told a credential: tell sizes and hashes, never contents")

    @pytest.mark.anyio
    async def test_refused_and_cancelled_runs_are_told(self, doorward_host: Any) -> None:
        """It tells of each run that ends, however it ends."""
        if "run_finished" not in self.implemented:
            pytest.skip("it is not told how runs end")
        started = _Started()
        doorward_host.install("plugin", "started", started)
        async with self._gateway(doorward_host, [NAME, "started"]) as gate:
            for what, code in {"succeeds": "1", "fails": "1 / 0", "is refused": "x = = 1"}.items():
                before = self.told(doorward_host)
                await gate.execute(code)
                require(self.told(doorward_host) != before, f"it tells nothing of a run that {what}")
            started.event.clear()
            running = asyncio.ensure_future(gate.execute("import asyncio\nawait asyncio.sleep(1000)"))
            await started.event.wait()
            before = self.told(doorward_host)
            running.cancel()
            await asyncio.wait([running])
            require(self.told(doorward_host) != before, "it tells nothing of a run that is cancelled")

    def _gateway(self, host: Any, plugins: list[str]) -> AbstractAsyncContextManager[Gateway]:
        if NAME not in {entry.name for entry in host.entries}:
            host.install("plugin", NAME, self.plugin)
        config: dict[str, Any] = {"executor": "inprocess", "cache": "none", "plugins": plugins}
        config["servers"] = {"weather": {"source": "fake", "token": "${CANARY}"}}
        if plugins and self.settings(host):
            config["hooks"] = {NAME: self.settings(host)}
        return host.gateway(config, environ={"CANARY": CANARY})  # type: ignore[no-any-return]


class _Started:
    """Another observer, which knows that a run has started."""

    def __init__(self) -> None:
        self.event = asyncio.Event()

    @hookimpl
    def run_started(self) -> None:
        self.event.set()


def files_of(host: Any) -> str:
    """The text of all files in a host's folder, but for Doorward's own."""
    files = sorted(file for file in host.folder.rglob("*") if file.is_file())
    ours = ("doorward.toml", "catalog.db", "store.db", "states.key")
    return "".join(file.read_text("latin-1") for file in files if not file.name.startswith(ours))


def _told_of() -> list[tuple[str, dict[str, Any]]]:
    """What observers are told, by hook."""
    programs, records = odd_programs(), odd_records()
    found: list[tuple[str, dict[str, Any]]] = [("auth_chosen", {"server": "ünï", "auth": ""})]
    found += [("run_started", {"program": program}) for program in programs]
    found += [("run_finished", {"program": program, "outcome": odd_outcomes()[0]}) for program in programs]
    found += [("run_finished", {"program": programs[0], "outcome": outcome}) for outcome in odd_outcomes()]
    found += [("call_finished", {"call": call, "record": records[0]}) for call in odd_calls()]
    return [*found, *(("call_finished", {"call": odd_calls()[0], "record": record}) for record in records)]


def _parts(given: dict[str, Any]) -> list[Any]:
    """What of it could be changed."""
    parts = [given.get("program"), given.get("call"), given.get("outcome")]
    names = ("code", "params", "arguments", "value", "printed", "ok")
    return [
        dict(v) if hasattr(v, "items") else v for p in parts for n in names if (v := getattr(p, n, None)) is not None
    ]
