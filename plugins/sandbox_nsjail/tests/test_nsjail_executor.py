"""The executor against the protocol, and what a program finds in its jail. Runs as whoever runs the tests, and as an
ordinary user too."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any, ClassVar

import pytest
from doorward_sandbox_nsjail import NsjailExecutor, NsjailSettings
from doorward_testing import FullPythonConformance, SharedExecutor, check_driver, check_light_import

pytestmark = pytest.mark.slow

HOST = """
import os, socket
found = {}
def tried(name, act):
    try:
        found[name] = act()
    except OSError as error:
        found[name] = type(error).__name__
"""


class TestNsjail(SharedExecutor, FullPythonConformance):
    """nsjail keeps what the protocol promises."""

    settings: ClassVar[dict[str, Any]] = {}
    environ = SharedExecutor.environ | {"API_TOKEN": "hidden"}

    def started(self, host: Any, request: pytest.FixtureRequest) -> Any:
        return NsjailExecutor(host.context(NsjailSettings, self.settings))

    @pytest.mark.anyio
    async def test_words(self, host: Any) -> None:
        """The words of a program are in `sys.argv`, of this run alone."""
        code = "import sys\nsys.argv"
        assert await self.value_of(host, code, argv=("--url", "a")) == ["program.py", "--url", "a"]
        assert await self.value_of(host, code) == ["program.py"]

    @pytest.mark.anyio
    async def test_what_is_in_the_root(self, host: Any) -> None:
        """Libraries, one Python, devices without effect, and scratch space. CONTRACT: SBX-15."""
        prefix = {Path(sys.base_prefix).parts[1]}
        top = set(await self.value_of(host, "import os\nos.listdir('/')"))
        assert top - prefix <= {"lib", "lib32", "lib64", "libx32", "usr", "dev", "proc", "tmp", "work"}
        assert set(await self.value_of(host, "import os\nos.listdir('/dev')")) == {
            "null",
            "zero",
            "random",
            "urandom",
            "shm",
        }
        assert not {"bin", "sbin", "local"} & set(
            await self.value_of(host, "import os\nos.listdir('/usr')")
        ) or sys.base_prefix.startswith("/usr")

    @pytest.mark.anyio
    async def test_what_is_not_in_the_root(self, host: Any) -> None:
        """Nothing of the host's own."""
        places = ["/etc", "/home", "/var", "/run", "/sys", "/root/.ssh", "/proc/1/root/etc", "/proc/sys", "/boot"]
        code = "import os\nplaces = []\n[place for place in places if os.path.exists(place)]"
        assert await self.value_of(host, code, params={"places": places}) == []

    @pytest.mark.anyio
    async def test_mounts(self, host: Any) -> None:
        """Everything is nosuid; what is writable is the run's own, nodev and noexec; what is the host's is read-only.
        CONTRACT: SBX-15."""
        own, devices = {"/proc", "/tmp", "/work", "/dev/shm"}, {"/dev/null", "/dev/zero", "/dev/random", "/dev/urandom"}
        places = sorted({"/", *own, *devices, "/usr/lib", os.path.join(sys.base_prefix, "lib")})
        code = "import os\nplaces = []\n[os.statvfs(place).f_flag for place in places]"
        nodev, noexec = 4, 8
        for place, flags in zip(places, await self.value_of(host, code, params={"places": places}), strict=True):
            assert flags & os.ST_NOSUID, place
            assert flags & nodev or place in devices, place
            assert flags & noexec or place not in own, place
            assert flags & os.ST_RDONLY or place in own | devices, place

    @pytest.mark.anyio
    async def test_mounts_are_not_listed(self, host: Any) -> None:
        """Where they come from is where things are on the host: the state folder, a home."""
        code = "[open(f'/proc/{name}').read() for name in ('self/mountinfo', 'self/mounts', 'self/mountstats', 'thread-self/mountinfo')]"
        assert set(await self.value_of(host, code)) == {""}

    @pytest.mark.anyio
    async def test_nothing_can_be_written_outside_of_scratch(self, host: Any) -> None:
        """Not even by its owner, nor by mounting anew. CONTRACT: SBX-15."""
        code = f"""{HOST}
for place in ("/", "/usr/lib", "/dev", {str(Path(sys.base_prefix, "lib"))!r}):
    tried(place, lambda: open(os.path.join(place, "mine"), "w"))
import ctypes
found["remount"] = ctypes.CDLL(None).mount(None, b"/", None, 32, None)
open("/work/mine", "w").close(), open("/tmp/mine", "w").close(), open("/dev/shm/mine", "w").close()
result = found"""
        found = await self.value_of(host, code)
        assert found.pop("remount") == -1
        assert set(found.values()) <= {"OSError", "PermissionError"}

    @pytest.mark.anyio
    async def test_environment(self, host: Any) -> None:
        """None of the gateway's. CONTRACT: SBX-16."""
        assert os.environ["API_TOKEN"] == "hidden"
        got = await self.value_of(host, "import os\n[dict(os.environ), open('/proc/self/environ').read()]")
        assert "hidden" not in str(got)
        assert not set(got[0]) & (set(os.environ) - {"HOME", "PATH", "LANG", "TMPDIR", "LD_LIBRARY_PATH", "TZ", "PWD"})

    @pytest.mark.anyio
    async def test_no_network(self, host: Any) -> None:
        """No Internet sockets can be made, and there is no interface that is up. CONTRACT: SBX-13."""
        code = f"""{HOST}
for family in ("AF_INET", "AF_INET6", "AF_NETLINK", "AF_PACKET", "AF_VSOCK"):
    tried(family, lambda: str(socket.socket(getattr(socket, family), socket.SOCK_STREAM)))
tried("abstract", lambda: socket.socket(socket.AF_UNIX).connect("\\0doorward-test"))
tried("interfaces", lambda: sorted(name for _, name in socket.if_nameindex()))
result = found"""
        import socket

        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind("\0doorward-test")
            listener.listen()
            found = await self.value_of(host, code)
        assert set(found.values()) <= {"OSError", "PermissionError", "ConnectionRefusedError"}, found

    @pytest.mark.anyio
    async def test_nobody(self, host: Any) -> None:
        """An unprivileged user without capabilities or the way to any, under a seccomp filter. CONTRACT: SBX-16,
        SBX-17."""
        ids, status = await self.value_of(
            host, "import os\n[[*os.getresuid(), *os.getresgid(), *os.getgroups()], open('/proc/self/status').read()]"
        )
        assert 0 not in ids
        fields = dict(line.split(":\t", 1) for line in status.splitlines())
        assert {fields[name] for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")} == {"0" * 16}
        assert (fields["NoNewPrivs"], fields["Seccomp"]) == ("1", "2")

    @pytest.mark.anyio
    async def test_it_is_alone(self, host: Any) -> None:
        """A program sees its own processes and no others. CONTRACT: SBX-16."""
        pids = await self.value_of(host, "import os\n[int(n) for n in os.listdir('/proc') if n.isdigit()]")
        assert pids == [2]


class TestWithoutGroups(TestNsjail):
    """The same where no control groups can be had."""

    settings: ClassVar[dict[str, Any]] = {"cgroup": "off"}


@pytest.mark.anyio
async def test_shell_tools(host: Any) -> None:
    """`paths` can be read and executed, and not written. CONTRACT: EXE-20."""
    code = """
import os, subprocess
shell = subprocess.run("echo a b | wc -w; exit 3", shell=True, capture_output=True, text=True)
[shell.stdout.strip(), shell.returncode, os.access("/usr/bin/env", os.W_OK)]"""

    class Trial(FullPythonConformance):
        def executor(self, host: Any) -> NsjailExecutor:
            return NsjailExecutor(host.context(NsjailSettings, {"paths": ["/usr/bin"]}))

    trial = Trial()
    if os.geteuid():
        with pytest.raises(AssertionError, match=r"BlockingIOError|PermissionError"):  # one process only
            await trial.value_of(host, code)
    else:
        assert await trial.value_of(host, code) == ["2", 3, False]


def test_it_is_a_driver() -> None:
    """Installed under its name, and light to import."""
    assert check_driver("executor", "nsjail") is NsjailExecutor
    check_light_import("doorward_sandbox_nsjail")


@pytest.mark.slow
def test_all_of_this_as_an_ordinary_user(user: Any) -> None:
    """Root is not needed for anything here. CONTRACT: SBX-18."""
    if os.geteuid():
        pytest.skip("it is an ordinary user who runs the tests")
    process = user.start(
        "-m", "pytest", "-q", "-p", "no:cacheprovider", "--no-header", __file__, "-k", "TestNsjail or shell"
    )
    out, err = process.communicate()
    assert process.returncode == 0, out + err
