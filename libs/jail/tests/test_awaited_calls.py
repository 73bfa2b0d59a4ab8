"""Which calls of a program are awaited."""

from __future__ import annotations

import time

import pytest
from doorward_jail import awaited
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("await s.f(1)", ["s.f(1)"]),
        ("x = s.f(1)", []),
        ("await asyncio.gather(s.f(1), s.g(s.h()))", ["s.f(1)", "s.g(s.h())"]),
        ("await asyncio.gather(*[s.f(i) for i in s.g()])", ["s.f(i)"]),
        ("t = [s.f(i) for i in x]\nawait asyncio.gather(*t)", ["s.f(i)"]),
        ("t = []\nfor i in x:\n    t.append(s.f(i))\nfor c in t:\n    await c", ["s.f(i)"]),
        ("def one(i):\n    return s.f(i)\nawait asyncio.gather(*map(one, x), *[one(i) for i in y])", ["s.f(i)"]),
        ("async def one(i):\n    return s.f(i)\nawait one(1)", []),
        ("t = asyncio.create_task(s.f())\nx = await t", ["s.f()"]),
        ("t = {'a': s.f()}\nfor k in t:\n    print(await t[k])", ["s.f()"]),
    ],
)
def test_awaited_calls(code: str, found: list[str]) -> None:
    """A call whose value is awaited, directly or through lists and names, is told from a plain one. CONTRACT:
    EXE-05."""
    text = code.encode()
    assert [e for e in found if e not in {text[a:b].decode() for a, b in awaited(code)}] == []
    if not found:
        assert not {e for a, b in awaited(code) if (e := text[a:b].decode()).startswith("s.")}


@pytest.mark.slow
@given(st.text(max_size=200))
def test_any_text_is_read(text: str) -> None:
    """Whatever text comes, it is read, or nothing is found in it."""
    awaited(text + "\nawait x")


@pytest.mark.slow
def test_reading_a_program_takes_linear_time() -> None:
    """A long chain of names is followed in one pass over the tree."""
    code = "\n".join(f"a{i}=a{i + 1}" for i in range(4000)) + "\nasyncio.gather(a0)\n"
    started = time.process_time()
    awaited(code)
    assert time.process_time() - started < 5
