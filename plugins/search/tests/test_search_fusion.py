"""The ranking by words and what views say become one ranking, whatever the views say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from doorward import Function
from doorward_search.fusion import MOST_LIKE, Fused, Opinion, alike, fused
from doorward_search.index import Index
from doorward_search.question import read, untagged
from doorward_search.ranking import Ranking
from doorward_search.segment import segment
from hypothesis import given
from hypothesis import strategies as st

from .test_search_ranking import SENTENCES, functions


def index_of(*functions: Function) -> Index:
    by_server: dict[str, list[Function]] = {}
    for function in functions:
        by_server.setdefault(function.server, []).append(function)
    return Index({server: segment(each) for server, each in by_server.items()}, {})


INVOICES = index_of(
    *(Function("billing", f"invoice_{n}", "", f"Invoice number {n}") for n in range(30)),
    Function("cars", "rent", "", "Rent a car"),
    Function("cars", "wash", "", "Wash a car"),
)
RENT, WASH = 30, 31


def opinion(index: Index, **likeness: float) -> Opinion:
    found = np.full(index.size, 0.1, np.float32)
    for name, value in likeness.items():
        found[index.names.index(name)] = value
    return Opinion("view", found)


def test_what_is_nearest_comes_eighth() -> None:
    """Where thirty functions have the word, and this one does not."""
    found = fused(Ranking(INVOICES, read("invoice")), 50, [opinion(INVOICES, rent=0.9)])
    by_words = Ranking(INVOICES, read("invoice")).best(50)
    assert found.ranked.functions.index(RENT) == 7
    assert [n for n in found.ranked.functions if n != RENT] == by_words.functions
    assert found.ranked.total == by_words.total + 1
    assert found.ranked.fits[RENT]
    assert found.like == {"view": [RENT]}


def test_what_both_find_rises() -> None:
    """Above what only has the words as well."""
    by_words = Ranking(INVOICES, read("invoice number")).best(50).functions
    found = fused(Ranking(INVOICES, read("invoice number")), 50, [opinion(INVOICES, invoice_7=0.9, wash=0.8)])
    assert (by_words.index(7), found.ranked.functions.index(7)) == (7, 3)
    assert found.like == {"view": [7, WASH]}


def test_what_is_usual_is_not_alike() -> None:
    """All functions are a little like any question: those count that are much more so."""
    assert alike(INVOICES, opinion(INVOICES), None) == []
    assert alike(INVOICES, opinion(INVOICES, rent=0.9, wash=0.3), None) == [RENT]
    assert alike(INVOICES, Opinion("view", np.full(INVOICES.size, np.nan, np.float32)), None) == []
    assert alike(INVOICES, Opinion("view", np.full(INVOICES.size, -0.5, np.float32)), None) == []
    every = Opinion("view", np.linspace(0, 1, INVOICES.size, dtype=np.float32))
    assert len(alike(INVOICES, every, None)) <= MOST_LIKE
    only = np.zeros(INVOICES.size, bool)
    only[WASH] = True
    assert alike(INVOICES, opinion(INVOICES, rent=0.9, wash=0.8), only) == [WASH]
    assert alike(INVOICES, opinion(INVOICES, rent=0.9), np.zeros(INVOICES.size, bool)) == []


def test_tags_are_no_part_of_a_question() -> None:
    """A view embeds what is asked, and not what narrows it."""
    assert untagged('tag:pulls  umbrella tag:"two words" of a city') == "umbrella of a city"


@st.composite
def asked(draw: st.DrawFn) -> tuple[Index, str, Any, list[Opinion]]:
    index = index_of(*draw(functions()))
    numbers = st.lists(st.floats(-1, 1, width=32), min_size=index.size, max_size=index.size)
    opinions = [Opinion(f"v{n}", np.array(draw(numbers), np.float32)) for n in range(draw(st.integers(1, 3)))]
    among = draw(st.none() | st.lists(st.booleans(), min_size=index.size, max_size=index.size).map(np.array))
    return index, draw(SENTENCES | st.sampled_from(index.names)), among, opinions


@pytest.mark.slow
@given(asked())
def test_what_words_find_is_never_lost(given: tuple[Index, str, Any, list[Opinion]]) -> None:
    """All that the words find is found; their first, and what BM25 has first, are among the first ten; names stay
    first; what a mask leaves out stays out; and a page is a part of the whole."""
    index, text, among, opinions = given
    question = read(text)
    ranking = Ranking(index, question, among)
    words, found = ranking.best(1000), fused(ranking, 1000, opinions)
    assert set(words.functions) <= set(found.ranked.functions)
    assert len(set(found.ranked.functions)) == len(found.ranked.functions) == found.ranked.total
    assert {*words.functions[:1], *ranking.plain_first} <= set(found.ranked.functions[:10])
    itself = [n for n in words.functions if (index.same[n] == question.same).any()]
    assert set(found.ranked.functions[: len(itself)]) == set(itself)
    assert among is None or all(among[n] for n in found.ranked.functions)
    part = fused(Ranking(index, question, among), 3, opinions)
    assert part.ranked.functions == found.ranked.functions[:3]
    assert isinstance(part, Fused)
    assert part.ranked.total == found.ranked.total
