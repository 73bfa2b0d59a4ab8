"""Policies in Cedar, read once: what they decide, with which words."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from doorward import Decision

_CONFIRM = "confirm"


class Policies:
    """A set of policies. Raises: ValueError, which says where, if there is anything wrong with it."""

    def __init__(self, text: str) -> None:
        import cedarpy

        self._authorized = cedarpy.is_authorized
        self._allow, self._deny = cedarpy.Decision.Allow, cedarpy.Decision.Deny
        self._set = cedarpy.PolicySet.from_str(text)
        told = json.loads(cedarpy.policies_to_json_str(text))
        if told.get("templates"):
            raise ValueError("it has templates, which nothing fills in")
        self._annotations: dict[str, dict[str, str]] = {
            name: policy.get("annotations", {}) for name, policy in told["staticPolicies"].items()
        }
        for name, words in self._annotations.items():
            if words.get("then", _CONFIRM) != _CONFIRM:
                raise ValueError(f'{self._named(name)} says @then("{words["then"]}"): it can say "{_CONFIRM}" alone')

    def decide(self, request: dict[str, Any], entities: list[dict[str, Any]]) -> Decision | None:
        """What they decide: nothing if they permit it. Where a policy cannot be evaluated, the call is denied: Cedar
        alone would pass over it, also if it forbids."""
        found = self._authorized(request, self._set, entities)
        diagnostics = found.diagnostics
        if diagnostics.errors or found.decision not in (self._allow, self._deny):
            return Decision("deny", "cedar", f"a policy cannot be evaluated: {' '.join(diagnostics.errors)[:300]}")
        if found.decision == self._allow:
            return None
        return self._forbidden(sorted(diagnostics.reasons))

    def _forbidden(self, names: Sequence[str]) -> Decision:
        """What policies that forbid decide together: a person is asked only if each of them wants that."""
        if not names:
            return Decision("deny", "cedar", "no policy permits it")
        strict = [name for name in names if self._annotations[name].get("then") != _CONFIRM]
        name = (strict or names)[0]
        return Decision("deny" if strict else "confirm", self._named(name), self._annotations[name].get("reason", ""))

    def _named(self, name: str) -> str:
        """What a person calls a policy: its `@id`, or its number in the file."""
        return f"cedar {self._annotations[name].get('id') or name}"
