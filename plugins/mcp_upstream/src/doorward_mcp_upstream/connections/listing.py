"""What a live connection said of its server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from doorward import Skipped


@dataclass(frozen=True, slots=True)
class Listing:
    """`tools` are plain JSON as on the wire, repaired; `skipped` are those that could not be read, and why. `era` is
    the version of the protocol that is spoken; `server` is its name and version, `capabilities` what it says it can
    do."""

    tools: Sequence[Mapping[str, Any]]
    skipped: Sequence[Skipped]
    era: str
    instructions: str
    server: Mapping[str, Any]
    capabilities: Mapping[str, Any]
