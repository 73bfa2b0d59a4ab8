"""Corrections of a document by its operator: the keys `extra` and `optional` of servers."""

from __future__ import annotations

from doorward_corrections.plugin import Corrections

PLUGIN_API = 1

__all__ = ["Corrections"]
