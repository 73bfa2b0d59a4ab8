"""What a user installs: wheels from an index, by uv, on each Python that this machine has."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import publish_distributions as publishing
import pytest
from served.conftest import LIMITS, SHELF
from served.product import Api, Project
from uv import find_uv_bin

from .peer import ROOT, absent
from .wheelhouse import OTHERS, PYTHONS, ours, python

pytestmark = [pytest.mark.anyio, pytest.mark.slow, pytest.mark.timeout(900)]

READ, WAS_READ = "import shelf\nresult = shelf.mark(name='wheels')", {"marked": True}


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return ours(tmp_path_factory.mktemp("wheels"))


@pytest.fixture(scope="module")
def index(wheels: Path) -> Iterator[str]:
    """An index of this machine, with all that Doorward needs, and nothing else."""
    with publishing.local_index(wheels, OTHERS) as url:
        yield f"{url}/simple/"


@pytest.fixture(scope="module")
def api() -> Iterator[Api]:
    with Api() as api:
        yield api


async def test_one_line_launches_it(index: str, api: Api, tmp_path: Path) -> None:
    """`uvx --from 'doorward[standard]' doorward serve`, as the command of a client of MCP: from an index, with an empty
    home and cache, it is installed and serves. CONTRACT: CLI-09, DEP-04."""
    project = Project(tmp_path / "project", LIMITS + SHELF.format(url=api.url))
    project.env |= {"UV_DEFAULT_INDEX": index, "UV_CACHE_DIR": str(tmp_path / "cache"), "UV_PYTHON_DOWNLOADS": "never"}
    command = [find_uv_bin(), "tool", "run", "--from", "doorward[standard]", "doorward"]
    # On a busy machine it takes longer to install all than clients wait.
    subprocess.run([*command, "--version"], env=project.environment(), cwd=project.folder, check=True)
    async with project.stdio(command=[*command, "serve", "--config", str(project.file)]) as agent:
        assert await agent.value(READ) == WAS_READ


@pytest.mark.parametrize("place", ["{root}/core[standard]", "doorward[standard] @ git+file://{root}#subdirectory=core"])
async def test_one_line_launches_a_checkout(
    api: Api, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, place: str
) -> None:
    """`uvx --from` a checkout, or the URL of a git repository, as the command of a client of MCP: core and its plugins are
    built of that alone, and programs run. CONTRACT: CLI-09, DEP-04."""
    if not list(OTHERS.glob("editables-*.whl")):
        absent("the wheel of editables, with which ours are built")
    if "git+" in place and not (ROOT / ".git").exists():
        absent("a git repository of Doorward")
    project = Project(tmp_path / "project", LIMITS + SHELF.format(url=api.url))
    project.env |= {
        "UV_CACHE_DIR": str(tmp_path_factory.getbasetemp() / "uv"),
        "UV_PYTHON_DOWNLOADS": "never",
        "UV_PYTHON": sys.executable,
    }
    line = ["tool", "run", "--no-index", "--find-links", str(OTHERS), "--from", place.format(root=ROOT)]
    command = [find_uv_bin(), *line, "doorward"]
    # On a busy machine it takes longer to build all than clients wait.
    subprocess.run([*command, "--version"], env=project.environment(), cwd=project.folder, check=True)
    async with project.stdio(command=[*command, "serve", "--config", str(project.file)]) as agent:
        assert await agent.value(READ) == WAS_READ


@pytest.mark.parametrize("version", PYTHONS)
async def test_it_is_installed_of_wheels_alone(
    wheels: Path, api: Api, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, version: str
) -> None:
    """Without an index and without building anything, in a Python of this version; all distributions fit together there,
    and programs run. CONTRACT: DEP-04, DEP-05."""
    if not (interpreter := python(version)):
        pytest.skip(f"there is no Python {version} here; see test_images.py for those in containers")
    uv, at = find_uv_bin(), tmp_path / "venv"
    environ = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "UV_CACHE_DIR": str(tmp_path_factory.getbasetemp() / "uv"),
    }
    found = ["--find-links", str(wheels), "--find-links", str(OTHERS)]
    packages = ["doorward[standard,nsjail,docker,graphql,keycloak,session]", "doorward-demo", "doorward-dist"]
    for words in (
        ["venv", "--quiet", "--no-python-downloads", "--python", interpreter, str(at)],
        ["pip", "install", "--quiet", "--python", str(at), "--no-index", "--only-binary", ":all:", *found, *packages],
        ["pip", "check", "--quiet", "--python", str(at)],
    ):
        ended = subprocess.run([uv, *words], env=environ, capture_output=True, text=True, check=False)
        assert ended.returncode == 0, ended.stderr
    doorward = str(at / "bin/doorward")
    told = subprocess.run([doorward, "plugins", "--json"], env=environ, capture_output=True, text=True, check=True)
    assert "doorward-sandbox-monty" in told.stdout
    project = Project(tmp_path / "project", LIMITS + SHELF.format(url=api.url))
    async with project.stdio(command=[doorward, "serve", "--config", str(project.file)]) as agent:
        assert await agent.value(READ) == WAS_READ
