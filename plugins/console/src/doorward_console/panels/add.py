"""What `doorward add openapi` would do with a document: shown to operators, who write it themselves."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shlex
import signal
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
from doorward import InvalidArguments, Refused
from doorward.administration import run_in_thread

from doorward_console.panel import Found, Question
from doorward_console.recent import without_tokens

SECONDS = 60.0
"""How long the command may take; it fetches the document and compiles it."""

MAX_LISTED = 20
_CONFIGURATION = 'cache = "none"\nplugins = []\n'
_FROM_HERE = re.compile(
    r"PATH|LANG|LC_ALL|SYSTEMROOT|TEMP|TMP|(?:https?|all|no)_proxy|SSL_CERT_(?:FILE|DIR)", re.IGNORECASE
)
"""Variables that the command gets: it needs no secret."""

_turn = anyio.CapacityLimiter(1)
"""One at a time: a document may be large."""


async def look(question: Question) -> Found:
    """Let the command add the server to a configuration of its own, which is then removed. Nothing here is changed.

    Raises: Refused; InvalidArguments.
    """
    if not question.visitor.is_operator:
        raise Refused("operators add servers")
    name, url = question.form.get("name", "").strip(), question.form.get("url", "").strip()
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]{0,63}", name):
        raise InvalidArguments(f"{name[:100]!r} cannot name a server", hint="Use letters, digits, - and _.")
    if not re.match(r"https?://[^\s]+$", url, re.IGNORECASE):
        raise InvalidArguments("a document is fetched by an address that begins with https:// or http://")
    command = ["add", "openapi", name, url]
    async with _turn:
        said, lines = await _added(command)
    report: dict[str, Any] = next(iter(said.get("servers", {}).values()), {})
    error = report.get("error", "") or said.get("error", {}).get("message", "")
    found = {
        "name": name, "url": url, "command": shlex.join(["doorward", *command]), "lines": lines if not error else "",
        "error": without_tokens(str(error)), "hint": report.get("hint") or said.get("error", {}).get("hint") or "",
        "functions": report.get("functions", 0), "auth": said.get("suggested"),
        "warnings": [*report.get("warnings", [])][:MAX_LISTED], "skips": len(report.get("skipped", [])),
        "there": name in question.gateway.loaded.servers,
    }  # fmt: skip
    return Found(found, "doorward_console/add.html")


async def _added(command: list[str]) -> tuple[dict[str, Any], str]:
    """What the command says, and the lines that it has added."""
    with tempfile.TemporaryDirectory(prefix="doorward-") as folder:
        file = Path(folder, "doorward.toml")
        await run_in_thread(file.write_text, _CONFIGURATION)
        environ = {key: value for key, value in os.environ.items() if _FROM_HERE.fullmatch(key)}
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "doorward", *command, "--config", str(file), "--json", cwd=folder,
            env={**environ, "HOME": folder, "XDG_STATE_HOME": str(Path(folder, "state"))},
            stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )  # fmt: skip
        try:
            with anyio.fail_after(SECONDS):
                stdout, stderr = await process.communicate()
        except TimeoutError:
            raise Refused(f"the command took more than {SECONDS:.0f} s") from None
        finally:
            if process.returncode is None:
                with suppress(OSError):
                    os.killpg(process.pid, signal.SIGKILL) if os.name == "posix" else process.kill()
        text = await run_in_thread(file.read_text)
    try:
        return json.loads(stdout), text.removeprefix(_CONFIGURATION).strip()
    except ValueError:
        raise Refused(f"the command said: {without_tokens(stderr.decode(errors='replace'))[-500:]}") from None
