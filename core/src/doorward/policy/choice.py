"""Whether a configuration has rules: most have lists alone, and import nothing of what rules need."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from doorward.config.config import Loaded
    from doorward.config.upstream_patterns import Upstream
    from doorward.model.functions import Function
    from doorward.policy.decisions import PolicyRules


def rules_of(loaded: Loaded, upstreams: Callable[[Function, str], Sequence[Upstream]]) -> PolicyRules | None:
    """The rules of a configuration, if it has any. Raises: ConfigError for a rule that is wrong, with its place."""
    own, active = loaded.config.policy, loaded.distribution
    given = active.policy if active else None
    ruled = own.rules or own.default != "allow" or own.new != "allow"
    if not ruled and not (given is not None and (given.rules or given.default != "allow")):
        return None
    from doorward.policy.decisions import PolicyRules

    return PolicyRules(loaded, upstreams)
