"""What is said of a commit that came to no good end."""

from __future__ import annotations

from doorward import ApiError
from doorward.model.calls import Reply
from doorward.model.errors import OutcomeUnknown
from doorward_durable_runs.journal.commit_end import told
from doorward_durable_runs.journal.entries import Entry
from doorward_durable_runs.plans.change_set import Change


def write(number: int, function: str = "api.addIssue") -> Entry:
    entry = Entry(number, function)
    entry.change = Change(function, "write", {}, number)
    return entry


def test_each_write_is_named_with_what_became_of_it() -> None:
    """Also those of the process that died before this one; a dependent read is no write."""
    entries = [write(n) for n in range(1, 7)] + [write(-1)]
    entries[0].reply = Reply(None)
    entries[1].error, entries[1].ended = ApiError("no", status=422), True
    entries[2].error = OutcomeUnknown("it was sent")
    entries[3].sent = True
    entries[4].error = ApiError("answered 500", status=500)
    first, second = told("r1", entries, {5}, ok=False)
    assert first == (
        "1 of the 6 writes of the plan was made. Written: 1. api.addIssue; failed: 2. api.addIssue; perhaps written: "
        "3. api.addIssue, 4. api.addIssue, 5. api.addIssue; not written: 6. api.addIssue"
    )
    assert "what is written stays" in second
    entries[0].undo = {"call": "x"}
    assert told("r1", entries, {5}, ok=True)[2].endswith("doorward runs undo r1")


def test_a_long_plan_is_not_told_whole() -> None:
    assert told("r1", [write(n) for n in range(1, 31)], (), ok=False)[0].endswith("20. api.addIssue and 10 more")
    done = write(1)
    done.reply = Reply(None)
    assert told("r1", [done], (), ok=True) == ()


def test_the_only_write_is_told_as_one() -> None:
    """What became of it is named, too."""
    failed, made = write(1), write(1)
    failed.error, failed.ended = ApiError("no", status=422), True
    made.reply = Reply(None)
    assert (
        told("r1", [failed], (), ok=False)[0] == "the only write of the plan did not succeed. Failed: 1. api.addIssue"
    )
    assert told("r1", [made], (), ok=False)[0] == "the only write of the plan was made. Written: 1. api.addIssue"
