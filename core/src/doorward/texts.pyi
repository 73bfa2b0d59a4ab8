# `make reference` writes this file.
from doorward.catalog.checked_schema import validator as validator
from doorward.catalog.checked_schema import value_validator as value_validator
from doorward.catalog.notes import Observation as Observation
from doorward.catalog.schemas import Definitions as Definitions
from doorward.catalog.schemas import MAX_NESTING as MAX_NESTING
from doorward.catalog.schemas import Reader as Reader
from doorward.catalog.schemas import closure as closure
from doorward.catalog.schemas import declared as declared
from doorward.catalog.schemas import kinds as kinds
from doorward.catalog.schemas import listed as listed
from doorward.catalog.schemas import strings as strings
from doorward.catalog.schemas import table as table
from doorward.catalog.schemas import variants as variants
from doorward.catalog.texts import Answers as Answers
from doorward.catalog.texts import FailedRun as FailedRun
from doorward.catalog.texts import FunctionTexts as FunctionTexts
from doorward.catalog.texts import Mistaken as Mistaken
from doorward.catalog.texts import Mistakes as Mistakes
from doorward.catalog.texts import PARAMETERS as PARAMETERS
from doorward.catalog.texts import TEXTS as TEXTS
from doorward.data.clean_text import visible as visible
from doorward.data.json_writing import exceeds as exceeds
from doorward.data.languages import JSON as JSON
from doorward.data.languages import comment_mark as comment_mark
from doorward.data.languages import is_script as is_script
from doorward.data.quoting import apart as apart
from doorward.data.quoting import in_one_line as in_one_line
from doorward.data.quoting import indented as indented
from doorward.data.wording import MAX_KEY_CHARACTERS as MAX_KEY_CHARACTERS
from doorward.data.wording import clean as clean
from doorward.data.words import nearest as nearest
from doorward.sandboxes.executors import RENAMED_PACKAGES as RENAMED_PACKAGES

__all__ = [
    "Answers",
    "Definitions",
    "FailedRun",
    "FunctionTexts",
    "JSON",
    "MAX_KEY_CHARACTERS",
    "MAX_NESTING",
    "Mistaken",
    "Mistakes",
    "Observation",
    "PARAMETERS",
    "RENAMED_PACKAGES",
    "Reader",
    "TEXTS",
    "apart",
    "clean",
    "closure",
    "comment_mark",
    "declared",
    "exceeds",
    "in_one_line",
    "indented",
    "is_script",
    "kinds",
    "listed",
    "nearest",
    "strings",
    "table",
    "validator",
    "value_validator",
    "variants",
    "visible",
]
