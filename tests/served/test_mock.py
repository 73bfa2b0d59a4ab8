"""`doorward mock`: programs run against recorded answers of an MCP server and of accounts of an API as they ran against
the real ones, and nobody else on the machine gets an answer out of it."""

from __future__ import annotations

import contextlib
import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import urlopen

import pytest
import tomli_w

from .conftest import LIMITS, SHELF
from .product import Api, Project, end

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

BOX = Path(__file__).with_name("box.py")
PROGRAM = """
def jammed():
    try:
        box.jam_now()
    except doorward.ToolError as error:
        return str(error)

import doorward, box
result = [box.open_it(per_page=3), box.open_it(per_page=4), jammed()]
"""
ALWAYS = '[runs]\ndurable = "always"\n'


@contextlib.contextmanager
def mocked(project: Project, *words: str) -> Iterator[dict[str, str]]:
    """The addresses of what `doorward mock` serves."""
    command = project.command("mock", *words, "--json", "--no-latency")
    started = subprocess.Popen(
        command, cwd=project.folder, env=project.environment(), stdout=subprocess.PIPE, text=True
    )
    try:
        assert started.stdout is not None
        yield json.loads(started.stdout.readline())["servers"]
    finally:
        end(started)


def value(project: Project, program: str) -> object:
    (project.folder / "program.py").write_text(program)
    return json.loads(project.run("run", "program.py", "--json").stdout)["value"]


def recorded(project: Project, program: str) -> tuple[object, str]:
    """The value of a program, and the file of its run."""
    found = value(project, program)
    (run,) = json.loads(project.run("runs", "list", "--json").stdout)["runs"]
    bundle = project.folder / "run.json"
    project.run("runs", "replay", run["run"], "--bundle", str(bundle))
    return found, str(bundle)


def test_an_mcp_server_out_of_a_run(tmp_path: Path) -> None:
    """Over HTTP and over stdio, by the names that its tools have, with the failure; a call that is not recorded is an
    error, and the program is told so."""

    def box(**server: object) -> str:
        return LIMITS + ALWAYS + tomli_w.dumps({"servers": {"box": {"source": "mcp", **server}}})

    real = Project(tmp_path, box(command=[sys.executable, str(BOX)], env={"PYTHONPATH": ""}))
    before, bundle = recorded(real, PROGRAM)
    assert isinstance(before, list)
    assert "page 3" in before[0]
    assert "the box is jammed" in before[2]
    stdio = real.command("mock", bundle, "--stdio", "box")
    (tmp_path / "again").mkdir()
    with mocked(real, bundle) as at:
        again = Project(tmp_path / "again", box(url=at["box"]))
        assert value(again, PROGRAM) == before
        assert "no answer to tools/call" in again.run("call", "box.open_it", "per_page=9").stderr
        again.configure(box(command=stdio, cwd=str(tmp_path), allow_self=True))
        assert value(again, PROGRAM) == before


def raw(address: str, request: str) -> bytes:
    """The first line of what is answered to these bytes."""
    parts = urlsplit(address)
    with socket.create_connection((parts.hostname, parts.port), 30) as connection:
        connection.sendall(request.replace("\n", "\r\n").encode())
        return connection.makefile("rb").readline()


def test_accounts_are_apart_and_only_this_machine_is_answered(tmp_path: Path, api: Api) -> None:
    """What two accounts were answered to the same request is served at two addresses. A request of another host, of
    a page of another origin, or whose length nobody can tell gets no answer."""
    tables = "".join(
        f'[servers.shelf.accounts.{name}]\nauth = {{ type = "static", header = "X-{name}", value = "key-of-{name}" }}\n'
        for name in ("home", "work")
    )
    project = Project(tmp_path, LIMITS + ALWAYS + SHELF.format(url=api.url) + tables)
    program = 'import shelf\nresult = [shelf.headers(_account=each)["names"] for each in ("home", "work")]\n'
    before, bundle = recorded(project, program)
    assert isinstance(before, list)
    assert [("x-home" in each, "x-work" in each) for each in before] == [(True, False), (False, True)]
    with mocked(project, bundle) as at:
        assert sorted(at) == ["shelf@home", "shelf@work"]
        for name, there in zip(("shelf@home", "shelf@work"), before, strict=True):
            with urlopen(f"{at[name]}/headers", timeout=60) as answer:
                assert json.load(answer)["names"] == there
        home, here = at["shelf@home"], urlsplit(at["shelf@home"]).netloc
        get = f"GET {urlsplit(home).path}/headers HTTP/1.1\n"
        post = f"POST {urlsplit(home).path}/headers HTTP/1.1\nHost: {here}\n"
        attacks = {
            f"{get}Host: {here}\nOrigin: http://localhost:3000\n\n": b"200",
            f"{get}Host: evil.example\n\n": b"400",
            f"{get}Host: {here}\nHost: evil.example\n\n": b"400",
            f"{get}\n": b"400",
            f"{get}Host: {here}\nOrigin: https://evil.example\n\n": b"403",
            f"{get}Host: {here}\nOrigin: null\n\n": b"403",
            f"{post}Content-Length: -1\n\n": b"400",
            f"{post}Content-Length: 0\nContent-Length: 5\n\nhello": b"400",
            f"{post}Content-Length: 99999999999999999999999\n\n": b"400",
            f"{post}Transfer-Encoding: gzip\n\n": b"400",
            f"{post}Transfer-Encoding: chunked\n\n5\nhello\n0\n\n": b"501",
            f"{post}\n": b"501",
        }
        assert {each: raw(home, each).split(b" ")[1:2] for each in attacks} == {k: [v] for k, v in attacks.items()}
