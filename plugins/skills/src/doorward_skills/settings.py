"""The key `skills` of servers."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

Skills = Annotated[
    str,
    Field(
        description="A Markdown guide for agents: a path, relative to the configuration file, or a URL",
        json_schema_extra={"format": "path"},
    ),
]
