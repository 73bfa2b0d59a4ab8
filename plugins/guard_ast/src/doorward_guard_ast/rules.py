"""The names that do not work in a sandbox, or not in every one, and what to do instead."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rule:
    """What to say about a name. `refuse`: the program does not start unless the operator allows the name."""

    message: str
    instead: str
    refuse: bool = True


def _rules(names: Iterable[str], why: str, instead: str, *, refuse: bool = True) -> dict[str, Rule]:
    return {name: Rule(f"`{name}`: {why}", instead, refuse) for name in names}


_NETWORK = [
    "requests", "httpx", "httpx2", "urllib.request", "urllib3", "aiohttp", "socket", "http.client", "ftplib", "smtplib",
    "imaplib", "poplib", "telnetlib", "websockets",
]  # fmt: skip
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

NAMES = {
    **_rules(_NETWORK, "there is no network", _CALL),
    **_rules(_PROCESSES, "the guard lets programs start no processes", _CALL),
    **_rules(
        ["multiprocessing", "concurrent.futures.ProcessPoolExecutor"],
        "not every executor has processes",
        "use asyncio.gather for calls in parallel",
        refuse=False,
    ),
    **_rules(["ctypes"], "not every executor runs native code", "use plain Python", refuse=False),
    **_rules(["pickle.loads", "pickle.load"], "unpickling runs whatever the data says", "use json", refuse=False),
}
"""Modules, and names in modules. A rule also covers everything below its name."""

BUILTINS = {
    **_rules(
        ["eval", "exec", "compile", "__import__"], "the guard cannot read code that is made while running", _PLAIN
    ),
    **_rules(
        ["input", "breakpoint"],
        "nobody can answer",
        "use params: assign a literal at the top, and pass `params` to change it",
    ),
}
"""Calls of built-in functions, unless the program defines a function of that name."""

RETURNS_NOTHING = Rule("main() is never called for you", "end with `result = main()`", refuse=False)
ALLOW = "the operator can allow it: `[hooks.ast] allow`"
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
