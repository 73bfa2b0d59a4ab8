"""The engine: found or not, in order or not, and the images that it is given."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import os
import shutil
import socket
import subprocess
import tarfile
import tempfile
import threading
import zipfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from doorward import ExecutorError
from doorward_sandbox_docker import DockerExecutor, DockerSettings
from doorward_testing import reserve_port

pytestmark = [pytest.mark.slow, pytest.mark.anyio]


async def refused(executing: Any, settings: dict[str, Any]) -> ExecutorError:
    """Why no program runs with these settings."""
    async with executing(settings) as run:
        with pytest.raises(ExecutorError) as error:
            await run("1")
    return error.value


# What can be wrong


async def test_no_engine(executing: Any, tmp_path: Path) -> None:
    """What is missing is said at the first run, not before, with what to do."""
    error = await refused(executing, {"host": f"unix://{tmp_path}/none.sock"})
    assert "cannot be reached: No such file or directory" in error.message
    assert "DOCKER_HOST" in (error.hint or "")


async def test_no_engine_anywhere(executing: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no socket answers, it says what to install."""
    import doorward_containers.engine as module

    for name in ("DOCKER_HOST", "DOCKER_CONTEXT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(module, "sockets", lambda: iter([str(tmp_path / "a"), str(tmp_path / "b")]))
    error = await refused(executing, {})
    assert error.message == "no container engine answers on this machine"
    assert "Install and start Docker or Podman" in (error.hint or "")


@pytest.fixture
def short() -> Iterator[Path]:
    """A folder for sockets, whose paths must be short."""
    with tempfile.TemporaryDirectory(prefix="dw", dir="/tmp") as name:
        yield Path(name)


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="users are POSIX's")
@pytest.mark.parametrize("how", ["its folder", "a link to it", "a folder for all"])
async def test_no_engine_of_another_user(
    executing: Any, short: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """Whoever makes a folder in /tmp, where some engines listen, would get all programs and make calls for them."""
    import doorward_containers.engine as module

    for name in ("DOCKER_HOST", "DOCKER_CONTEXT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(short))
    folder, real = short / "podman", short / "real"
    real.mkdir()
    if how == "a link to it":
        folder.symlink_to(real)
    else:
        folder.mkdir(mode=0o755)
    if how == "a folder for all":
        folder.chmod(0o777)
    elif os.getuid() == 0:
        os.chown(folder, 65534, -1, follow_symlinks=False)
    else:
        mine = os.getuid()
        monkeypatch.setattr(os, "getuid", lambda: mine + 1)
    at = folder / "engine.sock"
    monkeypatch.setattr(module, "sockets", lambda: iter([str(at)]))
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(at))
        listening.listen()
        listening.settimeout(0)
        error = await refused(executing, {})
        with pytest.raises(BlockingIOError):
            listening.accept()
    assert f"the folder of {at} is another user's" in error.message


async def test_the_engine_is_found(engine: Any, executing: Any, short: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By DOCKER_HOST, by the Docker context in use, and by the sockets at which engines listen, in this order."""
    from doorward_containers import EngineAddress, place, sockets

    monkeypatch.setenv("HOME", str(short))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(short / "run"))
    monkeypatch.delenv("DOCKER_CONTEXT", raising=False)
    monkeypatch.setenv("DOCKER_HOST", engine.host)
    async with executing(engine.settings(pool=0) | {"host": ""}) as run:
        assert (await run("1 + 1"))[0].value == 2

    monkeypatch.delenv("DOCKER_HOST")
    (short / "run/podman").mkdir(parents=True)
    theirs = str(short / "run/podman/podman.sock")
    assert theirs in list(sockets())
    if not any(answers(path) for path in sockets()):
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(theirs)
            listening.listen()
            assert place(EngineAddress())["base_url"] == f"unix://{theirs}"

    import hashlib

    about = {"Name": "mine", "Metadata": {}, "Endpoints": {"docker": {"Host": engine.host, "SkipTLSVerify": False}}}
    folder = short / ".docker/contexts/meta" / hashlib.sha256(b"mine").hexdigest()
    folder.mkdir(parents=True)
    (folder / "meta.json").write_text(json.dumps(about))
    (short / ".docker/config.json").write_text('{"currentContext": "mine"}')
    assert place(EngineAddress())["base_url"].endswith(engine.at)


def answers(path: str) -> bool:
    with socket.socket(socket.AF_UNIX) as tried:
        return tried.connect_ex(path) == 0


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="root can become somebody who may not")
def test_a_socket_that_may_not_be_used(short: Path) -> None:
    """It says so, and how that is allowed."""
    from doorward_containers import Engine, EngineAddress

    at = short / "docker.sock"
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(at))
        listening.listen()
        at.chmod(0o600)
        short.chmod(0o755)
        reads, writes = os.pipe()
        engine = Engine(EngineAddress(f"unix://{at}"))
        with contextlib.suppress(ExecutorError):
            Engine(EngineAddress("unix:///none")).wait(lambda client: None)  # what it imports, it imports as root
        if (pid := os.fork()) == 0:
            os.setresuid(65534, 65534, 65534)
            try:
                engine.wait(lambda client: None)
            except ExecutorError as error:
                os.write(writes, f"{error.message}\n{error.hint}".encode())
            os._exit(0)
        os.waitpid(pid, 0)
        os.close(writes)
        said = os.read(reads, 4096).decode()
    assert said.startswith(f"this user may not use the container engine at unix://{at}")
    assert "group" in said


@contextlib.contextmanager
def silent(at: Path) -> Iterator[None]:
    """An engine that takes every request and answers none."""
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(at))
        listening.listen(50)
        taken: list[socket.socket] = []

        def take() -> None:
            with contextlib.suppress(OSError):
                while True:
                    taken.append(listening.accept()[0])

        threading.Thread(target=take, daemon=True).start()
        yield
        listening.shutdown(socket.SHUT_RDWR)
        for one in taken:
            one.close()


async def test_a_slow_engine_blocks_nobody(executing: Any, short: Path) -> None:
    """An engine that does not answer is told after `timeout`; until then everything else goes on."""
    with silent(short / "s"):
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while True:
                ticks += 1
                await asyncio.sleep(0.01)

        ticking = asyncio.ensure_future(tick())
        error = await refused(executing, {"host": f"unix://{short}/s", "timeout": 1})
        ticking.cancel()
        assert "did not answer within 1 s" in error.message
        assert ticks > 5


async def test_no_image(engine: Any, executing: Any) -> None:
    """It names the image, and the command that makes it."""
    error = await refused(executing, engine.settings(image="doorward-none"))
    assert error.message == "the container engine has no image 'doorward-none'"
    assert error.hint == "Run `doorward sandbox build docker`."


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"runtime": "runsc-none"}, "does not know the runtime 'runsc-none'"),
        ({"network": "nowhere"}, "has no network 'nowhere'"),
        ({"python": "python9"}, "has no 'python9'"),
    ],
)
async def test_what_the_engine_does_not_have(engine: Any, executing: Any, wrong: dict[str, str], said: str) -> None:
    """Each is told by its name, and no container is left."""
    error = await refused(executing, engine.settings(pool=0, **wrong))
    assert said in error.message
    assert error.hint
    assert await asyncio.to_thread(engine.empty, 2)


@pytest.mark.usefixtures("busybox")
async def test_a_container_that_ends_at_once(engine: Any, executing: Any) -> None:
    """What it wrote to stderr is quoted."""
    error = await refused(executing, engine.settings(pool=0, python="/bin/cat"))
    assert "ended at once" in error.message
    assert "cat: " in (error.hint or "")
    assert await asyncio.to_thread(engine.empty, 2)


def test_nobody_is_root() -> None:
    """The user of a container cannot be root."""
    for user in ("0", "0:0", "root", "00"):
        with pytest.raises(ValueError, match="user"):
            DockerSettings(user=user)


# An engine that goes and comes


@pytest.fixture(scope="module")
def stoppable(docker_engine: Any) -> Iterator[Any]:
    """An engine that nobody else uses, with the plain image in it."""
    with docker_engine.running(own=True) as engine:
        engine.build()
        yield engine


async def test_the_engine_restarts(stoppable: Any, executing: Any) -> None:
    """Runs fail while it is away, saying why; the next one after its return works without a restart of ours."""
    async with executing(stoppable.settings(pool=1)) as run:
        assert (await run("1 + 1"))[0].value == 2
        await asyncio.to_thread(stoppable.stop)
        with pytest.raises(ExecutorError, match="cannot be reached"):
            await run("1 + 1")
        await asyncio.to_thread(stoppable.start)
        assert (await run("1 + 2"))[0].value == 3
        assert (await run("1 + 3"))[0].value == 4
    assert await asyncio.to_thread(stoppable.empty, 2)


# Networks


async def test_a_named_network(engine: Any, executing: Any) -> None:
    """A container joins the network that the settings name, and says so; without one it reaches nobody."""
    status, content = engine.ask("POST", "/networks/create", {"Name": "doorward-test", "CheckDuplicate": True})
    assert status == 201, content
    try:
        gateway = engine.json("/networks/doorward-test")["IPAM"]["Config"][0]["Gateway"]
        with socket.create_server((gateway, 0)) as listening:
            code = f"import socket\nsocket.create_connection(({gateway!r}, {listening.getsockname()[1]}), 3).close()\nresult = 'reached'"
            async with executing(engine.settings(pool=0, network="doorward-test")) as run:
                assert run.executor.capabilities().network
                ended, _ = await run(code)
                assert ended.value == "reached", ended.error
                assert engine.containers()[0]["HostConfig"]["NetworkMode"] == "doorward-test"
            async with executing(engine.settings(pool=0)) as run:
                assert not run.executor.capabilities().network
                assert (await run(code))[0].error is not None
    finally:
        engine.empty(2)
        engine.ask("DELETE", "/networks/doorward-test")


NEW_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")


@pytest.fixture
def certificates(tmp_path: Path, docker_engine: Any) -> Path:
    """An authority, and what it signed for the engine at 127.0.0.1 and for its client."""
    openssl = shutil.which("openssl") or docker_engine.absent("openssl", "install openssl")

    def made(*words: str) -> None:
        subprocess.run([openssl, *words], cwd=tmp_path, check=True, capture_output=True)

    made(
        "req",
        "-x509",
        *NEW_KEY,
        "-keyout",
        "ca-key.pem",
        "-out",
        "ca.pem",
        "-days",
        "2",
        "-subj",
        "/CN=ca",
    )
    for name, extra in (("server", "subjectAltName=IP:127.0.0.1"), ("", "extendedKeyUsage=clientAuth")):
        key, cert = (f"{name}-key.pem", f"{name}-cert.pem") if name else ("key.pem", "cert.pem")
        made("req", *NEW_KEY, "-keyout", key, "-out", "csr", "-subj", f"/CN={name or 'client'}")
        (tmp_path / "ext").write_text(extra)
        words = [
            "-in",
            "csr",
            "-CA",
            "ca.pem",
            "-CAkey",
            "ca-key.pem",
            "-CAcreateserial",
            "-days",
            "2",
            "-extfile",
            "ext",
            "-out",
            cert,
        ]
        made("x509", "-req", *words)
    return tmp_path


async def test_an_engine_behind_tls(
    stoppable: Any, executing: Any, certificates: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over TCP with certificates of both sides; what passes is whole, in both directions at once."""
    address = f"tcp://127.0.0.1:{reserve_port()}"
    files = {"cacert": "ca.pem", "cert": "server-cert.pem", "key": "server-key.pem"}
    tls = [f"--tls{name}={certificates / file}" for name, file in files.items()]
    await asyncio.to_thread(stoppable.stop)
    await asyncio.to_thread(stoppable.start, "--tlsverify", *tls, "--host", address)
    monkeypatch.setenv("DOCKER_CERT_PATH", str(certificates))
    monkeypatch.setenv("DOCKER_TLS_VERIFY", "1")
    async with executing(stoppable.settings(pool=0) | {"host": address}) as run:
        text = "äö" * 500_000
        code = "import asyncio, calc\nvalues = await asyncio.gather(*[calc.add(i) for i in range(200)])\nresult = [sum(values), text]"
        ended, _ = await run(f"text = ''\n{code}", params={"text": text})
        assert ended.error is None, ended.error
        assert ended.value == [sum(range(200)), text]
    assert await asyncio.to_thread(stoppable.empty, 2)


# Images


@contextlib.asynccontextmanager
async def executor(host: Any, settings: dict[str, Any]) -> AsyncIterator[DockerExecutor]:
    made = DockerExecutor(host.context(DockerSettings, settings))
    yield made
    await made.close()


@pytest.fixture
def wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A package that pip finds on this machine, and nowhere else."""
    name = "dw_test_package"
    with zipfile.ZipFile(tmp_path / f"{name}-1.0-py3-none-any.whl", "w") as file:
        file.writestr(f"{name}/__init__.py", "answer = 42\n")
        file.writestr(f"{name}-1.0.dist-info/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        file.writestr(
            f"{name}-1.0.dist-info/WHEEL",
            "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        )
        file.writestr(f"{name}-1.0.dist-info/RECORD", "")
    for key, value in {
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(tmp_path),
        "UV_NO_INDEX": "1",
        "UV_FIND_LINKS": str(tmp_path),
    }.items():
        monkeypatch.setenv(key, value)
    return name


async def test_an_image_with_packages(engine: Any, executing: Any, host: Any, wheel: str) -> None:
    """Built from an archive, with packages from this machine's pip; programs import them, and `check` says what is
    used. CONTRACT: DEP-01."""
    settings = engine.settings([wheel], image="doorward-test-packages", pool=0)
    said: list[str] = []
    async with executor(host, settings) as building:
        assert any("no image 'doorward-test-packages'" in sentence for sentence in await building.check())
        sentence = await building.build(said.append)
        assert wheel in sentence
        assert said
        checked = "\n".join(await building.check())
        assert "image 'doorward-test-packages', 0 days old" in checked
        assert "other settings" not in checked
        assert engine.json("/version")["Version"] in checked
        assert building.capabilities().packages == (wheel,)
    async with executor(host, settings | {"packages": []}) as other:
        assert any("other settings" in sentence for sentence in await other.check())
    async with executing(settings | {"preload": [wheel]}) as run:
        code = f"import {wheel}\nresult = [{wheel}.answer, {wheel}.__cached__]"
        value = (await run(code))[0].value
        assert value[0] == 42
    assert engine.json("/images/doorward-test-packages/json")["Config"]["User"] == "65534:65534"
    await asyncio.to_thread(engine.empty, 2)
    engine.ask("DELETE", "/images/doorward-test-packages?force=1")


async def test_other_settings_are_another_image(engine: Any, executing: Any) -> None:
    """No project runs in the image of another: other packages have their own; one named by hand is refused when it is
    of others."""
    error = await refused(executing, engine.settings(["dw_other"], pool=0))
    assert error.message == f"the container engine has no image {engine.image(['dw_other'])!r}"
    assert error.hint == "Run `doorward sandbox build docker`."
    assert engine.image(["dw_other"]) != engine.image()
    error = await refused(executing, engine.settings(["dw_other"], image=engine.image(), pool=0))
    assert "was made with other settings" in error.message
    assert "doorward sandbox build docker" in (error.hint or "")


async def test_packages_that_are_not_there(engine: Any, host: Any, wheel: str) -> None:
    """pip's own words, and no container is left of the try."""
    before = len(engine.json("/containers/json?all=1"))
    async with executor(host, engine.settings(["dw_no_such_package"], image="doorward-test-none")) as building:
        with pytest.raises(ExecutorError, match=r"dw.no.such.package"):
            await building.build(lambda text: None)
    assert len(engine.json("/containers/json?all=1")) == before


@pytest.mark.usefixtures("busybox")
async def test_an_image_from_the_dockerfile(engine: Any, executing: Any, host: Any) -> None:
    """FROM a base image that the engine has; one that it has not is said, with what it said."""
    settings = engine.settings(image="doorward-test-file", base=engine.image(), pool=0)
    del settings["rootfs"]
    async with executor(host, settings) as building:
        assert f"from {engine.image()}" in await building.build(lambda text: None)
    async with executing(settings) as run:
        assert (await run("1 + 1"))[0].value == 2
    await asyncio.to_thread(engine.empty, 2)
    engine.ask("DELETE", "/images/doorward-test-file?force=1")
    async with executor(host, settings | {"base": "localhost:1/none/none:1"}) as building:
        with pytest.raises(ExecutorError, match="localhost:1/none/none:1") as error:
            await building.build(lambda text: None)
        assert "rootfs" in (error.value.hint or "")


async def test_a_python_that_is_too_old(engine: Any, host: Any, tmp_path: Path, busybox: str) -> None:
    """Refused when the image is made."""
    archive = tmp_path / "old.tar"
    says = b'#!/bin/sh\necho \'{"version": [3, 8], "place": "/x", "machine": "x86_64", "libc": ["glibc", "2.36"]}\'\n'
    with tarfile.open(archive, "w") as tar:
        for name, content in (("bin/sh", Path(busybox).read_bytes()), ("bin/python3", says)):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(content), 0o755
            tar.addfile(entry, io.BytesIO(content))
    async with executor(host, engine.settings(rootfs=str(archive), image="doorward-test-old")) as building:
        with pytest.raises(ExecutorError, match=r"the Python of .* is 3\.8"):
            await building.build(lambda text: None)
    async with executor(host, engine.settings(rootfs=str(tmp_path / "none.tar"))) as building:
        with pytest.raises(ExecutorError, match="there is no archive"):
            await building.build(lambda text: None)


# Podman


@pytest.fixture(scope="module")
def podman(docker_engine: Any) -> Iterator[Any]:
    with docker_engine.podman() as engine:
        yield engine


async def test_podman(podman: Any, executing: Any) -> None:
    """The same on Podman: a hardened container, limits, warm runs, and nothing left."""
    async with executing(podman.settings(pool=1)) as run:
        for _ in range(3):
            assert (await run("1 + 1"))[0].value == 2
        container = podman.containers()[0]
        assert container["HostConfig"]["ReadonlyRootfs"] is True
        assert container["HostConfig"]["NetworkMode"] == "none"
        assert container["Config"]["User"] == "65534:65534"
        sentences = "\n".join(await run.executor.check())
        assert "Podman" in sentences
        assert "other settings" not in sentences
    assert await asyncio.to_thread(podman.empty, 3)


EVERYWHERE = """
import os
left = []
for folder, names, files in os.walk("/"):
    if folder in ("/proc", "/sys"):
        names.clear()
    elif "left" in files:
        left.append(folder)
    else:
        try:
            open(os.path.join(folder, "left"), "x").close()
        except OSError:
            pass
result = left
"""


@pytest.mark.slow
async def test_podman_uses_the_runtime_that_is_asked_for(podman: Any, executing: Any) -> None:
    """It has one for all containers, and says nothing where another is asked for: then there is none."""
    error = await refused(executing, podman.settings(pool=0, runtime="runsc"))
    assert error.message.startswith("the container engine would not use the runtime 'runsc', but ")
    assert error.hint == "Start Podman with it: podman --runtime runsc system service."
    assert await asyncio.to_thread(podman.empty, 3)
    async with executing(podman.settings(pool=0, runtime="runc")) as run:
        assert (await run("1 + 1"))[0].value == 2


async def test_podman_shares_no_folder_among_runs(podman: Any, executing: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Podman mounts writable folders of its own into a read-only container: no run finds there what another left, and
    the probe of a second run looks for it. Where a container serves one run, they are too small to matter."""
    from doorward import Limits
    from doorward_jail.probes.probe import probe
    from doorward_jail.probes.trials import TRIALS

    for other in TRIALS.keys() - {"open files", "earlier programs"}:
        monkeypatch.delitem(TRIALS, other)
    async with executing(podman.settings(pool=1)) as run:
        for _ in range(3):
            ended, _ = await run(EVERYWHERE)
            assert (ended.error, ended.value) == (None, [])
        mounted = podman.containers()[0]["HostConfig"]["Tmpfs"]
        assert {"noexec", "size=64k"} <= {*mounted["/var/tmp"].split(",")} & {*mounted["/run"].split(",")}
        results = {each.probe: each for each in await probe(run.executor, Limits())}
        assert results["earlier programs"].held, results["earlier programs"].says


def test_counts_of_a_group_below(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On cgroup v2 Podman has a container's processes in a group below the one with the limits; both are read, and
    nobody else's."""
    from doorward_sandbox_docker import account

    monkeypatch.setattr(account, "_CGROUPS", tmp_path / "sys")
    id = "c0ffee" * 10
    limited = tmp_path / f"sys/machine.slice/libpod-{id}.scope"
    for folder in (limited, limited / "container", limited.parent):
        folder.mkdir(parents=True, exist_ok=True)
        for file in ("memory.events", "pids.events"):
            (folder / file).write_text("max 0\noom_kill 0\n")
    (tmp_path / "process").mkdir()
    (tmp_path / "process/cgroup").write_text(f"0::/machine.slice/libpod-{id}.scope/container\n")
    found = {file for _, file in account._here(f"..{tmp_path}/process", id)}  # type: ignore[arg-type]
    assert found == {
        folder / file for folder in (limited, limited / "container") for file in ("memory.events", "pids.events")
    }
    assert not [*account._here(f"..{tmp_path}/process", "another")]  # type: ignore[arg-type]


def test_the_profile_is_a_file_of_ours(tmp_path: Path) -> None:
    """Podman reads it: a link that somebody put in its place is replaced and not followed, and nobody else can write
    it."""
    from doorward_sandbox_docker import _written

    theirs = tmp_path / "theirs"
    theirs.write_text("mine")
    (tmp_path / "profile.json").symlink_to(theirs)
    file = _written(tmp_path / "profile.json", "{}")
    assert (file.read_text(), theirs.read_text()) == ("{}", "mine")
    assert not file.is_symlink()
    assert file.stat().st_mode & 0o777 == 0o600


def commit(engine: Any, name: str, change: str) -> None:
    """Give a name to an image that is another one by a line of a Dockerfile."""
    container = json.loads(engine.ask("POST", "/containers/create", {"Image": engine.image()})[1])["Id"]
    committed = f"/commit?container={container}&repo={name}&changes={quote(change)}"
    assert engine.ask("POST", committed, {})[0] == 201
    engine.ask("DELETE", f"/containers/{container}?force=1")


@pytest.mark.slow
async def test_an_image_with_volumes_shares_no_folder_among_runs(engine: Any, executing: Any) -> None:
    """Folders that an image declares as volumes are no places on the engine's disk."""
    commit(engine, "doorward-test-volumes", "VOLUME /var/tmp")
    async with executing(engine.settings(image="doorward-test-volumes", pool=1)) as run:
        for _ in range(3):
            ended, _ = await run(EVERYWHERE)
            assert (ended.error, ended.value) == (None, [])
        while not (found := await asyncio.to_thread(engine.containers)):
            await asyncio.sleep(0.1)
        for container in found:  # one that is kept ahead, and perhaps one that still ends
            assert container["Mounts"] == []
            assert "size=64k" in container["HostConfig"]["Tmpfs"]["/var/tmp"]


@pytest.mark.slow
async def test_a_name_that_is_given_to_another_image(engine: Any, executing: Any) -> None:
    """What runs is the image that was checked, until the next start."""
    commit(engine, "doorward-test-name", "LABEL is=checked")
    async with executing(engine.settings(image="doorward-test-name", pool=0)) as run:
        assert (await run("1 + 1"))[0].value == 2
        commit(engine, "doorward-test-name", "VOLUME /somewhere")
        asked = asyncio.ensure_future(run("import time\ntime.sleep(60)"))
        while not (found := await asyncio.to_thread(engine.containers)):
            await asyncio.sleep(0.1)
        asked.cancel()
        await asyncio.gather(asked, return_exceptions=True)
    assert [container["Config"]["Labels"]["is"] for container in found] == ["checked"]
