"""Skills: the Markdown guides that owners of servers write for agents."""

from __future__ import annotations

from doorward_skills.plugin import Skills

PLUGIN_API = 1

__all__ = ["Skills"]
