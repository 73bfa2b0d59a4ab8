"""The listing: what a server offers, as it said on a live connection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from doorward import Skipped


@dataclass(frozen=True, slots=True)
class Listing:
    """The tools of a server, and what it says of itself.

    `tools` are repaired JSON from the wire; `skipped` says which ones could not be read, and why. `era` is the protocol
    version; `server` holds name and version of the server.
    """

    tools: Sequence[Mapping[str, Any]]
    skipped: Sequence[Skipped]
    era: str
    instructions: str
    server: Mapping[str, Any]
    capabilities: Mapping[str, Any]
