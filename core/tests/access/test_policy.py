"""Patterns: which functions `include`, `exclude`, `[policy]` and `functions` mean."""

from __future__ import annotations

from typing import Any

import pytest
from doorward.access.policy import narrowing
from doorward.access.rules import matches, narrowed, selected
from doorward.model.errors import InvalidArguments
from doorward.model.functions import Function

ONE = Function("my_api", "repos_get", "repos/get[1]", route="GET /repos/{owner}/{repo}", tags=("repos", "read"))
ROOT = Function("my_api", "get_repos", "GET /repos", route="GET /repos")
MODEL = Function("ask_me", "ask", "ask", tags=("llm",))
REMOVE = Function("my_api", "repos_delete", "repos/delete", route="DELETE /repos/{owner}/{repo}", tags=("repos",))


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("repos_get", [ONE]),
        ("repos/get[1]", [ONE]),
        ("repos/*", [ONE, REMOVE]),
        ("GET /repos", [ROOT]),
        ("tag:re*", [ONE, REMOVE]),
        ("tag:read", [ONE]),
        ("GET /repos/**", [ONE, ROOT]),
        ("GET /repos/*", []),
        ("GET /repos/*/*", [ONE]),
        ("GET /repos/{owner}/{repo}", [ONE]),
        ("GET /repos/{?????}/**", [ONE]),
        ("GET *", [ONE, ROOT]),
        ("DELETE *", [REMOVE]),
        ("DELETE **", [REMOVE]),
        ("* /repos/**", [ONE, ROOT, REMOVE]),
        ("/repos/**", [ONE, ROOT, REMOVE]),
        ("/repos", [ROOT]),
        ("/**", [ONE, ROOT, REMOVE]),
        ("POST *", []),
        ("*", [ONE, ROOT, REMOVE]),
    ],
)
def test_what_a_pattern_selects(pattern: str, expected: list[Function]) -> None:
    """Names, original ids, tags, methods and paths, each with wildcards. CONTRACT: SRC-05, SRC-11."""
    assert [f for f in (ONE, ROOT, REMOVE) if selected(f, [pattern])] == expected


@pytest.mark.parametrize(
    "pattern", ["my_api.repos_get", "my-api.repos/get[1]", "mcp__my-api__repos_get", "my_api", "my-api.repos/*", "*"]
)
def test_policy_knows_original_ids(pattern: str) -> None:
    """A function is meant by its name and by what its upstream calls it, brackets included. CONTRACT: SRC-11."""
    assert matches(ONE, [pattern])


@pytest.mark.parametrize(
    ("functions", "sampling", "expected"),
    [
        (["my_api.*", "!my-api.repos_get"], None, [ROOT, REMOVE]),
        (["!my_api.repos_*"], None, [ROOT, MODEL]),
        (["tag:read"], None, [ONE]),
        (["!tag:repos"], None, [ROOT, MODEL]),
        (["my_api.get_repos"], True, [ROOT, MODEL]),
        (["*"], False, [ONE, ROOT, REMOVE]),
        (None, False, [ONE, ROOT, REMOVE]),
        (None, True, [ONE, ROOT, REMOVE, MODEL]),
        ([], True, [MODEL]),
        ([], False, []),
        ([], None, []),
    ],
)
def test_a_run_is_narrowed(functions: list[str] | None, sampling: bool | None, expected: list[Function]) -> None:
    """`!` leaves out, `tag:` means a tag, and `sampling` decides of functions that ask a model. CONTRACT: LLM-02,
    SEC-06."""
    patterns = narrowing(functions, sampling)
    assert patterns is not None
    assert [f for f in (ONE, ROOT, REMOVE, MODEL) if narrowed(f, patterns)] == expected


@pytest.mark.parametrize(
    "functions",
    [
        ["*"] * 101,
        ["[a" * 20_000],
        ["a*" * 500_000],
        ["?" * 301],
        [f"{n}*" + "a" * 200 for n in range(30)],
        ["x" * 3000],
        [1],
        [{"a": 1}],
        ["x.y", None],
    ],
)
def test_what_a_caller_narrows_by_is_bounded(functions: list[Any]) -> None:
    """One pattern of 40 KB kept everybody waiting for twenty seconds: what is read as an expression is short."""
    with pytest.raises(InvalidArguments):
        narrowing(functions)


def test_exact_names_may_be_long_and_many() -> None:
    """They are looked up, not read; a single text is one pattern, and no list is everything."""
    names = [f"api.GET /{'x' * 2000}/{n}" for n in range(100)]
    assert narrowing(names) == tuple(names)
    assert narrowing("api.*") == ("api.*",)
    assert (narrowing(None), narrowing([])) == (None, ())
