"""What rules, defaults and plugins decide together: the first rule that fits counts, and nothing loosens."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import pytest
from doorward import Call, ConfigError, Decision, DoorwardError, Function, Program, Refused, hookimpl
from doorward_testing.samples import CONFIG

pytestmark = pytest.mark.anyio

FORECAST = "weather.get_forecast"


def rules(*given: str, more: str = "") -> str:
    """A configuration with these rules."""
    return CONFIG + f"[policy]\n{more}\n" + "".join(f"[[policy.rules]]\n{rule}\n" for rule in given)


async def decided(gate: Any, name: str = FORECAST, made: int = 0, principal: str = "local", **args: Any) -> Decision:
    """What is decided of one call."""
    function = gate.broker.functions.find(name, principal)
    decision: Decision = await gate.discovery.policy.decide(Call(function, args, principal=principal, earlier=made))
    return decision


def rules_in(gate: Any) -> Any:
    """The plugin that has the rules."""
    return gate.plugins.manager.get_plugin("rules")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("given", "then", "rule"),
    [
        (["then = 'deny'"], "deny", "[[policy.rules]] 1"),
        (["match = 'weather'\nthen = 'confirm'", "then = 'deny'"], "confirm", "[[policy.rules]] 1"),
        (["match = 'weather.add_*'\nthen = 'deny'"], "allow", ""),
        (["match = 'weather.getForecast'\nthen = 'deny'"], "deny", "[[policy.rules]] 1"),
        (["match = 'mcp__weather__get_forecast'\nthen = 'deny'"], "deny", "[[policy.rules]] 1"),
        (["class = 'write'\nthen = 'deny'", "class = 'read'\nthen = 'confirm'"], "confirm", "[[policy.rules]] 2"),
        (["principal = 'alice'\nthen = 'deny'", "principal = 'l*'\nthen = 'confirm'"], "confirm", "[[policy.rules]] 2"),
        (["when = 'args.city == \"Oslo\"'\nthen = 'deny'"], "deny", "[[policy.rules]] 1"),
        (["when = 'args.city == \"Rome\"'\nthen = 'deny'"], "allow", ""),
        (["when = 'args.city == \"Oslo\"'\nthen = 'allow'", "then = 'deny'"], "allow", "[[policy.rules]] 1"),
        (["when = 'calls > 0'\nthen = 'deny'"], "allow", ""),
        (["when = 'principal == \"local\" && server == \"weather\"'\nthen = 'deny'"], "deny", "[[policy.rules]] 1"),
        (["when = 'name.endsWith(\"_forecast\")'\nthen = 'deny'"], "deny", "[[policy.rules]] 1"),
    ],
)
async def test_the_first_rule_that_fits_decides(doorward_host: Any, given: list[str], then: str, rule: str) -> None:
    """By function, original name, class, principal and condition; what no rule fits is as `default` says."""
    async with doorward_host.gateway(rules(*given)) as gate:
        await gate.ready()
        found = await decided(gate, city="Oslo")
        assert (found.then, found.rule) == (then, rule)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("when", "args"),
    [
        ("args.days > 3", {}),
        ("args.city > 3", {"city": "Oslo"}),
        ("args.days > 3", {"days": 2**70}),
        ("args.n.all(a, args.n.all(b, args.n.all(c, a >= 0)))", {"n": [1] * 1000}),
        ("args.city.size() > 3", {"city": "x" * 300_000}),
        ('args.city.contains("secret")', {"city": "a\0 secret"}),
        ('args.city == "Oslo"', {"city": "Oslo\0 or not"}),
        ("args.where.days > 3", {"where": {"days\0": 1, "days": 9}}),
        ("args.where.days > 3", {"where": {"n": [{"x\0": 1}], "days": 1}}),
    ],
)
@pytest.mark.parametrize("then", ["deny", "confirm"])
async def test_a_condition_without_an_answer_tightens(doorward_host: Any, when: str, args: Any, then: str) -> None:
    """What it asks for is not there, of another type, or costs too much: the rule counts, and what comes after, too."""
    config = rules(f"when = '{when}'\nthen = '{then}'", "match = 'weather.get_forecast'\nthen = 'allow'")
    async with doorward_host.gateway(config) as gate:
        await gate.ready()
        found = await decided(gate, **args)
        assert (found.then, found.rule) == (then, "[[policy.rules]] 1")
        assert "its condition has no answer" in found.reason
    config = rules(f"when = '{when}'\nthen = 'allow'", f"then = '{then}'")
    async with doorward_host.gateway(config) as gate:
        await gate.ready()
        assert (await decided(gate, **args)).rule == "[[policy.rules]] 2"


@pytest.mark.parametrize(
    ("rule", "wrong"),
    [
        ("when = 'args.days >'\nthen = 'deny'", "Syntax error"),
        ("when = 'arg.days > 3'\nthen = 'deny'", "undeclared reference to 'arg"),
        ("when = 'args.city.upper() == \"X\"'\nthen = 'deny'", "undeclared reference to 'upper'"),
        ("when = '1 + 1'\nthen = 'deny'", "answers INT, and not yes or no"),
        ("principal = '@ops'\nthen = 'deny'", "there is no group 'ops'"),
    ],
)
async def test_a_wrong_rule_stops_the_start(doorward_host: Any, rule: str, wrong: str) -> None:
    """The error names the rule, and what is wrong with it."""
    with pytest.raises(ConfigError, match="policy") as raised:
        async with doorward_host.gateway(rules("then = 'allow'", rule)):
            pass
    assert wrong in str(raised.value)
    assert "[[policy.rules]] 2" in str(raised.value)


@pytest.mark.parametrize("rule", ["then = 'ask'", "match = []\nthen = 'deny'", "matches = 'x'\nthen = 'deny'", ""])
async def test_a_rule_says_only_what_is_known(doorward_host: Any, rule: str) -> None:
    """A misspelt key or word is an error, and never a rule that guards nothing."""
    with pytest.raises(ConfigError, match=r"policy\.rules\.0"):
        async with doorward_host.gateway(rules(rule)):
            pass


async def test_a_rule_for_a_server_that_is_not_there_is_told(doorward_host: Any) -> None:
    """It may be misspelt, and what it denies is allowed. Routes and upstreams are of any server."""
    good = "match = ['weather.*', 'GET /x', 'https://a.example#x', '*']\nthen = 'allow'"
    async with doorward_host.gateway(rules(good, "match = 'wether.*'\nthen = 'deny'")) as gate:
        assert [*gate.principals.unknown()] == ["[[policy.rules]] 2 match: 'wether.*' fits no server"]


async def test_lists_come_before_rules(doorward_host: Any) -> None:
    """No rule lets through what the lists deny, for all or for one principal."""
    principals = '[principals.alice]\ndeny = ["weather.raw"]\n'
    config = rules("then = 'allow'", more='deny = ["weather.big"]') + principals
    async with doorward_host.gateway(config) as gate:
        await gate.ready()
        with pytest.raises(Refused, match=r"\[policy\] deny"):
            await gate.call("weather.big")
        with pytest.raises(Refused, match=r"\[principals.alice\] deny"):
            await gate.call("weather.raw", principal="alice")


async def test_what_a_rule_always_denies_is_not_found(doorward_host: Any) -> None:
    """A rule with a condition, or one that an earlier rule with a condition may stand before, hides nothing."""
    config = rules(
        "match = 'weather.raw'\nthen = 'deny'",
        "match = 'weather.big'\nwhen = 'calls > 3'\nthen = 'deny'",
        "match = 'weather.sleep'\nwhen = 'calls > 3'\nthen = 'allow'",
        "match = 'weather.sleep'\nthen = 'deny'",
        "match = 'weather.fail'\nwhen = 'calls > 3'\nthen = 'deny'",
        "match = 'weather.fail'\nthen = 'deny'",
        "match = 'weather.crash'\nprincipal = 'alice'\nthen = 'deny'",
    )
    async with doorward_host.gateway(config) as gate:
        for principal, hidden in (("local", {"raw", "fail"}), ("alice", {"raw", "fail", "crash"})):
            found = await gate.search_functions("", limit=50, principal=principal)
            names = {each["function"].partition(".")[2] for each in found["functions"]}
            assert names & {"raw", "big", "sleep", "fail", "crash"} == {"raw", "big", "sleep", "fail", "crash"} - hidden
            assert not hidden & {*(gate.modules.members("weather", principal) or ())}
            assert "raw" not in gate.modules.stub("weather", ["raw", "big"], principal)


async def test_a_default_holds_for_what_no_rule_fits(doorward_host: Any) -> None:
    """With `default = "deny"` only what rules allow is there."""
    config = rules("match = 'weather.get_forecast'\nthen = 'allow'", more="default = 'deny'")
    async with doorward_host.gateway(config) as gate:
        found = await gate.search_functions("", limit=50)
        assert [each["function"] for each in found["functions"]] == [FORECAST]
        with pytest.raises(Refused, match=r"\[policy\] default") as refused:
            await gate.call("weather.big")
        assert refused.value.rule == "[policy] default"


async def test_a_distributions_rules_stand_beside_the_users(doorward_host: Any, distro: Any) -> None:
    """The stricter of both counts, whichever it is."""
    distro(
        "[policy]\n[[policy.rules]]\nmatch = ['weather.big']\nthen = 'deny'\n"
        "[[policy.rules]]\nmatch = ['weather.raw']\nthen = 'allow'\n",
        requires=("doorward", "doorward-policy-rules"),
    )
    config = rules("match = 'weather.big'\nthen = 'allow'", "match = 'weather.raw'\nthen = 'confirm'")
    async with doorward_host.gateway(config) as gate:
        await gate.ready()
        assert (await decided(gate, "weather.big")).rule == "[[policy.rules]] 1 of acme-distro 1.2"
        assert (await decided(gate, "weather.raw")).then == "confirm"


class Decides:
    """A plugin that decides as it was told."""

    def __init__(self, *answers: Any) -> None:
        self.answers = [*answers]

    @hookimpl
    def decide(self, call: Call) -> Decision | None:
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer  # type: ignore[no-any-return]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rule", "answer", "then"),
    [
        ("deny", Decision("allow", "mine"), "deny"),
        ("confirm", Decision("allow", "mine"), "confirm"),
        ("confirm", Decision("deny", "mine"), "deny"),
        ("allow", Decision("confirm", "mine"), "confirm"),
        ("allow", None, "allow"),
        ("allow", RuntimeError("odd"), "deny"),
        ("allow", Refused("closed today"), "deny"),
        ("allow", "deny", "deny"),
        ("allow", True, "deny"),
    ],
)
async def test_a_plugin_may_only_tighten(doorward_host: Any, rule: str, answer: Any, then: str) -> None:
    """What it allows is not allowed by that, and one that fails denies."""
    doorward_host.install("plugin", "mine", Decides(answer))
    config = rules(f"when = 'true'\nthen = '{rule}'").replace("plugins = []", 'plugins = ["mine"]')
    async with doorward_host.gateway(config) as gate:
        await gate.ready()
        assert (await decided(gate)).then == then


async def test_a_plugin_decides_without_any_rule(doorward_host: Any) -> None:
    """Its reason reaches the program."""
    doorward_host.install("plugin", "mine", Decides(Decision("deny", "corp 7", "not on Sundays")))
    async with doorward_host.gateway(CONFIG.replace("plugins = []", 'plugins = ["mine"]')) as gate:
        with pytest.raises(Refused, match="corp 7: not on Sundays") as refused:
            await gate.call(FORECAST, {"city": "Oslo"})
        assert refused.value.rule == "corp 7"


async def test_without_rules_nothing_is_decided(doorward_host: Any) -> None:
    """The policy of a configuration without rules costs a call nothing."""
    async with doorward_host.gateway(CONFIG + '[policy]\ndeny = ["weather.big"]\n') as gate:
        assert not gate.discovery.policy.decides


GET = Function("api", "read_file", "readFile", route="GET /files/{path}", read_only=True)


@pytest.mark.parametrize("then", ["deny", "confirm"])
@pytest.mark.parametrize("path", ["/admin/users", "/ADMIN/users", "/files/../admin/users", "/files/%2e%2e/admin/users"])
async def test_a_rule_for_a_route_holds_for_what_is_sent(
    doorward_host: Any, monkeypatch: pytest.MonkeyPatch, then: str, path: str
) -> None:
    """A request that leads to a route in another way than its function says is refused, also where a person would have
    been asked: it is too late for that."""
    from doorward.config.upstream_patterns import upstreams

    async with doorward_host.gateway(rules(f"match = 'GET /admin/**'\nthen = '{then}'")) as gate:
        to_x = lambda function, principal: upstreams(["https://x.example"])  # noqa: E731
        monkeypatch.setattr(gate.discovery.policy, "_upstreams", to_x)
        monkeypatch.setattr(rules_in(gate).tables[0], "_upstreams", to_x)
        assert (await gate.discovery.policy.decide(Call(GET, {"path": "a"}))).then == "allow"
        assert gate.discovery.policy.refusal_of_route(Program(""), GET, "GET /files/a") == ""
        assert "[[policy.rules]] 1" in gate.discovery.policy.refusal_of_route(Program(""), GET, f"GET {path}")


@pytest.mark.parametrize(
    ("allows", "default", "path", "refused"),
    [
        ("match = 'GET /files/**'", "deny", "/files/a/b", False),
        ("match = 'GET /files/**'", "deny", "/files/../admin", True),
        ("match = 'GET /files/**'", "deny", "/files/%2e%2e/admin", True),
        ("match = 'GET /files/**'", "confirm", "/files/../other", True),
        ("match = 'GET /files/**'", "allow", "/files/../other", False),
        ("match = 'GET /files/**'", "allow", "/files/../admin", True),
        ("match = 'GET /files/**'\nwhen = 'true'", "deny", "/files/../admin", True),
        ("match = 'GET /files/**'\nwhen = 'true'", "deny", "/files/a", False),
        ("match = 'api.read_file'", "deny", "/files/../admin", False),
    ],
)
async def test_what_a_route_allows_is_that_route_alone(
    doorward_host: Any, monkeypatch: pytest.MonkeyPatch, allows: str, default: str, path: str, refused: bool
) -> None:
    """A rule that allows a route does not shield a request that leads away from it; one that names the function does."""
    from doorward.config.upstream_patterns import upstreams

    given = rules(f"{allows}\nthen = 'allow'", "match = '/admin'\nthen = 'deny'", more=f"default = '{default}'")
    async with doorward_host.gateway(given) as gate:
        policy = gate.discovery.policy
        to_x = lambda function, principal: upstreams(["https://x.example"])  # noqa: E731
        monkeypatch.setattr(policy, "_upstreams", to_x)
        monkeypatch.setattr(rules_in(gate).tables[0], "_upstreams", to_x)
        assert (await policy.decide(Call(GET, {"path": "a"}))).then == "allow"
        assert bool(policy.refusal_of_route(Program(""), GET, f"GET {path}")) is refused


async def test_new_functions_wait_to_be_accepted(doorward_host: Any) -> None:
    """Until functions are accepted, `new` does nothing; then it holds for others, and for one that does more harm."""
    async with doorward_host.gateway(rules(more="new = 'deny'")) as gate:
        await gate.ready()
        functions = [*gate.catalog.functions("weather")]
        assert (await decided(gate)).then == "allow"
        known = rules_in(gate).known
        assert len(known.accept([f for f in functions if f.name != "big"])) == len(functions) - 1
        assert (await decided(gate)).then == "allow"
        with pytest.raises(DoorwardError, match=r"\[policy\] new"):
            await gate.call("weather.big")
        found = await gate.search_functions("", limit=50)
        assert "weather.big" not in {each["function"] for each in found["functions"]}
        assert known.accept(functions) == ["weather.big"]
        found = await gate.search_functions("", limit=50)
        assert "weather.big" in {each["function"] for each in found["functions"]}
        rules_in(gate).known._effects.__init__({"destructive": [FORECAST]})
        assert (await decided(gate)).then == "deny"


async def test_a_function_that_is_said_to_do_less_is_new(doorward_host: Any) -> None:
    """An upstream that calls a write a read, once it was accepted, would get past the rules for writes."""
    config = rules("class = 'write'\nthen = 'confirm'", more="new = 'confirm'")
    async with doorward_host.gateway(config) as gate:
        await gate.ready()
        policy = gate.discovery.policy
        rules_in(gate).known.accept(gate.catalog.functions("weather"))
        add = gate.broker.functions.find("weather.add_station", "local")
        assert (await policy.decide(Call(add, {}))).rule == "[[policy.rules]] 1"
        assert (await policy.decide(Call(replace(add, read_only=True), {}))).rule == "[policy] new"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("when", "args"),
    [
        ("args.tags.all(t, t in args.tags)", {"tags": [*range(20_000)]}),
        ("args.tags.all(t, args.tags == args.tags)", {"tags": [*range(9_000)]}),
        ("args.tags.map(t, args.body + t).size() > 0", {"tags": ["x"] * 9_000, "body": "ab" * 60_000}),
        ("args.tags.exists( t, (t == ')') || args.body == 'x')", {"tags": ["x"] * 9_000, "body": "ab" * 60_000}),
    ],
)
async def test_no_arguments_make_a_condition_take_long(doorward_host: Any, when: str, args: Any) -> None:
    """Each of these took ten seconds and more, in which the gateway did nothing else."""
    config = rules(f'when = "{when}"\nthen = "deny"')
    async with doorward_host.gateway(config) as gate:
        await gate.ready()
        began = time.process_time()
        found = await decided(gate, **args)
        assert time.process_time() - began < 2
        assert (found.then, "more than" in found.reason) == ("deny", True)
        small = {name: value[:20] for name, value in args.items()}
        assert "no answer" not in (await decided(gate, **small)).reason


async def test_a_loop_that_reads_nothing_else_looks_at_more(doorward_host: Any) -> None:
    config = rules("when = 'args.tags.exists(t, t == 8999) && args.body.size() > 0'\nthen = 'deny'")
    async with doorward_host.gateway(config) as gate:
        await gate.ready()
        found = await decided(gate, tags=[*range(9_000)], body="x" * 100_000)
        assert (found.then, found.reason) == ("deny", "")


async def test_no_argument_writes_what_a_person_is_told(doorward_host: Any) -> None:
    """The library quotes arguments where a condition has no answer: in one line, without what a terminal obeys."""
    config = rules("when = 'args.m[args.k]'\nthen = 'confirm'\nreason = 'money'")
    async with doorward_host.gateway(config) as gate:
        await gate.ready()
        found = await decided(gate, m={}, k="\x1b[2Jx\n\nArguments:\u202e\x9b31m")
        assert found.then == "confirm"
        assert found.reason.startswith("money (its condition has no answer: ")
        assert found.reason.isprintable()
        assert r"\u202e" in found.reason


async def test_a_damaged_list_makes_all_functions_new(doorward_host: Any) -> None:
    """Nothing is let through because a file cannot be read."""
    async with doorward_host.gateway(rules(more="new = 'deny'")) as gate:
        await gate.ready()
        (gate.state / "accepted-functions.json").write_text('{"functions": [')
        assert (await decided(gate)).rule == "[policy] new"
