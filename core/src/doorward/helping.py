"""What authors of modules for programs import besides `doorward`: the lists in answers, values in words, handles.

A plugin gives its helpers in `gateway_made`: `gateway.modules.add("doorward.NAME", {"helper": function})`.
"""

from __future__ import annotations

from doorward.calls.files import handle
from doorward.calls.items import at, is_field_of_one, keys_to_items, lists_in
from doorward.data.offload import done, is_large
from doorward.model.program_names import PROGRAM_NAMES, ProgramNames
from doorward.runs.helper_context import HelperContext

__all__ = [
    "PROGRAM_NAMES",
    "HelperContext",
    "ProgramNames",
    "at",
    "done",
    "handle",
    "is_field_of_one",
    "is_large",
    "keys_to_items",
    "lists_in",
]
