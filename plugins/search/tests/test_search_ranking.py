"""What holds of the ranking whatever is asked of whatever functions."""

from __future__ import annotations

import random
import zlib
from collections.abc import Sequence
from dataclasses import replace

import pytest
from doorward import Function
from doorward.searching import split_words
from doorward_search.document import document
from doorward_search.index import Index
from doorward_search.near_words import MAX_GUESSED
from doorward_search.question import read
from doorward_search.ranking import Ranking
from doorward_search.segment import digest, packed, segment, unpacked
from hypothesis import assume, given
from hypothesis import strategies as st

_WORDS = (
    "user team invoice payment file folder issue comment repository message channel report export "
    "customer order weather forecast city list create delete update find send archive rename latest"
)
WORDS = _WORDS.split()
SENTENCES = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6, unique=True).map(" ".join)
NAMES = st.lists(st.sampled_from(WORDS), min_size=1, max_size=4, unique=True).map("_".join)


@st.composite
def functions(draw: st.DrawFn) -> list[Function]:
    """Some servers of some functions, with names that are unique in their server."""
    found = []
    for server in draw(
        st.lists(st.sampled_from(["alpha", "beta", "gamma", "files"]), min_size=1, max_size=3, unique=True)
    ):
        for name in draw(st.lists(NAMES, min_size=1, max_size=6, unique=True)):
            route = draw(st.sampled_from(["", "GET /{id}", "POST /things", "DELETE /things/{id}"]))
            found.append(Function(server, name, "", draw(SENTENCES), draw(SENTENCES), route=route))
    return found


def index(every: Sequence[Function]) -> Index:
    servers = dict.fromkeys(function.server for function in every)
    segments = {server: segment([f for f in every if f.server == server]) for server in servers}
    return Index({server: unpacked(packed(each)) or each for server, each in segments.items()}, {})


def asked(of: Index, query: str, most: int = 10) -> list[str]:
    return [".".join(of.qualified(n)) for n in Ranking(of, read(query)).best(most).functions]


def words(text: str) -> int:
    return digest(split_words(text))


_SCORE = Function("sports", "get_team_score", "", "The team's score.")
_GAMES = "Gets a team with its score and the latest of its games, and who played in them at which place."
_LATEST = Function("press", "find_in_archive", "", _GAMES)


@pytest.mark.parametrize(
    ("first", "other", "question"),
    [
        (_LATEST, _SCORE, "latest score of the team"),
        (_SCORE, replace(_LATEST, deprecated=True), "latest score of the team"),
        (_SCORE, _LATEST, "score of the team"),
    ],
    ids=["more words", "more words, but deprecated", "the same words"],
)
def test_who_has_more_of_the_words_comes_first(first: Function, other: Function, question: str) -> None:
    """A name that is explained as a whole does not outweigh a word that only another function has."""
    assert asked(index([first, other]), question)[0] == first.qualified


def test_what_is_called_find_need_not_be_asked_so() -> None:
    """`find_pets` is explained as a whole by a question for pets, as `get_pets` would be."""
    found, other = Function("shop", "find_pets"), Function("shop", "get_pets_report")
    assert asked(index([other, found]), "list all pets")[0] == found.qualified


@pytest.mark.slow
@given(every=functions(), data=st.data())
def test_its_own_name_and_summary_find_it(every: list[Function], data: st.DataObject) -> None:
    """First, unless another one is called by the same words."""
    one = data.draw(st.sampled_from(every))
    for text in (one.name, one.qualified, one.summary):
        others = [f for f in every if f is not one and words(text) in map(words, (f.name, f.qualified, f.summary))]
        first = asked(index(every), text)[0]
        assert first == one.qualified or first in [f.qualified for f in others]


@pytest.mark.slow
@given(every=functions(), query=SENTENCES, seed=st.integers(0, 99))
def test_the_order_of_words_and_servers_does_not_matter(every: list[Function], query: str, seed: int) -> None:
    """What was stored first, and how a question puts its words, are accidents."""
    mixed = random.Random(seed)
    turned = sorted(every, key=lambda f: f.server, reverse=True)
    parts = query.split()
    mixed.shuffle(parts)
    assert asked(index(every), query) == asked(index(turned), " ".join(parts))


def test_of_equals_the_shorter_name_is_first() -> None:
    """The same tool of two servers: that of the server with the plain name, wherever it stands in the alphabet."""
    same = [Function(server, "delete_item", "", "Throw an item away") for server in ("my_shelf", "shelf")]
    assert asked(index(same), "throw away an item") == ["shelf.delete_item", "my_shelf.delete_item"]


@pytest.mark.slow
@given(every=functions(), query=SENTENCES)
def test_a_server_that_shares_no_word_changes_nothing(every: list[Function], query: str) -> None:
    """However many functions it has."""
    apart = [Function("zeta", f"quux_{n}", "", "Quuxes quuxily") for n in range(40)]
    assert asked(index(every), query) == asked(index([*every, *apart]), query)


@pytest.mark.slow
@given(every=functions(), query=SENTENCES)
def test_pages_are_one_list(every: list[Function], query: str) -> None:
    """A longer answer begins with the shorter one."""
    whole = asked(index(every), query, 50)
    assert len(whole) == len(set(whole))
    for most in (1, 3, 10):
        assert asked(index(every), query, most) == whole[:most]


IMPORTS = (
    Function("tracker", "import_file", "", "Import issues from a file", route="POST /imports"),
    Function("tracker", "create_issue", "", "Create an issue", route="POST /issues"),
    Function("tracker", "list_issues", "", "List issues", route="GET /issues", read_only=True),
    Function("dns", "delete_zone", "", "Delete a zone and all attached metadata", route="DELETE /zones/{id}"),
    Function("dns", "get_zone", "", "A zone and its records", route="GET /zones/{id}", read_only=True),
    *(
        Function(f"other{n}", "get_thing", "", "Get a thing", route="GET /things/{id}", read_only=True)
        for n in range(3)
    ),
)


@pytest.mark.parametrize("query", ["upload a file", "upload", "send a file", "attach a document"])
def test_a_file_is_imported(query: str) -> None:
    """A rare word of the same meaning suppresses nothing, and what destroys does not come first."""
    assert asked(index(IMPORTS), query)[0] == "tracker.import_file"


@pytest.mark.slow
@given(every=functions(), query=SENTENCES)
def test_what_deletes_does_not_come_first(every: list[Function], query: str) -> None:
    """Unless the question asks for it, or nothing else has its words."""
    assume("delete" not in query)
    of = index(every)
    first = asked(of, query)[:1]
    destroyers = {f.qualified for f in every if "delete" in document(f).kinds}
    exact = {f.qualified for f in every if words(query) in map(words, (f.name, f.qualified, f.summary))}
    if first and first[0] in destroyers - exact:
        one = next(f for f in every if f.qualified == first[0])
        texts = " ".join([one.server, one.name, one.summary, one.description]).replace("_", " ")
        has = {*query.split()} & {*texts.split()}
        for mild in (f for f in every if f.qualified not in destroyers):
            assert not (has and has <= {*mild.name.split("_")} & {*mild.summary.split()}), (one, mild)


@pytest.mark.slow
@given(every=functions(), word=st.sampled_from(["issue", "message", "file", "customer"]))
def test_a_meaning_never_leads_the_word_itself(every: list[Function], word: str) -> None:
    """Who asks for an issue finds what is called so before all tickets."""
    other = {"issue": "ticket", "message": "mail", "file": "document", "customer": "client"}[word]
    meant = Function("zeta", f"get_{other}", "", f"Get a {other}", route="GET /things", read_only=True)
    found = asked(index([*every, meant]), word, 50)
    has = {f.qualified for f in every if word in [*f.name.split("_"), *f.summary.split(), f.server]}
    assert has.isdisjoint(found[found.index(meant.qualified) :] if has and meant.qualified in found else [])


def test_of_a_long_question_the_words_count() -> None:
    """Who has more of them comes before who is called `find`, which a short question asks for."""
    of = index(
        [
            Function("facts", "find_publication_year", "", "Find the year in which a book was published"),
            Function(
                "facts",
                "get_figures",
                "",
                "Figures of a country",
                "How many people, and veterans among them, there were in the United States in a year",
            ),
            Function("facts", "find_state", "", "Find a state by its name"),
            Function("facts", "list_books", "", "List books of an author"),
        ]
    )
    assert asked(of, "How many veterans were there in the United States in the year 1954?")[0] == "facts.get_figures"
    assert asked(of, "find the state Utah")[0] == "facts.find_state"


def test_a_proper_name_asks_for_a_search() -> None:
    """Who has only a name cannot call what needs an id."""
    of = index([
        Function("films", "get_person", "", "A person in films", route="GET /person/{id}", read_only=True),
        Function("films", "search_person", "", "Persons in all films", route="GET /search/person", read_only=True),
    ])  # fmt: skip
    assert asked(of, "the person Sofia Coppola")[0] == "films.search_person"
    assert asked(of, "the person in films")[0] == "films.get_person"
    assert [read(text).names for text in ("List Issues", "who is 'Radiohead'", "don't do what I can't")] == [
        False,
        True,
        False,
    ]


def test_only_a_name_begins_with_a_search() -> None:
    """Where no function has any word of the question, but it calls something by a name."""
    of = index([
        Function("films", "get_person", "", "A person", route="GET /person/{id}", read_only=True),
        Function("films", "find_person", "", "Persons", route="GET /search/person", read_only=True),
    ])  # fmt: skip
    assert asked(of, "how wealthy is Tilda Swinton") == ["films.find_person"]
    assert asked(of, "how wealthy is tilda swinton") == []


def test_a_word_that_only_other_servers_have_is_near_another() -> None:
    """What they know says nothing of what this one means."""
    of = index([
        Function("slack", "add_reminders", "", "Add reminders"),
        Function("other", "remind", "", "Remind somebody"),
    ])  # fmt: skip
    among = of.server_of == of.servers.index("slack")
    found = Ranking(of, read("remind me"), among).best(10).functions
    assert [of.names[n] for n in found] == ["add_reminders"]


def test_of_several_things_there_is_a_list() -> None:
    """No verb says what is wanted, but the plural does."""
    of = index([
        Function("ai", "get_model", "", "A model", route="GET /models/{id}", read_only=True),
        Function("ai", "list_models", "", "All models", route="GET /models", read_only=True),
    ])  # fmt: skip
    assert asked(of, "which models are there")[0] == "ai.list_models"


def test_words_of_the_same_checksum_are_not_the_question() -> None:
    """The words of a name were once told apart by a CRC, for which anyone finds others in a second."""
    assert zlib.crc32(b"evil fmlmoafw") == zlib.crc32(b"issues list")
    functions = [Function("s", "evil_fmlmoafw"), Function("s", "list_issues")]
    made = unpacked(packed(segment(functions)))
    assert made is not None
    index = Index({"s": made}, {})
    assert [index.names[n] for n in Ranking(index, read("list issues")).best(10).functions] == ["list_issues"]


def test_few_unknown_words_of_a_question_are_guessed() -> None:
    """To guess one takes as long as to rank by ten."""
    index = Index({"s": segment([Function("s", f"thing{chr(97 + n)}llows") for n in range(20)])}, {})
    typos = " ".join(f"thing{chr(97 + n)}llowz" for n in range(20))
    guessed = [each for each in Ranking(index, read(typos)).concepts if len(each.phrases) > 1]
    assert len(guessed) == MAX_GUESSED
    assert Ranking(index, read(" ".join(reversed(typos.split())))).concepts == Ranking(index, read(typos)).concepts
