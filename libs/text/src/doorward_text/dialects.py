"""The dialects by the language of programs, or of calls without code. All but that of Python are imported when they are
asked for."""

from __future__ import annotations

from doorward.texts import JSON, is_script

from doorward_text.dialect import PYTHON, Dialect


def dialect_of(language: str) -> Dialect:
    """The dialect for programs of a language; Python for one that core does not know."""
    if language == JSON:
        from doorward_text.json_calls import JSON_CALLS

        return JSON_CALLS
    if not is_script(language):
        return PYTHON
    from doorward_text.typescript import TYPESCRIPT

    return TYPESCRIPT
