"""For plugin authors: an empty host to install a plugin into, one conformance class per kind, and import checks.

The pytest plugin that comes with `doorward` offers the fixture `host`; see `doorward.testing.Host`.
"""

from __future__ import annotations

from doorward.testing.checks import check_driver, check_light_import
from doorward.testing.conformance import AuthConformance, CacheConformance, ExecutorConformance, SourceConformance
from doorward.testing.host import Host

__all__ = ["AuthConformance", "CacheConformance", "ExecutorConformance", "Host", "SourceConformance", "check_driver", "check_light_import"]
