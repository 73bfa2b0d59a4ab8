"""The hook plugin `clients`: `serve` notices servers that the configurations of MCP clients have and ours has not."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from doorward import Settings, hookimpl, log
from pydantic import Field

if TYPE_CHECKING:
    from doorward import PluginContext

    from doorward_clients.planning import Step

PLUGIN_API = 1


class ClientsSettings(Settings):
    """`[hooks.clients]`"""

    new_servers: Literal["log", "take"] = Field(
        "log",
        description="What happens to a server that a client has got: the log says so, or it is taken over, unless it "
        "would get a variable that is set already",
    )


class ClientsHook:
    """Looks at the clients' files for all folders, and at `~/MCPs`: those of a project are anybody's."""

    Settings = ClientsSettings

    def __init__(self, context: PluginContext[ClientsSettings]) -> None:
        self._takes = context.settings.new_servers == "take"
        self._known: set[tuple[str, str]] = set()

    @hookimpl
    def refresh_due(self, config: Path, env_file: Path) -> None:
        """See `doorward.hookspecs`. Each server is logged once."""
        from doorward_cli import Project

        from doorward_clients.clients import CLIENTS, Machine
        from doorward_clients.planning import Plan
        from doorward_clients.search import FOLDER, Search

        machine = Machine.here()
        search = Search(machine)
        search.clients(CLIENTS.values(), scopes=("global",))
        search.folder(machine.home / FOLDER)
        plan = Plan(Project(config, env_file, False), machine.home)
        plan.add(search.servers)
        plan.leave()
        if self._takes:
            plan.write()
            self._log("client_servers_taken", plan.written, "See `doorward list`; [policy] says what may be called.")
        new = [step for step in plan.steps if step.action in ("unasked", "differs") or step in plan.written]
        self._log("client_servers_new", new, "`doorward import` takes them over.")

    def _log(self, event: str, steps: Sequence[Step], hint: str) -> None:
        from doorward_clients.planning import printable

        new = [step for step in steps if (step.found.name, step.found.client) not in self._known]
        self._known |= {(step.found.name, step.found.client) for step in new}
        if new:
            named = [f"{printable(step.found.name)} of {printable(step.found.origin)}" for step in new]
            log.warning(event, servers=named, hint=hint)
