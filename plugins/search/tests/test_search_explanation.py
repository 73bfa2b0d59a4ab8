"""Why a function was found, in words that the question and the function have."""

from __future__ import annotations

from doorward import Function
from doorward_search.explanation import MAX_REASONS, why
from doorward_search.index import Index
from doorward_search.question import read
from doorward_search.ranking import Ranking
from doorward_search.segment import segment


def test_words_are_told_as_they_are_written() -> None:
    """Nobody writes stems: `companies` as `organization`, not as `organizat`."""
    functions = [
        Function("s", "list_organizations", "", "The organizations of a gallery"),
        Function("s", "organization"),
    ]
    index = Index({"s": segment(functions)}, {})
    reasons = [why(Ranking(index, read("galleries of companies")), number) for number in (0, 1)]
    assert reasons == [
        ["companies as organizations (name, summary)", "galleries (summary)"],
        ["companies as organization (name)"],
    ]


def test_a_long_question_has_few_reasons() -> None:
    words = " ".join(f"w{n}a" for n in range(100))
    index = Index({"s": segment([Function("s", "f", "", words)])}, {})
    assert len(why(Ranking(index, read(words)), 0)) == MAX_REASONS
