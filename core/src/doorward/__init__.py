"""Doorward: APIs and MCP servers as Python functions that AI agents call from a sandbox, through one door.

Plugin authors and library users import from here. A name is loaded when it is first used, so that `import doorward`
costs next to nothing.
"""

from __future__ import annotations

import importlib
from typing import Any

_EXPORTS = {
    "model.agent_tools": ("AgentTool", "ToolAnswer", "ToolCaller"),
    "model.contexts": ("PluginContext", "ServerContext"),
    "model.deciders": ("Decider", "Scope"),
    "model.decisions": ("Decision",),
    "model.drivers": ("Auth", "Cache", "Observer", "Source"),
    "model.executors": ("Capabilities", "Door", "Executor", "Sandbox"),
    "model.interaction": ("Client",),
    "model.errors": (
        "ApiError",
        "Busy",
        "CannotAsk",
        "ConfigError",
        "DoorwardError",
        "ExecutorError",
        "GuardRefused",
        "InvalidArguments",
        "InvalidProgram",
        "LimitExceeded",
        "LoginRefused",
        "MissingSecret",
        "OutcomeUnknown",
        "PluginError",
        "ProgramDiverged",
        "RateLimited",
        "Refused",
        "RefusedForNow",
        "SandboxDied",
        "ServerError",
        "StateError",
        "ToolError",
        "UnknownName",
        "Unsupported",
    ),
    "gateway": ("Gateway",),
    "plugins.hookspecs": ("hookimpl", "hookspec"),
    "host.logs": ("log",),
    "model.settings": ("Settings",),
    "model.services": ("Service", "Services"),
    "model.version": ("PLUGIN_API", "__version__"),
    "model.waits": ("Wait",),
    "model.layers": ("CallLayer", "Proceed", "Run", "RunLayer", "RunState", "StateKey"),
    "model.limits": ("Limits",),
    "secrets.store": ("Secret", "Template"),
    "model.calls": ("Call", "CallRecord", "File", "Reply"),
    "model.functions": ("Compiled", "Function", "Schema", "Skipped", "Suggestion"),
    "model.outcomes": ("Artefact", "Outcome"),
    "model.principals": ("LOCAL", "Principal"),
    "model.programs": ("Failure", "Finding", "Program", "ProgramResult"),
    "model.usage": ("Usage",),
}
_MODULE_OF = {name: module for module, names in _EXPORTS.items() for name in names}
__all__ = [*_MODULE_OF]


def __getattr__(name: str) -> Any:
    if name in _MODULE_OF:
        return getattr(importlib.import_module(f"doorward.{_MODULE_OF[name]}"), name)
    raise AttributeError(f"module 'doorward' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
