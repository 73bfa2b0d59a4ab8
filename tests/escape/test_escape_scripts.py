"""The attacks in JavaScript, against executors of it: what of the others can be said in that language, and what only that
language can say."""

from __future__ import annotations

import subprocess
from collections.abc import Callable

import pytest
from doorward import Outcome

from .attack import Script
from .conftest import Gate
from .host import Host
from .scripts import breaking, reaching
from .test_escape import named, strike

pytestmark = [pytest.mark.slow]

ALL = [*reaching.ATTACKS, *breaking.ATTACKS]
FEWEST = 90


@pytest.mark.parametrize("attack", ALL, ids=named)
def test_held(gates: Callable[..., Gate], host: Host, attack: Script) -> None:
    """What an attack aims at is not reached, the host is untouched, and another client is served. CONTRACT: SBX-01,
    SBX-19"""
    strike(gates("deno"), host, attack)


@pytest.mark.parametrize("attack", [attack for attack in ALL if attack.control], ids=named)
def test_attack_is_real(host: Host, attack: Script) -> None:
    """Control: Deno with all permissions and without a jail reaches what the attack aims at."""
    deno = pytest.importorskip("deno", reason="deno is absent: `pip install deno` brings it")
    program = f"{attack.program(repr(host.facts))}\nconsole.log(`\\n= ${{JSON.stringify(reached)}}`);\nDeno.exit();"
    (file := host.folder / "drop" / "attack.mjs").write_text(program)
    done = subprocess.run(
        [deno.find_deno_bin(), "run", "--quiet", "-A", str(file)],
        capture_output=True, text=True, timeout=60, check=False, cwd=host.drop, pass_fds=[host.facts["inherited"]],
    )  # fmt: skip
    for path in host.drop.iterdir():
        path.unlink()
    touched = host.touched(attack, Outcome(False))
    assert touched or done.stdout.rpartition("= ")[2].strip() not in ("", "[]"), f"it reaches nothing: {done.stderr}"


def test_there_are_enough() -> None:
    """As many as was promised, and none of the same name."""
    names = {attack.name for attack in ALL}
    assert len(ALL) == len(names) >= FEWEST
