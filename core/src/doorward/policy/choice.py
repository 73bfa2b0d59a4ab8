"""Which policy a configuration has: most have lists alone, and import nothing of what rules need."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from doorward.access.policy import Policy

if TYPE_CHECKING:
    from doorward.access.principals import Principals
    from doorward.config.config import Loaded
    from doorward.config.upstream_patterns import Upstream
    from doorward.model.functions import Function
    from doorward.plugins.manager import Plugins


def policy_of(
    loaded: Loaded,
    principals: Principals,
    upstreams: Callable[[Function, str], Sequence[Upstream]],
    plugins: Plugins,
) -> Policy:
    """The policy of a configuration: one that decides single calls only if there is anything to decide them by. Raises:
    ConfigError for a rule that is wrong, with its place."""
    own, active = loaded.config.policy, loaded.distribution
    given = active.policy if active else None
    ruled = own.rules or own.default != "allow" or own.new != "allow"
    ruled = ruled or (given is not None and (given.rules or given.default != "allow"))
    if not ruled and not plugins.manager.hook.decide.get_hookimpls():
        return Policy(loaded, principals, upstreams)
    from doorward.policy.decisions import Decisions

    return Decisions(loaded, principals, upstreams, plugins)
