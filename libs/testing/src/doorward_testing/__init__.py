"""For plugin authors: an empty host to install a plugin into, one conformance class per kind, and import checks.

The pytest plugin that comes with it offers the fixtures `host` (see `Host`), `doorward_host` (with a sample source and executor in it)
and `cli` (command lines run in it).
"""

from __future__ import annotations

from doorward_testing.checks import check_driver, check_light_import
from doorward_testing.command_line import Cli, CommandEnded
from doorward_testing.conformance import AuthConformance, CacheConformance, SourceConformance
from doorward_testing.cpython import FullPythonConformance
from doorward_testing.door import Door
from doorward_testing.executors import ExecutorConformance
from doorward_testing.host import Host
from doorward_testing.stores import ArtefactStoreConformance, CatalogStoreConformance

__all__ = [
    "ArtefactStoreConformance",
    "AuthConformance",
    "CacheConformance",
    "CatalogStoreConformance",
    "Cli",
    "CommandEnded",
    "Door",
    "ExecutorConformance",
    "FullPythonConformance",
    "Host",
    "SourceConformance",
    "check_driver",
    "check_light_import",
]
