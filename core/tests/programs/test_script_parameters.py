"""The parameters of programs in TypeScript and JavaScript."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from doorward.programs.languages import named, of_file
from doorward.programs.parameters import PARAMETER_PREFIX, bind, parameters
from doorward.programs.script_tokens import tokens
from hypothesis import given, settings
from hypothesis import strategies as st

from ..conftest import TEXT


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("const days: number = 30;", {"days": 30}),
        ("let city = 'O\\u0073lo'\nvar open = true", {"city": "Oslo", "open": True}),
        ("export const ids: Array<number> = [1, 2, 3,] as const", {"ids": [1, 2, 3]}),
        ("const a: { b: number; c?: string } = { b: -1, 'c-d': null, e: [{}], }", {"a": {"b": -1, "c-d": None, "e": [{}]}}),
        ("const kind:\n  | 'a'\n  | 'b' = 'a'\nfind()", {"kind": "a"}),
        ("const share = 1.5e1, other = 2", {}),
        ("const x = 5\n  .toFixed(2)\nconst y = 1 +\n 2\nconst z = [1]\n[0]", {}),
        ("const f: (x: number) => void = (x) => { const inner = 5 }", {}),
        ("function f() { const inner = 1 }\n{ let block = 1 }\nfor (const i = 1; ;) {}", {}),
        ("// const no = 1\n/* const no = 2\n*/ const yes = 3", {"yes": 3}),
        ("const t = `const no = 1\n${(() => { const no = 2; return `}`; })()} const no = 3`; const yes = 4", {"yes": 4}),
        ("const re = /[/\"']const no = 1/g; const yes = 2 / 1 / 1\nconst also = 3", {"also": 3}),
        ("const big = 9007199254740993, \nlet old = 017\nconst n = 10n\nconst t = `x`\nconst o = {...p}\nconst u = undefined", {}),
        ("let d: number\nd = 5\nlet e: string = 'x'", {"e": "x"}),
        ("const result = 1\nconst ours = 1\nvar ours = 2", {}),
        ("const out = []\nout.push(1)\nlet n = 0\nn += 1\nconst seen = {}\nseen['a'] = 1\nlet i = 0; i++", {}),
        ("const none = []\nconst text = ''\nlet zero = 0\ncall(none, text, zero == 0, other.zero = 1)", {"none": [], "text": "", "zero": 0}),
        ("const o = { __proto__: 1 }\nconst half = '\\ud800'\nconst ok = '\\u{1F600}\\x41\\n'", {"ok": "😀A\n"}),
        ("", {}),
    ],
)  # fmt: skip
def test_which_literals_are_parameters(code: str, found: dict[str, Any]) -> None:
    """Top-level declarations of one name and a literal of JSON, typed or not; what is not certainly one, is none."""
    assert parameters(code, "typescript") == parameters(code, "javascript") == found


def test_other_languages_have_none() -> None:
    """Core cannot read a language that it does not know: values are then set by their names."""
    assert parameters("days = 1", "ruby") == {}
    assert bind("days = 1", {"days": 2}, "ruby") == ("days = 1", {"days": 2})


def test_values_are_bound_and_lines_stay() -> None:
    """A new value never becomes text of the program, and the lines of errors are those of the author."""
    code = "const ids: number[] = [\n  1,\n];\nconst city = 'Oslo'; const late = 1\nthrow new Error()"
    text, values = bind(code, {"ids": ["'); evil('"], "city": "x", "more": 1}, "typescript")
    assert (
        text
        == f"const ids: number[] = ({PARAMETER_PREFIX}ids\n\n);\nconst city = ({PARAMETER_PREFIX}city); const late = 1\nthrow new Error()"
    )
    assert values == {f"{PARAMETER_PREFIX}ids": ["'); evil('"], f"{PARAMETER_PREFIX}city": "x", "more": 1}
    assert bind(code, {}, "typescript") == (code, {})


PIECES = ["const ", "a", "b", ": ", "=", "[", "]", "{", "}", "(", ")", ",", ";", "\n", "'", '"', "`", "${", "/", "\\", "*", "1", "-"]  # fmt: skip


@pytest.mark.slow
@settings(deadline=None)
@given(st.one_of(TEXT, st.lists(st.sampled_from(PIECES), max_size=40).map("".join)))
def test_any_text_is_read(code: str) -> None:
    """However wrong it is: its tokens are parts of it in their order, and its parameters are JSON."""
    at = 0
    for token in tokens(code):
        assert token.start >= at
        assert code[token.start : token.end] == token.text
        at = token.end
    json.dumps(parameters(code, "typescript"))


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece", ['"\\"', "/*", "/", "`${", "=/[", "'", "const a = [", "[", "}", "\\", "const a=1;", "const a:", "const a: x "]
)  # fmt: skip
def test_hostile_text_is_read_soon(piece: str) -> None:
    """16 KiB of a text that is wrong everywhere take no time that grows with its square (four seconds)."""
    started = time.process_time()
    parameters(piece * (2**14 // len(piece)), "typescript")
    assert time.process_time() - started < 2


def test_the_names_of_languages() -> None:
    """Short names mean the same; unknown words stay; a file says its language by its end."""
    assert [named(word) for word in ("TS", "js ", "py", "ruby", "")] == [
        "typescript",
        "javascript",
        "python",
        "ruby",
        "",
    ]
    assert [of_file(name) for name in ("a.ts", "b/c.MTS", "d.js", "e.mjs", "f.py", "g.tsx", "-", "ts")] == [
        *("typescript", "typescript", "javascript", "javascript", "python", "", "", ""),
    ]  # fmt: skip
