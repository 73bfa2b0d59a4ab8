"""What became of the writes of a plan whose commit came to no good end, and what can be done then."""

from __future__ import annotations

from collections.abc import Container, Sequence

from doorward import ApiError, DoorwardError, OutcomeUnknown, ServerError, ToolError
from doorward_durable_runs.journal.entries import Entry

_SHOWN = 20
"""Writes of each kind that are named."""


def told(run: str, withheld: Sequence[Entry], went_out: Container[int], *, ok: bool) -> Sequence[str]:
    """Lines for whoever committed it; none if all of it was written, and its program succeeded. The calls at the places
    `went_out` were the planned ones, and were made."""
    kinds: dict[str, list[tuple[int, str]]] = {"written": [], "failed": [], "perhaps written": [], "not written": []}
    for entry in withheld:
        if entry.change is not None and entry.change.number > 0:
            kinds[_what(entry, went_out)].append((entry.change.number, entry.function))
    made, count = len(kinds["written"]), sum(map(len, kinds.values()))
    if ok and made == count:
        return ()
    each = [f"{what}: {_named(calls)}" for what, calls in kinds.items() if calls]
    said = "; ".join(each)
    were = "was" if made == 1 else "were"
    many = f"{made} of the {count} writes of the plan {were} made"
    one = f"the only write of the plan {'was made' if made else 'did not succeed'}"
    lines = [f"{many if count > 1 else one}. {said[:1].upper()}{said[1:]}"]
    if made or kinds["perhaps written"]:
        lines.append(
            "the plan is over and cannot be committed again: what is written stays. Look at what is there, and plan a "
            "program for the rest"
        )
    else:
        lines.append("the plan is over and cannot be committed again, and nothing was written: plan its program anew")
    if any(entry.undo for entry in withheld):
        lines.append(f"an operator can undo what is written: doorward runs undo {run}")
    return lines


def _what(entry: Entry, went_out: Container[int]) -> str:
    if entry.reply is not None:
        return "written"
    if entry.error is None:
        return "perhaps written" if entry.sent or entry.place in went_out else "not written"
    if not (entry.ended or entry.place in went_out or isinstance(entry.error, OutcomeUnknown)):
        return "not written"  # `ended`: before the commit was resumed
    return "failed" if _says_no(entry.error) else "perhaps written"


def _says_no(error: DoorwardError) -> bool:
    """Whether an error says that its call had no effect, as far as one can say: an answer that was lost does not."""
    if isinstance(error, ApiError):
        return error.status < 500
    return not isinstance(error, (ServerError, OutcomeUnknown)) or isinstance(error, ToolError)


def _named(calls: Sequence[tuple[int, str]]) -> str:
    more = f" and {len(calls) - _SHOWN} more" if len(calls) > _SHOWN else ""
    return ", ".join(f"{number}. {function}" for number, function in sorted(calls)[:_SHOWN]) + more
