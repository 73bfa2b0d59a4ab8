"""What a question asks for, and what in it are mere words of people who ask."""

from __future__ import annotations

import pytest
from doorward import Function
from doorward_search.document import document
from doorward_search.question import read

from .test_search_ranking import asked, index


def telling(question: str) -> set[str]:
    """The words that a question is about."""
    return {" ".join(concept.phrase) for concept in read(question).concepts if not concept.plain}


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("I'm at the office and don't know the weather", {"offic", "weather"}),
        ("It doesn’t open, we'd like what's on the menu", {"open", "menu"}),
        ("I would like to rent a car", {"rent", "car"}),
        ("Could you also let me know, or look up and provide, the weather?", {"weather", "look up"}),
        ("rated 4.9 at 1:45 on 2024-05-01 by 1,200 guests", {"rate", "guest"}),
        ("the 3 largest planets", {"largest", "planet"}),
        ("Pay the bill 'dec.txt'", {"pay", "bill", "dec", "txt", "file"}),
        ("what www.dora.com says", {"www", "dora", "com", "say", "url", "webpag"}),
        ("send 20 dollars to Ann, ann@acme.md", {"send", "dollar", "ann", "acm", "md"}),
        ("5000 US dollars in Yen", {"dollar", "yen", "currency"}),
    ],
)
def test_what_a_question_is_about(question: str, words: set[str]) -> None:
    """Not its contractions, its numbers, nor what people say when they ask; but of what kind a value is."""
    assert telling(question) == words


def test_a_question_of_nothing_else_is_still_one() -> None:
    """Who only says what otherwise says nothing is answered by that."""
    assert read("4.9").concepts
    assert read("don't").concepts
    assert read("help me").concepts


def test_a_phrase_is_one_where_its_words_are_together() -> None:
    """In whatever order, but not from one end of a question to the other."""
    assert "find by" in telling("find by name")
    assert "find by" in telling("name by find")
    assert "find by" not in telling("find the three best restaurants in the old town that were reviewed by critics")


def test_a_file_that_a_question_names_is_read() -> None:
    """Beside the wish of whose words the question has more."""
    functions = [
        Function("bank", "pay_bill", "", "Pay a bill"),
        Function("bank", "send_bill", "", "Send a bill to somebody"),
        Function("disk", "read_file", "", "The content of a file"),
        Function("web", "fetch", "", "The content of a webpage"),
    ]
    assert "disk.read_file" in asked(index(functions), "Can you please pay the bill 'december-2023.txt' for me?")
    assert "web.fetch" in asked(index(functions), "Send the bill that is at https://acme.example/b?id=1 to Bob")


def test_letters_of_contractions_are_no_names() -> None:
    """A shop called H&M is not what everybody asks for who is something."""
    shops = [
        Function("h_m", "list_products", "", "List products of H&M"),
        Function("city", "weather", "", "The weather"),
    ]
    assert asked(index(shops), "I'm in Paris, what's the weather?") == ["city.weather"]


def test_who_is_only_called_search_is_not_explained_by_that() -> None:
    """A name of verbs says nothing of what is searched, and what a question says of that counts more."""
    found = asked(
        index([
            Function("shop", "search", "", "Search"),
            Function("notes", "find", "", "Find"),
            Function("films", "find_films", "", "Find films of a director"),
        ]),
        "find films of the director Agnès Varda",
    )  # fmt: skip
    assert found[0] == "films.find_films"


@pytest.mark.parametrize(
    ("summary", "kinds"),
    [
        ("Create a new file or overwrite one", {"create", "write"}),
        ("Creates/modifies/deletes records", {"create", "update", "write"}),
        ("Removes a file", {"delete"}),
        ("Sends mail", {"write"}),
    ],
)
def test_a_summary_says_what_a_function_does(summary: str, kinds: set[str]) -> None:
    """Where its name is no verb that everybody uses: `touch`, `echo`."""
    assert document(Function("s", "touch", "", summary)).kinds == kinds
