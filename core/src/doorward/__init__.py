"""Doorward: APIs and MCP servers as Python functions that AI agents call from a sandbox, through one door.

Plugin authors and library users import from here. A name is loaded when it is first used, so that `import doorward`
costs next to nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

_EXPORTS = {
    "access.usage_file": ("Counter", "UsageFile"),
    "compat.aliases": ("aliases",),
    "config.config": ("module_name",),
    "config.validation": ("validate",),
    "packages.index": ("GROUPS", "Entry", "Index", "installed"),
    "model.abilities": (
        "Enhances", "HasBaseUrl", "HasIdempotencyKey", "HasOrigins", "HasPackages", "HasPaths", "HasSettings",
        "HasReady", "HasSlots", "HasUrl", "HasWait", "HasWorkingFolder", "OffersFunctions", "SupportsBuild",
        "SupportsClose", "SupportsLogin", "SupportsLoginCheck", "SupportsFlush", "SupportsLogout",
        "SupportsMachineCheck", "SupportsOpen", "SupportsServerCheck", "TellsChanges", "TellsUpstreams",
    ),
    "model.agent_tools": ("AgentTool", "ToolAnswer", "ToolCaller"),
    "model.approvals": ("ApprovalRequest",),
    "model.contexts": ("PluginContext", "ServerContext"),
    "model.deciders": ("Decider", "Scope"),
    "model.decisions": ("Decision",),
    "model.drivers": ("Auth", "Cache", "Observer", "SearchView", "Source"),
    "model.enhancement": ("Documentation", "Enhancement"),
    "data.planned": ("PLANNED_KEY", "Planned"),
    "model.executors": ("Aliases", "Capabilities", "Door", "Executor", "Sandbox"),
    "model.events": ("AuthChosen", "CallFinished", "Event", "EventsDropped", "RunFinished", "RunStarted"),
    "model.interaction": ("Client", "LoginPrompt"),
    "model.errors": (
        "ApiError", "Busy", "CannotAsk", "ConfigError", "DoorwardError", "ExecutorError", "GuardRefused",
        "InvalidArguments", "InvalidProgram", "LimitExceeded", "LoginRefused", "MissingSecret", "OutcomeUnknown",
        "PluginError", "ProgramDiverged", "RateLimited", "Refused", "RefusedForNow", "SandboxDied", "ServerError",
        "StateError", "ToolError", "UnknownName", "Unsupported",
    ),
    "host.files": ("alone", "check_own", "flocked", "own_file", "own_folder", "write_own"),
    "gateway": ("Gateway",),
    "plugins.hookspecs": ("hookimpl", "hookspec"),
    "data.headers": ("is_hidden_header", "shown_headers"),
    "calls.items": ("items_of",),
    "host.loopback": ("is_loopback",),
    "host.self_reference": ("starts_doorward",),
    "host.logs": ("log",),
    "host.sqlite_file": ("SqliteFile",),
    "host.sqlite_layout": ("SqliteLayout",),
    "plugins.manager": ("Plugins",),
    "plugins.mcp_additions": ("RawPage", "RawPrompt", "RawResource", "RawTool", "principal_of"),
    "model.settings": ("Settings",),
    "model.services": ("Service", "Services"),
    "model.version": ("PLUGIN_API", "__version__"),
    "model.waits": ("Wait",),
    "model.layers": ("CallLayer", "Proceed", "Run", "RunLayer", "RunState", "StateKey"),
    "model.limits": ("Limits",),
    "model.names": ("is_plain", "python_name", "unique_names"),
    "programs.awaited_calls": ("awaited",),
    "programs.parameters": ("bind", "parameters"),
    "programs.program_text": ("sets_result",),
    "data.quoting": ("in_a_line", "quoted", "status"),
    "data.offload": ("aside", "to_its_end", "write_json"),
    "data.json_reading": ("decoded", "read_json"),
    "data.json_values": ("values_in",),
    "secrets.detection": ("found_tokens",),
    "secrets.references": ("escaped",),
    "secrets.store": ("Secret", "Secrets", "Template"),
    "config.settings": ("Config",),
    "describe.signatures": ("signature",),
    "data.clean_text": ("clean_text",),
    "data.wording": ("first_sentence",),
    "model.calls": ("Call", "CallRecord", "File", "Reply", "if_repeated"),
    "model.functions": ("Compiled", "Function", "Schema", "Skipped", "Suggestion"),
    "model.outcomes": ("ARTEFACT_URI", "Artefact", "Outcome"),
    "model.principals": ("LOCAL", "Principal"),
    "model.programs": ("CachedProgram", "Failure", "Finding", "Frame", "Program", "ProgramResult"),
    "model.call_trace": ("CallTrace", "RequestTrace"),
    "plugins.tracing": ("current_trace",),
    "model.usage": ("Usage",),
    "host.watchdog": ("Watchdog",),
}  # fmt: skip
_MODULE_OF = {name: module for module, names in _EXPORTS.items() for name in names}
__all__ = [*_MODULE_OF]


def __getattr__(name: str) -> Any:
    if name in _MODULE_OF:
        return getattr(importlib.import_module(f"doorward.{_MODULE_OF[name]}"), name)
    raise AttributeError(f"module 'doorward' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


if TYPE_CHECKING:
    from doorward.access.usage_file import Counter as Counter
    from doorward.access.usage_file import UsageFile as UsageFile
    from doorward.calls.items import items_of as items_of
    from doorward.compat.aliases import aliases as aliases
    from doorward.config.config import module_name as module_name
    from doorward.config.settings import Config as Config
    from doorward.config.validation import validate as validate
    from doorward.data.clean_text import clean_text as clean_text
    from doorward.data.headers import is_hidden_header as is_hidden_header
    from doorward.data.headers import shown_headers as shown_headers
    from doorward.data.json_reading import decoded as decoded
    from doorward.data.json_reading import read_json as read_json
    from doorward.data.json_values import values_in as values_in
    from doorward.data.offload import aside as aside
    from doorward.data.offload import to_its_end as to_its_end
    from doorward.data.offload import write_json as write_json
    from doorward.data.planned import PLANNED_KEY as PLANNED_KEY
    from doorward.data.planned import Planned as Planned
    from doorward.data.quoting import in_a_line as in_a_line
    from doorward.data.quoting import quoted as quoted
    from doorward.data.quoting import status as status
    from doorward.data.wording import first_sentence as first_sentence
    from doorward.describe.signatures import signature as signature
    from doorward.gateway import Gateway as Gateway
    from doorward.host.files import alone as alone
    from doorward.host.files import check_own as check_own
    from doorward.host.files import flocked as flocked
    from doorward.host.files import own_file as own_file
    from doorward.host.files import own_folder as own_folder
    from doorward.host.files import write_own as write_own
    from doorward.host.logs import log as log
    from doorward.host.loopback import is_loopback as is_loopback
    from doorward.host.self_reference import starts_doorward as starts_doorward
    from doorward.host.sqlite_file import SqliteFile as SqliteFile
    from doorward.host.sqlite_layout import SqliteLayout as SqliteLayout
    from doorward.host.watchdog import Watchdog as Watchdog
    from doorward.model.abilities import *  # noqa: F403
    from doorward.model.agent_tools import AgentTool as AgentTool
    from doorward.model.agent_tools import ToolAnswer as ToolAnswer
    from doorward.model.agent_tools import ToolCaller as ToolCaller
    from doorward.model.approvals import ApprovalRequest as ApprovalRequest
    from doorward.model.call_trace import CallTrace as CallTrace
    from doorward.model.call_trace import RequestTrace as RequestTrace
    from doorward.model.calls import Call as Call
    from doorward.model.calls import CallRecord as CallRecord
    from doorward.model.calls import File as File
    from doorward.model.calls import Reply as Reply
    from doorward.model.calls import if_repeated as if_repeated
    from doorward.model.contexts import PluginContext as PluginContext
    from doorward.model.contexts import ServerContext as ServerContext
    from doorward.model.deciders import Decider as Decider
    from doorward.model.deciders import Scope as Scope
    from doorward.model.decisions import Decision as Decision
    from doorward.model.drivers import Auth as Auth
    from doorward.model.drivers import Cache as Cache
    from doorward.model.drivers import Observer as Observer
    from doorward.model.drivers import SearchView as SearchView
    from doorward.model.drivers import Source as Source
    from doorward.model.enhancement import Documentation as Documentation
    from doorward.model.enhancement import Enhancement as Enhancement
    from doorward.model.errors import *  # noqa: F403
    from doorward.model.events import AuthChosen as AuthChosen
    from doorward.model.events import CallFinished as CallFinished
    from doorward.model.events import Event as Event
    from doorward.model.events import EventsDropped as EventsDropped
    from doorward.model.events import RunFinished as RunFinished
    from doorward.model.events import RunStarted as RunStarted
    from doorward.model.executors import Aliases as Aliases
    from doorward.model.executors import Capabilities as Capabilities
    from doorward.model.executors import Door as Door
    from doorward.model.executors import Executor as Executor
    from doorward.model.executors import Sandbox as Sandbox
    from doorward.model.functions import Compiled as Compiled
    from doorward.model.functions import Function as Function
    from doorward.model.functions import Schema as Schema
    from doorward.model.functions import Skipped as Skipped
    from doorward.model.functions import Suggestion as Suggestion
    from doorward.model.interaction import Client as Client
    from doorward.model.interaction import LoginPrompt as LoginPrompt
    from doorward.model.layers import CallLayer as CallLayer
    from doorward.model.layers import Proceed as Proceed
    from doorward.model.layers import Run as Run
    from doorward.model.layers import RunLayer as RunLayer
    from doorward.model.layers import RunState as RunState
    from doorward.model.layers import StateKey as StateKey
    from doorward.model.limits import Limits as Limits
    from doorward.model.names import is_plain as is_plain
    from doorward.model.names import python_name as python_name
    from doorward.model.names import unique_names as unique_names
    from doorward.model.outcomes import ARTEFACT_URI as ARTEFACT_URI
    from doorward.model.outcomes import Artefact as Artefact
    from doorward.model.outcomes import Outcome as Outcome
    from doorward.model.principals import LOCAL as LOCAL
    from doorward.model.principals import Principal as Principal
    from doorward.model.programs import CachedProgram as CachedProgram
    from doorward.model.programs import Failure as Failure
    from doorward.model.programs import Finding as Finding
    from doorward.model.programs import Frame as Frame
    from doorward.model.programs import Program as Program
    from doorward.model.programs import ProgramResult as ProgramResult
    from doorward.model.services import Service as Service
    from doorward.model.services import Services as Services
    from doorward.model.settings import Settings as Settings
    from doorward.model.usage import Usage as Usage
    from doorward.model.version import PLUGIN_API as PLUGIN_API
    from doorward.model.version import __version__ as __version__
    from doorward.model.waits import Wait as Wait
    from doorward.packages.index import GROUPS as GROUPS
    from doorward.packages.index import Entry as Entry
    from doorward.packages.index import Index as Index
    from doorward.packages.index import installed as installed
    from doorward.plugins.hookspecs import hookimpl as hookimpl
    from doorward.plugins.hookspecs import hookspec as hookspec
    from doorward.plugins.manager import Plugins as Plugins
    from doorward.plugins.mcp_additions import RawPage as RawPage
    from doorward.plugins.mcp_additions import RawPrompt as RawPrompt
    from doorward.plugins.mcp_additions import RawResource as RawResource
    from doorward.plugins.mcp_additions import RawTool as RawTool
    from doorward.plugins.mcp_additions import principal_of as principal_of
    from doorward.plugins.tracing import current_trace as current_trace
    from doorward.programs.awaited_calls import awaited as awaited
    from doorward.programs.parameters import bind as bind
    from doorward.programs.parameters import parameters as parameters
    from doorward.programs.program_text import sets_result as sets_result
    from doorward.secrets.detection import found_tokens as found_tokens
    from doorward.secrets.references import escaped as escaped
    from doorward.secrets.store import Secret as Secret
    from doorward.secrets.store import Secrets as Secrets
    from doorward.secrets.store import Template as Template
