"""The lines of the audit log as OTLP logs: each at least once, in their order, over restarts and rotations."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

from doorward import log
from doorward.files import flocked, own_file
from opentelemetry._logs import LogRecord, SeverityNumber
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.sdk._logs import ReadableLogRecord
from opentelemetry.sdk._logs.export import LogRecordExportResult
from opentelemetry.sdk.util.instrumentation import InstrumentationScope

from doorward_telemetry.sending import Sending

LOOK_SECONDS = 2.0
"""Seconds between two looks at the log, and after a failure."""

MAX_BATCH_LINES = 500

_SCOPE = InstrumentationScope("doorward.audit")


class AuditExport:
    """Follows a log. A small file, the cursor, says which line was taken last; it moves on when a batch was taken. Of
    several processes that share it one sends at a time."""

    def __init__(self, path: Path, cursor: Path, sending: Sending) -> None:
        self._path = path
        self._cursor = own_file(cursor, os.O_RDWR | os.O_CREAT)
        self._sending = sending
        self._exporter = OTLPLogExporter(**sending.options("logs"))
        self._task: asyncio.Task[None] | None = None
        self._failing = False

    def start(self) -> None:
        self._task = asyncio.create_task(self._follow(), name="doorward audit export")

    async def close(self) -> None:
        """Send what is there now, unless that fails at once."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
        if not self._failing:
            await asyncio.to_thread(self.send)
        self._exporter.shutdown()  # type: ignore[no-untyped-call]
        os.close(self._cursor)

    async def _follow(self) -> None:
        while True:
            sending = asyncio.ensure_future(asyncio.to_thread(self.send))
            try:
                await asyncio.shield(sending)
            except asyncio.CancelledError:
                await sending  # the cursor must not be closed under it
                raise
            await asyncio.sleep(LOOK_SECONDS)

    def send(self) -> None:
        """Send all lines that were not taken yet. A failure is logged once, and tried again later."""
        try:
            if not flocked(self._cursor):
                return
            try:
                self._send_all()
            finally:
                _unlock(self._cursor)
            self._failing = False
        except Exception as error:
            if not self._failing:
                log.warning("audit_not_sent", error=type(error).__name__, why=str(error)[:300])
            self._failing = True

    def _send_all(self) -> None:
        sent = self._sent()
        batch: list[tuple[int, ReadableLogRecord]] = []
        for n, line in _lines_after(self._path, sent):
            if sent and not batch and n > sent + 1:
                log.warning("audit_lines_not_sent", first=sent + 1, last=n - 1, why="they were dropped before")
            batch.append((n, self._record(line)))
            if len(batch) == MAX_BATCH_LINES:
                sent = self._deliver(batch)
                batch = []
        if batch:
            self._deliver(batch)

    def _deliver(self, batch: list[tuple[int, ReadableLogRecord]]) -> int:
        """Send a batch, and move the cursor. Raises: OSError if it was not taken."""
        if self._exporter.export([record for _, record in batch]) is not LogRecordExportResult.SUCCESS:
            raise OSError("the endpoint did not take the lines")
        last = batch[-1][0]
        os.lseek(self._cursor, 0, os.SEEK_SET)
        os.write(self._cursor, b"%-20d\n" % last)
        return last

    def _sent(self) -> int:
        os.lseek(self._cursor, 0, os.SEEK_SET)
        try:
            return int(os.read(self._cursor, 32).strip() or 0)
        except ValueError:
            return 0  # what is sent twice can be told by its number

    def _record(self, line: dict[str, Any]) -> ReadableLogRecord:
        """A line as a log record: its text, and its fields as attributes."""
        failed = line.get("ok") is False
        at = 0
        with suppress(ValueError, TypeError):
            at = int(datetime.fromisoformat(line["time"]).timestamp() * 1e9)
        record = LogRecord(
            timestamp=at,
            observed_timestamp=at,
            severity_number=SeverityNumber.WARN if failed else SeverityNumber.INFO,
            severity_text="WARN" if failed else "INFO",
            body=json.dumps(line, separators=(",", ":")),
            attributes={f"doorward.{key}": each for key, each in line.items() if isinstance(each, (str, int, float))},
            event_name=f"doorward.{line.get('event', '')}",
        )
        return ReadableLogRecord(record, self._sending.resource, _SCOPE)


def _lines_after(path: Path, sent: int) -> Iterator[tuple[int, dict[str, Any]]]:
    """The lines of a log with a higher number, the oldest first, from its older files too."""
    numbered = sorted(
        (
            (int(file.suffix[1:]), file)
            for file in path.parent.glob(f"{path.name}.*")
            if file.suffix[1:].isdecimal() and file.stem == path.name
        ),
        reverse=True,
    )
    for file in [*(file for _, file in numbered), path]:
        with suppress(FileNotFoundError):  # it was moved meanwhile: the next look finds it
            for n, line in _numbered(file, sent):
                sent = n
                yield n, line


def _numbered(file: Path, sent: int) -> Iterator[tuple[int, dict[str, Any]]]:
    with file.open("rb") as opened:
        for text in opened:
            if not text.endswith(b"\n"):
                return  # it is being written
            with suppress(ValueError):
                line = json.loads(text)
                n = line.get("n") if isinstance(line, dict) else None
                if isinstance(n, int) and n > sent:
                    yield n, line


def _unlock(number: int) -> None:
    with suppress(ImportError):
        from fcntl import LOCK_UN, flock

        flock(number, LOCK_UN)
