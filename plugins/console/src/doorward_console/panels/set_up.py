"""Set-up: what is installed and in use, what is wrong, and how clients get here."""

from __future__ import annotations

import os
import stat
from typing import Any

from doorward import InvalidArguments, __version__

from doorward_console.panel import Found, Question
from doorward_console.panels.outcomes import as_shown

FIRST_PROGRAM = "result = 6 * 7"
"""What `doorward setup` runs at its end: it needs no server, so that what fails is the sandbox."""


async def view(question: Question) -> Found:
    """What can be told without starting anything; `doorward doctor` says the rest."""
    gateway = question.gateway
    checks = [
        _check(f"configuration {gateway.loaded.file}"), _state(gateway.state),
        *(_check(f"{each['executor']}: {each['broken']}", ok=False) if "broken" in each
          else _check(f"executor {each['executor']} ({each['language']}, isolation: {each['isolation']})")
          for each in gateway.executors.describe()),
        *(_check(f"server {name}: {error}", error.hint or "", ok=False)
          for name, error in gateway.servers.broken.items()),
    ]  # fmt: skip
    checks += [_check(what, advice, ok=ok) async for what, ok, advice in gateway.search_engine().checks()]
    if why := gateway.readiness.why_not:
        checks.append(_check(f"no programs are taken: {why}", ok=False))
    named = dict.fromkeys([*gateway.config.plugins, *gateway.config.capabilities])
    return Found({
        "version": __version__, "checks": checks, "plugins": [*named], "chain": gateway.chain(),
        "brought": sorted({entry.given_by for entry in gateway.plugins.index.entries}),
        "file": gateway.loaded.file, "program": FIRST_PROGRAM, "outcome": None,
    })  # fmt: skip


async def post(question: Question) -> Found:
    """Run the first program as the visitor, through the gateway: limited and audited as all programs are."""
    if question.rest or question.form.get("do") != "first":
        raise InvalidArguments("what can be done here is to run a first program")
    outcome = await question.gateway.execute(
        FIRST_PROGRAM, description="A first program", principal=str(question.visitor.principal)
    )
    page = await view(question)
    return Found({**page.data, "outcome": {**as_shown(outcome), "executor": outcome.executor}})


def _check(what: str, advice: str = "", *, ok: bool = True) -> dict[str, Any]:
    return {"check": what, "ok": ok, "advice": advice}


def _state(folder: Any) -> dict[str, Any]:
    if not os.access(folder, os.W_OK):
        return _check(f"state folder {folder} cannot be written", "Give it to the user who runs Doorward.", ok=False)
    if os.name == "posix" and stat.S_IMODE(folder.stat().st_mode) & 0o077:
        return _check(f"state folder {folder} is open to other users", f"chmod 700 {folder}", ok=False)
    return _check(f"state folder {folder}")
