"""What authors of modules for programs import besides `doorward`: what is told of them, values and handles.

A plugin gives its helpers in `gateway_made`: `gateway.modules.add("doorward.NAME", {"helper": function})`.
"""

from doorward.exports import Exports

_EXPORTS = Exports(
    __name__,
    {
        "calls.files": "handle",
        "model.program_names": "PROGRAM_NAMES ProgramNames",
        "runs.helper_context": "ERRORS HELPING MODULE Helper HelperContext Helping",
        "runs.program_modules": "call",
    },
)
__all__ = [*_EXPORTS.places]
__getattr__ = _EXPORTS.load
