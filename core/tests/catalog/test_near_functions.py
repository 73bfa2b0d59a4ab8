"""Which functions are meant by a name that none has."""

from __future__ import annotations

import time

import pytest
from doorward.catalog.memory_catalog import MemoryCatalog
from doorward.catalog.near_functions import names_near, told_near
from doorward.catalog.plain_search import PlainSearch

from ..conftest import function, stored

NAMES = [
    "issues_create",
    "issues_list",
    "issues_update",
    "issues_list_for_repo",
    "orgs_create_issue_type",
    "git_create_ref",
    "git_get_ref",
    "repos_get",
    "search_repos",
    "read_deployment_by_name_deployments_name_flow_name_deployment_name_get",
    "read_deployment_deployments_id_get",
    "patch_zone",
    "delete_zone",
]


@pytest.mark.parametrize(
    ("asked", "first"),
    [
        ("create_issue", "issues_create"),
        ("list_issues", "issues_list"),
        ("get_repo", "repos_get"),
        ("getRepo", "repos_get"),
        ("isues_create", "issues_create"),
        ("issues_upd", "issues_update"),
        ("read_deployment_by_name", "read_deployment_by_name_deployments_name_flow_name_deployment_name_get"),
    ],
)
def test_words_count_in_any_order(asked: str, first: str) -> None:
    """The nearest function has the words of the name, all of it, whatever order and form they have there."""
    catalog = stored(MemoryCatalog(), *[function(name, name.replace("_", " ")) for name in NAMES])
    assert names_near(catalog, PlainSearch(catalog), f"s.{asked}", ["s"])[0] == f"s.{first}"
    assert names_near(catalog, PlainSearch(catalog), f"other.{asked}", ["s"])[0] == f"s.{first}"


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
