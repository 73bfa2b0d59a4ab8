"""The names of servers and helpers in TypeScript and JavaScript that was written for other systems.

`import * as github from "./servers/github"`, `from "./mcp-wrappers/github.ts"`, `from "my-server"`;
`import { github, myServer } from "./mcp-wrappers"`; `callMCPTool("mcp__github__f", {…})` and `llm.ask(…)` without an
import. Our own way is `import * as github from "github"`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from doorward.sandboxing import Aliases

from doorward_compat.aliases import ASKS_MODEL, MODELS, PREDEFINED_NAMES, RUNTIME

_SPECIFIER = re.compile(r"""\b(?:from|import)\s*\(?\s*(["'])([^"'\n]{1,200})\1""")
_SERVER = re.compile(
    r"(?:(?:\.{1,2}/|@/)*(?:mcp-wrappers|mcp_wrappers|servers|mcp/servers)/)?([\w-]+)(?:/index)?(?:\.[mc]?[jt]s)?"
)
_WRAPPERS = re.compile(r"(?:\.{1,2}/|@/)*(?:mcp-wrappers|mcp_wrappers)(?:/index)?(?:\.[mc]?[jt]s)?")
"""The module that has a namespace for each server."""

_IMPORTED_MODEL = re.compile(rf"\bimport\b[^;]*\b{MODELS}\b[^;]*\bfrom\b")
_MENTIONED = re.compile(rf"\b(?:{'|'.join(PREDEFINED_NAMES)})\b")


def script_aliases(code: str, servers: Mapping[str, str]) -> Aliases:
    """The aliases that a program needs: `modules` has what it imports under another name than the server's module.
    `servers` are the configured names by module name. `before` is a module that is run first; names that the program
    defines itself hide those that it makes."""
    known = {name: module for module, configured in servers.items() for name in (configured, module)}
    modules = {}
    for _, asked in _SPECIFIER.findall(code):
        meant = _SERVER.fullmatch(asked)
        if _WRAPPERS.fullmatch(asked):
            modules[asked] = ""
            modules |= {f"{asked}/{_camel_case(name)}": module for name, module in known.items()} | {
                f"{asked}/{module}": module for module in servers
            }
        elif asked not in servers and meant and meant[1] in known:
            modules[asked] = known[meant[1]]
    names = sorted(set(_MENTIONED.findall(code)))
    before = f'import {{ {", ".join(names)} }} from "{RUNTIME}";\n' if names else ""
    if MODELS in servers and ASKS_MODEL.search(code) and not _IMPORTED_MODEL.search(code):
        names.append(MODELS)
        before += f'import * as {MODELS} from "{MODELS}";\n'
    before += "".join(f"globalThis.{name} ??= {name};\n" for name in names)
    return Aliases(modules | ({RUNTIME: RUNTIME} if names else {}), before)


def _camel_case(name: str) -> str:
    first, *others = re.split(r"[-_]", name)
    return first + "".join(part[:1].upper() + part[1:] for part in others)
