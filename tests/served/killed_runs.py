"""What the tests of killed runs share: programs made by chance, an API that counts writes and kills whoever calls it,
and processes that run and resume programs."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import parse_qs, urlsplit

from hypothesis import strategies as st

from .product import Answering

FORKS = """\
import asyncio, gc, json, os, sys
from doorward import Gateway
import doorward.journal.journals, doorward_openapi.source, doorward_sandbox_monty.sandbox

async def run(asked):
    async with Gateway.open(asked["config"], environ={"CALLER": str(os.getpid())}) as gate:
        for place, again in asked.get("said", ()):
            gate.runs.journals.answer(asked["resume"], again=again, place=place)
        if "replay" in asked:
            outcome = await gate.runs.replay(asked["replay"])
        elif "resume" in asked:
            outcome = await gate.runs.resume(asked["resume"])
        else:
            outcome = await gate.execute(asked["code"])
        error, waiting = outcome.error, outcome.waiting
        return {
            "ok": outcome.ok, "value": outcome.value, "printed": outcome.printed,
            "error": error and [error.type, error.message], "waiting": waiting and waiting.for_,
            "calls": [[c["function"], c["ok"], c["count"]] for c in outcome.calls],
        }

for line in sys.stdin:
    child = os.fork()
    if not child:
        answer = json.dumps(asyncio.run(run(json.loads(line))))
        os.write(1, answer.encode() + b"\\n")
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if status:
        os.write(1, json.dumps({"killed": os.waitstatus_to_exitcode(status)}).encode() + b"\\n")
"""


class Forks:
    """Processes, each of which runs or resumes one program; one that was killed says so."""

    def __init__(self, config: Path) -> None:
        self._config = config
        self.process = subprocess.Popen(
            [sys.executable, "-c", FORKS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def ask(self, **asked: Any) -> dict[str, Any]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps({"config": str(self._config), **asked}) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        assert isinstance(answer, dict)
        return answer


class Counting(Answering):
    """An API whose writes are counted. It kills its caller at the request that it was told, before or after it has done
    what was asked."""

    written: ClassVar[Counter[str]] = Counter()
    requests = 0
    victim: tuple[int, str] = (0, "")
    lock = threading.Lock()

    def _answered(self) -> None:
        url = urlsplit(self.path)
        asked = {key: values[0] for key, values in parse_qs(url.query).items()}
        if length := int(self.headers.get("Content-Length", 0)):
            asked |= json.loads(self.rfile.read(length))
        with self.lock:
            Counting.requests += 1
            number = self.requests
        if self.victim == (number, "before"):
            self._kill()
            return
        if url.path == "/slow":
            time.sleep(int(asked["n"]) / 1000)
        if self.command in ("POST", "PUT"):
            with self.lock:
                self.written[f"{self.command} {asked['name']}"] += 1
        if self.victim == (number, "after"):
            self._kill()
            return
        if url.path == "/fail":
            self.answer({"message": f"no {asked['n']}"}, 404)
            return
        with contextlib.suppress(ConnectionError):  # its caller was killed meanwhile
            self.answer({"n": asked.get("n", asked.get("name")), "value": len(str(asked)) * 7})

    def _kill(self) -> None:
        self.close_connection = True
        os.kill(int(self.headers["X-Caller"]), signal.SIGKILL)

    do_GET = do_POST = do_PUT = _answered


def configured(folder: Path, url: str, durable: str = "always") -> Path:
    """A configuration with this API."""
    number = {"name": "n", "in": "query", "required": True, "schema": {"type": "integer"}}
    body = {"content": {"application/json": {"schema": {
        "type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"],
    }}}}  # fmt: skip
    done: dict[str, Any] = {"responses": {"200": {"description": "ok", "content": {"application/json": {}}}}}
    document = {"openapi": "3.1.0", "info": {"title": "Api", "version": "1"}, "servers": [{"url": url}], "paths": {
        "/item": {
            "get": {"operationId": "get_item", "parameters": [number], **done},
            "post": {"operationId": "add_item", "requestBody": body, **done},
            "put": {"operationId": "put_item", "requestBody": body, **done},
        },
        "/slow": {"get": {"operationId": "slow", "parameters": [number], **done}},
        "/fail": {"get": {"operationId": "fail", "parameters": [number], **done}},
    }}  # fmt: skip
    (folder / "api.json").write_text(json.dumps(document))
    file = folder / "doorward.toml"
    file.write_text(f"""\
state = "state"
executor = "monty"
cache = "none"
[runs]
durable = "{durable}"
[servers.api]
source = "openapi"
spec = "api.json"
base_url = "{url}"
headers = {{ X-Caller = "${{CALLER}}" }}
retries = 0
""")
    return file


_NUMBERS = st.integers(0, 9)
_CALLS = st.one_of(
    st.builds("api.get_item(n={})".format, _NUMBERS),
    st.builds("api.slow(n={})".format, st.sampled_from([0, 4, 12])),
    st.just("api.add_item(name=name())"),
    st.just("api.put_item(name=name())"),
    st.builds("doorward.search('item', limit={})".format, st.integers(1, 3)),
)


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.splitlines())


_SIMPLE = st.one_of(
    st.builds("show({})".format, _CALLS),
    st.builds("try:\n    show(api.fail(n={}))\nexcept Exception as e:\n    print('failed', e)".format, _NUMBERS),
    st.lists(_CALLS, min_size=2, max_size=4).map(
        lambda calls: f"for got in await asyncio.gather({', '.join(calls)}):\n    show(got)"
    ),
    st.lists(st.sampled_from([0, 5, 15]), min_size=2, max_size=3, unique=True).map(
        lambda waits: f"await asyncio.gather({', '.join(f'chain({n})' for n in waits)})"
    ),
)
_STATEMENTS = st.recursive(
    _SIMPLE,
    lambda inner: st.one_of(
        st.builds("for i in range({}):\n{}".format, st.integers(1, 3), inner.map(_indented)),
        st.builds(
            "if api.get_item(n={})['value'] % 2:\n{}\nelse:\n{}".format,
            _NUMBERS,
            inner.map(_indented),
            inner.map(_indented),
        ),
        st.builds("{}\n{}".format, inner, inner),
    ),
    max_leaves=4,
)
HEAD = """\
import asyncio
import api
import doorward
names = []
out = []
def name():
    names.append(1)
    return f'w{len(names)}'
def show(got):
    out.append(len(str(got)))
    print(str(got)[:80])
async def chain(n):
    show(await api.slow(n=n))
    show(await api.add_item(name=name()))
"""
PROGRAMS = _STATEMENTS.map(lambda body: f"{HEAD}{body}\nout")
"""Programs with calls in loops, gathered, in branches and in tasks that go on beside each other, some of which fail."""
