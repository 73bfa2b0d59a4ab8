"""For plugin authors: an empty host to install a plugin into, one conformance class per kind, and import checks.

The pytest plugin that comes with `doorward` offers the fixture `host`; see `doorward.testing.Host`.
"""

from __future__ import annotations

from doorward.testing.checks import check_driver, check_light_import
from doorward.testing.conformance import AuthConformance, CacheConformance, SourceConformance
from doorward.testing.cpython import FullPythonConformance
from doorward.testing.door import Door
from doorward.testing.executors import ExecutorConformance
from doorward.testing.host import Host

__all__ = [
    "AuthConformance",
    "CacheConformance",
    "Door",
    "ExecutorConformance",
    "FullPythonConformance",
    "Host",
    "SourceConformance",
    "check_driver",
    "check_light_import",
]
