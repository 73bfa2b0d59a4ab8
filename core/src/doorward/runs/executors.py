"""The configured executors, made when first needed."""

from __future__ import annotations

import difflib
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from doorward.access.slots import NOTICE_SECONDS, Slots, SlotSandbox
from doorward.config.config import Loaded, validate
from doorward.config.settings import Config
from doorward.data.quoting import in_a_line
from doorward.host.logs import log
from doorward.model.abilities import HasPackages, HasPaths, HasSlots, HasWait
from doorward.model.contexts import PluginContext
from doorward.model.drivers import Executor
from doorward.model.errors import ConfigError, DoorwardError, ExecutorError, PluginError
from doorward.model.settings import Settings
from doorward.plugins.manager import to_install

if TYPE_CHECKING:
    from doorward.model.types import Program
    from doorward.plugins.manager import Plugins

_DEFAULT_SLOTS = 16
"""Sandboxes at once, for an executor that does not declare `slots`."""

_DEFAULT_WAIT_SECONDS = 30.0
"""Seconds that a run waits for a sandbox, for an executor that does not declare `wait`."""

MAX_PACKAGES_NAMED = 20
"""Packages named in a line of text; the structured answer names all."""


def _told(executor: Mapping[str, Any]) -> str:
    packages = executor["packages"]
    words = [executor["language"]]
    if packages:
        words.append(
            f"packages: {', '.join(packages[:MAX_PACKAGES_NAMED])}{' …' if len(packages) > MAX_PACKAGES_NAMED else ''}"
        )
    if not executor["files"]:
        words.append("no files")
    if executor["network"]:
        words.append("with network")
    return ", ".join(words)


def _unknown(name: str, known: Sequence[str], loaded: Loaded) -> ConfigError:
    variable = next(iter(sorted(loaded.secrets.variables(f"DOORWARD_EXECUTORS__{name.upper()}__"))), "")
    near = difflib.get_close_matches(name, known, n=1)
    told = f"; did you mean {near[0]!r}?" if near else f"; known: {', '.join(known) or 'none'}"
    return ConfigError(
        f"no executor {name!r} is installed or named in `executor`{told}",
        place=variable or f"{loaded.file} [executors.{name}]",
        hint=None if near else to_install("executor", name, ()),
    )


class Executors:
    """Executors by name, in the order in which programs try them."""

    def __init__(self, loaded: Loaded, plugins: Plugins, state: Path) -> None:
        config: Config = loaded.config
        installed = {e.name for e in plugins.index.of("executor")}
        for name in config.executors.keys() - installed - {*config.executor}:
            raise _unknown(name, sorted({*installed, *config.executor}), loaded)
        chosen = "executor" in loaded.named
        self.names: Sequence[str] = [n for n in config.executor if chosen or n in installed]
        self._options = config.executors
        self._loaded = loaded
        self._plugins = plugins
        self._state = state
        self._made: dict[str, Executor] = {}
        self._settings: dict[str, Settings] = {}
        self._slots: dict[str, Slots] = {}

    def get(self, name: str) -> Executor:
        """The executor, made at its first use; nothing is started yet.

        Raises: PluginError as an ExecutorError, ConfigError.
        """
        if name not in self._made:
            try:
                driver = self._plugins.driver("executor", name)
            except PluginError as error:
                raise ExecutorError(str(error), hint=error.hint) from None
            place = f"{self._loaded.file} [executors.{name}]"
            self._settings[name] = validate(
                driver.Settings, self._options.get(name, {}), secrets=self._loaded.secrets, place=place
            )
            self._made[name] = driver(PluginContext(name, self._settings[name], self._state))
        return self._made[name]

    async def open(self, name: str, program: Program, *, session: bool = False) -> SlotSandbox:
        """A sandbox of the executor, as soon as it is the principal's turn.

        Raises: Busy; what `get` and `Executor.open` raise.
        """
        executor = self.get(name)
        if (slots := self._slots.get(name)) is None:
            most = executor.slots if isinstance(executor, HasSlots) else _DEFAULT_SLOTS
            slots = self._slots[name] = Slots(
                name, most, executor.wait if isinstance(executor, HasWait) else _DEFAULT_WAIT_SECONDS
            )
        await slots.take(program.principal, program.deadline - time.monotonic() - NOTICE_SECONDS)
        try:
            return SlotSandbox(await executor.open(program, session=session), slots, program.principal)
        except BaseException:
            slots.give_back(program.principal)
            raise

    def advice(self, name: str = "", *, session: bool = False) -> str:
        """A hint for a program that no executor could run. `name` is the executor that has begun it and cannot go on;
        `session` says that the program belongs to a session there."""
        if name and (elsewhere := [n for n in self.names if n != name] if session else self._after(name)):
            if session:
                takers = " or ".join(elsewhere)
                return f'Open a new session (session_id="new") whose first program needs this: {takers} may take it.'
            return (
                f"If this fails before any call, as an import at the top does, {elsewhere[0]} takes the program "
                "(in a session: its first program)."
            )
        others = [e.name for e in self._plugins.index.of("executor") if e.name not in self.names]
        if others:
            return f"Installed but not configured: {', '.join(others)}; the operator can add it to `executor`."
        if not self.names:
            return "The operator must install one: `pip install doorward[standard]` brings one."
        return "Or ask the operator for an executor that runs full CPython and packages."

    def told(self) -> str:
        """The abilities of each executor, in a few words."""
        return "; ".join(f"{e['executor']}: {e.get('broken') or _told(e)}" for e in self.describe())

    def lacks(self, name: str, package: str) -> str:
        """A hint for a program that needs a package which this executor does not have."""
        full = isinstance(self._settings_of(name), HasPackages)
        if not full and self._after(name):
            return self.advice(name)
        having = [e["executor"] for e in self.describe() if package in e.get("packages", ())]
        if having:
            return f"The executor {having[0]!r} has it: the operator can name that one first in `executor`."
        if full:
            return f"The operator can add packages: `[executors.{name}] packages`."
        return self.advice()

    def shows_paths(self, name: str) -> bool:
        """Whether the operator can show files of the machine to sandboxes of this executor."""
        return isinstance(self._settings_of(name), HasPaths)

    def _settings_of(self, name: str) -> Settings:
        self.get(name)
        return self._settings[name]

    def _after(self, name: str) -> Sequence[str]:
        """The executors that are tried after this one."""
        return self.names[self.names.index(name) + 1 :] if name in self.names else ()

    def describe(self) -> list[dict[str, Any]]:
        """The capabilities of each executor, as it declares them."""
        found: list[dict[str, Any]] = []
        for name in self.names:
            try:
                can = self.get(name).capabilities()
                found.append(
                    {
                        "executor": name,
                        "language": can.language,
                        "isolation": can.isolation,
                        "packages": list(can.packages),
                        "sessions": can.sessions,
                        "files": can.files,
                        "network": can.network,
                        "limits": dict(can.limits),
                        "notes": can.notes,
                    }
                )
            except DoorwardError as error:
                found.append({"executor": name, "broken": in_a_line(error)})
        return found

    async def close(self) -> None:
        """End every sandbox of every executor."""
        for name, executor in self._made.items():
            try:
                await executor.close()
            except Exception:  # the others must be closed as well
                log.exception("close_failed", executor=name)
