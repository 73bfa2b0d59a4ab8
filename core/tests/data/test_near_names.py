"""What is meant by a name that none has."""

from __future__ import annotations

import time

import pytest
from doorward.data.words import nearest

NAMES = ["issues_create", "issues_list_for_repo", "git_get_ref", "repos_get", "search_repos", "patch_zone"]


@pytest.mark.parametrize("asked", ["", "_", "zzz", "s", "é", "\0", "." * 50])
def test_what_is_like_nothing_has_no_near_name(asked: str) -> None:
    """Rather none than any."""
    assert nearest(asked, NAMES) == []


@pytest.mark.slow
def test_long_names_take_no_time() -> None:
    """A name of a program's own making is compared by its beginning."""
    started = time.process_time()
    nearest("create_" * 300, [f"create_{i}_" + "create_" * 300 for i in range(300)])
    assert time.process_time() - started < 5  # a bound of its kind: whole names take minutes
