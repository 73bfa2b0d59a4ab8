"""Whether what a plan has read is still so: each of its reads is made again, and compared."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from anyio import CapacityLimiter, create_task_group
from doorward import ApiError, DoorwardError, InvalidArguments, LimitExceeded, Reply
from doorward.administration import cut_value as cut
from doorward.sandboxing import ARTEFACT_URI
from doorward.texts import in_one_line

if TYPE_CHECKING:
    from doorward import Client, Gateway
    from doorward.recording import Interceptor, RunContext

    from doorward_durable_runs.journal.entries import Entry
    from doorward_durable_runs.journal.replay import StoredJournal

_AT_ONCE = 8
"""Reads that are made at the same time."""

_PLAIN = re.compile(r"[\w@$-]{1,60}")
"""Names of fields that stand as they are: an upstream chooses them."""

_SHOWN_READS, _SHOWN_PLACES, _SHOWN_BYTES = 10, 10, 200
"""Of what differs: reads, places in an answer, and bytes of a value."""


class Reading:
    """Makes the reads of plans again. `ignore` are the fields that may differ; `covered` makes what lets calls through
    that a person has let through."""

    def __init__(self, gateway: Gateway, ignore: Sequence[str], covered: Callable[..., Interceptor]) -> None:
        self._gateway, self._ignore, self._covered = gateway, ignore, covered

    async def differences(
        self, whole: RunContext, said: StoredJournal, reads: Sequence[Entry], client: Client | None
    ) -> tuple[str, ...]:
        """What has changed of what a plan has read, a line each; empty if nothing has. The calls are checked and
        counted like all; those that a person let through, for the plan or for its commit, are let through again, until
        differences were told.

        Raises: LimitExceeded if there is no time for all of them.
        """
        program, covered = whole.program, self._covered(covered=said.yes, spent=said.spent)
        run = self._gateway.execution.context(program, client=client, interceptor=covered, state=whole.state)
        found: dict[int, str] = {}
        at_once = CapacityLimiter(_AT_ONCE)

        async def make(entry: Entry) -> None:
            async with at_once:
                if len(found) < _SHOWN_READS and (differs := await self._difference(run, entry)):
                    found[entry.place] = differs

        with run.clock.until(program.deadline) as scope:
            async with create_task_group() as group:
                for entry in reads:
                    group.start_soon(make, entry)
        if scope.cancelled_caught:
            raise LimitExceeded(
                "what the plan had read could not be read again within the run's time, so nothing was written",
                hint="Commit it again, or plan less at once.",
            )
        return tuple(line for _, line in sorted(found.items()))

    async def _difference(self, run: RunContext, entry: Entry) -> str:
        assert entry.made is not None
        args, kwargs, link, headers = entry.made
        now, error = Reply(None), ""
        try:
            now = await run.reply(entry.function, args, kwargs, link=link, headers=headers)
        except DoorwardError as raised:
            error = _told(raised)
        was_error = "" if entry.error is None else _told(entry.error)
        then = entry.reply or Reply(None)
        if error != was_error:
            parts = [f"it {f'failed: {was_error}' if was_error else 'succeeded'}, and now {error or 'succeeds'}"]
        elif error or _same_etag(then, now):
            return ""
        else:
            first, second = [await self._canonical(each.value, run) for each in (then, now)]
            parts = [*_changes(first, second)] if _hash(first) != _hash(second) else []
            if not parts and then.status != now.status:
                parts = [f"its status was {then.status} and is {now.status}"]
        if not parts:
            return ""
        more = [f"and {len(parts) - _SHOWN_PLACES} more"] if len(parts) > _SHOWN_PLACES else []
        return f"{entry.text}: {'; '.join([*parts[:_SHOWN_PLACES], *more])}"

    async def _canonical(self, value: Any, run: RunContext) -> Any:
        """An answer without the fields that do not count, and with the content of its files in place of their
        handles."""
        match value:
            case dict():
                uri = value.get("artefact")
                if isinstance(uri, str) and uri.startswith(ARTEFACT_URI):
                    return {**value, "artefact": await _content(uri, run)}
                kept = ((key, part) for key, part in value.items() if not self._is_ignored(str(key)))
                return {key: await self._canonical(part, run) for key, part in kept}
            case list():
                return [await self._canonical(part, run) for part in value]
        return value

    def _is_ignored(self, name: str) -> bool:
        return any(fnmatchcase(name, pattern) for pattern in self._ignore)


async def _content(uri: str, run: RunContext) -> str:
    try:
        return hashlib.sha256((await run.open(uri)).content).hexdigest()
    except InvalidArguments:
        return uri


def _same_etag(then: Reply, now: Reply) -> bool:
    """Whether the source says itself that nothing has changed (RFC 9110 section 8.8.3)."""
    etag = then.headers.get("etag")
    return bool(etag) and etag == now.headers.get("etag")


def _told(error: DoorwardError) -> str:
    status = f" {error.status}" if isinstance(error, ApiError) else ""
    return f"{type(error).__name__}{status}: {error.message[:_SHOWN_BYTES]}"


def _hash(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, ensure_ascii=True, separators=(",", ":"), default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def _changes(then: Any, now: Any, where: str = "") -> Iterator[str]:
    """The places at which two answers differ."""
    if isinstance(then, dict) and isinstance(now, Mapping):
        for key in dict.fromkeys([*then, *now]):
            name = key if _PLAIN.fullmatch(str(key)) else _short(key)
            place = f"{where}.{name}" if where else str(name)
            if key not in now:
                yield f"{place} was {_short(then[key])} and is gone"
            elif key not in then:
                yield f"{place} is new: {_short(now[key])}"
            else:
                yield from _changes(then[key], now[key], place)
    elif isinstance(then, list) and isinstance(now, list):
        for number, (old, new) in enumerate(zip(then, now, strict=False)):
            yield from _changes(old, new, f"{where}[{number}]")
        if len(then) != len(now):
            yield f"{where or 'it'} had {len(then)} items and has {len(now)}"
    elif type(then) is not type(now) or then != now:
        yield f"{where or 'it'} was {_short(then)} and is {_short(now)}"


def _short(value: Any) -> str:
    return in_one_line(cut(value, _SHOWN_BYTES))
