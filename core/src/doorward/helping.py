"""What authors of modules for programs import besides `doorward`: what is told of them, values and handles.

A plugin gives its helpers in `gateway_made`: `gateway.modules.add("doorward.NAME", {"helper": function})`.
"""

from __future__ import annotations

from doorward.calls.files import handle
from doorward.data.offload import done, is_large
from doorward.model.program_names import PROGRAM_NAMES, ProgramNames
from doorward.runs.helper_context import ERRORS, HELPING, MODULE, Helper, HelperContext, Helping
from doorward.runs.program_modules import call

__all__ = [
    "ERRORS",
    "HELPING",
    "MODULE",
    "PROGRAM_NAMES",
    "Helper",
    "HelperContext",
    "Helping",
    "ProgramNames",
    "call",
    "done",
    "handle",
    "is_large",
]
