"""Helpers of `import doorward`: what programs find, read and get besides single calls."""

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
        from doorward.helping import HELPING

        from doorward_program_helpers.cards import HelperCards
        from doorward_program_helpers.helpers import RECORDED, Helpers

        gateway.modules.add("doorward", Helpers(gateway).all, recorded=RECORDED)
        gateway.services.give(HELPING, HelperCards(gateway))
