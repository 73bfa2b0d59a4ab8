"""Writes a rule into the configuration, before the one that asks about a call: the first one that fits counts, and what
stands before that one still comes first."""

from __future__ import annotations

import re
from collections.abc import Mapping, MutableSequence
from typing import Any

from doorward import ConfigError
from doorward_cli import Project, change_config


def rule_text(rule: Mapping[str, Any]) -> str:
    """The rule as it is written."""
    import tomlkit

    return tomlkit.dumps({"policy": {"rules": [rule]}}).removeprefix("[policy]\n").strip()


def put_before(project: Project, rule: Mapping[str, Any], asking: str) -> None:
    """Write a rule before the `asking` one, as a decision names it. The rest of the file stays as it is, and so does
    all of it if the configuration could not be used then: if what `when` needs is not installed, for example. Raises:
    ConfigError."""
    change_config(project, lambda text: _with_rule(text or "", rule, asking, str(project.config)))


def _with_rule(text: str, rule: Mapping[str, Any], asking: str, place: str) -> str:
    import tomlkit
    from tomlkit.exceptions import TOMLKitError
    from tomlkit.items import AoT, Table

    mark = text[: text.startswith("\ufeff")]
    try:
        document = tomlkit.parse(text.removeprefix(mark))
        policy: Any = document.setdefault("policy", tomlkit.table(is_super_table=True))
        table = tomlkit.table()
        table.update(rule)
        rules = policy.get("rules") if isinstance(policy, Table) else None
        if isinstance(rules, AoT):
            rules.insert(_place(rules, asking, place), table)
        elif rules is None and isinstance(policy, Table) and not _number(asking):
            policy.append("rules", tomlkit.aot())
            policy["rules"].append(table)
        else:
            hint = "Write the rules as [[policy.rules]], or add this one by hand."
            raise ConfigError("its rules are gone, or written inline, where none can be added", place=place, hint=hint)
    except TOMLKitError as error:
        raise ConfigError(str(error), place=place, hint="Fix the TOML.") from None
    return mark + tomlkit.dumps(document)


def _place(rules: MutableSequence[Any], asking: str, place: str) -> int:
    """Where the rule that asks is. Raises: ConfigError if another one is there now."""
    number = _number(asking)
    if not number:
        return len(rules)
    if number > len(rules) or rules[number - 1].get("then") != "confirm":
        raise ConfigError(f"{asking} asks no more: the rules have changed", place=place, hint="Add the rule by hand.")
    return number - 1


def _number(asking: str) -> int:
    """The number of the rule; 0 is `default`, which comes last."""
    found = re.fullmatch(r"\[\[policy\.rules\]\] (\d+)", asking)
    return int(found[1]) if found else 0
