"""What ends processes when ours cannot."""

from __future__ import annotations

import subprocess
import time

import pytest
from doorward_jail import Watchdog


@pytest.mark.slow
def test_it_ends_what_is_left() -> None:
    """At the end of its pipe it kills the processes in its charge, and no other; when it is closed or killed itself it
    kills none."""
    sleeping = [subprocess.Popen(["sleep", "60"]) for _ in range(5)]
    pids = [process.pid for process in sleeping]
    try:
        dog = Watchdog("kill -9 $left")
        for pid in pids:
            dog.guard(pid)
        dog.close()
        dog.release(pids[0])  # starts another, which is told of the others
        assert dog._shell is not None
        dog._shell.kill()
        dog._shell.wait()
        dog.guard(pids[0])  # finds it dead
        for pid in (pids[2], pids[0], pids[0], pids[4], 99999999):
            dog.release(pid)
        time.sleep(0.2)
        assert [process.poll() for process in sleeping] == [None] * 5
        assert dog._shell.stdin is not None
        dog._shell.stdin.close()  # as when this process is gone
        assert [sleeping[i].wait(60) for i in (1, 3)] == [-9, -9]
        assert [sleeping[i].poll() for i in (0, 2, 4)] == [None] * 3
        dog._shell.wait(60)
    finally:
        for process in sleeping:
            process.kill()
            process.wait()


@pytest.mark.slow
def test_it_rests_when_nothing_is_in_its_charge() -> None:
    """Its shell goes then, and comes again."""
    dog = Watchdog("kill -9 $left")
    dog.guard(99999999)
    shell = dog._shell
    assert shell is not None
    dog.rest()
    assert shell.poll() is None
    dog.release(99999999)
    dog.rest()
    assert shell.poll() is not None
    dog.guard(99999999)
    assert dog._shell is not None
    dog._shell.stdin.close()  # type: ignore[union-attr]  # as when this process is gone
    assert dog._shell.wait(60) != -9
