"""Texts that agents read: functions declared in a language, the outcomes of runs, and what is wrong with a call.

A name is loaded when it is first used.
"""

from __future__ import annotations

import importlib
from typing import Any

_MODULE_OF = {
    "MAX_TEXT_CHARS": "held_text",
    "Text": "plugin",
    "at": "lists",
    "compact_json": "outcome_text",
    "declared_list": "lists",
    "describe_class": "cards",
    "described": "value_text",
    "dialect_of": "dialects",
    "holds": "held_text",
    "is_field_of_one": "lists",
    "items_of": "lists",
    "keys_to_items": "lists",
    "lists_in": "lists",
    "may_hold": "held_text",
    "mistakes": "validation_messages",
    "outcome_as_dict": "outcome_text",
    "outcome_as_text": "outcome_text",
    "outcome_names": "schema_of_outcomes",
    "outcome_schema": "schema_of_outcomes",
    "prose": "signatures",
    "response_type": "signatures",
    "shown_key": "value_text",
    "signature": "signatures",
}
__all__ = [*_MODULE_OF]


def __getattr__(name: str) -> Any:
    if name in _MODULE_OF:
        return getattr(importlib.import_module(f"doorward_text.{_MODULE_OF[name]}"), name)
    raise AttributeError(f"module 'doorward_text' has no attribute {name!r}")
