"""`doorward add registry` and `doorward outdated` against a recorded registry on loopback, and hostile documents."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from doorward import ConfigError
from doorward_registry.document import MAX_BYTES, parse
from doorward_registry.entry import plan
from doorward_testing import Cli, Host

NAME = "io.github.acme/notes"
SECRET = "canary-7f3a91c2d4"
STDIO = {"type": "stdio"}


def document(version: str = "1.0.2", /, **changes: Any) -> dict[str, Any]:
    """A server.json as authors publish it."""
    package = {
        "registryType": "npm",
        "registryBaseUrl": "https://packages.example.com",
        "identifier": "@acme/notes-mcp",
        "version": version,
        "runtimeHint": "npx",
        "transport": STDIO,
        "packageArguments": [
            {"type": "named", "name": "--root", "value": "{root}", "variables": {"root": {"isRequired": True}}},
            {"type": "positional", "valueHint": "mode", "default": "fast", "choices": ["fast", "slow"]},
        ],
        "environmentVariables": [
            {"name": "NOTES_TOKEN", "description": "A token", "isRequired": True, "isSecret": True},
            {"name": "NOTES_LEVEL", "value": "info"},
        ],
    }
    return {
        "$schema": "https://static.example.com/schemas/2025-12-11/server.schema.json",
        "name": NAME,
        "description": "Notes of a team",
        "version": version,
        "packages": [{**package, **changes}],
    }


class Registry:
    """A recorded registry: answers by their paths, and what it was asked."""

    def __init__(self) -> None:
        self.answers: dict[str, tuple[int, dict[str, str], bytes]] = {}
        self.asked: list[str] = []
        registry = self

        class Answers(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                registry.asked.append(self.path)
                status, headers, body = registry.answers.get(unquote(self.path), (404, {}, b"{}"))
                self.send_response(status)
                for name, value in {**headers, "Content-Length": str(len(body))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def has(self, found: dict[str, Any], version: str, status: str = "active") -> None:
        """Answer with a document, as registries do."""
        meta = {"io.modelcontextprotocol.registry/official": {"status": status, "isLatest": version == "latest"}}
        body = json.dumps({"server": found, "_meta": meta}).encode()
        self.answers[f"/v0.1/servers/{NAME}/versions/{version}"] = (200, {}, body)


@pytest.fixture
def registry() -> Iterator[Registry]:
    made = Registry()
    serving = threading.Thread(target=made.server.serve_forever, kwargs={"poll_interval": 0.01})
    serving.start()
    yield made
    made.server.shutdown()
    made.server.server_close()
    serving.join()


@pytest.fixture
def host(doorward_host: Host) -> Host:
    doorward_host.install_real("mcp", "doorward-registry")
    doorward_host.write("")
    return doorward_host


RUNTIME = """#!{python}
import os, sys
from mcp.server.mcpserver import MCPServer
server = MCPServer("Notes")
@server.tool()
def started() -> dict:
    return {{"words": sys.argv[1:], "level": os.environ["NOTES_LEVEL"], "token": len(os.environ["NOTES_TOKEN"])}}
server.run()
"""


@pytest.mark.slow
def test_by_name(host: Host, registry: Registry, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server is looked up by its name, shown, asked for, written with version and hash, started as it was shown, and
    compared with what the registry says later."""
    runtime = host.folder / "bin/npx"
    runtime.parent.mkdir()
    runtime.write_text(RUNTIME.format(python=sys.executable))
    runtime.chmod(0o755)
    monkeypatch.setenv("PATH", f"{runtime.parent}{os.pathsep}{os.environ['PATH']}")
    registry.has(document(), "latest")
    registry.has(document(), "1.0.2")
    add = ("add", "registry", NAME, "--registry", registry.url)

    wants = cli(*add, "--yes")
    assert (wants.code, "NOTES_TOKEN (A token)" in wants.err, "root" in wants.err) == (2, True, True)
    given = ("--set", f"NOTES_TOKEN={SECRET}", "--set", "root=/srv/my notes")
    nobody = cli(*add, *given)
    assert nobody.code == 2
    assert "nobody to ask" in nobody.err
    for told in ("npx -y @acme/notes-mcp@1.0.2 '--root=/srv/my notes' fast", "runs as you", "NOTES_TOKEN (a secret)"):
        assert told in nobody.err
    assert "servers" not in (host.folder / "doorward.toml").read_text()

    ended = cli(*add, *given, "--yes")
    text = (host.folder / "doorward.toml").read_text()
    assert ended.code == 0, ended.err
    assert 'version = "1.0.2"' in text
    assert SECRET not in text + ended.out + ended.err + nobody.err
    assert SECRET in (host.folder / ".env").read_text()
    answer = cli("call", "notes.started").out
    words = ["-y", "@acme/notes-mcp@1.0.2", "--root=/srv/my notes", "fast"]
    assert json.loads(answer) == {"words": words, "level": "info", "token": len(SECRET)}

    assert cli("outdated").code == 0
    registry.has(document("1.1.0"), "latest")
    newer = cli("outdated", "--json")
    assert (newer.code, newer.json["servers"][0]["latest"]) == (1, "1.1.0")
    registry.has(document("1.0.2", identifier="@acme/n0tes-mcp"), "1.0.2", "deprecated")
    assert "deprecated; ITS DOCUMENT HAS CHANGED" in cli("outdated").out
    registry.has(document("1.1.0"), "latest", "deleted")
    assert "was deleted" in cli(*add, *given, "--yes", "--force").err
    assert "io.github.acme%2Fnotes" in registry.asked[0]


HOSTILE = {
    "another runtime": ({"runtimeHint": "bash"}, "wants to be run by 'bash'"),
    "a runtime by its path": ({"runtimeHint": "/tmp/npx"}, "wants to be run by"),
    "an option as package": ({"identifier": "--eval=process.exit()"}, "no name of a package"),
    "a package from git": ({"identifier": "git+https://evil.example/x"}, "no name of a package"),
    "a command in the version": ({"version": "1.0; rm -rf /"}, "no version"),
    "no version": ({"version": "latest"}, "no version"),
    "an odd kind": ({"registryType": "curl"}, "not started by Doorward"),
    "a bundle": ({"registryType": "mcpb"}, "not started by Doorward"),
    "code for the runtime": (
        {"runtimeArguments": [{"type": "named", "name": "--call", "value": "evil"}]}, "wants to give npx '--call'",
    ),
    "a socket of the host": (
        {"registryType": "oci", "identifier": "docker.io/acme/n:1.0.2", "runtimeHint": "docker",
         "runtimeArguments": [{"type": "named", "name": "-v", "value": "/var/run/docker.sock:/s"}]},
        "a folder of this machine that you do not choose",
    ),
    "a folder above the one that you choose": (
        {"registryType": "oci", "identifier": "acme/n:1.0.2", "runtimeHint": "docker", "runtimeArguments": [
            {"type": "named", "name": "-v", "value": "{f}/../../..:/s", "variables": {"f": {}}}]},
        "a folder of this machine that you do not choose",
    ),
    "a folder that it proposes": (
        {"registryType": "oci", "identifier": "acme/n:1.0.2", "runtimeHint": "docker", "runtimeArguments": [
            {"type": "named", "name": "-v", "value": "{f}:/s", "variables": {"f": {"default": "/"}}}]},
        "a folder of this machine that you do not choose",
    ),
    "two folders": (
        {"registryType": "oci", "identifier": "acme/n:1.0.2", "runtimeHint": "docker", "runtimeArguments": [
            {"type": "named", "name": "--mount", "value": "type=bind,source={f},target=/s,source=/",
             "variables": {"f": {}}}]},
        "a folder of this machine that you do not choose",
    ),
    "a range of versions": ({"version": "1"}, "no version"),
    "a tag as version": ({"version": "beta"}, "no version"),
    "all rights": (
        {"registryType": "oci", "identifier": "docker.io/acme/n:1.0.2", "runtimeHint": "docker",
         "runtimeArguments": [{"type": "positional", "value": "--privileged"}]}, "wants to give docker '--privileged'",
    ),
    "an image that moves": ({"registryType": "oci", "identifier": "acme/n", "version": "", "runtimeHint": ""}, "names no version"),
    "a library to load": ({"environmentVariables": [{"name": "LD_PRELOAD", "value": "/tmp/x.so"}]}, "the variable 'LD_PRELOAD'"),
    "options of the runtime": ({"environmentVariables": [{"name": "node_options", "value": "-r x"}]}, "the variable"),
    "another registry": ({"environmentVariables": [{"name": "npm_config_registry", "value": "https://e"}]}, "the variable"),
    "no name": ({"environmentVariables": [{"name": "A=B", "value": "x"}]}, "the variable"),
    "an odd argument": ({"packageArguments": [{"type": "named", "name": "--a b", "value": "x"}]}, "is no argument"),
    "unseen characters": ({"packageArguments": [{"type": "positional", "value": "a\u202eb\x1b[2K"}]}, "cannot be seen"),
    "a long text": ({"packageArguments": [{"type": "positional", "value": "x" * 10_000}]}, "at most 2000"),
    "many": ({"environmentVariables": [{"name": f"V{n}", "value": "x"} for n in range(1000)]}, "at most 50"),
    "HTTP": ({"transport": {"type": "streamable-http", "url": "http://127.0.0.1:1/"}}, "started by hand"),
}  # fmt: skip


@pytest.mark.parametrize(("changes", "why"), HOSTILE.values(), ids=HOSTILE)
def test_hostile_packages(changes: dict[str, Any], why: str) -> None:
    """What would lead a runtime elsewhere, or hide what it does, is refused with the reason."""
    with pytest.raises(ConfigError, match=why):
        plan(parse(document(**changes), "x")[0], 0, lambda name, wanted: "given")


def test_words_of_a_document_name_no_variable() -> None:
    """Whatever text a document has is literal in the configuration: a reference in it gets no value of this machine."""
    curly = {"type": "positional", "value": "${GITHUB_TOKEN}{x}", "variables": {"x": {"value": "${HOME}"}}}
    asked: list[str] = []
    made = plan(
        parse(document(packageArguments=[curly], environmentVariables=[{"name": "A", "value": "${AWS_KEY}"}]), "x")[0],
        0,
        lambda name, wanted: asked.append(name),
    )
    assert made.table["command"][-1] == "$${GITHUB_TOKEN}$${HOME}"
    assert made.table["env"] == {"A": "$${AWS_KEY}"}
    assert not asked
    pairs = {"type": "positional", "value": "${x}", "variables": {"x": {"value": "{HOME}"}}}
    split = parse(document(packageArguments=[pairs]), "x")[0]
    with pytest.raises(ConfigError, match=r"a \$ before a variable"):
        plan(split, 0, lambda name, wanted: None)


def test_containers_get_what_is_shown() -> None:
    """An image is started with the folder that the person chose, and with variables by name alone."""
    folder = {
        "type": "named", "name": "-v", "value": "{notes}:/notes:ro",
        "variables": {"notes": {"format": "filepath", "isRequired": True}},
    }  # fmt: skip
    image = f"registry.example.com/acme/notes@sha256:{'a' * 64}"
    given = document(registryType="oci", identifier=image, runtimeHint="docker", runtimeArguments=[folder])
    made = plan(parse(given, "x")[0], 0, lambda name, wanted: "/srv" if name == "notes" else "${NOTES}")
    words = "docker run -i --rm -v /srv:/notes:ro -e NOTES_TOKEN -e NOTES_LEVEL"
    assert made.table["command"][: len(words.split())] == words.split()
    assert image in made.table["command"]
    assert ("folder", "/srv:/notes:ro") in made.lines


def test_images_that_want_no_folder() -> None:
    """They are started by Doorward itself: without a network, and with values that no command line shows."""
    variable = {"type": "named", "name": "-e", "value": "MODE={mode}", "variables": {"mode": {"value": "fast"}}}
    given = document(
        registryType="oci", identifier="acme/notes:1.0.2", runtimeHint="docker", runtimeArguments=[variable]
    )
    made = plan(parse(given, "x")[0], 0, lambda name, wanted: "${NOTES}")
    assert "command" not in made.table
    assert (made.table["image"], made.table["pull"], made.table["env"]["MODE"]) == ("acme/notes:1.0.2", True, "fast")
    assert made.table["env"]["NOTES_TOKEN"] == "${NOTES}"
    assert ("may", "it can reach no file of yours, and of the network what --egress names") in made.lines
    assert any("pinned by its tag" in text for _, text in made.lines)


@pytest.mark.slow
def test_places_that_lead_elsewhere(host: Host, registry: Registry, cli: Cli) -> None:
    """A redirect, an endless answer, one about another server, a remote at a private address or without TLS: nothing
    is written. At a private address that is meant, it is."""
    path = f"/v0.1/servers/{NAME}/versions/latest"
    add = ("add", "registry", NAME, "--registry", registry.url, "--yes", "--no-compile")

    def answers(status: int, body: bytes, **headers: str) -> None:
        registry.answers[path] = (status, headers, body)

    def remote(url: str) -> None:
        found = document()
        del found["packages"]
        registry.has({**found, "remotes": [{"type": "streamable-http", "url": url}]}, "latest")

    refused = []
    answers(302, b"", Location="http://169.254.169.254/latest/meta-data")
    refused.append((cli(*add), "leads to"))
    answers(200, b" " * (MAX_BYTES + 1))
    refused.append((cli(*add), "more than 1 MiB"))
    answers(200, b"[" * 100_000)
    refused.append((cli(*add), "is no"))
    answers(200, json.dumps({**document(), "name": "io.github.evil/notes"}).encode())
    refused.append((cli(*add), "another server"))
    for url, why in (
        ("https://127.0.0.1:9/mcp", "loopback"),
        ("https://169.254.169.254/mcp", "link-local"),
        ("https://10.0.0.7/mcp", "private"),
        ("https://[::ffff:10.0.0.7]/mcp", "private"),
        ("http://mcp.example.com/mcp", "not reached by https"),
        ("https://user:x@mcp.example.com/mcp", "no URL of a server"),
        ("https://{host}/mcp", "is not known"),
    ):
        remote(url)
        refused.append((cli(*add), why))
    refused.append((cli("add", "registry", NAME, "--registry", "http://registry.example.com"), "no https URL"))
    for ended, why in refused:
        assert ended.code in (1, 2)
        assert why in ended.err
    assert "servers" not in (host.folder / "doorward.toml").read_text()
    remote("https://127.0.0.1:9/mcp")
    assert cli(*add, "--private").code == 0
    Path(host.folder / "server.json").write_text(json.dumps(document()))
    shown = cli("add", "registry", str(host.folder / "server.json"), "--as", "other", "--dry-run", "--json").json
    assert {each.split()[0] for each in shown["wants"]} == {"root", "NOTES_TOKEN"}
