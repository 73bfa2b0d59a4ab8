"""`doorward audit`: whether the audit log is whole, and what it says."""

from __future__ import annotations

import json
import re
import time
from collections import deque
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import anyio
import click
from doorward import ConfigError, StateError
from doorward.administration import open_store
from doorward.configuration import validate
from doorward_cli import Project, common, note, print_json, say, table

from doorward_audit_jsonl import AuditSettings, log_path
from doorward_audit_jsonl.chain import Link, chain_key
from doorward_audit_jsonl.key import key_path
from doorward_audit_jsonl.log_file import all_files
from doorward_audit_jsonl.reader import Tail, fits, read_key
from doorward_audit_jsonl.stored_heads import Heads, load_heads
from doorward_audit_jsonl.verify import Verdict
from doorward_audit_jsonl.verify import verify as verified

_LOOK_SECONDS = 0.5
"""Seconds between two looks whether there are new lines."""

MAX_OTHERS = 20
"""Other logs that are named."""

_PLACE = re.compile(r"(\d{1,18}):([0-9a-f]{64})")

_log = click.option("--log", metavar="PATH", type=click.Path(path_type=Path), help="Not the configured log, but this.")


@click.group()
def audit() -> None:
    """The audit log of the plugin audit_jsonl."""


@audit.command()
@common
@_log
@click.option("--key", metavar="PATH", type=click.Path(path_type=Path), help="Its key, if not beside it.")
@click.option("--holds", metavar="N:CHAIN", help="A line that must be there, as `verify` has told it earlier.")
def verify(project: Project, log: Path | None, key: Path | None, holds: str | None) -> int:
    """Check that no line was changed, removed, moved, added or cut off. Ends with 1 if one was.

    It tells the last line as N:CHAIN. Note that elsewhere, and give it later with --holds: then not even who has the
    key can have written the log anew.
    """
    noted = None
    if holds:
        if (found := _PLACE.fullmatch(holds)) is None:
            raise click.UsageError("--holds is of the form NUMBER:CHAIN, with a chain of 64 hexadecimal digits")
        noted = Link(int(found[1]), bytes.fromhex(found[2]))
    path = _path(project, log)
    found_key = read_key(key or key_path(path))
    heads = _heads(project, chain_key(found_key), required=log is None)
    try:
        verdict = verified(path, found_key, noted, heads.own)
    except OSError as error:
        raise ConfigError(f"the audit log cannot be read: {error}", place=str(path)) from None
    if heads.others:
        verdict.notes.append(f"the store has heads of other logs: {', '.join(heads.others[-MAX_OTHERS:])}")
    _tell(project, path, verdict)
    return 0 if verdict.ok else 1


@audit.command()
@common
@_log
@click.option("--run", metavar="ID", help="Only lines of this run.")
@click.option("--principal", metavar="NAME", help="Only lines of this principal.")
@click.option("--function", metavar="SERVER.FUNCTION", help="Only calls of this function.")
@click.option("--event", metavar="EVENT", help="Only lines of this kind, such as call_finished.")
@click.option("--failed", is_flag=True, help="Only what failed or was refused.")
@click.option("--last", metavar="N", type=click.IntRange(1), default=50, show_default=True, help="How many at most.")
@click.option(
    "--follow", is_flag=True, help="Go on with what is logged from now on, until Ctrl-C; a line of JSON each."
)
def show(project: Project, log: Path | None, last: int, failed: bool, follow: bool, **wanted: str | None) -> None:
    """Show the last lines of the audit log, the newest at the end."""
    path = _path(project, log)
    only, tail = {name: value for name, value in wanted.items() if value}, Tail(path)
    found = deque((line for line in tail.read() if fits(line, only, failed=failed)), maxlen=last)
    if project.json and not follow:
        print_json({"lines": list(found)})
    elif project.json:
        _print_lines(found)
    elif found:
        columns = ("time", "event", "principal", "what", "ended", "decision")
        table(columns, [_row(line) for line in found])
    elif not follow:
        say(f"No such line in {path}.", err=True)
    while follow:
        time.sleep(_LOOK_SECONDS)
        new = (line for line in tail.read() if fits(line, only, failed=failed))
        if project.json:
            _print_lines(new)
        else:
            for line in new:
                say("  ".join(str(cell) for cell in _row(line) if cell))


def _heads(project: Project, key: bytes, *, required: bool) -> Heads:
    """What machines that share a store know of their logs. A copy may be looked at without a configuration. Raises:
    ConfigError."""
    try:
        loaded = project.load()
    except ConfigError:
        if required:
            raise
        return Heads()

    async def found() -> Heads:
        async with open_store(loaded) as store:
            return await load_heads(store, key) if getattr(store, "distributed", False) else Heads()

    try:
        return anyio.run(found)
    except StateError as error:
        note(f"note: what the store knows of this log is not looked at: {error}")
        return Heads()


def _print_lines(lines: Iterable[dict[str, Any]]) -> None:
    for line in lines:
        say(json.dumps(line, ensure_ascii=False))


def _path(project: Project, log: Path | None) -> Path:
    """Where the log is. Raises: ConfigError if there is none."""
    if log is None:
        loaded = project.load()
        place = f"{loaded.file} [hooks.audit_jsonl]"
        options = loaded.config.hooks.get("audit_jsonl", {})
        settings = validate(AuditSettings, options, secrets=loaded.secrets, place=place)
        log = log_path(settings, loaded.state_folder(), loaded.folder)
    if not all_files(log):
        hint = 'Nothing has been audited there. `plugins = ["audit_jsonl"]` in the configuration makes a log.'
        raise ConfigError("there is no audit log", place=str(log), hint=hint)
    return log


def _tell(project: Project, path: Path, verdict: Verdict) -> None:
    last = f"{verdict.last.n}:{verdict.last.chain.hex()}"
    if project.json:
        told = {"ok": verdict.ok, "log": str(path), "files": verdict.files, "lines": verdict.lines}
        told |= {"first": verdict.first, "last": last, "problems": verdict.problems, "notes": verdict.notes}
        print_json(told | ({"more_problems": verdict.more} if verdict.more else {}))
        return
    for problem in verdict.problems:
        say(problem, err=True)
    if verdict.more:
        say(f"… and {verdict.more} more", err=True)
    for each in verdict.notes:
        note(f"note: {each}")
    how = "is whole" if verdict.ok else "is NOT whole"
    say(f"{path} {how}: {verdict.lines} lines in {verdict.files} file(s), from {verdict.first} to {last}")


def _row(line: dict[str, Any]) -> tuple[object, ...]:
    ended = "" if "ok" not in line else "ok" if line["ok"] else line.get("error") or "failed"
    took = f" in {line['ms']:g} ms" if isinstance(line.get("ms"), (int, float)) else ""
    what = line.get("function") or line.get("run") or line.get("server") or ""
    decided = f"{line.get('decision', '')} {line.get('rule', '')}".strip()
    return line.get("time", ""), line.get("event", ""), line.get("principal", ""), what, f"{ended}{took}", decided
