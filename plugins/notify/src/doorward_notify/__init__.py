"""Approvals where people are: a chat, a mail or a webhook tells that a call waits, and whoever answers first counts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING

from doorward import ConfigError, hookimpl

if TYPE_CHECKING:
    from doorward import Gateway, PluginContext
    from doorward.serving import RawSite
    from doorward_approvals import ApprovalRequest, Requests

    from doorward_notify.messengers import Messenger
    from doorward_notify.settings import MessengerSettings

PLUGIN_API = 1

__all__ = ["Notify"]


class Notify:
    """The messengers of one configuration. Nothing is imported before the first is needed."""

    def __init__(self, context: PluginContext) -> None:
        """Raises: ConfigError without a store: an answer could be taken twice."""
        self._settings: dict[str, MessengerSettings] = context.tables.get("notify") or {}
        self._store, self._members = context.store, context.members
        self._messengers: dict[str, Messenger] = {}
        self._telling: set[asyncio.Task[None]] = set()
        if self._settings and self._store is None:
            raise ConfigError("notify needs a store", place="[notify]", hint="Install doorward-store-sqlite.")

    @hookimpl
    def gateway_made(self, gateway: Gateway) -> None:
        """Raises: ConfigError, MissingSecret: what cannot be sent or verified is not begun."""
        self._gateway = gateway
        if self._settings:
            from doorward_notify.messengers import Messenger

            for name, settings in self._settings.items():
                fits = self._members(settings.principals, f"[notify.{name}] principals")
                self._messengers[name] = Messenger(name, settings, fits)

    @hookimpl
    def approval_wanted(self, request: ApprovalRequest, answer: Callable[..., Future[ApprovalRequest]]) -> None:
        """Tell whom the request concerns, in tasks: no run waits for a messenger."""
        for messenger in self._messengers.values():
            if messenger.fits(request.principal):
                task = asyncio.ensure_future(messenger.tell(request, self._requests()))
                self._telling.add(task)
                task.add_done_callback(self._telling.discard)

    @hookimpl
    def http_pages(self) -> Sequence[RawSite]:
        if not any(messenger.key for messenger in self._messengers.values()):
            return []
        from doorward.serving import RawSite

        from doorward_notify.site import ROOT, Site

        assert self._store is not None
        return [RawSite(ROOT, Site(self._messengers, self._requests, self._store))]

    def _requests(self) -> Requests:
        from doorward_approvals import REQUESTS

        return self._gateway.services[REQUESTS]

    async def close(self) -> None:
        for task in [*self._telling]:
            task.cancel()
        await asyncio.gather(*self._telling, return_exceptions=True)
