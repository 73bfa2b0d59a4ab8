"""How many tokens the demo took, compared with loading every operation as a tool. An estimate: UTF-8 bytes / 4."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

BYTES_A_TOKEN = 4


class Account:
    """The bytes that pass through the model's context, by purpose."""

    def __init__(self) -> None:
        self._bytes: dict[str, int] = {}

    def add(self, name: str, *texts: str) -> None:
        """Add what the agent wrote and read in a step."""
        self._bytes[name] = sum(len(text.encode()) for text in texts)

    def tokens(
        self, tools: Sequence[Mapping[str, Any]], audit: Sequence[Mapping[str, Any]]
    ) -> dict[str, dict[str, int]]:
        """The tokens so far, with the total in `all`; and those of the same work with each operation as a tool, where
        the answer to each call, whose size is in the audit log, returns to the model."""
        calls = [line["bytes_out"] for line in audit if line["event"] == "call_finished"]
        loaded = sum(len(json.dumps(tool, ensure_ascii=False).encode()) for tool in tools)
        without = {f"definitions of {len(tools)} tools": loaded, f"answers of {len(calls)} calls": sum(calls)}
        return {"with_doorward": _tokens(self._bytes), "with_a_tool_for_each_operation": _tokens(without)}


def _tokens(counted: Mapping[str, int]) -> dict[str, int]:
    return {name: round(n / BYTES_A_TOKEN) for name, n in {**counted, "all": sum(counted.values())}.items()}
