"""A function as the text that search views embed."""

from __future__ import annotations

import hashlib

from doorward import Function
from doorward.searching import split_words

MAX_DESCRIPTION_CHARACTERS = 1000
"""Characters of a description that are embedded."""

MAX_PARAMETERS = 20
"""Parameters whose names are."""


def text_of(function: Function) -> str:
    """What a function is, in a few lines: where it belongs, what it is called, does and takes. It is all from the
    document of the server; models get no examples and no values."""
    takes = ", ".join([*function.parameters.get("properties", {})][:MAX_PARAMETERS])
    lines = [
        f"{' '.join(split_words(function.server))}: {' '.join(split_words(function.name))}",
        function.summary[:MAX_DESCRIPTION_CHARACTERS],
        function.description[:MAX_DESCRIPTION_CHARACTERS],
        f"Takes: {takes[:MAX_DESCRIPTION_CHARACTERS]}" if takes else "",
    ]
    return "\n".join(dict.fromkeys(line.strip() for line in lines if line.strip()))


def digest(text: str) -> bytes:
    """The key under which the vector of a text is kept."""
    return hashlib.sha256(text.encode(errors="surrogatepass")).digest()[:16]
