# `make reference` writes this file.
from doorward.data.planned import PLANNED_KEY as PLANNED_KEY
from doorward.data.planned import Planned as Planned
from doorward.data.program_parameters import json_type as json_type
from doorward.model.executors import Aliases as Aliases
from doorward.model.kept_programs import KEPT_PROGRAMS as KEPT_PROGRAMS
from doorward.model.kept_programs import KeepsPrograms as KeepsPrograms
from doorward.model.programs import ARTEFACT_URI as ARTEFACT_URI
from doorward.model.programs import CachedProgram as CachedProgram
from doorward.model.programs import Frame as Frame

__all__ = [
    "ARTEFACT_URI",
    "Aliases",
    "CachedProgram",
    "Frame",
    "KEPT_PROGRAMS",
    "KeepsPrograms",
    "PLANNED_KEY",
    "Planned",
    "json_type",
]
