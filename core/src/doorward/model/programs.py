"""Programs, what guards find in them, and how they end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from doorward.model.limits import Limits
from doorward.model.principals import LOCAL, Principal

Kind = Literal["program", "guard", "policy", "limit", "executor", "server", "config"]
"""The kinds of errors, by who can mend them."""


@dataclass(frozen=True, slots=True)
class Program:
    """A program that an agent wants to run. `params` are values for its parameters; `functions` narrows by names and
    wildcards what it may call (`None`: all that the policy allows); `deadline` is a `time.monotonic()`, which moves on
    while the client is asked something. `language` is one of `Capabilities.languages`. `continues`: earlier runs of its
    session may have left names. `plan`: its writes are withheld, and answered with `Planned`.
    `seed` and `began` (seconds since the epoch) are drawn when the run is admitted: from
    the seed an executor makes all random numbers of the program, so that the run can be repeated. `cached`: it was kept
    before, and is run once more. `argv` are the words behind the program's name, as a script has them in `sys.argv`.
    `granted` is for guards: what the operator has given to executors that may run it, `shell`, `network` and the import
    names of packages.
    """

    code: str
    params: Mapping[str, Any] = field(default_factory=dict)
    description: str = ""
    functions: tuple[str, ...] | None = None
    principal: str = LOCAL
    limits: Limits = field(default_factory=Limits)
    run: str = ""
    deadline: float = float("inf")
    language: str = "python"
    continues: bool = False
    plan: bool = False
    seed: bytes = field(default=b"", repr=False)
    began: float = 0.0
    cached: bool = False
    argv: tuple[str, ...] = ()
    granted: frozenset[str] = frozenset()

    @property
    def caller(self) -> Principal:
        """Its principal, with groups and attributes."""
        return Principal.of(self.principal)


@dataclass(frozen=True, slots=True)
class Finding:
    """One objection of a guard to a program. `line` counts from 1; `instead` says what to do instead. `refuse`: the
    program is stopped; else its author is only told. `error` is the exception that Python itself would raise, such as
    `SyntaxError`."""

    message: str
    line: int | None = None
    instead: str = ""
    refuse: bool = True
    error: str = ""


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame of the agent's own code in a traceback."""

    line: int
    function: str
    source: str = ""


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a run failed. `line` is in the agent's own code, counted from 1."""

    kind: Kind
    type: str
    message: str
    line: int | None = None
    frames: tuple[Frame, ...] = ()
    hint: str | None = None


@dataclass(frozen=True, slots=True)
class ProgramResult:
    """How a program ended inside its sandbox: with a plain JSON value, or a failure; or not at all: its run is
    `suspended`."""

    value: Any = None
    error: Failure | None = None
    suspended: bool = False


@dataclass(frozen=True, slots=True)
class CachedProgram:
    """A program kept for `run_cached_code`. `params` are its parameters, with the values of that run; `uses` maps each
    function that it called to the hash of its schema at that time. `digest` is the same for the same code,
    language and `functions`, so that a program kept twice keeps its id."""

    cache_id: str
    principal: str
    code: str
    description: str
    params: Mapping[str, Any]
    functions: tuple[str, ...] | None
    uses: Mapping[str, str]
    digest: str
    created: float
    language: str = "python"
