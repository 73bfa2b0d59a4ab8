"""Runs the programs of one sandbox: a single one, or those of a session one after the other.

Nothing here protects the host: that do the walls around this process (`walls.py`), and the host trusts no message.
"""

from __future__ import annotations

import ast
import asyncio
import builtins
import contextlib
import inspect
import io
import linecache
import os
import signal
import socket
import sys
import types
from collections.abc import Iterator
from typing import Any

from doorward_jail.inside import catalog, results
from doorward_jail.inside.chance import Chance
from doorward_jail.inside.channel import Channel, sparing
from doorward_jail.inside.clocks import Clocks
from doorward_jail.inside.protocol import encode
from doorward_jail.inside.unknown import KNOWN, Looks, Unknown, known, sent

_VALUE = "__doorward_value__"
_TELLING_SHARE = 0.8
_TRIVIAL_PROGRAM: dict[str, Any] = {
    "code": "1 + 1",
    "before": "",
    "awaited": [],
    "inputs": {},
    "given": {},
    "sets_result": False,
}


class Runner:
    """Runs programs in one module `__main__`, and sends their results. It is made once, in the zygote: what a sandbox
    makes for itself is memory that it does not share."""

    def __init__(self, clocks: Clocks, chance: Chance) -> None:
        self._clocks, self._chance = clocks, chance
        self.channel = Channel(clocks=clocks)
        self._catalog = catalog.Catalog(self.channel)
        self._out = results.Out()
        self._kept: list[tuple[str, bytes]] = []
        self._figures = results.Figures(lambda name, content: self._kept.append((name, content)))
        self._loop: asyncio.AbstractEventLoop | None = None
        self._running: Any = None
        self._count = 0
        self._main = types.ModuleType("__main__")
        self._main.__dict__.update({catalog.LATER: catalog.later, KNOWN: known})
        clocks.program = self._main.__dict__
        self._figures.watch()
        _surroundings(self._main)

    def serve(self, link: socket.socket) -> None:
        """Tell the host that this sandbox is ready, and run its programs until the host is gone."""
        self.channel.open(link)
        _begin()
        self._clocks.begin(())
        self._chance.begin(b"-")
        self._execute(_TRIVIAL_PROGRAM, "")  # this all copies ahead the memory that the first run would copy
        self.channel.send({"ready": os.getpid()})
        try:
            while True:
                message, files = self.channel.next()
                self.run(message["run"], files)
        except (EOFError, OSError):
            os._exit(0)

    def run(self, program: dict[str, Any], files: bytes) -> None:
        """Run a program, and send the host its result."""
        self.channel.send({"began": True})  # if this process dies now, the program is not run again
        self._count += 1
        name = "program.py" if self._count == 1 else f"program-{self._count}.py"
        most = self.channel.most = program["most"]
        self._clocks.begin(program["times"])
        if self._count == 1:  # the next ones of a session go on with what they have
            self._chance.begin(bytes.fromhex(program["seed"]))
        try:
            for file, size in program["files"].items():
                catalog.put(file, files[:size])
                files = files[size:]
            self._catalog.begin(program["mentioned"], program["aliases"])
            sys.argv[1:] = program["argv"]
            with self._telling_line(program["seconds"], name):
                ended = {"value": self._execute(program, name)}
        except BaseException as error:
            ended = {"error": results.failure(error, name)}
        try:
            self._send_artefacts(most)
        except BaseException as error:
            sys.stderr.write(f"[artefacts are lost: {results.failure(error, name)['message']}]\n")
        self._send_end(ended, most)

    @contextlib.contextmanager
    def _telling_line(self, seconds: float, name: str) -> Iterator[None]:
        """Tell the host where the program is when most of its time is over, and from then on now and then: its clock
        may have stood still meanwhile."""

        def tell(number: int, frame: types.FrameType | None) -> None:
            while frame is not None and frame.f_code.co_filename != name:
                frame = frame.f_back
            frame = frame or getattr(self._running, "cr_frame", None)  # where it awaits
            if frame is not None and frame.f_lineno:
                self.channel.send_if_free({"at": frame.f_lineno})

        signal.signal(signal.SIGALRM, tell)
        signal.siginterrupt(signal.SIGALRM, False)
        signal.setitimer(signal.ITIMER_REAL, seconds * _TELLING_SHARE, seconds * (1 - _TELLING_SHARE) / 2)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            self._running = None

    def _execute(self, program: dict[str, Any], name: str) -> Any:
        """The program's value: `result` if it is set, else the last expression."""
        code, scope = program["code"], self._main.__dict__
        linecache.cache[name] = (len(code), None, code.splitlines(True), name)
        tree = ast.parse(code, name)
        _value_of_last(tree)
        if program.get("plan"):
            ast.fix_missing_locations(Looks().visit(tree))
        _mark_awaited(tree, code, {(start, end) for start, end in program["awaited"]})
        compiled = compile(tree, name, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
        exec(program["before"], scope)  # noqa: S102
        scope.update(catalog.incoming(program["inputs"]))
        for parameter, uri in program["given"].items():
            scope[parameter] = self._catalog.given(scope[parameter], uri)
        scope.pop(_VALUE, None)
        try:
            running = eval(compiled, scope)  # noqa: S307 (in here this is the job)
            if inspect.iscoroutine(running):
                self._running = running
                self._loop = self._loop or asyncio.new_event_loop()
                self._loop.run_until_complete(running)
        except SystemExit as end:
            if end.code not in (None, 0):
                raise
        value = scope.pop(_VALUE, None)
        return scope.get("result", value) if program["sets_result"] else value

    def _send_artefacts(self, most: int) -> None:
        self._figures.collect()
        for name, content in [*self._kept, *self._out.files(most)][: results.MAX_ARTEFACTS]:
            self.channel.send({"artefact": name}, content)
        self._kept.clear()

    def _send_end(self, ended: dict[str, Any], most: int) -> None:
        seen = {"seen": self._clocks.untold()}
        try:
            frame = sparing(encode({**seen, "done": ended}, default=self._outgoing))
        except BaseException:  # a value that JSON cannot say, or that resists
            try:
                frame = encode({**seen, "done": {"value": results.plain(ended.get("value"))}})
            except BaseException as error:
                frame = encode({**seen, "done": {"error": results.failure(error, "")}})
        while self._kept:  # figures that were in the value
            self.channel.send({"artefact": self._kept[0][0]}, self._kept.pop(0)[1])
        if len(frame) > most:
            frame = encode({"done": {"bytes": len(frame)}})
        self.channel.send_frame(frame)

    def _outgoing(self, value: Any) -> Any:
        if type(value) is Unknown:  # it can be asked nothing else
            return sent(value)
        return self._figures.kept(value) or results.returned(value)


def _surroundings(main: types.ModuleType) -> None:
    """Make the surroundings of a script, where the zygote's own differ."""
    sys.modules["__main__"] = main
    sys.argv = ["program.py"]
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    for stream in ("stdout", "stderr"):
        raw = io.FileIO(1, "w", closefd=False)
        setattr(sys, stream, io.TextIOWrapper(raw, "utf-8", "backslashreplace", write_through=True))
    notice = "[breakpoint() does nothing here: there is nobody to debug]\n"
    sys.breakpointhook = lambda *args, **kwargs: sys.stderr.write(notice)
    main.__dict__["__builtins__"] = builtins
    builtins.help = catalog.told  # type: ignore[assignment]
    for name in ("exit", "quit"):
        setattr(builtins, name, sys.exit)


def _begin() -> None:
    """What the process of a sandbox makes for itself."""
    for name in ("in", "out"):
        with contextlib.suppress(FileExistsError):
            os.mkdir(name)
    sys.path.append(os.getcwd())


def _value_of_last(tree: ast.Module) -> None:
    """Make the last expression an assignment, so that its value can be read."""
    if tree.body and isinstance(last := tree.body[-1], ast.Expr):
        target = ast.Name(_VALUE, ast.Store())
        tree.body[-1] = ast.copy_location(ast.Assign([target], last.value), last)
        ast.fix_missing_locations(tree)


def _mark_awaited(tree: ast.Module, code: str, places: set[tuple[int, int]]) -> None:
    """Let the calls at these places (bytes of the text) use `later`, if they call a function of the catalog."""
    if not places:
        return
    starts = [0]
    for line in code.encode().split(b"\n"):
        starts.append(starts[-1] + len(line) + 1)
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        if (starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset) in places:
            node.func = ast.copy_location(ast.Call(ast.Name(catalog.LATER, ast.Load()), [node.func], []), node.func)
            ast.fix_missing_locations(node)
