"""A kept program as it would be saved: what a person looks at before it is."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from doorward import StateError, Unsupported
from doorward.recording import RECORDINGS

from doorward_cache_sqlite.saved_programs import PYTHON, Record
from doorward_cache_sqlite.saves_programs import Draft
from doorward_cache_sqlite.scripts import script

if TYPE_CHECKING:
    from doorward import Gateway
    from doorward.sandboxing import CachedProgram

    from doorward_cache_sqlite.saved_programs import SavedPrograms


async def draft_of(
    gate: Gateway, saved: SavedPrograms, kept: CachedProgram, name: str, description: str = "", *, force: bool = False
) -> Draft:
    """A kept program under a name. `force`: there may be one of this name already.

    Raises: Unsupported, StateError; InvalidProgram for a name that cannot be one.
    """
    if kept.language != PYTHON:
        raise Unsupported(f"{kept.cache_id} is in {kept.language}: only programs in Python are saved")
    file = saved.file(name)
    if file.exists() and not force:
        raise StateError(f"there is a saved program {name!r}", hint="--force replaces it.")
    recordings = gate.services.get(RECORDINGS)
    recording = await recordings.recording(kept.code, kept.principal) if recordings else None
    text = script(name, kept.code, description or kept.description, kept.params)
    calls = [*recordings.calls(recording)] if recordings and recording else []
    record = Record(kept.uses, kept.functions)
    return Draft(name, file, text, calls, recording is not None, partial(saved.save, name, text, record, recording))
