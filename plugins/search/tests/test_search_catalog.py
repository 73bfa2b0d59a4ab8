"""A stored catalog is searched, whatever is asked, and whoever compiled it."""

from __future__ import annotations

from pathlib import Path

import pytest

from .conftest import function, stored


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("show all issues", "issues_list"),
        ("make a new issue", "issues_create"),
        ("createIssue", "issues_create"),
        ("remove issue", "issues_delete"),
    ],
)
def test_search_knows_other_words(tmp_path: Path, query: str, first: str) -> None:
    """Synonyms, camelCase and plurals find the function. CONTRACT: DIS-12."""
    catalog = stored(
        tmp_path,
        function("issues_list", "List issues"),
        function("issues_create", "Create an issue"),
        function("issues_delete", "Delete an issue"),
        function("pets_list", "List pets"),
    )
    assert catalog.search(query, servers=["s"])[0][0].name == first


@pytest.mark.parametrize(
    "query", ["", '"', "a OR", "NEAR(", "x*", "(", "col:umn", "'; DROP TABLE functions; --", "🐍", "\0"]
)
def test_queries_are_not_syntax(tmp_path: Path, query: str) -> None:
    """Whatever is asked, it is words."""
    catalog = stored(tmp_path, function("f"))
    catalog.search(query, servers=["s"])
    assert catalog.function("s", "f")


def test_pages_and_filters(tmp_path: Path) -> None:
    """Pages do not overlap; read-only filters; an empty query lists everything."""
    catalog = stored(tmp_path, *(function(f"thing_{i}", "A thing", read_only=i % 2 == 0) for i in range(20)))
    first, total = catalog.search("thing", servers=["s"], limit=5)
    second, _ = catalog.search("thing", servers=["s"], limit=5, offset=5)
    assert total == 20
    assert not {f.name for f in first} & {f.name for f in second}
    assert catalog.search("", servers=["s"], read_only=True)[1] == 10
    assert catalog.search("thing", servers=[])[1] == 0


@pytest.mark.parametrize(
    ("asked", "first"),
    [
        ("create_issue", "issues_create"),
        ("get_repo", "repos_get"),
        ("isues_create", "issues_create"),
        ("update_zone", "patch_zone"),
    ],
)
def test_an_unknown_name_means_what_means_the_same(tmp_path: Path, asked: str, first: str) -> None:
    """In whatever order its words are."""
    names = ["issues_create", "issues_list", "repos_get", "search_repos", "patch_zone", "delete_zone"]
    catalog = stored(tmp_path, *[function(name, name.replace("_", " ")) for name in names])
    assert [each.name for each in catalog.engine.near(asked.split("_"), ["s"], 5)][:1] == [first]
