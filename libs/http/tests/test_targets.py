"""Paths and queries as they are sent."""

from __future__ import annotations

import httpx2
import pytest
from doorward_http.engine import _target
from hypothesis import example, given
from hypothesis import strategies as st

pytestmark = pytest.mark.slow


@given(st.text(st.sampled_from("ab0/.?&=%~;:@!$'()*+,-_ \u00e4[]|\"{}^`<>"), max_size=20))
@example("/a/../b/./c")
@example("/a%2fb%zz")
@example("?a=b")
@example("/?")
@example("//a")
def test_a_target_is_what_httpx2_makes_of_it(text: str) -> None:
    """Though most are not parsed: they are that already."""
    url = f"http://a{text if text[:1] in ('/', '?', '') else '/' + text}"
    try:
        known = httpx2.URL(url).raw_path
    except httpx2.InvalidURL:
        return
    assert _target(url, len("http://a")) == known
