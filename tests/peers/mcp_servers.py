"""Real MCP servers, from npm and PyPI: how each starts, a program that calls it, and what that is worth.

`.ci/peers` installs what `.ci/mcp-servers-npm.txt` and `.ci/mcp-servers-pypi.txt` say. Some want the network for every
call: they are only listed.
"""

from __future__ import annotations

import http.server
import json
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .peer import CACHE, absent, program

KUBECONFIG = """\
apiVersion: v1
kind: Config
clusters: [{name: harbour, cluster: {server: "http://127.0.0.1:1"}}]
contexts: [{name: quay, context: {cluster: harbour, user: ada}}]
current-context: quay
users: [{name: ada, user: {token: none}}]
"""


@dataclass(frozen=True)
class Real:
    """One server. `{folder}` and `{web}` in its words are the folder of `prepare` and the address of `Web`."""

    name: str
    words: tuple[str, ...]
    """What follows the interpreter of its own environment: a command of PyPI's, or a file below npm's
    `node_modules`."""
    env: dict[str, str] = field(default_factory=dict)
    code: str = ""
    """A program that calls it; none: it is only listed."""
    value: Any = None

    def entry(self, folder: Path, web: str) -> dict[str, Any]:
        """Its entry in a configuration of Doorward."""
        words = [self._filled(word, folder, web) for word in self.words]
        env = {key: self._filled(value, folder, web) for key, value in self.env.items()}
        return {
            "source": "mcp",
            "command": [*self._program(words[0]), *words[1:]],
            "cwd": str(folder),
            "start_timeout": 120,
        } | ({"env": env} if env else {})

    def program(self, folder: Path, web: str) -> str:
        return self._filled(f"import {self.name}\n{self.code}", folder, web)

    def _program(self, first: str) -> list[str]:
        if not first.endswith("js"):
            return [program(first, CACHE / f"mcp-{self.name}/bin")]
        file = CACHE / "mcp/node_modules" / first
        return [program("node"), str(file) if file.exists() else absent(str(file))]

    def _filled(self, text: str, folder: Path, web: str) -> str:
        return text.replace("{folder}", str(folder)).replace("{web}", web)


SERVERS = [
    Real(
        "everything",
        ("@modelcontextprotocol/server-everything/dist/index.js", "stdio"),
        code='[everything.get_sum(a=2, b=40), everything.get_structured_content(location="New York")["conditions"]]',
        value=["The sum of 2 and 40 is 42.", "Cloudy"],
    ),
    Real(
        "filesystem",
        ("@modelcontextprotocol/server-filesystem/dist/index.js", "{folder}"),
        code="""
filesystem.write_file(path="{folder}/b.txt", content="tide\\n")
[filesystem.read_text_file(path="{folder}/b.txt"), "{folder}" in filesystem.list_allowed_directories()]""",
        value=["tide\n", True],
    ),
    Real(
        "memory",
        ("@modelcontextprotocol/server-memory/dist/index.js",),
        {"MEMORY_FILE_PATH": "{folder}/memory.jsonl"},
        """
memory.create_entities(entities=[{"name": "Ada", "entityType": "person", "observations": ["wrote notes"]}])
memory.search_nodes(query="Ada")["entities"]""",
        [{"name": "Ada", "entityType": "person", "observations": ["wrote notes"]}],
    ),
    Real(
        "thinking",
        ("@modelcontextprotocol/server-sequential-thinking/dist/index.js",),
        code='thinking.sequentialthinking(thought="so", nextThoughtNeeded=False, thoughtNumber=2, '
        'totalThoughts=2)["nextThoughtNeeded"]',
        value=False,
    ),
    Real(
        "commands",
        ("mcp-server-commands/build/index.js",),
        code='commands.run_command(command="echo 42")',
        value="42\n",
    ),
    Real(
        "eslint",
        ("@eslint/mcp/src/mcp-cli.js",),
        code='[m["ruleId"] for m in eslint.lint_files(filePaths=["{folder}/a.js"])[1]["messages"]]',
        value=["no-unused-vars"],
    ),
    Real(
        "cyanheads_git",
        ("@cyanheads/git-mcp-server/dist/index.js",),
        code='[c["subject"] for c in cyanheads_git.git_log(path="{folder}/repo")["commits"]]',
        value=["first"],
    ),
    Real(
        "kubernetes",
        ("kubernetes-mcp-server/bin/index.js",),
        {"KUBECONFIG": "{folder}/kubeconfig"},
        '"current-context: quay" in kubernetes.configuration_view()',
        True,
    ),
    Real(
        "git",
        ("mcp-server-git", "--repository", "{folder}/repo"),
        code='[line for line in git.git_log(repo_path="{folder}/repo").splitlines() if line.startswith(("Author", '
        '"Message"))]',
        value=["Author: Ada", "Message: first"],
    ),
    Real(
        "clock",
        ("mcp-server-time", "--local-timezone", "UTC"),
        code='clock.convert_time(source_timezone="UTC", time="12:00", '
        'target_timezone="Asia/Tokyo")["target"]["datetime"][10:]',
        value="T21:00:00+09:00",
    ),
    Real(
        "fetch",
        ("mcp-server-fetch", "--ignore-robots-txt", "--allow-private-ips"),
        code='"Tide at 42." in fetch.fetch(url="{web}/page", raw=True)',  # else it asks npm for a reader of pages
        value=True,
    ),
    Real(
        "sqlite",
        ("mcp-server-sqlite", "--db-path", "{folder}/a.db"),
        code='sqlite.read_query(query="SELECT 6 * 7 AS a")',
        value="[{'a': 42}]",
    ),
    Real(
        "motherduck",
        ("mcp-server-motherduck", "--db-path", ":memory:", "--read-write"),
        code='import json\njson.loads(motherduck.execute_query(sql="SELECT 6 * 7 AS a"))["rows"]',
        value=[[42]],
    ),
    Real("calculator", ("mcp-server-calculator",), code='calculator.calculate(expression="6 * 7")', value="42"),
    Real(
        "excel",
        ("excel-mcp-server", "stdio"),
        code="""
file = "{folder}/a.xlsx"
excel.create_workbook(path=file)
excel.write_range(path=file, sheet="Sheet1", at="A1", rows=[[6, 7, "=A1*B1"]])
excel.read_range(path=file, sheet="Sheet1")["values"]""",
        value=[[6, 7, 42]],
    ),
    Real(
        "word",
        ("word_mcp_server",),
        code="""
file = "{folder}/a.docx"
word.create_document(filename=file)
word.add_paragraph(filename=file, text="Tide at 42")
word.get_document_text(filename=file)""",
        value="Tide at 42",
    ),
    Real(
        "alchemy",
        ("mcp-alchemy",),
        {"DB_URL": "sqlite:///{folder}/b.db"},
        'alchemy.execute_query(query="SELECT 6 * 7 AS a")',
        "1. row\na: 42\n\nResult: 1 rows",
    ),
    Real(
        "arxiv",
        ("arxiv-mcp-server", "--storage-path", "{folder}/arxiv"),
        code='arxiv.list_papers()["total_papers"]',
        value=0,
    ),
    Real(
        "atlassian",
        ("mcp-atlassian",),
        {"JIRA_URL": "{web}", "JIRA_USERNAME": "ada", "JIRA_API_TOKEN": "none"},
        'import json\n[p["key"] for p in json.loads(atlassian.jira_get_all_projects())]',
        ["TIDE"],
    ),
    Real("aws_docs", ("awslabs.aws-documentation-mcp-server",)),
    Real("context7", ("@upstash/context7-mcp/dist/index.js",)),
    Real("github", ("@modelcontextprotocol/server-github/dist/index.js",), {"GITHUB_PERSONAL_ACCESS_TOKEN": "none"}),
    Real("notion", ("@notionhq/notion-mcp-server/bin/cli.mjs",), {"NOTION_TOKEN": "none"}),
    Real(
        "slack",
        ("@modelcontextprotocol/server-slack/dist/index.js",),
        {"SLACK_BOT_TOKEN": "none", "SLACK_TEAM_ID": "none"},
    ),
]
CALLED = [server for server in SERVERS if server.code]


def prepare(folder: Path) -> None:
    """What the servers find in their folder."""
    (folder / "a.js").write_text("const unused = 42\n")
    (folder / "eslint.config.mjs").write_text('export default [{ rules: { "no-unused-vars": "error" } }]\n')
    (folder / "kubeconfig").write_text(KUBECONFIG)
    git = shutil.which("git") or absent("git", "install it")
    who = ["-c", "user.name=Ada", "-c", "user.email=ada@example.com"]
    subprocess.run([git, "init", "--quiet", "repo"], cwd=folder, check=True)
    subprocess.run(
        [git, *who, "commit", "--quiet", "--allow-empty", "--message", "first"], cwd=folder / "repo", check=True
    )


class Web(http.server.BaseHTTPRequestHandler):
    """A page, and as much of Jira as lists projects."""

    def do_GET(self) -> None:
        jira = self.path.startswith("/rest/api/2/project")
        kind = "application/json" if jira else "text/html"
        projects = [{"id": "1", "key": "TIDE", "name": "Tides", "projectTypeKey": "software"}]
        page = "<html><body><main><h1>Harbour</h1><p>Tide at 42.</p></main></body></html>"
        content = (json.dumps(projects) if jira else page).encode()
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *args: Any) -> None:
        pass
