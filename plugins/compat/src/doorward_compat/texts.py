"""Which answers a program that was written for another system gets as text.

Those systems gave it the text of a tool's answer, as it was or parsed; answers with a structure beside their text came
later. So a structure that only repeats the text is the text, and so is all that was never parsed, unless the program
reads a field of the value: then it gets that.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Set
from typing import Any

from doorward.values import if_repeated

_TEXTS = re.compile(r"\b(?:call_mcp_tool|callMCPTool|mcp-wrappers|mcp_wrappers)\b")
"""What programs name whose system gave them texts as they were."""

_PARSED = re.compile(r"\bruntime\.mcp_client\b|\b(?:from|import)\s+servers\b")
"""The same, of a system that parsed those that are JSON."""

_VALUES = re.compile(r"\bmcp_(?!tool\b)\w+|\bmcp\.(?:servers|runtime)\b|\bmcp\s+import\b")
"""The same, of one whose programs use texts as texts, and fields of what has some."""

_PARSES = re.compile(r"\bjson\s*\.\s*loads\b|\bJSON\s*\.\s*parse\b")
_FIELD = re.compile(r"""\.get\(\s*["']([^"'\n]+)["']|\.\s*([A-Za-z_]\w*)|\[\s*["']([^"'\n]+)["']\s*\]""")
_TAKEN_APART = re.compile(r"\{([^{}=]*)\}\s*=(?![=>])")
"""The names in `const { name, other: own } = …`."""


def text_rule(code: str) -> Callable[[Any, str, bool], bool]:
    """What `Call.wants_text` is for this program."""
    parsed, texts = _PARSED.search(code) is not None, _TEXTS.search(code) is not None
    if not (parsed or texts or _VALUES.search(code)):
        return if_repeated
    parses = texts and not parsed and _PARSES.search(code) is not None
    fields = {name for names in _FIELD.findall(code) for name in names}
    fields |= {name for names in _TAKEN_APART.findall(code) for name in re.findall(r"\w+", names)}

    def wants_text(value: Any, text: str, declared: bool) -> bool:
        if _reads(fields, value):
            return parses
        if if_repeated(value, text, False):
            return True
        return (texts and not parsed) or (parsed and text.lstrip()[:1] not in ("{", "["))

    return wants_text


def _reads(fields: Set[str], value: Any) -> bool:
    """Whether one of these fields is one of an object, or of the first in a list."""
    first = value[0] if isinstance(value, list) and value else value
    return isinstance(first, Mapping) and not fields.isdisjoint(first)
