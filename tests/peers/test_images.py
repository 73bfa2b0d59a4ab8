"""The images: a server that may nothing, the sandbox; and compose."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

import httpx2
import pytest
from doorward_testing import reserve_port
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client
from served.product import Agent, Project
from uv import find_uv_bin

from .containers import LOCKED, Docker, docker
from .peer import CACHE, ROOT, program
from .wheelhouse import OTHERS, others, ours

pytestmark = [pytest.mark.anyio, pytest.mark.slow, pytest.mark.timeout(900)]

URL = "https://mcp.example.com/mcp"
TOKEN = "doorward_" + "t0ken-0f-alice-" * 3
TOKENS = json.dumps([{"id": "a1", "hash": f"sha256:{sha256(TOKEN.encode()).hexdigest()}"}])
GIVEN = ("--env", f"DOORWARD_HTTP__URL={URL}", "--env", f"DOORWARD_PRINCIPALS__ALICE__TOKENS={TOKENS}")
FILE = "/var/lib/doorward/doorward.toml"
PYTHON = "/opt/doorward/bin/python"


@pytest.fixture(scope="module")
def engine(docker_engine: Any) -> Iterator[Docker]:
    with docker(docker_engine) as found:
        yield found


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return ours(tmp_path_factory.mktemp("wheels"))


def built(engine: Docker, version: str, wheels: Path, folder: Path) -> str:
    """The server image for a Python, of the wheels of this checkout."""
    base = engine.python(version)
    shutil.copytree(wheels, others(version, folder), dirs_exist_ok=True)
    shutil.copy(ROOT / "requirements-dev.txt", folder / "constraints.txt")
    arguments = ("--build-arg", f"BASE={base}", "--build-arg", "PIP_NO_INDEX=1")
    return engine.build(f"doorward:{version}", folder, "--file", str(ROOT / "deploy/Dockerfile"), *arguments)


@pytest.fixture(scope="module")
def image(engine: Docker, wheels: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    return built(engine, "3.13", wheels, tmp_path_factory.mktemp("server"))


@asynccontextmanager
async def client(port: int, token: str = TOKEN) -> AsyncIterator[Agent]:
    """The SDK's client, from outside of the container."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=60) as http,
        Client(streamable_http_client(f"http://127.0.0.1:{port}/mcp", http_client=http)) as connected,
    ):
        yield Agent(connected)


def inside(engine: Docker, container: str, code: str) -> str:
    """What a Python in a container prints, as who serves there."""
    return engine("exec", container, PYTHON, "-I", "-c", code)


async def test_the_server_from_its_first_start_to_its_second(engine: Docker, image: str) -> None:
    """With nothing but variables: the configuration is written onto the volume, programs run for who has a token and
    for nobody else, all this without a right, and it ends when it is told to. The second start, without the variables,
    has what was edited. CONTRACT: DEP-02, DEP-03."""
    volume = ("--volume", "dw-first:/var/lib/doorward", "--health-interval", "1s")
    with engine.served(image, *volume, *GIVEN) as made:
        said = engine.says(made, "Serving MCP at")
        assert f"wrote {FILE}" in said
        port = engine.port(made)
        async with client(port) as agent:
            assert await agent.value("6 * 7") == 42
        at = f"http://127.0.0.1:{port}/mcp"
        assert httpx2.post(at, json={}).status_code == 401
        assert httpx2.post(at, json={}, headers={"Authorization": "Bearer no"}).status_code == 401
        assert httpx2.post(at, json={}, headers={"Host": "evil.example"}).status_code == 421
        assert engine.until(lambda: engine.about(made)["State"]["Health"]["Status"] == "healthy")
        assert inside(engine, made, "import os; print(os.getuid(), os.getgid())") == "10001 10001"
        status = inside(engine, made, "print(open('/proc/1/status').read())")
        assert [line.split()[1] for line in status.splitlines() if line.startswith(("CapEff", "NoNewPrivs"))] == [
            "0000000000000000",
            "1",
        ]
        refused = engine.run("exec", made, PYTHON, "-I", "-c", "open('/opt/doorward/x', 'w')")
        assert "Read-only file system" in refused.stderr
        written = inside(engine, made, f"print(open('{FILE}').read())")
        assert URL in written
        assert TOKEN not in written + said
        inside(engine, made, f"open('{FILE}', 'a').write('# mine')")
        engine("stop", "--time", "20", made)
        assert engine.about(made)["State"]["ExitCode"] == 0
    with engine.served(image, *volume) as made:
        assert "wrote" not in engine.says(made, "Serving MCP at")
        assert inside(engine, made, f"print(open('{FILE}').read())") == f"{written.strip()}\n# mine"
        async with client(engine.port(made)) as agent:
            assert await agent.value("6 * 7") == 42


async def test_nobody_is_served_who_is_not_known(engine: Docker, image: str) -> None:
    """Without tokens, or without TLS before it, it does not start, and says what to do; the configuration is there, and
    with the token that is made by then it serves. CONTRACT: DEP-02."""
    volume = ("--volume", "dw-known:/var/lib/doorward")
    for given, told in (((), "run programs with your credentials"), (GIVEN[:2], "doorward token new")):
        refused = engine.run("run", "--rm", *LOCKED, *volume, *given, image)
        assert refused.returncode == 2
        assert told in refused.stderr
    plain = engine.run("run", "--rm", *LOCKED, *GIVEN[2:], "--env", "DOORWARD_HTTP__URL=http://a.example", image)
    assert (plain.returncode, "plain text" in plain.stderr) == (2, True)
    made = engine("run", "--rm", *LOCKED, *volume, image, "token", "new", "bob")
    with engine.served(image, *volume, *GIVEN[:2]) as serving:
        engine.says(serving, "Serving MCP at")
        async with client(engine.port(serving), made) as agent:
            assert await agent.value("6 * 7") == 42


def test_nothing_in_the_image_installs(engine: Docker, image: str) -> None:
    """No pip, no compiler; what it is and whose is said; nothing but the volume belongs to who serves. CONTRACT:
    DEP-02."""
    about = engine.about(image)["Config"]
    assert about["User"] == "10001:10001"
    assert about["Labels"]["org.opencontainers.image.licenses"] == "Apache-2.0"
    code = """
import os, shutil
folders = [folder for root in ("/opt", "/usr", "/var") for folder, _, _ in os.walk(root)]
print([folder for folder in folders if folder.endswith(("-packages/pip", "/ensurepip"))])
print([name for name in ("pip", "uv", "gcc", "cc", "make", "git", "curl") if shutil.which(name)])
print([folder for folder in folders if os.stat(folder).st_uid])
"""
    said = engine("run", "--rm", *LOCKED, "--entrypoint", PYTHON, image, "-I", "-c", code)
    assert said.splitlines() == ["[]", "[]", "['/var/lib/doorward']"]


async def test_over_standard_input(engine: Docker, image: str, tmp_path: Path) -> None:
    """`docker run -i … serve` is the command of a client of MCP: it needs no network, and no variable. CONTRACT:
    DEP-02."""
    project = Project(tmp_path, "", {name: engine.environ[name] for name in ("DOCKER_HOST", "DOCKER_CONFIG")})
    command = [engine.program, "run", "--interactive", "--rm", *LOCKED, "--network", "none", image, "serve", "--init"]
    async with project.stdio(command=command) as agent:
        assert await agent.value("6 * 7") == 42


def unpacked(version: str, wheels: Path, folder: Path, *packages: str) -> list[str]:
    """Packages of wheels alone, put by uv where a container of this Python finds them, which this machine need not have.
    Returns: the options of `docker run`."""
    uv = [find_uv_bin(), "pip", "install", "--quiet", "--no-index", "--only-binary", ":all:"]
    found = ["--find-links", str(wheels), "--find-links", str(OTHERS), "--python-version", version]
    environ = {**os.environ, "UV_CACHE_DIR": str(folder / "cache")}
    subprocess.run([*uv, *found, "--target", str(folder / "site"), *packages], env=environ, check=True)
    site = "/opt/doorward/lib/site"
    variables = {"PYTHONPATH": site, "PATH": f"{site}/bin:/usr/local/bin:/usr/bin:/bin", "HOME": "/tmp"}
    return [f"--volume={folder}/site:{site}:ro", "--workdir=/tmp", *(f"--env={k}={v}" for k, v in variables.items())]


async def test_on_the_python_of_a_container(engine: Docker, wheels: Path, tmp_path: Path) -> None:
    """Wheels alone, put there by uv, on a Python that this machine need not have; the server image has 3.13. CONTRACT:
    DEP-05."""
    version = "3.14"
    if not (CACHE / "debian-3.14/ready").is_file():
        pytest.skip("Debian's next release, which has Python 3.14, could not be had")
    base, given = engine.python(version), unpacked(version, wheels, tmp_path, "doorward[standard]")
    project = Project(tmp_path, "", {name: engine.environ[name] for name in ("DOCKER_HOST", "DOCKER_CONFIG")})
    command = [engine.program, "run", "--interactive", "--rm", *given, "--network", "none", base]
    async with project.stdio(command=[*command, "python3", "-m", "doorward", "serve", "--init"]) as agent:
        assert await agent.value("6 * 7") == 42


async def test_the_sandbox_is_built_of_a_python(engine: Docker, tmp_path: Path) -> None:
    """`doorward sandbox build docker` makes the image of sandboxes of the default base and of packages; a program that
    needs them runs in it, as nobody, for a client of `serve`. CONTRACT: DEP-01."""
    base, folder = engine.python("3.13"), tmp_path / "base"
    folder.mkdir()
    (wheel,) = others("3.13", folder).glob("annotated_types-*.whl")
    (folder / "pip.conf").write_text("[global]\nno-index = true\nfind-links = /wheels\n")
    taken = f"COPY {wheel.name} pip.conf /wheels/\nENV PIP_CONFIG_FILE=/wheels/pip.conf\n"
    (folder / "Dockerfile").write_text(f"FROM {base}\n{taken}")
    engine.build(base, folder)
    settings = f'[executors.docker]\nhost = "{engine.engine.host}"\npackages = ["annotated-types"]\n'
    project = Project(tmp_path / "project", settings)
    project.change('executor = "monty"', 'executor = "docker"')
    made = project.run("sandbox", "build", "docker")
    assert made.returncode == 0, made.stderr
    async with project.stdio() as agent:
        code = "import annotated_types, os\nresult = [annotated_types.Gt(1).gt, os.getuid()]"
        assert await agent.value(code) == [1, 65534]


async def test_the_image_of_a_distribution(engine: Docker, wheels: Path, tmp_path: Path) -> None:
    """What `dist build --image` writes of acme, for the Python that runs it, is built as it stands: it verifies itself
    by its lock, and serves programs, with nothing to write but its volume. CONTRACT: DEP-02."""
    version, out = "3.13", tmp_path / "out"
    found = others(version, out / "wheels")
    given = unpacked(version, wheels, tmp_path, "doorward[standard]", "doorward-dist[build]")
    acme = ROOT / "distributions/acme"
    given += [f"--volume={acme}:{acme}:ro", f"--volume={wheels}:{wheels}:ro", f"--volume={out}:{out}"]
    command = ["run", "--rm", *given, "--network", "none", engine.python(version), "python3", "-m", "doorward"]
    command += ["dist", "build", str(acme), "--image", "--out", str(out)]
    engine(*command, "--wheels", str(wheels), "--wheels", str(found))
    shutil.copytree(wheels, found, dirs_exist_ok=True)
    (out / "doorward.toml").write_text("")
    image = engine.build("acme", out, "--build-arg", "PIP_NO_INDEX=1")
    volume, healthy = ("--volume", "dw-acme:/var/lib/doorward"), ("--health-interval", "1s")
    command = ["serve", "--transport", "http", "--port", "0"]
    made = engine("run", "--detach", *LOCKED, *volume, *healthy, "--network", "host", image, *command)
    port = int(engine.says(made, "Serving MCP at").rpartition("127.0.0.1:")[2].partition("/")[0])
    async with client(port, "") as agent:
        assert await agent.value("6 * 7") == 42
        assert "acme_handbook" in str(await agent.call("list_servers"))
    assert "health" in engine.about(image)["Config"]["Healthcheck"]["Test"]
    engine("stop", "--time", "20", made)
    assert engine.about(made)["State"]["ExitCode"] == 0


async def test_compose(engine: Docker, image: str) -> None:
    """The compose file asks for what must be given; with it and a token it serves a proxy of this host, and restarts
    with what it had. CONTRACT: DEP-02."""
    composing = [program("docker-compose"), "--file", str(ROOT / "deploy/compose.yaml"), "--project-name", "dw"]
    environ = {**engine.environ, "DOORWARD_IMAGE": image, "DOORWARD_PORT": str(reserve_port())}

    def compose(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([*composing, *words], env=environ, capture_output=True, text=True, check=False)

    asked = compose("config")
    assert (asked.returncode, "is what clients call it" in asked.stderr) == (1, True)
    environ["DOORWARD_HTTP__URL"] = URL
    try:
        assert compose("run", "--rm", "-T", "doorward", "init", "--from-environment").returncode == 0
        token = compose("run", "--rm", "-T", "doorward", "token", "new", "alice").stdout.strip()
        for _ in range(2):
            started = compose("up", "--detach")
            assert started.returncode == 0, started.stderr
            assert engine.until(
                lambda: compose("exec", "-T", "doorward", PYTHON, *["-I", "-m", "doorward", "health"]).returncode == 0
            )
            async with client(int(environ["DOORWARD_PORT"]), token) as agent:
                assert await agent.value("6 * 7") == 42
            assert compose("down").returncode == 0
    finally:
        compose("down", "--volumes")
