"""A guard of Acme's own: pages of the handbook that no program reads."""

from __future__ import annotations

from doorward import Call, PluginContext, Settings, hookimpl
from pydantic import Field


class PagesSettings(Settings):
    """`[hooks.acme_pages]`."""

    closed: list[str] = Field([], description="Pages that no program reads")


class Pages:
    """Refuses calls for closed pages."""

    Settings = PagesSettings

    def __init__(self, context: PluginContext[PagesSettings]) -> None:
        self._closed = frozenset(context.settings.closed)

    @hookimpl
    def guard_call(self, call: Call) -> str | None:
        """Why a call is refused."""
        page = call.arguments.get("page")
        return f"the page {page!r} is closed at Acme" if page in self._closed else None
