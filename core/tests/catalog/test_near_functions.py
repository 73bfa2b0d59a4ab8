"""Which functions are meant by a name that none has."""

from __future__ import annotations

import pytest
from doorward.calls.function_lookup import names_near
from doorward.catalog.memory_catalog import MemoryCatalog
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
