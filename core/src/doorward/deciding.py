"""For plugins that decide of calls, besides what `doorward` has: the lists of the policy, and what functions do."""

from doorward.exports import Exports

_EXPORTS = Exports(
    __name__,
    {
        "access.effects": "Effects",
        "access.patterns": "Patterns is_wild",
        "access.policy": "Policy Reached",
        "access.rules": "Rules",
        "calls.permissions": "nobody_asks",
        "model.calls": "ACCOUNT ALLOWED stricter",
    },
)
__all__ = [*_EXPORTS.places]
__getattr__ = _EXPORTS.load
