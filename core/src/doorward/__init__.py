"""Doorward: APIs and MCP servers as Python functions that AI agents call from a sandbox, through one door.

Plugin authors and library users import from here. A name is loaded when it is first used, so that `import doorward`
costs next to nothing.
"""

from doorward.exports import Exports

_EXPORTS = Exports(
    __name__,
    {
        "gateway": "Gateway",
        "host.logs": "log",
        "model.agent_tools": "AgentTool ToolAnswer ToolCaller",
        "model.calls": "Call CallRecord Client Decider Decision File Reply Scope Usage",
        "model.contexts": "PluginContext ServerContext",
        "model.drivers": "Auth Cache Observer Source",
        "model.errors": (
            "ApiError Busy CannotAsk ConfigError DoorwardError ExecutorError GuardRefused InvalidArguments "
            "InvalidProgram LimitExceeded LoginRefused MissingSecret OutcomeUnknown PluginError ProgramDiverged "
            "RateLimited Refused RefusedForNow SandboxDied ServerError StateError ToolError UnknownName "
            "Unsupported"
        ),
        "model.executors": "Capabilities Door Executor Sandbox",
        "model.functions": "Compiled Function Schema Skipped Suggestion",
        "model.layers": "CallLayer Proceed Run RunLayer RunState StateKey",
        "model.programs": "Artefact Failure Finding Limits Outcome Program ProgramResult Wait",
        "model.principals": "LOCAL Principal",
        "model.services": "Service Services",
        "model.settings": "Settings",
        "model.version": "PLUGIN_API __version__",
        "plugins.hookspecs": "hookimpl hookspec",
        "secrets.store": "Secret Template",
    },
)
__all__ = [*_EXPORTS.places]
__getattr__ = _EXPORTS.load


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
