"""Hints for failures: similar names, the right signature, another executor."""

from __future__ import annotations

import re
import sys
from collections.abc import Collection
from typing import TYPE_CHECKING

from doorward.administration import qualified
from doorward.sandboxing import ARTEFACT_URI
from doorward.texts import is_script, nearest

from doorward_text.executor_hints import lacks, shows_paths

if TYPE_CHECKING:
    from doorward import Failure, Gateway
    from doorward.texts import FailedRun

_NO_ATTRIBUTE = re.compile(r"module '([\w.]+)' has no attribute '(\w+)'")
_NO_IMPORT = re.compile(r"cannot import name '(\w+)' from '([\w.]+)'")
_NO_MODULE = re.compile(r"No module named '([\w.]+)'")
_NO_NAME = re.compile(r"name '(\w+)' is not defined")
_SCRIPT = re.compile(
    r"^\s*(?:(?:const|let|var)\s+[\w{\[]|(?:async\s+)?function\s+\w+\s*\(|import\b.*\bfrom\s+['\"])", re.MULTILINE
)
"""A line that begins as one of JavaScript does, and none of Python."""
_NETWORK_MESSAGE = re.compile(
    "Network is (?:unreachable|down)|Address family not supported|Name or service not known|"
    "Temporary failure in name resolution|"
    "Failed to resolve|Failed to establish a new connection|Cannot connect to host"
)
_NETWORK_ERRORS = {
    "gaierror", "URLError", "ConnectError", "ConnectionError", "ConnectionRefusedError", "ClientConnectorError",
}  # fmt: skip
"""Error types of the standard library, requests, httpx and aiohttp."""

_STARTS_PROCESS = re.compile(r"\bsubprocess\b|\bos\.(?:exec|spawn|posix_spawn)")
_PLAN_STOPPED = (
    "Hand the answer on as it is, or its fields, to other calls. What must be known first takes two plans: end the "
    "program before this line and commit that; then plan the rest with what it answered."
)
_WHERE_TO_WRITE = (
    "Write files to the folder that the program starts in, those to be kept to ./out; nothing else may be changed."
)


def hint_for(error: Failure, run: FailedRun, gateway: Gateway) -> str | None:
    """What to do about the error with which a program ended."""
    if error.type == "PlanStopped":
        return _PLAN_STOPPED
    hint, language = None, run.program.language
    if language != "python":
        names = _Names(error, run)
        hint = gateway.executors.read(language, "hint_for", error, run.program.code, names, default=None)
    hint = hint or _hint(error, run) or _read_as(error, run.program.code, language, gateway)
    if error.kind == "program" and language == "python" and run.executor in gateway.executors.names:
        hint = " ".join(filter(None, [hint, _of_the_sandbox(error, run, gateway)]))
    return hint or None


class _Names:
    """What is known of names, for the hint of an executor; see `KnownNames`."""

    def __init__(self, error: Failure, run: FailedRun) -> None:
        self._error, self._run = error, run

    def members(self, module: str) -> Collection[str] | None:
        return self._run.members(module)

    def near(self, module: str, name: str) -> str | None:
        return _near(self._run, module, name)

    def no_module(self, name: str) -> str:
        return no_server(name, self._run)

    def unknown(self, name: str) -> str:
        return self._run.names.hint(name)

    def answered(self) -> str | None:
        return self._run.hint(self._error)


def _read_as(error: Failure, code: str, language: str, gateway: Gateway) -> str | None:
    """In which language a program with an error of syntax was read, where there are others or it is in another one."""
    if error.type != "SyntaxError":
        return None
    others = [each for each in gateway.languages.served if is_script(each) is not is_script(language)]
    if others:
        return f'It was read as {language}. For {others[0]}, give language="{others[0]}".'
    if language == "python" and _reads_as_script(code):
        return "Programs are Python here, and this looks like JavaScript: write it in Python."
    return None


def _reads_as_script(code: str) -> bool:
    return _SCRIPT.search(code) is not None


def _of_the_sandbox(error: Failure, run: FailedRun, gateway: Gateway) -> str | None:
    """A hint for an error of the operating system in a sandbox."""
    executors, executor, code = gateway.executors, run.executor, run.program.code
    text, can = error.message, executors.capabilities(executor)
    if error.type == "PermissionError" and text.endswith("Operation not permitted") and can.one_process:
        return (
            "A program may start no process here, for no control group would count the memory of more than one. "
            "Threads are allowed."
        )
    if error.type == "FileNotFoundError" and _STARTS_PROCESS.search(code) and shows_paths(gateway, executor):
        return f"Commands are in a sandbox only where the operator shows them: `[executors.{executor}] paths`."
    if error.type == "ModuleNotFoundError" and (match := _NO_MODULE.search(text)):
        package = match[1].partition(".")[0]
        return lacks(gateway, executor, package) if run.names.server(match[1]) == package else None
    if not can.network and (error.type in _NETWORK_ERRORS or _NETWORK_MESSAGE.search(text)):
        return "There is no network in a sandbox: call the functions of the catalog."
    if any(said in text for said in ("No space left on device", "Disk quota exceeded", "File too large")):
        return "The disk of the sandbox is full: keep less in files."
    if "can't start new thread" in text or error.type == "BlockingIOError":
        return "`[limits] processes` bounds processes and threads together: start fewer."
    if error.type == "EOFError" or "name 'input' is not defined" in text:
        return "Nobody can type here: pass values as `params`."
    if "a bytes-like object is required, not 'Answer'" in text:
        return "A handle is no bytes: doorward.read(handle) is what the file holds."
    if error.type == "FileNotFoundError" and ARTEFACT_URI in text:
        return "A handle is no path: doorward.read(handle) is what the file holds, doorward.path(handle) where it is."
    if error.type == "PermissionError" or "Read-only file system" in text:
        return (
            _WHERE_TO_WRITE
            if can.files
            else "There are no files here: doorward.read(handle) is what one holds; return bytes to leave one."
        )
    return None


def _hint(error: Failure, run: FailedRun) -> str | None:
    text = error.message
    if match := _NO_ATTRIBUTE.search(text):
        return _near(run, match[1], match[2])
    if match := _NO_IMPORT.search(text):
        return _near(run, match[2], match[1])
    if match := _NO_MODULE.search(text):
        return no_server(match[1], run)
    if "'ApiError' object has no attribute" in text:
        return "It has `status`, `body` and `retry_after`; str(error) is its message."
    if "'ToolError' object has no attribute" in text:
        return "str(error) is the tool's text; there is nothing else."
    if "object is not an iterator" in text:
        return "Write `next(iter(values))`."
    if error.type == "NameError" and (match := _NO_NAME.search(text)):
        if run.members(match[1]) is not None:
            return f"Write `import {match[1]}` first."
        server, _, name = qualified(match[1]).partition(".")
        if name in (run.members(server) or ()):
            return f"Write `from {server} import {name}` and call it so."
        missed = run.names.missed_server(error)
        return no_server(missed, run) if missed else run.names.hint(match[1]) or None
    if missed := run.names.missed_server(error):
        return no_server(missed, run)
    if hint := run.hint(error):
        return hint
    if "can't be awaited" in text or "can't be used in 'await'" in text:
        return "The call was made and its value is there already: leave out `await`."
    return None


def no_server(name: str, run: FailedRun) -> str:
    """A hint for a module, or an alias of a server, that does not exist: that server is broken, or these are similar
    names."""
    asked = run.names.server(name)
    why, alike = run.absent(asked)
    if why:
        return f"The server {asked!r} is broken: {why.rstrip('.')}."
    if said := run.names.hint(name):
        return said
    near = f"Near: {', '.join(alike)}." if alike else ""
    if asked == name.partition(".")[0]:
        if near or asked in sys.stdlib_module_names:
            return near
        return f"There is no server {asked!r} either; see list_servers (or doorward.servers())."
    return f"Server {asked!r} is not available. {near or 'See list_servers (or doorward.servers()).'}"


def _near(run: FailedRun, server: str, name: str) -> str | None:
    members = run.members(server)
    if members is not None and server == "doorward":
        if name == "account":
            return 'Name the account in each call here: server.function(…, _account="work").'
        near = nearest(name, members, 3)
        return (
            f"Near: {', '.join(near)}."
            if near
            else f'It has {", ".join(sorted(members, key=str.lower))}: see get_functions(["doorward"]).'
        )
    if members is None:
        server = run.names.server(server)
        members = run.members(server)
    if members is None:
        return None
    return run.near(server, name) or f"See search_functions(…, server={server!r})."
