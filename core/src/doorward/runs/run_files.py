"""The files of one run: those that it leaves, those that the host keeps for it, and those that it opens."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from doorward.calls.artefacts import MAX_FILES, base_name, named_in
from doorward.data.json_writing import dump
from doorward.model.calls import File
from doorward.model.errors import InvalidArguments, LimitExceeded, UnknownName
from doorward.model.outcomes import Artefact
from doorward.model.programs import Program

if TYPE_CHECKING:
    from doorward.calls.artefacts import Artefacts
    from doorward.model.recording import Recorder

_MEDIA_TYPE = re.compile(r"[\w.+-]{1,100}/[\w.+-]{1,100}(; ?charset=[\w-]{1,40})?", re.ASCII)


class RunFiles:
    """Artefacts of the run's principal, counted for the run."""

    __slots__ = ("_artefacts", "_bytes", "_count", "_own", "_program", "_recorder", "foreign", "replayed")

    def __init__(self, program: Program, artefacts: Artefacts, recorder: Recorder | None = None) -> None:
        self._program = program
        self._artefacts = artefacts
        self._recorder = recorder
        self._own: list[Artefact] = []
        self._count = 0
        self._bytes = 0
        self.foreign: set[str] = set()
        self.replayed: list[Any] = []
        """Answers of calls that were made before the run was resumed, whose URIs nobody has looked for yet."""
        """The URIs of files that stood in the data of an upstream."""

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
        kept = self._artefacts.keep(content, type, self._program.principal, name, is_text=is_text)
        if self._recorder is not None:
            self._recorder.file(kept, content, is_text=is_text or isinstance(content, str))
        return kept

    def left(self, named: Sequence[str]) -> tuple[Artefact, ...]:
        """See `RunContext.left`."""
        own = {artefact.uri: artefact for artefact in self._own}
        found = (self._artefacts.about(uri, self._program.principal) for uri in named if uri not in own)
        return (*own.values(), *filter(None, found))

    def is_foreign(self, uri: str) -> bool:
        """See `RunContext.is_foreign`."""
        while self.replayed:
            self.foreign.update(named_in(dump(self.replayed.pop())))
        return uri in self.foreign and self._artefacts.about(uri, self._program.principal) is None

    def open(self, uri: str) -> File:
        """See `RunContext.open`."""
        try:
            file = self._artefacts.open(uri, self._program.principal)
            if self._recorder is not None:
                self._recorder.file(Artefact(uri, file.type, len(file.content), file.name), file.content, is_text=False)
            return file
        except UnknownName as error:
            hint = (
                "Pass the handle of a file or result that this program, or an earlier one of yours, was answered; each "
                "is kept for a while."
            )
            raise InvalidArguments(error.message, hint=hint) from None
