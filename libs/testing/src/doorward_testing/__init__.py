"""For authors of plugins: an empty Doorward to install a plugin into, conformance tests for each kind, and checks.

Its pytest plugin has the fixtures `host` (see `Host`), `doorward_host` (a host with a sample source and a sample
executor) and `cli` (runs command lines there). Names are loaded when first used: pytest imports this package before
coverage begins.
"""

from __future__ import annotations

import importlib
from typing import Any

_MODULE_OF = {
    "AdditionConformance": "conformance.additions",
    "AgentToolConformance": "conformance.agent_tools",
    "AuthConformance": "conformance.auths",
    "CacheConformance": "conformance.caches",
    "CatalogStoreConformance": "stores",
    "Cli": "command_line",
    "CommandConformance": "conformance.commands",
    "CommandEnded": "command_line",
    "Commands": "commands",
    "DeciderConformance": "conformance.deciders",
    "DistributionConformance": "conformance.distributions",
    "Door": "door",
    "ExecutorConformance": "executors",
    "ExporterConformance": "conformance.exporters",
    "FullPythonConformance": "cpython",
    "GuardConformance": "conformance.guards",
    "HookConformance": "conformance.hooks",
    "Host": "host",
    "LayerConformance": "conformance.layers",
    "ODD_TEXTS": "conformance.hooks",
    "ObserverConformance": "conformance.observers",
    "Request": "conformance.echo",
    "ResultChangeConformance": "conformance.result_changes",
    "SearchEngineConformance": "conformance.search_engines",
    "SearchViewConformance": "conformance.search_views",
    "SecretSchemeConformance": "conformance.secret_schemes",
    "SharedExecutor": "shared_executor",
    "SourceConformance": "conformance.sources",
    "StartDoorward": "command_line",
    "StoreConformance": "conformance.store",
    "ask": "conformance.hooks",
    "call_of": "conformance.hooks",
    "check_driver": "checks",
    "check_light_import": "checks",
    "counted_functions": "counting",
    "ended": "command_line",
    "only": "conformance.base",
    "require": "conformance.base",
    "reserve_port": "ports",
    "run_of": "conformance.layers",
}
__all__ = [*_MODULE_OF]


def __getattr__(name: str) -> Any:
    if name in _MODULE_OF:
        return getattr(importlib.import_module(f"doorward_testing.{_MODULE_OF[name]}"), name)
    raise AttributeError(f"module 'doorward_testing' has no attribute {name!r}")
