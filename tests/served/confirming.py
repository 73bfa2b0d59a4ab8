"""The product with one rule, which has people confirm what changes anything."""

from __future__ import annotations

from typing import Any

from doorward.calls.broker import Broker
from doorward.cli import main
from doorward.model.decisions import Decision

allowed = Broker._allow


def decided(self: Broker, run: Any, call: Any, *more: Any) -> Decision:
    decision = allowed(self, run, call, *more)
    return decision if call.function.read_only else Decision("confirm", "[[policy.rules]] 1", "writes need a person")


Broker._allow = decided  # type: ignore[method-assign]

if __name__ == "__main__":
    main()
