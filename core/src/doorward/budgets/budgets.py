"""Keeps the budgets of `[[budgets]]`: before a run, before a call, and after it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

from doorward.access.groups import Groups
from doorward.budgets.usage_file import UsageFile
from doorward.config.settings import Config
from doorward.host.logs import log
from doorward.model.calls import Call
from doorward.model.errors import ConfigError, DoorwardError

if TYPE_CHECKING:
    from doorward.budgets.account import Account

_LEAST_COST = 1e-9
_MAX_ACCOUNTS = 10_000
"""Accounts that are remembered; those of principals who come no more are given back from time to time."""


class Budgets:
    """All budgets of a configuration, in a file of the state folder. `price` is what a call of a server costs. Where
    there are none (`any`), nobody asks."""

    def __init__(self, config: Config, price: Callable[[str], float], state: Path) -> None:
        self.any, groups = bool(config.budgets), Groups(config.groups)
        self._budgets = [(budget, f"[[budgets]] {number}") for number, budget in enumerate(config.budgets, 1)]
        for number, (budget, place) in enumerate(self._budgets):
            if any(budget.counts_as(other) for other, _ in self._budgets[:number]):
                raise ConfigError("another budget counts the same", place=place, hint="Give one of them, the smaller.")
        self._whose = [groups.members([budget.principal], place) for budget, place in self._budgets]
        self._price = price
        self.file = UsageFile(state / "usage.db")
        """Where all processes count."""
        self._accounts: dict[tuple[int, str], Account] = {}

    async def run(self, principal: str) -> None:
        """Count a run. Raises: LimitExceeded if the principal has no more of them."""
        if self.any:
            await _pay(self._of(principal, "*", runs=True), {"runs": 1.0})

    async def call(self, call: Call, sent: int) -> None:
        """Count a call that is about to be made. Raises: LimitExceeded."""
        await _pay(self._of(call.principal, call.function.server), self._needed(call, sent))

    def not_made(self, call: Call, sent: int) -> None:
        """Give back what was counted for a call, because it waits with its run for another time."""
        back = {unit: -amount for unit, amount in self._needed(call, sent).items()}
        for account in self._of(call.principal, call.function.server):
            account.spend(back)

    def _needed(self, call: Call, sent: int) -> dict[str, float]:
        cost = max(self._price(call.function.server), _LEAST_COST)
        return {"calls": 1.0, "bytes": float(max(1, sent)), "cost": cost}

    def answered(self, call: Call, received: int) -> None:
        """Count what was not known before the call: its answer, and what its source says that it cost."""
        amounts = {"bytes": float(received), "cost": call.usage.newly("cost")}
        for account in self._of(call.principal, call.function.server):
            account.spend(amounts)

    async def flush(self) -> None:
        """Give back what this process has taken and not spent. What cannot be counted is logged, and kept for the next
        time."""
        accounts = {**self._accounts}
        if len(accounts) > _MAX_ACCOUNTS:
            self._accounts.clear()
        for which, account in accounts.items():
            try:
                await account.give_back()
            except DoorwardError as error:
                self._accounts.setdefault(which, account)
                log.warning("budget_not_given_back", principal=which[1], why=error.message)

    async def close(self) -> None:
        """Give back what was taken, and close the file."""
        await self.flush()
        self.file.close()

    def _of(self, principal: str, server: str, *, runs: bool = False) -> list[Account]:
        """The accounts that pay for a call, or for a run."""
        from doorward.budgets.account import Account

        found = []
        for number, (budget, place) in enumerate(self._budgets):
            if not self._whose[number].fit(principal):
                continue
            if (budget.runs is None) if runs else not fnmatchcase(server, budget.server.replace("-", "_")):
                continue
            account = self._accounts.get((number, principal))
            if account is None:
                account = self._accounts[number, principal] = Account(budget, place, principal, self.file)
            found.append(account)
        return found


async def _pay(accounts: Sequence[Account], needed: Mapping[str, float]) -> None:
    """All of these accounts pay, or none."""
    for number, account in enumerate(accounts):
        if not account.fits(needed):
            try:
                await account.take(needed)
            except BaseException:
                for paid in accounts[:number]:
                    paid.spend({unit: -amount for unit, amount in needed.items()})
                raise
