"""Entries of clients that start another gateway of this kind, whose place Doorward takes. They are not taken over: a
gateway behind a gateway would start each server twice. An import says what its settings, which are variables, are
called here."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any

from doorward_clients.entries import parse
from doorward_clients.left_out import FILES, LeftOut

_NAMES = re.compile(r"(?:code-executor-mcp|mcp[-_]server[-_]code[-_]execution[-_]mode(?:\.py)?)(?:@.*)?")
_COMMAND = "mce"
_MODEL = 'of a server with source = "llm"'
_SETTINGS = {
    "MCP_CONFIG_PATH": "`doorward import FILE`",
    "DENO_PATH": "[executors.deno] deno",
    "PYTHON_ENABLED": "executor",
    "PYTHON_SANDBOX_READY": "executor",
    "ENABLE_AUDIT_LOG": "it is on by default",
    "AUDIT_LOG_PATH": "[hooks.audit_jsonl] path",
    "ALLOWED_PROJECTS": FILES,
    "CODE_EXECUTOR_SAMPLING_ENABLED": 'a server with source = "llm"',
    "CODE_EXECUTOR_MAX_SAMPLING_ROUNDS": f"rounds {_MODEL}",
    "CODE_EXECUTOR_MAX_SAMPLING_TOKENS": f"tokens {_MODEL}",
    "CODE_EXECUTOR_AI_PROVIDER": f"provider {_MODEL}",
    "MCP_BRIDGE_RUNTIME": "[executors.docker] host",
    "MCP_BRIDGE_IMAGE": "[executors.docker] image",
    "MCP_BRIDGE_TIMEOUT": "[limits] timeout",
    "MCP_BRIDGE_MAX_TIMEOUT": "[limits] max_timeout",
    "MCP_BRIDGE_MEMORY": "[limits] memory",
    "MCP_BRIDGE_PIDS": "[limits] processes",
    "MCP_BRIDGE_CPUS": "[executors.docker] cpus",
    "MCP_BRIDGE_CONTAINER_USER": "[executors.docker] user",
    "MCP_BRIDGE_RUNTIME_IDLE_TIMEOUT": "[executors.docker] idle",
    "MCP_BRIDGE_STATE_DIR": "state",
    "MCP_BRIDGE_OUTPUT_MODE": "output",
    "MCP_BRIDGE_LOG_LEVEL": "log_level",
    "MCP_BRIDGE_ALLOW_SELF_SERVER": "allow_self of the server",
}
"""What does here what these variables do there; those of MCE are in `mce.py`."""


def starts_gateway(command: Sequence[str]) -> bool:
    """Whether a command line starts one of the gateways that Doorward replaces."""
    names = [PurePath(word).name if word.endswith(".py") else word for word in command]
    return any(map(_NAMES.fullmatch, names)) or (bool(command) and PurePath(command[0]).stem == _COMMAND)


def settings(raw: Any, place: str) -> Iterator[LeftOut]:
    """The settings of such a gateway in the entry that starts it; none for other entries."""
    from doorward_clients import mce

    try:
        entry = parse(raw)
    except ValueError:
        return
    env = raw.get("env") if isinstance(raw, Mapping) else None
    if not starts_gateway(entry.command) or not isinstance(env, Mapping):
        return
    for name in map(str, env):
        model = f"api_key {_MODEL}" if name.endswith("_API_KEY") else ""
        yield mce.setting(name, env[name], place) or LeftOut(place, name, _SETTINGS.get(name, model))
