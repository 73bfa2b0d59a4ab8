"""The programs for agents, and the Python of READMEs, run as they are printed. (The plugins of docs/plugins have
`test_tutorials.py`.)"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import anyio
import pytest
from doorward import Gateway, Outcome
from served.product import Answering, web
from test_docs import Snippet, snippets, text_of

pytestmark = pytest.mark.slow

PROGRAMS = [
    snippet
    for snippet in snippets("python")
    if snippet.page
    in ("docs/programs.md", "docs/llm.md", *(f"plugins/{name}/README.md" for name in ("openapi", "mcp_upstream")))
    or snippet.page == "plugins/sandbox_monty/README.md"
]


def operation(name: str, *parameters: str, ok: str = "200", **more: Any) -> dict[str, Any]:
    given = [
        {"name": word.strip("{}"), "in": "path" if word.startswith("{") else "query", "required": word.startswith("{"),
         "schema": {"type": "integer" if word in ("{id}", "page") else "boolean" if word == "returned" else "string"}}
        for word in parameters
    ]  # fmt: skip
    return {"operationId": name, "parameters": given, "responses": {ok: {"description": "ok"}}, **more}


BODY = {"content": {"application/json": {"schema": {"type": "object", "properties": {"title": {"type": "string"}}}}}}
PATHS = {
    "library": {
        "/books": {"get": operation("listBooks", "page")},
        "/books/{id}": {"get": operation("getBook", "{id}")},
        "/loans": {"get": operation("listLoans", "returned")},
        "/members/{id}": {"get": operation("getMember", "{id}")},
    },
    "github": {
        "/repos/{owner}/{repo}/issues": {
            "get": operation("issues/list-for-repo", "{owner}", "{repo}", "state"),
            "post": operation("issues/create", "{owner}", "{repo}", ok="201", requestBody=BODY),
        }
    },
}
FILES = """
from mcp.server.mcpserver import MCPServer

server = MCPServer("files")

@server.tool()
def read_text_file(path: str) -> str:
    \"\"\"A file.\"\"\"
    return f"what is in {path}"

server.run()
"""


class Api(Answering):
    """The library and the issues of which the pages speak."""

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        match url.path.split("/")[1:]:
            case ["books"]:
                page = int(parse_qs(url.query).get("page", ["1"])[0])
                book = {"id": page, "title": f"Book {page}"}
                self.answer({"items": [book], "total": 2, "next_page": 2 if page == 1 else None})
            case ["books", "1"]:
                self.answer({"id": 1, "title": "Book 1"}, headers={"ETag": '"one"'})
            case ["books", number]:
                self.answer({"detail": f"there is no book {number}"}, 404)
            case ["loans"]:
                self.answer({"items": [{"member_id": 1}, {"member_id": 2}]})
            case ["members", number]:
                self.answer({"id": int(number), "branch": "Harbour" if number == "1" else "Hill"})
            case _:
                self.answer([{"title": "It fails", "created_at": "2026-01-02T03:04:05Z"}])

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/v1/chat/completions":
            said = '"novel"' if "JSON" in str(body) else "It is short."
            self.answer({"choices": [{"message": {"role": "assistant", "content": said}}]})
        else:
            self.answer(body, 201)


@pytest.fixture(scope="module")
def configuration(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    tmp_path = tmp_path_factory.mktemp("programs")
    (tmp_path / "files.py").write_text(FILES)
    text = f'state = "state"\ncache = "none"\nplugins = ["ruff"]\n[servers.files]\nsource = "mcp"\ncommand = "{sys.executable}"\nargs = ["files.py"]\n'
    with web(Api) as url:
        for name, paths in PATHS.items():
            document = {"openapi": "3.1.0", "info": {"title": name, "version": "1"}, "paths": paths}
            (tmp_path / f"{name}.json").write_text(json.dumps(document))
            text += f'[servers.{name}]\nsource = "openapi"\nspec = "{name}.json"\nbase_url = "{url}"\n'
        text += f'[servers.llm]\nsource = "llm"\nmodel = "m"\nbase_url = "{url}/v1"\n'
        (tmp_path / "doorward.toml").write_text(text)
        yield tmp_path / "doorward.toml"


VALUES = {
    "issues =": {"open": 1, "oldest": "2026-01-02T03:04:05Z"},
    "doorward.items": {"titles": ["Book 1", "Book 2"], "total": 2},
    "doorward.reply": ["Book 1", 200, '"one"'],
    "asyncio.gather": 1,
    "llm.ask": "novel",
    "llm.think": "It is short.",
    "read_text_file(": "what is in /data/notes.txt",
    "issues_create(": {"title": "It works"},
    "ApiError": [404, 'library.get_book (GET /books/{id}) answered 404 Not Found: "there is no book 999999"'],
}
"""What the programs come to, by a part of each."""


@pytest.fixture(scope="module")
def outcomes(configuration: Path) -> dict[Snippet, Outcome]:
    """What the programs come to, one after the other in one gateway."""

    async def run() -> dict[Snippet, Outcome]:
        async with Gateway.open(configuration) as gate:
            return {snippet: await gate.execute(snippet.text) for snippet in PROGRAMS}

    return anyio.run(run)


@pytest.mark.parametrize("snippet", PROGRAMS, ids=str)
def test_a_program_runs(snippet: Snippet, outcomes: dict[Snippet, Outcome]) -> None:
    """It succeeds, with the value that is told, and the guard `ruff` has nothing to say of it."""
    (value,) = [value for part, value in VALUES.items() if part in snippet.text]
    outcome = outcomes[snippet]
    assert outcome.ok, outcome.error
    assert outcome.value == value
    assert outcome.notes == ()


def test_the_error_that_is_shown_is_one() -> None:
    """docs/programs.md shows what the program with an error comes to."""
    (shown,) = re.findall(r"^gives `(.*)`\.$", text_of("docs/programs.md"), re.MULTILINE)
    assert json.loads(shown) == VALUES["ApiError"]


def test_the_library_snippet_of_core_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    """`main` in core's README prints the value of its program."""
    (tmp_path / "doorward.toml").write_text('state = "state"\ncache = "none"\nplugins = []\n')
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    (snippet,) = [s for s in snippets("python") if s.page == "core/README.md"]
    exec(compile(snippet.text, snippet.page, "exec"), names)
    anyio.run(names["main"])
    assert capsys.readouterr().out == "2\n"


def test_the_snippets_of_the_jail_run(tmp_path: Path) -> None:
    """Its README's executor can be defined, and its probes probe what a configuration names."""
    (tmp_path / "doorward.toml").write_text('state = "state"\nexecutor = "monty"\ncache = "none"\nplugins = []\n')
    executor, probes = [s.text for s in snippets("python") if s.page == "libs/jail/README.md"]
    for text in (executor, probes):
        words = [sys.executable, "-c", text, "doorward.toml"]
        ended = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert ended.returncode == 0, ended.stderr
    assert ended.stdout.startswith("monty ")


def test_conformance_snippets_pass(tmp_path: Path) -> None:
    """The test classes in READMEs pass as they are printed."""
    shown = [s for s in snippets("python") if "/README.md" in s.page and "class Test" in s.text]
    assert shown
    for number, snippet in enumerate(shown):
        (tmp_path / f"test_{number}.py").write_text(f"# {snippet.page}\n{snippet.text}")
    words = [sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider", "--rootdir", "."]
    ended = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout
    assert [number for number in range(len(shown)) if f"test_{number}.py::" not in ended.stdout] == []
