# `make reference` writes this file.
from doorward.calls.files import handle as handle
from doorward.model.program_names import PROGRAM_NAMES as PROGRAM_NAMES
from doorward.model.program_names import ProgramNames as ProgramNames
from doorward.runs.helper_context import ERRORS as ERRORS
from doorward.runs.helper_context import HELPING as HELPING
from doorward.runs.helper_context import Helper as Helper
from doorward.runs.helper_context import HelperContext as HelperContext
from doorward.runs.helper_context import Helping as Helping
from doorward.runs.helper_context import MODULE as MODULE
from doorward.runs.program_modules import call as call

__all__ = [
    "ERRORS",
    "HELPING",
    "Helper",
    "HelperContext",
    "Helping",
    "MODULE",
    "PROGRAM_NAMES",
    "ProgramNames",
    "call",
    "handle",
]
