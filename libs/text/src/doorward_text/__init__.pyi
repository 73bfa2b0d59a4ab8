# `make reference` writes this file.
from doorward_text.outcome_text import compact_json as compact_json
from doorward_text.outcome_text import outcome_as_dict as outcome_as_dict
from doorward_text.outcome_text import outcome_as_text as outcome_as_text
from doorward_text.schema_of_outcomes import outcome_names as outcome_names
from doorward_text.schema_of_outcomes import outcome_schema as outcome_schema

__all__ = [
    "compact_json",
    "outcome_as_dict",
    "outcome_as_text",
    "outcome_names",
    "outcome_schema",
]
