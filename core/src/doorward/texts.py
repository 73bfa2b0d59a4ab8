"""What writers of texts for agents import besides `doorward`: the service, schemas as they are read, quotations.

A plugin gives its texts in `gateway_made`: `gateway.services.give(TEXTS, texts)`.
"""

from __future__ import annotations

from doorward.catalog.checked_schema import validator, value_validator
from doorward.catalog.notes import Observation
from doorward.catalog.schemas import (
    MAX_NESTING,
    Definitions,
    Reader,
    declared,
    kinds,
    listed,
    strings,
    table,
    variants,
)
from doorward.catalog.texts import PARAMETERS, TEXTS, Answers, FailedRun, FunctionTexts, Mistaken, Mistakes
from doorward.data.clean_text import clean_text, visible
from doorward.data.json_writing import dump, exceeds
from doorward.data.languages import JSON, is_script
from doorward.data.near_names import nearest
from doorward.data.quoting import apart, in_one_line, indented
from doorward.data.values import plain
from doorward.data.wording import MAX_KEY_CHARACTERS, clean
from doorward.model.names import class_name, is_plain, python_name
from doorward.model.outcomes import Waiting

__all__ = [
    "JSON",
    "MAX_KEY_CHARACTERS",
    "MAX_NESTING",
    "PARAMETERS",
    "TEXTS",
    "Answers",
    "Definitions",
    "FailedRun",
    "FunctionTexts",
    "Mistaken",
    "Mistakes",
    "Observation",
    "Reader",
    "Waiting",
    "apart",
    "class_name",
    "clean",
    "clean_text",
    "declared",
    "dump",
    "exceeds",
    "in_one_line",
    "indented",
    "is_plain",
    "is_script",
    "kinds",
    "listed",
    "nearest",
    "plain",
    "python_name",
    "strings",
    "table",
    "validator",
    "value_validator",
    "variants",
    "visible",
]
