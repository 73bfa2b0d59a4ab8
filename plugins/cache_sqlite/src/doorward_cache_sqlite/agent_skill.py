"""A saved program as an Agent Skill: a folder with `SKILL.md` (https://agentskills.io/specification) and a script."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from doorward.files import write_file
from doorward.sandboxing import json_type

if TYPE_CHECKING:
    from pathlib import Path

    from doorward.sandboxing import CachedProgram

MAX_DESCRIPTION_CHARACTERS = 1024
"""The most that the specification allows."""


def write_skill(folder: Path, program: CachedProgram) -> Path:
    """Write the skill of a program below a folder. Returns: its own folder. Raises: ConfigError."""
    name = program.cache_id.replace("_", "-").strip("-")
    made = folder / name
    write_file(made / "SKILL.md", _text(name, program).encode())
    script = made / "scripts" / f"{program.cache_id}.py"
    write_file(script, program.code.encode())
    script.chmod(0o755)
    return made


def _text(name: str, program: CachedProgram) -> str:
    about = program.description or f"Runs the saved program {program.cache_id}."
    call = f"run_cached_code({json.dumps(program.cache_id)}, {json.dumps({**program.params}, ensure_ascii=False)})"
    rows = [
        f"| `{each}` | {json_type(value)} | `{json.dumps(value, ensure_ascii=False)}` |".replace("\n", " ")
        for each, value in program.params.items()
    ]
    table = ["| parameter | type | default |", "|---|---|---|", *rows, ""] if rows else []
    return "\n".join([
        "---",
        f"name: {name}",
        f"description: {json.dumps(about[:MAX_DESCRIPTION_CHARACTERS], ensure_ascii=False)}",
        "---",
        "",
        about,
        "",
        "With the MCP server `doorward`, call its tool with the parameters that differ:",
        "",
        f"    {call}",
        "",
        "From a shell:",
        "",
        f"    doorward programs run scripts/{program.cache_id}.py --help",
        "",
        *table,
        f"It calls {', '.join(program.uses) or 'no function'}. `scripts/{program.cache_id}.py` is its text: it runs in",
        "the sandbox of Doorward alone, with the rights of who asks.",
        "",
    ])  # fmt: skip
