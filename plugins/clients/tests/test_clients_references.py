"""Literal texts and references are written into a configuration so that each stays what it is."""

from __future__ import annotations

import pytest
from doorward.secrets import references
from doorward.secrets.references import Reference
from doorward_clients.references import joined, to_variable
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
NAMES = st.from_regex(r"[A-Za-z_]\w{0,8}", fullmatch=True)


@pytest.mark.slow
@given(st.lists(TEXT | st.builds(lambda name: to_variable(name), NAMES), max_size=6))
def test_joined_texts_stand_for_themselves(parts: list[str | Reference]) -> None:
    """Property: of what is joined, the references are resolved, these and no others, or it is refused."""
    try:
        made = joined(parts)
    except ValueError:
        assert any("$" in part for part in parts if isinstance(part, str))
        return
    assert [*references.find(made)] == [part for part in parts if isinstance(part, Reference)]
    assert references.replace(made, lambda r: f"<{r.name}>") == "".join(
        p if isinstance(p, str) else f"<{p.name}>" for p in parts
    )
    assert "".join(piece for piece, _ in references.split(made)) == made


@pytest.mark.slow
@given(TEXT, st.none() | TEXT)
def test_a_variable_is_that_variable(name: str, default: str | None) -> None:
    """Property: a name and a default are read as they are given, or refused."""
    try:
        made = to_variable(name, default)
    except ValueError:
        return
    assert [*references.find(f"x{made.text}y")] == [Reference(made.text, "", name, default)]
