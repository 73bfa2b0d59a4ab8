"""The accounts of a server, and which of them a call uses: never a guess."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Any

from doorward.config.config import Server
from doorward.config.settings import AccountSettings
from doorward.model.calls import ACCOUNT
from doorward.model.errors import InvalidArguments, Refused

MARK = "@"
"""What stands between the name of a server and that of an account: `github@work`."""


def of_account(server: Server, account: str) -> Server:
    """A server as one of its accounts has it. For the default account it is the server itself: that compiles it."""
    if not account:
        return server
    own = server.settings.accounts[account]
    settings = server.settings.model_copy(update={"auth": own.auth, "local_auth": None, "accounts": {}})
    return Server(server.name, settings, server.options, f"{server.place} accounts.{account}", server.owned, account)


class Accounts:
    """The accounts of one server. `members` says which principals names, wildcards and groups mean."""

    def __init__(self, server: Server, members: Callable[[Iterable[str], str], Callable[[str], bool]]) -> None:
        self._server, self._all = server.name, server.settings.accounts
        self._may_use = {
            name: members(account.principals, f"{server.place} accounts.{name} principals")
            for name, account in self._all.items()
        }
        self._default = next((name for name, account in self._all.items() if account.default), "")

    def of(self, principal: str) -> list[str]:
        """The accounts that a principal may use."""
        return [name for name in self._all if self._may_use[name](principal)]

    def said(self, principal: str) -> str:
        """What whoever calls a function of the server should know of its accounts; empty if there is no choice."""
        theirs = self.of(principal)
        default = f"; {self._default!r} where nothing says which" if self._default in theirs else ""
        return f"{ACCOUNT}= chooses the account: {', '.join(map(repr, theirs))}{default}." if theirs[1:] else ""

    def choose(self, asked: Any, arguments: Mapping[str, Any], principal: str) -> str:
        """The account of a call: the one that is `asked` for, else the one whose rule fits, else the default.

        Raises: Refused, if several fit or none does, or the one asked for is not theirs; InvalidArguments.
        """
        theirs = self.of(principal)
        there = f"Accounts of {self._server}: {', '.join(theirs) or 'none of yours'}."
        if asked is not None:
            if asked not in theirs:
                raise InvalidArguments(f"{self._server} has no account {str(asked)[:100]!r} for you", hint=there)
            return str(asked)
        fits = [name for name in theirs if self._all[name].is_chosen and self._fits(self._all[name], arguments)]
        if len(fits) > 1:
            which = f"the accounts {' and '.join(map(repr, fits))} of {self._server} fit this call"
            raise Refused(which, hint=f"Say which: {ACCOUNT}={fits[0]!r}.")
        if fits or self._default in theirs:
            return fits[0] if fits else self._default
        raise Refused(f"no account of {self._server} fits this call", hint=f"{there} Say which: {ACCOUNT}=…")

    def _fits(self, account: AccountSettings, arguments: Mapping[str, Any]) -> bool:
        return all(
            any(fnmatchcase(_text(name, arguments), each) for each in ([said] if isinstance(said, str) else said))
            for name, said in account.when.items()
        )


def _text(name: str, arguments: Mapping[str, Any]) -> str:
    """An argument as rules of accounts compare it; empty if it is absent. Raises: Refused for what is no single value:
    no rule can tell of it."""
    value = arguments.get(name)
    if value is not None and not isinstance(value, str | int | float):
        wrong = f"the account depends on {name!r}, which is not a text or a number here"
        raise Refused(wrong, hint=f"Say which: {ACCOUNT}=…")
    return "" if value is None else str(value)
