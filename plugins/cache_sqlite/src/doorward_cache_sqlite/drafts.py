"""A kept program as it would be saved: what a person looks at before it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from doorward import StateError, Unsupported
from doorward.recording import RECORDINGS

from doorward_cache_sqlite.saved_programs import PYTHON, Record
from doorward_cache_sqlite.scripts import script

if TYPE_CHECKING:
    from doorward import Gateway
    from doorward.sandboxing import CachedProgram

    from doorward_cache_sqlite.saved_programs import SavedPrograms


@dataclass(frozen=True, slots=True)
class Draft:
    """The script of a program, the file that it goes to, and the calls of the run that its test plays again: none if no
    run is recorded."""

    name: str
    file: Path
    text: str
    calls: Sequence[str]
    record: Record
    recording: str | None = None

    def save(self, programs: SavedPrograms) -> None:
        """Write it."""
        programs.save(self.name, self.text, self.record, self.recording)


async def draft_of(
    gate: Gateway,
    programs: SavedPrograms,
    kept: CachedProgram,
    name: str,
    description: str = "",
    *,
    force: bool = False,
) -> Draft:
    """A kept program under a name. `force`: there may be one of this name already.

    Raises: Unsupported, StateError, InvalidProgram for a name that cannot be one.
    """
    if kept.language != PYTHON:
        raise Unsupported(f"{kept.cache_id} is in {kept.language}: only programs in Python are saved")
    if programs.file(name).exists() and not force:
        raise StateError(f"there is a saved program {name!r}", hint="--force replaces it.")
    recordings = gate.services.get(RECORDINGS)
    recording = await recordings.recording(kept.code, kept.principal) if recordings else None
    text = script(name, kept.code, description or kept.description, kept.params)
    calls = [*recordings.calls(recording)] if recordings and recording else []
    return Draft(name, programs.file(name), text, calls, Record(kept.uses, kept.functions), recording)
