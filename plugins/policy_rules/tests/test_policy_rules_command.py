"""`doorward policy`: an operator tries rules, sees which of them decide, and accepts functions."""

from __future__ import annotations

from typing import Any

import jsonschema_rs
import pytest
from doorward_testing import Cli
from doorward_testing.samples import CONFIG

RULES = """
[policy]
new = "confirm"
deny = ["weather.raw"]
[[policy.rules]]
match = "weather.get_forecast"
when = "args.city == 'Oslo' || calls > 5"
then = "confirm"
reason = "Oslo is ours"
[[policy.rules]]
match = "weather.nothing"
then = "deny"
[[policy.rules]]
class = "read"
then = "allow"
[[policy.rules]]
match = "weather.big"
then = "deny"
[[policy.rules]]
match = "weather.add_station"
principal = "bob"
then = "deny"
reason = "Bob adds none"
"""


@pytest.fixture
def ruled(cli: Cli, doorward_host: Any) -> Cli:
    doorward_host.write(CONFIG + RULES)
    return cli


FORECAST = ("policy", "test", "weather.get_forecast")


@pytest.mark.parametrize(
    ("words", "then", "rule", "reason"),
    [
        ((*FORECAST, "--args", '{"city": "Oslo"}'), "confirm", "[[policy.rules]] 1", "Oslo is ours"),
        ((*FORECAST, "--args", '{"city": "Rome"}'), "allow", "[[policy.rules]] 3", ""),
        ((*FORECAST, "--args", '{"city": "Rome"}', "--calls", "6"), "confirm", "[[policy.rules]] 1", "Oslo is ours"),
        (("policy", "test", "weather.getForecast", "--args", '{"city": "Rome"}'), "allow", "[[policy.rules]] 3", ""),
        (("policy", "test", "weather.add_station"), "allow", "", ""),
        (
            ("policy", "test", "weather.add_station", "--principal", "bob"),
            "deny",
            "[[policy.rules]] 5",
            "Bob adds none",
        ),
        (("policy", "test", "weather.raw"), "deny", "", "[policy] deny"),
    ],
)
def test_it_says_what_would_happen(ruled: Cli, words: tuple[str, ...], then: str, rule: str, reason: str) -> None:
    """By which rule and why, as words and as JSON; the exit code says whether the call would be made."""
    found = ruled(*words, "--json")
    told = found.json
    assert (told["then"], told["rule"], found.code) == (then, rule, 0 if then == "allow" else 3)
    assert reason in told["reason"]
    said = ruled(*words)
    assert said.out.startswith(f"{then}: {told['function']} for {told['principal']}")
    assert told["reason"] in said.out
    assert said.out.count(told["function"]) == 1 or "[policy]" in said.out


def test_wrong_arguments_are_told(ruled: Cli) -> None:
    """As a call would tell them."""
    assert "city" in ruled(*FORECAST, "--args", '{"town": 1}').err
    assert "--args is no JSON" in ruled(*FORECAST, "--args", "{").err


def test_it_explains_the_rules(ruled: Cli) -> None:
    """All with the number of their functions; for one function, what each says of it."""
    rules = ruled("policy", "explain", "--json").json["rules"]
    assert [each["functions"] for each in rules] == [1, 0, 4, 1, 1]
    assert '"reason": "Oslo is ours"' in rules[0]["for"]
    steps = ruled("policy", "explain", "weather.big", "--json").json["rules"]
    assert [each["what"] for each in steps] == [
        "does not fit: it names other functions",
        "does not fit: it names other functions",
        "fits",
        "not asked: [[policy.rules]] 3 decides",
        "not asked: [[policy.rules]] 3 decides",
        "not asked: [[policy.rules]] 3 decides",
    ]
    assert "fits when args.city == 'Oslo'" in ruled("policy", "explain", "weather.get_forecast").out
    assert "[policy] deny" in ruled("policy", "explain", "weather.raw").out


def test_the_doctor_warns_of_rules_that_decide_nothing(ruled: Cli) -> None:
    """Those that fit no function, and those that others stand before; and of `new` until functions are accepted."""
    checks = {each["check"]: each for each in ruled("doctor", "--json").json["checks"]}
    assert checks["[[policy.rules]] 2: no function fits it"]["ok"]
    assert checks["[[policy.rules]] 2: no function fits it"]["advice"]
    assert "[[policy.rules]] 4: it is never asked: all of its calls are decided before, by [[policy.rules]] 3" in checks
    assert not any("[[policy.rules]] 5" in check or "[[policy.rules]] 1" in check for check in checks)
    assert "[policy] new does nothing" in checks
    assert "weather.big" in ruled("policy", "accept").out
    assert ruled("policy", "accept", "weather", "--json").json == {"new": []}
    assert "[policy] new does nothing" not in {each["check"] for each in ruled("doctor", "--json").json["checks"]}


def test_without_rules_it_says_so(project: Cli) -> None:
    """The lists alone decide; what would happen can be asked all the same."""
    assert "there are no rules" in project("policy", "explain").out
    assert project("policy", "test", "weather.big").code == 0


def test_the_schema_of_a_configuration_has_rules(project: Cli) -> None:
    """And their keys: an editor knows a wrong one."""
    validator = jsonschema_rs.Draft202012Validator(project("schema").json)
    rule = {"match": "a", "class": "read", "then": "allow"}
    assert validator.is_valid({"policy": {"classes": {"read": "a.find"}, "rules": [rule]}})
    assert not validator.is_valid({"policy": {"rules": [rule | {"when_": "true"}]}})
