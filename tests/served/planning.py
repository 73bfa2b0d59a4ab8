"""What the tests of plans share: an API that counts its writes and kills its caller, a project with it, and programs
made by chance."""

from __future__ import annotations

import json
import os
import signal
import threading
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import parse_qs, urlsplit

from hypothesis import strategies as st

from .forked import Forked
from .product import Answering, Project


class Desk(Answering):
    """Issues: one that is made gets the next number. What was written is kept in order; the server is killed before or
    after the write that it was told."""

    written: ClassVar[list[tuple[str, dict[str, Any]]]] = []
    state: ClassVar[dict[str, Any]] = {"open": 3}
    victim: tuple[int, str] = (0, "")
    pid = 0
    lock = threading.Lock()

    @classmethod
    def begin(cls) -> None:
        cls.written.clear()
        cls.state.update(open=3)
        cls.victim = (0, "")

    def _read(self) -> None:
        url = urlsplit(self.path)
        asked = {key: values[0] for key, values in parse_qs(url.query).items()}
        n = int(asked.get("n", 1))
        self.answer({"n": n, "state": dict(self.state), "labels": [f"label {n}", "b"], "users": [{"id": n * 10}]})

    def _written(self) -> None:
        content = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        path = urlsplit(self.path).path
        asked = {"content": content} if path == "/files" else json.loads(content or b"{}")
        with self.lock:
            number = len(self.written) + 1
            if self.victim == (number, "before"):
                self._kill()
                return
            self.written.append((f"{self.command} {path}", asked))
            if self.victim == (number, "after"):
                self._kill()
                return
        if asked.get("title") == "refused":
            self.answer({"message": "no such title"}, 422)
        else:
            self.answer({"number": 100 + number, "user": {"id": number, "login": f"u{number}"}, "labels": ["new"]})

    def _kill(self) -> None:
        self.close_connection = True
        os.kill(Desk.pid, signal.SIGKILL)

    do_GET = _read
    do_POST = do_PUT = do_DELETE = _written


def _object(required: str, **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required.split()}


_TEXT, _NUMBER = {"type": "string"}, {"type": "integer"}
_BYTES = {"type": "string", "format": "binary"}
_MADE = _object("number", number=_NUMBER, user=_object("id", id=_NUMBER, login=_TEXT), labels={"type": "array", "items": _TEXT})  # fmt: skip


def made(folder: Path, url: str, config: str = "", executor: str = "nsjail") -> Project:
    """A project whose programs can be planned."""

    def operation(id: str, body: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
        content = {"content": {"application/json": {"schema": body}}}
        given = {"requestBody": content} if body else {}
        answer = {"content": {"application/json": {"schema": _MADE if body else {}}}}
        return {"operationId": id, "responses": {"200": {"description": "ok", **answer}}, **given, **more}

    n = {"name": "n", "in": "query", "required": True, "schema": _NUMBER}
    document = {"openapi": "3.1.0", "info": {"title": "Desk", "version": "1"}, "servers": [{"url": url}], "paths": {
        "/issues": {
            "get": operation("get_issue", parameters=[n]),
            "post": operation("add_issue", _object("title", title=_TEXT, about=_NUMBER)),
            "put": operation("set_issue", _object("number", number=_NUMBER, title=_TEXT)),
        },
        "/files": {
            "post": operation("add_file", requestBody={"content": {"application/octet-stream": {"schema": _BYTES}}}),
            "put": operation("set_file", requestBody={"content": {"multipart/form-data": {"schema": _object(
                "file", file=_BYTES, about=_TEXT
            )}}}),
        },
        "/notes": {"post": operation("add_note", _object("issue text", issue=_NUMBER, text=_TEXT, user=_NUMBER))},
    }}  # fmt: skip
    project = Forked(folder, "")
    (folder / "desk.json").write_text(json.dumps(document))
    project.change(
        'executor = "monty"',
        f'executor = "{executor}"',
        last=f"""{config}
[limits]
rate = 100000
[servers.desk]
source = "openapi"
spec = "desk.json"
base_url = "{url}"
retries = 0
""",
    )
    project.change('cache = "sqlite"', 'cache = "none"')
    return project


HEAD = """\
import asyncio
import desk
names, out = [], []
def name():
    names.append(1)
    return f'w{len(names)}'
def issue(n=1):
    found = desk.get_issue(n=n)
    made = desk.add_issue(title=name(), about=found['users'][0]['id'])
    out.append(made['number'])
    return made
async def chain(n):
    found = await desk.get_issue(n=n)
    made = await desk.add_issue(title=f'{found["labels"][0]} of a chain')
    await desk.add_note(issue=made.number, text=f'chain {n}', user=made['user']['id'])
def refused():
    try:
        desk.get_issue(n='none')
    except Exception as error:
        print('refused', type(error).__name__)
"""
_NUMBERS = st.integers(1, 5)
_SIMPLE = st.one_of(
    st.builds("issue({})".format, _NUMBERS),
    st.builds("made = issue({})\ndesk.set_issue(number=made['number'], title=name())".format, _NUMBERS),
    st.builds("desk.add_note(issue=issue().number, text={!r})".format, st.sampled_from(["a", "b"])),
    st.builds("desk.set_issue(number={}, title='t')".format, _NUMBERS),
    st.just("refused()"),
    st.lists(_NUMBERS, min_size=2, max_size=3).map(
        lambda numbers: f"await asyncio.gather({', '.join(f'chain({n})' for n in numbers)})"
    ),
    st.builds("print(desk.get_issue(n={})['labels'])".format, _NUMBERS),
)


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.splitlines())


PROGRAMS = st.recursive(
    _SIMPLE,
    lambda inner: st.one_of(
        st.builds("for i in range({}):\n{}".format, st.integers(1, 3), inner.map(_indented)),
        st.builds("if desk.get_issue(n={})['state']['open'] > 2:\n{}".format, _NUMBERS, inner.map(_indented)),
        st.builds("{}\n{}".format, inner, inner),
    ),
    max_leaves=5,
).map(lambda body: f"{HEAD}{body}\nout")
"""Programs whose writes hang on what they read, on each other's answers, and on loops; some calls fail."""
