"""`doorward approvals`: shows the calls that wait for a person's yes, and answers them."""

from __future__ import annotations

import getpass
import time
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from doorward.approvals.answering import answer, described
from doorward.approvals.shown import as_text
from doorward.cli.common import Project, common, print_json, say, table
from doorward.model.approvals import APPROVAL_SCOPES
from doorward.model.errors import InvalidArguments, UnknownName
from doorward.operating.rules import put_before, rule_text

if TYPE_CHECKING:
    from doorward.approvals.store import ApprovalStore
    from doorward.model.approvals import ApprovalRequest

_BY = click.option("--by", metavar="NAME", help="Who answers, if not the user of this machine.")


@click.group()
def approvals() -> None:
    """Calls that a rule has a person confirm. A gateway that waits for an answer goes on within a second; a run that
    was suspended goes on when it is resumed."""


@approvals.command(name="list")
@common
@click.option("--all", "everything", is_flag=True, help="Those that are answered, too.")
def list_(project: Project, everything: bool) -> None:
    """List the requests that wait for an answer."""
    found = [each for each in _store(project).all(time.time()) if everything or each.state == "open"]
    if project.json:
        print_json({"requests": [_told(each) for each in found]})
    elif not found:
        say("no call waits for an approval", err=True)
    else:
        rows = [(each.id, _time(each.created), each.principal, each.function, described(each)) for each in found]
        table(["id", "asked", "principal", "function", "state"], rows)


@approvals.command()
@common
@click.argument("id")
def show(project: Project, id: str) -> None:
    """Show a request: the function, its arguments, the rule, and where the program calls it."""
    found = _request(_store(project), id)
    if project.json:
        print_json(_told(found))
        return
    say(as_text(found))
    say(f"\nrun {found.run}, asked {_time(found.created)}, valid until {_time(found.expires)}: {described(found)}")
    if found.state == "open":
        scopes = "" if len(found.scopes) == 1 else f" [--for {'|'.join(found.scopes)}]"
        always = " [--always]" if found.always else ""
        if always:
            say(f"\n--always writes this rule, before {found.rule}:\n\n{rule_text(found.always)}")
        say(f"\ndoorward approvals approve {found.id}{scopes}{always}")
        say(f"doorward approvals deny {found.id} [--reason TEXT]")


@approvals.command()
@common
@click.argument("id")
@click.option(
    "--for", "scope", type=click.Choice(APPROVAL_SCOPES), default="once", show_default=True,
    help="This very call; or every call of its function in its run, or in its session, whatever the arguments.",
)  # fmt: skip
@click.option(
    "--always", is_flag=True, help="Write the rule that `show` proposes: calls like this need no yes any more."
)
@click.option("--yes", is_flag=True, help="Do not ask whether to write that rule.")
@_BY
def approve(project: Project, id: str, scope: Any, always: bool, yes: bool, by: str | None) -> None:
    """Let a call through."""
    store, by = _store(project), by or _user()
    if always:
        _always(project, _request(store, id), by, ask=not yes)
    request = answer(store, id, True, by=by, scope=scope)
    _say(project, request, "approved")


@approvals.command()
@common
@click.argument("id")
@click.option("--reason", default="", metavar="TEXT", help="What the program, and so the agent, is told.")
@_BY
def deny(project: Project, id: str, reason: str, by: str | None) -> None:
    """Refuse a call: the program gets an exception, which it may catch."""
    request = answer(_store(project), id, False, by=by or _user(), said=reason)
    _say(project, request, "denied")


def _always(project: Project, request: ApprovalRequest, by: str, *, ask: bool) -> None:
    """Write the rule that a request proposes, once a person has seen it."""
    if request.state != "open":
        raise InvalidArguments(f"the request has been answered already: {described(request)}")
    if not request.always:
        hint = "Write a rule by hand: [[policy.rules]]."
        raise InvalidArguments("no rule is narrow enough for calls like this", hint=hint)
    rule = {**request.always, "reason": f"approved by {by}, {_time(time.time())[:10]}"}
    say(f"This rule is written into {project.config}, before {request.rule}:\n\n{rule_text(rule)}\n", err=True)
    if ask:
        click.confirm("Write it?", abort=True, err=True)
    put_before(project, rule, request.rule)


def _request(store: ApprovalStore, id: str) -> ApprovalRequest:
    found = store.found(id, time.time())
    if found is None:
        raise UnknownName(f"there is no request {id[:80]!r} (any more)", hint="`doorward approvals list` shows all.")
    return found


def _store(project: Project) -> ApprovalStore:
    from doorward.stores import Stores

    store = Stores.in_folder(project.load().state_folder()).approvals
    assert store is not None  # there is one in each state folder
    return store


def _say(project: Project, request: ApprovalRequest, word: str) -> None:
    if project.json:
        print_json({"id": request.id, "function": request.function, "run": request.run, "state": word})
    else:
        say(f"{word}: {request.function} of {request.principal}, run {request.run}")


def _told(request: ApprovalRequest) -> dict[str, Any]:
    times = {key: _time(getattr(request, key)) for key in ("created", "expires")}
    return {key: value for key, value in (asdict(request) | times).items() if value not in ("", (), {})}


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "an operator"
