"""docs/operators.md: whoever types its commands in their order gets what it shows."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import threading
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from .forked import Forked
from .product import PASSED_ON, Answering, until, web
from .test_http_auth import token
from .test_rule_forms import client_of

pytestmark = pytest.mark.slow

PAGE = Path(__file__).resolve().parents[2] / "docs/operators.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
ID = re.compile(r"\b[0-9a-f]{16}\b")
KILLED = re.compile(r"^timeout -s KILL \d+ ")


def operation(name: str, *path: str, takes: str = "") -> dict[str, Any]:
    given = [
        {"name": each, "in": "path", "required": True, "schema": {"type": "integer" if "_" in each else "string"}}
        for each in path
    ]
    body = {"type": "object", "properties": {takes: {"type": "string"}}, "required": [takes]}
    content = {"requestBody": {"required": True, "content": {"application/json": {"schema": body}}}} if takes else {}
    return {"operationId": name, "parameters": given, "responses": {"200": {"description": "OK"}}, **content}


REPO = ("owner", "repo")
ISSUE = (*REPO, "issue_number")
DOCUMENT = {
    "openapi": "3.1.0",
    "info": {"title": "GitHub", "version": "1"},
    "servers": [{"url": "https://api.github.com"}],
    "paths": {
        "/repos/{owner}/{repo}": {"delete": operation("repos/delete", *REPO)},
        "/repos/{owner}/{repo}/issues": {
            "get": operation("issues/list-for-repo", *REPO),
            "post": operation("issues/create", *REPO, takes="title"),
        },
        "/repos/{owner}/{repo}/issues/{issue_number}/comments": {
            "get": operation("issues/list-comments", *ISSUE),
            "post": operation("issues/create-comment", *ISSUE, takes="body"),
        },
    },
}


class GitHub(Answering):
    """What the page uses of it. The first time it is asked for a comment on the second issue, it makes none and does
    not answer: `reached` says that it has come there."""

    comments: list[tuple[str, str]]
    written: list[str]
    reached: threading.Event
    released: threading.Event

    def do_GET(self) -> None:
        if self.path.endswith("/comments"):
            self.answer([{"body": body} for path, body in self.comments if path == self.path])
        else:
            self.answer([{"number": n, "title": t} for n, t in enumerate(("Typo", "Broken link", "Slow page"), 1)])

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path.endswith("/2/comments") and not self.reached.is_set():
            self.reached.set()
            self.released.wait(100)
            self.close_connection = True
            return
        self.written.append(self.path)
        if self.path.endswith("/comments"):
            self.comments.append((self.path, body["body"]))
        self.answer({"number": 4, **body}, 201)


@pytest.fixture
def github() -> Iterator[str]:
    GitHub.comments, GitHub.written = [], []
    GitHub.reached, GitHub.released = threading.Event(), threading.Event()
    with web(GitHub) as url:
        yield url
        GitHub.released.set()


class Reader:
    """Somebody in a folder of their own, who does what the page says. Ids are others there than on the page."""

    def __init__(self, folder: Path, url: str) -> None:
        self.folder, self.url = folder, url
        self.file = folder / "doorward.toml"
        self.ids: dict[str, str] = {}
        kept = {name: value for name, value in os.environ.items() if name in PASSED_ON}
        doorward = folder / ".bin/doorward"
        doorward.parent.mkdir()
        doorward.write_text(f'#!/bin/sh\nexec {shlex.join(Forked(folder / ".none", "").command()[:-2])} "$@"\n')
        doorward.chmod(0o700)
        programs = f"{doorward.parent}{os.pathsep}{kept['PATH']}"
        self.environment = kept | {"HOME": str(folder), "PATH": programs}
        (folder / "github.json").write_text(json.dumps(DOCUMENT))

    def writes(self, text: str) -> None:
        """A file that the page shows; of the configuration a part, which replaces what it says anew."""
        name = text.partition("\n")[0].removeprefix("# ")
        if name != self.file.name:
            (self.folder / name).write_text(text)
            return
        first, tables = _parted(text)
        had = self.file.read_text()
        for key in tomllib.loads(first):
            had = re.sub(rf"(?m)^{key} = .*\n", "", had)
        self.file.write_text(f"{first}{had}\n{tables}")
        tomllib.loads(self.file.read_text())

    def types(self, command: str, shown: str) -> None:
        """A command of the page, which prints what is shown."""
        for theirs, ours in self.ids.items():
            command = command.replace(theirs, ours)
        command = command.replace("https://api.github.com", self.url)
        if KILLED.match(command):
            self._killed(shlex.split(KILLED.sub("", command)))
            return
        ended = subprocess.run(
            ["sh", "-c", f"{command} 2>&1"], cwd=self.folder, env=self.environment, text=True, capture_output=True,
            timeout=100, check=False,
        )  # fmt: skip
        self._compare(command, shown, ended.stdout)
        assert (ended.returncode == 4) is (" is suspended; nothing is lost" in shown)

    def _killed(self, words: list[str]) -> None:
        """A command that is killed where the page has it killed: not after some time, but when it has come there."""
        running = subprocess.Popen(words, cwd=self.folder, env=self.environment)
        assert until(GitHub.reached.is_set)
        os.kill(Forked.pid(running.pid), signal.SIGKILL)
        running.wait()

    def _compare(self, command: str, shown: str, printed: str) -> None:
        pattern, last, new = "", 0, []
        for found in re.finditer(rf"…|{ID.pattern}", shown.strip()):
            pattern += re.escape(shown.strip()[last : found.start()])
            last = found.end()
            if found[0] == "…":
                pattern += ".*"
            elif found[0] in self.ids:
                pattern += self.ids[found[0]]
            elif found[0] in new:
                pattern += f"(?P=id{new.index(found[0])})"
            else:
                pattern += f"(?P<id{len(new)}>[0-9a-f]{{16}})"
                new.append(found[0])
        pattern += re.escape(shown.strip()[last:])
        match = re.fullmatch(pattern, printed.strip(), re.DOTALL)
        assert match, f"$ {command}\n{printed}\nis not\n{shown}"
        self.ids |= {theirs: match[f"id{n}"] for n, theirs in enumerate(new)}


def _parted(text: str) -> tuple[str, str]:
    """The keys at the top of a configuration, and its tables."""
    head, bracket, rest = text.partition("\n[")
    return f"{head}\n", f"{bracket.lstrip()}{rest}"


@pytest.mark.timeout(900)
def test_the_page_is_true(tmp_path: Path, github: str) -> None:
    """From `init` to the audit log that was tampered with; and at the end each comment was written once.
    CONTRACT: OBS-02."""
    reader = Reader(tmp_path, github)
    for language, text in BLOCK.findall(PAGE.read_text(encoding="utf-8")):
        if language == "console":
            for command, shown in COMMAND.findall(text):
                reader.types(command, shown)
        else:
            reader.writes(text)
    issues = "/repos/acme/site/issues"
    assert GitHub.written == [issues, *(f"{issues}/{n}/comments" for n in (1, 2, 3))]


@pytest.mark.anyio
async def test_agents_meet_what_the_page_decides(tmp_path: Path, github: str) -> None:
    """Its rules, through a client of each of two people: who may write waits for a yes, then goes on."""
    blocks = BLOCK.findall(PAGE.read_text(encoding="utf-8"))
    (rules,) = [text for language, text in blocks if language == "toml" and "[[policy.rules]]" in text]
    (tmp_path / "github.json").write_text(json.dumps(DOCUMENT))
    server = f'[servers.github]\nsource = "openapi"\nspec = "github.json"\nbase_url = "{github}"\n'
    project = Forked(tmp_path, rules + server)
    tokens = {name: token(project, name)["token"] for name in ("alice", "bob")}
    call = "import doorward\nresult = doorward.call('github.{}', owner='acme', repo='site'{})"
    read, delete = call.format("issues_list_for_repo", ""), call.format("repos_delete", "")
    write = call.format("issues_create", ", title='New'")
    with project.http() as (url, _):
        async with client_of(url, tokens["bob"]) as bob, client_of(url, tokens["alice"]) as alice:
            for agent in (bob, alice):
                assert len(await agent.value(read)) == 3
                assert "repositories are archived, not deleted" in (await agent.run(delete))["error"]["message"]
                found = await agent.call("search_functions", query="delete a repository")
                assert "github.repos_delete" not in [each["function"] for each in found["functions"]]
            assert "[policy] default" in (await bob.run(write))["error"]["message"]
            waiting = (await alice.run(write))["waiting"]
            assert "a person reads what is published" in waiting["what"][0]
            (request,) = json.loads(project.run("approvals", "list", "--json").stdout)["requests"]
            assert project.run("approvals", "approve", request["id"]).returncode == 0
            assert "there is no stored run" in str(await bob.call("resume_run", run=waiting["run"]))
            assert (await alice.call("resume_run", run=waiting["run"]))["value"]["title"] == "New"
    assert GitHub.written == ["/repos/acme/site/issues"]
