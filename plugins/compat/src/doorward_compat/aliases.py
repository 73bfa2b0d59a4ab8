"""The names of servers and helpers in programs written for other systems, so that these run here unchanged.

This is the only table of such names: executors get from `Door.aliases` what a program needs, and know none themselves.

`from github.functions import f`; `mcp_servers["github"].f()`, `mcp_github.f()`, `from mcp.servers.github import f`;
`from mcp import runtime`; `call_mcp_tool("mcp__github__f", {…})`; `from runtime.mcp_client import call_mcp_tool`,
`from servers.github.f import f`; `llm.ask(…)` without an import. Our own way is `import github`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from doorward.sandboxing import Aliases

RUNTIME = "doorward.runtime"
"""The module of other systems' helpers, under their own names; `runtime.py` implements them."""

PREDEFINED_NAMES = (
    "call_mcp_tool", "callMCPTool", "discover_mcp_tools", "discoverMCPTools",
    "search_tools", "searchTools", "get_tool_schema", "getToolSchema",
)  # fmt: skip
"""Helpers that such programs use without an import."""

MODELS = "llm"
"""The server of language models, which such programs ask without an import."""

NO_MODEL = f'No language model is configured: the operator adds a server `{MODELS}` of `source = "llm"`.'

LIBRARY = "code-executor-mcp"
"""The package of another system, as its own users import it from Node."""

NO_LIBRARY = (
    "It is for hosts of that system; here a program has callMCPTool, discoverMCPTools, searchTools and getToolSchema "
    "without an import, and hosts in Python use `doorward.Gateway`."
)

ASKS_MODEL = re.compile(rf"(?<![.\w]){MODELS}\s*\.\s*(?:ask|think)\b")

_MENTIONED = re.compile(
    r"\b(?:mcp(?:_\w+)?|functions|runtime(?=\.mcp_client\b)|(?<=from )servers|(?<=import )servers|"
    rf"{'|'.join(PREDEFINED_NAMES)})\b"
)
_IMPORTS_MODEL = re.compile(rf"\bimport\b[^\n]*\b{MODELS}\b")
_WRAPPER = re.compile(r"\b(?:from|import)\s+servers\.(\w+)\.(\w+)")
"""A module of one tool: `from servers.github.create_issue import create_issue`."""


def aliases(
    code: str, servers: Mapping[str, str], has: Callable[[str, str], bool], *, everything: bool = False
) -> Aliases:
    """The aliases that a program needs, or all (`everything`). `servers` are the configured names by module name;
    `has(server, name)` says whether that server has a function of this name. A server's own name is never replaced."""
    words = set(_MENTIONED.findall(code))
    if MODELS in servers and ASKS_MODEL.search(code) and not _IMPORTS_MODEL.search(code):
        words.add(MODELS)
    if not words and not everything:
        return Aliases()
    modules = {RUNTIME: RUNTIME} | {f"mcp_{name}": module for module in servers for name in (module.lower(), module)}
    if "mcp" not in servers:
        modules |= {"mcp": "", "mcp.runtime": RUNTIME, "mcp.servers": ""} | {
            f"mcp.servers.{module}": module for module in servers
        }
    if ("runtime" in words or everything) and "runtime" not in servers:
        modules |= {"runtime": "", "runtime.mcp_client": RUNTIME}
    if ("servers" in words or everything) and "servers" not in servers:
        modules |= {"servers": ""} | {f"servers.{module}": module for module in servers}
        modules |= {f"servers.{module}.{name}": module for module, name in _WRAPPER.findall(code) if module in servers}
    if "functions" in words or everything:
        asked = [module for module in servers if everything or module in code]
        modules |= {f"{module}.functions": module for module in asked if not has(module, "functions")}
    modules = {name: module for name, module in modules.items() if name not in servers and name != "mcp_servers"}
    there: dict[str, Iterable[str]] = {MODELS: [f"import {MODELS}"]}
    there |= {name: [f"import {name}"] for name in modules if name.startswith("mcp_")}
    there |= {name: [f"from {RUNTIME} import {name}"] for name in PREDEFINED_NAMES} | {"mcp_servers": _all(servers)}
    return Aliases(modules, "".join(_unless_there(name, there[name]) for name in sorted(words & there.keys())))


def server_meant(name: str) -> str:
    """The server in a name such as `mcp.servers.github`, `github.functions` or `mcp_github`; else the first part of the
    name."""
    found = re.fullmatch(r"(?:mcp\.)?servers\.(\w+).*|mcp_(\w+)|(?:.*/)?([\w-]+).*", name)
    return next(filter(None, found.groups()), "") if found else name


def function_names(asked: Iterable[str | Mapping[str, Any]]) -> list[str]:
    """Names of functions, some perhaps written `{"server_name": "github", "function_name": "create_issue"}`."""
    parts = ("server_name", "function_name")
    return [
        ".".join(str(one[part]) for part in parts if part in one) if isinstance(one, Mapping) else one for one in asked
    ]


def _all(servers: Mapping[str, str]) -> Iterable[str]:
    """Lines of code that make a dictionary of all servers, by configured and by module names."""
    yield from (f"import {module} as mcp__{number}" for number, module in enumerate(servers))
    entries = {key: number for number, (module, name) in enumerate(servers.items()) for key in (name, module)}
    yield f"mcp_servers = {{{', '.join(f'{key!r}: mcp__{number}' for key, number in entries.items())}}}"


def _unless_there(name: str, lines: Iterable[str]) -> str:
    """Code that runs these lines if the name is not defined yet; a session may have defined it. (A type checker does
    not see it.)"""
    return f"try:\n    eval('{name}')\nexcept NameError:\n" + "".join(f"    {line}\n" for line in lines)
