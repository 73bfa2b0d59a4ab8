"""Which answers a program that was written for another system gets as text.

Those systems gave it the text of a tool's answer, as it was or parsed; answers with a structure beside their text came
later. So a structure that only repeats the text is the text, and where the text was never parsed, it is not unless the
program reads a field of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Set
from typing import Any

from doorward.model.calls import never_text

_TEXTS = re.compile(r"\b(?:call_mcp_tool|callMCPTool|mcp-wrappers|mcp_wrappers)\b")
"""What programs name whose system gave them texts as they were."""

_PARSED = re.compile(r"\bruntime\.mcp_client\b|(?<!mcp\.)\bservers\.\w")
"""The same, of a system that parsed those that are JSON."""

_VALUES = re.compile(r"\bmcp_(?!tool\b)\w+|\bmcp\.(?:servers|runtime)\b|\bmcp\s+import\b")
"""The same, of one whose programs use texts as texts, and fields of what has some."""

_PARSES = re.compile(r"\bjson\s*\.\s*loads\b|\bJSON\s*\.\s*parse\b")
_FIELD = re.compile(r"""\.\s*([A-Za-z_]\w*)|\[\s*["']([^"'\n]+)["']\s*\]|\.get\(\s*["']([^"'\n]+)["']""")
_TAKEN_APART = re.compile(r"\{([^{}=]*)\}\s*=(?![=>])")
"""The names in `const { name, other: own } = …`."""


def wants_text(code: str) -> Callable[[Any, str], bool]:
    """What `Call.wants_text` is for this program."""
    is_parsed = _PARSED.search(code) is not None
    if not is_parsed and not _TEXTS.search(code):
        return repeats if _VALUES.search(code) else never_text
    parses = bool(_PARSES.search(code))
    fields = {name for names in _FIELD.findall(code) for name in names}
    fields |= {name for names in _TAKEN_APART.findall(code) for name in re.findall(r"\w+", names)}

    def wants(value: Any, text: str) -> bool:
        if repeats(value, text):
            return True
        if is_parsed:
            return text.lstrip()[:1] not in ("{", "[") and not _reads(fields, value)
        return parses or not _reads(fields, value)

    return wants


def repeats(value: Any, text: str) -> bool:
    """Whether an object has nothing but one field with this text."""
    return isinstance(value, Mapping) and len(value) == 1 and text in value.values()


def _reads(fields: Set[str], value: Any) -> bool:
    """Whether one of these fields is one of an object, or of the first in a list."""
    first = value[0] if isinstance(value, list) and value else value
    return isinstance(first, Mapping) and not fields.isdisjoint(first)
