"""Templates and files: what is shown is others' text, and escaped."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from importlib import resources
from typing import Any

from doorward.texts import visible
from jinja2 import Environment, PackageLoader, PrefixLoader
from markupsafe import Markup
from starlette.responses import HTMLResponse, Response

_TYPES = {"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8", "svg": "image/svg+xml"}
_OURS = "doorward_console"


class Pages:
    """Makes pages of the templates of some packages."""

    def __init__(self, packages: Collection[str]) -> None:
        loaders = {package: PackageLoader(package) for package in {*packages, _OURS}}
        self._environment = Environment(
            loader=PrefixLoader(loaders), autoescape=True, finalize=_finalize,
            trim_blocks=True, lstrip_blocks=True,
        )  # fmt: skip
        self._environment.filters |= {"when": when, "as_json": as_json, "duration": duration, "size": size}

    def page(self, template: str, data: Mapping[str, Any], status: int = 200) -> Response:
        """A page."""
        defaults: dict[str, Any] = {
            "panels": [], "panel": None, "visitor": None, "live": False, "notice": "", "forgery": "", "json": "",
            "path": "/console", "query": "",
        }  # fmt: skip
        return HTMLResponse(self._environment.get_template(template).render({**defaults, **data}), status)

    def static(self, name: str) -> Response:
        """A file that pages load."""
        type = _TYPES.get(name.rpartition(".")[2])
        file = resources.files(_OURS) / "static" / name
        if type is None or "/" in name or "\\" in name or not file.is_file():
            return Response("Not Found", 404)
        return Response(file.read_bytes(), media_type=type, headers={"Cache-Control": "private, max-age=3600"})


def _finalize(value: Any) -> Any:
    """What a reader would not see, or what turns the direction of a text, is shown as an escape."""
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def when(seconds: float) -> str:
    """A time, by UTC."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S") if seconds else ""


def as_json(value: Any) -> str:
    """A value as a person reads it."""
    return json.dumps(value, ensure_ascii=False, indent=2, default=str)


def size(bytes: int) -> str:
    """A number of bytes in the unit that suits."""
    return (
        f"{bytes:,} bytes"
        if bytes < 10_000
        else f"{bytes / 1000:,.0f} kB"
        if bytes < 10**7
        else f"{bytes / 10**6:,.0f} MB"
    )


def duration(ms: float) -> str:
    """Milliseconds in the unit that suits."""
    return f"{ms:.0f} ms" if ms < 1000 else f"{ms / 1000:.1f} s"
