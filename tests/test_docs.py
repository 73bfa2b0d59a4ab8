"""The documentation against the code: commands, keys, hooks and snippets are what they say."""

from __future__ import annotations

import ast
import importlib
import inspect
import itertools
import json
import re
import runpy
import sys
import threading
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple, get_args

import anyio
import doorward
import jsonschema_rs
import pytest
from doorward import AgentTool, Gateway
from doorward.config import config
from doorward.config import settings as models
from doorward.config.environment import from_environment
from doorward.config.installed_plugins import GROUPS, installed
from doorward.configuration import Index, model_for
from doorward.plugins import hookspecs
from doorward.secrets.store import Secrets
from doorward_approvals.settings import ApprovalSettings
from doorward_cli.installed_commands import own_commands
from doorward_dist.settings import check_tables
from doorward_dist.source import read
from doorward_durable_runs.plans.outcome import PLAN, Plan
from doorward_durable_runs.plans.settings import PlanSettings
from doorward_durable_runs.settings import RunSettings
from doorward_mcp_server import guides
from doorward_mcp_server.settings import ClientSettings, HttpSettings, OAuthSettings
from doorward_program_helpers.helpers import Helpers
from doorward_sandbox_monty.library import LIBRARY
from doorward_testing import Commands
from doorward_testing.schemas import closed
from doorward_text import outcome_schema
from pydantic import ByteSize

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted(
    file
    for pattern in (
        "*.md",
        "docs/**/*.md",
        "core/*.md",
        "libs/*/README.md",
        "plugins/*/README.md",
        "distributions/*/README.md",
        "examples/**/*.md",
        "benchmarks/*.md",
        "release/*.md",
    )
    for file in ROOT.glob(pattern)
    if ".venv" not in file.parts
)
README = ROOT / "README.md"


class Snippet(NamedTuple):
    """A fenced block of a page."""

    page: str
    language: str
    text: str

    def __str__(self) -> str:
        return f"{self.page}:{self.text.strip().partition(chr(10))[0][:40]}"


def snippets(*languages: str) -> list[Snippet]:
    found = []
    for page in PAGES:
        for language, text in re.findall(
            r"^```(\w*)\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
        ):
            found += [Snippet(str(page.relative_to(ROOT)), language, text)] if language in languages else []
    return found


def text_of(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def rows(page: str, heading: str) -> dict[str, list[str]]:
    """The tables below a heading of a page: first cell without backticks → the other cells (of the first such row)."""
    part = re.split(r"^##+ ", text_of(page).partition(f"\n{heading}\n")[2], maxsplit=1, flags=re.MULTILINE)[0]
    lines = part.splitlines()
    told = [
        line
        for line, below in zip(lines, [*lines[1:], ""], strict=True)
        if line.startswith("|") and not below.startswith("|-")
    ]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in told]
    return {first.strip("`"): rest for first, *rest in reversed(cells)}


@pytest.mark.slow
def test_the_architecture_names_what_there_is() -> None:
    """ARCHITECTURE.md names each distribution and each package, in the package's own words. Each file that `docs/code.md`
    names is there, with what it names in it."""
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    distributions = [f"{file.parent.parent.name}/{file.parent.name}/" for file in ROOT.glob("[lp]*/*/pyproject.toml")]
    assert [folder for folder in distributions if f"`{folder}`" not in text] == []
    for package in (ROOT / "core/src/doorward").glob("*/__init__.py"):
        belongs, never = (
            inspect.cleandoc(ast.get_docstring(ast.parse(package.read_text(encoding="utf-8"))) or "")
        ).split("\n\n", 1)
        said = f"| `{package.parent.name}/` | {' '.join(belongs.split())} {' '.join(never.split())}"
        assert never.startswith("Never ")
        assert said.partition(". Never ")[0] in text
        assert f"Never {said.partition('. Never ')[2].partition('.')[0]}" in text, package
    code = (ROOT / "docs/code.md").read_text(encoding="utf-8")
    named = re.findall(r"`((?:core|libs|plugins)/[\w/]+\.py)`(?: `([\w.]+)`)?", code)
    assert len(named) > 20
    for path, symbol in named:
        scope: Any = ast.parse((ROOT / path).read_text(encoding="utf-8"))
        for name in filter(None, symbol.split(".")):
            found = [node for node in scope.body if getattr(node, "name", "") == name]
            assert found, f"{path}: {symbol}"
            scope = found[0]


@pytest.mark.slow
def test_the_reference_is_what_the_code_says() -> None:
    """The pages of `docs/reference`, and the stubs, are those that `make reference` writes."""
    generate = runpy.run_path(str(ROOT / "docs/reference/generate.py"))
    pages, stubs = generate["pages"](), generate["stubs"]()
    there = {file.name: file.read_text(encoding="utf-8") for file in (ROOT / "docs/reference").glob("*.md")}
    assert there == pages, "run `make reference`"
    assert {file: file.read_text(encoding="utf-8") for file in stubs} == stubs, "run `make reference`"


@pytest.mark.slow
def test_the_lists_of_messages_are_what_the_code_says() -> None:
    """The pages of `docs/troubleshooting` are those that `make reference` writes. CONTRACT: CLI-12."""
    generate = runpy.run_path(str(ROOT / "docs/troubleshooting/generate.py"))
    pages = generate["pages"]()
    assert generate["ADDRESSES"].read_text(encoding="utf-8") == generate["addresses"](pages), "run `make reference`"
    there = {file.name: file.read_text(encoding="utf-8") for file in (ROOT / "docs/troubleshooting").glob("*.md")}
    assert there == pages, "run `make reference`"


@pytest.mark.slow
def test_every_hint_is_found_by_its_words() -> None:
    """Each text that stands in the code as a hint, or is returned by the module of hints, is on a page; so is each message that
    docs/troubleshooting.md shows. CONTRACT: CLI-12."""
    lists = "\n".join(text_of(str(file.relative_to(ROOT))) for file in (ROOT / "docs/troubleshooting").glob("*.md"))
    listed = " ".join(lists.replace("\\|", "|").replace("&lt;", "<").split())
    missing = [
        (file.name, words)
        for folder in ("core/src", "libs/*/src", "plugins/*/src")
        for file in ROOT.glob(f"{folder}/**/*.py")
        for words in hints_of(file)
        if words not in listed
    ]
    assert missing == []
    assert "It has `status`, `body` and `retry_after`; str(error) is its message." in listed  # of hints.py
    shown = re.findall(r"^```text\n(.*?)^```$", text_of("docs/troubleshooting.md"), re.DOTALL | re.MULTILINE)
    sources = [
        file.read_text(encoding="utf-8")
        for folder in ("core", "libs", "plugins")
        for file in ROOT.glob(f"{folder}/**/src/**/*.py")
    ]
    said = re.sub(r'"\s+f?"', "", "\n".join([*sources, text_of("Makefile")]))
    parts = {part.strip(" '(){}\"") for block in shown for part in re.split(r"[…:;.(\n]|\d+", block)}
    assert {part for part in parts if len(part) > 8 and part not in said} == {"invalid_token"}  # which the MCP SDK says
    assert len(parts) > 50


def hints_of(file: Path) -> Iterator[str]:
    """The texts of a module that are hints where they stand, without what is put in at run time."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.keyword) and node.arg == "hint":
            for part in node.value.values if isinstance(node.value, ast.JoinedStr) else [node.value]:
                words = (
                    " ".join(part.value.split())
                    if isinstance(part, ast.Constant) and isinstance(part.value, str)
                    else ""
                )
                if len(words) > 8:
                    yield words


def test_snippets_import_what_there_is() -> None:
    """What a snippet imports of Doorward's packages is there, and no name of yesterday."""
    missing = []
    for snippet in snippets("python"):
        for node in ast.walk(ast.parse(snippet.text)):
            if isinstance(node, ast.ImportFrom) and re.match(r"doorward(_\w+)?(\.|$)", node.module or ""):
                module = importlib.import_module(str(node.module))
                missing += [(snippet.page, node.module, n.name) for n in node.names if not hasattr(module, n.name)]
    assert missing == []


def test_the_pages_are_there() -> None:
    """What a project is expected to say of itself is said. CONTRACT: TST-05, SEC-12."""
    for page in (
        "README.md",
        "AGENTS.md",
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
        "SECURITY.md",
        "CHANGELOG.md",
        "LICENSE",
        "docs/contract.md",
        "docs/configuration.md",
    ):
        assert (ROOT / page).stat().st_size > 500, page
    security = text_of("SECURITY.md")
    assert all(part in security for part in ("## Who is trusted", "## What each part promises", "## Reporting a hole"))


def test_commands_of_the_docs_exist() -> None:
    """Every `make TARGET` and `doorward COMMAND` in the pages is one."""
    targets = set(re.findall(r"^([a-z-]+):", text_of("Makefile"), re.MULTILINE))
    commands = {*(entry.name for entry in installed() if entry.kind == "command"), "NAME", "WORD", "WORDS", "COMMAND"}
    commands.add("totals")  # the example of docs/plugins/command.md
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        called = re.findall(r"(?:`|\$ )make ([a-z-]+)", text)
        assert set(called) <= targets, page
        if page.parent.name == "troubleshooting":
            continue  # messages, of which one begins with the name
        named = re.findall(r"(?:`|\$ |-- )doorward ([A-Za-z]+)", text)
        assert set(named) <= commands, page


def test_the_table_of_the_command_line_is_in_the_changelog() -> None:
    """Each command is told to users, by the changelog or by what the next release adds to it."""
    text = text_of("CHANGELOG.md") + "".join(
        file.read_text(encoding="utf-8") for file in (ROOT / "changes").glob("*.*.md")
    )
    assert [name for name in own_commands() if f"`{name}`" not in text] == []


@pytest.mark.slow
def test_links_lead_somewhere() -> None:
    """Every relative link of a page names a file, and its anchor a heading or a message."""
    for page in PAGES:
        for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
            path, _, anchor = target.partition("#")
            if re.match(r"\w+:", target):
                continue
            file = (page.parent / path).resolve() if path else page
            assert file.exists(), f"{page}: {target}"
            if anchor:
                text = file.read_text(encoding="utf-8")
                headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
                anchors = {re.sub(r"[^\w -]", "", h.lower()).replace(" ", "-") for h in headings}
                assert anchor in anchors or f'<a id="{anchor}">' in text, f"{page}: {target}"


@pytest.mark.slow
@pytest.mark.parametrize("snippet", snippets("toml"), ids=str)
def test_toml_snippets_are_configurations(snippet: Snippet, tmp_path: Path) -> None:
    """A TOML block parses; one that configures Doorward is valid, every driver's settings included. One that describes
    a distribution is valid as that, with the settings of plugins. (Files of packages that `doorward plugin new` writes
    are held in `test_tutorials.py`, and tried in `served/test_generated_plugins.py`.)"""
    data = tomllib.loads(snippet.text)
    if snippet.page.startswith("docs/plugins/") and snippet.text.startswith(("# doorward.toml\n", "# src/")):
        return
    if "project" in data:
        assert set(data["project"]["entry-points"]) <= set(GROUPS.values())
        return
    if "distribution" in data:
        (tmp_path / "distribution.toml").write_text(snippet.text, encoding="utf-8")
        assert check_tables(read(tmp_path)) == []
        return
    (tmp_path / "doorward.toml").write_text(
        f'state = "state"\n{snippet.text}' if "state" not in data else snippet.text, encoding="utf-8"
    )
    loaded = config.load(tmp_path / "doorward.toml", environ={})
    assert loaded.broken == {}
    from doorward.config.layers import find_index
    from doorward.plugins.manager import Plugins

    plugins = Plugins(find_index())
    tables = [("executor", loaded.config.executors), ("plugin", loaded.config.hooks)]
    tables += [("store", loaded.config.stores), ("cache", loaded.config.caches)]
    for kind, table in tables:
        for name, options in table.items():
            config.validate(plugins.driver(kind, name).Settings, options, secrets=loaded.secrets, place=name)
    for server in loaded.servers.values():
        config.validate(
            plugins.driver("source", server.settings.source).Settings,
            dict(server.options),
            secrets=loaded.secrets,
            place=server.place,
        )
        auth = server.settings.auth or []
        for table in auth if isinstance(auth, list) else [auth]:
            options = dict(table)
            config.validate(
                plugins.driver("auth", options.pop("type")).Settings,
                options,
                secrets=loaded.secrets,
                place=server.place,
            )


@pytest.mark.parametrize("snippet", snippets("python"), ids=str)
def test_python_snippets_parse(snippet: Snippet) -> None:
    """A Python block is Python (a program may await at its top)."""
    compile(snippet.text, snippet.page, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT | ast.PyCF_ONLY_AST)


@pytest.mark.parametrize("snippet", snippets("json"), ids=str)
def test_json_snippets_parse(snippet: Snippet) -> None:
    """A JSON block is JSON."""
    json.loads(snippet.text)


def test_the_20_lines_are_the_example() -> None:
    """The plugin of docs/start.md is the file that is tested."""
    example = text_of("examples/plugin_in_20_lines.py")
    shown = next(s.text for s in snippets("python") if s.page == "docs/start.md" and "class Notes:" in s.text)
    assert shown.strip() == example[example.index('"""', 3) + 3 :].strip()
    entry = next(s.text for s in snippets("toml") if s.page == "docs/start.md" and "plugin_in_20_lines" in s.text)
    assert (
        entry.split()
        == [
            word
            for line in example.splitlines()
            if line.startswith("    [project") or "Notes" in line
            for word in line.split()
        ][: len(entry.split())]
    )


def test_the_tests_are_run_by_make_test() -> None:
    """The README names the command that runs them, and the one that runs all. CONTRACT: TST-01."""
    text = README.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 120, "it is read in two minutes"
    assert "$ make test" in text
    assert "`make test-all`" in text
    rules = dict(re.findall(r"^([a-z-]+): .*\n((?:\t.*\n)+)", text_of("Makefile"), re.MULTILINE))
    for target in ("quick", "test"):
        assert rules[target].splitlines()[-1].startswith("\t$(BIN)/python -m pytest $(FIRST) "), target
    assert {"libs)", "plugins", "core/tests"} <= {*rules["test"].split()}, "those of each distribution"
    assert " -m pytest " in rules["test-all"]
    first = re.search(r'^FIRST := .* -m "(.*)"$', text_of("Makefile"), re.MULTILINE)
    assert first is not None
    assert first[1] == "not slow and not alone or essential", "what starts containers is slow"


def test_tools_of_the_readme_are_those_served() -> None:
    """docs/start.md names each tool that `doorward[standard]` always has, with its arguments, optional ones with a question
    mark."""
    from doorward_mcp_server.tools import TOOLS

    table = rows("docs/start.md", "## What the agent sees")
    always = AgentTool.offered  # what it is where nothing is said
    tools = [tool for tool in TOOLS if tool.description and (tool.offered is always or tool.name == "run_cached_code")]
    assert list(table)[::-1][1:] == [tool.name for tool in tools]
    for tool in tools:
        known, required = tool.input_schema["properties"], tool.input_schema.get("required", [])
        shown = re.findall(r"`([a-z_]+\??)`", table[tool.name][0])
        assert shown == [key if key in required else f"{key}?" for key in known], tool.name
    assert len(guides.STANDARD) < 1200


def test_the_page_has_each_tool_with_its_arguments(tmp_path: Path) -> None:
    """docs/mcp.md has a row for each argument of each tool: its type, whether it is required, and its default."""
    from doorward_mcp_server.served_tools import tools_of

    (tmp_path / "doorward.toml").write_text("", encoding="utf-8")

    async def served() -> list[AgentTool]:
        async with Gateway.open(tmp_path / "doorward.toml") as gate:
            return [tool for tool, _ in tools_of(gate).values()]

    tools = anyio.run(served)
    part = text_of("docs/mcp.md").partition("\n## Tools\n")[2].partition("\n\nSome tools")[0]
    lines = [[cell.strip(" `") for cell in line.strip("|").split("|")] for line in part.splitlines()[3:]]
    told: list[tuple[str, str, str, str]] = []
    for name, argument, kind, default, _ in lines:
        told.append((name or told[-1][0], argument, kind, default))
    wanted = [
        (tool.name, argument, tool, schema)
        for tool in tools
        for argument, schema in tool.input_schema["properties"].items()
    ]
    assert [(name, argument) for name, argument, _, _ in told] == [(name, argument) for name, argument, _, _ in wanted]
    for (_, argument, kind, default), (name, _, tool, schema) in zip(told, wanted, strict=True):
        assert re.match(rf"{schema['type']}\b", kind), (name, argument)
        assert ("required" in kind) == (argument in tool.input_schema.get("required", ())), (name, argument)
        assert not schema.get("default") or default == str(schema["default"]), (name, argument)


TOP = model_for(["output"], Index(installed()))
"""The keys at the top, that of `serve` included."""

SECTIONS = {
    "## The top": (TOP, "DOORWARD_"),
    "## `[servers.NAME]`": (models.ServerSettings, "DOORWARD_SERVERS__NAME__"),
    "## `[policy]`": (models.PolicySettings, "DOORWARD_POLICY__"),
    "## `[approvals]`": (ApprovalSettings, "DOORWARD_APPROVALS__"),
    "## `[endpoints.NAME]`": (models.EndpointSettings, "DOORWARD_ENDPOINTS__NAME__"),
    "## `[principals.NAME]`": (models.PrincipalSettings, "DOORWARD_PRINCIPALS__NAME__"),
    "## `[clients.NAME]`": (ClientSettings, "DOORWARD_CLIENTS__NAME__"),
    "## `[limits]`": (models.LimitSettings, "DOORWARD_LIMITS__"),
    "## `[plans]`": (PlanSettings, "DOORWARD_PLANS__"),
    "## `[runs]`": (RunSettings, "DOORWARD_RUNS__"),
    "## `[http]`": (HttpSettings, "DOORWARD_HTTP__"),
    "## `[http.oauth]`": (OAuthSettings, "DOORWARD_HTTP__OAUTH__"),
}


@pytest.mark.parametrize("heading", SECTIONS)
def test_every_key_is_documented(heading: str) -> None:
    """docs/configuration.md has each key with its default and its variable, which sets it, and no key that there is
    not. CONTRACT: CLI-11."""
    model, prefix = SECTIONS[heading]
    shown = rows("docs/configuration.md", heading)
    fields = {key: field for key, field in model.model_fields.items() if not _is_table(field.annotation)}
    assert fields.keys() <= shown.keys()
    core = tomllib.loads((ROOT / "core/src/doorward/defaults.toml").read_text(encoding="utf-8"))["defaults"]
    for key, field in fields.items():
        _, default, variable, meaning = shown[key]
        assert len(meaning) > 10
        assert variable.strip("`") == ("DOORWARD_STATE_DIR" if key == "state" else f"{prefix}{key.upper()}")
        set_by, value = "", from_environment(Secrets(None, environ={variable.strip("`"): "x"}))
        while isinstance(value, dict):
            ((set_by, value),) = value.items()
        assert (set_by, value) == (key, "x")
        if key != "state":
            value = core[key] if model is TOP and key in core else None if field.is_required() else field.get_default()
            assert default == ("–" if value is None else f"`{_written(value)}`"), key
    if model is TOP:
        tables = model.model_fields.keys() - fields.keys()
        assert [key for key in tables if f"`{key}`" not in text_of("docs/configuration.md")] == []


PARTS = {PLAN: Plan}
"""What plugins of ours add to an answer."""


def test_the_answer_that_is_shown_is_one() -> None:
    """docs/mcp.md shows every field of an answer, and none that there is not."""
    shown = [json.loads(s.text) for s in snippets("json") if s.page == "docs/mcp.md" and '"ok"' in s.text]
    for answer in shown:
        jsonschema_rs.validate(closed(outcome_schema(PARTS)), answer)
    assert {key for answer in shown for key in answer} == outcome_schema(PARTS)["properties"].keys()


def _is_table(annotation: Any) -> bool:
    """Whether a key has a section of its own."""
    parts = get_args(annotation)  # of tables by their names, or of one that may be missing
    return parts[1:] == (dict[str, Any],) or any(
        isinstance(p, type) and issubclass(p, models.Settings) for p in (annotation, *parts)
    )


def _written(value: Any) -> str:
    """A default as TOML."""
    if isinstance(value, ByteSize):
        return json.dumps(value.human_readable(separator="").replace(".0", ""))
    return json.dumps(int(value) if isinstance(value, float) and value.is_integer() else value)


def test_variables_that_are_no_keys_are_documented() -> None:
    """What `DOORWARD_*` means besides keys."""
    from doorward.config.environment import NOT_SETTINGS

    assert set(rows("docs/configuration.md", "## Environment")) >= NOT_SETTINGS


def tutorials() -> str:
    """The text of all pages in docs/plugins."""
    return "\n".join(file.read_text(encoding="utf-8") for file in sorted((ROOT / "docs/plugins").glob("*.md")))


def test_every_hook_is_documented() -> None:
    """One page in docs/plugins has each hook with its exact arguments, and none a hook that there is not; which answers
    count is said. The table of docs/plugins/hooks.md leads to each."""
    headings = re.findall(r"^### (\w+)\((.*)\)$", tutorials(), re.MULTILINE)
    shown = dict(headings)
    assert len(shown) == len(headings)
    of_capabilities = [getattr(entry.point.load(), "hookspecs", ()) for entry in installed() if entry.kind == "plugin"]
    groups = [*hookspecs.SPECS, *itertools.chain(*of_capabilities)]
    specs = {name: spec for group in groups for name, spec in vars(group).items() if inspect.isfunction(spec)}
    assert shown == {name: ", ".join(list(inspect.signature(spec).parameters)[1:]) for name, spec in specs.items()}
    for name, spec in specs.items():
        about = tutorials().partition(f"\n### {name}(")[2].partition("\n#")[0]
        assert ("first answer" in about) == bool(spec.doorward_spec["firstresult"]), name
        assert "Fires" in about.replace("\n", " "), name
        assert f"[`{name}`](" in text_of("docs/plugins/hooks.md"), name


def test_every_name_of_the_module_in_programs_is_documented() -> None:
    """The authors of executors read what `import doorward` gives a program: each helper, and the two errors."""
    names = rows("docs/plugins/executor.md", "### The module `doorward`")
    listed = {name for cell in names for name in re.findall(r"\w+", cell)} - {"name"}
    assert listed == {*(name for name in vars(Helpers) if not name.startswith("_")), "skills", "ApiError", "ToolError"}


@pytest.mark.parametrize("name", ["Source", "Auth", "Cache", "Executor", "Sandbox", "Door", "Observer"])
def test_every_driver_method_is_documented(name: str) -> None:
    """A page in docs/plugins has each member of each protocol with its exact signature."""
    shown = tutorials().partition(f"\n### {name}\n")[2].partition("```text\n")[2].partition("```")[0].splitlines()
    protocol = ast.parse(inspect.getsource(getattr(doorward, name))).body[0]
    assert isinstance(protocol, ast.ClassDef)
    methods = []
    for node in protocol.body:
        if isinstance(node, ast.AnnAssign):
            methods.append(ast.unparse(node))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            node.body = [ast.Expr(ast.Constant(...))]
            methods.append(
                re.sub(r"(: bool|: str)=", r"\1 = ", ast.unparse(node).replace("\n   ", "")).replace("''", '""')
            )
    assert shown == methods


def test_every_kind_of_plugin_is_documented() -> None:
    """docs/plugins.md has each entry-point group."""
    groups = {cells[0].strip("`") for cells in rows("docs/plugins.md", "## Kinds").values()}
    assert set(GROUPS.values()) <= groups


def test_settings_of_sources_and_auth_are_named() -> None:
    """docs/configuration.md names the keys of each source and auth type that is installed here."""
    from doorward.config.layers import find_index
    from doorward.plugins.manager import Plugins

    plugins, shown = Plugins(find_index()), rows("docs/configuration.md", "## `[servers.NAME]`")
    for kind in ("source", "auth"):
        for entry in plugins.index.of(kind):
            keys = [field.alias or key for key, field in plugins.driver(kind, entry.name).Settings.model_fields.items()]
            assert re.findall(r"`(\w+)`", shown[entry.name][0]) == keys, entry.name


@contextmanager
def greeter() -> Iterator[str]:
    """An API without credentials, with one operation; it tells what header came along."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = json.dumps(
                {"hello": self.path.rpartition("/")[2], "authorization": self.headers["Authorization"]}
            ).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: Any) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


HELLO = {
    "openapi": "3.1.0", "info": {"title": "Greeter", "version": "1"},
    "paths": {"/hello/{who}": {"get": {"operationId": "sayHello", "summary": "Say hello", "parameters": [
        {"name": "who", "in": "path", "required": True, "schema": {"type": "string"}}],
        "responses": {"200": {"description": "ok"}}}}},
}  # fmt: skip


@pytest.fixture(scope="module")
def commands() -> Iterator[Commands]:
    """The commands of Doorward."""
    with Commands(modules=["mcp.client"]) as commands:
        yield commands


@pytest.fixture
def ran(commands: Commands, tmp_path: Path) -> Callable[..., str]:
    """What a command prints in the folder of the test, which succeeds."""
    environment = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "DOORWARD_STATE_DIR": str(tmp_path / "state")}

    def ran(*words: str, **more: str) -> str:
        done = commands.run(words, environment | more, tmp_path)
        assert done.returncode == 0, done
        return done.stdout

    return ran


@pytest.mark.slow
def test_the_quick_start_works(ran: Callable[..., str], tmp_path: Path) -> None:
    """`init`, `add`, `compile`, `search`, `show`, `call` in this order; a server without `auth` sends none, one that is
    disabled by the environment is not there. CONTRACT: AUT-08, AUT-11, MCP-05, CLI-01."""
    (tmp_path / "hello.json").write_text(json.dumps(HELLO))
    with greeter() as url:
        ran("init")
        assert "mcpServers" in ran("add", "openapi", "greeter", "hello.json", "--base-url", url, "--read-only")
        assert "unchanged" in ran("compile")
        assert "greeter.say_hello" in ran("search", "say", "hello")
        assert "def say_hello(" in ran("show", "greeter.say_hello")
        assert json.loads(ran("call", "greeter.say_hello", "who=you")) == {"hello": "you", "authorization": None}
        listed = json.loads(ran("list", "--json", DOORWARD_SERVERS__GREETER__DISABLED="true"))
        assert listed["servers"] == []


CLOCK = """
from mcp.server.mcpserver import MCPServer

server = MCPServer("clock")

@server.tool()
def hours(minutes: int) -> float:
    \"\"\"Minutes as hours.\"\"\"
    return minutes / 60

server.run()
"""


@pytest.mark.slow
def test_the_quick_start_of_mcp_servers_works(ran: Callable[..., str], tmp_path: Path) -> None:
    """`add mcp NAME -- COMMAND`, then its tools are functions like any other; `import` takes over another client's
    server.
    CONTRACT: MCP-01, MCP-16."""
    (tmp_path / "clock.py").write_text(CLOCK)
    entry = {"mcpServers": {"timer": {"command": sys.executable, "args": [str(tmp_path / "clock.py")]}}}
    (tmp_path / "theirs.json").write_text(json.dumps(entry))

    ran("init")
    assert "clock: 1 function" in ran("add", "mcp", "clock", "--", sys.executable, "clock.py")
    assert "def hours(" in ran("show", "clock.hours")
    assert json.loads(ran("call", "clock.hours", "minutes=90")) == 1.5
    ran("import", "theirs.json", "--yes")
    ran("compile")
    (tmp_path / "program.py").write_text(
        "import clock, timer\nresult = clock.hours(minutes=30) + timer.hours(minutes=60)"
    )
    assert json.loads(ran("run", "program.py", "--json"))["value"] == 1.5


@pytest.mark.slow
def test_the_library_snippet_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The program of docs/start.md that uses Doorward as a library runs as it is printed. CONTRACT: EXE-18, CAC-02."""
    (tmp_path / "hello.json").write_text(json.dumps(HELLO))
    (tmp_path / "doorward.toml").write_text(
        'state = "state"\n[servers.greeter]\nsource = "openapi"\nspec = "hello.json"\n'
    )
    monkeypatch.chdir(tmp_path)
    snippet = next(s.text for s in snippets("python") if s.page == "docs/start.md" and "Gateway.open" in s.text)
    exec(compile(snippet, "docs/start.md", "exec"), {"__name__": "readme"})
    assert capsys.readouterr().out.split() == ["1", "0"]  # a function that reads is found by "list"


@pytest.mark.slow
def test_the_programs_of_the_docs_do_what_they_say(tmp_path: Path) -> None:
    """What docs/programs.md says of values, parameters, cut results and errors holds. CONTRACT: EXE-03, OUT-04,
    CAC-02."""

    async def check() -> None:
        (tmp_path / "doorward.toml").write_text('state = "state"\n')
        async with Gateway.open(tmp_path / "doorward.toml") as gate:
            values = {
                "result = 5\n7": 5,
                "def main():\n    return 1": None,
                "(1, {2}, b'ab')": [1, [2], "YWI="],
                "[float('nan'), 2**70]": ["nan", str(2**70)],
                "import datetime\ndatetime.date(2026, 1, 2)": "2026-01-02",
            }
            for code, value in values.items():
                assert (await gate.execute(code)).value == value, code
            kept = await gate.execute('city = "Oslo"\ndays = 1.5\nnone = None\nresult = [city, days, none]')
            assert (await gate.run_cached(kept.cache_id, {"days": 2, "none": {}, "city": "a\"'\n"})).value == [
                "a\"'\n",
                2,
                {},
            ]
            for wrong in ({"town": "Rome"}, {"city": 1}, {"result": []}):
                assert not (await gate.run_cached(kept.cache_id, wrong)).ok
            assert (await gate.execute("x = 1\nx + y", params={"y": 2})).value == 3
            big = await gate.execute("['x' * 100] * 1000")
            assert big.truncated is not None
            assert (big.truncated["shape"], big.truncated["bytes"]) == ("list[1000] of str of 100 characters", 103001)
            assert (await gate.result(big.truncated["rest"])).next is not None
            assert not (await gate.execute("1", timeout=301)).ok
            opened = await gate.execute("x = 1", session_id="new")
            assert not opened.cache_id
            assert (await gate.execute("x + 1", session_id=opened.session_id)).value == 2

    anyio.run(check)


@pytest.mark.slow
def test_what_monty_runs_is_what_its_readme_says(tmp_path: Path) -> None:
    """The modules that the README lists can be imported, those that it excludes cannot; so with syntax."""
    readme = rows("plugins/sandbox_monty/README.md", "## What it can run")
    able = re.findall(r"`([\w.]+)`", readme["modules"][0])
    assert set(LIBRARY) == set(able) - {"os", "sys"}
    unable = re.findall(r"`([\w.]+)`", readme["does not run"][0].rpartition("modules such as")[2])
    refused = [
        "def f():\n    yield 1",
        "class A(Exception): pass",
        "class A:\n    @property\n    def x(self): return 1",
        "x = 1\ndel x",
    ]

    async def check() -> None:
        (tmp_path / "doorward.toml").write_text('state = "state"\ncache = "none"\nplugins = []\n')
        async with Gateway.open(tmp_path / "doorward.toml") as gate:
            assert [m for m in able if not (await gate.execute(f"import {m}")).ok] == []
            assert [m for m in unable if (await gate.execute(f"import {m}")).ok] == []
            for code in refused:
                outcome = await gate.execute(code)
                assert outcome.error is not None, code
                assert outcome.error.type == "Unsupported", code
            runs = [
                "sum(x for x in [1, 2])",
                "match 1:\n    case 1: x = 1",
                "from dataclasses import dataclass\n@dataclass\nclass A:\n    x: int",
            ]
            assert [code for code in runs if not (await gate.execute(code)).ok] == []

    anyio.run(check)


BEGINNERS = [
    ROOT / "README.md",
    *(ROOT / "docs" / name for name in ("start.md", "tutorial.md")),
    *sorted((ROOT / "docs/howto").glob("*.md")),
    *sorted((ROOT / "docs/concepts").glob("*.md")),
]


@pytest.mark.parametrize("page", BEGINNERS, ids=lambda page: page.name)
def test_no_sentence_is_long(page: Path) -> None:
    """On the pages that newcomers read, none has more than thirty words. Rows of tables are lists."""
    text = re.sub(r"^```.*?^```$", "\n\n", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    items = re.split(r"\n\s*\n|\n(?=\s*(?:[*-]|\d+\.)\s)", text)
    prose = [" ".join(re.sub(r"\]\([^)]*\)", "]", item).split()) for item in items if not item.lstrip().startswith("|")]
    sentences = [each for item in prose for each in re.split(r"(?<=[.!?:;])\s+(?=[A-Z`*\[\"“(])", item)]
    assert [each for each in sentences if len(re.findall(r"\S*\w\S*", each)) > 30] == []
