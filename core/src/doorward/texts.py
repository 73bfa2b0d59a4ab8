"""What writers of texts for agents import besides `doorward`: the service, schemas as they are read, quotations.

A plugin gives its texts in `gateway_made`: `gateway.services.give(TEXTS, texts)`.
"""

from doorward.exports import Exports

_EXPORTS = Exports(
    __name__,
    {
        "catalog.checked_schema": "validator value_validator",
        "catalog.notes": "Observation",
        "catalog.schemas": "MAX_NESTING Definitions Reader closure declared kinds listed strings table variants",
        "catalog.texts": "PARAMETERS TEXTS Answers FailedRun FunctionTexts Mistaken Mistakes",
        "data.clean_text": "visible",
        "data.json_writing": "exceeds",
        "data.languages": "JSON comment_mark is_script",
        "data.words": "nearest",
        "data.quoting": "apart in_one_line indented",
        "data.wording": "MAX_KEY_CHARACTERS clean",
        "sandboxes.executors": "RENAMED_PACKAGES",
    },
)
__all__ = [*_EXPORTS.places]
__getattr__ = _EXPORTS.load
