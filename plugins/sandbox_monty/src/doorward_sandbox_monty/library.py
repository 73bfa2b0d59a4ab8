"""The modules that programs can import besides servers: part of the standard library."""

from __future__ import annotations

LIBRARY = (
    "asyncio", "base64", "bisect", "collections", "copy", "csv", "dataclasses", "datetime", "decimal", "functools",
    "hashlib", "itertools", "json", "math", "pathlib", "random", "re", "time", "typing", "unicodedata",
)  # fmt: skip
