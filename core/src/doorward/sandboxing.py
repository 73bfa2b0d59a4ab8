"""What authors of executors and caches import besides `doorward`: what a sandbox says and is told, and what is read in
the text of a program."""

from __future__ import annotations

from doorward.data.planned import PLANNED_KEY, Planned
from doorward.data.program_parameters import bind, json_type, parameters
from doorward.data.program_text import parse, sets_result
from doorward.host.watchdog import Watchdog
from doorward.model.executors import Aliases
from doorward.model.kept_programs import KEPT_PROGRAMS, KeepsPrograms
from doorward.model.outcomes import ARTEFACT_URI
from doorward.model.programs import CachedProgram, Frame

__all__ = [
    "ARTEFACT_URI",
    "KEPT_PROGRAMS",
    "PLANNED_KEY",
    "Aliases",
    "CachedProgram",
    "Frame",
    "KeepsPrograms",
    "Planned",
    "Watchdog",
    "bind",
    "json_type",
    "parameters",
    "parse",
    "sets_result",
]
