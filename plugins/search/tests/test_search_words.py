"""Search finds by meaning as well as by word, in any catalog, whatever is asked and whatever a document says of
itself."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from doorward import Compiled, Function
from doorward.searching import split_words, stem
from doorward_search.question import read
from hypothesis import given, settings
from hypothesis import strategies as st

from .conftest import Searched, function, stored


def found(catalog: Searched, query: str, *servers: str, **asked: object) -> list[str]:
    return [f.name for f in catalog.search(query, servers=servers or ("s",), **asked)[0]]  # type: ignore[arg-type]


SHOP = (
    function("get_charges", "Returns a list of charges", route="GET /v1/charges", read_only=True),
    function("get_charges_charge", "Retrieves a charge", route="GET /v1/charges/{charge}", read_only=True),
    function("post_charges", "Creates a charge", route="POST /v1/charges"),
    function("post_charges_charge", "Updates a charge", route="POST /v1/charges/{charge}"),
    function(
        "post_charges_charge_refund", "Creates a refund", route="POST /v1/charges/{charge}/refund", tags=("Money back",)
    ),
    function(
        "delete_customers_customer", "Deletes a customer", route="DELETE /v1/customers/{customer}", tags=("people",)
    ),
    function(
        "get_customers", "Returns a list of your customers", route="GET /v1/customers", read_only=True, tags=("people",)
    ),
    function("connect_pod_portforward", "Connects to portforward of Pod", route="POST /pods/{name}/portforward"),
)


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("list charges", "get_charges"),
        ("change a charge", "post_charges_charge"),
        ("make a charge", "post_charges"),
        ("give the money back", "post_charges_charge_refund"),
        ("erase a buyer", "delete_customers_customer"),
        ("show me all clients", "get_customers"),
        ("delete custmoer", "delete_customers_customer"),
        ("forward a port to a pod", "connect_pod_portforward"),
        ("port forward", "connect_pod_portforward"),
        ("getCharges", "get_charges"),
    ],
)
def test_finds_what_is_meant(tmp_path: Path, query: str, first: str) -> None:
    """Synonyms, verbs against methods and paths, words that names write together, slips of the finger. CONTRACT:
    DIS-12."""
    assert found(stored(tmp_path, *SHOP), query)[0] == first


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("tag:people", ["delete_customers_customer", "get_customers"]),
        ("customer tag:people", ["delete_customers_customer", "get_customers"]),
        ("charge tag:people", []),
        ('tag:"money back"', ["post_charges_charge_refund"]),
        ("tag:money-back refund", ["post_charges_charge_refund"]),
        ("tag:peo*", ["delete_customers_customer", "get_customers"]),
        ("tag:peo", []),
        ("tag:people tag:money*", []),
        ('tag:" OR facts"', []),
    ],
)
def test_tags_filter(tmp_path: Path, query: str, names: list[str]) -> None:
    """`tag:NAME` in the query, as patterns write it, leaves what has the tag; the total agrees."""
    catalog = stored(tmp_path, *SHOP)
    functions, total = catalog.search(query, servers=["s"])
    assert sorted(f.name for f in functions) == names
    assert total == len(names)


def test_a_verb_alone_asks_for_what_does_it(tmp_path: Path) -> None:
    """`list` finds what reads, `delete` what deletes, whatever they are called."""
    catalog = stored(tmp_path, function("say_hello", read_only=True), function("bye", route="DELETE /greeting"))
    assert found(catalog, "list") == ["say_hello"]
    assert found(catalog, "remove") == ["bye"]
    assert found(catalog, "create") == []


def test_filters_leave_what_fits_them(tmp_path: Path) -> None:
    """Servers and read-only, with words and without, alone and together."""
    catalog = stored(tmp_path, *SHOP, function("get_charges", "Returns a list of charges", "other", read_only=True))
    assert found(catalog, "charge", "other") == ["get_charges"]
    assert {f.server for f in catalog.search("charge", servers=["s"])[0]} == {"s"}
    assert all(f.read_only for f in catalog.search("charge", servers=["s", "other"], read_only=True)[0])
    assert catalog.search("", servers=["other"])[1] == 1
    assert catalog.search("", servers=["s", "other"], read_only=False)[1] == sum(not f.read_only for f in SHOP)
    assert catalog.search("charge", servers=["nobody"]) == catalog.search("", servers=[]) == ([], 0)


def test_a_server_that_is_named_comes_first(tmp_path: Path) -> None:
    """`… in jira` prefers jira, and asks for nothing called jira."""
    catalog = stored(
        tmp_path,
        function("create_issue", "Creates an issue", "github"),
        function("create_issue", "Creates an issue", "jira"),
    )
    for server in ("jira", "github"):
        assert catalog.search(f"open a ticket in {server}", servers=["github", "jira"])[0][0].server == server


def test_pages_hold_everything_once(tmp_path: Path) -> None:
    """Paging goes on behind what was looked at closely, without gaps or repetitions, and agrees with the total."""
    catalog = stored(
        tmp_path, *(function(f"list_things_{i}", "Lists things", description="common") for i in range(300))
    )
    pages = [catalog.search("things", servers=["s"], limit=50, offset=at) for at in range(0, 350, 50)]
    names = [f.name for page, _ in pages for f in page]
    assert {total for _, total in pages} == {300}
    assert len(names) == len(set(names)) == 300


def test_repeating_gains_nothing(tmp_path: Path) -> None:
    """A document that says a word a thousand times, or every word there is, does not come before the one that is
    meant."""
    spam = "create customer invoice payment delete list issue message file search user " * 5_000
    customers: dict[str, object] = {f"customer_{i}": {} for i in range(500)}
    catalog = stored(
        tmp_path,
        function("spam", spam[:500], description=spam, tags=tuple(spam.split()[:500]), parameters={"properties": customers}),
        function("create_customer", "Creates a customer", route="POST /customers"),
        function("list_issues", "Lists issues", route="GET /issues", read_only=True),
    )  # fmt: skip
    assert found(catalog, "create a customer")[0] == "create_customer"
    assert found(catalog, "show the issues")[0] == "list_issues"


@pytest.mark.slow
@pytest.mark.parametrize(
    "query",
    [
        "word " * 200_000, "x" * 1_000_000, '"' * 1_000_000, "tag:" * 250_000, "é" * 500_000, "NEAR(" * 1000, "issue AND NOT charge",
        "a", "*", "^charge", "charge*", "facts:reads", "facts : kind_list", "server_73", "\ud800", "\0charge", "tag:*",
        'tag:"', "tag:\U0001f40d", "支払い", "ΣΊΣΥΦΟΣ", "ﬁle", "İ",
    ],
)  # fmt: skip
def test_any_query_is_answered_soon(tmp_path: Path, query: str) -> None:
    """Operators, quotes, a megabyte: all are words, and bounded."""
    catalog = stored(tmp_path, *SHOP)
    began = time.process_time()
    functions, total = catalog.search(query, servers=["s"])
    assert time.process_time() - began < 5  # a bound of its kind, not a measure: unbounded, these take minutes
    assert len(functions) <= total <= len(SHOP)


@pytest.mark.slow
@settings(deadline=None)
@given(query=st.text(max_size=60) | st.text(alphabet='aeis tag:"*()^-+{}', max_size=40))
def test_searching_never_fails(tmp_path_factory: pytest.TempPathFactory, query: str) -> None:
    """Whatever the text, there is an answer, and it is the same twice."""
    catalog = Searched(tmp_path_factory.getbasetemp() / "property.db")
    if not catalog.reports():
        catalog.store("s", Compiled(SHOP), fingerprint="", settings="", ms=0)
    try:
        assert catalog.search(query, servers=["s"]) == catalog.search(query, servers=["s"])
    finally:
        catalog.close()


@pytest.mark.slow
@settings(deadline=None)
@given(
    name=st.text(max_size=30), text=st.text(max_size=200), tags=st.lists(st.text(max_size=20), max_size=4), route=st.text(max_size=60)
)  # fmt: skip
def test_any_document_can_be_stored_and_listed(
    tmp_path_factory: pytest.TempPathFactory, name: str, text: str, tags: list[str], route: str
) -> None:
    """No name, text, tag or path breaks the index, and the next compile takes its place."""
    catalog = Searched(tmp_path_factory.getbasetemp() / "documents.db")
    hostile = Function(
        "s", "f", name, text, text, {"properties": {name: {"description": text}}}, tags=tuple(tags), route=route
    )
    try:
        catalog.store("s", Compiled([hostile]), fingerprint="", settings="", ms=0)
        assert catalog.search("", servers=["s"])[1] == 1
        assert [f.name for f in catalog.search("f", servers=["s"])[0]] == ["f"]
    finally:
        catalog.close()


def test_a_compile_is_found_by_who_had_the_catalog_open(tmp_path: Path) -> None:
    """What is known of words belongs to the compile: after another one, new words are found and old ones are gone."""
    catalog = stored(tmp_path, function("list_cats", "Lists cats"))
    assert found(catalog, "cats") == ["list_cats"]
    with_dogs = stored(tmp_path, function("list_dogs", "Lists dogs"))
    with_dogs.close()
    assert catalog.refresh()
    assert found(catalog, "dogs") == ["list_dogs"]
    assert found(catalog, "cats") == []


def test_what_is_scrubbed_is_not_found(tmp_path: Path) -> None:
    """A secret in a document is neither stored nor searched, not even in pieces."""
    catalog = Searched(tmp_path / "catalog.db")
    secret = function("f", "Use sk-alpha-bravo", description="sk-alpha-bravo", tags=("sk-alpha-bravo",))
    catalog.store(
        "s",
        Compiled([secret]),
        fingerprint="",
        settings="",
        ms=0,
        scrub=lambda text: text.replace("sk-alpha-bravo", "[secret]"),
    )
    assert catalog.search("bravo", servers=["s"]) == ([], 0)
    catalog.close()
    assert b"bravo" not in (tmp_path / "catalog.db").read_bytes()


@pytest.mark.parametrize(
    "words",
    [
        "deployment deployments deploy deployed deploying",
        "policy policies",
        "status statuses",
        "notify notified",
        "cancel cancelling cancelled cancels",
        "note notes noted noting",
        "file files filing",
        "set sets setting",
        "install installed installs",
        "create creating",
        "queue queues queued",
    ],
)
def test_endings_do_not_matter(words: str) -> None:
    """Forms of a word are one word."""
    assert len({stem(word) for word in words.split()}) == 1


@pytest.mark.parametrize(
    "words",
    ["custom customer", "organ organization", "pay paid payment", "user use", "note not", "care car", "state stats"],
)
def test_other_words_stay_apart(words: str) -> None:
    """What only looks alike is not."""
    assert len({stem(word) for word in words.split()}) == len(words.split())


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("issuesListForRepo", "issues list for repo"),
        ("/repos/{owner}/pull-requests", "repos owner pull requests"),
        ("getHTTPResponseV2", "get http response v2"),
        ("listPRs", "list prs"),
        ("zahlung_Überprüfen", "zahlung überprüfen"),
    ],
)
def test_names_are_split(name: str, words: str) -> None:
    """camelCase, signs and abbreviations."""
    assert split_words(name) == words.split()


def test_a_question_without_words_asks_for_everything() -> None:
    """Tags alone are no words; filler alone is."""
    assert not read("tag:pulls").concepts
    assert not read(" ?!").concepts
    assert read("the").concepts


def test_the_name_of_a_server_is_a_word_as_well(tmp_path: Path) -> None:
    """Who asks for files finds functions of files, though a server is called so; others are found by that word, too."""
    files = [
        function("write_file", "Create or overwrite a file with new content", server="files"),
        function("get_file_info", "Size and times of a file", server="files"),
        function("list_directory", "What is in a folder", server="files"),
    ]
    dns = [
        function(f"zone_{i}", "Records", server="dns", description="uploads", route=f"PUT /zones/{i}") for i in range(3)
    ]
    shop = [function("attach_file", "Add a file to an order", server="shop", route="POST /orders/{id}/files")]
    catalog = stored(tmp_path, *files, *dns, *shop)
    servers = ("files", "dns", "shop")
    for asked in ("upload a file", "biggest files", "files"):
        names = found(catalog, asked, *servers)
        assert names[0] in ("write_file", "get_file_info", "attach_file")
        assert {"write_file", "get_file_info", "attach_file"} <= {*names}
    assert "write_file" in found(catalog, "biggest files", "files")


def test_a_server_is_found_by_its_name_alone(tmp_path: Path) -> None:
    """Who names a server, and besides it nothing that anybody knows, is shown what the server has; nobody else's
    functions."""
    catalog = stored(tmp_path, function("list_directory", "What is in a folder", server="files"), *SHOP)
    assert found(catalog, "biggest files", "files", "s") == found(catalog, "files", "files", "s") == ["list_directory"]
    assert found(catalog, "biggest", "files", "s") == []
