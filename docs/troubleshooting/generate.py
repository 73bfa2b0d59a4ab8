"""Writes the lists of messages beside docs/troubleshooting.md: every message that has a hint, by who can fix it; and
for the command line, which of their lines explains a message.

    python docs/troubleshooting/generate.py

`tests/test_docs.py` holds the pages against what this writes.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parent))
from messages import Message, messages
from texts import HOLE

sys.path.pop(0)


class Page(NamedTuple):
    """A page: its file, its title, who reads these messages and who fixes it."""

    name: str
    title: str
    about: str


PROGRAMS = Page(
    "programs.md",
    "Messages for programs",
    "The agent reads these in the answer of a tool, and fixes its program or its arguments.",
)
SERVERS = Page(
    "servers.md",
    "APIs and MCP servers",
    "A server did not answer, or not as it should. Agents read these in answers of tools, operators from "
    "`doorward compile` and `doorward doctor`.",
)
CREDENTIALS = Page(
    "credentials.md",
    "Credentials and logins",
    "Keys, tokens and logins at servers: the operator, or who logs in.",
)
CONFIGURATION = Page(
    "configuration.md",
    "Configuration, files and plugins",
    "The operator reads these from the command line, and fixes `doorward.toml`, the environment or the machine.",
)
SANDBOXES = Page(
    "sandboxes.md",
    "Sandboxes",
    "Executors: what the operator fixes on the machine, and what ends a program from outside.",
)
CLIENTS = Page("clients.md", "Clients and serving", "Between an MCP client and `doorward serve`.")
AUTHORS = Page("authors.md", "Making plugins and distributions", "`doorward plugin`, `doorward dist`.")
LOG = Page("log.md", "Lines of the log", "Warnings that `doorward serve` writes to its standard error, by their event.")
PAGES = (PROGRAMS, SERVERS, CREDENTIALS, CONFIGURATION, SANDBOXES, CLIENTS, AUTHORS, LOG)

_BY_FOLDER = {
    r"libs/(jail|containers)|plugins/sandbox_": SANDBOXES,
    r"libs/auth_kit|plugins/auth_|plugins/secrets": CREDENTIALS,
    r"plugins/cli$": CONFIGURATION,
    r"plugins/(mcp_server|clients)$": CLIENTS,
    r"libs/testing|plugins/dist$": AUTHORS,
    r"plugins/guard_|libs/text": PROGRAMS,
}
_BY_PACKAGE = {"runs": PROGRAMS, "calls": PROGRAMS, "secrets": CREDENTIALS}
_BY_ERROR = {
    "ServerError": SERVERS,
    "ApiError": SERVERS,
    "Trouble": SERVERS,
    "ExecutorError": SANDBOXES,
    "SandboxDied": SANDBOXES,
    "LoginRefused": CREDENTIALS,
    "MissingSecret": CREDENTIALS,
    "ConfigError": CONFIGURATION,
    "PluginError": CONFIGURATION,
    "StateError": CONFIGURATION,
    "InvalidArguments": PROGRAMS,
    "InvalidProgram": PROGRAMS,
    "GuardRefused": PROGRAMS,
    "LimitExceeded": PROGRAMS,
}
CORE = "`doorward`"
_OF_AUTHORS = {"only"}
"""What the conformance classes say when a plugin fails them: its author's tests show it."""


ADDRESSES = Path(__file__).parents[2] / "plugins/cli/src/doorward_cli/explained.json"
"""Where the command line finds the page of a message."""


def pages() -> dict[str, str]:
    """The text of each page by its name."""
    found: dict[Page, dict[str, dict[str, dict[str, None]]]] = {page: {} for page in PAGES}
    for message in messages():
        if message.error not in _OF_AUTHORS:
            rows = found[_page(message)].setdefault(_section(message), {})
            said = message.said if re.search(r"\w", message.said) else ""
            rows.setdefault(said, {}).update(dict.fromkeys(message.advice))
    return {page.name: _text(page, sections) for page, sections in found.items() if sections}


def addresses(pages: dict[str, str]) -> str:
    """What the command line reads: each message of the pages, and its page with its anchor. Those of the log, and those
    with no two words in a row that are always the same, are left out."""
    row = re.compile(r'^\| <a id="(.+?)"></a>(`+) ?(.+?) ?\2 \|', re.MULTILINE)
    found: dict[str, str] = {}
    for page in (page for page in PAGES if page is not LOG):
        for anchor, _, said in row.findall(pages[page.name]):
            if re.search(r"\w\w+ \w\w+", said):
                found.setdefault(said.replace("\\|", "|"), f"troubleshooting/{page.name}#{anchor}")
    return json.dumps(found, ensure_ascii=False, indent=0, sort_keys=True) + "\n"


def _page(message: Message) -> Page:
    if message.error == "log":
        return LOG
    for folder, page in _BY_FOLDER.items():
        if re.match(folder, message.folder):
            return page
    room = message.module.partition("/")[0] if message.folder == "core" else ""
    if message.error in ("ServerError", "ExecutorError", "SandboxDied") or room not in _BY_PACKAGE:
        return _BY_ERROR.get(message.error, SERVERS if message.folder != "core" else CONFIGURATION)
    return _BY_PACKAGE[room]


def _section(message: Message) -> str:
    """The distribution; for messages of Python itself, that they are."""
    if (message.folder, message.module) == ("libs/text", "hints.py"):
        return "What Python says in a sandbox"
    own = message.folder.partition("/")[2].replace("_", "-")
    return f"`doorward-{own}`" if own else CORE


def _text(page: Page, sections: dict[str, dict[str, dict[str, None]]]) -> str:
    parts = [f"# {page.title}\n\n{page.about} `{HOLE}` stands for what differs. [All symptoms](../troubleshooting.md)"]
    anchors: set[str] = set()
    for name, rows in sorted(sections.items(), key=lambda section: (section[0] != CORE, section[0])):
        lines = [
            f"| {_anchor(said, anchors)}{_said(said)} | {'<br>'.join(map(_cell, advice))} |"
            for said, advice in sorted(rows.items(), key=_order)
        ]
        parts.append("\n".join([f"## {name}\n", "| what one reads | what to do |", "|---|---|", *lines]))
    return "\n\n".join(parts) + "\n"


def _anchor(text: str, taken: set[str]) -> str:
    """What leads to a message: the first words of it that are always the same, `#a-run-may-make-calls`."""
    words = re.findall(r"[a-z0-9]+", text.replace("{}", " ").casefold())[:8]
    name = free = "-".join(words) or "any"
    number = 1
    while free in taken:
        number += 1
        free = f"{name}-{number}"
    taken.add(free)
    return f'<a id="{free}"></a>'


def _order(row: tuple[str, object]) -> tuple[bool, str]:
    """By the first letters that are always the same; what may say anything is last."""
    return not row[0], re.sub(r"^\W+", "", row[0]).casefold()


def _said(text: str) -> str:
    if not text:
        return "(whatever it says)"
    fence = "``" if "`" in text else "`"
    text = text.replace("{}", HOLE)
    space = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{space}{_escaped(text)}{space}{fence}"


def _cell(text: str) -> str:
    return _escaped(text).replace("<", "&lt;")


def _escaped(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    written = pages()
    for name, text in written.items():
        Path(__file__).with_name(name).write_text(text, encoding="utf-8")
    ADDRESSES.write_text(addresses(written), encoding="utf-8")
