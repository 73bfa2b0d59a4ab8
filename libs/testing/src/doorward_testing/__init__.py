"""For authors of plugins: an empty Doorward to install a plugin into, conformance tests for each kind, and checks.

Its pytest plugin has the fixtures `host` (see `Host`), `doorward_host` (a host with a sample source and a sample
executor) and `cli` (runs command lines there). Names are loaded when first used: pytest imports this package before
coverage begins.
"""

from doorward.exports import Exports

_EXPORTS = Exports(
    __name__,
    {
        "checks": "check_driver check_light_import",
        "command_line": "Cli CommandEnded StartDoorward ended",
        "commands": "Commands",
        "conformance.additions": "AdditionConformance",
        "conformance.agent_tools": "AgentToolConformance",
        "conformance.auths": "AuthConformance",
        "conformance.base": "only require",
        "conformance.caches": "CacheConformance",
        "conformance.commands": "CommandConformance",
        "conformance.deciders": "DeciderConformance",
        "conformance.distributions": "DistributionConformance",
        "conformance.echo": "Request",
        "conformance.exporters": "ExporterConformance",
        "conformance.guards": "GuardConformance",
        "conformance.hooks": "HookConformance ODD_TEXTS ask call_of",
        "conformance.layers": "LayerConformance run_of",
        "conformance.observers": "ObserverConformance",
        "conformance.result_changes": "ResultChangeConformance",
        "conformance.search_engines": "SearchEngineConformance",
        "conformance.search_views": "SearchViewConformance",
        "conformance.secret_schemes": "SecretSchemeConformance",
        "conformance.sources": "SourceConformance",
        "conformance.store": "StoreConformance",
        "counting": "counted_functions",
        "cpython": "FullPythonConformance",
        "door": "Door",
        "executors": "ExecutorConformance",
        "host": "Host",
        "ports": "reserve_port",
        "shared_executor": "SharedExecutor",
        "stores": "CatalogStoreConformance",
    },
)
__all__ = [*_EXPORTS.places]
__getattr__ = _EXPORTS.load
