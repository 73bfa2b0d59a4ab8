"""Triggers: a schedule or a signed webhook starts a saved program for a principal, without a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from doorward import LOCAL, ConfigError, hookimpl

if TYPE_CHECKING:
    from doorward import Gateway, Outcome, PluginContext
    from doorward.serving import RawSite

    from doorward_triggers.settings import TriggerSettings
    from doorward_triggers.worker import Trigger, Worker

PLUGIN_API = 1

__all__ = ["Triggers"]


class Triggers:
    """The triggers of one configuration. They are at work while HTTP is served, and nothing is imported before."""

    def __init__(self, context: PluginContext) -> None:
        """Raises: ConfigError for two webhooks with one path, and without a store: a tick could run twice."""
        self._settings: dict[str, TriggerSettings] = context.tables.get("triggers") or {}
        self._store, self._folder = context.store, context.folder
        self._worker: Worker | None = None
        if self._settings and self._store is None:
            hint = (
                '`pip install doorward-store-sqlite` brings one; store = "memory" remembers while this process lives.'
            )
            raise ConfigError("triggers need a store", place="[triggers]", hint=hint)
        paths: dict[str, str] = {}
        for name, settings in self._settings.items():
            if settings.webhook and (other := paths.setdefault(settings.webhook, name)) != name:
                hint = "Give each webhook a path of its own."
                raise ConfigError(f"{other!r} has the same path", place=f"[triggers.{name}] webhook", hint=hint)

    @hookimpl
    def gateway_made(self, gateway: Gateway) -> None:
        """Raises: ConfigError for a principal that is not configured."""
        self._gateway = gateway
        known = [LOCAL, *(name for name in gateway.config.principals if name not in ("*", LOCAL))]
        for name, settings in self._settings.items():
            if settings.principal not in known:
                raise ConfigError(
                    f"there is no principal {settings.principal[:60]!r} in [principals]",
                    place=f"[triggers.{name}] principal",
                    hint=f"Configured are: {', '.join(known[:20])}. A table [principals.NAME] configures one.",
                )

    @hookimpl
    def http_pages(self) -> Sequence[RawSite]:
        if not self._settings:
            return []
        from doorward.serving import RawSite

        from doorward_triggers.queue import Queue
        from doorward_triggers.site import ROOT, Site, Webhook
        from doorward_triggers.worker import Trigger, Worker

        assert self._store is not None
        triggers = {
            name: Trigger(settings, Queue(self._store, name, settings.queue))
            for name, settings in self._settings.items()
        }
        hooks: dict[str, Webhook] = {}
        readiness = self._gateway.readiness
        worker = Worker(self._store, triggers, self._run, lambda: not readiness.why_not)

        def opened(url: str) -> str:
            """Begin to serve. Raises: ConfigError, MissingSecret: what cannot be verified is not served."""
            from doorward_auth_kit import key_of

            from doorward_triggers.deliveries import validator

            for name, trigger in triggers.items():
                settings = trigger.settings
                if settings.script is not None and not (file := self._folder / settings.script.expanduser()).is_file():
                    raise ConfigError(f"there is no file {file}", place=f"[triggers.{name}] script")
                if settings.webhook and settings.secret is not None:
                    key = key_of(settings.secret, f"[triggers.{name}] secret")
                    hooks[settings.webhook] = Webhook(
                        settings, trigger.queue, key, validator(settings.body_schema or {})
                    )
            self._worker = worker
            worker.start()
            return f"Triggers: {len(triggers)}; webhooks below {url}/" if hooks else f"Triggers: {len(triggers)}"

        return [RawSite(ROOT, Site(hooks), opened)]

    async def _run(self, trigger: Trigger, params: Mapping[str, Any]) -> Outcome:
        from doorward_triggers.running import run

        return await run(self._gateway, trigger.queue.name, trigger.settings, params)

    async def close(self) -> None:
        if self._worker is not None:
            await self._worker.close()
