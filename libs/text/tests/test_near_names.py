"""What is told of a name that no function has."""

from __future__ import annotations

import time

import pytest
from doorward_text.near_names import told_near


@pytest.mark.parametrize(
    ("asked", "age", "said"),
    [
        (
            "create_items_piers",
            700,
            "Near: a.create_items_articles. a was compiled 11 minutes ago; an operator compiles again by `",
        ),
        ("create_items_piers", 3, "a was compiled just now;"),
        ("create_items_piers", 90_000, "a was compiled 1 day ago;"),
        ("create_items_piers", 8000, "a was compiled 2 hours ago;"),
        ("create_item_artcles", 700, "Near: a.create_items_articles."),
        ("items_articles", 700, "Near: a.create_items_articles."),
    ],
)
def test_a_name_that_may_be_newer_is_told_so(asked: str, age: float, said: str) -> None:
    """When its server was compiled last, unless the name is only misspelt."""
    told = told_near(["a.create_items_articles"], asked, "a", time.time() - age)
    assert told.startswith(said) or said in told
    assert ("compiled" in told) is ("compiled" in said)
    assert told_near([], asked, "a", 0) == ""
