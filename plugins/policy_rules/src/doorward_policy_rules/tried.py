"""What a rule that is not in the configuration would have been for, of calls that were made."""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from doorward import ConfigError, DoorwardError, InvalidArguments, Principal
from pydantic import ValidationError

from doorward_policy_rules.explained import rules_of
from doorward_policy_rules.settings import RuleSettings

if TYPE_CHECKING:
    from doorward import Gateway


def tried(gate: Gateway, text: str, calls: Iterable[tuple[str, str, str]]) -> dict[str, Any]:
    """Of calls (function, principal, what was decided), how many a rule in TOML is for, by its functions and by what
    was decided of them then. `depends`: it has a condition, and arguments are not known here; `gone`: of functions that
    are not there any more.

    Raises: InvalidArguments if the text is no rule.
    """
    rules = rules_of(gate)
    if rules is None:
        raise InvalidArguments("rules are not in use here", hint="`pip install doorward-policy-rules` brings them.")
    try:
        table = tomllib.loads(text)
        given = table.get("policy", {}).get("rules", [table]) if isinstance(table.get("policy", {}), dict) else []
        if len(given) != 1:
            raise InvalidArguments("write one rule", hint='match = "crm.*" and then = "confirm", each in a line.')
        rule = rules.made(RuleSettings.model_validate(given[0]))
    except tomllib.TOMLDecodeError as error:
        raise InvalidArguments(f"this is no TOML: {error}", hint="A rule is written as in the configuration.") from None
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise InvalidArguments(f"this is no rule: {place}: {first['msg']}".replace("rule: : ", "rule: ")) from None
    except ConfigError as error:
        raise InvalidArguments(f"this is no rule: {error.message}", hint=error.hint) from None
    fits, decided, other, gone = Counter[str](), Counter[str](), 0, 0
    for (name, principal, then), count in Counter(calls).items():
        try:
            function = gate.broker.functions.find(name, Principal(principal), near=False)
            reached = rules.tables[0].reached(function, Principal(principal))
            unfit = rule.unfit(function, Principal(principal), reached)
        except DoorwardError:
            gone += count
            continue
        if unfit:
            other += count
        else:
            fits[name] += count
            decided[then] += count
    return {
        "then": rule.decision.then, "fits": fits.total(), "other": other, "gone": gone,
        "depends": rule.condition is not None, "functions": fits.most_common(12), "decided": dict(decided),
    }  # fmt: skip
