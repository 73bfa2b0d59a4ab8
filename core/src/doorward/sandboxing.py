"""What authors of executors and caches import besides `doorward`: what a sandbox says and is told, and what is read in
the text of a program."""

from doorward.exports import Exports

_EXPORTS = Exports(
    __name__,
    {
        "data.planned": "PLANNED_KEY Planned",
        "data.program_parameters": "json_type",
        "model.executors": "Aliases",
        "model.kept_programs": "KEPT_PROGRAMS KeepsPrograms",
        "model.programs": "ARTEFACT_URI CachedProgram Frame",
    },
)
__all__ = [*_EXPORTS.places]
__getattr__ = _EXPORTS.load
