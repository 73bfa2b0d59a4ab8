"""What the configuration says of searches: `[search]`, `search_view` and `[search_views.NAME]`."""

from __future__ import annotations

from typing import Annotated, Any

from doorward import Settings
from pydantic import Field


class SearchSettings(Settings):
    """`[search]`: how functions are found."""

    learn: bool = Field(True, description="Learn from use: what a principal searched and then called is found sooner")
    shared: bool = Field(False, description="All principals learn from each other; else each from themselves alone")


ViewNames = Annotated[list[str], Field(description="What finds functions by meaning, besides the words")]
"""`search_view`: the search views that are asked, besides the words."""

ViewSettings = Annotated[dict[str, dict[str, Any]], Field(description="Settings of search views, by name")]
"""`[search_views.NAME]`: what each view is told."""
