"""An audit log: one JSON line for each run, each call and each choice of credentials. Hashes and sizes, never contents.

A line is written by one `write` on a descriptor in append mode, so that the lines of several processes do not mix and
a kill leaves at most the last one torn.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from doorward import ConfigError, Settings, hookimpl
from pydantic import ByteSize, Field, NonNegativeInt

if TYPE_CHECKING:
    from doorward import Call, CallRecord, Outcome, PluginContext, Program

PLUGIN_API = 1

KEY_BYTES = 32

LONGEST = 200
"""Characters of a name in a line: an agent chooses the names of its exceptions, and could write a letter in one."""


class AuditSettings(Settings):
    """`[hooks.audit_jsonl]`"""

    path: Path | None = Field(None, description="The file; doorward.audit.jsonl in the state folder if not given")
    max_bytes: ByteSize = Field(ByteSize(10 * 2**20), gt=0, description="The size at which the file becomes .1, .1 becomes .2, …")
    keep: NonNegativeInt = Field(5, description="How many older files are kept")


class AuditLog:
    """The observer. Making it opens the file: an audit that is configured must audit.

    `lost` counts the lines that could not be written since the last one that could.

    Raises: ConfigError if the file, or the key beside it, cannot be opened.
    """

    Settings = AuditSettings

    def __init__(self, context: PluginContext) -> None:
        self._settings = context.settings
        self._path = (context.settings.path or context.state / "doorward.audit.jsonl").expanduser()
        self._lock = threading.Lock()
        self._file: int | None = None
        self.lost = 0
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._key_file = self._path.with_name(f"{self._path.name}.key")
            self._key = _key(self._key_file)
            self._file = _open(self._path)
        except OSError as error:
            raise ConfigError(f"the audit log cannot be written: {error}", place=str(self._path)) from None

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
            error=f"{outcome.error.kind}:{outcome.error.type}"[:LONGEST] if outcome.error else "",
            executor=outcome.executor,
            calls=sum(call.get("count", 1) for call in outcome.calls),
            value_bytes=(outcome.truncated or {}).get("bytes") or len(_canonical(outcome.value)),
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
            error=record.error[:LONGEST],
            arguments_hmac=self._hmac(_canonical(call.arguments)),
            bytes_in=record.bytes_in,
            bytes_out=record.bytes_out,
        )

    def _hmac(self, text: bytes) -> str:
        return hmac.new(self._key, text, hashlib.sha256).hexdigest()

    def _write(self, event: str, **fields: Any) -> None:
        """Write one line. What fails is counted, said once in the log, and told by the next line that can be written."""
        line = {"time": datetime.now(UTC).isoformat(timespec="milliseconds"), "event": event, **fields}
        with self._lock:
            try:
                self._append(line | ({"lost": self.lost} if self.lost else {}))
            except OSError as error:
                self._close()
                self.lost += 1
                if self.lost == 1:
                    _warn(
                        "audit_not_written",
                        path=str(self._path),
                        why=str(error),
                        hint="Runs go on unaudited until it can be written again.",
                    )
                return
            self.lost = 0
            try:
                self._rotate()
            except OSError as error:
                _warn("audit_not_rotated", path=str(self._path), why=str(error))

    def _append(self, line: Mapping[str, Any]) -> None:
        if self._file is not None and not _is_at(self._file, self._path):
            self._close()
        if self._file is None:
            self._file = _open(self._path)
        data = json.dumps(line, separators=(",", ":")).encode() + b"\n"
        if os.write(self._file, data) != len(data):
            raise OSError("only a part of the line was written")

    def _rotate(self) -> None:
        """Once the file is full: `.1` becomes `.2` and so on, the file becomes `.1`. Processes take turns."""
        if self._file is None or os.fstat(self._file).st_size < self._settings.max_bytes:
            return
        with _alone(self._key_file):
            if self._path.stat().st_size < self._settings.max_bytes:
                return
            files = [self._path, *(Path(f"{self._path}.{n}") for n in range(1, self._settings.keep + 1))]
            self._close()
            for older, newer in zip(reversed(files), reversed(files[:-1]), strict=False):
                if newer.exists():
                    newer.replace(older)
            if self._settings.keep == 0:
                self._path.unlink()
            self._file = _open(self._path)

    def _close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None


def _of_run(program: Program) -> dict[str, Any]:
    """The code's hash is a plain SHA-256, so that anybody can tell whether a file at hand is what was run."""
    code = program.code.encode(errors="surrogatepass")
    return {
        "run": program.run,
        "principal": program.principal,
        "code_sha256": hashlib.sha256(code).hexdigest(),
        "code_bytes": len(code),
    }


def _canonical(value: Any) -> bytes:
    """A JSON value as the one text that all equal values have."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), default=str).encode()


def _open(path: Path) -> int:
    """The file for appending, readable by this user only. A line that a crash left torn is ended."""
    file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        path.chmod(0o600)
        size = os.fstat(file).st_size
        if size:
            os.lseek(file, size - 1, os.SEEK_SET)
            if os.read(file, 1) != b"\n":
                os.write(file, b"\n")
    except OSError:
        os.close(file)
        raise
    return file


def _is_at(file: int, path: Path) -> bool:
    """Whether the path still leads to the open file: another process, or logrotate, may have moved it."""
    try:
        return os.path.samestat(os.fstat(file), path.stat())
    except FileNotFoundError:
        return False


def _key(path: Path) -> bytes:
    """The key of the hashes, made by the first process that needs it."""
    with _alone(path) as file:
        key = os.read(file, KEY_BYTES)
        if len(key) < KEY_BYTES:
            key = secrets.token_bytes(KEY_BYTES)
            os.lseek(file, 0, os.SEEK_SET)
            os.write(file, key)
        return key


@contextmanager
def _alone(path: Path) -> Iterator[int]:
    """The file, open and locked against other processes (where the system has `flock`)."""
    file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            from fcntl import LOCK_EX, flock
        except ImportError:
            pass
        else:
            flock(file, LOCK_EX)
        yield file
    finally:
        os.close(file)


def _warn(event: str, **fields: Any) -> None:
    from doorward import log

    log.warning(event, **fields)
