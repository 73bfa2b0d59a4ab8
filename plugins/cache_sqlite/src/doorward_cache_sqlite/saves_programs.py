"""Who saves programs as scripts, for those who offer that to people: a page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from doorward import Service


@dataclass(frozen=True, slots=True)
class Draft:
    """The script of a program, which `save` writes into its file, and the calls of the run that its test plays again:
    none if no run is `recorded`."""

    name: str
    file: Path
    text: str
    calls: Sequence[str]
    recorded: bool
    save: Callable[[], None]


class SavesPrograms(Protocol):
    """Saves programs of runs. Who may ask for it is left to the caller."""

    async def draft(self, principal: str, code_sha256: str, name: str, description: str = "") -> Draft:
        """The program of a run of a principal, as it would be saved.

        Raises: UnknownName if it is not kept (any more); Unsupported, StateError; InvalidProgram for a name that cannot
        be one.
        """


SAVES = Service[SavesPrograms]("what saves programs as scripts", "doorward-cache-sqlite")
