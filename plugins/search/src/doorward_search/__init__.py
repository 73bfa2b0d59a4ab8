"""The search of Doorward: functions found by words and by meaning, with who gives what they need, and what was learned
from use."""

from __future__ import annotations

from doorward_search.learning.lessons import Amount as Amount
from doorward_search.learning.lessons import Lesson as Lesson
from doorward_search.plugin import Search as Search
from doorward_search.settings import SearchSettings as SearchSettings

__all__ = ["Amount", "Lesson", "Search", "SearchSettings"]
