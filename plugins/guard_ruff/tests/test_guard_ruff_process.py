"""The process of ruff: isolated, bounded, started anew when it is gone, and gone when nobody needs it."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest
from doorward import ConfigError, PluginContext, Program
from doorward_guard_ruff import RuffGuard, server

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

needs_proc = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="/proc is absent: only Linux has it")

WRONG = Program("print(undefned)")


def pid(guard: RuffGuard) -> int:
    assert guard._server is not None
    assert guard._server._process is not None
    return guard._server._process.pid


async def stopped(guard: RuffGuard) -> int:
    """The process, once every thread of it has stopped: on a busy machine one may answer before."""
    os.kill(process := pid(guard), signal.SIGSTOP)
    while any(task.joinpath("stat").read_text().rpartition(")")[2].split()[0] != "T" for task in tasks(process)):
        await anyio.sleep(0.01)
    return process


def tasks(process: int) -> list[Path]:
    return list(Path(f"/proc/{process}/task").iterdir())


async def gone(process: int) -> None:
    while Path(f"/proc/{process}").exists():
        await anyio.sleep(0.01)


async def test_nothing_starts_before_a_program_comes(guarded: Any) -> None:
    """One process serves all programs, and ends with the guard."""
    async with guarded() as guard:
        assert guard._server._process is None
        assert await guard.guard_program(Program("1", language="javascript")) == []
        assert guard._server._process is None
        await guard.guard_program(WRONG)
        first = pid(guard)
        await guard.guard_program(WRONG)
        assert pid(guard) == first
    with pytest.raises(ProcessLookupError):
        os.kill(first, 0)


async def test_configuration_of_others_is_not_read(guarded: Any, tmp_path: Path, monkeypatch: Any) -> None:
    """CONTRACT: SEC-03. Neither in the working folder, nor at home, nor in the environment."""
    off = '[lint]\nignore = ["F821"]\n'
    for folder in (tmp_path, tmp_path / ".config/ruff", tmp_path / "work"):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "ruff.toml").write_text(off)
    (tmp_path / "work/pyproject.toml").write_text("[tool.ruff.lint]\nignore = ['F821']\n")
    monkeypatch.chdir(tmp_path / "work")
    for name, value in {
        "HOME": tmp_path,
        "XDG_CONFIG_HOME": tmp_path / ".config",
        "RUFF_CONFIG": tmp_path / "ruff.toml",
    }.items():
        monkeypatch.setenv(name, str(value))
    async with guarded() as guard:
        assert [one.refuse for one in await guard.guard_program(WRONG)] == [True]


@needs_proc
async def test_it_sees_nothing_of_our_environment(guarded: Any, monkeypatch: Any) -> None:
    """There may be secrets in it."""
    monkeypatch.setenv("API_TOKEN", "s3cret")
    async with guarded() as guard:
        await guard.guard_program(WRONG)
        assert b"s3cret" not in Path(f"/proc/{pid(guard)}/environ").read_bytes()


async def test_many_programs_at_once(guarded: Any) -> None:
    """Each gets its own answer."""
    found: dict[int, str] = {}

    async def ask(number: int) -> None:
        (one,) = await guard.guard_program(Program(f"\n\nname_{number}"))
        found[number] = one.message

    async with guarded() as guard, anyio.create_task_group() as tasks:
        for number in range(32):
            tasks.start_soon(ask, number)
    assert found == {n: f"name 'name_{n}' is not defined (ruff F821): name_{n}" for n in range(32)}


@pytest.mark.parametrize("code", ["not " * 16000 + "1", "a" + ".a" * 32000, "[" * 32000 + "]" * 32000])
async def test_a_program_that_ends_ruff_is_refused(guarded: Any, code: str) -> None:
    """Nesting overflows its stack: the next program finds another."""
    async with guarded() as guard:
        for _ in range(2):
            (one,) = await guard.guard_program(Program(code))
            assert one.refuse
            assert "perhaps the program is nested too deeply" in one.message
        assert [one.line for one in await guard.guard_program(WRONG)] == [1]


@needs_proc
async def test_a_process_that_somebody_killed_is_replaced(guarded: Any) -> None:
    """The program that comes next is no reason to refuse it."""
    async with guarded() as guard:
        await guard.guard_program(WRONG)
        os.kill(first := pid(guard), signal.SIGKILL)
        assert [one.line for one in await guard.guard_program(WRONG)] == [1]
        assert pid(guard) != first


@needs_proc
async def test_a_process_that_hangs_is_ended(guarded: Any, monkeypatch: Any) -> None:
    """The program is refused after its time, and the next is checked."""
    monkeypatch.setattr(server, "CHECK_SECONDS", 0.2)
    async with guarded() as guard:
        await guard.guard_program(WRONG)
        hanging = await stopped(guard)
        (one,) = await guard.guard_program(Program("1 + 1"))
        assert one.message == "ruff cannot check the program: ruff took more than 0.2 s"
        await gone(hanging)
        monkeypatch.setattr(server, "CHECK_SECONDS", 60.0)
        assert await guard.guard_program(Program("1 + 1")) == []


@needs_proc
async def test_a_cancelled_check_leaves_nothing(guarded: Any) -> None:
    """Its process ends; the next answer is about the next program."""
    async with guarded() as guard:
        await guard.guard_program(WRONG)
        hanging = await stopped(guard)
        with anyio.move_on_after(0.05) as scope:
            await guard.guard_program(Program("print(other)"))
        assert scope.cancelled_caught
        await gone(hanging)
        (one,) = await guard.guard_program(WRONG)
        assert "'undefned'" in one.message


async def test_thousands_of_findings_are_not_read(guarded: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A few are enough, whatever a hostile program is full of; nobody waits for the rest of them."""
    monkeypatch.setattr("doorward_guard_ruff.server.CHECK_SECONDS", 60.0)  # a busy machine needs its time
    async with guarded() as guard:
        found = await guard.guard_program(Program("".join(f"u{n}\n" for n in range(3000))))
        assert len(found) == 20
        (one,) = await guard.guard_program(Program("x\n" * 30000))
        assert one.message == "ruff cannot check the program: ruff finds more in it than anybody could read"
        assert await guard.guard_program(Program("1 + 1")) == []


async def test_text_that_is_none(guarded: Any) -> None:
    """Half of a surrogate pair cannot be sent to anybody; NUL is Python's to refuse."""
    async with guarded() as guard:
        (one,) = await guard.guard_program(Program("\n\nx = '\ud800'"))
        assert (one.line, one.refuse) == (3, True)
        assert await guard.guard_program(Program("x = 'a\0b'")) == []


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"select": ["F999999"]}, "F999999"),
        ({"refuse": ["nonsense"]}, "nonsense"),
        ({"ignore": ["--fix"]}, "--fix"),
        ({"python": "3.2"}, "py32"),
    ],
)
async def test_wrong_settings_stop_the_start(guarded: Any, options: Any, said: str) -> None:
    """CONTRACT: SEC-03. A rule that does not exist would guard nothing; ruff's own words say which."""
    with pytest.raises(ConfigError, match="ruff takes no such setting") as raised:
        async with guarded(**options):
            pass
    assert said in str(raised.value)


async def test_a_missing_program_stops_the_start(guarded: Any, monkeypatch: Any, tmp_path: Path) -> None:
    """A guard that is configured must guard: if ruff is not there, or is something else, nothing starts."""
    import ruff

    context = PluginContext("ruff", RuffGuard.Settings(), tmp_path)
    no_program = tmp_path / "ruff"
    no_program.write_text("no program")
    monkeypatch.setattr(ruff, "find_ruff_bin", lambda: str(no_program))
    with pytest.raises(ConfigError, match="it cannot be started"):
        await RuffGuard(context).open()
    monkeypatch.setattr(ruff, "find_ruff_bin", lambda: os.stat(tmp_path / "none"))
    with pytest.raises(ConfigError, match="is not there"):
        RuffGuard(context)


@pytest.mark.skipif(sys.platform == "win32", reason="a shell script")
async def test_a_program_that_is_not_ruff_refuses(guarded: Any, tmp_path: Path) -> None:
    """Fail closed: without an answer, a program does not run."""
    fake = tmp_path / "ruff"
    fake.write_text("#!/bin/sh\nexit 3\n")
    fake.chmod(0o700)
    async with guarded() as guard:
        guard._server._binary = str(fake)
        (one,) = await guard.guard_program(Program("1 + 1"))
        assert one.refuse
        fake.unlink()
        (one,) = await guard.guard_program(Program("1 + 1"))
        assert one.message.startswith("ruff cannot check the program: ruff cannot be started")
