"""The commands of a Python's Doorward, without the time that each takes to import what all import."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

_FORKS = """
import atexit, gc, json, os, sys, tempfile, traceback
from contextlib import suppress
from importlib import import_module
from importlib.metadata import entry_points
from doorward_cli import main

for module in (*sys.argv[1:], "doorward.gateway", "anyio._backends._asyncio", "dotenv.main", "pydantic.type_adapter"):
    import_module(module)
for group in ("command", "plugins", "executor", "store", "source"):
    for entry in entry_points(group=f"doorward.{group}"):
        with suppress(Exception):  # what it needs may be absent: who uses it is told
            import_module(entry.module)
gc.freeze()  # the children share what is there by now
for line in sys.stdin:
    asked = json.loads(line)
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        if (child := os.fork()) == 0:
            code = 1
            try:
                for source, taken in ((os.open(os.devnull, os.O_RDONLY), 0), (out.fileno(), 1), (err.fileno(), 2)):
                    os.dup2(source, taken)
                sys.stdin = open(0, closefd=False)
                os.chdir(asked["folder"])
                os.environ.clear()
                os.environ.update(asked["environ"])
                sys.path[:0] = asked["places"]
                sys.argv[:] = ["doorward", *asked["words"]]
                main(asked["words"])
            except SystemExit as ended:
                code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
            except BaseException:
                traceback.print_exc()
            finally:
                atexit._run_exitfuncs()
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(code)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        said = [os.pread(file.fileno(), os.fstat(file.fileno()).st_size, 0).decode() for file in (out, err)]
    print(json.dumps([code, *said]), flush=True)
"""


class Commands:
    """Runs `doorward` commands, each in a process of its own, forked from one that has imported what commands import: a
    tenth of a second each instead of one. For tests of what a command does; how its process starts is tested with
    `start_doorward`.

    `python`: another Python with Doorward in it, as the first words of its command line; ours, if there are none.
    `modules`: what to import first besides.
    """

    def __init__(self, *python: str, modules: Iterable[str] = ()) -> None:
        self._python = python or (sys.executable,)
        self._modules = [*modules]
        self._forking: subprocess.Popen[str] | None = None

    def run(
        self, words: Iterable[str], environ: Mapping[str, str], folder: Path, places: Iterable[str] = ()
    ) -> subprocess.CompletedProcess[str]:
        """Run `doorward COMMAND …` in a folder, with no variables but these, and an empty standard input.

        `places`: where it finds modules first, as by PYTHONPATH.
        """
        words, places = [*words], [*places]
        if not hasattr(os, "fork"):
            command = [*self._python, "-m", "doorward", *words]
            environ = {**environ, "PYTHONPATH": os.pathsep.join(places)}
            quiet = subprocess.DEVNULL
            return subprocess.run(command, cwd=folder, env=environ, stdin=quiet, capture_output=True, text=True)  # noqa: S603
        forking = self._forking = self._forking or self._start()
        assert forking.stdin is not None
        assert forking.stdout is not None
        asked = {"words": words, "environ": dict(environ), "folder": str(folder), "places": places}
        forking.stdin.write(json.dumps(asked) + "\n")
        forking.stdin.flush()
        return subprocess.CompletedProcess(words, *json.loads(forking.stdout.readline()))

    def _start(self) -> subprocess.Popen[str]:
        environ = {name: value for name, value in os.environ.items() if not name.startswith(("DOORWARD_", "PYTHON"))}
        command, pipe = [*self._python, "-c", _FORKS, *self._modules], subprocess.PIPE
        return subprocess.Popen(command, stdin=pipe, stdout=pipe, env=environ, encoding="utf-8")  # noqa: S603

    def close(self) -> None:
        """End the process that forks them, which ends with its standard input."""
        if self._forking is not None:
            self._forking.communicate()

    def __enter__(self) -> Commands:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
