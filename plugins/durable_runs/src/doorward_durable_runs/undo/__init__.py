"""Undo: the calls that undo others, as the operator declares them, and what is undone of a stored run.

Never an agent's: a program that shall undo what it did makes the calls itself.
"""

from __future__ import annotations

from doorward_durable_runs.undo.inverses import Undo as Undo

__all__ = ["Undo"]
