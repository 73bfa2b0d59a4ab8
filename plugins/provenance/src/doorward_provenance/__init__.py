"""Where the arguments of calls came from: from the user's program, or from what a stranger wrote."""

from __future__ import annotations

from doorward_provenance.plugin import Provenance as Provenance
from doorward_provenance.settings import ProvenanceSettings as ProvenanceSettings

__all__ = ["Provenance", "ProvenanceSettings"]
