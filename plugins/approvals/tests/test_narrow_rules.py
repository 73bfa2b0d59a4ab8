"""The rule that "always" proposes and writes: narrow, without credentials, before the one that asks."""

from __future__ import annotations

from typing import Any

import pytest
from doorward.model.calls import Call, File
from doorward.model.functions import Function
from doorward_approvals.narrow_rules import narrow_rule

CLOSE = Function(
    "hub", "close", "close", route="POST /repos/{owner}/{repo-name}/close", names={"repo_name": "repo-name"}
)
PAY = Function("bank", "pay", "pay", route="POST /payments")


ASKING = "[[policy.rules]] 1"


def proposed(function: Function, principal: str = "ann", asking: str = ASKING, **arguments: Any) -> dict[str, Any]:
    return narrow_rule(Call(function, arguments, "r", principal), asking, lambda text: text.replace("k3y", "[secret]"))


def test_the_parts_of_a_path_stay_the_same() -> None:
    rule = proposed(CLOSE, owner='a"c\\me', repo_name=7, why="whatever")
    assert rule == {
        "match": ["hub.close"],
        "principal": ["ann"],
        "when": 'args["owner"] == "a\\"c\\\\me" && args["repo_name"] == 7',
        "then": "allow",
    }


def test_without_such_parts_all_arguments_stay_the_same() -> None:
    assert proposed(PAY, to="bob", amount=5, tags=["x", None])["when"] == (
        'args == {"amount": 5, "tags": ["x", null], "to": "bob"}'
    )


NONE: list[tuple[Function, str, dict[str, Any]]] = [
    (PAY, "ann*", {"to": "bob"}),
    (PAY, "@ops", {"to": "bob"}),
    (PAY, "a\x1bn", {"to": "bob"}),
    (PAY, "ann", {"to": "has k3y in it"}),
    (PAY, "ann", {"to": "\u202ebob"}),
    (PAY, "ann", {"to": "b" * 2000}),
    (PAY, "ann", {"to": File(b"x")}),
    (PAY, "ann", {"to": float("inf")}),
    (CLOSE, "ann", {"owner": "acme"}),
]


@pytest.mark.parametrize(("function", "principal", "arguments"), NONE)
def test_what_cannot_be_shown_is_not_proposed(function: Function, principal: str, arguments: dict[str, Any]) -> None:
    assert proposed(function, principal, **arguments) == {}


@pytest.mark.parametrize("asking", ["[[policy.rules]] 1 of acme", "[policy] new", "[policy] default of acme", "cedar"])
def test_none_is_proposed_that_would_not_help(asking: str) -> None:
    """What a distribution, a plugin or `new` wants a person for is not loosened by a rule of the configuration."""
    assert proposed(PAY, asking=asking, to="bob") == {}
