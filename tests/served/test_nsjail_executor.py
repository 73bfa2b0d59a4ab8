"""Full CPython in nsjail, through the served product: what an agent can run there, what holds it, and what is left of
it."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from doorward import ExecutorError
from doorward_jail.nsjail import cgroups

from .conftest import LIMITS, SHELF
from .forked import Forked
from .product import Agent, Api, Project, Wire, alive, apart, descendants, needs_proc, until

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="nsjail needs Linux"),
    needs_proc,
    pytest.mark.anyio,
]

GROUPED = (os.geteuid() == 0 and Path("/sys/fs/cgroup/memory").is_dir()) or Path(
    "/sys/fs/cgroup/cgroup.controllers"
).is_file()
ALLOWED = '[hooks.ast]\nallow = ["subprocess", "os.fork", "socket", "urllib.request"]\n'
"""What the guard would stop before the jail could."""
needs_groups = pytest.mark.skipif(not GROUPED, reason="no control groups can be made here")


def made(folder: Path, api: Api, settings: str = "", limits: str = LIMITS) -> Project:
    project = Forked(folder, f"{limits}{SHELF.format(url=api.url)}\n[executors.nsjail]\n{settings}\n{ALLOWED}")
    project.change('executor = "monty"', 'executor = "nsjail"')
    return project


@pytest.fixture(scope="module")
async def jailed(anyio_backend: str, api: Api, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Agent]:
    """A client of a gateway whose executor is nsjail."""
    async with apart(made(tmp_path_factory.mktemp("jailed"), api, 'paths = ["/usr/bin"]').stdio()) as agent:
        yield agent


async def test_full_python(jailed: Agent) -> None:
    """What `monty` cannot run: generators, inheritance, the whole standard library, `await` of anything at the top.
    CONTRACT: EXE-01, EXE-05, EXE-20."""
    code = """\
import asyncio, csv, enum, io, sqlite3, statistics, shelf
class Colour(enum.Enum):
    RED = 1
def numbers():
    yield from (1, 2, 4)
db = sqlite3.connect("mine.db")
db.execute("create table t (x)")
await asyncio.gather(asyncio.sleep(0))
db.executemany("insert into t values (?)", [(n,) for n in numbers()])
result = [Colour.RED.name, statistics.mean(numbers()), db.execute("select sum(x) from t").fetchone()[0], shelf.get_item(id=7)["id"]]"""
    answer = await jailed.run(code)
    assert (answer.get("value"), answer.get("executor")) == (["RED", 7 / 3, 7, 7], "nsjail")


async def test_what_an_api_complains_of_is_told(jailed: Agent) -> None:
    """Which field, and why: caught or not, in what a program and its reader are told."""
    await jailed.complaint()


@pytest.mark.skipif(os.geteuid() != 0 and not GROUPED, reason="without control groups a program is one process")
async def test_a_shell(jailed: Agent) -> None:
    """Plain shell commands with pipes and files in between, as far as the operator shows their tools. CONTRACT:
    EXE-20."""
    code = """\
import subprocess
def sh(command):
    return subprocess.run(command, shell=True, capture_output=True, text=True, check=True).stdout
sh("printf 'b 2\\\\na 1\\\\nc 3\\\\n' > lines && sort lines | head -2 > sorted")
result = [sh("cut -d' ' -f2 sorted").split(), sh("pwd").strip(), sh("id -u").strip()]"""
    assert await jailed.value(code) == [["1", "2"], "/work", "1000"]


@needs_groups
@pytest.mark.parametrize("shell", [True, False])
async def test_a_shell_in_one_line(tmp_path: Path, api: Api, shell: bool) -> None:
    """`shell = true` is all that it takes for commands, pipes and bash, and an agent is told of it; without it the guard
    refuses them. CONTRACT: EXE-20."""
    project = made(tmp_path, api, "shell = true" if shell else "")
    project.change(ALLOWED, "")
    project.change('executor = "nsjail"', 'executor = ["monty", "nsjail"]')
    async with project.stdio() as agent:
        answer = await agent.run(
            "import os\nresult = os.popen(\"printf 'b 2\\na 1' | sort | awk '{print $2}'; bash -c pwd\").read().split()"
        )
        await agent.call("list_servers")
    if shell:
        assert (answer.get("value"), answer.get("executor")) == (["1", "2", "/work"], "nsjail"), answer
        assert "nsjail: Python (CPython, whole standard library), a shell" in agent.text
    else:
        assert answer["error"]["kind"] == "guard"
        assert "`shell = true`" in answer["error"]["hint"]
        assert "a shell" not in agent.text


@pytest.mark.parametrize(
    ("settings", "code", "hint"),
    [
        ('cgroup = "off"\nshell = true', "import os\nos.fork()", "leave `shell` out"),
        ('cgroup = "off"', "import os\nos.fork()", "A program may start no process here"),
        ('cgroup = "off"', "import subprocess\nsubprocess.run(['ls'])", "A program may start no process here"),
        pytest.param("", "import subprocess\nsubprocess.run(['ls'])", "`[executors.nsjail] paths`", marks=needs_groups),
        ('paths = ["/nope"]', "1", "Fix `paths` of [executors.nsjail]"),
    ],
)
async def test_what_lacks_is_said(tmp_path: Path, api: Api, settings: str, code: str, hint: str) -> None:
    """Processes, where nothing counts their memory; commands that nobody shows; a folder to be shown that is not
    there."""
    async with made(tmp_path, api, settings).stdio() as agent:
        error = (await agent.run(code))["error"]
    assert hint in error["hint"]
    assert "folder that the program starts in" not in error["hint"]
    assert "/nope" not in settings or "/nope: no such file or folder" in error["message"]


async def test_errors_have_the_agents_lines(jailed: Agent) -> None:
    """As with every executor."""
    answer = await jailed.run("import shelf\n\ndef f():\n    return {}['x']\n\nf()")
    assert (answer["error"]["type"], answer["error"]["line"]) == ("KeyError", 4)


@pytest.mark.slow
async def test_a_late_program_names_its_line(jailed: Agent) -> None:
    """As it stands in the agent's code."""
    await jailed.late()


async def test_no_network(jailed: Agent, api: Api) -> None:
    """Neither the API's own address nor any other. CONTRACT: SBX-13."""
    host, port = api.url.removeprefix("http://").split(":")
    for code in (
        f"import socket\nsocket.create_connection(({host!r}, {port}), 2)",
        "import socket\nsocket.socket(socket.AF_INET6, socket.SOCK_DGRAM)",
        f"import urllib.request\nurllib.request.urlopen({api.url!r}, timeout=2)",
        "import socket\nsocket.getaddrinfo('localhost', 80)[0] and socket.socket(socket.AF_NETLINK)",
    ):
        answer = await jailed.run(code)
        assert answer["ok"] is False, code
    families = await jailed.value(
        "import socket\nresult = []\nfor family in (socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK, socket.AF_PACKET):\n"
        "    try:\n        socket.socket(family)\n    except OSError as error:\n        result.append(error.errno)"
    )
    assert families == [errno.EAFNOSUPPORT] * 4
    received = await jailed.value("[line.split()[1] for line in open('/proc/self/net/dev').readlines()[2:]]")
    assert set(received) <= {"0"}, "no interface is the host's"


async def test_root_and_scratch(jailed: Agent) -> None:
    """The root is read-only; scratch space is the run's own, empty in the next, and nothing in it can be executed.
    CONTRACT: SBX-15."""
    for place in ("/", "/usr", "/usr/lib", "/dev", "/packages"):
        answer = await jailed.run(f"open('{place}/mine', 'w')")
        assert answer["error"]["type"] in ("OSError", "PermissionError", "FileNotFoundError"), place
    write = "import os\nfor place in ('/work', '/tmp', '/dev/shm'):\n    open(f'{place}/mine', 'w').write('x')\nresult = os.getcwd()"
    assert await jailed.value(write) == "/work"
    execute = """\
import mmap, os
found = []
for place in ("/work", "/tmp", "/dev/shm"):
    with open(f"{place}/code", "w+b") as file:
        file.truncate(4096)
        try:
            mmap.mmap(file.fileno(), 4096, prot=mmap.PROT_READ | mmap.PROT_EXEC)
            found.append(place)
        except PermissionError:
            pass
result = found"""
    assert await jailed.value(execute) == []
    assert (
        await jailed.value("import os\n[os.path.exists(f'{p}/mine') for p in ('/work', '/tmp', '/dev/shm')]")
        == [False] * 3
    )
    assert (
        await jailed.value(
            "import os\n[os.path.exists(p) for p in ('/etc/passwd', '/home', '/root/.ssh', '/var', '/run', '/sys')]"
        )
        == [False] * 6
    )


async def test_no_privileges(jailed: Agent) -> None:
    """An unprivileged user, no capability, no way to one, a seccomp filter. CONTRACT: SBX-16, SBX-17."""
    status = await jailed.value("open('/proc/self/status').read()")
    fields = dict(line.split(":\t", 1) for line in status.splitlines())
    assert {fields[name] for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")} == {"0" * 16}
    assert (fields["NoNewPrivs"], fields["Seccomp"]) == ("1", "2")
    assert "0" not in fields["Uid"].split() + fields["Gid"].split()
    for code in (
        "import os\nos.setuid(0)",
        "import os\nos.chroot('/')",
        "import os\nos.mknod('/tmp/d', 0o20600, os.makedev(1, 1))",
    ):
        assert (await jailed.run(code))["error"]["type"] == "PermissionError", code


async def test_outside_it_is_nobody(api: Api, tmp_path: Path) -> None:
    """Seen from the host, nothing in the jails of a gateway that runs as root is root. CONTRACT: SBX-17."""
    if os.geteuid():
        pytest.skip("the gateway does not run as root")
    async with made(tmp_path, api, "user = 4321").stdio() as agent:
        await agent.run("1")
        mine = asyncio.ensure_future(agent.run("import shelf, time\nshelf.mark(name='outside')\ntime.sleep(20)"))
        assert await asyncio.to_thread(api.marked, "outside")
        outer = [pid for pid, _ in descendants(os.getpid()) if fields_of(pid).get("Name") == "nsjail"]
        inside = [fields_of(pid) for jail in outer for pid, _ in descendants(jail)]
        users = {fields["Uid"].split()[0] for fields in inside if fields}
        mine.cancel()
    assert "4321" in users
    assert "0" not in users


def fields_of(pid: int) -> dict[str, str]:
    """What the kernel says of a process; nothing of one that has ended meanwhile."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return {}
    return {name: value for name, _, value in (line.partition(":\t") for line in lines)}


@pytest.mark.parametrize("session", [False, True], ids=["run", "session"])
async def test_memory(jailed: Agent, session: bool) -> None:
    """More memory than allowed ends the run, says so, and nothing else is hurt. CONTRACT: SBX-10."""
    options: dict[str, Any] = {"session_id": "new"} if session else {}
    answer = await jailed.run("x = [0]\nwhile True:\n    x = x + x", **options)
    assert answer["ok"] is False
    assert "memory" in json.dumps(answer["error"]).lower()
    assert await jailed.value("1 + 1") == 2


@needs_groups
async def test_cpu(api: Api, tmp_path: Path) -> None:
    """`cpus` is a share of a processor. CONTRACT: SBX-11."""
    code = (
        "import time\nend = time.monotonic() + 2\nwhile time.monotonic() < end:\n    pass\nresult = time.process_time()"
    )
    try:
        folder = cgroups.find("auto", cpu=True).folders["cpu"]
    except ExecutorError as error:
        pytest.skip(f"no control groups for processors: {error}")

    def shares() -> list[str]:
        """The microseconds of 100,000 that the kernel gives each sandbox of our `serve`."""
        ours = [str(pid) for pid, _ in descendants(os.getpid())]
        groups = [group for group in folder.glob("doorward-*") if group.name.split("-")[1] in ours]
        files = [group / name for group in groups for name in ("cpu.cfs_quota_us", "cpu.max")]
        return [f.read_text().split()[0] for f in files if f.exists() and (f.parent / "cgroup.procs").read_text()]

    async with made(tmp_path, api, "cpus = 0.2").stdio() as agent:
        running = asyncio.ensure_future(agent.run(code))
        assert await asyncio.to_thread(until, lambda: "20000" in shares())
        assert 0.05 < (await running)["value"] < 0.8  # less, where others want the processors, too


@pytest.mark.parametrize(("limit", "most"), [("processes = 10\n", 10), ("", 128)])
async def test_processes(api: Api, tmp_path: Path, limit: str, most: int) -> None:
    """A fork bomb stops at the limit, 128 by default, and is gone afterwards. CONTRACT: SBX-12."""
    bomb = "import os, time\nmade = 0\ntry:\n    while True:\n        if os.fork() == 0:\n            time.sleep(60)\n        made += 1\n"
    bomb += "except OSError:\n    result = made"
    async with made(tmp_path, api, limits=LIMITS + limit).stdio() as agent:
        assert most - 5 < await agent.value(bomb) < most
        assert await agent.value("import os\n[n for n in os.listdir('/proc') if n.isdigit()]") == [
            "2"
        ]  # the first is hidden


async def test_sessions_keep_files_too(jailed: Agent) -> None:
    """Variables, imports and files of a session are there in its next run, and nowhere else. CONTRACT: EXE-09."""
    opened = await jailed.run("import math\nn = 2\nopen('kept', 'w').write('x')", session_id="new")
    assert await jailed.value("[math.floor(n), open('kept').read()]", session_id=opened["session_id"]) == [2, "x"]
    assert await jailed.value("import os\nos.path.exists('kept')") is False


FIGURE = """
import matplotlib.pyplot as plot, numpy, pandas, shelf

frame = pandas.DataFrame([shelf.get_item(id=3)])
plot.plot(frame["id"])
plot.title("written with a font")
result = [int(frame.id.sum()), float(numpy.linalg.inv([[2.0]])[0][0])]
"""


async def test_packages(api: Api, tmp_path: Path) -> None:
    """`doorward sandbox build nsjail` installs what programs may import, here pandas, and what wants fonts and folders
    of its own for a figure, which is kept as an image; before it the run says so. CONTRACT: EXE-17."""
    project = made(tmp_path, api, 'packages = ["pandas", "matplotlib"]\npreload = ["pandas"]')
    (project.folder / "program.py").write_text("1")
    before = json.loads(project.run("run", "--json", "program.py").stdout)
    assert "doorward sandbox build nsjail" in before["error"]["hint"]
    built = project.run("sandbox", "build", "nsjail", timeout=300)
    if "No matching distribution" in built.stderr + built.stdout:
        pytest.skip("a package registry is absent: none can be reached")
    assert built.returncode == 0, built.stderr
    async with project.stdio() as agent:
        assert await agent.value("import sys\n'pandas' in sys.modules") is True
        answer = await agent.run(FIGURE)
        assert answer["ok"], answer
        assert answer["value"] == [3, 0.5]
        assert [artefact["type"] for artefact in answer["artefacts"]] == ["image/png"]


@pytest.mark.slow
async def test_packages_by_one_command(api: Api, tmp_path: Path) -> None:
    """The error that misses a package, in Monty or in nsjail, names the command that adds it, by its name there, and the
    operator's one command makes it importable, also one that the guard knows for its use of a network; a list that
    cannot be installed leaves the configuration as it was. CONTRACT: EXE-17."""
    project = made(tmp_path, api)
    project.change(ALLOWED, "")
    project.change('executor = "nsjail"', 'executor = "monty"')
    (project.folder / "program.py").write_text("import sklearn")

    def error(*command: str) -> Any:
        return json.loads(project.run("run", "--json", *command).stdout)["error"]

    assert "`doorward sandbox add nsjail scikit-learn`" in error("program.py")["hint"]
    (project.folder / "program.py").write_text("import httpx")
    assert "`doorward sandbox add EXECUTOR httpx`" in error("program.py")["hint"]
    added = project.run("sandbox", "add", "nsjail", "orjson", "httpx", timeout=300)
    if "No matching distribution" in added.stderr + added.stdout:
        pytest.skip("a package registry is absent: none can be reached")
    assert added.returncode == 0, added.stderr
    before = project.file.read_text()
    assert 'packages = ["orjson", "httpx"]' in before
    assert project.run("sandbox", "add", "nsjail", "no/such/package", timeout=300).returncode == 1
    assert project.file.read_text() == before
    async with project.stdio() as agent:
        assert await agent.value("import httpx, orjson\norjson.loads(b'[1]') + [httpx.URL('http://a/b').path]") == [
            1,
            "/b",
        ]
        await agent.call("list_servers")
        assert "packages: orjson, httpx" in agent.text
        missing = (await agent.run("import pandas"))["error"]["hint"]
        assert "`doorward sandbox add nsjail pandas`" in missing


@pytest.mark.parametrize(
    "code", ["while True:\n    pass", "import time\ntime.sleep(100)"], ids=["computing", "sleeping"]
)
async def test_a_killed_gateway(api: Api, tmp_path: Path, code: str) -> None:
    """kill -9 of the gateway in the middle of a run ends every jail. CONTRACT: SBX-24."""
    project = made(tmp_path, api)
    wire = Wire(project).connect()
    name = f"killed-{len(code)}"
    wire.start(f"import shelf\nshelf.mark(name={name!r})\n{code}")
    assert api.marked(name)
    gateway = Forked.pid(wire.process.pid)
    jails = descendants(gateway)
    assert len(jails) >= 3
    os.kill(gateway, signal.SIGKILL)
    wire.process.wait()
    assert until(lambda: not any(alive(one) for one in jails))
