"""An audit log: one JSON line for each run, each call and each choice of credentials, with hashes and
sizes but never contents.

Each line is chained to the one before (see `chain`), so processes that share the file take turns. A line is written by
one `write`: a kill leaves at most the last one incomplete. Lines that cannot be written wait in memory, in order, until
they can.
"""

from __future__ import annotations

import atexit
import hashlib
import hmac
import json
import socket
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from doorward import ConfigError, Finding, Principal, RefusedForNow, Service, Settings, hookimpl
from pydantic import ByteSize, Field, NonNegativeInt, PositiveFloat

from doorward_audit_jsonl.chain import chain_key
from doorward_audit_jsonl.key import key_at, key_path
from doorward_audit_jsonl.log_file import DAY_SECONDS, TURN_SECONDS, LogFile

if TYPE_CHECKING:
    from doorward import Call, CallRecord, Gateway, Outcome, PluginContext, Program

    from doorward_audit_jsonl.reader import AuditReader as AuditReader

PLUGIN_API = 1

__all__ = ["AUDIT", "AuditLog", "AuditReader", "AuditSettings", "log_path"]

AUDIT: Service[AuditReader] = Service("what reads the audit log", "doorward-audit-jsonl")


def __getattr__(name: str) -> Any:
    if name == "AuditReader":  # for those who look, not for the start
        from doorward_audit_jsonl.reader import AuditReader

        return AuditReader
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


MAX_NAME_CHARS = 200
"""Length of a name in a line: an agent chooses the names of its exceptions, and could put whole messages into them."""


_CLIENTS = ("client_id", "azp", "cid", "appid")
"""Claims with the client to which a token was issued: of RFC 9068, OpenID Connect, Okta, Entra ID."""

MAX_ACTORS = 8
"""Those who act one for another, in a line."""


MAX_WAITING_LINES = 10_000
"""Lines that wait in memory while none can be written; further lines are lost."""

_written = json.JSONEncoder(separators=(",", ":")).encode
_sorted = json.JSONEncoder(sort_keys=True, separators=(",", ":"), default=str).encode

_REFUSAL = "the audit log cannot be written, and nothing is done here that is not recorded"
_INSTEAD = "Tell the operator: the log of Doorward says why"

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
    keep: NonNegativeInt | None = Field(
        None, description="How many older files are kept: 5, or with a `retention` as many as there are"
    )
    retention: PositiveFloat | None = Field(None, description="Days for which lines are kept; each day has its files")
    fail: Literal["open", "closed"] = Field(
        "open", description="While no line can be written: go on, or refuse programs and calls"
    )


class AuditLog:
    """The observer. It opens the file when it is created, because a configured audit must not be silently inactive.
    With `fail = "closed"` it is a `ClosedAuditLog`.

    `lost` counts the lines that were lost since the last one that could be written.

    Raises: ConfigError if the file or the key beside it cannot be opened or is not ours, or if the key is broken.
    """

    Settings = AuditSettings

    _file: LogFile | None = None
    _late = False  # lines wait
    _stuck = False  # the file could not be rotated, and the log has said so

    def __new__(cls, context: PluginContext[AuditSettings]) -> AuditLog:
        return super().__new__(ClosedAuditLog if context.settings.fail == "closed" else cls)

    def __init__(self, context: PluginContext[AuditSettings]) -> None:
        settings = context.settings
        self._path = log_path(settings, context.state, context.folder)
        self._store = context.store if getattr(context.store, "distributed", False) else None
        self._stored = 0
        self._lock = threading.Lock()
        self._waiting: deque[bytes] = deque()
        self.lost = 0
        from doorward.files import own_folder

        try:
            if self._path.exists() and not self._path.is_file():
                raise ConfigError(
                    "is not a regular file, so nothing is audited there", place=str(self._path), hint=_HINT
                )
            if not self._path.parent.exists():
                own_folder(self._path.parent)
            self._key, new = key_at(key_path(self._path))
            keep = 5 if settings.keep is None and settings.retention is None else settings.keep
            seconds = settings.retention and settings.retention * DAY_SECONDS
            self._file = LogFile(self._path, self._key, settings.max_bytes, keep, seconds)
            began = self._path.stat().st_size
        except OSError as error:
            raise ConfigError(f"the audit log cannot be written: {error}", place=str(self._path)) from None
        if new and began:
            self._write("key_made")  # hashes from here on cannot be compared with earlier ones
        elif self._file.lost_its_head:
            self._write("head_made")  # lines that were cut off before this one are not missed

    async def flush(self) -> None:
        """Write lines that wait, and drop what is too old: about twice a minute, and at the end. Machines that share a
        store have the head of the chain there."""
        with self._lock:
            self._end_waiting()
            self._tidy()
            head = self._file.head() if self._file is not None and self._store is not None else None
        if head is not None and head.last.n != self._stored and self._store is not None:
            from doorward_audit_jsonl.stored_heads import store_head

            await store_head(self._store, chain_key(self._key), head)
            self._stored = head.last.n

    @hookimpl
    def gateway_made(self, gateway: Gateway) -> None:
        from doorward_audit_jsonl.reader import AuditReader

        gateway.services.give(AUDIT, AuditReader(self._path))

    @hookimpl
    def auth_chosen(self, server: str, auth: str) -> None:
        self._write("auth_chosen", server=server, auth=auth)

    @hookimpl
    def run_started(self, program: Program) -> None:
        self._write("run_started", **self._run_started(program))

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
            **({"usage": {name: dict(each) for name, each in outcome.usage.items()}} if outcome.usage else {}),
        )

    @hookimpl
    def call_finished(self, call: Call, record: CallRecord) -> None:
        self._write(
            "call_finished",
            run=call.run,
            principal=call.principal,
            **_delegation(call.principal),
            function=call.function.qualified,
            ok=record.ok,
            ms=round(record.ms, 3),
            error=record.error[:MAX_NAME_CHARS],
            arguments_hmac=self._hmac(_canonical(call.arguments)),
            bytes_in=record.bytes_in,
            bytes_out=record.bytes_out,
            decision=record.decision.then,
            **({"rule": record.decision.rule} if record.decision.rule else {}),
            **({"details": dict(record.details)} if record.details else {}),
        )

    def _run_started(self, program: Program) -> dict[str, Any]:
        params = _canonical(program.params)
        return {**_of_run(program), "params_hmac": self._hmac(params), "params_bytes": len(params)}

    def _hmac(self, text: bytes) -> str:
        return hmac.digest(self._key, text, "sha256").hex()

    def _write(self, event: str, **fields: Any) -> bool:
        """Write one line, after those that wait. A failure is logged once; the next line that can be written
        tells how many were lost. Returns: whether it is written."""
        line = {"time": datetime.now(UTC).isoformat(timespec="milliseconds"), "event": event, **fields}
        with self._lock:
            if len(self._waiting) >= MAX_WAITING_LINES:
                self._end_waiting()
                if self._waiting:
                    self.lost += 1
                    return False
            first = not self._waiting
            if self.lost:
                line["lost"] = self.lost
            self._waiting.append(_written(line)[:-1].encode())
            self.lost = 0
            if (error := self._end_waiting()) and first:
                hint = f"Up to {MAX_WAITING_LINES} lines wait until it can be written again; more are lost."
                _warn("audit_not_written", path=str(self._path), why=str(error), hint=hint)
                atexit.register(self._end)  # this keeps the object alive while lines wait
                self._late = True
            return error is None

    def _end(self) -> None:
        """Write what waits when the process ends; what still cannot be written is lost."""
        with self._lock:
            if self._waiting and (error := self._end_waiting()):
                _warn("audit_lost", path=str(self._path), lines=len(self._waiting) + self.lost, why=str(error))

    def _end_waiting(self) -> Exception | None:
        """Write the lines that wait, and begin the next file if this one is full. Returns: the error, if not all of
        them could be written."""
        if not self._waiting:
            return None
        assert self._file is not None
        try:
            with self._file.turn(0.0 if self._late else TURN_SECONDS):
                while self._waiting:
                    self._file.append(self._waiting[0])
                    self._waiting.popleft()
                if self._stuck or self._file.is_over:
                    self._next_file()
        except (OSError, ConfigError) as error:
            self._file.close_file()
            return error
        if self._late:
            atexit.unregister(self._end)
            self._late = False
        return None

    def _next_file(self) -> None:
        """See `LogFile.rotate`. A failure is logged once, and stops no line."""
        assert self._file is not None
        try:
            self._file.rotate()
            self._stuck = False
        except (OSError, ConfigError) as failed:
            if not self._stuck:
                _warn("audit_not_rotated", path=str(self._path), why=str(failed))
            self._stuck = True

    def _tidy(self) -> None:
        assert self._file is not None
        with suppress(OSError), self._file.turn(0.0):
            self._next_file()
            self._file.drop_old()

    def __del__(self) -> None:
        if self._file is not None:
            self._file.close()


class ClosedAuditLog(AuditLog):
    """The observer that lets nothing happen that it cannot record: the lines of a run and of a call are written before
    it begins, and where that fails it is refused."""

    @hookimpl
    def guard_program(self, program: Program) -> Sequence[Finding] | None:
        if self._write("run_started", **self._run_started(program)):
            return None
        return [Finding(_REFUSAL, instead=_INSTEAD)]

    @hookimpl
    def run_started(self, program: Program) -> None:
        """Nothing: its line is there."""

    @hookimpl
    def guard_call(self, call: Call) -> str | None:
        written = self._write(
            "call_started",
            run=call.run,
            principal=call.principal,
            **_delegation(call.principal),
            function=call.function.qualified,
            arguments_hmac=self._hmac(_canonical(call.arguments)),
        )
        if not written:
            raise RefusedForNow(_REFUSAL, hint=f"{_INSTEAD}.")
        return None


def log_path(settings: AuditSettings, state: Path, folder: Path) -> Path:
    """Where the log is."""
    return folder / (settings.path or state / "doorward.audit.jsonl").expanduser()


def _of_run(program: Program) -> dict[str, Any]:
    """The fields of a run. The code's hash is a plain SHA-256, so that anybody can check whether a
    given file is what was run."""
    code = program.code.encode(errors="surrogatepass")
    return {
        "run": program.run,
        "principal": program.principal,
        **_delegation(program.principal),
        "code_sha256": hashlib.sha256(code).hexdigest(),
        "code_bytes": len(code),
        **({"language": program.language} if program.language != "python" else {}),
    }


def _delegation(principal: str) -> dict[str, Any]:
    """For whom and through whom something is done, if a token of an authorization server says so: the person, the
    client that it was issued to, those who act for them (RFC 8693 section 4.1), the first first, and this gateway. What
    is stored (a run that is resumed) knows the principal alone: the line in which it began has the others."""
    claims = principal.attributes if isinstance(principal, Principal) else {}
    client = next((name for claim in _CLIENTS if isinstance(name := claims.get(claim), str) and name), "")
    actors: list[str] = []
    act = claims.get("act")
    while isinstance(act, Mapping) and len(actors) < MAX_ACTORS:
        actors.insert(0, str(act.get("sub") or act.get("client_id") or act.get("azp") or "?"))
        act = act.get("act")
    if not client and not actors:
        return {}
    from doorward.serving import person_of

    chain = (person_of(principal), *([client] if client else []), *actors, f"doorward@{socket.gethostname()}")
    return {"delegation": [name[:MAX_NAME_CHARS] for name in chain]}


def _canonical(value: Any) -> bytes:
    """A JSON value as bytes that are the same for all equal values."""
    return _sorted(value).encode()


def _warn(event: str, **fields: Any) -> None:
    from doorward import log

    log.warning(event, **fields)
