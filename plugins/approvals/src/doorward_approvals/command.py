"""`doorward approvals`: shows the calls that wait for a person's yes, and answers them."""

from __future__ import annotations

import getpass
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeVar

import anyio
import click
from doorward import InvalidArguments, UnknownName
from doorward.administration import open_store
from doorward.texts import visible
from doorward_cli import Project, common, note, print_json, say, table

from doorward_approvals.answering import answer, answer_in_words, answer_together
from doorward_approvals.going_on import next_step
from doorward_approvals.request import APPROVAL_SCOPES
from doorward_approvals.rules import put_before, rule_text
from doorward_approvals.shown import as_text

if TYPE_CHECKING:
    from doorward_approvals.request import ApprovalRequest
    from doorward_approvals.stored_approvals import StoredApprovals

T = TypeVar("T")

_ID = click.argument("id", required=False)
_RUN = click.option("--run", metavar="RUN", help="All open requests of this run, in place of the one of ID.")
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

    async def both(store: StoredApprovals) -> tuple[Sequence[ApprovalRequest], int]:
        return await store.all(), await store.unread()

    stored, unread = _stored(project, both)
    found = [each for each in stored if everything or each.state == "open"]
    if project.json:
        print_json({"requests": [_told(each) for each in found]} | ({"unread": unread} if unread else {}))
    elif not found and not unread:
        note("no call waits for an approval")
    elif found:
        rows = [(each.id, _time(each.created), each.principal, each.function, answer_in_words(each)) for each in found]
        table(["id", "asked", "principal", "function", "state"], rows)
    if unread:
        say(f"cannot be read: {unread}, stored with another `vault_key` or without one, or changed", err=True)


@approvals.command()
@common
@_ID
@_RUN
def show(project: Project, id: str | None, run: str | None) -> None:
    """Show a request: the function, its arguments, the rule, and where the program calls it."""
    found = _meant(project, id, run)
    if project.json:
        print_json(_told(found[0]) if run is None else {"requests": [_told(each) for each in found]})
        return
    for each in found:
        _show(each)
    if run is not None:
        say(f"\nall {len(found)}: doorward approvals approve|deny --run {run}")


def _show(found: ApprovalRequest) -> None:
    say(as_text(found))
    say(
        f"\nrun {found.run}, asked {_time(found.created)}, valid until {_time(found.expires)}: {answer_in_words(found)}"
    )
    if found.state == "open":
        scopes = "" if len(found.scopes) == 1 else f" [--for {'|'.join(found.scopes)}]"
        always = " [--always]" if found.always else ""
        if always:
            say(f"\n--always writes this rule, before {found.rule}:\n\n{rule_text(found.always)}")
        say(f"\ndoorward approvals approve {found.id}{scopes}{always}")
        say(f"doorward approvals deny {found.id} [--reason TEXT]\n")


@approvals.command()
@common
@_ID
@_RUN
@click.option(
    "--for", "scope", type=click.Choice(APPROVAL_SCOPES), default="once", show_default=True,
    help="This very call; or every call of its function in its run, or in its session, whatever the arguments.",
)  # fmt: skip
@click.option(
    "--always", is_flag=True, help="Write the rule that `show` proposes: calls like this need no yes any more."
)
@click.option("--yes", is_flag=True, help="Do not ask whether to write that rule, or whether to approve of all.")
@_BY
def approve(
    project: Project, id: str | None, run: str | None, scope: Any, always: bool, yes: bool, by: str | None
) -> None:
    """Let a call through, or all calls of a run that wait: they are shown first."""
    by = by or _user()
    found = _meant(project, id, run)
    if always and run is not None:
        raise click.UsageError("--always is for one request")
    if always:
        if scope not in found[0].scopes:
            raise click.UsageError(f"a yes to this request is for {' or '.join(found[0].scopes)}")
        _always(project, found[0], by, ask=not yes)
    if run is not None and not yes:
        for each in found:
            say(f"{as_text(each)}\n", err=True)
        click.confirm(
            f"Approve of {'this call' if len(found) == 1 else f'these {len(found)} calls'}?", abort=True, err=True
        )
    _answer(project, found, run, True, scope=scope, by=by)


@approvals.command()
@common
@_ID
@_RUN
@click.option("--reason", default="", metavar="TEXT", help="What the program, and so the agent, is told.")
@_BY
def deny(project: Project, id: str | None, run: str | None, reason: str, by: str | None) -> None:
    """Refuse a call, or all calls of a run that wait: the program gets an exception, which it may catch."""
    _answer(project, _meant(project, id, run), run, False, by=by or _user(), said=reason)


def _answer(project: Project, requests: Sequence[ApprovalRequest], run: str | None, approve: bool, **how: Any) -> None:
    """Answer exactly these requests: another one that came meanwhile is not among what the person saw."""
    word, told, answered = "approved" if approve else "denied", [], requests
    if run is None:
        _stored(project, lambda store: answer(store, requests[0].id, approve, **how))
    else:
        answered = _stored(project, lambda store: answer_together(store, requests, approve, **how))
    for request in requests:
        if request not in answered:
            say(f"{request.id}: somebody else was quicker to answer, or it has expired", err=True)
            continue
        told.append({"id": request.id, "function": request.function, "run": request.run, "state": word})
        if not project.json:
            say(f"{word}: {request.function} of {request.principal}, run {request.run}")
    if told:
        theirs = [each for each in _all(project) if each.run == requests[0].run]
        goes_on = next_step(project, requests[0], sum(each.state == "open" for each in theirs))
        told = [{**each, "next": goes_on} for each in told]
        if not project.json:
            say(f"next: {goes_on}")
    if project.json:
        print_json(told[0] if run is None else {"requests": told})


def _meant(project: Project, id: str | None, run: str | None) -> list[ApprovalRequest]:
    """The request of an id, or the open ones of a run. Raises: UnknownName if there is none."""
    if (id is None) == (run is None):
        raise click.UsageError("give the ID of a request, or --run RUN")
    found = [each for each in _all(project) if (each.id == id if id else each.run == run)]
    found = [each for each in found if id or each.state == "open"]
    if not found:
        what = f"no request {visible(id[:80])!r} (any more)" if id else f"no open request of the run {run!r}"
        raise UnknownName(f"there is {what}", hint="`doorward approvals list` shows all.")
    return found


def _always(project: Project, request: ApprovalRequest, by: str, *, ask: bool) -> None:
    """Write the rule that a request proposes, once a person has seen it."""
    if request.state != "open":
        raise InvalidArguments(f"the request has been answered already: {answer_in_words(request)}")
    if not request.always:
        hint = "Write a rule by hand: [[policy.rules]]."
        raise InvalidArguments("no rule is narrow enough for calls like this", hint=hint)
    rule = {**request.always, "reason": f"approved by {by}, {_time(time.time())[:10]}"}
    say(f"This rule is written into {project.config}, before {request.rule}:\n\n{rule_text(rule)}\n", err=True)
    if ask:
        click.confirm("Write it?", abort=True, err=True)
    put_before(project, rule, request.rule)


def _all(project: Project) -> Sequence[ApprovalRequest]:
    return _stored(project, lambda store: store.all())


def _stored(project: Project, work: Callable[[StoredApprovals], Awaitable[T]]) -> T:
    """What `work` does with the requests of a project."""
    from doorward_approvals.stored_approvals import StoredApprovals

    loaded = project.load()
    key, before = loaded.config.vault_keys

    async def done() -> T:
        async with open_store(loaded) as store:
            return await work(StoredApprovals(store, loaded.state_folder(), key, before=before))

    return anyio.run(done)


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
