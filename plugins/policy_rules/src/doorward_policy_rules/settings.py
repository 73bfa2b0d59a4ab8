"""The keys of `[policy]` that belong to rules, in the configuration and in a distribution's manifest."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from doorward import Settings
from doorward.configuration import Pattern, is_upstream
from pydantic import AfterValidator, Field, ValidationInfo, field_validator

Then = Literal["allow", "confirm", "deny"]
Effect = Literal["read", "write", "destructive"]

_ROUTE = re.compile(r"(?:[A-Z*]+ +)?/|[A-Z]+ +\*")
"""How a route begins: `DELETE /repos/**`, `/admin/**`, `DELETE *`."""


def _at_any_upstream(text: str) -> str:
    """A route is that of any upstream, whatever it is called."""
    return f"*://*#{text}" if not is_upstream(text) and _ROUTE.match(text) else text


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


class RuleSettings(Settings):
    """One rule. It decides calls that fit everything that it says; what it does not say fits all."""

    match: list[Pattern] = Field(
        ["*"],
        min_length=1,
        description='Functions: "github.repos_*", a server "github", a route of any server "DELETE /repos/**", or an '
        'upstream "https://api.github.com#DELETE *"',
    )
    effects: list[Effect] = Field(
        ["read", "write", "destructive"],
        alias="class",
        min_length=1,
        description="What calls do: read, write or destructive",
    )
    principal: list[str] = Field(
        ["*"], min_length=1, description='Who asks: names, wildcards, or "@ops" for a group of [groups]'
    )
    when: str = Field("", max_length=2000, description="A condition in CEL, over args, principal, groups and calls")
    then: Then = Field(description="allow, confirm (a person is asked first) or deny")
    reason: str = Field("", max_length=500, description="Why, as the agent and the person who is asked are told")

    @field_validator("match", mode="before")
    @classmethod
    def _routes(cls, value: Any) -> Any:
        given = [value] if isinstance(value, str) else value
        return [_at_any_upstream(each) for each in given] if _are_texts(given) else given


def _compiled(rules: list[RuleSettings], info: ValidationInfo) -> list[RuleSettings]:
    """Compile all conditions: nothing is written or started with one that is wrong. Raises: ConfigError, with its
    place."""
    for number, rule in enumerate(rules, 1):
        if rule.when:
            from doorward_policy_rules.conditions import Condition

            Condition(rule.when, f"{(info.context or {}).get('place', '')} [[policy.rules]] {number}".strip())
    return rules


RuleList = Annotated[list[RuleSettings], AfterValidator(_compiled), Field([])]
"""`[[policy.rules]]`: what is decided of calls; the first rule that fits counts."""

Default = Annotated[Then, Field("allow")]
"""`[policy] default`: what is decided of calls that no rule fits."""

New = Annotated[Then, Field("allow")]
"""`[policy] new`: at least this for functions that are not among those of the last `doorward policy accept`."""
