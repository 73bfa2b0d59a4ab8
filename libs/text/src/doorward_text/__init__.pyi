# `make reference` writes this file.
from doorward_text.abilities import capabilities as capabilities
from doorward_text.abilities import executors_in_brief as executors_in_brief
from doorward_text.cards import describe_class as describe_class
from doorward_text.dialects import dialect_of as dialect_of
from doorward_text.held_text import MAX_TEXT_CHARS as MAX_TEXT_CHARS
from doorward_text.held_text import holds as holds
from doorward_text.held_text import may_hold as may_hold
from doorward_text.lists import at as at
from doorward_text.lists import declared_list as declared_list
from doorward_text.lists import is_field_of_one as is_field_of_one
from doorward_text.lists import items_of as items_of
from doorward_text.lists import keys_to_items as keys_to_items
from doorward_text.lists import lists_in as lists_in
from doorward_text.outcome_text import compact_json as compact_json
from doorward_text.outcome_text import outcome_as_dict as outcome_as_dict
from doorward_text.outcome_text import outcome_as_text as outcome_as_text
from doorward_text.plugin import Text as Text
from doorward_text.schema_of_outcomes import outcome_names as outcome_names
from doorward_text.schema_of_outcomes import outcome_schema as outcome_schema
from doorward_text.signatures import prose as prose
from doorward_text.signatures import response_type as response_type
from doorward_text.signatures import signature as signature
from doorward_text.validation_messages import mistakes as mistakes
from doorward_text.value_text import described as described
from doorward_text.value_text import shown_key as shown_key

__all__ = [
    "MAX_TEXT_CHARS",
    "Text",
    "at",
    "capabilities",
    "compact_json",
    "declared_list",
    "describe_class",
    "described",
    "dialect_of",
    "executors_in_brief",
    "holds",
    "is_field_of_one",
    "items_of",
    "keys_to_items",
    "lists_in",
    "may_hold",
    "mistakes",
    "outcome_as_dict",
    "outcome_as_text",
    "outcome_names",
    "outcome_schema",
    "prose",
    "response_type",
    "shown_key",
    "signature",
]
