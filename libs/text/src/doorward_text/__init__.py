"""Texts that agents read: functions declared in a language, the outcomes of runs, and what is wrong with a call.

A name is loaded when it is first used.
"""

from doorward.exports import Exports

_EXPORTS = Exports(
    __name__,
    {
        "abilities": "capabilities executors_in_brief",
        "cards": "describe_class",
        "dialects": "dialect_of",
        "held_text": "MAX_TEXT_CHARS holds may_hold",
        "lists": "at declared_list is_field_of_one items_of keys_to_items lists_in",
        "outcome_text": "compact_json outcome_as_dict outcome_as_text",
        "plugin": "Text",
        "schema_of_outcomes": "outcome_names outcome_schema",
        "signatures": "prose response_type signature",
        "validation_messages": "mistakes",
        "value_text": "described shown_key",
    },
)
__all__ = [*_EXPORTS.places]
__getattr__ = _EXPORTS.load
