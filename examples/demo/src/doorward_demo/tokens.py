"""How many tokens this took, against loading every operation as a tool. An estimate: UTF-8 bytes / 4."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

BYTES_A_TOKEN = 4


class Account:
    """Bytes that pass through the model's context, by what they are for."""

    def __init__(self) -> None:
        self._bytes: dict[str, int] = {}

    def add(self, name: str, *texts: str) -> None:
        """What the agent wrote and read in a step."""
        self._bytes[name] = sum(len(text.encode()) for text in texts)

    def tokens(
        self, tools: Sequence[Mapping[str, Any]], audit: Sequence[Mapping[str, Any]]
    ) -> dict[str, dict[str, int]]:
        """Tokens so far, `all` last; and the same work with each operation as a tool, where the answer of each call,
        whose size the audit log knows, comes back to the model."""
        calls = [line["bytes_out"] for line in audit if line["event"] == "call_finished"]
        loaded = sum(len(json.dumps(tool, ensure_ascii=False).encode()) for tool in tools)
        without = {f"definitions of {len(tools)} tools": loaded, f"answers of {len(calls)} calls": sum(calls)}
        return {"with_doorward": _tokens(self._bytes), "with_a_tool_for_each_operation": _tokens(without)}


def _tokens(counted: Mapping[str, int]) -> dict[str, int]:
    return {name: round(n / BYTES_A_TOKEN) for name, n in {**counted, "all": sum(counted.values())}.items()}
