"""Operations that are taken for deletions by convention, though their method says nothing of one: `POST /files/delete`,
`POST /chat.delete`, `deleteUser`, `GET /remove/lock`.

It is a guess, and said to be one. What is wrongly taken for one is asked about once too often.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_VERBS = {"delete", "deletes", "destroy", "erase", "purge", "remove", "removes", "truncate", "wipe"}
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_SAFE = ("HEAD", "OPTIONS", "TRACE", "QUERY", "DELETE")
"""Methods that say themselves what they do. So does GET, but not every API keeps to it (RFC 9110 section 9.2.1)."""


def deletes(method: str, path: str, node: Mapping[str, Any]) -> bool:
    """Whether an operation probably deletes something: the last part of its path, or its operationId, begins or ends
    with a verb that says so, or its summary begins with one. Of a GET, only what a name begins with counts."""
    if method in _SAFE:
        return False
    parts = [part for part in path.partition("?")[0].split("/") if part and "{" not in part]
    summary, operation = (str(node.get(key) or "")[:200] for key in ("summary", "operationId"))
    names = [_WORD.findall(text) for text in (parts[-1] if parts else "", operation)]
    said = [words[0] for words in names if words]
    if method != "GET":
        said += [*(words[-1] for words in names if words), *_WORD.findall(summary)[:1]]
    return not _VERBS.isdisjoint(word.lower() for word in said)
