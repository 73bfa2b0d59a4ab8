"""Helpers of `import doorward` that make calls: all pages of a function, whole replies, resources and prompts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from doorward import hookimpl

if TYPE_CHECKING:
    from doorward import Gateway

PLUGIN_API = 1

__all__ = ["ProgramHelpers"]


class ProgramHelpers:
    """Gives programs the helpers."""

    def __init__(self, context: Any = None) -> None:
        pass

    @hookimpl
    def gateway_made(self, gateway: Gateway) -> None:
        """See `doorward.plugins.hookspecs`."""
        from doorward_program_helpers.helpers import EXAMPLE, IN_CALLS, Helpers

        gateway.modules.add("doorward", Helpers(gateway).all, calls=IN_CALLS, example=EXAMPLE)
