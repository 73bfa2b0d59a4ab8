"""Keeps the budgets of `[[budgets]]`: before a run, around a call, and after it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from doorward import (
    Call,
    CallLayer,
    CallRecord,
    ConfigError,
    DoorwardError,
    Outcome,
    PluginContext,
    Reply,
    Run,
    RunLayer,
    hookimpl,
    log,
)
from doorward.engines import MemoryStore
from doorward.serving import person_of

from doorward_budgets.counters import Counters
from doorward_budgets.used_budgets import USED_BUDGETS, UsedBudgets

if TYPE_CHECKING:
    from doorward import Gateway

    from doorward_budgets.account import Account

_LEAST_COST = 1e-9
_MAX_ACCOUNTS = 10_000
"""Accounts that are remembered; those of principals who come no more are given back from time to time."""


class Budgets:
    """All budgets of a configuration, counted in the store of the gateway."""

    def __init__(self, context: PluginContext) -> None:
        """Raises: ConfigError for two budgets that count the same, for an unknown group, and without a store: each
        process would count for itself, and forget."""
        budgets = context.tables.get("budgets", [])
        self._budgets = [(budget, f"[[budgets]] {number}") for number, budget in enumerate(budgets, 1)]
        for number, (budget, place) in enumerate(self._budgets):
            if any(budget.counts_as(other) for other, _ in self._budgets[:number]):
                raise ConfigError("another budget counts the same", place=place, hint="Give one of them, the smaller.")
        self._whose = [context.members([budget.principal], place) for budget, place in self._budgets]
        self._server_key = context.server_key
        if self._budgets and context.store is None:
            hint = '`pip install doorward-store-sqlite` brings one; store = "memory" counts in this process alone.'
            raise ConfigError("budgets need a store", place="[[budgets]]", hint=hint)
        self._counters = Counters(context.store or MemoryStore(), context.state / "usage.db")
        self._accounts: dict[tuple[int, str], Account] = {}

    @hookimpl
    def gateway_made(self, gateway: Gateway) -> None:
        for budget, place in self._budgets:
            gateway.principals.expect(f"{place} server", [budget.server])
        if self._budgets:
            gateway.services.give(USED_BUDGETS, UsedBudgets([each for each, _ in self._budgets], self._counters))

    @hookimpl
    def run_layers(self) -> list[RunLayer]:
        return [RunLayer("budgets", self._around_run)] if self._budgets else []

    @hookimpl
    def call_layers(self) -> list[CallLayer]:
        return [CallLayer("budgets", self._around_call)] if self._budgets else []

    async def _around_run(self, run: Run, proceed: Callable[[], Awaitable[Outcome]]) -> Outcome:
        """Count a run that begins. Raises: LimitExceeded if the principal has no more of them."""
        if not run.goes_on:
            await _pay(self._of(run.program.principal, "*", runs=True), {"runs": 1.0})
        return await proceed()

    async def _around_call(self, run: Run, call: Call, proceed: Callable[[], Awaitable[Reply]]) -> Reply:
        """Count a call; one that waits with its run, because it was not made, is paid when it is. Raises:
        LimitExceeded."""
        accounts = self._of(call.principal, _where(call))
        cost = max(self._server_key(call.function.server, "price") or 0.0, _LEAST_COST)
        needed = {"calls": 1.0, "bytes": float(max(1, call.size)), "cost": cost}
        await _pay(accounts, needed)
        try:
            return await proceed()
        except asyncio.CancelledError:
            if not run.is_out(call):
                _give_back(accounts, needed)
            raise

    @hookimpl
    def call_finished(self, call: Call, record: CallRecord) -> None:
        """Count what was not known before the call: its answer, and what its source says that it cost."""
        amounts = {"bytes": float(record.bytes_out), "cost": call.usage.newly("cost")}
        if any(amounts.values()):
            for account in self._of(call.principal, _where(call)):
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
        """Give back what was taken."""
        await self.flush()

    def _of(self, principal: str, server: str, *, runs: bool = False) -> list[Account]:
        """The accounts that pay for a call, or for a run."""
        from doorward_budgets.account import Account

        found, person = [], person_of(principal)
        for number, (budget, place) in enumerate(self._budgets):
            if not self._whose[number](principal):
                continue
            if (budget.runs is None) if runs else not _means(budget.server, server):
                continue
            # A person pays from one budget by whatever endpoint they come, unless it is for those of an endpoint.
            who = person if self._whose[number](person) else principal
            account = self._accounts.get((number, who))
            if account is None:
                account = self._accounts[number, who] = Account(budget, place, who, self._counters)
            found.append(account)
        return found


def _where(call: Call) -> str:
    """The server of a call, with the account that it uses of several: `github@work`."""
    return f"{call.function.server}@{call.account}" if call.account else call.function.server


def _means(pattern: str, where: str) -> bool:
    """Whether a pattern means a server, by its name, or an account of it, by `server@account`."""
    server, _, account = pattern.partition("@")
    name, _, used = where.partition("@")
    return fnmatchcase(name, server.replace("-", "_")) and (not account or fnmatchcase(used, account))


async def _pay(accounts: Sequence[Account], needed: Mapping[str, float]) -> None:
    """All of these accounts pay, or none."""
    for number, account in enumerate(accounts):
        if not account.fits(needed):
            try:
                await account.take(needed)
            except BaseException:
                _give_back(accounts[:number], needed)
                raise


def _give_back(accounts: Sequence[Account], needed: Mapping[str, float]) -> None:
    for account in accounts:
        account.spend({unit: -amount for unit, amount in needed.items()})
