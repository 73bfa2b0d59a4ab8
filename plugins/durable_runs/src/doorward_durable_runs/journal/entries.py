"""One call in a journal, and the order in which recorded calls end when their program runs again."""

from __future__ import annotations

import hashlib
import json
import re
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from doorward import Reply
from doorward.sandboxing import PLANNED_KEY
from doorward_durable_runs.marked_places import in_words, shown

if TYPE_CHECKING:
    import anyio
    from doorward import DoorwardError
    from doorward_durable_runs.plans.change_set import Change
    from doorward_durable_runs.storage.given import Given

PATIENCE_SECONDS = 10.0
"""How long a recorded answer waits for calls that the program made before it the first time."""

_AT_ONCE = re.compile(
    r"anyio|async|await(?!\s+[a-z_][\w.]*\()|concurrent|eval|exec|import_module|__import__|process|thread|trio",
    re.IGNORECASE,
)
"""What a program in Python names that may make calls at once. (What is awaited where it is called is one call.)"""

HELPERS = "doorward."
"""What the names of helpers begin with."""

SHOWN_CHARACTERS = 500
"""Of the arguments of a call, how much the journal shows to a reader."""

_ESCAPED = json.dumps(PLANNED_KEY)
"""What JSON has of an answer that a plan does not know."""


class Entry:
    """One call of a run. `place` counts from 0, as calls begin. `sent`: it went out and may have had effects (`out`: in
    this process; `was_sent`: before its run was resumed), with a key in the header `by`, if any; `ended`: its reply or
    error is known; `waits`: it was not made, and waits with its run. `begun` is how many calls had begun when it ended.
    Of one that was sent and has not ended a person may have said whether it is sent `again`, or that it was made, with
    the answer that is `stated`. `before` is what was there before it, if that was read; `undo` what undoes it. A plan
    keeps of its calls what they were `made` with, of those that it withholds the `change`, and of those that a person
    let through the `yes`."""

    __slots__ = (
        "again", "args", "before", "begun", "by", "change", "claimed", "ended", "error", "function", "key", "kwargs",
        "made", "more", "ms", "out", "place", "reply", "sent", "stated", "text", "turn", "undo", "used", "waits",
        "was_sent", "yes",
    )  # fmt: skip

    def __init__(
        self, place: int, function: str, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None,
        more: tuple[str, bool] = ("", False),
    ) -> None:  # fmt: skip
        self.place, self.function, self.args, self.kwargs, self.more = place, function, args, kwargs, more
        self.key = self.text = self.by = self.yes = ""
        self.sent = self.was_sent = self.out = self.ended = self.claimed = False
        self.begun = 0
        self.ms = 0.0
        self.reply: Reply | None = None
        self.error: DoorwardError | None = None
        self.used: Mapping[str, float] = {}
        self.again: bool | None = None
        self.stated: tuple[Any, ...] = ()
        self.before: tuple[Any] | None = None
        self.undo: Mapping[str, Any] = {}
        self.made: list[Any] | None = None
        self.change: Change | None = None
        self.turn: anyio.Event | None = None

    def read(self) -> None:
        """Make its key, which is the same for the same call, and its text."""
        if self.key:
            return
        try:
            said = json.dumps([self.args, self.kwargs], sort_keys=True, ensure_ascii=False, default=_plain)
        except (TypeError, ValueError):
            said = repr([self.args, self.kwargs])
        content = "\0".join((self.function, said, self.more[0], str(self.more[1])))
        self.key = hashlib.sha256(content.encode(errors="surrogatepass")).hexdigest()[:32]
        if _ESCAPED in said:  # the text is for a reader, the key above is not
            said = in_words(*shown(json.loads(said), {}), partial(json.dumps, ensure_ascii=False))
        self.text = f"{self.function} {said[:SHOWN_CHARACTERS]}{'…' if len(said) > SHOWN_CHARACTERS else ''}"
        self.args, self.kwargs = (), None


def _plain(value: Any) -> Any:
    """What JSON does not know: bytes and files count by their content, anything else by its type and text."""
    if isinstance(value, (bytes, bytearray)):
        return {"bytes": hashlib.sha256(value).hexdigest()}
    return {type(value).__name__: str(value)}


def patience(given: Given, entries: Iterable[Entry]) -> float:
    """How many seconds a call waits for those that come before it: none where the program makes one call after the
    other, so that nothing else of it can make them."""
    at_once = given.language != "python" or _AT_ONCE.search(given.code)
    return PATIENCE_SECONDS if at_once or any(entry.function.startswith(HELPERS) for entry in entries) else 0.0


class Recorded:
    """The calls that a run made the first time: a program that runs again takes them, in any order, and gets their ends
    in the recorded order, each once as many calls have begun as had begun then."""

    def __init__(self, entries: Sequence[Entry], ends: Sequence[Entry], patience: float = PATIENCE_SECONDS) -> None:
        self.entries, self._ends, self._patience = entries, ends, patience
        self._given = self._begun = 0
        self._unclaimed: dict[str, deque[Entry]] = {}
        for entry in entries:
            self._unclaimed.setdefault(entry.key, deque()).append(entry)
        self.any = bool(entries)
        self.left = len(entries)
        """How many calls the program has not made again yet."""

    def next(self) -> Entry:
        """The first call that the program has not made again yet."""
        return min((queue[0] for queue in self._unclaimed.values() if queue), key=lambda entry: entry.place)

    def claim(self, key: str) -> Entry | None:
        """The first call with this key that the program has not made again yet."""
        queue = self._unclaimed.get(key)
        if not queue:
            return None
        self.left -= 1
        entry = queue.popleft()
        entry.claimed = True
        return entry

    def advance(self, begun: int) -> None:
        """So many calls have begun now: perhaps the next one may end."""
        self._begun = begun
        if self._given < len(self._ends):
            entry = self._ends[self._given]
            if entry.turn is not None and entry.begun <= begun:
                entry.turn.set()

    async def turn(self, entry: Entry) -> None:
        """Wait until it is the turn of a claimed call to end. One ends after the other, each in a turn of its own of
        the event loop: so the program sees them in this order."""
        import anyio

        if (at := self._ends.index(entry)) < self._given:
            return
        entry.turn = anyio.Event()
        self.advance(self._begun)
        with anyio.move_on_after(self._patience):
            await entry.turn.wait()
        self._given = max(self._given, at + 1)
        self.advance(self._begun)
