"""Splits long lists into pages. A cursor says where the next page begins."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import TypeVar

from doorward.model.errors import InvalidArguments

T = TypeVar("T")


def cursor_at(offset: int) -> str:
    """The cursor of the page that begins at an offset."""
    return base64.urlsafe_b64encode(str(offset).encode()).decode()


def offset_of(cursor: str | None) -> int:
    """The offset of a page; the first page has no cursor. Raises: InvalidArguments if this is not a cursor."""
    if not cursor:
        return 0
    try:
        return min(2**31, max(0, int(base64.urlsafe_b64decode(cursor))))
    except ValueError:
        raise InvalidArguments(
            "the cursor is none of ours", hint="Give the cursor of the answer before, or none."
        ) from None


def page(whole: Sequence[T], limit: int | None, cursor: str | None) -> tuple[Sequence[T], str]:
    """At most `limit` items of a list, and the cursor of the next page, which is empty if there is none.

    Raises: InvalidArguments.
    """
    start = offset_of(cursor)
    end = len(whole) if limit is None else start + limit
    return whole[start:end], cursor_at(end) if end < len(whole) else ""
