"""A program on its way into a sandbox: its text, its inputs, and the names of the catalog that it mentions."""

from __future__ import annotations

import mimetypes
import re
import time
from collections.abc import Collection
from typing import Any

from doorward import Door, File, Program
from doorward.sandboxing import ARTEFACT_URI

from doorward_jail.awaited_calls import awaited
from doorward_jail.program_parameters import bind
from doorward_jail.program_text import sets_result


async def program_message(program: Program, door: Door) -> tuple[dict[str, Any], bytes]:
    """The message that hands a program over, and the content of the files that it is given."""
    code, inputs = bind(program.code.removeprefix("\ufeff"), program.params)
    words = set(re.findall(r"\w+", code))
    mentioned = {}
    for word in words:
        if names := door.members(word):
            mentioned[word] = [name for name in names if name in words]
    files: dict[str, int] = {}
    given: dict[str, str] = {}
    blob = b""
    for name, value in inputs.items():
        if isinstance(value, str) and value.startswith(ARTEFACT_URI):
            file = await door.open(value)
            path = _other_than(files, file_name(file, value))
            files[path] = len(file.content)
            blob += file.content
            given[name] = value
            inputs[name] = f"in/{path}"
    aliases = door.aliases(code)
    about = {
        "code": code,
        "before": aliases.before,
        "aliases": dict(aliases.modules),
        "awaited": sorted(awaited(code)),
        "sets_result": sets_result(code),
        "inputs": inputs,
        "argv": program.argv,
        "given": given,
        "mentioned": mentioned,
        "files": files,
        "most": program.limits.result_bytes,
        "plan": program.plan,
        "seconds": max(0.0, min(program.deadline - time.monotonic(), program.limits.max_timeout)),
        "seed": program.seed.hex(),
        "times": [] if program.continues else list(door.times()),
    }
    return {"run": about}, blob


def file_name(file: File, uri: str) -> str:
    """A plain name for a file in ./in."""
    if name := re.sub(r"[^\w.-]+", "_", file.name.rpartition("/")[2]).strip("._"):
        return name
    extension = mimetypes.guess_extension(file.type.partition(";")[0]) or ""
    return uri.removeprefix(ARTEFACT_URI)[:12].strip("-_") + extension


def _other_than(taken: Collection[str], name: str) -> str:
    """The name, with a number before it if it is taken."""
    given, number = name, 1
    while given in taken:
        number += 1
        given = f"{number}-{name}"
    return given
