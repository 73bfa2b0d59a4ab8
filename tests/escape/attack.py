"""What an attack is: a program, what must come of it, and what the next client's program must not find.

A second suite of attacks, which nobody here has seen, is kept and run by others. So an attack stands for its kind: it
is written broadly, tries the variants too, and is not fitted to what one executor happens to do.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from doorward import Outcome

PRELUDE = (Path(__file__).parent / "prelude.py").read_text(encoding="utf-8")
"""Stands before each attack that is not `plain`: it gives `HOST`, `reached`, `attempt`, `syscall` and others."""

SCRIPT_PRELUDE = (Path(__file__).parent / "prelude.js").read_text(encoding="utf-8")
"""The same for attacks in JavaScript."""

Must = Callable[[Outcome], str]
"""What an outcome has wrong: a sentence, or ""."""


def nothing(outcome: Outcome) -> str:
    """The program came to its end, and reached nothing. One that broke for reasons of its own has attacked nothing."""
    if not outcome.ok:
        return f"the attack broke: {outcome.error}; it printed {outcome.printed[-500:]!r}"
    return f"it reached {outcome.value!r}" if outcome.value else ""


def ran(outcome: Outcome) -> str:
    """It came to its end, with a value that is only data."""
    return "" if outcome.ok else f"it failed: {outcome.error}"


def nothing_or_dead(outcome: Outcome) -> str:
    """As `nothing`; or its sandbox has been killed for it."""
    return "" if _kind(outcome) in ("executor", "limit") else nothing(outcome)


def dead(outcome: Outcome) -> str:
    """The sandbox is gone, and the outcome says so."""
    return "" if _kind(outcome) in ("executor", "limit") else f"not told as dead: {outcome}"


def broken_off(outcome: Outcome) -> str:
    """The host has ended the sandbox for what it said, at once and not at its deadline."""
    return "" if _kind(outcome) == "executor" else f"not broken off: {outcome}"


def failed(*types: str) -> Must:
    """The program failed by an error of its own (of these types)."""

    def must(outcome: Outcome) -> str:
        right = (
            outcome.error
            and outcome.error.kind in ("program", "limit", "executor")
            and (not types or outcome.error.type in types)
        )
        return "" if right else f"it did not fail as it should: {outcome.ok} {outcome.value!r:.300} {outcome.error}"

    return must


def stopped(*words: str) -> Must:
    """A limit ended it, and the message has one of the words."""

    def must(outcome: Outcome) -> str:
        if _kind(outcome) == "limit" and outcome.error and any(word in outcome.error.message for word in words):
            return ""
        return f"no limit of {' or '.join(words)} ended it: {outcome.ok} {outcome.value!r:.300} {outcome.error}"

    return must


def either(*musts: Must) -> Must:
    return lambda outcome: (
        "" if any(not must(outcome) for must in musts) else " and ".join(must(outcome) for must in musts)
    )


def valued(value: object) -> Must:
    """The program did what it may, and its value is this."""
    return lambda outcome: (
        "" if outcome.ok and outcome.value == value else f"not {value!r}: {outcome.value!r:.300} {outcome.error}"
    )


def contained(outcome: Outcome) -> str:
    """Whatever came of it: only what the host sees counts."""
    return ""


late = stopped(" s")
full = stopped("memory")
"""ProgramResult by the deadline; by the limit of memory."""


def _kind(outcome: Outcome) -> str:
    return outcome.error.kind if outcome.error else ""


@dataclass(frozen=True)
class Attack:
    """`code` sets `result` to what it reached, as a list of text. `must` judges the outcome; on an executor whose
    language has no words for the attempt, a failure is right as well. `then` is what another client runs afterwards:
    its value must be nothing. `control`: without isolation it reaches something, which a test proves. `timeout` in
    seconds.
    """

    name: str
    code: str
    must: Must = nothing
    then: str = ""
    timeout: float = 10
    control: bool = False
    plain: bool = False
    session: bool = False

    def program(self, host: str) -> str:
        """The text that is run; `host` is the literal of what the program is told of the host."""
        return text(self.code, host, plain=self.plain)

    def follower(self, host: str) -> str:
        """What the next client runs."""
        return text(self.then, host, plain=self.plain)


@dataclass(frozen=True)
class Script(Attack):
    """An attack in JavaScript, for executors of it and of TypeScript."""

    def program(self, host: str) -> str:
        return script(self.code, host)

    def follower(self, host: str) -> str:
        return script(self.then, host)


def script(code: str, host: str) -> str:
    return f"const HOST = {host};\n{SCRIPT_PRELUDE}\n{code}"


def text(code: str, host: str, *, plain: bool = False) -> str:
    before = f"HOST = {host}\n"
    return f"{before}{code}" if plain else f"{before}{PRELUDE}\n{code}"
