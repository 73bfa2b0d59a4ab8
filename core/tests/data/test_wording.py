"""Lines and sentences of the texts that agents read."""

from __future__ import annotations

import pytest
from doorward.data.wording import clean, first_sentence


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("Lists things, e.g. Apples. Then more.", "Lists things, e.g. Apples."),
        ("Either way, I.e. Both! More.", "Either way, I.e. Both!"),
        ("Limits vs. Quotas (cf. RFC 1, approx. 3). More", "Limits vs. Quotas (cf. RFC 1, approx. 3)."),
        ("Reads version 1.2 of it. iOS too. More.", "Reads version 1.2 of it. iOS too."),
        ("Takes one of\n- a\n- b", "Takes one of"),
        ("A heading\n\nMore. More.", "A heading"),
        ("One only.", "One only."),
    ],
)
def test_a_sentence_does_not_end_at_an_abbreviation(text: str, sentence: str) -> None:
    """It ends where the next one begins, or with its paragraph; nothing is lost."""
    first, rest = first_sentence(text)
    assert first == sentence
    assert "".join((first + rest).split()) == "".join(text.split())


@pytest.mark.parametrize(
    ("limit", "cut"), [(20, "The currency…"), (25, "The currency (e.g. EUR…"), (36, "The currency (e.g. EUR or USD).…")]
)
def test_no_line_breaks_at_an_abbreviation(limit: int, cut: str) -> None:
    """A cut comment ends with a word or with a sentence that says something."""
    assert clean("The currency (e.g. EUR or USD). And more words.", limit).replace(". …", ".…") == cut
