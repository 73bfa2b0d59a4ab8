"""Rules are deciders like any."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

from doorward import Call
from doorward_policy_rules.policy_rules import PolicyRules
from doorward_policy_rules.settings import RuleSettings
from doorward_testing import DeciderConformance, call_of

RULES = [
    {"match": "notes.find", "then": "allow"},
    {"match": "notes.pay", "when": "args.amount > 10", "then": "confirm", "reason": "much"},
    {"match": "notes.pay", "then": "allow"},
    {"match": "notes.rename", "when": "args.name == 'root'", "then": "deny"},
    {"match": "notes.rename", "then": "allow"},
]


class TestConformance(DeciderConformance):
    """By a condition on arguments, and by the default for what no rule fits."""

    plugin = PolicyRules

    def made(self, host: Any) -> Any:
        made = super().made(host)
        servers = SimpleNamespace(upstreams=lambda function, principal: [])
        made.gateway_made(
            SimpleNamespace(servers=servers, principals=SimpleNamespace(expect=lambda place, patterns: None))
        )
        return made

    def more(self, host: Any) -> dict[str, Any]:
        rules = [RuleSettings.model_validate(rule) for rule in RULES]
        return {"policies": {"": SimpleNamespace(classes={}, rules=rules, default="deny", new="allow")}}

    def refused(self) -> Sequence[Call]:
        return [
            *(call_of("notes.pay", amount=11), call_of("notes.pay", amount="11"), call_of("notes.pay")),
            *(call_of("notes.rename", name="root"), call_of("notes.rename"), call_of("notes.delete")),
        ]

    def passed(self) -> Sequence[Call]:
        return [call_of("notes.find"), call_of("notes.pay", amount=9), call_of("notes.rename", name="alice")]


class TestNewFunctions(TestConformance):
    """What nobody has accepted yet, and what calls itself something else since then."""

    def more(self, host: Any) -> dict[str, Any]:
        return {"policies": {"": SimpleNamespace(classes={}, rules=[], default="allow", new="deny")}}

    def made(self, host: Any) -> Any:
        made = super().made(host)
        made.known.accept([call.function for call in self.passed()])
        return made

    def refused(self) -> Sequence[Call]:
        return [call_of("notes.delete"), call_of("notes.find", False)]

    def passed(self) -> Sequence[Call]:
        return [call_of("notes.find")]
