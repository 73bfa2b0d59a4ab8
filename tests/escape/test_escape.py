"""Every attack against every executor, through a gateway: so through guards, door and broker, under limits.

A second suite, which nobody here has seen, is kept by others: attacks are broad on purpose, see `attack.py`.
"""

from __future__ import annotations

import importlib
import pkgutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable

import pytest
from doorward import Outcome

from . import attacks
from .attack import Attack, text
from .conftest import EXECUTORS, Gate
from .host import Host

pytestmark = [pytest.mark.slow]

NAMES = [module.name for module in pkgutil.iter_modules(attacks.__path__)]
TARGETS = {name: importlib.import_module(f"{attacks.__name__}.{name}") for name in NAMES}
NEIGHBOURS = TARGETS.pop("neighbours")
ALL = [(target, attack) for target, module in TARGETS.items() for attack in module.ATTACKS]
GUARDED = TARGETS["interpreter"].GUARDED
FEWEST = 160

BUSY = (
    "a loop", "garbage", "a flood of questions", "a fork bomb", "a flood of prints", "arguments of many parts", "an error of many parts",
    "artefacts without end",
)  # fmt: skip
"""Attacks that may keep the host itself busy."""

FOLLOWERS = 2
"""Programs of the next client after one that leaves something: the first may get another sandbox."""


def named(attack: Attack) -> str:
    return attack.name.replace(" ", "-")


CASES = [
    pytest.param(executor, attack, id=f"{executor}-{target}-{named(attack)}")
    for executor in EXECUTORS
    for target, attack in ALL
    if attack.plain or executor != "monty"
]
"""Monty refuses what all other attacks begin with, so none of them does anything there: see `test_no_prelude_on_monty`."""


@pytest.fixture(params=EXECUTORS)
def executor(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def strike(gate: Gate, host: Host, attack: Attack) -> None:
    """Run an attack; judge what came of it, what the host saw, and what the next client finds."""
    told = repr(host.facts)
    outcome = gate.run(attack.program(told), timeout=attack.timeout)
    wrong = host.touched(attack, outcome)
    wordless = gate.executor == "monty" and not outcome.ok
    wrong += filter(None, ["" if wordless else attack.must(outcome)])
    for _ in range(FOLLOWERS if attack.then else 0):
        after = gate.run(attack.follower(told), principal="alice")
        if not (after.ok or gate.executor == "monty") or after.value:
            wrong.append(f"the next client found {after.value} {after.error}")
    still = gate.run("1 + 1", principal="bob")
    if not still.ok or still.value != 2 or still.printed or still.ms > 20_000:
        wrong.append(f"another client's 1 + 1 is {still}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(("executor", "attack"), CASES)
def test_held(gates: Callable[..., Gate], host: Host, executor: str, attack: Attack) -> None:
    """What an attack aims at is not reached, the host is untouched, and another client is served. CONTRACT: SBX-01"""
    strike(gates(executor), host, attack)


def test_no_prelude_on_monty(gates: Callable[..., Gate], host: Host) -> None:
    """Before an attack of its own has begun. If that changes, they are all to be run there."""
    outcome = gates("monty").run(text("result = reached.append('it runs')", repr(host.facts)))
    assert outcome.error is not None
    assert outcome.error.type == "Unsupported"
    assert not outcome.value


@pytest.mark.parametrize("attack", GUARDED, ids=named)
def test_held_behind_the_guard(gates: Callable[..., Gate], host: Host, executor: str, attack: Attack) -> None:
    """The guard is feedback and no wall: what passes it reaches nothing, and what it refuses is told as that."""
    gate = gates(executor, "ast")
    outcome = gate.run(attack.program(repr(host.facts)))
    refused = outcome.error is not None and outcome.error.kind == "guard"
    assert host.touched(attack, outcome) == []
    assert refused or executor == "monty" or attack.must(outcome) == ""
    assert not outcome.value
    assert gate.run("1 + 1", principal="bob").value == 2


@pytest.mark.parametrize("attack", [attack for _, attack in ALL if attack.name in BUSY], ids=named)
def test_others_are_served_meanwhile(gates: Callable[..., Gate], host: Host, executor: str, attack: Attack) -> None:
    """While one client attacks, another one's programs are answered."""
    gate = gates(executor)
    attacking = threading.Thread(target=gate.run, args=(attack.program(repr(host.facts)),), kwargs={"timeout": 1})
    attacking.start()
    try:
        served = []
        while (attacking.is_alive() and len(served) < 4) or not served:
            time.sleep(0.1)
            served.append(gate.run("1 + 1", principal="bob"))
    finally:
        attacking.join()
    assert {outcome.value for outcome in served} == {2}
    assert max(outcome.ms for outcome in served) < 20_000


@pytest.mark.parametrize("attack", NEIGHBOURS.ATTACKS, ids=named)
@pytest.mark.parametrize("executor", ["nsjail", "docker"])
def test_a_neighbour_is_as_before(gates: Callable[..., Gate], host: Host, executor: str, attack: Attack) -> None:
    """An open session of another client, maybe in the same jail, is neither read nor harmed, and has its share."""
    gate = gates(executor)
    planted = text(NEIGHBOURS.ALICE, repr(host.facts | {"alice": host.token.removeprefix("canary-")}))
    opened = gate.run(planted, principal="alice", session="new")
    assert opened.ok, opened.error
    try:
        outcome = gate.run(attack.program(repr(host.facts)), timeout=attack.timeout)
        assert host.touched(attack, outcome) == []
        assert attack.must(outcome) == ""
        still = gate.run(NEIGHBOURS.STILL, principal="alice", session=opened.session_id)
        assert (still.value, still.error) == ("well", None)
    finally:
        gate.end(opened.session_id)


@pytest.mark.parametrize(
    "attack", [attack for attack in [*(attack for _, attack in ALL), *GUARDED] if attack.control], ids=named
)
def test_attack_is_real(host: Host, attack: Attack) -> None:
    """Control: without isolation the attack reaches what it aims at, so one that reaches nothing has been held back."""
    told = repr(host.facts)
    after = attack.then and attack.follower(told)
    program = f"{attack.program(told)}\n\n{after}\nprint('=', result)"
    command, inherited = [sys.executable, "-c", program], [host.facts["inherited"]]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=60, check=False, cwd=host.drop, pass_fds=inherited
    )
    for path in host.drop.iterdir():
        path.unlink()
    touched = host.touched(attack, Outcome(False))
    said = done.stdout.rpartition("= ")[2].strip()
    assert touched or said not in ("", "[]"), f"it reaches nothing: {done.stderr}"


def test_there_are_enough() -> None:
    """As many as was promised, and none of the same name."""
    names = [(target, attack.name) for target, attack in ALL]
    assert len(set(names)) == len(names)
    assert len(names) + len(GUARDED) + len(NEIGHBOURS.ATTACKS) >= FEWEST
