"""Long lists in pages. A cursor says where the next one begins."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import TypeVar

from doorward.model.errors import InvalidArguments

T = TypeVar("T")


def cursor_at(offset: int) -> str:
    """The cursor of the page that begins there."""
    return base64.urlsafe_b64encode(str(offset).encode()).decode()


def offset_of(cursor: str | None) -> int:
    """Where a page begins; without a cursor it is the first. Raises: InvalidArguments for a cursor that is none."""
    if not cursor:
        return 0
    try:
        return min(2**31, max(0, int(base64.urlsafe_b64decode(cursor))))
    except ValueError:
        raise InvalidArguments(
            "the cursor is none of ours", hint="Give the cursor of the answer before, or none."
        ) from None


def page(whole: Sequence[T], limit: int | None, cursor: str | None) -> tuple[Sequence[T], str]:
    """At most `limit` parts of a list, and the cursor of the next page; empty if there is none. Raises:
    InvalidArguments."""
    start = offset_of(cursor)
    end = len(whole) if limit is None else start + limit
    return whole[start:end], cursor_at(end) if end < len(whole) else ""
