"""Where OTLP goes, and what all that goes there says of itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opentelemetry.sdk.resources import Resource

SEND_SECONDS = 4.0
"""Seconds in which one batch must be taken, all attempts included: less than a plugin has for its end."""


class Sending:
    """Makes exporters for one endpoint. What they may not tell: contents. They are given names, sizes and times."""

    def __init__(self, endpoint: str | None, headers: Mapping[str, str], service: str) -> None:
        from doorward import __version__

        self._endpoint = (endpoint or "").rstrip("/")
        self._headers = dict(headers)
        self.resource = Resource.create({"service.name": service, "service.version": __version__})

    def options(self, signal: str) -> dict[str, Any]:
        """The arguments of an exporter of `traces`, `metrics` or `logs`."""
        return {"endpoint": f"{self._endpoint}/v1/{signal}", "headers": self._headers, "timeout": SEND_SECONDS}
