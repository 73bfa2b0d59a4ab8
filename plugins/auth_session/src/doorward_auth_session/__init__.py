"""The auth type `session`."""

from __future__ import annotations
