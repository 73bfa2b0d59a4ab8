"""Stored runs: a run that has to wait, or whose process dies, goes on later; and each can be played again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from doorward_durable_runs.asks_approval import APPROVALS as APPROVALS
from doorward_durable_runs.asks_approval import AsksApproval as AsksApproval
from doorward_durable_runs.durable_runs import DurableRuns as DurableRuns
from doorward_durable_runs.journal.journals import Journals as Journals
from doorward_durable_runs.journal.journals import open_journals as open_journals
from doorward_durable_runs.plans.outcome import PlannedCalls as PlannedCalls
from doorward_durable_runs.plans.outcome import planned_calls as planned_calls
from doorward_durable_runs.run_in_words import run_calls as run_calls
from doorward_durable_runs.run_in_words import run_state as run_state
from doorward_durable_runs.run_in_words import run_summary as run_summary
from doorward_durable_runs.run_timeline import run_timeline as run_timeline
from doorward_durable_runs.sealing import Box as Box
from doorward_durable_runs.sealing import Sealing as Sealing
from doorward_durable_runs.sealing import shared_salt as shared_salt
from doorward_durable_runs.settings import RunSettings as RunSettings
from doorward_durable_runs.storage.given import Given as Given
from doorward_durable_runs.storage.run_store import RunFile as RunFile
from doorward_durable_runs.storage.run_store import RunStore as RunStore
from doorward_durable_runs.storage.run_store import StoredRun as StoredRun
from doorward_durable_runs.stored_runs import STORED_RUNS as STORED_RUNS
from doorward_durable_runs.stored_runs import StoredRuns as StoredRuns
from doorward_durable_runs.undoes_runs import UNDOES as UNDOES
from doorward_durable_runs.undoes_runs import UndoesRuns as UndoesRuns

__all__ = [
    "APPROVALS", "STORED_RUNS", "UNDOES", "AsksApproval", "Box", "DocumentedSecrets", "DurableRuns", "Given",
    "Journals", "PlannedCalls", "RunFile", "RunSettings", "RunStore", "Sealing", "StoredRun", "StoredRuns",
    "UndoesRuns", "open_journals", "planned_calls", "run_calls", "run_state", "run_summary", "run_timeline",
    "shared_salt",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name == "DocumentedSecrets":
        from doorward_durable_runs import documented_secrets  # the start does not wait for it

        return documented_secrets.DocumentedSecrets
    raise AttributeError(f"module 'doorward_durable_runs' has no attribute {name!r}")


if TYPE_CHECKING:
    from doorward_durable_runs.documented_secrets import DocumentedSecrets as DocumentedSecrets
