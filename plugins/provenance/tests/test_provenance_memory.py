"""What is remembered of answers: found at once, forgotten by age and size."""

from __future__ import annotations

import pytest
from doorward import Function
from doorward_provenance import memory
from doorward_provenance.flow import Flow
from doorward_provenance.labels import Labels
from doorward_provenance.memory import Memory
from doorward_provenance.running import Running

UNTRUSTED = Labels(untrusted=True)


def functions(there: Memory, value: str | float) -> list[tuple[str, bool]]:
    return [(origin.answer.function, origin.in_text) for origin in there.origins(value)]


def test_a_value_is_found_in_each_answer_that_had_it() -> None:
    """In texts, then as a field, the last first; words of two texts are never in a row."""
    there = Memory(60, lambda: 1.0)
    there.answered("s.a", "s", UNTRUSTED, 1, {"text": "this is the number of a bill", "id": 17})
    there.answered(
        "s.b", "s", UNTRUSTED, 1, [{"text": "bill 17 is the number of it, of it"}, {"text": "it 17 or 18 was"}]
    )
    there.answered("s.c", "s", UNTRUSTED, 1, ["17"])
    assert functions(there, "17") == [("s.b", True), ("s.c", False), ("s.a", False)]
    assert functions(there, 17) == functions(there, "17")
    assert functions(there, "the number of") == [("s.b", True), ("s.a", True)]
    assert functions(there, "of it it 17") == []


def test_a_date_is_found_however_it_is_written() -> None:
    """What a text has in words, a call has as a date."""
    there = Memory(60, lambda: 1.0)
    for number, text in enumerate(
        ("from the 1st to the 5th of May 2024", "on May 6, 2024 we meet there", "at 7/5/2024 or so, Ann")
    ):
        there.answered(f"s.f{number}", "s", UNTRUSTED, 1, {"text": text})
    assert [functions(there, f"2024-05-0{day}") for day in (5, 6, 7, 8)] == [
        [("s.f0", True)], [("s.f1", True)], [("s.f2", True)], []
    ]  # fmt: skip
    there.say("# from May 8th 2024 on")
    assert there.was_said("2024-05-08")


def test_what_a_trusted_answer_repeats_is_not_from_there() -> None:
    """What a call was given comes back: it has another origin."""
    there = Memory(60, lambda: 1.0)
    there.answered("s.echo", "s", Labels(), 1, {"name": "eve@evil.example", "id": 3}, echoes=["eve@evil.example"])
    assert functions(there, "eve@evil.example") == []
    assert functions(there, 3) == [("s.echo", False)]


def test_the_oldest_is_forgotten_when_it_is_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has been shown all the same."""
    monkeypatch.setattr(memory, "MOST_WORDS", 100)
    there = Memory(60, lambda: 1.0)
    for number in range(50):
        there.answered(
            f"s.f{number}", "s", UNTRUSTED, 1, {"text": f"one two three four five {number}", "id": number + 900}
        )
    there.show(untrusted=True, private=False)
    kept = [number for number in range(50) if functions(there, f"five {number}")]
    assert kept == list(range(kept[0], 50))
    assert 5 < len(kept) < 20
    assert [number for number in range(50) if functions(there, number + 900)] == kept
    assert there.shown == 1.0


def test_what_is_old_is_forgotten() -> None:
    """After the time that the configuration says."""
    now = [0.0]
    there = Memory(60, lambda: now[0])
    there.answered("s.old", "s", UNTRUSTED, 1, ["a"])
    there.show(untrusted=True, private=True)
    now[0] = 61
    there.answered("s.new", "s", UNTRUSTED, 2, ["a"])
    assert functions(there, "a") == [("s.new", False)]
    assert (there.shown, there.private_shown) == (float("inf"), False)


def test_a_run_that_goes_on_was_answered_before() -> None:
    """By whom, nobody knows any more: what its text shows as computed from an answer is asked about."""
    function = Function("mail", "send", "send")
    flows = {"mail.list_mails()": ["mail.list_mails"], "x.y": ["an earlier part of the run"], "'ann'": []}
    for expression, found in flows.items():
        flow = Flow(f"mail.send(to={expression})", lambda path: ".".join(path) if path[0] == "mail" else "?")
        for goes_on in (True, False):
            running = Running(Memory(60), 1, True, lambda flow=flow: flow, goes_on=goes_on)
            assert [*running.sources(function, "to")] == (found if goes_on else [])
