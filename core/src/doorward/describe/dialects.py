"""The dialects by the language of programs. That of TypeScript is imported when it is asked for."""

from __future__ import annotations

from doorward.describe.dialect import PYTHON, Dialect
from doorward.programs.languages import is_script


def dialect_of(language: str) -> Dialect:
    """The dialect for programs of a language; Python for one that core does not know."""
    if not is_script(language):
        return PYTHON
    from doorward.describe.typescript import TYPESCRIPT

    return TYPESCRIPT
