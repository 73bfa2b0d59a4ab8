"""The record of the demo: its steps, the tokens that it took, and how long it took."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass
class Step:
    """One step. `sent` and `seen` are what the agent sends and receives; `checks` are conditions that must hold."""

    name: str
    title: str
    sent: Any = None
    seen: str = ""
    ms: float = 0.0
    checks: dict[str, bool] = field(default_factory=dict)


@dataclass
class Told:
    """The whole demo; each step is shown when it is over. `seconds` count from the start of the command."""

    show: Callable[[Step], None]
    steps: list[Step] = field(default_factory=list)
    tokens: dict[str, dict[str, int]] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    error: str = ""
    _started: float = field(default_factory=time.monotonic)

    @contextlib.contextmanager
    def step(self, name: str, title: str) -> Iterator[Step]:
        """Run a step. An exception in it counts as a failed check, and ends the demo."""
        step, started = Step(name, title), time.monotonic()
        try:
            yield step
        except Exception as error:
            step.checks[f"{type(error).__name__}: {error}"] = False
            raise
        finally:
            step.ms = round(1000 * (time.monotonic() - started), 1)
            self.steps.append(step)
            self.stop("first_output")
            self.show(step)

    def stop(self, watch: str) -> None:
        """Note the time for this name, once."""
        self.seconds.setdefault(watch, round(time.monotonic() - self._started, 2))

    @property
    def failed(self) -> list[str]:
        """The checks that do not hold, and why the demo ended early."""
        checks = [f"{step.name}: {check}" for step in self.steps for check, holds in step.checks.items() if not holds]
        return checks if any(self.error in check for check in checks) else [*checks, *filter(None, [self.error])]

    @property
    def ok(self) -> bool:
        """Whether every step took place and did what it should."""
        return bool(self.tokens) and not self.failed

    def as_dict(self) -> dict[str, Any]:
        steps = [asdict(step) for step in self.steps]
        return {"ok": self.ok, "failed": self.failed, "steps": steps, "tokens": self.tokens, "seconds": self.seconds}
