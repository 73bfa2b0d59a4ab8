"""The files of one run: those that it leaves, those that the host keeps for it, and those that it opens."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from doorward.calls.artefacts import MAX_FILES, base_name, named_in
from doorward.data.json_writing import dump
from doorward.model.calls import File
from doorward.model.errors import InvalidArguments, LimitExceeded, StateError, UnknownName
from doorward.model.programs import Artefact, Program

if TYPE_CHECKING:
    from doorward.calls.artefacts import Artefacts, Kept
    from doorward.model.recording import Recorder

_MEDIA_TYPE = re.compile(r"[\w.+-]{1,100}/[\w.+-]{1,100}(; ?charset=[\w-]{1,40})?", re.ASCII)


class RunFiles:
    """Artefacts of the run's principal, counted for the run."""

    __slots__ = (
        "_artefacts",
        "_bytes",
        "_count",
        "_own",
        "_program",
        "_recorder",
        "_stored",
        "_storing",
        "_waiting",
        "foreign",
        "held",
        "replayed",
    )

    def __init__(self, program: Program, artefacts: Artefacts, recorder: Recorder | None = None) -> None:
        self._program = program
        self._artefacts = artefacts
        self._recorder = recorder
        self._own: list[Artefact] = []
        self._waiting: dict[str, Kept] = {}  # to be stored, by URIs
        self._stored: list[str] = []
        self._storing = asyncio.Lock()
        self.held = 0
        """Bytes of what waits to be stored."""
        self._count = 0
        self._bytes = 0
        self.foreign: set[str] = set()
        """The URIs of files that stood in the data of an upstream."""
        self.replayed: list[Any] = []
        """Answers of calls that were made before the run was resumed, whose URIs nobody has looked for yet."""

    def leave(self, content: bytes, type: str, name: str) -> Artefact:
        """Keep a file that the program leaves. Raises: LimitExceeded."""
        self._count += 1
        self._bytes += len(content)
        if self._count > MAX_FILES:
            raise LimitExceeded(
                f"the run left more than {MAX_FILES} files", hint="Put them into one, an archive for example."
            )
        if self._bytes > (most := self._program.limits.result_bytes):
            hint = "Leave what is needed, and compress it."
            raise LimitExceeded(f"the run left files of more than {most} bytes", hint=hint)
        checked = type if _MEDIA_TYPE.fullmatch(type) else "application/octet-stream"
        artefact = self.hold(content, checked, base_name(name))
        self._own.append(artefact)
        return artefact

    def hold(self, content: str | bytes, type: str, name: str = "", *, is_text: bool = False) -> Artefact:
        """See `RunContext.hold`."""
        kept = self._artefacts.made(content, type, name, is_text=is_text)
        self._waiting[kept.about.uri] = kept
        self.held += kept.about.bytes
        if self._recorder is not None:
            self._recorder.file(kept.about, content, is_text=kept.is_text)
        return kept.about

    async def store(self) -> None:
        """Store what is held. Raises: StateError."""
        async with self._storing:  # calls at once store nothing twice
            while self._waiting:
                kept = next(iter(self._waiting.values()))
                await self._artefacts.keep(kept, self._program.principal)
                self._stored.append(kept.about.uri)
                del self._waiting[kept.about.uri]
                self.held -= kept.about.bytes

    async def discard(self) -> None:
        """Keep nothing of what this run made: its answer is withheld. Raises: StateError."""
        async with self._storing:
            self._waiting.clear()
            self._own.clear()
            self.held = 0
            await self._artefacts.remove(self._stored, self._program.principal)
            self._stored.clear()

    def mark_unstored(self, value: Any, why: str) -> list[str]:
        """Say in the handles of files within an answer that these could not be stored. Returns: the URIs."""
        found, parts = [], [value]
        while parts:
            match parts.pop():
                case {"artefact": str(uri)} as part if uri in self._waiting:
                    part["not_stored"] = why
                    found.append(uri)
                case dict() as part:
                    parts.extend(part.values())
                case list() as part:
                    parts.extend(part)
        return found

    async def left(self, named: Sequence[str]) -> tuple[Artefact, ...]:
        """See `RunContext.left`."""
        found = {artefact.uri: artefact for artefact in self._own}
        for uri in named:
            with suppress(StateError):  # a run has not failed because its files cannot be looked up
                if uri not in found and (about := await self._about(uri)) is not None:
                    found[uri] = about
        return tuple(found.values())

    async def is_foreign(self, uri: str) -> bool:
        """See `RunContext.is_foreign`."""
        while self.replayed:
            self.foreign.update(named_in(dump(self.replayed.pop())))
        return uri in self.foreign and await self._about(uri) is None

    async def _about(self, uri: str) -> Artefact | None:
        if (kept := self._waiting.get(uri)) is not None:
            return kept.about
        return await self._artefacts.about(uri, self._program.principal)

    async def open(self, uri: str) -> File:
        """See `RunContext.open`."""
        if (kept := self._waiting.get(uri)) is not None:
            return kept.file
        try:
            file = await self._artefacts.open(uri, self._program.principal)
            if self._recorder is not None:
                self._recorder.file(Artefact(uri, file.type, len(file.content), file.name), file.content, is_text=False)
            return file
        except UnknownName as error:
            hint = (
                "Pass the handle of a file or result that this program, or an earlier one of yours, was answered; each "
                "is kept for a while."
            )
            raise InvalidArguments(error.message, hint=hint) from None
