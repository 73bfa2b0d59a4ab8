"""The answer of a call on its way into the sandbox: made plain, bounded, and without credentials.

Large answers are read in a thread.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from doorward.calls.artefacts import MAX_FILES, base_name, named_in
from doorward.data.json_writing import MAX_PARTS, dump, exceeds, in_one_piece
from doorward.data.values import plain
from doorward.model.calls import File
from doorward.model.errors import LimitExceeded
from doorward.secrets.redaction import Redactor
from doorward.secrets.variants import as_bytes

_MAX_NAME_CHARS = 200
"""Characters of a file's name."""


@dataclass(slots=True)
class Answer:
    """A plain value; its size in bytes; the files in it, each with the empty dictionary that takes its place; the
    numbers of the credentials that were taken out of it; the URIs of files that stand in its data."""

    value: Any = None
    size: int = 0
    files: list[tuple[dict[str, Any], File]] = field(default_factory=list)
    secrets: set[int] = field(default_factory=set)
    uris: list[str] = field(default_factory=list)


def read(result: Any, function: str, most_bytes: int, redactor: Redactor) -> Answer:
    """A result as a program may see it. Raises: LimitExceeded."""
    if exceeds(result, MAX_PARTS):
        raise LimitExceeded(f"{function} answered more than {MAX_PARTS:,} values", hint="Ask for less: pages, filters.")
    return _read(result, function, most_bytes, redactor, dump)


def read_small(result: Any, function: str, most_bytes: int, redactor: Redactor) -> Answer:
    """The same for a result that is not large."""
    return _read(result, function, most_bytes, redactor, in_one_piece)


def _read(result: Any, function: str, most_bytes: int, redactor: Redactor, write: Callable[[Any], bytes]) -> Answer:
    answer = Answer()

    def held(file: File) -> dict[str, Any]:
        if len(answer.files) >= MAX_FILES:
            raise LimitExceeded(f"{function} answered more than {MAX_FILES} files", hint="Ask for less at once.")
        answer.size += len(file.content)
        _check_size(function, answer.size, most_bytes)
        answer.files.append(({}, file))
        return answer.files[-1][0]

    answer.value = plain(result, keep=(int,), held=held)
    written = write(answer.value)
    _check_size(function, len(written), most_bytes)
    if not isinstance(result, File):
        answer.size += len(written)
    answer.uris = named_in(written)
    answer.secrets |= redactor.found(written)
    if answer.secrets:
        answer.value = redactor.value(answer.value)
    for number, (place, file) in enumerate(answer.files):
        answer.files[number] = place, _clean(file, answer.secrets, redactor)
    return answer


def _clean(file: File, secrets: set[int], redactor: Redactor) -> File:
    """A file without credentials, whose numbers are added to `secrets`."""
    found = redactor.found(file.content)
    secrets |= found | _in_name(file, redactor)
    return replace(
        file,
        content=redactor.content(file.content) if found else file.content,
        type=redactor.text(file.type) or "application/octet-stream",
        name=base_name(redactor.text(file.name)[:_MAX_NAME_CHARS]),
    )


def _check_size(function: str, size: int, most: int) -> None:
    if size > most:
        raise LimitExceeded(
            f"{function} answered {size} bytes, more than {most}", hint="Ask for less: pages, filters, fields."
        )


def secrets_in(arguments: Any, redactor: Redactor) -> set[int]:
    """The numbers of the credentials in the arguments of a call, files included."""
    files: list[File] = []
    written = dump(plain(arguments, held=files.append))
    return redactor.found(written).union(*(redactor.found(file.content) | _in_name(file, redactor) for file in files))


def _in_name(file: File, redactor: Redactor) -> set[int]:
    return redactor.found(as_bytes(f"{file.type} {file.name}"))
