"""The dialects by the language of programs."""

from __future__ import annotations

from doorward.describe.dialect import PYTHON, Dialect
from doorward.describe.typescript import TYPESCRIPT
from doorward.programs.languages import is_script


def dialect_of(language: str) -> Dialect:
    """The dialect for programs of a language; Python for one that core does not know."""
    return TYPESCRIPT if is_script(language) else PYTHON
