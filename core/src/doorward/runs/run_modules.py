"""What the sandbox of a run may import."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from doorward.model.errors import DoorwardError, UnknownName

if TYPE_CHECKING:
    from doorward.calls.broker import Broker
    from doorward.model.executors import Aliases
    from doorward.model.program_names import ProgramNames
    from doorward.model.programs import Program
    from doorward.runs.program_modules import Modules


class RunModules:
    """The part of `RunContext` that tells a sandbox of modules: those that the run's principal can use."""

    __slots__ = ("_broker", "_modules", "_program")

    def __init__(self, program: Program, broker: Broker, modules: Modules) -> None:
        self._program, self._broker, self._modules = program, broker, modules

    async def prepare(self) -> None:
        """See `Modules.prepare`."""
        await self._modules.prepare(self._program.principal, self._program.code)

    @property
    def names(self) -> ProgramNames:
        """See `Modules.names`."""
        return self._modules.names

    def members(self, server: str) -> Sequence[str] | None:
        return self._modules.members(server, self._program.principal)

    def stub(self, server: str, names: Sequence[str]) -> str:
        return self._modules.stub(server, names, self._program.principal, self._program.language)

    def aliases(self, code: str, *, everything: bool = False) -> Aliases:
        servers = self._modules.usable_by(self._program.principal)
        return self.names.aliases(self._program.language, code, servers, self._modules.has, everything=everything)

    def absent(self, server: str) -> tuple[str, list[str]]:
        """See `Modules.absent`."""
        return self._modules.absent(server, self._program.principal)

    def near(self, server: str, name: str) -> str:
        """The hint for a function that the program does not find: why it is denied, if it is, or similar names."""
        functions, principal = self._broker.functions, self._program.principal
        bare, name = name, f"{server}.{name}"
        try:
            self._broker.permissions.check(self._program, functions.find(name, principal, near=False))
        except UnknownName:
            pass
        except DoorwardError as error:
            return str(error)
        said = self._modules.said_of_helper(bare)
        return said or functions.near(name, principal)
