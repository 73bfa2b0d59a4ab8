"""What classes are called in texts."""

from __future__ import annotations

import ast

import pytest
from doorward_text.classes import class_name
from hypothesis import given
from hypothesis import strategies as st

NAMES = st.one_of(
    st.text(), st.sampled_from(["a-b", "a.b", "class", "", "1", "é", "日本", "\ud800", "print", "__debug__"])
)


@pytest.mark.parametrize(
    ("upstream", "expected"),
    [
        ("nullable-simple-user", "NullableSimpleUser"),
        ("io.k8s.api.core.v1.Pod", "Pod"),
        ("get_user", "GetUser"),
        ("", "Model"),
        ("3d", "Model3d"),
    ],
)
def test_class_name(upstream: str, expected: str) -> None:
    """Definitions become CamelCase class names, dotted ones by their last part."""
    assert class_name(upstream) == expected


@pytest.mark.slow
@given(NAMES)
def test_a_class_name_is_always_an_identifier(text: str) -> None:
    """Whatever a definition is called, its class has a plain name."""
    assert class_name(text).isidentifier()
    ast.parse(f"class {class_name(text)}x: ...")
