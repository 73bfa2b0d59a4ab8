"""The last runs of this process, as observers are told of them: without the arguments and answers of calls, which only
those keep who are asked to."""

from __future__ import annotations

import hashlib
import json
import time
from collections import OrderedDict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from doorward.administration import dump_json, mask_tokens

if TYPE_CHECKING:
    from doorward import Artefact, Call, CallRecord, Outcome, Program

MAX_RUNS = 300
"""Runs that are remembered."""

MAX_CALLS = 300
"""Calls of one run that are; the others are counted."""

MAX_FILES = 20
"""Files of one run that are."""

MAX_CHARACTERS = 20_000
"""Characters of a program, of a value and of printed text that are."""


@dataclass(slots=True)
class RecentCall:
    """A call: when it began, in milliseconds since its run did, how long it took, how it ended, what was decided."""

    function: str
    at: float
    ms: float
    ok: bool
    error: str = ""
    decision: str = "allow"
    rule: str = ""
    bytes_in: int = 0
    bytes_out: int = 0
    asked_ms: float = 0.0
    """Of the time that it took, what it waited for a person; for its turn by the limits that the server tells; and
    between requests that were repeated."""
    paced_ms: float = 0.0
    retry_ms: float = 0.0
    retries: float = 0


@dataclass(slots=True)
class RecentRun:
    """A run. Times are seconds since the epoch; `state` is "running", "waiting", "ok" or "failed"."""

    run: str
    principal: str
    description: str
    code: str
    language: str
    started: float
    state: str = "running"
    ms: float = 0.0
    executor: str = ""
    error: str = ""
    line: int | None = None
    hint: str = ""
    printed: str = ""
    value: str = ""
    waits: tuple[str, ...] = ()
    told_bytes: int = 0
    """Bytes of its value and of what it printed."""
    usage: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    code_sha256: str = ""
    files: tuple[Artefact, ...] = ()
    calls: list[RecentCall] = field(default_factory=list)
    more_calls: int = 0

    @property
    def servers(self) -> list[str]:
        """Those that it has called."""
        return sorted({call.function.partition(".")[0] for call in self.calls})

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


class Recent:
    """What is remembered. Hooks fire in the thread of the event loop."""

    def __init__(self) -> None:
        self._runs: OrderedDict[str, RecentRun] = OrderedDict()

    def started(self, program: Program) -> None:
        if program.run in self._runs:  # it goes on
            self._runs.move_to_end(program.run)
            known = self._runs[program.run]
            known.state, known.waits = "running", ()
            return
        self._runs[program.run] = RecentRun(
            program.run, str(program.principal), without_tokens(program.description), without_tokens(program.code),
            program.language, time.time(), code_sha256=hashed(program.code),
        )  # fmt: skip
        while len(self._runs) > MAX_RUNS:
            self._runs.popitem(last=False)

    def called(self, call: Call, record: CallRecord) -> None:
        run = self._runs.get(call.run)
        if run is None:
            return
        if len(run.calls) >= MAX_CALLS:
            run.more_calls += 1
            return
        at = max(0.0, (time.time() - run.started) * 1000 - record.ms)
        decision = record.decision
        run.calls.append(RecentCall(
            call.function.qualified, round(at, 1), round(record.ms, 1), record.ok, record.error[:300], decision.then,
            decision.rule, record.bytes_in, record.bytes_out,
            *(float(record.details.get(name, 0)) for name in ("asked_ms", "paced_ms", "retry_ms", "retries")),
        ))  # fmt: skip

    def finished(self, program: Program, outcome: Outcome) -> None:
        if program.run not in self._runs:  # a guard refused it
            self.started(program)
        run = self._runs[program.run]
        run.ms, run.executor, run.printed = round(outcome.ms, 1), outcome.executor, without_tokens(outcome.printed)
        run.told_bytes = len(dump_json(outcome.value)) + len(outcome.printed.encode(errors="replace"))
        run.usage = outcome.usage
        run.files = outcome.artefacts[:MAX_FILES]
        run.state = "waiting" if outcome.waiting else "ok" if outcome.ok else "failed"
        run.waits = tuple(outcome.waiting.what) if outcome.waiting else ()
        if outcome.error is not None:
            run.error = without_tokens(f"{outcome.error.type}: {outcome.error.message}")
            run.line, run.hint = outcome.error.line, outcome.error.hint or ""
        if outcome.value is not None:
            run.value = shown_value(outcome.value)

    def find(self, run: str) -> RecentRun | None:
        """The run of an id."""
        return self._runs.get(run)

    def all(self, principals: Collection[str] | None) -> Iterator[RecentRun]:
        """The runs of some principals, or all, the newest first."""
        return (run for run in reversed(self._runs.values()) if principals is None or run.principal in principals)


def shown_value(value: Any) -> str:
    """A value as a person reads it."""
    return without_tokens(json.dumps(value, ensure_ascii=False, indent=2, default=str))


def hashed(code: str) -> str:
    """What tells a program from others, also where it is too long to be remembered."""
    return hashlib.sha256(code.encode(errors="surrogatepass")).hexdigest()


def without_tokens(text: str) -> str:
    """A text without what looks like a credential, and not too long."""
    return mask_tokens(text[:MAX_CHARACTERS], "[hidden]")
