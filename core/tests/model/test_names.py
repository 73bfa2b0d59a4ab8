"""What upstreams call things, as Python names."""

from __future__ import annotations

import keyword
import time
from random import Random

import pytest
from doorward.model.names import (
    Named,
    brief_names,
    is_plain,
    kept_names,
    other_names,
    python_name,
    qualified,
    some,
    unique_names,
)
from hypothesis import given
from hypothesis import strategies as st

IDS = st.one_of(
    st.text(),
    st.sampled_from(["a-b", "a_b", "a b", "aB", "a.b", "class", "", "1", "é", "日本", "\ud800", "print", "__debug__"]),
)


@pytest.mark.parametrize(
    ("upstream", "expected"),
    [
        ("getForecast", "get_forecast"),
        ("repos/list-tags", "repos_list_tags"),
        ("HTTPServerList", "http_server_list"),
        ("listLROs", "list_lros"),
        ("GetURLsByIDs", "get_urls_by_ids"),
        ("startVMs-now", "start_vms_now"),
        ("DBSession", "db_session"),
        ("getV2User", "get_v2_user"),
        ("class", "class_"),
        ("print", "print_"),
        ("type", "type"),
        ("2fa", "_2fa"),
        ("Größe", "groe"),
        ("café-menu", "cafe_menu"),
        ("", "unnamed"),
    ],
)
def test_python_name(upstream: str, expected: str) -> None:
    """CONTRACT: SRC-11: camelCase ids and paths become snake_case names, by one rule that can be guessed."""
    assert python_name(upstream) == expected


def made(*functions: tuple[str, str]) -> list[Named]:
    names = unique_names(id for id, _ in functions)
    return [Named(names[id], id, route) for id, route in functions]


@pytest.mark.parametrize(
    ("id", "route", "expected"),
    [
        ("read_user_users__user_id__get", "GET /users/{user_id}", "read_user"),
        ("Read-Log_logs__the_path_path__get", "GET /logs/{the_path:path}", "read_log"),
        ("root__get", "GET /", "root"),
        ("health_health_get", "GET /health", "health"),
        ("create_items__post", "POST /items/", "create_items"),  # `create` says not what
        ("get_users__id__get", "GET /users/{id}", "get_users_id"),
        ("_users_get", "GET /users", "get_users"),  # nothing but path and method
        ("usersIdGet", "GET /users/{id}", "get_users_id"),
        ("getUsersById", "GET /users/{id}", "get_users_by_id"),
        ("GET /users/{id}", "GET /users/{id}", "get_users_id"),
        ("read_user_users_get", "GET /other", "read_user_users_get"),
        ("read_user_users_post", "GET /users", "read_user_users_post"),
        ("users/get", "GET /users", "users_get"),  # `get` of `users`
        ("日本_users_get", "GET /users", "users_get"),
        ("forget", "", "forget"),
        ("forget", "GET", "forget"),
    ],
)
def test_names_repeat_no_route(id: str, route: str, expected: str) -> None:
    """An id that a framework made of a function's name, path and method is called as that function; CONTRACT:
    SRC-11."""
    functions = made((id, route))
    assert brief_names(functions) == [expected]
    called = [functions[0]._replace(name=expected)]
    assert expected == functions[0].name or functions[0].name in other_names(called)[0]


def test_a_brief_name_is_nobody_elses() -> None:
    """Where several functions would share a brief name, or one has it already, each keeps the long one, in any
    order."""
    same = made(("list_a_a_get", "GET /a"), ("list_a_b_get", "GET /b"), ("list_c_c_get", "GET /c"))
    assert brief_names(same) == ["list_a_a_get", "list_a_b_get", "list_c"]
    assert brief_names(same[::-1]) == ["list_c", "list_a_b_get", "list_a_a_get"]
    assert brief_names(made(("list_a_a_get", "GET /a"), ("listA", "GET /b"))) == ["list_a_a_get", "list_a"]


def test_names_of_earlier_versions_mean_the_same() -> None:
    """What an id was once called is a further name of its function, unless another has it."""
    ids = [Named("other", "read_a_a_get", "GET /b"), Named("read_a", "read-a_a_get", "GET /a")]
    assert other_names(ids) == [(), ()]
    functions = made(
        ("listLROs", "GET /a"), ("read_a_a_get", "GET /a"), ("listURLs", "GET /b"), ("list_ur_ls", "GET /c")
    )
    called = [f._replace(name=name) for f, name in zip(functions, brief_names(functions), strict=True)]
    assert [f.name for f in called] == ["list_lros", "read_a", "list_urls", "list_ur_ls"]
    assert other_names(called) == [("list_lr_os",), ("read_a_a_get",), (), ()]


def test_a_brief_name_is_kept_when_another_comes() -> None:
    """Who has a brief name keeps it, and its long one means it still; who had a long one gets the brief one."""
    alone, both = made(("read_a_a_get", "GET /a")), made(("read_a_a_get", "GET /a"), ("read_a_b_get", "GET /b"))
    brief = [alone[0]._replace(name="read_a")]
    assert kept_names(both, brief) == ["read_a", "read_a_b_get"]
    assert other_names([both[0]._replace(name="read_a"), both[1]]) == [("read_a_a_get",), ()]
    assert kept_names(brief, alone) == ["read_a"]


@pytest.mark.slow
@given(
    st.lists(st.tuples(IDS, st.sampled_from(["GET /a", "POST /a/{b}", "GET /", "", "é"])), max_size=20), st.randoms()
)
def test_brief_names_are_good_names(functions: list[tuple[str, str]], random: Random) -> None:
    """Whatever the ids: names are identifiers, each function's own, the same in any order; no further name means two,
    or hides another."""
    there = made(*dict(functions).items())
    names = brief_names(there)
    assert all(map(is_plain, names))
    assert len(set(names)) == len(names)
    order = random.sample(range(len(there)), len(there))
    assert brief_names([there[i] for i in order]) == [names[i] for i in order]
    called = [f._replace(name=name) for f, name in zip(there, names, strict=True)]
    others = [name for found in other_names(called) for name in found]
    assert len(others) == len({*others} - {*names})
    assert kept_names(called, called) == names


def test_names_without_letters_differ() -> None:
    """Ids with no ASCII letter get a name of their own."""
    assert python_name("日本") != python_name("中国")


@pytest.mark.slow
@given(IDS)
def test_a_name_is_always_an_identifier(text: str) -> None:
    """Whatever an upstream calls something, its name is a plain identifier, no keyword, and the same each time."""
    name = python_name(text)
    assert is_plain(name)
    assert not keyword.iskeyword(name)
    assert name == python_name(text)
    compile(f"def {name}({name}): ...", "name", "exec")


@pytest.mark.slow
@given(IDS)
def test_a_name_is_its_own_name(text: str) -> None:
    """A Python name given as an id stays as it is, so that both forms find the same function."""
    assert python_name(python_name(text)).strip("_") == python_name(text).strip("_")


@pytest.mark.slow
@given(st.lists(IDS, max_size=30), st.randoms())
def test_unique_names_do_not_depend_on_the_order(ids: list[str], random: Random) -> None:
    """Each id has a name of its own, and the same one wherever it stands."""
    names = unique_names(ids)
    assert set(names) == set(ids)
    assert len(set(names.values())) == len(names)
    assert all(map(is_plain, names.values()))
    shuffled = list(ids)
    random.shuffle(shuffled)
    assert unique_names(shuffled) == names


def test_who_has_the_plain_name() -> None:
    """Of ids that share a name, the one that reads so has it, else the shortest; others carry a digest of their own."""
    assert unique_names(["a-b", "aB", "a_b"])["a_b"] == "a_b"
    names = unique_names(["a--b", "aB"])
    assert names["aB"] == "a_b"
    assert names["a--b"].startswith("a_b_")
    assert unique_names(["a--b", "aB", "a.b"])["a--b"] == names["a--b"]


def test_a_made_name_never_takes_a_given_one() -> None:
    """A suffixed name that another id has by nature goes to one of them only."""
    suffixed = unique_names(["a-b", "a_b"])["a-b"]
    names = unique_names(["a-b", suffixed, "a_b"])
    assert names[suffixed] == suffixed
    assert len(set(names.values())) == 3


@pytest.mark.slow
def test_thousands_of_clashes() -> None:
    """Many ids that share a name still get different ones."""
    ids = ["a" + "-" * n for n in range(3000)]
    assert len(set(unique_names(ids).values())) == 3000


@pytest.mark.slow
def test_huge_ids_are_cheap() -> None:
    """An id of a megabyte is cut before anything looks at all of it."""
    started = time.process_time()
    for _ in range(100):
        assert len(python_name("A" * 10**6)) <= 101
    assert time.process_time() - started < 10


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("my-api.get-it", "my_api.get-it"),
        ("mcp__my-api__get_it", "my_api.get_it"),
        ("api-[a-m]-x*", "api_[a-m]_x*"),
        ("a-]b-c", "a-]b_c"),
        ("[a-", "[a_"),
        ("-" * 1_000_000, "_" * 1_000_000),  # a minute and more, once
    ],
)
def test_servers_are_meant_by_configured_names(written: str, meant: str) -> None:
    """Dashes of a server's name are its module's underscores, but in ranges; a long text takes no longer than its
    length."""
    assert qualified(written) == meant


def test_some_names_of_many() -> None:
    """What has room is named, and how many more there are; a long first one is."""
    assert some([]) == "none"
    assert some(["a", "b"]) == "a, b"
    assert some(["abc"] * 100, 20) == "abc, abc, abc, abc and 96 more"
    assert some(["x" * 100, "y"], 5) == "x" * 100 + " and 1 more"
