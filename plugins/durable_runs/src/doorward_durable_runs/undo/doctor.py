"""What `doctor` says of inverses: those that undo nothing as they are declared, and runs of which nothing is stored."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doorward.configuration import module_name

from doorward_durable_runs.stored_runs import STORED_RUNS

if TYPE_CHECKING:
    from doorward import Gateway


def about_undo(gate: Gateway) -> Iterator[tuple[str, bool, str]]:
    """Checks: what, whether it is well, and advice."""
    declared = [name for name, server in gate.servers.configured.items() if server.owned.get("undo")]
    if declared and (durable := gate.services[STORED_RUNS].journals.settings.durable) != "always":
        only = "no run is" if durable == "never" else "only runs that had to wait are"
        yield (
            f"undo: calls of {', '.join(declared)} can be undone, and {only} stored",
            True,
            'Set durable = "always" under [runs]: `doorward runs undo` needs the stored run.',
        )
    for name in declared:
        report = gate.catalog.report(module_name(name))
        for warning in report.warnings if report else ():
            if warning.startswith("undo."):
                yield f"[servers.{name}] {warning}", False, "Until it is fixed, such calls cannot be undone."
