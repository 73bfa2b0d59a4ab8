"""The configured executors, made when first needed."""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from doorward.access.slots import NOTICE_SECONDS, Slots, SlotSandbox
from doorward.config.config import Loaded
from doorward.config.install_hints import executors_of
from doorward.config.settings import Config
from doorward.data.languages import JAVASCRIPT, PYTHON, TYPESCRIPT
from doorward.data.quoting import in_a_line
from doorward.model.drivers import HasReady, HasSlots, HasWait, ReadsPrograms
from doorward.model.errors import DoorwardError, ExecutorError, PluginError, SandboxDied
from doorward.model.executors import Capabilities, Executor, Sandbox
from doorward.model.principals import person_of
from doorward.plugins.hook_answers import conforming, expected

if TYPE_CHECKING:
    from doorward.model.programs import Program
    from doorward.plugins.manager import Plugins

RENAMED_PACKAGES: Mapping[str, str] = {
    "bs4": "beautifulsoup4",
    "cv2": "opencv-python-headless",
    "dateutil": "python-dateutil",
    "docx": "python-docx",
    "fitz": "pymupdf",
    "PIL": "pillow",
    "pptx": "python-pptx",
    "skimage": "scikit-image",
    "sklearn": "scikit-learn",
    "yaml": "pyyaml",
}
"""Import names, each with its distribution, where that is called otherwise."""


def modules_of(requirements: Iterable[str]) -> frozenset[str]:
    """The import names of packages that are required as for pip: `httpx[http2]>=0.27` is `httpx`."""
    names = {re.split(r"[^\w.-]", requirement, maxsplit=1)[0].lower().replace("_", "-") for requirement in requirements}
    renamed = {module for module, distribution in RENAMED_PACKAGES.items() if distribution in names}
    return frozenset(renamed | {name.replace("-", "_") for name in names})


T = TypeVar("T")

_DEFAULT_SLOTS = 16
"""Sandboxes at once, for an executor that does not declare `slots`."""

_DEFAULT_WAIT_SECONDS = 30.0
"""Seconds that a run waits for a sandbox, for an executor that does not declare `wait`."""


@cache
def _of_python_alone() -> Mapping[str, str]:
    """The executors in core's extras that run nothing but Python, each with its distribution."""
    others = {**executors_of(TYPESCRIPT), **executors_of(JAVASCRIPT)}
    return {name: package for name, package in executors_of().items() if name not in others}


class Executors:
    """Executors by name, in the order in which programs try them."""

    def __init__(self, loaded: Loaded, plugins: Plugins, state: Path) -> None:
        config: Config = loaded.config
        self.installed: Collection[str] = {e.name for e in plugins.index.of("executor")}
        chosen = "executor" in loaded.named
        self.names: Sequence[str] = [n for n in config.executor if chosen or n in self.installed]
        self._loaded = loaded
        self._plugins = plugins
        self._state = state
        self._made: dict[str, Executor] = {}
        self._slots: dict[str, Slots] = {}
        self._languages: dict[str, Sequence[str]] = {}
        self._repeats: dict[str, bool] = {}
        self._granted: dict[tuple[str, ...], frozenset[str]] = {}
        plugins.hook.sandboxes_known(read=self.counts)

    def get(self, name: str) -> Executor:
        """The executor, made at its first use; nothing is started yet.

        Raises: PluginError as an ExecutorError, ConfigError.
        """
        if name not in self._made:
            try:
                self._plugins.driver("executor", name)
            except PluginError as error:
                raise ExecutorError(str(error), hint=error.hint) from None
            self._made[name] = self._plugins.made("executor", name, self._loaded, self._state, ExecutorError)
        return self._made[name]

    def capabilities(self, name: str) -> Capabilities:
        """What the executor can. Raises: ExecutorError, ConfigError."""
        executor = self.get(name)
        with self._blamed(name, "capabilities"):
            return expected(Capabilities, executor.capabilities())

    def languages(self, name: str) -> Sequence[str]:
        """The languages that the executor runs; it is not imported if core's metadata says that it is Python alone.

        Raises: ExecutorError, ConfigError.
        """
        if name not in self._languages:
            given_by = [entry.distribution for entry in self._plugins.index.named("executor", name)]
            is_plain = given_by == [_of_python_alone().get(name)]
            self._languages[name] = (PYTHON,) if is_plain else tuple(self.capabilities(name).languages)
        return self._languages[name]

    def may_run(self, name: str, language: str) -> bool:
        """Whether to try the executor with a program of this language; also if it is broken, since trying tells why."""
        try:
            return language in self.languages(name)
        except DoorwardError:
            return True

    def read(self, language: str, what: str, *given: Any, default: T) -> T:
        """What the first executor that reads programs of a language says of one (`ReadsPrograms`); `default` where none
        does, or where it fails."""
        for name in self.names:
            with contextlib.suppress(DoorwardError):
                executor = self.get(name) if language in self.languages(name) else None
                if isinstance(executor, ReadsPrograms):
                    with self._blamed(name, what):
                        return cast("T", getattr(executor, what)(*given))
        return default

    def repeats(self, name: str) -> bool:
        """Whether a program runs there a second time as it did the first."""
        if (found := self._repeats.get(name)) is None:
            try:
                found = self._repeats[name] = self.capabilities(name).repeats
            except DoorwardError:
                return False
        return found

    def _blamed(
        self, name: str, method: str, raising: type[DoorwardError] = ExecutorError
    ) -> AbstractContextManager[None]:
        return self._plugins.blamed("executor", name, method, raising)

    async def open(self, name: str, program: Program, *, session: bool = False) -> SlotSandbox:
        """A sandbox of the executor, as soon as it is the principal's turn.

        Raises: Busy; what `get` and `Executor.open` raise.
        """
        executor = self.get(name)
        if (slots := self._slots.get(name)) is None:
            with self._blamed(name, "its slots"):
                most = expected(int, executor.slots) if isinstance(executor, HasSlots) else _DEFAULT_SLOTS
                wait = float(executor.wait) if isinstance(executor, HasWait) else _DEFAULT_WAIT_SECONDS
            slots = self._slots[name] = Slots(name, most, wait)
        person = person_of(program.principal)
        await slots.take(person, program.deadline - time.monotonic() - NOTICE_SECONDS)
        ends: Any = partial(self._plugins.failures.leave_if_stuck, self._plugins.id("executor", name), patience=2)
        try:
            with self._blamed(name, "open"):
                sandbox = conforming(Sandbox, await ends("open", executor.open(program, session=session)))
            running = partial(self._blamed, name, raising=SandboxDied)
            return SlotSandbox(sandbox, slots, person, running, ends)
        except BaseException:
            slots.give_back(person)
            raise

    def counts(self) -> dict[str, dict[str, int]]:
        """The sandboxes of each executor that has been used. It may be asked from any thread."""
        found = {}
        for name, slots in [*self._slots.items()]:
            found[name] = slots.counts()
            if isinstance(executor := self._made[name], HasReady):
                found[name]["ready"] = executor.ready
        return found

    def granted(self, language: str) -> frozenset[str]:
        """What the operator has given to the executors of a language: see `Program.granted`. Only those with a table in
        the configuration can have been given anything."""
        if not self._loaded.config.executors:
            return frozenset()
        if (known := self._granted.get((language, *self.names))) is not None:
            return known
        found: set[str] = set()
        for name in self.names:
            if self._loaded.config.executors.get(name) and self.may_run(name, language):
                try:
                    can = self.capabilities(name)
                except DoorwardError:
                    continue  # it says so where the program is run
                found |= modules_of(can.packages)
                found |= {word for word, has in (("shell", can.shell), ("network", can.network)) if has}
        return self._granted.setdefault((language, *self.names), frozenset(found))

    def describe(self) -> list[dict[str, Any]]:
        """The capabilities of each executor, as it declares them."""
        found: list[dict[str, Any]] = []
        for name in self.names:
            try:
                can = self.capabilities(name)
                found.append(
                    {
                        "executor": name,
                        "language": can.language,
                        "languages": list(can.languages),
                        "isolation": can.isolation,
                        "packages": list(can.packages),
                        "modules": list(can.modules),
                        "shell": can.shell,
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
            await self._plugins.failures.closed(self._plugins.id("executor", name), executor)
