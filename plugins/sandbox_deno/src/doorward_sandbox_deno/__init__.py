"""The executor `deno`: programs in TypeScript and JavaScript, in Deno without any permission, in jails of the kernel's
namespaces without any network.

What happens around a sandbox (jails, warm sandboxes, sessions, frames) is the job of `doorward_jail`; this plugin reads
programs (`program_text.py`, `reading.py`), and runs them in Deno (`inside/`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from doorward import Capabilities, Limits
from doorward_jail import Account, NsjailedExecutor, Shows, default_python, interpreter

from doorward_sandbox_deno.reading import ReadsScripts
from doorward_sandbox_deno.settings import DenoSettings
from doorward_sandbox_deno.speech import DenoSpeech

_PROGRAM = "/packages/deno"
_INSIDE = "/packages/inside"

_THREADS = 32
"""Room for the threads that Deno itself starts, whatever the number of processors."""

_SMALLEST_HEAP_MIB = 32

_MODULES = [
    "assert", "async_hooks", "buffer", "crypto", "events", "path", "perf_hooks", "punycode", "querystring", "stream",
    "string_decoder", "timers", "url", "util", "zlib",
]  # fmt: skip
"""The modules of Node that `inside/main.js` lets programs import: those that only compute."""

_ENVIRONMENT = {
    "DENO_DIR": "/tmp/deno",  # noqa: S108 (of the sandbox)
    "DENO_NO_UPDATE_CHECK": "1",
    "DENO_NO_PACKAGE_JSON": "1",
    "HOME": "/work",
    "LANG": "C.UTF-8",
    "NO_COLOR": "1",
    "TMPDIR": "/tmp",  # noqa: S108
}
"""The whole environment of Deno; programs may not read it."""


class DenoExecutor(ReadsScripts, NsjailedExecutor[DenoSettings]):
    """Runs programs in Deno. Each sandbox is a process of its own, parked until it gets its program."""

    Settings = DenoSettings
    speaks = DenoSpeech()
    threads = _THREADS

    def capabilities(self) -> Capabilities:
        held = self.held()
        return Capabilities(
            language="TypeScript and JavaScript (Deno, no permissions)",
            isolation="nsjail around Deno without permissions: all namespaces, no network, read-only root, seccomp, an "
            "unprivileged user; fresh for each run",
            sessions=True,
            repeats=True,
            one_process=True,
            languages=("typescript", "javascript"),
            modules=[f"node:{module}" for module in _MODULES],
            limits={
                "time": "host",
                "memory": f"{held or 'rlimit (private memory)'}, and the engine's heap",
                "processes": f"seccomp (a program is one process), threads by {held or 'rlimit'}",
                "disk": "Deno (no files)",
                "calls": "host",
                "output": "host",
                **({"cpu": "cgroup"} if self.settings.cpus and held else {}),
            },
        )

    async def shows(self) -> Shows:
        from doorward_sandbox_deno.binary import deno

        python = await interpreter(self.settings.python or default_python(None), name=self.context.name)
        found = await deno(self.settings.deno)
        runner = Path(__file__).parent / "inside"
        return Shows(python, others=[(found.path, _PROGRAM), (runner, _INSIDE)], text=[found.text])

    def alone(self, limits: Limits) -> Callable[[int], Account]:
        from doorward_sandbox_deno.private_memory import PrivateMemory

        return lambda pid: PrivateMemory(pid, limits.memory_bytes)

    def zygote(self, limits: Limits, *, alone: bool) -> Mapping[str, Any]:
        heap = max(_SMALLEST_HEAP_MIB, limits.memory_bytes * 3 // 4 // 2**20)
        return {
            "one_process": True,
            "processes": limits.processes + _THREADS,
            "program": {
                "path": _PROGRAM,
                "words": [*_WORDS, f"--v8-flags=--max-old-space-size={heap}", _MAIN],
                "env": _ENVIRONMENT,
            },
        }


_WORDS = (
    "deno", "run", "--quiet", "--no-prompt", "--no-remote", "--no-npm", "--no-config", "--no-lock", "--no-code-cache",
    "--cached-only", "--deny-read", "--deny-write", "--deny-net", "--deny-env", "--deny-run", "--deny-ffi",
    "--deny-import", "--allow-sys=inspector",
)  # fmt: skip
"""Deno's command line. The one permission lets the runner use the engine's own evaluator; it is given back before the
sandbox is ready."""

_MAIN = f"{_INSIDE}/main.js"
