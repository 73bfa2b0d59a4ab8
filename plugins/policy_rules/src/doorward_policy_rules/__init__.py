"""Rules of `[[policy.rules]]` decide calls: by function, class, principal, and a condition in CEL."""

from __future__ import annotations

from doorward_policy_rules.explained import explained as explained
from doorward_policy_rules.policy_rules import PolicyRules as PolicyRules
from doorward_policy_rules.settings import RuleSettings as RuleSettings
from doorward_policy_rules.tried import tried as tried

__all__ = ["PolicyRules", "RuleSettings", "explained", "tried"]
