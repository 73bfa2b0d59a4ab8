# `make reference` writes this file.
from doorward_testing.checks import check_driver as check_driver
from doorward_testing.checks import check_light_import as check_light_import
from doorward_testing.command_line import Cli as Cli
from doorward_testing.command_line import CommandEnded as CommandEnded
from doorward_testing.command_line import StartDoorward as StartDoorward
from doorward_testing.command_line import ended as ended
from doorward_testing.commands import Commands as Commands
from doorward_testing.conformance.additions import AdditionConformance as AdditionConformance
from doorward_testing.conformance.agent_tools import AgentToolConformance as AgentToolConformance
from doorward_testing.conformance.auths import AuthConformance as AuthConformance
from doorward_testing.conformance.base import only as only
from doorward_testing.conformance.base import require as require
from doorward_testing.conformance.caches import CacheConformance as CacheConformance
from doorward_testing.conformance.commands import CommandConformance as CommandConformance
from doorward_testing.conformance.deciders import DeciderConformance as DeciderConformance
from doorward_testing.conformance.distributions import DistributionConformance as DistributionConformance
from doorward_testing.conformance.echo import Request as Request
from doorward_testing.conformance.exporters import ExporterConformance as ExporterConformance
from doorward_testing.conformance.guards import GuardConformance as GuardConformance
from doorward_testing.conformance.hooks import HookConformance as HookConformance
from doorward_testing.conformance.hooks import ODD_TEXTS as ODD_TEXTS
from doorward_testing.conformance.hooks import ask as ask
from doorward_testing.conformance.hooks import call_of as call_of
from doorward_testing.conformance.layers import LayerConformance as LayerConformance
from doorward_testing.conformance.layers import run_of as run_of
from doorward_testing.conformance.observers import ObserverConformance as ObserverConformance
from doorward_testing.conformance.result_changes import ResultChangeConformance as ResultChangeConformance
from doorward_testing.conformance.search_engines import SearchEngineConformance as SearchEngineConformance
from doorward_testing.conformance.search_views import SearchViewConformance as SearchViewConformance
from doorward_testing.conformance.secret_schemes import SecretSchemeConformance as SecretSchemeConformance
from doorward_testing.conformance.sources import SourceConformance as SourceConformance
from doorward_testing.conformance.store import StoreConformance as StoreConformance
from doorward_testing.counting import counted_functions as counted_functions
from doorward_testing.cpython import FullPythonConformance as FullPythonConformance
from doorward_testing.door import Door as Door
from doorward_testing.executors import ExecutorConformance as ExecutorConformance
from doorward_testing.host import Host as Host
from doorward_testing.ports import reserve_port as reserve_port
from doorward_testing.shared_executor import SharedExecutor as SharedExecutor
from doorward_testing.stores import CatalogStoreConformance as CatalogStoreConformance

__all__ = [
    "AdditionConformance",
    "AgentToolConformance",
    "AuthConformance",
    "CacheConformance",
    "CatalogStoreConformance",
    "Cli",
    "CommandConformance",
    "CommandEnded",
    "Commands",
    "DeciderConformance",
    "DistributionConformance",
    "Door",
    "ExecutorConformance",
    "ExporterConformance",
    "FullPythonConformance",
    "GuardConformance",
    "HookConformance",
    "Host",
    "LayerConformance",
    "ODD_TEXTS",
    "ObserverConformance",
    "Request",
    "ResultChangeConformance",
    "SearchEngineConformance",
    "SearchViewConformance",
    "SecretSchemeConformance",
    "SharedExecutor",
    "SourceConformance",
    "StartDoorward",
    "StoreConformance",
    "ask",
    "call_of",
    "check_driver",
    "check_light_import",
    "counted_functions",
    "ended",
    "only",
    "require",
    "reserve_port",
    "run_of",
]
