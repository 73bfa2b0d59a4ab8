"""docs/troubleshooting.md: whoever searches it for the message that they read finds it, below the right symptom. Each message is
provoked as a person would meet it."""

from __future__ import annotations

import functools
import re
import socket
import ssl
from http.server import ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from doorward_jail.nsjail import binary
from doorward_testing import reserve_port

from .forked import Forked
from .product import Answering, Project, web
from .test_http import HELLO
from .test_http_auth import token

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

PAGE = Path(__file__).resolve().parents[2] / "docs/troubleshooting.md"
STARTS = {
    "ends": 'command = ["{python}", "-c", "import no_such_module"]',
    "absent": 'command = ["no-such-program"]',
    "prints": 'command = ["{python}", "-c", "print(\'ready\', flush=True); import time; time.sleep(600)"]\nstart_timeout = 1',
    "refuses": 'url = "{url}/mcp"',
}


@functools.cache
def sections() -> dict[str, list[str]]:
    """Each heading of the page with the messages that it shows, as patterns."""
    found = {}
    for part in PAGE.read_text(encoding="utf-8").split("\n## ")[1:]:
        heading, _, text = part.partition("\n")
        lines = [
            line
            for block in re.findall(r"^```text\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
            for line in block.splitlines()
        ]
        found[heading] = [".*".join(map(re.escape, line.split("…"))) for line in lines]
    return found


def assert_found(heading: str, told: str, count: int = 1) -> None:
    """So many of the messages below the heading are what was said."""
    shown = [pattern for pattern in sections()[heading] if re.search(pattern, told)]
    assert len(shown) >= count, f"{told}\n\nis not what {PAGE.name} shows below {heading!r}: {sections()[heading]}"


class Refusing(Answering):
    """An API that knows nobody, and a page for people."""

    def do_GET(self) -> None:
        if self.path == "/docs":
            content = b"<html><body>: documentation : of an API</body></html>"
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)
        elif self.path == "/openapi.json":
            paths = {"/things": {"get": {"operationId": "things", "responses": {"200": {"description": "all"}}}}}
            self.answer({"openapi": "3.1.0", "info": {"title": "t", "version": "1"}, "paths": paths})
        else:
            self.answer({"message": "bad token"}, 401)

    do_POST = do_GET


def said(project: Project, *words: str) -> str:
    """All that a command prints."""
    ran = project.run(*words)
    return ran.stdout + ran.stderr


def test_no_configuration(tmp_path: Path) -> None:
    """Doorward that is started elsewhere, and a program that names what there is not. CONTRACT: CLI-12."""
    project = Forked(tmp_path, "")
    told = said(project, "run", str(_program(tmp_path, "import github")))
    told += said(project, "call", "github.issues_list")
    project.file.unlink()
    told += said(project, "serve")
    assert_found('"MCP server not configured"', told, 3)


async def test_servers_that_do_not_start(tmp_path: Path) -> None:
    """What an agent reads of an MCP server that ends, is not there, prints to its standard output, or wants a token.
    CONTRACT: CLI-12."""
    import sys

    with web(Refusing) as url:
        servers = {
            name: text.replace("{python}", sys.executable).replace("{url}", url) for name, text in STARTS.items()
        }
        tables = "".join(f'[servers.{name}]\nsource = "mcp"\n{text}\n' for name, text in servers.items())
        project = Forked(tmp_path, tables + f'[servers.page]\nsource = "openapi"\nspec = "{url}/docs"\n')
        async with project.stdio() as agent:
            listed = {server["name"]: server["broken"] for server in (await agent.call("list_servers"))["servers"]}
    assert_found('"Connection closed"', listed["ends"])
    assert_found('"Connection closed"', listed["absent"])
    assert "No module named 'no_such_module'" in listed["ends"]
    assert_found('"Module not found"', listed["ends"])
    assert_found("A server that prints to standard output", listed["prints"])
    assert "ready" in listed["prints"]
    assert_found("Credentials", listed["refuses"])
    assert_found("A document that is none", listed["page"])
    assert "Start its `command` by hand" in said(project, "list", "ends")


def test_doctor_finds_it(tmp_path: Path) -> None:
    """`doorward doctor` says of each part of a configuration whether it is well, and what to do: of servers, credentials,
    executors and plugins; it ends with 1 where something is wrong. CONTRACT: CLI-12."""
    servers = """[servers.gone]
source = "openapi"
spec = "gone.json"
[servers.literal]
source = "openapi"
spec = "literal.json"
base_url = "http://api.example"
auth = { type = "bearer", token = "a-token-in-the-file" }
"""
    project = Forked(tmp_path, servers)
    (tmp_path / "literal.json").write_text('{"openapi": "3.1.0", "paths": {}}')
    (tmp_path / ".env").write_text("KEY=a-key-of-somebody\n")
    (tmp_path / ".env").chmod(0o644)
    project.change('executor = "monty"', 'executor = ["monty", "gvisor"]')
    ran = project.run("doctor")
    assert ran.returncode == 1
    for line in (
        "✗ server gone: ",
        "! server literal: a credential stands in the configuration file (token)\n    Move it to .env",
        "! server literal: its credentials go over plain http\n",
        f"! {tmp_path / '.env'} can be read by other users\n    chmod 600 ",
        "✓ executor monty",
        "✗ executor gvisor",
        "✓ plugin ast",
    ):
        assert line in ran.stdout, ran.stdout
    assert "a-token-in-the-file" not in ran.stdout + ran.stderr


def test_searches_that_find_nothing(tmp_path: Path) -> None:
    """In a catalog that is empty, and in one that is not."""
    project = Forked(tmp_path, "")
    told = said(project, "search", "issues") + said(project, "list")
    assert_found("A search finds nothing", told, 2)
    with web(Refusing) as url:
        project.configure(f'[servers.api]\nsource = "openapi"\nspec = "{url}/openapi.json"\n')
        assert_found("A search finds nothing", said(project, "search", "zebra"))


def test_programs_that_need_more(tmp_path: Path) -> None:
    """Modules that the sandbox does not have, and limits."""
    project = Forked(tmp_path, "[limits]\ntimeout = 0.5\ncalls = 1\n")
    assert_found('"Module not found"', said(project, "run", str(_program(tmp_path, "import pandas"))))
    assert_found("Limits", said(project, "run", str(_program(tmp_path, "while True: pass"))))


def test_sandboxes_that_do_not_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """nsjail that is not there or that the kernel refuses, and a container engine that does not answer."""
    from doorward import ExecutorError

    code = str(_program(tmp_path, "1"))
    project = Forked(tmp_path, "")
    project.change('executor = "monty"', 'executor = "nsjail"', last='[executors.nsjail]\nnsjail = "/no/such/nsjail"\n')
    assert_found("nsjail", said(project, "run", code))
    project.change("/no/such/nsjail", "/bin/false")
    assert_found("nsjail", said(project, "run", code))
    monkeypatch.setattr(binary, "_of_the_system", lambda: iter(()))
    monkeypatch.setattr(binary, "_of_the_wheel", lambda: iter(()))
    with pytest.raises(ExecutorError) as without:
        binary.candidates(None, "nsjail")
    assert_found("nsjail", str(without.value))
    project.change(
        'executor = "nsjail"', 'executor = "docker"', last=f'[executors.docker]\nhost = "unix://{tmp_path}/none"\n'
    )
    assert_found("Docker", said(project, "run", code))


def test_a_port_that_is_taken(tmp_path: Path) -> None:
    """Two processes cannot listen at one address."""
    project = Forked(tmp_path, "")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        told = said(project, "serve", "--transport", "http", "--port", str(taken.getsockname()[1]))
    assert_found("A port in use", told)


def test_credentials_that_are_refused(tmp_path: Path) -> None:
    """A variable without a value, a token that the API refuses, and a client whose token is none of ours."""
    with web(Refusing) as url:
        auth = 'auth = { type = "bearer", token = "${NO_SUCH_TOKEN}" }'
        project = Forked(tmp_path, f'[servers.api]\nsource = "openapi"\nspec = "{url}/openapi.json"\n{auth}\n')
        assert_found("Credentials", said(project, "call", "api.things"))
        project.env["NO_SUCH_TOKEN"] = "wrong"
        assert_found("Credentials", said(project, "call", "api.things"))
    token(project, "alice")
    with project.http() as (address, _), pytest.raises(HTTPError) as refused:
        urlopen(Request(address, str(HELLO).encode(), {"Authorization": "Bearer wrong"}), timeout=60)
    assert_found("Credentials", f"HTTP {refused.value.code}: {refused.value.read().decode()}")


def test_certificates_and_addresses(tmp_path: Path, tls_files: Path) -> None:
    """A certificate of an unknown authority, and an address where nobody is."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tls_files / "server.pem", tls_files / "server.key")
    server = ThreadingHTTPServer(("127.0.0.1", 0), Refusing)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    places = {"secret": f"https://127.0.0.1:{server.server_port}", "nobody": f"http://127.0.0.1:{reserve_port()}"}
    tables = [f'[servers.{name}]\nsource = "openapi"\nspec = "{url}/openapi.json"\n' for name, url in places.items()]
    project = Forked(tmp_path, "".join(tables))
    try:
        assert_found("Certificates and proxies", said(project, "compile"), 2)
        project.env["SSL_CERT_FILE"] = str(tls_files / "server.pem")
        assert "secret: 1 function" in said(project, "compile")  # as the page says
    finally:
        server.shutdown()
        server.server_close()


def test_packages_that_do_not_fit_together(tmp_path: Path) -> None:
    """A plugin that was made for a newer library than the one that is there."""
    (tmp_path / "odd.py").write_text("from typing_extensions import NoSuchThing\n")
    about = tmp_path / "odd_plugin-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: odd-plugin\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[doorward.plugins]\nodd = odd\n")
    project = Forked(tmp_path / "project", "", {"PYTHONPATH": str(tmp_path)})
    project.change('plugins = ["ast"', 'plugins = ["odd", "ast"')
    assert_found("A wrong Python, or packages that do not fit together", said(project, "list"))


def _program(folder: Path, code: str) -> Path:
    file = folder / "program.py"
    file.write_text(code)
    return file
