"""The names that do not work in a sandbox, or not in every one, and what to do instead."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Rule:
    """What to say about a name. `refuse`: the program does not start unless the operator allows the name."""

    message: str
    instead: str
    refuse: bool = True
    unless: str = ""
    """The word of `Program.granted` with which there is nothing to say."""
    way: str = ""
    """By what the operator grants it, if not by `allow` alone."""


def _rules(names: Iterable[str], why: str, instead: str, **more: Any) -> dict[str, Rule]:
    return {name: Rule(f"`{name}`: {why}", instead, **more) for name in names}


_NETWORK = [
    "urllib.request", "socket", "http.client", "ftplib", "smtplib", "imaplib", "poplib", "telnetlib",
]  # fmt: skip
_NETWORK_PACKAGES = ["requests", "httpx", "httpx2", "urllib3", "aiohttp", "websockets"]
_PROCESSES = [
    "subprocess",
    "pty",
    "os.system",
    "os.popen",
    "os.fork",
    "os.forkpty",
    "os.posix_spawn",
    "os.posix_spawnp",
    "os.startfile",
]
_PROCESSES += [
    f"os.{kind}{end}" for kind in ("exec", "spawn") for end in ("l", "le", "lp", "lpe", "v", "ve", "vp", "vpe")
]
_CALL = "call functions of the catalog, e.g. `import github`; see search_functions"
_PLAIN = "write the code plainly"
_MADE, _NO_MADE = ["eval", "exec", "compile", "__import__"], "the guard cannot read code that is made while running"
_UNPICKLING = [
    "pickle.load", "pickle.loads", "pickle.Unpickler", "_pickle", "marshal.load", "marshal.loads", "shelve", "dill",
    "cloudpickle.load", "cloudpickle.loads", "joblib.load", "pandas.read_pickle",
]  # fmt: skip
_SHELL = "`shell = true` of an executor that has one, or "
_PACKAGE = "`doorward sandbox add EXECUTOR {}` (what of it needs no network works), or "

NAMES = {
    **_rules(_NETWORK, "there is no network", _CALL, unless="network"),
    **_rules(_NETWORK_PACKAGES, "there is no network", _CALL, unless="network", way=_PACKAGE),
    **_rules(_PROCESSES, "the guard lets programs start no processes", _CALL, unless="shell", way=_SHELL),
    **_rules(
        ["multiprocessing", "concurrent.futures.ProcessPoolExecutor"],
        "not every executor has processes",
        "use asyncio.gather for calls in parallel",
        refuse=False,
    ),
    **_rules(["ctypes"], "not every executor runs native code", "use plain Python", refuse=False),
    **_rules(_UNPICKLING, "unpickling runs whatever the data says", "use json, or csv"),
    **_rules((f"builtins.{name}" for name in _MADE), _NO_MADE, _PLAIN),
}
"""Modules, and names in modules. A rule also covers everything below its name."""

BUILTINS = {
    **_rules(_MADE, _NO_MADE, _PLAIN),
    **_rules(
        ["input", "breakpoint"],
        "nobody can answer",
        "use params: assign a literal at the top, and pass `params` to change it",
    ),
}
"""Calls of built-in functions, unless the program defines a function of that name."""

ALLOW = "the operator can allow it: {}`[hooks.ast] allow`"
RETURNS_NOTHING = Rule("main() is never called for you", "end with `result = main()`", refuse=False)
NOT_ALLOWED = Rule("`{}`: the operator does not allow it", "do without it")
CREDENTIAL = Rule(
    "`{}`: the sandbox holds no credentials", "call functions without any: Doorward adds the credentials to the calls"
)
HOST_FILE = Rule(
    "`{}`: a program sees the files of its sandbox, and of the host none but those that the operator shows",
    "use relative paths or /tmp for own files, functions for everybody else's",
    refuse=False,
)

CREDENTIAL_NAME = re.compile(
    r"(?:^|_|API|ACCESS)(?:KEYS?|TOKENS?|SECRETS?|PASSWORDS?|PASSWD|PASS|CREDENTIALS?|AUTH|PAT|JWT|COOKIES?)(?:_|$)",
    re.IGNORECASE,
)
HOST_PATH = re.compile(r"/(?!(?:tmp|workspace)(?:/|$)|dev/)|~|[A-Za-z]:[\\/]")

SYNTAX = {
    "'return' outside function": "set `result = …` instead of return",
    "'await' outside async function": "make it `async def`, or call without await: functions of the catalog can be "
    "called plainly",
}
"""What to do about a syntax error, by the compiler's message."""
