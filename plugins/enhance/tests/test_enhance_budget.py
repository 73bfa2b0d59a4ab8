"""Money is there before anybody is asked, also for those who are asked at the same time."""

from __future__ import annotations

from doorward_enhance.budget import MAX_FAILURES_IN_A_ROW, Budget


def test_those_under_way_count_like_the_dearest() -> None:
    """So that all of them together stay within the budget if none is dearer than those before."""
    budget = Budget(1.0)
    assert budget.admit()
    budget.paid(0.25)
    assert [budget.admit() for _ in range(4)] == [True, True, True, False]
    budget.paid(0.05)
    assert budget.admit() is False
    budget.paid(0.05)
    assert budget.admit()
    assert budget.spent == 0.35
    assert budget.why_over == "the budget of 1 USD is spent"


def test_what_did_not_come_may_have_cost_something() -> None:
    """A timeout counts like the dearest answer; what costs nothing is asked without end."""
    budget = Budget(1.0)
    for settle in (lambda: budget.paid(0.4), budget.lost):
        assert budget.admit()
        settle()
    assert (budget.spent, budget.admit()) == (0.8, False)
    free = Budget(0.01)
    for _ in range(100):
        assert free.admit()
        free.paid(0.0)


def test_failures_count_only_in_a_row() -> None:
    """One answer of use among them, and it goes on."""
    budget = Budget(None)
    for useful in [*[False] * (MAX_FAILURES_IN_A_ROW - 1), True, *[False] * (MAX_FAILURES_IN_A_ROW - 1)]:
        assert budget.admit()
        budget.paid(None)
        budget.judged(useful)
    assert (budget.admit(), budget.why_over) == (True, "")
    budget.judged(False)
    assert budget.admit() is False
