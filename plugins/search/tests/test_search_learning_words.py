"""What earlier use adds to a ranking, and what it cannot do."""

from __future__ import annotations

import numpy as np
import pytest
from doorward import Function
from doorward_search.index import Index
from doorward_search.learning.known import Known
from doorward_search.learning.lessons import HALF_LIFE_SECONDS, WORD, Amount, Lesson
from doorward_search.learning.words import MAX_BONUS, Learned, bonus, credits, shares
from doorward_search.question import read
from doorward_search.ranking import Ranking
from doorward_search.segment import segment

NOW = 1_800_000_000.0
FUNCTIONS = [
    Function("s", name, name, summary)
    for name, summary in (
        ("customer_orders", "Orders of a customer"),
        ("customer_invoices", "Invoices of a customer"),
        ("customer_notes", "Notes on a customer"),
        ("delete_customer", "Delete a customer with orders"),
        ("weather", "The weather of a place"),
    )
]
INDEX = Index({"s": segment(FUNCTIONS)}, {})


def learned(*given: tuple[str, str, float]) -> Learned:
    return Learned(INDEX, Known([(Lesson(WORD, word, f"s.{f}"), Amount(n, NOW)) for word, f, n in given], NOW))


def added(of: Learned, question: str, now: float = NOW) -> dict[str, float]:
    found = bonus(of, read(question), now)
    return {} if found is None else {INDEX.names[n]: float(found[n]) for n in np.flatnonzero(found)}


def test_shares_are_of_words_that_the_catalog_has() -> None:
    """Rare words have more of it; whatever else a question says is not even looked at."""
    found = shares(INDEX, read("invoices of customer Mustermann, number 4711-secret"))
    assert set(found) == {"invoic", "customer"}
    assert sum(found.values()) == pytest.approx(1)
    assert found["invoic"] > found["customer"]
    assert shares(INDEX, read("Mustermann")) == {}
    few, many = credits({"a": 1.0}), credits(dict.fromkeys(map(str, range(20)), 0.05))
    assert few == {"a": 1.0}
    assert max(many.values()) < 0.5


def test_it_grows_and_fades_and_has_an_end() -> None:
    """Half of it after some uses; never more than its most; next to nothing after a year."""
    gains = [added(learned(("invoic", "customer_notes", n)), "invoices")["customer_notes"] for n in (1, 3, 9, 1e6)]
    assert gains == sorted(gains)
    assert gains[1] == pytest.approx(MAX_BONUS / 2)
    assert gains[-1] == pytest.approx(MAX_BONUS)
    later = added(learned(("invoic", "customer_notes", 9)), "invoices", NOW + 12 * HALF_LIFE_SECONDS)
    assert later["customer_notes"] < 0.001


def test_a_common_word_alone_gains_little() -> None:
    """Of what a whole question gains, a word that many functions have gets a small part."""
    of = learned(("invoic", "customer_notes", 5), ("customer", "customer_notes", 5))
    whole, one = added(of, "invoices of a customer"), added(of, "orders of a customer")
    assert one["customer_notes"] < whole["customer_notes"] / 4
    assert added(of, "weather") == {}


def test_what_deletes_is_raised_for_who_asks() -> None:
    """And for nobody else."""
    of = learned(("order", "delete_customer", 50), ("customer", "delete_customer", 50))
    assert "delete_customer" not in added(of, "orders of a customer")
    assert added(of, "delete a customer with orders")["delete_customer"] > 0


def test_functions_that_are_gone_do_not_count() -> None:
    """Nor those of a server that is gone."""
    of = learned(("order", "gone", 5), ("order", "customer_orders", 5))
    of.known.add(Lesson(WORD, "order", "gone.too"), Amount(5, NOW))
    assert set(added(of, "orders")) == {"customer_orders"}


def test_a_lesson_counts_at_once() -> None:
    """Also for words that were looked up before."""
    of = learned(("order", "customer_orders", 1))
    before = added(of, "orders")["customer_orders"]
    of.known.add(Lesson(WORD, "order", "s.customer_orders"), Amount(5, NOW))
    assert added(of, "orders")["customer_orders"] > before


def test_use_finds_nothing_that_words_do_not_find() -> None:
    """It orders what is found, of those that may be found; who names a function finds that first all the same."""
    of = learned(("order", "weather", 99), ("order", "customer_notes", 99), ("order", "delete_customer", 99))
    question = read("orders")
    more = bonus(of, question, NOW)
    plain, with_use = Ranking(INDEX, question).best(10), Ranking(INDEX, question, learned=more).best(10)
    assert sorted(plain.functions) == sorted(with_use.functions)
    among = np.array([name != "customer_orders" for name in INDEX.names])
    assert "customer_orders" not in {
        INDEX.names[n] for n in Ranking(INDEX, question, among, learned=more).best(10).functions
    }
    own = read("customer orders")
    of = learned(("order", "delete_customer", 99), ("customer", "customer_notes", 99))
    assert INDEX.names[Ranking(INDEX, own, learned=bonus(of, own, NOW)).best(10).functions[0]] == "customer_orders"
