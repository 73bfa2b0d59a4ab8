"""Helpers that look into answers can do nothing with one that a plan does not know yet."""

from __future__ import annotations

from doorward import InvalidArguments, Reply
from doorward.sandboxing import Planned


def known(reply: Reply, helper: str) -> Reply:
    """The reply. Raises: InvalidArguments if its call is withheld."""
    if isinstance(reply.value, Planned):
        raise InvalidArguments(
            f"doorward.{helper} needs an answer that is known only once the plan is committed",
            hint="Call the function itself, and hand its answer on as it is.",
        )
    return reply
