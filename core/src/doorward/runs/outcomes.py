"""What came of a run, as its caller gets it: a value, cut if it is large, or the failure."""

from __future__ import annotations

import base64
import binascii
import mimetypes
import re
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from doorward.calls.artefacts import MAX_FILES, handle_to, kind_of, named_in
from doorward.data import values
from doorward.data.json_writing import dump, exceeds
from doorward.data.languages import JSON, is_script
from doorward.model.calls import File
from doorward.model.errors import DoorwardError, InvalidProgram, LimitExceeded, Unsupported
from doorward.model.programs import Failure, Frame, Outcome, Truncated, Wait, Waiting, resumed_at
from doorward.secrets.redaction import Redactor

if TYPE_CHECKING:
    from doorward.runs.run_context import RunContext

_BASE64_START = r"(?:data:[\w/+.;=-]{1,100};base64,)?(?:iVBORw0KGgo|/9j/|R0lGOD|UklGR|JVBERi0|UEsDB|H4sI)"
"""The first characters of PNG, JPEG, GIF, WebP, PDF, ZIP and gzip in base64."""

_BASE64_FILE = re.compile(rf"{_BASE64_START}[A-Za-z0-9+/]{{1000,}}={{0,2}}", re.ASCII)
_BASE64_IN_JSON = re.compile(rf'"{_BASE64_START}'.encode())
_UNREADABLE = re.compile(
    r"""(?<![\w+/=-])(?:[\w+/=-]{2000,}|b'(?:[^'\\]|\\.){2000,}'|b"(?:[^"\\]|\\.){2000,}")""", re.ASCII
)
"""Matched only at the start of such a run: trying at each character would take time quadratic in its length."""

_SHOWN_CHARS = 100


def with_files(value: Any, dumped: bytes, held: Callable[[File], Any]) -> Any:
    """A plain value in which `held` has replaced each file that is there as base64. `dumped` is its JSON."""
    return _with_files(value, held) if _BASE64_IN_JSON.search(dumped) else value


def _with_files(value: Any, held: Callable[[File], Any]) -> Any:
    match value:
        case dict():
            return {key: _with_files(part, held) for key, part in value.items()}
        case list():
            return [_with_files(part, held) for part in value]
        case str() if _BASE64_FILE.fullmatch(value):
            try:
                content = base64.b64decode(value.rpartition(",")[2], validate=True)
            except binascii.Error:
                return value
            return held(File(content)) if kind_of(content) != "application/octet-stream" else value
    return value


def shortened(printed: str) -> str:
    """Printed text in which long runs of bytes and base64 are cut."""
    return _UNREADABLE.sub(
        lambda found: f"{found[0][:_SHOWN_CHARS]}… ({len(found[0]) - _SHOWN_CHARS} more characters)", printed
    )


Written = tuple[bytes, list[str]]
"""A value's JSON, and the URIs of the artefacts that it names."""

MAX_VALUE_PARTS = 100_000
"""Values and members in a program's value. What has more is no answer, and the interpreter serves nobody while it frees
it."""

_MAX_BASE64_BYTES = 256
"""Bytes in a value are shown as base64 up to this size; more of them are kept as a file."""

_OBJECT = re.compile(
    rb'"(<(?:[\w.]+ object|function|bound method|built-in|class|module|coroutine|generator)\b[^"]{0,200}>'
    rb"|\[(?:Async)?(?:Generator)?Function[^\"]{0,100}\]|\[class [^\"]{1,100}\]"
    rb'|(?:range|dict_(?:keys|values|items))\([^"]{0,500}\))"'
)
"""How Python and JavaScript show what is no data, in the JSON of a value."""

_SEARCHED_BYTES = 2**16
"""Bytes of a value that are searched for that."""

_OBJECT_NOTE = "something in the value is only the text of an object, as Python or JavaScript shows it; return its data"

_BASE64_NOTE = "bytes in the value stand there as base64"


@dataclass(slots=True)
class ProgramValue:
    """A program's value as plain JSON, and as text (`written`); the bytes in it, each with the empty dictionary that
    takes their place; the numbers of the credentials in all of it; and a note about it."""

    value: Any = None
    note: str = ""
    written: Written = (b"", [])
    files: list[tuple[dict[str, Any], bytes]] = field(default_factory=list)
    secrets: set[int] = field(default_factory=set)


def read_value(value: Any, redactor: Redactor, readable: float) -> ProgramValue:
    """Make a program's value plain. In a value of more than `readable` bytes, base64 of files becomes files, too.

    Raises: LimitExceeded.
    """
    if exceeds(value, 2 * MAX_VALUE_PARTS):  # which counts a part of a list twice: with the list, and for itself
        hint = "Filter or aggregate in the program, or return one text, for example JSON."
        raise LimitExceeded(f"the value has more than {MAX_VALUE_PARTS:,} parts", hint=hint)
    read = ProgramValue()

    def held(file: File) -> Any:
        if len(file.content) <= _MAX_BASE64_BYTES or len(read.files) == MAX_FILES:
            read.note = _BASE64_NOTE
            return values.plain(file.content)
        read.secrets |= redactor.found(file.content)
        read.files.append(({}, file.content))
        return read.files[-1][0]

    read.value = values.plain(value, held=held)
    read.written = written(read.value)
    read.secrets |= redactor.found(read.written[0])
    if not read.note and _OBJECT.search(read.written[0][:_SEARCHED_BYTES]):
        read.note = _OBJECT_NOTE
    if len(read.written[0]) > readable:
        note = read.note
        read.value = with_files(read.value, read.written[0], held)
        read.note = note  # the program knows of base64 that it wrote itself
    return read


def keep_bytes(content: bytes, number: int, run: RunContext) -> dict[str, Any]:
    """Keep the bytes in a program's value, which are unreadable there. Returns: their handle."""
    type = kind_of(content)
    artefact = run.hold(content, type, f"value-{number}{mimetypes.guess_extension(type) or ''}")
    return handle_to(artefact)


def written(value: Any) -> Written:
    """The JSON of a plain value, with the artefacts that it names."""
    dumped = dump(value)
    return dumped, named_in(dumped)


async def succeeded(value: Any, written: Written, run: RunContext, **more: Any) -> Outcome:
    """The outcome with a plain value. A large value is cut, and a handle leads to the whole. Raises: LimitExceeded,
    StateError."""
    truncated: Truncated | None = None
    dumped, named = written
    if len(dumped) > run.program.limits.inline_bytes:
        whole = (
            run.hold(value, "text/plain")
            if isinstance(value, str)
            else run.hold(dumped, "application/json", is_text=True)
        )
        truncated = {
            "shape": values.shape(value),
            "bytes": whole.bytes,
            "rest": whole.uri,
            "read": reading(whole.uri, run.program.language),
        }
        value = values.cut(value, run.program.limits.shown_bytes)
    return Outcome(True, value=value, truncated=truncated, artefacts=await run.left(named), **more)


def reading(uri: str, language: str) -> str:
    """How a program of a language reads an artefact, or an agent that writes no programs."""
    if language == JSON:
        return f'call_function with cursor="{uri}"'
    return f'{"await " if is_script(language) else ""}doorward.read("{uri}")'


def waiting(run: str, waits: Sequence[Wait], then: str) -> Waiting:
    """Why a run is suspended, and what its agent does `then`, and when."""
    what = [*dict.fromkeys(each.what for each in waits)]
    for together, count in Counter(each.together for each in waits).items():
        what += [together] if together and count > 1 else []
    until = resumed_at(waits)
    if until:
        then += f", in {max(1, until - int(time.time()))} s, and not before"
    return Waiting(waits[0].for_, run, tuple(what), then, until)


def failure(error: DoorwardError, type: str = "") -> Failure:
    """One of our own errors as the failure of a run."""
    known = type or (error.type if isinstance(error, InvalidProgram) else "") or error.__class__.__name__
    line = error.line if isinstance(error, (InvalidProgram, Unsupported)) else None
    return Failure(error.kind, known, error.message, line, hint=error.hint)


def explained(error: Failure, run: RunContext) -> Failure:
    """The failure with the source lines of its frames, the failed call that caused it, and a hint if it has none."""
    lines = run.program.code.splitlines()
    frames = tuple(f if f.source else Frame(f.line, f.function, _source(lines, f.line)) for f in error.frames)
    error = replace(error, frames=frames)
    cause = run.cause(error.message)
    if cause is not None and error.kind == "program":
        error = replace(error, kind=cause.kind, type=type(cause).__name__, hint=error.hint or cause.hint)
    if error.kind == "program" and error.type.endswith("MemoryError"):  # NumPy has one of its own
        told = f"the program needed more memory than its limit of {run.program.limits.memory_bytes // 2**20} MiB"
        return replace(error, kind="limit", type="LimitExceeded", message=told, hint="Work on smaller pieces.")
    return error if error.hint else replace(error, hint=run.texts.hint(error, run))


def _source(lines: list[str], number: int) -> str:
    return lines[number - 1].strip()[:200] if 0 < number <= len(lines) else ""
