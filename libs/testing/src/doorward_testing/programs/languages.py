"""The programs of every language that executors are tested in."""

from __future__ import annotations

from collections.abc import Mapping

from doorward_testing.programs.javascript import JAVASCRIPT
from doorward_testing.programs.python import PYTHON
from doorward_testing.programs.suite import Suite
from doorward_testing.programs.typescript import TYPESCRIPT

SUITES: Mapping[str, Suite] = {"python": PYTHON, "typescript": TYPESCRIPT, "javascript": JAVASCRIPT}
"""By the words of `Program.language`."""
