"""Doorward: APIs and MCP servers as Python functions that AI agents call from a sandbox, through one door.

Plugin authors and library users import from here. A name is loaded when it is first used, so that `import doorward`
costs next to nothing.
"""

from __future__ import annotations

import importlib
from typing import Any

_EXPORTS = {
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
    "model.approving": ("APPROVALS", "AsksApproval"),
    "model.contexts": ("PluginContext", "ServerContext"),
    "model.deciders": ("Decider", "Scope"),
    "model.decisions": ("Decision", "effect"),
    "data.frozen": ("frozen",),
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
    "program_api.helper_context": ("HelperContext",),
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
    "model.program_names": ("PROGRAM_NAMES", "ProgramNames"),
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
