# `make reference` writes this file.
from doorward_text.cards import describe_class as describe_class
from doorward_text.dialects import dialect_of as dialect_of
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
    "Text",
    "compact_json",
    "describe_class",
    "described",
    "dialect_of",
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
