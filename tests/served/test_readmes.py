"""Programs of other systems run as they stand, with today's servers behind them: the examples of those systems' own
documents, where `DOORWARD_SEEDS` names a folder with them, and programs of the same forms."""

from __future__ import annotations

import importlib.util
import json
import re
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from .forked import Forked
from .mcp_today import FILES, todays_servers
from .product import Agent, Project, apart, web
from .test_llm import SERVER, Providers

pytestmark = pytest.mark.anyio

needs_deno = pytest.mark.skipif(
    sys.platform != "linux" or importlib.util.find_spec("deno") is None, reason="deno is absent: it runs on Linux"
)
Calls = list[tuple[str, dict[str, Any]]]


@pytest.fixture(scope="module")
def model() -> Iterator[tuple[str, list[str]]]:
    """A provider of a model, and what it was sent."""
    seen: list[str] = []
    with web(type("Kept", (Providers,), {"seen": seen})) as url:
        yield url, seen


@pytest.fixture(scope="module")
def served(model: tuple[str, list[str]], tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Project, Calls]]:
    with todays_servers() as (servers, calls):
        limits = "[limits]\nrate = 100000\n"
        project = Forked(tmp_path_factory.mktemp("readmes"), limits + servers + SERVER.format(url=model[0]))
        project.change('executor = "monty"', 'executor = ["monty", "deno"]')
        (project.folder / ".env").write_text("MODEL_KEY=sk-test-0123456789\n")
        yield project, calls


@pytest.fixture(scope="module")
async def connected(anyio_backend: str, served: tuple[Project, Calls]) -> AsyncIterator[Agent]:
    async with apart(served[0].stdio()) as agent:
        yield agent


@pytest.fixture
def calls(served: tuple[Project, Calls]) -> Calls:
    """What today's servers are asked in one test."""
    served[1].clear()
    return served[1]


async def ran(agent: Agent, code: str, language: str = "python") -> Any:
    """The answer of a program that must succeed."""
    answer = await agent.run(code, language=language)
    assert answer.get("ok"), (code, answer)
    return answer


# Programs of the same forms

FORMS = {
    "from ./mcp-wrappers": (
        "typescript",
        "import { filesystem, googleDrive } from './mcp-wrappers';\n"
        "const text = await filesystem.readFile({ path: '/tmp/work.txt' });\n"
        "const long: string = await googleDrive.getDocument({ documentId: 'a' });\n"
        "console.log(text.trim(), long.length);",
        "TODO: paint the pier 990",
    ),
    "review in TypeScript": (
        "typescript",
        "const said = await callMCPTool('mcp__zen__codereview', { code: 'x' });\n"
        "console.log(said.suggestions.replace(/timing-attack/g, 'equal'));",
        "if (equal(a, b)) return;",
    ),
    "taken apart": (
        "typescript",
        "const { suggestions } = await callMCPTool('mcp__zen__codereview', { code: 'x' });\nconsole.log(suggestions.length);",
        "32",
    ),
    "parsed by the program": (
        "typescript",
        "console.log(JSON.parse(await callMCPTool('mcp__zen__codereview', { code: 'x' })).suggestions.length);",
        "32",
    ),
    "text as it was": (
        "typescript",
        "console.log('sent: ' + await callMCPTool('mcp__filesystem__read_file', { path: './package.json' })"
        " + await callMCPTool('mcp__github__create_issue', { repo: 'a', title: 'b' }));",
        'sent: {"name": "harbour"}{"number": 7}',
    ),
    "text as it was, in Python": (
        "python",
        "text = call_mcp_tool('mcp__github__create_issue', {'repo': 'a', 'title': 'b'})\nprint(f'sent: {text}')",
        'sent: {"number": 7}',
    ),
    "by json.loads": (
        "python",
        "import asyncio, json\n\nasync def main():\n"
        "    read = json.loads(await call_mcp_tool('mcp__filesystem__read_file', {'path': '/tmp/data.json'}))\n"
        "    made = json.loads(await call_mcp_tool('mcp__github__create_issue', {'repo': 'a', 'title': 'b'}))\n"
        "    print(sum(read['numbers']), made['number'], len(await discover_mcp_tools()) > 10)\n\nasyncio.run(main())",
        "6 7 True",
    ),
    "from runtime.mcp_client": (
        "python",
        "import asyncio\nfrom runtime.mcp_client import call_mcp_tool\n\nasync def main():\n"
        "    log = await call_mcp_tool('git__git_log', {'repo_path': '.'})\n"
        "    made = await call_mcp_tool('github__create_issue', {'repo': 'a', 'title': 'b'})\n"
        "    print(len(log.splitlines()), len(made))\n\nif __name__ == '__main__':\n    asyncio.run(main())",
        "2 1",
    ),
    "from servers": (
        "python",
        "from servers.git.git_log import git_log\nfrom servers.fetch import fetch\n"
        "print(len(await git_log(repo_path='.')), await fetch(url='http://a'))",
        "20 the page at http://a",
    ),
    "a text in a loop": (
        "python",
        "for path in await mcp_filesystem.list_directory(path='/tmp'):\n"
        "    if 'TODO' in await mcp_filesystem.read_file(path=path):\n        print(path)",
        "/tmp/work.txt",
    ),
    "fields as attributes": (
        "python",
        "for one in await mcp_jira.search_issues(project='API'):\n    details = await mcp_jira.get_issue(id=one.id)\n"
        "    print(f'{one.title}: {details.description.lower()}')",
        "Gate stuck: a bug in the lock\nNew crane: buy it",
    ),
    "a repeated text of any name": (
        "python",
        "text = await mcp_google_drive.get_document(documentId='a')\nprint(text[:8] + '…')",
        "The tide…",
    ),
}


@pytest.mark.parametrize("form", FORMS)
async def test_programs_of_these_forms(connected: Agent, form: str) -> None:
    """They run unchanged, and get texts where those systems gave texts. CONTRACT: EXE-07, EXE-08, SRC-19, SRC-20,
    SRC-25."""
    language, code, printed = FORMS[form]
    if language == "typescript" and (reason := needs_deno.kwargs["reason"]) and needs_deno.args[0]:
        pytest.skip(reason)
    assert (await ran(connected, code, language))["printed"].strip() == printed


@pytest.mark.parametrize("language", ["python", pytest.param("typescript", marks=needs_deno)])
async def test_a_model_is_asked_without_an_import(
    connected: Agent, model: tuple[str, list[str]], language: str
) -> None:
    """By `llm.ask`, in both languages, with the text of a file. CONTRACT: LLM-01, EXE-04, EXE-08."""
    model[1].clear()
    code = {
        "python": "text = call_mcp_tool('mcp__filesystem__read_file', {'path': './package.json'})\n"
        "print(await llm.ask(f'say: {text}', max_tokens=9))",
        "typescript": "const text = await callMCPTool('mcp__filesystem__read_file', { path: './package.json' });\n"
        "console.log(await llm.ask('say: ' + text, { maxTokens: 9 }));",
    }[language]
    answer = await ran(connected, code, language)
    assert answer["printed"].strip() == 'SAY: {"NAME": "HARBOUR"}'
    assert answer["usage"]["llm"]["rounds"] == 1
    assert 'say: {\\"name\\": \\"harbour\\"}' in model[1][0].replace('\\\\\\"', '\\"')


SCRIPT = """
import argparse
import asyncio
import sys

from runtime.mcp_client import call_mcp_tool


def arguments():
    parser = argparse.ArgumentParser(description="Reads a page")
    parser.add_argument("--url", required=True)
    parser.add_argument("--most", type=int, default=4)
    return parser.parse_args([word for word in sys.argv[1:] if not word.endswith(".py")])


async def main():
    given = arguments()
    page = await call_mcp_tool("fetch__fetch", {"url": given.url})
    print(page[: given.most], given.url)


if __name__ == "__main__":
    asyncio.run(main())
"""


def test_a_script_with_flags(served: tuple[Project, Calls]) -> None:
    """`doorward run` gives it its own, among ours. CONTRACT: CAC-06, SKL-07."""
    project = served[0]
    (project.folder / "read_page.py").write_text(SCRIPT)
    told = project.run("run", "read_page.py", "--url", "https://example.com", "--json", "--most=8")
    assert json.loads(told.stdout)["printed"] == "the page https://example.com\n"
    missing = project.run("run", "read_page.py")
    assert missing.returncode == 1
    assert "the following arguments are required: --url" in missing.stdout


async def test_our_own_style_says_what_it_gives(connected: Agent) -> None:
    """A structure that only wraps a text is that text, as the card says; a search in it is never about its keys.
    CONTRACT: SRC-25, DIS-02."""
    (card,) = (await connected.call("get_functions", functions=["filesystem.read_file"]))["functions"]
    assert ") -> str:" in card["text"]
    code = "import filesystem\nresult = 'TODO' in filesystem.read_file(path='/tmp/work.txt')"
    assert await connected.value(code) is True
    error = (await connected.run("import filesystem\nfilesystem.read_file(path='/tmp/work.txt')['content']"))["error"]
    assert "filesystem.read_file answered a str" in error["hint"]


async def test_a_loop_over_a_text(connected: Agent) -> None:
    """Where a list was expected, the error of the call that it leads to says so."""
    code = "for path in await mcp_git.git_log(repo_path='.'):\n    await mcp_filesystem.read_file(path=path)"
    error = (await connected.run(code))["error"]
    assert error["hint"].startswith("A loop over a text gives its characters. git.git_log answered a text")


@needs_deno
async def test_packages_that_are_not_here(connected: Agent) -> None:
    """The library of the second system is told with what does the same; another name with hyphens is told whole."""
    code = "import {{ executeTypescript }} from '{}';\nawait executeTypescript({{}});"
    ours, other = [(await connected.run(code.format(name), language="typescript"))["error"]["hint"] for name in (
        "code-executor-mcp", "their-library"
    )]  # fmt: skip
    assert "callMCPTool" in ours
    assert "'their-library'" in other


async def test_names_of_functions_as_objects(connected: Agent) -> None:
    """`get_functions` understands `{"server_name", "function_name"}`. CONTRACT: DIS-02."""
    asked = [{"server_name": "git", "function_name": "git_log"}, "fetch.fetch"]
    cards = (await connected.call("get_functions", functions=asked))["functions"]
    assert [card["function"] for card in cards] == ["git.git_log", "fetch.fetch"]


# The examples themselves


def _document(seeds: Path, number: str) -> str:
    (file,) = seeds.glob(f"{number}_*.txt")
    return file.read_text(encoding="utf-8")


def _block(seeds: Path, holding: str) -> str:
    """The first block of code in the second document that holds a text."""
    blocks = re.findall(r"```\w+\n(.*?)```", _document(seeds, "001"), re.DOTALL)
    return next(block for block in blocks if holding in block)


def _inner(block: str) -> str:
    """The program that an example hands over as a text."""
    found = re.search(r'code: `(.*?)`|code = """(.*?)"""', block, re.DOTALL)
    assert found is not None
    return str(found[1] or found[2])


B = {
    "import { filesystem } from": ("typescript", ""),
    "mcp__zen__codereview', { code: file }": ("typescript", ""),
    "path: './package.json'": ("typescript", '{"name": "harbour"}'),
    "timing-attack": ("typescript", "Security fixes applied and committed"),
    "discoverMCPTools();": ("typescript", ""),
    "asyncio.run(main())": ("python", "Processed: [2, 4, 6]"),
}


@pytest.mark.parametrize("holding", B)
async def test_examples_of_the_second_system(connected: Agent, calls: Calls, seeds: Path, holding: str) -> None:
    """As they stand. CONTRACT: EXE-02, EXE-06, EXE-08, SRC-19, SRC-20, DIS-07."""
    language, printed = B[holding]
    code = _block(seeds, holding)
    if language == "typescript" and needs_deno.args[0]:
        pytest.skip(needs_deno.kwargs["reason"])
    assert printed in (await ran(connected, code, language)).get("printed", "")
    for function, given in calls:
        if function == "filesystem.write_file":
            assert given == {"path": "/src/auth.ts", "content": "if (constant-time(a, b)) return;"}


@pytest.mark.parametrize("holding", ["mcp__code-executor__executeTypescript", "Python example with sampling"])
async def test_sampling_of_the_second_system(connected: Agent, seeds: Path, holding: str) -> None:
    """The programs that its examples hand over ask a model about the text of a file. CONTRACT: LLM-01."""
    language = "typescript" if "Typescript" in holding else "python"
    if language == "typescript" and needs_deno.args[0]:
        pytest.skip(needs_deno.kwargs["reason"])
    answer = await ran(connected, _inner(_block(seeds, holding)), language)
    assert FILES["./auth.ts" if language == "typescript" else "./data.json"].upper().strip() in answer["printed"]


@needs_deno
async def test_a_browser_of_the_second_system(connected: Agent, seeds: Path) -> None:
    """Several actions in one run. CONTRACT: EXE-06."""
    answer = await ran(connected, _inner(_block(seeds, "mcp__playwright__launch")), "typescript")
    assert answer["printed"].strip() == "Page title: Example Domain"


def _indented(code: str) -> str:
    """Code of the third document, which has lost its indentation: functions, and what hangs on an `if`."""
    lines, within = [], ""
    for line in code.strip().splitlines():
        outer = line.startswith(("import ", "from ", "def ", "async def ", "if __name__", '"""')) or not line
        within = "" if outer else within
        lines.append(within + line)
        within = "    " if line.endswith(":") and outer else within
    return "\n".join(lines) + "\n"


async def test_the_script_of_the_third_system(connected: Agent, seeds: Path) -> None:
    """`from runtime.mcp_client import call_mcp_tool`. CONTRACT: EXE-08, SRC-26."""
    found = re.search(r"Example script:\n(.*?asyncio\.run\(main\(\)\))", _document(seeds, "002"), re.DOTALL)
    assert found is not None
    answer = await ran(connected, _indented(found[1]))
    assert answer["printed"].startswith("Fetched ")


async def test_the_template_of_the_third_system(served: tuple[Project, Calls], seeds: Path) -> None:
    """Its flags are read by argparse under `doorward run`. CONTRACT: CAC-06, SKL-07."""
    found = re.search(r"Creating Custom Scripts\n(.*?asyncio\.run\(main\(\)\))", _document(seeds, "002"), re.DOTALL)
    assert found is not None
    code = _indented(
        found[1].replace("# Your workflow logic here", "print(args.query, args.limit)\nresult = args.query")
    )
    project = served[0]
    (project.folder / "your_script.py").write_text(code)
    told = project.run("run", "your_script.py", "--query", "your question", "--limit", "5")
    assert "your question 5" in told.stdout, told


D = {
    "search_tool_docs(\"calendar events\", limit=5)": [
        (0, "from mcp import"), (0, "matches = "), (0, "for hit"), (4, "print(")],
    "# Use MCP tools in sandboxed code": [
        (0, "result = "), (0, "# Complex"), (0, "data = "), (0, "await mcp_github")],
    "# List and filter files": [
        (0, "files = "), (0, "for file"), (4, "content = "), (4, "if 'TODO'"), (8, "print(")],
    "# Extract data": [
        (0, "transcript = "), (0, "# Process"), (0, "summary = "), (0, "# Store"), (0, "await mcp_salesforce")],
    "# Jira": [
        (0, "issues = "), (0, "for issue"), (4, "details = "), (4, "if 'bug'"), (8, "await mcp_github")],
    "Peek at tool docs": [
        (0, 'print("Discovered'), (0, 'print("Cached servers'), (0, 'print("Loaded'), (0, 'print("Selectable'),
        (0, "# Peek"), (0, "loaded = "), (0, "if loaded:"), (4, "first = "), (4, "for tool"), (8, "print(tool"),
        (0, "# Ask"), (0, "if loaded:"), (4, "summaries ="), (4, "detailed ="), (4, 'print("Summaries'),
        (4, 'print("Cached tools'), (4, 'print("Detailed'), (0, "# Fuzzy"), (0, "results ="), (0, "for result"),
        (4, "print(result"), (0, "# Synchronous"), (0, 'print("Capability'), (0, 'print("Docs'), (0, 'print("Search from'),
    ],
}  # fmt: skip
"""Where lines begin in the blocks of the fourth document, which is one line, and how far they are indented."""


def _broken(code: str, lines: list[tuple[int, str]]) -> str:
    at = 0
    for indent, start in lines:
        at = code.index(start, at)
        code = f"{code[:at].rstrip()}\n{' ' * indent}{code[at:]}"
        at += 1 + indent
    return code.strip()


@pytest.mark.parametrize("holding", D)
async def test_examples_of_the_fourth_system(connected: Agent, calls: Calls, seeds: Path, holding: str) -> None:
    """As they stand, in Monty too. CONTRACT: EXE-07, DIS-10, DIS-11, DIS-12, DIS-13, DIS-14, DIS-15."""
    blocks = re.findall(r"```python (.*?)```", _document(seeds, "003"))
    (block,) = [each for each in blocks if holding in each]
    answer = await ran(connected, _broken(block, D[holding]))
    if holding == "# List and filter files":
        assert answer["printed"].splitlines() == ["TODO in /tmp/work.txt"]
    made = [given for function, given in calls if function in ("salesforce.update_record", "github.create_issue")]
    if holding == "# Extract data":
        assert [given["data"] for given in made] == [{"Notes": "The tide. " * 50 + "..."}]
    if holding == "# Jira":
        assert [(given["title"], given["body"]) for given in made] == [("Bug: Gate stuck", "A bug in the lock")]
