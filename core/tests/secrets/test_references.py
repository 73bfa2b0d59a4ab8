"""Foreign text in a configuration: it stands for itself, whatever it is."""

from __future__ import annotations

import base64
import random
import uuid
from collections.abc import Callable

import pytest
from doorward.model.errors import MissingSecret
from doorward.secrets import references
from doorward.secrets.detection import hide, hide_arguments, is_drawn
from doorward.secrets.references import Reference
from hypothesis import given
from hypothesis import strategies as st

PIECES = st.sampled_from(
    [
        "$",
        "$$",
        "{",
        "}",
        "${",
        "$${",
        "${file:/etc/passwd}",
        "${A}",
        "${cmd:id}",
        "A",
        ":-",
        ":",
        "file:/x",
        "%24%7B",
        "\n",
        "ghp_" + "a1" * 10,
    ]
)
TEXT = st.lists(PIECES, max_size=8).map("".join) | st.text(max_size=20)


def refused(reference: Reference) -> str:
    raise AssertionError(f"{reference} was resolved")


@pytest.mark.slow
@given(TEXT)
def test_escaped_text_stands_for_itself(text: str) -> None:
    """Property: what is escaped is replaced by the text that it was, and nothing is resolved."""
    assert references.replace(references.escaped(text), refused) == text
    assert references.is_plain(references.escaped(text))
    assert references.unescaped(references.escaped(text)) == text


@pytest.mark.slow
@given(TEXT, st.sampled_from(["", "token", "url"]))
def test_hiding_resolves_nothing(text: str, name: str) -> None:
    """Property: what is hidden in an escaped text comes back with it, and nothing else is resolved."""
    kept: dict[str, str] = {}

    def keep(what: str, secret: str) -> str:
        kept[f"S{len(kept)}"] = secret
        return f"${{S{len(kept) - 1}}}"

    for hidden in (hide(references.escaped(text), keep, name=name), *hide_arguments([references.escaped(text)], keep)):
        assert references.replace(hidden, lambda r: kept[r.name]) == text


@pytest.mark.parametrize("text", ["${A:-${B}}", "${", "${A", "${file:{}"])
def test_what_looks_like_a_reference_is_not_plain(text: str) -> None:
    assert not references.is_plain(text)
    with pytest.raises(MissingSecret):
        [*references.find(text)]


@pytest.mark.parametrize(
    "value",
    [
        "application/json; charset=utf-8",
        "2026-11-22T10:00:00.000+01:00",
        "session-of-alice-at-host-7",
        "theme=dark; lang=en; zone=+02",
        "GA1.2.1234567890.1700000000",
        "größe-größer-am-größten",
        "大きさ" * 10,
        "k7Qz-91xLw",
    ],
)
def test_what_nobody_drew(value: str) -> None:
    """Words, dates and numbers that a server sets as a cookie are no credentials; neither is what is short."""
    assert not is_drawn(value)


@pytest.mark.parametrize(
    "draw",
    [
        lambda random: str(uuid.UUID(int=random.getrandbits(128), version=4)),
        lambda random: base64.urlsafe_b64encode(random.randbytes(16)).decode().rstrip("="),
        lambda random: base64.urlsafe_b64encode(random.randbytes(32)).decode().rstrip("="),
        lambda random: random.randbytes(16).hex(),
        lambda random: "".join(random.choices("abcdefghijklmnopqrstuvwxyz0123456789", k=32)),
    ],
    ids=["UUID", "base64url of 16", "base64url of 32", "hex", "letters and digits"],
)
def test_what_was_drawn(draw: Callable[[random.Random], str]) -> None:
    """Of a thousand session ids as frameworks draw them, 990 are recognised."""
    source = random.Random(7)
    assert sum(is_drawn(draw(source)) for _ in range(1000)) >= 990
