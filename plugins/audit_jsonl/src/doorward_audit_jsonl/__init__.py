"""An audit log: one JSON line for each run, each call and each choice of credentials, with hashes and
sizes but never contents.

A line is written by one `write` on a descriptor in append mode, so that the lines of several processes do not mix, and
a kill leaves at most the last line incomplete. Lines that cannot be written wait in memory, in order, until they can.
"""

from __future__ import annotations

import atexit
import errno
import hashlib
import hmac
import json
import os
import threading
from collections import deque
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from doorward import ConfigError, Settings, hookimpl
from pydantic import ByteSize, Field, NonNegativeInt

from doorward_audit_jsonl.key import key_at

if TYPE_CHECKING:
    from doorward import Call, CallRecord, Outcome, PluginContext, Program

PLUGIN_API = 1

MAX_NAME_CHARS = 200
"""Length of a name in a line: an agent chooses the names of its exceptions, and could put whole messages into them."""


MAX_WAITING_LINES = 10_000
"""Lines that wait in memory while none can be written; further lines are lost."""

_written = json.JSONEncoder(separators=(",", ":")).encode
_sorted = json.JSONEncoder(sort_keys=True, separators=(",", ":"), default=str).encode

_FIRST_BYTES = b'{"'
"""How each line begins."""

_HINT = (
    "To audit nothing, take `audit_jsonl` out of `plugins`. To have the lines elsewhere, give the path of a file, and "
    "let a program follow it (tail -F, a log shipper)."
)
"""For who wants the log in a device or a pipe, such as /dev/null or /dev/stdout."""


class AuditSettings(Settings):
    """`[hooks.audit_jsonl]`"""

    path: Path | None = Field(None, description="The file; doorward.audit.jsonl in the state folder if not given")
    max_bytes: ByteSize = Field(
        ByteSize(10 * 2**20), gt=0, description="The size at which the file becomes .1, .1 becomes .2, …"
    )
    keep: NonNegativeInt = Field(5, description="How many older files are kept")


class AuditLog:
    """The observer. It opens the file when it is created, because a configured audit must not be silently inactive.

    `lost` counts the lines that were lost since the last one that could be written.

    Raises: ConfigError if the file or the key beside it cannot be opened or is not ours, or if the key is broken.
    """

    Settings = AuditSettings

    _file: int | None = None
    _late = False  # lines wait
    _stuck = False  # the file could not be rotated, and the log has said so

    def __init__(self, context: PluginContext[AuditSettings]) -> None:
        self._settings = context.settings
        self._path = (context.settings.path or context.state / "doorward.audit.jsonl").expanduser()
        self._lock = threading.Lock()
        self._waiting: deque[bytes] = deque()
        self.lost = 0
        from doorward import own_folder

        try:
            if self._path.exists() and not self._path.is_file():
                raise ConfigError(
                    "is not a regular file, so nothing is audited there", place=str(self._path), hint=_HINT
                )
            if not self._path.parent.exists():
                own_folder(self._path.parent)
            self._key_file = self._path.with_name(f"{self._path.name}.key")
            self._key, new = key_at(self._key_file)
            self._file = _open(self._path)
            began = os.fstat(self._file).st_size
        except OSError as error:
            raise ConfigError(f"the audit log cannot be written: {error}", place=str(self._path)) from None
        if new and began:
            self._write("key_made")  # hashes from here on cannot be compared with earlier ones

    @hookimpl
    def auth_chosen(self, server: str, auth: str) -> None:
        self._write("auth_chosen", server=server, auth=auth)

    @hookimpl
    def run_started(self, program: Program) -> None:
        params = _canonical(program.params)
        self._write("run_started", **_of_run(program), params_hmac=self._hmac(params), params_bytes=len(params))

    @hookimpl
    def run_finished(self, program: Program, outcome: Outcome) -> None:
        self._write(
            "run_finished",
            **_of_run(program),
            ok=outcome.ok,
            ms=round(outcome.ms, 3),
            error=f"{outcome.error.kind}:{outcome.error.type}"[:MAX_NAME_CHARS] if outcome.error else "",
            executor=outcome.executor,
            calls=sum(call.get("count", 1) for call in outcome.calls),
            value_bytes=outcome.truncated["bytes"] if outcome.truncated else len(_canonical(outcome.value)),
            printed_bytes=len(outcome.printed.encode(errors="replace")),
        )

    @hookimpl
    def call_finished(self, call: Call, record: CallRecord) -> None:
        self._write(
            "call_finished",
            run=call.run,
            principal=call.principal,
            function=call.function.qualified,
            ok=record.ok,
            ms=round(record.ms, 3),
            error=record.error[:MAX_NAME_CHARS],
            arguments_hmac=self._hmac(_canonical(call.arguments)),
            bytes_in=record.bytes_in,
            bytes_out=record.bytes_out,
            **({"details": dict(record.details)} if record.details else {}),
        )

    def _hmac(self, text: bytes) -> str:
        return hmac.digest(self._key, text, "sha256").hex()

    def _write(self, event: str, **fields: Any) -> None:
        """Write one line, after those that wait. A failure is logged once; the next line that can be written
        tells how many were lost."""
        line = {"time": datetime.now(UTC).isoformat(timespec="milliseconds"), "event": event, **fields}
        with self._lock:
            if len(self._waiting) >= MAX_WAITING_LINES:
                self._end_waiting()
                if self._waiting:
                    self.lost += 1
                    return
            first = not self._waiting
            if self.lost:
                line["lost"] = self.lost
            self._waiting.append(_written(line).encode() + b"\n")
            self.lost = 0
            if (error := self._end_waiting()) and first:
                hint = f"Up to {MAX_WAITING_LINES} lines wait until it can be written again; more are lost."
                _warn("audit_not_written", path=str(self._path), why=str(error), hint=hint)
                atexit.register(self._end)  # this keeps the object alive while lines wait
                self._late = True
            elif not error:
                try:
                    self._rotate()
                    self._stuck = False
                except (OSError, ConfigError) as failed:
                    if not self._stuck:
                        _warn("audit_not_rotated", path=str(self._path), why=str(failed))
                    self._stuck = True

    def _end(self) -> None:
        """Write what waits when the process ends; what still cannot be written is lost."""
        with self._lock:
            if self._waiting and (error := self._end_waiting()):
                _warn("audit_lost", path=str(self._path), lines=len(self._waiting) + self.lost, why=str(error))

    def _end_waiting(self) -> Exception | None:
        """Write the lines that wait. Returns: the error, if not all of them could be written."""
        try:
            while self._waiting:
                self._append(self._waiting[0])
                self._waiting.popleft()
        except (OSError, ConfigError) as error:
            self._close()
            return error
        if self._late:
            atexit.unregister(self._end)
            self._late = False
        return None

    def _append(self, line: bytes) -> None:
        if self._file is not None and not _is_at(self._file, self._path):
            self._close()
        if self._file is None:
            self._file = _open(self._path)
        if (written := os.write(self._file, line)) != len(line):
            end = os.lseek(self._file, 0, os.SEEK_CUR)
            if os.fstat(self._file).st_size == end:  # the disk is full, and nobody else has written since
                os.ftruncate(self._file, end - written)
            raise OSError(errno.ENOSPC, "only a part of the line could be written")

    def _rotate(self) -> None:
        """Rotate a full file: `.1` becomes `.2` and so on, and the file becomes `.1`. Processes take turns."""
        if self._file is None or os.fstat(self._file).st_size < self._settings.max_bytes:
            return
        from doorward import check_own, flocked, own_file

        with open(own_file(self._key_file, os.O_RDONLY), "rb") as turn:
            if not flocked(turn.fileno()) or self._path.stat().st_size < self._settings.max_bytes:
                return  # another process is doing it, or has done it
            files = [self._path, *(Path(f"{self._path}.{n}") for n in range(1, self._settings.keep + 1))]
            there = {file for file in files if check_own(file)}  # all are looked at before one is moved
            self._close()
            for older, newer in zip(reversed(files), reversed(files[:-1]), strict=False):
                if newer in there:
                    newer.replace(older)
            if self._settings.keep == 0:
                self._path.unlink()
            self._file = _open(self._path)

    def _close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def __del__(self) -> None:
        self._close()


def _of_run(program: Program) -> dict[str, Any]:
    """The fields of a run. The code's hash is a plain SHA-256, so that anybody can check whether a
    given file is what was run."""
    code = program.code.encode(errors="surrogatepass")
    return {
        "run": program.run,
        "principal": program.principal,
        "code_sha256": hashlib.sha256(code).hexdigest(),
        "code_bytes": len(code),
        **({"language": program.language} if program.language != "python" else {}),
    }


def _canonical(value: Any) -> bytes:
    """A JSON value as bytes that are the same for all equal values."""
    return _sorted(value).encode()


def _open(path: Path) -> int:
    """Open the file for appending, readable by this user only. A line that a crash left incomplete is terminated.

    Raises: ConfigError if it is not ours, or no audit log; OSError.
    """
    from doorward import own_file

    file = own_file(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, known=_is_log)
    try:
        size = os.fstat(file).st_size
        if size:
            os.lseek(file, size - 1, os.SEEK_SET)
            if os.read(file, 1) != b"\n":
                os.write(file, b"\n")
    except OSError:
        os.close(file)
        raise
    return file


def _is_log(file: int) -> bool:
    """Whether what it holds is an audit log, by its first bytes. A crash may have left fewer of them."""
    return _FIRST_BYTES.startswith(os.read(file, len(_FIRST_BYTES)).partition(b"\n")[0])


def _is_at(file: int, path: Path) -> bool:
    """Whether the path still leads to the open file: another process, or logrotate, may have moved it."""
    try:
        return os.path.samestat(os.fstat(file), path.lstat())
    except FileNotFoundError:
        return False


def _warn(event: str, **fields: Any) -> None:
    from doorward import log

    log.warning(event, **fields)
