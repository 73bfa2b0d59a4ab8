"""What the host reads in a program's source."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from doorward import InvalidProgram
from doorward_jail import ReadsPython, bind
from doorward_jail.program_parameters import parameters
from hypothesis import given
from hypothesis import strategies as st

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**60), 2**60)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def test_parameters_are_top_level_literals() -> None:
    """Plain and annotated literals, once assigned; nothing computed, nested or assigned twice. CONTRACT: CAC-02."""
    code = 'a = 1\nb: str = "x"\nc = [1, {"k": None}]\nd = -2.5\ne = a + 1\nf = 1\nf = 2\ndef g():\n    h = 1\nresult = 3\nx = y = 4\n{"s"}\n'
    assert parameters(code) == {"a": 1, "b": "x", "c": [1, {"k": None}], "d": -2.5}


@pytest.mark.parametrize(
    "code",
    [
        "out = []\nfor x in s.f():\n    out.append(x)",
        "out: list = []\ndef add(x):\n    out.append(x)",
        "out = {}\nfor x in s.f():\n    out[x] = 1",
        "out = {}\nfor x in s.f():\n    out.setdefault(x, []).append(1)",
        "out = {}\nfor x in s.f():\n    out['a']['b'] = x",
        "out = {'a': 1}\nout = {}\nout.update(s.f())",
        "out = 0\nfor x in s.f():\n    out += 1",
        "out = 0\ndef f():\n    global out\n    out = out + 1",
        "out = None\nwhile True:\n    out = s.f(cursor=out)",
        "out = ''\nout += s.f()",
        "out = False\nfor x in s.f():\n    if x:\n        out = True",
    ],
)
def test_what_a_program_gathers_is_no_parameter(code: str) -> None:
    """What begins empty and is changed later is nothing to give another value to."""
    assert parameters(f"city = 'Oslo'\n{code}\nresult = out") == {"city": "Oslo"}


@pytest.mark.parametrize(
    ("code", "known"),
    [
        ("out = []\nresult = s.f(ids=out)", {"out": []}),
        ("page = 1\nwhile True:\n    page += 1", {"page": 1}),
        ("most = 0\nmost = min(most, 10)", {"most": 0}),
        ("n = 0\ndef f():\n    n = 1\n    n += 1\n    return n\nresult = n", {"n": 0}),
        ("q = ''\nif s.f():\n    q = 'x'", {"q": ""}),
        ("todo = ['a']\nwhile todo:\n    todo.pop()", {"todo": ["a"]}),
    ],
)
def test_what_is_given_stays_a_parameter(code: str, known: dict[str, Any]) -> None:
    """An empty value that is only read or made fit, and what begins with a value."""
    assert parameters(code) == known


def test_what_is_gathered_can_be_given_by_who_knows_it() -> None:
    """A value for it takes the place of its literal still; it is only not offered."""
    text, inputs = bind("n = 0\nn += 1\nresult = n", {"n": 5})
    scope = dict(inputs)
    exec(compile(text, "p", "exec"), scope)
    assert scope["result"] == 6


def test_a_syntax_error_is_one_as_in_python() -> None:
    """With its line, where there are parameters to bind too."""
    for code, type, line in (("x = 1\ny = = 2", "SyntaxError", 2), ("x = 1\nif x:\ny = 2", "IndentationError", 3)):
        with pytest.raises(InvalidProgram) as raised:
            bind(code, {"x": 1})
        assert (raised.value.type, raised.value.line) == (type, line)


@pytest.mark.slow
@given(before=JSON, after=JSON)
def test_binding_passes_values_as_data(before: Any, after: Any) -> None:
    """A bound program runs with the new value, whatever it holds, with every line where it was. CONTRACT: CAC-02."""
    code = f"x = [\n {before!r},\n]; y = 'é'; z = x\nresult = z"
    text, inputs = bind(code, {"x": [after]})
    assert text.count("\n") == code.count("\n")
    scope = dict(inputs)
    exec(compile(text, "p", "exec"), scope)
    assert scope["result"] == [after]
    assert scope["y"] == "é"


@pytest.mark.slow
@given(st.text(max_size=200))
def test_any_text_is_read_or_refused(text: str) -> None:
    """Whatever text comes, it is either read or refused with a message."""
    with contextlib.suppress(InvalidProgram):
        parameters(text + "\nawait x")


@pytest.mark.parametrize(
    "code", ["(" * 20_000, "-" * 60_000 + "1", "[" * 5000 + "]" * 5000, "x = " + "{" * 3000, "a.b" * 20_000]
)
def test_deep_nesting_is_refused(code: str) -> None:
    """Source that exhausts a parser is refused, not crashed on."""
    with contextlib.suppress(InvalidProgram):
        parameters(code)


def test_json_literals_alone_are_parameters() -> None:
    """Tuples and keys that are no text would come back as something else. CONTRACT: CAC-02."""
    assert ReadsPython().parameters_of("a = (1, 2)\nb = {1: 'x'}\nc = [1]") == {"c": [1]}


def test_programs_that_cannot_be_read() -> None:
    """They may have a value, for an executor may know more Python; they have no parameters."""
    reads = ReadsPython()
    assert reads.has_value("match = = 1")
    assert reads.parameters_of("match = = 1") == {}
