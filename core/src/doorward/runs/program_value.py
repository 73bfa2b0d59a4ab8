"""The value of a program, as its answer may show it: plain JSON, with large bytes as files and without credentials."""

from __future__ import annotations

import mimetypes
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from doorward.calls.artefacts import MAX_FILES, handle_to, kind_of, named_in
from doorward.calls.embedded import with_files
from doorward.data import values
from doorward.data.json_writing import dump, exceeds
from doorward.model.calls import File
from doorward.model.errors import LimitExceeded
from doorward.secrets.redaction import Redactor

if TYPE_CHECKING:
    from doorward.runs.run_context import RunContext

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
