"""Steps that a question does not name: whoever gives what the best functions need is found behind them."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from doorward import Function
from doorward_search.graph.producers import Edge
from doorward_search.index import Index
from doorward_search.question import read
from doorward_search.ranking import Ranking
from doorward_search.segment import segment
from doorward_search.steps import Steps

FILMS = [
    Function("kino", "movie_credits", "", "The movies that a person directed", read_only=True),
    Function("kino", "search_person", "", "Search for people", read_only=True),
    Function("kino", "popular_person", "", "Who is popular", read_only=True),
    Function("kino", "genres", "", "All genres", read_only=True),
]
EDGES = {
    "movie_credits": [
        Edge("movie_credits", "person_id", "search_person", "id", 0.72),
        Edge("movie_credits", "person_id", "popular_person", "id", 0.6),
        Edge("movie_credits", "locale", "genres", "name", 0.45),
    ]
}
INDEX = Index({"kino": segment(FILMS)}, {})


def needs(server: str, name: str) -> Iterable[Edge]:
    return EDGES.get(name, []) if server == "kino" else []


STEPS = Steps(INDEX, needs)


def asked(query: str, steps: Steps | None = STEPS, among: list[str] | None = None) -> list[str]:
    mask = None if among is None else np.isin(np.array(INDEX.names, object), among)
    return [INDEX.names[n] for n in Ranking(INDEX, read(query), mask, steps).best(10).functions]


def test_the_producer_comes_behind() -> None:
    """No word names it. What is not likely does not come along."""
    assert asked("movies directed by varda", None) == ["movie_credits"]
    assert asked("movies directed by varda") == ["movie_credits", "search_person"]


def test_of_several_the_one_that_fits() -> None:
    """The question may name whom to ask."""
    assert asked("movies that the most popular person directed")[:2] == ["movie_credits", "popular_person"]


def test_only_what_is_searched() -> None:
    """Policy, server and tags hold for producers, too."""
    assert asked("movies directed by varda", among=["movie_credits", "genres"]) == ["movie_credits"]
    assert asked("movies directed by varda", among=["movie_credits", "popular_person"])[1] == "popular_person"


def test_what_is_told_of_an_argument() -> None:
    """The one that fits the question, then the surest; and none that nobody may call."""
    credits = INDEX.names.index("movie_credits")
    found = Ranking(INDEX, read("movies that the most popular person directed"), None, STEPS).best(10)
    assert STEPS.told(credits, found.worth, None) == {"person_id": ["popular_person", "search_person"]}
    assert STEPS.told(credits, np.zeros(INDEX.size), None) == {"person_id": ["search_person", "popular_person"]}
    only = np.isin(np.array(INDEX.names, object), ["movie_credits", "popular_person"])
    assert STEPS.told(credits, found.worth, only) == {"person_id": ["popular_person"]}


def test_an_edge_to_nowhere() -> None:
    """The graph of a compile may name what another compile has removed."""
    gone = Steps(INDEX, lambda server, name: [Edge(name, "id", "removed", "id", 0.9)])
    assert asked("movies directed by varda", gone) == ["movie_credits"]
